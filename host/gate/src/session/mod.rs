//! Which conversation a request belongs to, and the vault of that conversation.
//!
//! The key is an HMAC under the client's keys of what names the conversation ([`name`]): the same
//! on every turn and after a restart, and telling nothing about the name. Other requests are no
//! conversations; each has a vault of its own, which nobody finds again.

mod behind;
mod intent;
mod name;

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use http::HeaderMap;
use leafgate_tree::Document;
use leafgate_vault::{FirstSeen, MemoryBound, TokenCounts, TokenKeys, Vault};
use lru::LruCache;
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::apis::Api;

pub(crate) use behind::PriorResponse;
pub(crate) use intent::{Intent, locations};
pub(crate) use name::{CLAUDE_CODE, Name, NameHints};

/// Whose tokens are made where clients are not told apart: the name that goes into
/// [`TokenKeys::derive`]. The port is no part of it, so that a gate on another port knows the
/// tokens in a client's history.
pub const LOCAL_CLIENT: &str = "local";

/// Responses that are remembered for each session, on the average: those of a conversation that
/// goes on by naming the last one.
const RESPONSES: NonZeroUsize = NonZeroUsize::new(8).expect("8 is not 0");

/// The conversations that the gate remembers, the least recently used forgotten first.
pub(crate) struct Sessions {
    keys: TokenKeys,
    /// What the vaults of all conversations may remember together.
    values: MemoryBound,
    vaults: Mutex<LruCache<Arc<str>, Vault>>,
    /// What prompts were first, by a key of the conversation that a changed prompt leaves alone. The
    /// vaults keep it.
    first: Mutex<LruCache<String, Weak<FirstSeen>>>,
    /// Which conversation a response belongs to and what is known of it, by the HMAC of its id.
    responses: Mutex<LruCache<String, KnownResponse>>,
}

/// A conversation, and what is known of a response in it.
type KnownResponse = (Arc<str>, Option<Arc<PriorResponse>>);

/// What a request's header says about its conversation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hints {
    name: Option<NameHints>,
    location: Option<&'static str>,
    /// What is asked for.
    pub(crate) intent: Option<Intent>,
}

impl Hints {
    pub(crate) fn of(headers: &HeaderMap) -> Hints {
        Hints {
            name: Some(NameHints::of(headers)),
            location: Intent::location(headers),
            intent: Intent::of(headers),
        }
    }

    /// Returns our word for where a request of an API was asked, as far as its client says so.
    pub(crate) fn location_at(&self, api: Api) -> &'static str {
        match self.location {
            _ if !api.converses() => "request",
            None => "chat",
            Some(location) => location,
        }
    }
}

/// One request's conversation.
#[derive(Clone)]
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
    /// What is to be remembered of its response; `None` where nobody wants to know of calls.
    pub(crate) behind: Option<Arc<PriorResponse>>,
}

/// Returns the name of a request's conversation, as the policy and its plugins see it: opaque, the
/// same on every turn.
///
/// A gate knows more than the body: headers that name a session, and which response belongs to
/// which one.
pub fn session_key(keys: &TokenKeys, document: &Document) -> String {
    key(keys, &Name::of(document, None), None, document)
}

fn key(keys: &TokenKeys, name: &Name, location: Option<&'static str>, document: &Document) -> String {
    match name {
        Name::Given(name) | Name::Begins { opening: name, .. } | Name::Follows(name) => {
            key_of(keys, name, location)
        }
        Name::None => {
            keys.hash("REQUEST", &base16ct::lower::encode_string(&Sha256::digest(document.source())))
        }
    }
}

fn key_of(keys: &TokenKeys, name: &str, location: Option<&'static str>) -> String {
    let key = keys.hash("SESSION", name);
    // Where no location is told, the name alone makes the key.
    match location {
        None => key,
        Some(location) => keys.hash("SESSION", &format!("{location}\0{key}")),
    }
}

/// What is known of a token.
pub(crate) enum Recalled {
    /// Its value.
    Value {
        /// The token, as it is made.
        token: String,
        /// The conversation that remembers it.
        session: Arc<str>,
        value: Zeroizing<String>,
    },
    /// A conversation remembers it, and gives its value to nobody.
    Kept,
    /// It is one of ours, and no conversation remembers it.
    Forgotten,
    /// It is none of ours.
    Unknown,
}

