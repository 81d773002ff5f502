//! What names a conversation: a hint of its client, or how it begins.
//!
//! A hint that a client makes for one conversation is its name: Claude Code and Codex send one in a header, Claude Code another in the
//! body, and OpenAI's conversations have an id. A hint that is wider than a conversation, as a user, a window or a cache, tells
//! conversations apart that begin alike, and is never a name alone.
//!
//! How a conversation begins is what all its turns have in common: the system prompt and the first message of the user. What a client
//! put in before that message is not part of it, since many put it before the latest message instead. Nor are `cache_control` marks,
//! which wander from turn to turn.
//!
//! A request that only names the response it goes on from begins nowhere. It belongs to the conversation of that response.

use http::HeaderMap;
use leafgate_tree::{Document, Format, NodeId, NodeType, Role, Section, SectionKind, ValueType};
use sha2::{Digest, Sha256};

use super::hex;

/// Headers that name a conversation, and whose names they are.
const GIVEN: [(&str, &str); 2] = [("x-claude-code-session-id", CLAUDE_CODE), ("session-id", "codex")];

/// The header that names a window of VS Code, in which many conversations may be.
const WINDOW: &str = "vscode-sessionid";

const CLAUDE_CODE: &str = "claude-code";

/// Members of a body that name a user or a cache.
const WIDE: [&str; 3] = ["prompt_cache_key", "user", "safety_identifier"];

/// Characters of a UUID.
const UUID: usize = 36;

/// What a request's header says about its conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Hint {
    /// Its name.
    Given(String),
    /// Something wider.
    Wide(String),
}

/// What names a request's conversation.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Name {
    Given(String),
    /// The conversation of a response, which a gate may know.
    Follows(String),
    /// It is no conversation.
    None,
}

impl Hint {
    pub(crate) fn of(headers: &HeaderMap) -> Option<Hint> {
        let value = |name: &str| {
            headers.get(name).and_then(|value| value.to_str().ok()).filter(|value| !value.is_empty())
        };
        let given =
            GIVEN.iter().find_map(|(name, whose)| value(name).map(|id| Hint::Given(named(whose, id))));
        given.or_else(|| value(WINDOW).map(|window| Hint::Wide(named("window", window))))
    }
}

impl Name {
    pub(super) fn of(document: &Document, hint: Option<&Hint>) -> Name {
        let member = |key| document.member(document.root(), key).and_then(|node| text(document, node));
        match document.format() {
            Format::OpenaiChat | Format::OpenaiResponses | Format::AnthropicMessages => {}
            _ => return Name::None,
        }
        if let Some(Hint::Given(name)) = hint {
            return Name::Given(name.clone());
        }
        let user = user_id(document);
        if let Some(id) = user.as_deref().and_then(claude_code_session) {
            return Name::Given(named(CLAUDE_CODE, id));
        }
        if document.format() == Format::OpenaiResponses {
            if let Some(id) = conversation(document) {
                return Name::Given(named("conversation", &id));
            }
            if let Some(id) = member("previous_response_id") {
                return Name::Follows(follows(&id));
            }
        }
        let Some(mut opening) = opening(document) else { return Name::None };
        let window = match hint {
            Some(Hint::Wide(window)) => Some(window.clone()),
            _ => None,
        };
        for wide in WIDE.into_iter().map(member).chain([user, window]) {
            feed(&mut opening, wide.as_deref().unwrap_or_default());
        }
        Name::Given(hex(&opening.finalize()))
    }
}

/// The name of a conversation that goes on from a response.
pub(super) fn follows(response: &str) -> String {
    named("response", response)
}

/// Whose name it is keeps names of different makers apart: it holds no zero itself.
fn named(whose: &str, id: &str) -> String {
    format!("{whose}\0{id}")
}

/// `metadata.user_id`, by which Anthropic's API knows a client's user.
fn user_id(document: &Document) -> Option<String> {
    let metadata = document.member(document.root(), "metadata")?;
    let leaf = document.settable(document.member(metadata, "user_id")?)?;
    (leaf.value_type() == ValueType::Text).then(|| leaf.text().into_cow().into_owned())
}

