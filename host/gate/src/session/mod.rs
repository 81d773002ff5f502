//! Which conversation a request belongs to, and the vault of that conversation.
//!
//! The key is an HMAC under the client's keys of what names the conversation ([`name`]): the same on every turn and after a restart, and
//! telling nothing about the name. Other requests are no conversations; each has a vault of its own, which nobody finds again.

mod name;

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use leafgate_tree::Document;
use leafgate_vault::{TokenKeys, Vault};
use sha2::{Digest, Sha256};

pub(crate) use name::{BodyHints, CLAUDE_CODE, Hint, Name};

/// Whose tokens are made where clients are not told apart: the name that goes into [`TokenKeys::derive`]. The port is no part of it, so
/// that a gate on another port knows the tokens in a client's history.
pub const LOCAL_CLIENT: &str = "local";

/// Responses that are remembered for each session, on the average: those of a conversation that goes on by naming the last one.
const RESPONSES: usize = 8;

/// The conversations that the gate remembers.
pub(crate) struct Sessions {
    keys: TokenKeys,
    vaults: Mutex<Remembered<Vault>>,
    /// Which conversation a response belongs to, by the HMAC of its id.
    responses: Mutex<Remembered<Arc<str>>>,
}

/// What was remembered, the least recently used of it forgotten first.
struct Remembered<V> {
    most: usize,
    /// The age is the count of uses at the last one.
    by_key: HashMap<String, (V, u64)>,
    uses: u64,
}

/// One request's conversation.
pub(crate) struct Session {
    /// Opaque, the same on every turn.
    pub(crate) key: Arc<str>,
    /// What its tokens stand for.
    pub(crate) vault: Vault,
}

/// A conversation whose next turn may name nothing but the response that it goes on from.
#[derive(Clone)]
pub(crate) struct Thread {
    sessions: Arc<Sessions>,
    key: Arc<str>,
}

/// The name of a request's conversation, as the policy and its plugins see it: opaque, the same on every turn.
///
/// A gate knows more than the body: headers that name a session, and which response belongs to which one.
#[must_use]
pub fn session_key(keys: &TokenKeys, document: &Document) -> String {
    key(keys, &Name::of(document, None), document)
}

fn key(keys: &TokenKeys, name: &Name, document: &Document) -> String {
    match name {
        Name::Given(name) | Name::Follows(name) => keys.hash("SESSION", name),
        Name::None => keys.hash("REQUEST", &hex(&Sha256::digest(document.source()))),
    }
}

impl Sessions {
    pub(crate) fn new(keys: TokenKeys, most: usize) -> Self {
        let responses = most.saturating_mul(RESPONSES);
        Sessions {
            keys,
            vaults: Mutex::new(Remembered::new(most)),
            responses: Mutex::new(Remembered::new(responses)),
        }
    }

    /// The conversation of a request as it was received, and the hint that its header gave.
    pub(crate) fn of(&self, document: &Document, hint: Option<&Hint>) -> Session {
        let name = Name::of(document, hint);
        let own = || key(&self.keys, &name, document).into();
        let key: Arc<str> = match &name {
            Name::None => return Session { key: own(), vault: Vault::new(self.keys.clone()) },
            Name::Given(_) => own(),
            Name::Follows(response) => {
                let known = self
                    .responses
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .get(&self.response(response));
                known.unwrap_or_else(own)
            }
        };
        // Whoever panicked while holding a lock left a whole map behind: every change is one call.
        let mut vaults = self.vaults.lock().unwrap_or_else(PoisonError::into_inner);
        let vault = vaults.get(&key).unwrap_or_else(|| {
            let vault = Vault::new(self.keys.clone());
            vaults.put(key.to_string(), vault.clone());
            vault
        });
        Session { key, vault }
    }

    /// Responses of this conversation may be named by its next turn.
    pub(crate) fn thread(self: &Arc<Self>, key: &Arc<str>) -> Thread {
        Thread { sessions: Arc::clone(self), key: Arc::clone(key) }
    }

    fn response(&self, id: &str) -> String {
        self.keys.hash("RESPONSE", id)
    }
}

impl Thread {
    /// A response of this conversation has this id.
    pub(crate) fn answered(&self, id: &str) {
        let response = self.sessions.response(&name::follows(id));
        let mut responses = self.sessions.responses.lock().unwrap_or_else(PoisonError::into_inner);
        responses.put(response, Arc::clone(&self.key));
    }
}

impl<V: Clone> Remembered<V> {
    fn new(most: usize) -> Self {
        Remembered { most: most.max(1), by_key: HashMap::new(), uses: 0 }
    }

