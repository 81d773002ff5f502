//! Texts beneath a leaf's text: what it says once escapes are undone, or what stretches of it are decoded.
//!
//! Detectors look at them like at any other text. What they find there cannot be replaced, because the bytes found are not those of the
//! leaf; it holds the request. Media is asked for its beginning only: it is skipped as long as that is no text. Frozen leaves are not
//! decoded at all: signatures and encrypted reasoning come from the provider, and go back to it.

use std::borrow::Cow;
use std::ops::Range;

use leafgate_detect::{Encoded, Encoding, encoded, encoded_whole};
use leafgate_tree::{Access, Leaf, ValueType, unescape_deeply};

/// Encodings inside one another that are undone: a token in JSON in base64 in JSON in base64.
const DEEPEST: usize = 2;

/// One text beneath a leaf's.
pub(super) struct Beneath {
    pub(super) text: String,
    pub(super) under: Under,
}

/// What a text lies under.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Under {
    /// Escapes that the tree has not walked.
    Escapes,
    /// An encoding; where the leaf's own text holds the encoded form, if it does.
    Encoding { encoding: Encoding, at: Option<Range<usize>> },
}

impl Under {
    /// Where a finding lies, for the operator.
    pub(super) fn place(&self) -> Cow<'static, str> {
        match self {
            Under::Escapes => "below nested escapes".into(),
            Under::Encoding { encoding, .. } => format!("in {}", encoding.as_str()).into(),
        }
    }
}

/// Every text beneath a leaf's present text. `unwalked`: the text may spell a document that nobody has walked.
pub(super) fn beneath(leaf: &Leaf<'_>, text: &str, unwalked: bool) -> Vec<Beneath> {
    let mut all = Vec::new();
    if unwalked {
        let plain = unescape_deeply(text);
        for stretch in encoded(&plain) {
            add(&mut all, Decoded { at: None, stretch }, 1);
        }
        all.push(Beneath { text: plain, under: Under::Escapes });
    }
    let stretches = match (leaf.access(), leaf.value_type()) {
        (Access::Open | Access::Protected, ValueType::Text) => encoded(text),
        (Access::Opaque, ValueType::Text) => encoded_whole(text).into_iter().collect(),
        _ => Vec::new(),
    };
    for stretch in stretches {
        add(&mut all, Decoded { at: Some(stretch.range.clone()), stretch }, 1);
    }
    all
}

/// A decoded stretch, and where the leaf's own text holds the outermost encoding around it.
struct Decoded {
    at: Option<Range<usize>>,
    stretch: Encoded,
}

/// Adds what a stretch spells, what that spells without its escapes, and what is encoded inside it.
fn add(all: &mut Vec<Beneath>, decoded: Decoded, depth: usize) {
    let Decoded { at, stretch: Encoded { encoding, text, .. } } = decoded;
    let under = Under::Encoding { encoding, at: at.clone() };
    if text.contains('\\') {
        all.push(Beneath { text: unescape_deeply(&text), under: under.clone() });
    }
    if depth < DEEPEST {
        for stretch in encoded(&text) {
            add(all, Decoded { at: at.clone(), stretch }, depth + 1);
        }
    }
    all.push(Beneath { text, under });
}