/// Claude Code writes its session into the user's id: `user_…_account_…_session_<uuid>`, or a JSON object with a `session_id`.
fn claude_code_session(user_id: &str) -> Option<&str> {
    let id = match user_id.rsplit_once("_session_") {
        Some((_, id)) => id,
        None => user_id.split_once("\"session_id\":")?.1.trim_start().strip_prefix('"')?.split('"').next()?,
    };
    let is_uuid = id.len() == UUID && id.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    is_uuid.then_some(id)
}

/// The conversation that OpenAI keeps: its id, or an object that has it.
fn conversation(document: &Document) -> Option<String> {
    let conversation = document.member(document.root(), "conversation")?;
    let id = document.member(conversation, "id").unwrap_or(conversation);
    text(document, id)
}

fn text(document: &Document, node: NodeId) -> Option<String> {
    let leaf = document.leaf(node).filter(|leaf| leaf.value_type() == ValueType::Text)?;
    let text = leaf.text().into_cow();
    (!text.is_empty()).then(|| text.into_owned())
}

/// Digest of what all turns of a conversation begin with; `None` where nobody has said anything yet.
fn opening(document: &Document) -> Option<Sha256> {
    let messages = || document.sections().iter().filter(|section| section.node_type == NodeType::Message);
    // The system prompt that stands beside the messages counts wherever it stands.
    let beside = messages().filter(|message| message.message.is_none());
    let list = || messages().filter(|message| message.message.is_some());
    let first = list()
        .position(|message| message.role == Role::User && message.kind == SectionKind::User)
        .or_else(|| list().position(|message| message.role == Role::User))?;
    let before = list().take(first);
    let system = beside.chain(before).filter(|message| message.role == Role::System);
    let mut digest = Sha256::new();
    // Two programs may well say the same to two APIs.
    feed(&mut digest, document.format().name());
    for message in system.chain(list().nth(first)) {
        feed_message(&mut digest, document, message);
    }
    Some(digest)
}

fn feed_message(digest: &mut Sha256, document: &Document, message: &Section) {
    feed(digest, message.role.name());
    document.lasting_leaves(message.node).for_each(|leaf| feed(digest, leaf.text().expose()));
}

/// The length keeps texts apart: "ab" + "c" is not "a" + "bc".
fn feed(digest: &mut Sha256, text: &str) {
    digest.update((text.len() as u64).to_be_bytes());
    digest.update(text);
}

#[cfg(test)]
mod tests {
    use leafgate_tree::Limits;
    use serde_json::{Value, json};

    use super::*;

    fn name(format: Format, body: &Value, hint: Option<&Hint>) -> Name {
        Name::of(&Document::parse(body.to_string().into(), format, &Limits::default()).unwrap(), hint)
    }