    fn get(&mut self, key: &str) -> Option<V> {
        self.uses += 1;
        let (value, last_use) = self.by_key.get_mut(key)?;
        *last_use = self.uses;
        Some(value.clone())
    }

    fn put(&mut self, key: String, value: V) {
        self.uses += 1;
        if self.by_key.len() >= self.most && !self.by_key.contains_key(&key) {
            self.forget_oldest();
        }
        self.by_key.insert(key, (value, self.uses));
    }

    /// A walk over all: it happens once per new conversation, among a thousand.
    fn forget_oldest(&mut self) {
        let oldest =
            self.by_key.iter().min_by_key(|(_, (_, last_use))| *last_use).map(|(key, _)| key.clone());
        if let Some(oldest) = oldest {
            self.by_key.remove(&oldest);
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;
    use leafgate_tree::{Format, Limits};
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

    fn key(messages: serde_json::Value) -> Arc<str> {
        Sessions::new(keys(), 10).of(&chat(&messages), None).key
    }

    fn responses(body: &serde_json::Value) -> Document {
        Document::parse(body.to_string().into(), Format::OpenaiResponses, &Limits::default()).unwrap()
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
    fn a_hint_is_the_key_of_all_requests_that_bear_it_and_of_this_client() {
        let turn = |text: &str| chat(&json!([{ "role": "user", "content": text }]));
        let hint = Hint::of(&HeaderMap::from_iter([(
            http::HeaderName::from_static("session-id"),
            "s-1".parse().unwrap(),
        )]));
        let sessions = Sessions::new(keys(), 10);
        let key = sessions.of(&turn("Hi"), hint.as_ref()).key;
        assert_eq!(sessions.of(&turn("Ho"), hint.as_ref()).key, key);
        assert!(!key.contains("s-1"));
        let other = TokenKeys::derive(&InstallationKey::from_bytes([1; 32]), &ClientIdentity::new("other"));
        assert_ne!(Sessions::new(other, 10).of(&turn("Hi"), hint.as_ref()).key, key);
    }

    #[test]
    fn who_goes_on_from_a_response_is_in_its_conversation() {
        let sessions = Arc::new(Sessions::new(keys(), 10));
        let next =
            |id: &str| sessions.of(&responses(&json!({ "input": "?", "previous_response_id": id })), None);
        let first = sessions.of(&responses(&json!({ "input": "Hi" })), None);
        first.vault.tokenize("EMAIL", "ann@example.org").unwrap();
        assert!(next("resp_1").vault.is_empty(), "nobody has said whose it is");
        sessions.thread(&first.key).answered("resp_2");
        let second = next("resp_2");
        assert_eq!(second.key, first.key);
        assert!(!second.vault.is_empty());
        sessions.thread(&second.key).answered("resp_3");
        assert_eq!(next("resp_3").key, first.key);
        assert_ne!(next("resp_1").key, next("resp_9").key);
    }

    #[test]
    fn the_vault_of_a_conversation_is_found_again() {
        let sessions = Sessions::new(keys(), 10);
        let turn = chat(&json!([{ "role": "user", "content": "Hi" }]));
        sessions.of(&turn, None).vault.tokenize("EMAIL", "ann@example.org").unwrap();
        assert!(!sessions.of(&turn, None).vault.is_empty());
        let other = chat(&json!([{ "role": "user", "content": "Ho" }]));
        assert!(sessions.of(&other, None).vault.is_empty());
    }

    #[test]
    fn a_request_that_is_no_conversation_shares_its_vault_with_nobody() {
        let sessions = Sessions::new(keys(), 10);
        let generic =
            Document::parse(r#"{"input": "x"}"#.into(), Format::Generic, &Limits::default()).unwrap();
        let session = sessions.of(&generic, None);
        session.vault.tokenize("EMAIL", "ann@example.org").unwrap();
        assert!(sessions.of(&generic, None).vault.is_empty());
        assert_eq!(sessions.of(&generic, None).key, session.key);
    }

    #[test]
    fn the_least_recently_used_is_forgotten() {
        let sessions = Sessions::new(keys(), 2);
        let turns: Vec<_> =
            (0..3).map(|n| chat(&json!([{ "role": "user", "content": format!("{n}") }]))).collect();
        for turn in [&turns[0], &turns[1], &turns[0]] {
            sessions.of(turn, None).vault.tokenize("EMAIL", "ann@example.org").unwrap();
        }
        sessions.of(&turns[2], None);
        assert!(!sessions.of(&turns[0], None).vault.is_empty());
        assert!(sessions.of(&turns[1], None).vault.is_empty());
    }
}
