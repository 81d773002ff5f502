//! Which conversation a request belongs to, and the vault of that conversation.
//!
//! A chat request carries no name of its conversation that could be trusted, so the conversation is what all its turns have in common:
//! the system messages up to the first message of the user, and that message. The key is an HMAC of it under the client's keys: the same
//! on every turn and after a restart, and telling nothing about the text. `cache_control` marks wander from turn to turn and do not count.
//!
//! Other requests are no conversations; each has a vault of its own, which nobody finds again.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};

use leafgate_tree::{Document, Format, NodeId, NodeType, Role, Section};
use leafgate_vault::{TokenKeys, Vault};
use sha2::{Digest, Sha256};

/// Whose tokens are made where clients are not told apart: the name that goes into [`TokenKeys::derive`]. The port is no part of it, so
/// that a gate on another port knows the tokens in a client's history.
pub const LOCAL_CLIENT: &str = "local";

/// The conversations that the gate remembers.
pub(crate) struct Sessions {
    keys: TokenKeys,
    most: usize,
    vaults: Mutex<Vaults>,
}

#[derive(Default)]
struct Vaults {
    by_key: HashMap<String, Remembered>,
    /// Counts requests; the age of a session is the count at its last use.
    uses: u64,
}

struct Remembered {
    vault: Vault,
    last_use: u64,
}

/// One request's conversation.
pub(crate) struct Session {
    /// Opaque, the same on every turn.
    pub(crate) key: String,
    /// What its tokens stand for.
    pub(crate) vault: Vault,
}

/// The name of a request's conversation, as the policy and its plugins see it: opaque, the same on every turn.
#[must_use]
pub fn session_key(keys: &TokenKeys, document: &Document) -> String {
    key(keys, document).0
}

/// The name, and whether it names a conversation rather than this request alone.
fn key(keys: &TokenKeys, document: &Document) -> (String, bool) {
    let opening = (document.format() == Format::OpenaiChat).then(|| opening(document)).flatten();
    match opening {
        Some(digest) => (keys.hash("SESSION", &digest), true),
        None => (keys.hash("REQUEST", &hex(&Sha256::digest(document.source()))), false),
    }
}

impl Sessions {
    pub(crate) fn new(keys: TokenKeys, most: usize) -> Self {
        Sessions { keys, most: most.max(1), vaults: Mutex::default() }
    }

    /// The conversation of a request as it was received.
    pub(crate) fn of(&self, document: &Document) -> Session {
        let (key, is_conversation) = key(&self.keys, document);
        let vault = if is_conversation { self.vault(&key) } else { Vault::new(self.keys.clone()) };
        Session { key, vault }
    }

    fn vault(&self, key: &str) -> Vault {
        // Whoever panicked while holding the lock left a whole map behind: every change is one call.
        let mut vaults = self.vaults.lock().unwrap_or_else(PoisonError::into_inner);
        vaults.uses += 1;
        let now = vaults.uses;
        if let Some(known) = vaults.by_key.get_mut(key) {
            known.last_use = now;
            return known.vault.clone();
        }
        if vaults.by_key.len() >= self.most {
            vaults.forget_oldest();
        }
        let vault = Vault::new(self.keys.clone());
        vaults.by_key.insert(key.to_owned(), Remembered { vault: vault.clone(), last_use: now });
        vault
    }
}

impl Vaults {
    /// A walk over all: it happens once per new conversation, among a thousand.
    fn forget_oldest(&mut self) {
        let oldest = self.by_key.iter().min_by_key(|(_, known)| known.last_use).map(|(key, _)| key.clone());
        if let Some(oldest) = oldest {
            self.by_key.remove(&oldest);
        }
    }
}

/// Digest of what all turns of a conversation begin with; `None` where nobody has said anything yet.
fn opening(document: &Document) -> Option<String> {
    let messages = || document.sections().iter().filter(|section| section.node_type == NodeType::Message);
    let first = messages().position(|message| message.role == Role::User)?;
    let mut digest = Sha256::new();
    for message in
        messages().take(first + 1).filter(|message| matches!(message.role, Role::System | Role::User))
    {
        feed(&mut digest, document, message);
    }
    Some(hex(&digest.finalize()))
}

