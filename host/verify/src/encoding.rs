//! Encodings: how a secret is spelled in the output of tools, and whether any of it is left in what
//! would leave.
//!
//! The encoders share no code with the gate's decoders. They cover common ones (`base64`, `xxd`,
//! logs of web servers, web pages) and some that the gate does not read, so that the matrix made of
//! them is honest.

mod encoders;
mod sample;

use leafgate_words::words;
use serde::Serialize;

use crate::spelling::{quote, unescape};
use sample::Sample;
pub use sample::SampleKind;

/// Characters of a secret that must not be left in a row.
const WINDOW: usize = 12;

/// Characters of an encoded block that must not be left in a row.
const PIECE: usize = 16;

/// How a text is spelled, and how a rest of it is recognised.
pub struct TextEncoding {
    /// Its usual name.
    pub name: &'static str,
    /// The gate promises to read it.
    pub promised: bool,
    /// The kinds of secrets that are spelled so.
    pub kinds: &'static [SampleKind],
    left: LeftAs,
    encode: fn(&str) -> String,
}

/// The remains by which a secret is recognised in an encoded text.
#[derive(Clone, Copy)]
enum LeftAs {
    /// A part of the secret, encoded by itself: each character has its own spelling.
    Characters,
    /// A part of the secret as it is: the encoding stands around it.
    Words,
    /// A piece of the encoded text.
    Block,
}

/// Where the encoded secret stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Beside {
    /// Alone.
    Nothing,
    /// In one text with the same secret as it is.
    PlainCopy,
}

words! {
    /// The result for an encoded secret.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum EncodingFate {
        /// It would not leave: it is replaced.
        Replaced = "replaced",
        /// The request waits or is refused.
        Held = "held",
        /// It would leave.
        Leaves = "LEAVES",
    }
    /// Returns what tables say.
    pub fn word = 0;
}

impl EncodingFate {
    /// Returns true if and only if the secret does not leave unseen.
    pub fn is_contained(self) -> bool {
        self != EncodingFate::Leaves
    }
}

/// Every encoding of the matrix.
pub fn encodings() -> &'static [TextEncoding] {
    encoders::ALL
}

impl TextEncoding {
    /// Returns a request whose one message holds a secret in this encoding.
    pub fn request(&self, kind: SampleKind, beside: Beside) -> String {
        let sample = kind.sample();
        let plain = match beside {
            Beside::Nothing => String::new(),
            Beside::PlainCopy => format!("{}\n", sample.text),
        };
        let text = format!("The command printed:\n{plain}{}\nThat is all of it.", self.encode(&sample.text));
        format!(r#"{{"model":"gpt-4o","messages":[{{"role":"user","content":{}}}]}}"#, quote(&text))
    }

    /// Returns what became of the secret, given what would leave and whether it is held.
    pub fn outcome(&self, kind: SampleKind, sent: &[u8], held: bool) -> EncodingFate {
        match held {
            true => EncodingFate::Held,
            false if self.is_any_left(&kind.sample(), sent) => EncodingFate::Leaves,
            false => EncodingFate::Replaced,
        }
    }

    /// Returns true if and only if a part of a secret that was spelled alone is left in what would
    /// leave.
    pub fn is_left(&self, secret: &str, sent: &[u8]) -> bool {
        self.is_any_left(&Sample { text: secret.to_owned(), secrets: vec![secret.to_owned()] }, sent)
    }

    fn is_any_left(&self, sample: &Sample, sent: &[u8]) -> bool {
        let sent = unescape(&String::from_utf8_lossy(sent));
        let windows = |secret: &str| windows(secret, WINDOW);
        let plain =
            sample.secrets.iter().any(|secret| windows(secret).iter().any(|part| sent.contains(part)));
        plain
            || match self.left {
                LeftAs::Words => false,
                LeftAs::Characters => {
                    let parts = sample.secrets.iter().flat_map(|secret| windows(secret));
                    parts.into_iter().any(|part| sent.contains(&self.encode(&part)))
                }
                LeftAs::Block => {
                    let pieces = windows_by(&self.encode(&sample.text), PIECE, PIECE);
                    pieces.iter().any(|piece| sent.contains(piece))
                }
            }
    }

    /// Returns a text spelled in this encoding.
    pub fn encode(&self, text: &str) -> String {
        (self.encode)(text)
    }
}

fn windows(text: &str, length: usize) -> Vec<String> {
    windows_by(text, length, 1)
}

/// Returns every stretch of this length that begins at a multiple of `step`.
fn windows_by(text: &str, length: usize, step: usize) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters.windows(length).step_by(step).map(|window| window.iter().collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_encoded_secret_is_left_until_it_is_held_or_gone() {
        for encoding in encodings() {
            for &kind in encoding.kinds {
                for beside in [Beside::Nothing, Beside::PlainCopy] {
                    let request = encoding.request(kind, beside);
                    let left = encoding.outcome(kind, request.as_bytes(), false);
                    assert_eq!(left, EncodingFate::Leaves, "{} {kind:?}", encoding.name);
                    assert_eq!(encoding.outcome(kind, request.as_bytes(), true), EncodingFate::Held);
                }
                assert_eq!(encoding.outcome(kind, b"{}", false), EncodingFate::Replaced);
            }
        }
    }

    #[test]
    fn names_tell_encodings_apart() {
        let mut names: Vec<_> = encodings().iter().map(|encoding| encoding.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), encodings().len());
    }
}