    fn hint(fields: &[(&'static str, &str)]) -> Option<Hint> {
        let fields =
            fields.iter().map(|(name, value)| (http::HeaderName::from_static(name), value.parse().unwrap()));
        Hint::of(&fields.collect())
    }

    const SESSION: &str = "0aa1f1d6-37fb-4f3b-aa5f-d92b6a8afae2";

    fn messages(system: &Value, user_id: &str, said: &[&str]) -> Value {
        let roles = ["user", "assistant"].into_iter().cycle();
        let list = said.iter().zip(roles).map(|(text, role)| json!({ "role": role, "content": text }));
        json!({ "messages": list.collect::<Vec<_>>(), "metadata": { "user_id": user_id }, "system": system })
    }

    #[test]
    fn a_session_of_claude_code_has_one_name_wherever_it_stands() {
        let given = Name::Given(named(CLAUDE_CODE, SESSION));
        let of = |user_id: &str, hint: Option<&Hint>| {
            name(Format::AnthropicMessages, &messages(&json!("s"), user_id, &["Hi"]), hint)
        };
        assert_eq!(of("u", hint(&[("x-claude-code-session-id", SESSION)]).as_ref()), given);
        assert_eq!(of(&format!("user_a1_account_b2_session_{SESSION}"), None), given);
        assert_eq!(of(&json!({ "device_id": "d", "session_id": SESSION }).to_string(), None), given);
        for other in [
            "user_a1_account_b2_session_",
            "user_a_session_mine",
            "{\"session_id\":",
            "{\"session_id\":\"x\"}",
        ] {
            assert_ne!(of(other, None), given, "{other}");
        }
    }

    #[test]
    fn what_names_a_conversation_needs_no_opening() {
        let one = json!({ "input": "Hi" });
        let other = json!({ "input": "Ho", "instructions": "Else" });
        for hint in [hint(&[("session-id", "s")]), hint(&[("session-id", "s"), ("vscode-sessionid", "w")])] {
            let of = |body| name(Format::OpenaiResponses, body, hint.as_ref());
            assert_eq!(
                (of(&one), of(&other)),
                (Name::Given("codex\0s".into()), Name::Given("codex\0s".into()))
            );
        }
        let of = |conversation: Value| {
            name(Format::OpenaiResponses, &json!({ "conversation": conversation, "input": "Hi" }), None)
        };
        assert_eq!(of(json!("conv_1")), Name::Given("conversation\0conv_1".into()));
        assert_eq!(of(json!({ "id": "conv_1" })), of(json!("conv_1")));
        assert_ne!(of(Value::Null), of(json!("conv_1")));
    }

    #[test]
    fn what_is_wider_only_tells_openings_apart() {
        let of = |extra: &[(&str, &str)], hint: Option<Hint>, said: &str| {
            let mut body = json!({ "messages": [{ "role": "user", "content": said }] });
            for (key, value) in extra {
                body[key] = (*value).into();
            }
            name(Format::OpenaiChat, &body, hint.as_ref())
        };
        let window = |name| hint(&[("vscode-sessionid", name)]);
        let names = [
            of(&[], None, "Hi"),
            of(&[("user", "u")], None, "Hi"),
            of(&[("user", "u")], None, "Ho"),
            of(&[("prompt_cache_key", "u")], None, "Hi"),
            of(&[], window("w"), "Hi"),
            of(&[], window("x"), "Hi"),
            of(&[], window("w"), "Ho"),
        ];
        for (at, name) in names.iter().enumerate() {
            assert!(!names[..at].contains(name), "{at}");
        }
        assert_eq!(of(&[("user", "u")], None, "Hi"), names[1]);
    }

    #[test]
    fn turns_of_one_conversation_begin_alike_in_every_api() {
        let marked =
            json!([{ "type": "text", "text": "Be brief", "cache_control": { "type": "ephemeral" } }]);
        let plain = json!([{ "type": "text", "text": "Be brief" }]);
        let of = |system: &Value, said: &[&str]| {
            name(Format::AnthropicMessages, &messages(system, "someone", said), None)
        };
        let opening = of(&marked, &["Hi"]);
        assert_eq!(of(&plain, &["Hi", "Hello", "And now?"]), opening);
        assert_ne!(of(&json!("Be long"), &["Hi"]), opening);
        assert_ne!(of(&plain, &["And now?"]), opening);

        let of = |body: Value| name(Format::OpenaiResponses, &body, None);
        let item = |role: &str, text: &str| json!({ "role": role, "content": text });
        let opening = of(json!({ "instructions": "Be brief", "input": [item("user", "Hi")] }));
        let later = json!({ "input": [item("user", "Hi"), item("assistant", "Hello"), item("user", "And now?")], "instructions": "Be brief" });
        assert_eq!(of(later), opening);
        assert_ne!(of(json!({ "instructions": "Be long", "input": [item("user", "Hi")] })), opening);
        assert_ne!(of(json!({ "instructions": "Be brief", "input": "Ho" })), opening);
    }

    #[test]
    fn what_is_said_to_two_apis_are_two_conversations() {
        let body = json!({ "messages": [{ "role": "user", "content": "Hi" }] });
        assert_ne!(name(Format::OpenaiChat, &body, None), name(Format::AnthropicMessages, &body, None));
    }

    #[test]
    fn a_request_that_goes_on_follows_its_response() {
        let body = json!({ "previous_response_id": "resp_1", "input": "And now?" });
        assert_eq!(name(Format::OpenaiResponses, &body, None), Name::Follows("response\0resp_1".into()));
        assert_eq!(
            name(Format::OpenaiChat, &json!({ "messages": [], "conversation": "c" }), None),
            Name::None
        );
        assert_eq!(name(Format::Generic, &body, hint(&[("session-id", "s")]).as_ref()), Name::None);
    }
}