fn feed(digest: &mut Sha256, document: &Document, message: &Section) {
    digest.update(message.role.name());
    for leaf in document.subtree(message.node).map(NodeId::from_index).filter_map(|node| document.leaf(node))
    {
        if is_cache_mark(document, leaf.id(), message.node) {
            continue;
        }
        let text = leaf.text();
        // The length keeps texts apart: "ab" + "c" is not "a" + "bc".
        digest.update((text.expose().len() as u64).to_be_bytes());
        digest.update(text.expose());
    }
}

fn is_cache_mark(document: &Document, leaf: NodeId, message: NodeId) -> bool {
    let way =
        std::iter::successors(Some(leaf), |&node| document.parent(node)).take_while(|&node| node != message);
    way.into_iter().any(|node| {
        matches!(document.segment(node), Some(leafgate_tree::Segment::Key(key)) if key == "cache_control")
    })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use leafgate_tree::Limits;
    use leafgate_vault::{ClientIdentity, InstallationKey};
    use serde_json::json;

    use super::*;

    fn keys() -> TokenKeys {
        TokenKeys::derive(&InstallationKey::from_bytes([1; 32]), &ClientIdentity::new("test"))
    }

    fn chat(messages: &serde_json::Value) -> Document {
        let body = json!({ "model": "m", "messages": messages }).to_string();
        Document::parse(body.into(), Format::OpenaiChat, &Limits::default()).unwrap()
    }

    fn key(messages: serde_json::Value) -> String {
        Sessions::new(keys(), 10).of(&chat(&messages)).key
    }

    #[test]
    fn turns_of_one_conversation_share_a_key() {
        let system = json!({ "role": "system", "content": "Be brief" });
        let first = json!({ "role": "user", "content": "Hi" });
        let reply = json!({ "role": "assistant", "content": "Hello" });
        let second = json!({ "role": "user", "content": "And now?" });
        let opening = key(json!([system, first]));
        assert_eq!(key(json!([system, first, reply, second])), opening);
        assert_ne!(key(json!([system, second])), opening);
        assert_ne!(key(json!([first])), opening);
        assert!(!opening.contains("Hi"));
    }

    #[test]
    fn cache_marks_do_not_count() {
        let part = |mark: bool| {
            let mut part = json!({ "type": "text", "text": "Hi" });
            if mark {
                part["cache_control"] = json!({ "type": "ephemeral" });
            }
            json!([{ "role": "user", "content": [part] }])
        };
        assert_eq!(key(part(true)), key(part(false)));
    }

    #[test]
    fn the_vault_of_a_conversation_is_found_again() {
        let sessions = Sessions::new(keys(), 10);
        let turn = chat(&json!([{ "role": "user", "content": "Hi" }]));
        sessions.of(&turn).vault.tokenize("EMAIL", "ann@example.org").unwrap();
        assert!(!sessions.of(&turn).vault.is_empty());
        let other = chat(&json!([{ "role": "user", "content": "Ho" }]));
        assert!(sessions.of(&other).vault.is_empty());
    }

    #[test]
    fn a_request_that_is_no_conversation_shares_its_vault_with_nobody() {
        let sessions = Sessions::new(keys(), 10);
        let generic =
            Document::parse(r#"{"input": "x"}"#.into(), Format::Generic, &Limits::default()).unwrap();
        let session = sessions.of(&generic);
        session.vault.tokenize("EMAIL", "ann@example.org").unwrap();
        assert!(sessions.of(&generic).vault.is_empty());
        assert_eq!(sessions.of(&generic).key, session.key);
    }

    #[test]
    fn the_least_recently_used_is_forgotten() {
        let sessions = Sessions::new(keys(), 2);
        let turns: Vec<_> =
            (0..3).map(|n| chat(&json!([{ "role": "user", "content": format!("{n}") }]))).collect();
        for turn in [&turns[0], &turns[1], &turns[0]] {
            sessions.of(turn).vault.tokenize("EMAIL", "ann@example.org").unwrap();
        }
        sessions.of(&turns[2]);
        assert!(!sessions.of(&turns[0]).vault.is_empty());
        assert!(sessions.of(&turns[1]).vault.is_empty());
    }
}