impl Sessions {
    /// Remembers up to `most` conversations, whose values have `bytes` together.
    pub(crate) fn new(keys: TokenKeys, most: usize, bytes: usize) -> Self {
        let most = NonZeroUsize::new(most).unwrap_or(NonZeroUsize::MIN);
        let responses = most.saturating_mul(RESPONSES);
        Sessions {
            keys,
            values: MemoryBound::new(bytes),
            vaults: Mutex::new(LruCache::new(most)),
            first: Mutex::new(LruCache::new(most)),
            responses: Mutex::new(LruCache::new(responses)),
        }
    }

    /// What became of the tokens in answers.
    pub(crate) fn tokens(&self) -> TokenCounts {
        self.values.tokens()
    }

    /// The conversation of a request as it was received, and the hints that its header gave.
    ///
    /// What goes on from a response that is known is in that one's conversation, wherever it is asked.
    pub(crate) fn of(&self, document: &Document, hints: &Hints) -> Session {
        let name = Name::of(document, hints.name.as_ref());
        let own = || key(&self.keys, &name, hints.location, document).into();
        let key: Arc<str> = match &name {
            Name::None => {
                return Session { key: own(), vault: Vault::within(self.keys.clone(), &self.values) };
            }
            Name::Given(_) | Name::Begins { .. } => own(),
            Name::Follows(response) => {
                // A panic while a lock is held leaves a whole map behind: every change is one call.
                let mut responses = self.responses.lock().unwrap_or_else(PoisonError::into_inner);
                let known = responses.get(&self.response(response));
                known.map_or_else(own, |(key, _)| Arc::clone(key))
            }
        };
        let mut vaults = self.vaults.lock().unwrap_or_else(PoisonError::into_inner);
        let begin = || match &name {
            Name::Begins { words, .. } => {
                let first = self.first_of(&key_of(&self.keys, words, hints.location));
                Vault::sharing(self.keys.clone(), &self.values, first)
            }
            Name::Given(_) | Name::Follows(_) | Name::None => Vault::within(self.keys.clone(), &self.values),
        };
        let vault = vaults.get_or_insert(Arc::clone(&key), begin).clone();
        // A vault that is still in use elsewhere keeps its values, and goes on counting, until it
        // is not.
        while !self.values.has_room() && vaults.len() > 1 {
            vaults.pop_lru();
        }
        Session { key, vault }
    }

    /// Returns what prompts were first in a conversation.
    fn first_of(&self, conversation: &str) -> Arc<FirstSeen> {
        let mut known = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(first) = known.get(conversation).and_then(Weak::upgrade) {
            return first;
        }
        let first = Arc::new(FirstSeen::new(&self.values, true));
        known.put(conversation.to_owned(), Arc::downgrade(&first));
        first
    }

    /// Returns what is known of a token, in whatever case it is written. Looking does not make a
    /// conversation one that was used lately.
    pub(crate) fn recall(&self, word: &str) -> Recalled {
        if !self.keys.verify(word) {
            return Recalled::Unknown;
        }
        let vaults = self.vaults.lock().unwrap_or_else(PoisonError::into_inner);
        let mut kept = false;
        for (session, vault) in vaults.iter() {
            match vault.reveal(word) {
                Some(Some(value)) => {
                    let token = match word.rsplit_once('_') {
                        Some((label, tail)) => {
                            format!("{}_{}", label.to_ascii_uppercase(), tail.to_ascii_lowercase())
                        }
                        None => word.to_owned(),
                    };
                    return Recalled::Value { token, session: Arc::clone(session), value };
                }
                Some(None) => kept = true,
                None => {}
            }
        }
        if kept { Recalled::Kept } else { Recalled::Forgotten }
    }

    /// Responses of this conversation may be named by its next turn.
    pub(crate) fn thread(self: &Arc<Self>, key: &Arc<str>) -> Thread {
        Thread { sessions: Arc::clone(self), key: Arc::clone(key), behind: None }
    }

