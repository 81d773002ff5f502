//! Texts beneath a leaf's text: its views, which say what it says once encodings are undone, and what lies below escapes that the
//! tree has not walked.
//!
//! Detectors look at them like at any other text. What they find is replaced where the view says which range of the leaf spells it
//! character for character. Anything else holds the request, because the bytes found are not those of the leaf. Media is asked for
//! its beginning only: it is skipped as long as that is no text. Frozen leaves are not decoded at all: signatures and encrypted
//! reasoning come from the provider, and go back to it.
//!
//! What is encoded as a block is not decoded, redacted and encoded again: only the client knows what its encoding is for.

use std::ops::Range;

use leafgate_detect::{View, views, views_of_media};
use leafgate_tree::{Access, ValueType, unescape_deeply};

/// One text beneath a leaf's.
pub(super) enum Beneath {
    /// The leaf's text without its escapes, of any depth.
    Escapes(String),
    /// A view of the leaf's text.
    View(View),
    /// A view of its text without escapes.
    BelowEscapes(View),
}

/// What a text lies under.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Under {
    /// Escapes that the tree has not walked.
    Escapes,
    /// Encodings, as a phrase behind "in"; where the leaf's own text holds the encoded form, if it does.
    Encoding { phrase: String, at: Option<Range<usize>> },
}

impl Under {
    /// Returns the stretch of the text itself that holds the encoded form, if there is one.
    pub(super) fn at(&self) -> Option<Range<usize>> {
        match self {
            Under::Escapes => None,
            Under::Encoding { at, .. } => at.clone(),
        }
    }
}

impl Beneath {
    /// Returns the text.
    pub(super) fn text(&self) -> &str {
        match self {
            Beneath::Escapes(text) => text,
            Beneath::View(view) | Beneath::BelowEscapes(view) => view.text(),
        }
    }

    /// Returns true if and only if the leaf's key names the text, as it names the leaf's own, which has
    /// so many bytes.
    pub(super) fn is_named_by_key(&self, own: usize) -> bool {
        match self {
            Beneath::Escapes(_) => true,
            Beneath::View(view) => view.is_exact() && view.source(0..view.text().len()).range == (0..own),
            Beneath::BelowEscapes(_) => false,
        }
    }

    /// Returns true if and only if the leaf's text spells every range of the text.
    pub(super) fn is_exact(&self) -> bool {
        matches!(self, Beneath::View(view) if view.is_exact())
    }

    /// Returns the range of the leaf's text that spells a range of this one and nothing else.
    ///
    /// # Errors
    /// What it lies under, where there is none.
    pub(super) fn spelled_at(&self, range: Range<usize>) -> Result<Range<usize>, Under> {
        match self {
            Beneath::Escapes(_) => Err(Under::Escapes),
            Beneath::View(view) => match view.source(range) {
                source if source.exact => Ok(source.range),
                source => Err(Under::Encoding { phrase: view.phrase(), at: Some(source.range) }),
            },
            Beneath::BelowEscapes(view) => Err(Under::Encoding { phrase: view.phrase(), at: None }),
        }
    }
}

/// Every text beneath a text. `unwalked`: it may spell a document that nobody has walked.
pub(super) fn beneath(access: Access, value: ValueType, text: &str, unwalked: bool) -> Vec<Beneath> {
    let mut all: Vec<Beneath> = match (access, value) {
        (Access::Open | Access::Protected, ValueType::Text | ValueType::Number) => views(text),
        (Access::Opaque, ValueType::Text) => views_of_media(text),
        _ => Vec::new(),
    }
    .into_iter()
    .map(Beneath::View)
    .collect();
    if unwalked {
        let plain = unescape_deeply(text);
        all.extend(views(&plain).into_iter().map(Beneath::BelowEscapes));
        all.push(Beneath::Escapes(plain));
    }
    all
}
