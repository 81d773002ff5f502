//! What a detector needs: `use leafgate_plugin::detect::*;`

use std::ops::Range;

pub use crate::bindings::detect::exports::leafgate::plugin::detect::{Confidence, Finding, Leaf};
pub use crate::bindings::lifecycle::leafgate::plugin::types::{Failure, LeafKind, Role, Span, ValueType};

impl Leaf {
    /// Returns a finding with the plugin's first label and high confidence at a byte range of
    /// [`Leaf::text`].
    ///
    /// The host refuses a range that does not lie on character boundaries; ranges from `str`
    /// methods and regular expressions do.
    #[must_use]
    pub fn finding(&self, at: Range<usize>) -> Finding {
        Finding { leaf: self.id, at: at.into(), label: 0, confidence: Confidence::High }
    }

    /// Returns a text leaf of a user's message, for tests.
    #[must_use]
    pub fn with_text(text: impl Into<String>) -> Self {
        Leaf {
            id: 0,
            kind: LeafKind::Text,
            value: ValueType::Text,
            role: Role::User,
            tool: None,
            key: "content".to_owned(),
            text: text.into(),
        }
    }
}

impl Finding {
    /// Names the finding by the place of its label in the attribute's `labels`.
    #[must_use]
    pub fn labelled(self, place: u32) -> Self {
        Finding { label: place, ..self }
    }

    /// Says how sure the plugin is.
    #[must_use]
    pub fn with_confidence(self, confidence: Confidence) -> Self {
        Finding { confidence, ..self }
    }
}

impl From<Range<usize>> for Span {
    /// A leaf is never as long as 4 GiB; a range beyond that names no place, and the host refuses
    /// it.
    fn from(range: Range<usize>) -> Self {
        let place = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        Span { start: place(range.start), end: place(range.end) }
    }
}
