//! What tells turns, connections, requests, conversations and models apart.

use std::sync::Arc;

use leafgate_tree::Document;
use sha2::{Digest as _, Sha256};

use crate::digest::Digest;

/// Number of a turn on its desk. Counts up and never repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, derive_more::Display)]
pub struct TurnId(pub u64);

/// One request on one connection that waits for an answer. The gate gives each number to one
/// request only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u64);

/// Tells a repeated request from another one: its session, and the digest of destination and body
/// as received.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RequestKey {
    /// The session's key.
    pub session: Arc<str>,
    /// Digest of the request before any edit.
    pub received: Digest,
}

/// The name of a turn in lists. Both words are the gate's own and never come from a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Title {
    /// Which kind of conversation (`chat`).
    pub location: Arc<str>,
    /// The client program (`claude-code`), as far as the gate knows.
    pub name: Arc<str>,
}

/// Characters of a session's key that tell sessions apart in a list.
const SESSION_SHOWN: usize = 6;

impl Title {
    /// `<location> · <name> · …<last 6 of the session>`.
    pub(crate) fn label(&self, session: &str) -> String {
        let start = session.char_indices().rev().nth(SESSION_SHOWN - 1).map_or(0, |(start, _)| start);
        format!("{} · {} · …{}", self.location, self.name, &session[start..])
    }
}

/// What tells one model's name from another's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ModelKey([u8; 16]);

impl ModelKey {
    /// Returns the key of the model that a request names, in its path or else in its body; `None` where
    /// neither does.
    pub fn of(document: &Document, by_path: Option<&str>) -> Option<Self> {
        let model = by_path.map(Into::into).or_else(|| document.model())?;
        let digest = Sha256::digest(model.as_bytes());
        let mut key = [0; 16];
        key.copy_from_slice(&digest[..16]);
        Some(ModelKey(key))
    }
}
