//! What a saved edit replaces, without its text: a keyed digest.
//!
//! Redacted values count by their labels, so that a guard says nothing about a value, and that
//! another token for the same value changes nothing. Cache marks do not count, because clients move
//! them every turn.

use leafgate_tree::{Draft, LeafKind, NodeId, display_mask};
use serde::Deserialize;
use serde_with::SerializeDisplay;

use crate::spelled::NO_GUARD;

/// Bytes of a digest: enough that no two texts of a request have the same.
const GUARD: usize = 16;

/// The key of guards. Without it, nobody can try out whether a saved edit replaces a text.
#[derive(Clone, derive_more::Debug)]
#[debug("GuardKey")]
pub struct GuardKey([u8; 32]);

impl GuardKey {
    /// Derives a key from what is secret, or in the file of a project at least its own.
    #[must_use]
    pub fn derive(material: &[u8]) -> GuardKey {
        GuardKey(blake3::derive_key("leafgate 2026-11-22 guards of saved edits", material))
    }

    /// The guard of a leaf, or of a string that spells a document, as it was received.
    #[must_use]
    pub fn leaf(&self, draft: &Draft, node: NodeId) -> Guard {
        let text = draft.masked_original(node, display_mask);
        let mut hash = blake3::Hasher::new_keyed(&self.0);
        hash.update(b"leaf\0").update(text.expose().as_bytes());
        Guard::of(&hash)
    }

    /// The guard of a section as it was received: of what it says. Its ids, types and marks do not
    /// count, since clients spell the same message in several ways.
    #[must_use]
    pub fn section(&self, draft: &Draft, section: NodeId) -> Guard {
        let mut hash = blake3::Hasher::new_keyed(&self.0);
        hash.update(b"section\0");
        let says = draft.document().lasting_leaves(section);
        for leaf in says.filter(|leaf| leaf.kind() != LeafKind::Metadata) {
            let tool = leaf.tool().unwrap_or_default();
            hash.update(&(tool.len() as u64).to_be_bytes()).update(tool.as_bytes());
            let shown = draft.masked_original(leaf.id(), display_mask);
            // The length keeps the texts apart.
            hash.update(&(shown.expose().len() as u64).to_be_bytes()).update(shown.expose().as_bytes());
        }
        Guard::of(&hash)
    }

    /// A short name for some words, that tells nothing about them.
    pub(crate) fn name(&self, words: &[&str]) -> String {
        let mut hash = blake3::Hasher::new_keyed(&self.0);
        hash.update(b"name\0");
        for word in words {
            hash.update(&(word.len() as u64).to_be_bytes()).update(word.as_bytes());
        }
        base16ct::lower::encode_string(&hash.finalize().as_bytes()[..5])
    }
}

/// A keyed digest of what a saved edit replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, derive_more::Display, SerializeDisplay, Deserialize)]
#[display("{}", base16ct::lower::encode_string(&self.0))]
#[serde(try_from = "String")]
pub struct Guard([u8; GUARD]);

impl Guard {
    fn of(hash: &blake3::Hasher) -> Guard {
        let mut guard = [0; GUARD];
        guard.copy_from_slice(&hash.finalize().as_bytes()[..GUARD]);
        Guard(guard)
    }
}

impl TryFrom<String> for Guard {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let mut guard = [0; GUARD];
        let read = base16ct::lower::decode(&text, &mut guard).ok().filter(|read| read.len() == GUARD);
        read.map(|_| ()).ok_or(NO_GUARD)?;
        Ok(Guard(guard))
    }
}