    /// Returns what is known of the response that a request goes on from.
    pub(crate) fn behind(&self, request: &Document) -> Option<Arc<PriorResponse>> {
        let id = request.member(request.root(), "previous_response_id")?;
        let response = self.response(&name::follows(request.leaf(id)?.text().expose()));
        let mut responses = self.responses.lock().unwrap_or_else(PoisonError::into_inner);
        responses.get(&response).and_then(|(_, behind)| behind.clone())
    }

    fn response(&self, id: &str) -> String {
        self.keys.hash("RESPONSE", id)
    }
}

impl Thread {
    /// A response of this conversation has this id. An id that a conversation has already stays its
    /// own: an upstream that gives it to another one does not lead the next turn there. What both call
    /// is remembered as of one.
    pub(crate) fn answered(&mut self, id: &str) {
        let response = self.sessions.response(&name::follows(id));
        let mut responses = self.sessions.responses.lock().unwrap_or_else(PoisonError::into_inner);
        let known = responses.get_or_insert(response, || (Arc::clone(&self.key), self.behind.clone()));
        self.behind = self.behind.take().and(known.1.clone());
    }

    /// Remembers with its responses what this request offers and what it goes on from, and what they call.
    pub(crate) fn remembering(self, request: &Document) -> Self {
        let before = self.sessions.behind(request);
        Thread { behind: Some(Arc::new(PriorResponse::to(request, before.as_deref()))), ..self }
    }
}

#[cfg(test)]
mod tests {
    use leafgate_tree::{Format, Limits};
    use leafgate_vault::{ClientIdentity, InstallationKey};
    use serde_json::json;

    use super::*;

    /// Room for the values of any test.
    const BYTES: usize = 64 * 1024 * 1024;

    fn keys() -> TokenKeys {
        TokenKeys::derive(&InstallationKey::from_bytes([1; 32]), &ClientIdentity::new("test"))
    }

    fn chat(messages: &serde_json::Value) -> Document {
        let body = json!({ "model": "m", "messages": messages }).to_string();
        Document::parse(body.into(), Format::OpenaiChat, &Limits::default()).unwrap()
    }

    fn key(messages: serde_json::Value) -> Arc<str> {
        Sessions::new(keys(), 10, BYTES).of(&chat(&messages), &Hints::default()).key
    }

    fn responses(body: &serde_json::Value) -> Document {
        Document::parse(body.to_string().into(), Format::OpenaiResponses, &Limits::default()).unwrap()
    }

