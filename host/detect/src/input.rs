//! What an engine is asked to look at.

/// One text with what is known about its place.
///
/// `Debug` prints lengths only: the text may hold what must not reach a log.
#[derive(Clone, Copy, derive_more::Debug)]
pub struct Input<'a> {
    /// The decoded text.
    #[debug("{} bytes", text.len())]
    pub text: &'a str,
    /// The nearest key of a JSON object above the text, "" where there is none.
    #[debug("{} bytes", key.len())]
    pub key: &'a str,
    /// Only detectors with a distinctive prefix look: for leaves that cannot be edited, where a
    /// guess would do harm.
    pub prefix_only: bool,
}

impl<'a> Input<'a> {
    /// A text of which nothing else is known.
    pub fn new(text: &'a str) -> Self {
        Self { text, key: "", prefix_only: false }
    }

    /// The same text under the object key `key`.
    pub fn with_key(self, key: &'a str) -> Self {
        Self { key, ..self }
    }

    /// The same text, for detectors with a prefix only.
    pub fn prefix_only(self) -> Self {
        Self { prefix_only: true, ..self }
    }
}