    // S0-86
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
        let hint = Hints::of(&HeaderMap::from_iter([(
            http::HeaderName::from_static("session-id"),
            "s-1".parse().unwrap(),
        )]));
        let sessions = Sessions::new(keys(), 10, BYTES);
        let key = sessions.of(&turn("Hi"), &hint).key;
        assert_eq!(sessions.of(&turn("Ho"), &hint).key, key);
        assert!(!key.contains("s-1"));
        let other = TokenKeys::derive(&InstallationKey::from_bytes([1; 32]), &ClientIdentity::new("other"));
        assert_ne!(Sessions::new(other, 10, BYTES).of(&turn("Hi"), &hint).key, key);
    }

    // S0-08
    #[test]
    fn the_location_is_a_part_of_the_key() {
        let document = chat(&json!([{ "role": "user", "content": "Hi" }]));
        let sessions = Sessions::new(keys(), 10, BYTES);
        let at = |intent: Option<&'static str>, named: bool| {
            let mut headers = HeaderMap::new();
            if let Some(intent) = intent {
                headers.insert("openai-intent", http::HeaderValue::from_static(intent));
            }
            if named {
                headers.insert("session-id", http::HeaderValue::from_static("s-1"));
            }
            sessions.of(&document, &Hints::of(&headers)).key
        };
        for named in [false, true] {
            let (panel, editor) =
                (at(Some("conversation-panel"), named), at(Some("conversation-inline"), named));
            assert_eq!(at(Some("conversation-panel"), named), panel);
            assert_ne!(panel, editor, "two conversations of one name, or that begin alike");
            let nowhere = at(None, named);
            assert!(nowhere != panel && nowhere != editor);
            assert_eq!(at(Some("no location"), named), nowhere);
        }
        let (one, other) = ("conversation-panel", "conversation-inline");
        let vault_at = |intent: &'static str| {
            let headers = HeaderMap::from_iter([(
                http::HeaderName::from_static("openai-intent"),
                http::HeaderValue::from_static(intent),
            )]);
            sessions.of(&document, &Hints::of(&headers)).vault
        };
        vault_at(one).tokenize("EMAIL", "ann@example.org").unwrap();
        assert!(!vault_at(one).is_empty() && vault_at(other).is_empty());
    }

    #[test]
    fn who_goes_on_from_a_response_is_in_its_conversation() {
        let sessions = Arc::new(Sessions::new(keys(), 10, BYTES));
        let next = |id: &str| {
            sessions.of(&responses(&json!({ "input": "?", "previous_response_id": id })), &Hints::default())
        };
        let first = sessions.of(&responses(&json!({ "input": "Hi" })), &Hints::default());
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
    fn a_response_stays_in_the_conversation_that_had_its_id_first() {
        let sessions = Arc::new(Sessions::new(keys(), 10, BYTES));
        let begun = |text: &str| sessions.of(&responses(&json!({ "input": text })), &Hints::default());
        let (first, other) = (begun("Hi"), begun("Ho"));
        assert_ne!(first.key, other.key);
        sessions.thread(&first.key).answered("resp_1");
        sessions.thread(&other.key).answered("resp_1");
        let next = sessions
            .of(&responses(&json!({ "input": "?", "previous_response_id": "resp_1" })), &Hints::default());
        assert_eq!(next.key, first.key);
    }

    #[test]
    fn more_values_than_all_may_remember_make_the_least_recently_used_go() {
        let bytes = 3 * leafgate_vault::MAX_BYTES;
        let sessions = Sessions::new(keys(), 100, bytes);
        let turn = |n: usize| chat(&json!([{ "role": "user", "content": format!("{n}") }]));
        let large = "x".repeat(leafgate_vault::MAX_BYTES / 2);
        for n in 0..20 {
            let vault = sessions.of(&turn(n), &Hints::default()).vault;
            let token = vault.tokenize("BLOB", &format!("{n} {large}")).unwrap();
            let restored = vault.restorer().push(token.as_str(), &mut []);
            assert_ne!(restored, token.as_str(), "a conversation that goes on remembers its own");
            assert!(sessions.values.bytes() <= bytes);
        }
        assert!(!sessions.of(&turn(19), &Hints::default()).vault.is_empty());
        assert!(sessions.of(&turn(0), &Hints::default()).vault.is_empty());
    }

    #[test]
    fn the_vault_of_a_conversation_is_found_again() {
        let sessions = Sessions::new(keys(), 10, BYTES);
        let turn = chat(&json!([{ "role": "user", "content": "Hi" }]));
        sessions.of(&turn, &Hints::default()).vault.tokenize("EMAIL", "ann@example.org").unwrap();
        assert!(!sessions.of(&turn, &Hints::default()).vault.is_empty());
        let other = chat(&json!([{ "role": "user", "content": "Ho" }]));
        assert!(sessions.of(&other, &Hints::default()).vault.is_empty());
    }

    #[test]
    fn a_request_that_is_no_conversation_shares_its_vault_with_nobody() {
        let sessions = Sessions::new(keys(), 10, BYTES);
        let generic =
            Document::parse(r#"{"input": "x"}"#.into(), Format::Generic, &Limits::default()).unwrap();
        let session = sessions.of(&generic, &Hints::default());
        session.vault.tokenize("EMAIL", "ann@example.org").unwrap();
        assert!(sessions.of(&generic, &Hints::default()).vault.is_empty());
        assert_eq!(sessions.of(&generic, &Hints::default()).key, session.key);
    }

    #[test]
    fn the_least_recently_used_is_forgotten() {
        let sessions = Sessions::new(keys(), 2, BYTES);
        let turns: Vec<_> =
            (0..3).map(|n| chat(&json!([{ "role": "user", "content": format!("{n}") }]))).collect();
        for turn in [&turns[0], &turns[1], &turns[0]] {
            sessions.of(turn, &Hints::default()).vault.tokenize("EMAIL", "ann@example.org").unwrap();
        }
        sessions.of(&turns[2], &Hints::default());
        assert!(!sessions.of(&turns[0], &Hints::default()).vault.is_empty());
        assert!(sessions.of(&turns[1], &Hints::default()).vault.is_empty());
    }
}
