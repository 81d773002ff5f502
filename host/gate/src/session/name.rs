//! What names a conversation: a hint of its client, or how it begins.
//!
//! A hint that a client makes for one conversation is its name: Claude Code, Codex and Copilot CLI
//! send one in a header, Claude Code and Gemini CLI one in the body, and OpenAI's conversations have
//! an id. A hint that is
//! wider than a conversation, as a user, a window or a cache, tells conversations apart that begin
//! alike, and is never a name alone.
//!
//! How a conversation begins is what all its turns have in common: the system prompt and the first
//! message of the user. That message alone is what turns have in common whose prompt changes, and two
//! programs may well have it in common too: only what their prompts were first is remembered by it. What a client put in before that message is not part of it, since many put
//! it before the latest message instead. Nor are `cache_control` marks, which wander from turn to
//! turn.
//!
//! What a body says about its conversation, besides its beginning, the file of its API knows.

use http::HeaderMap;
use leafgate_desk::PartsDigest;
use leafgate_tree::{Document, NodeType, Role, SectionKind};

use crate::apis::Api;

/// Headers that name a conversation, and whose names they are.
const GIVEN: [(&str, &str); 3] = [
    ("x-claude-code-session-id", CLAUDE_CODE),
    ("session-id", "codex"),
    ("x-client-session-id", "copilot-cli"),
];

/// The header that names a window of VS Code, in which many conversations may be.
const WINDOW: &str = "vscode-sessionid";

/// The client whose sessions have their name in a header or in the body.
pub(crate) const CLAUDE_CODE: &str = "claude-code";

/// What a request says about its conversation, in its header or its body.
#[derive(Clone, Debug, Default)]
pub(crate) struct NameHints {
    /// Its name.
    pub(crate) name: Option<Name>,
    /// Names of something wider, in a fixed order; "" where one is not given.
    pub(crate) wide: Vec<String>,
}

/// What names a request's conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Name {
    Given(String),
    /// How it begins: a digest of all that, and one that a changed prompt leaves alone.
    Begins {
        opening: String,
        words: String,
    },
    /// The conversation of a response, which a gate may know.
    Follows(String),
    /// It is no conversation.
    None,
}

impl NameHints {
    /// Reads what a header says.
    pub(super) fn of(headers: &HeaderMap) -> NameHints {
        let value = |name: &str| {
            headers.get(name).and_then(|value| value.to_str().ok()).filter(|value| !value.is_empty())
        };
        let name = GIVEN.iter().find_map(|(name, whose)| Some(Name::given(whose, value(name)?)));
        NameHints { name, wide: value(WINDOW).map(|window| named("window", window)).into_iter().collect() }
    }
}

impl Name {
    /// The name that `whose` clients or servers gave a conversation.
    pub(crate) fn given(whose: &str, id: &str) -> Name {
        Name::Given(named(whose, id))
    }

    /// The conversation of a response.
    pub(crate) fn follows(response: &str) -> Name {
        Name::Follows(follows(response))
    }

    pub(super) fn of(document: &Document, header: Option<&NameHints>) -> Name {
        let Some(api) = Api::conversation_in(document.format()) else { return Name::None };
        if let Some(name) = header.and_then(|header| header.name.clone()) {
            return name;
        }
        let NameHints { name, wide } = (api.hints)(document);
        if let Some(name) = name {
            return name;
        }
        let openings = [true, false].map(|prompt| opening(document, prompt));
        let [Some(mut opening), Some(mut words)] = openings else { return Name::None };
        let window = header.and_then(|header| header.wide.first()).map_or("", String::as_str);
        for wide in wide.iter().map(String::as_str).chain([window]) {
            opening.add(wide);
            words.add(wide);
        }
        let [opening, words] =
            [opening, words].map(|digest| base16ct::lower::encode_string(&digest.finish()));
        Name::Begins { opening, words }
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

/// Digest of what all turns of a conversation begin with, the prompt among it or not; `None` where nobody
/// has said anything yet.
fn opening(document: &Document, prompt: bool) -> Option<PartsDigest> {
    let messages = || document.sections().iter().filter(|section| section.node_type == NodeType::Message);
    // The system prompt that stands beside the messages counts wherever it stands.
    let beside = messages().filter(|message| message.message.is_none());
    let list = || messages().filter(|message| message.message.is_some());
    let first = list()
        .position(|message| message.role == Role::User && message.kind == SectionKind::User)
        .or_else(|| list().position(|message| message.role == Role::User))?;
    let before = list().take(first);
    let system = beside.chain(before).filter(|message| prompt && message.role == Role::System);
    let mut digest = PartsDigest::default();
    // Two programs may well say the same to two APIs.
    digest.add(document.format().name());
    for message in system.chain(list().nth(first)) {
        digest.add(message.role.name());
        document.lasting_leaves(message.node).for_each(|leaf| digest.add(leaf.text().expose()));
    }
    Some(digest)
}

#[cfg(test)]
mod tests {
    use leafgate_tree::{Format, Limits};
    use serde_json::{Value, json};

    use super::*;

    fn name(format: Format, body: &Value, hint: Option<&NameHints>) -> Name {
        Name::of(&Document::parse(body.to_string().into(), format, &Limits::default()).unwrap(), hint)
    }

    fn hint(fields: &[(&'static str, &str)]) -> Option<NameHints> {
        let fields =
            fields.iter().map(|(name, value)| (http::HeaderName::from_static(name), value.parse().unwrap()));
        Some(NameHints::of(&fields.collect()))
    }

    const SESSION: &str = "0aa1f1d6-37fb-4f3b-aa5f-d92b6a8afae2";

    fn messages(system: &Value, user_id: &str, said: &[&str]) -> Value {
        let roles = ["user", "assistant"].into_iter().cycle();
        let list = said.iter().zip(roles).map(|(text, role)| json!({ "role": role, "content": text }));
        json!({ "messages": list.collect::<Vec<_>>(), "metadata": { "user_id": user_id }, "system": system })
    }

    // S0-86
    #[test]
    fn a_session_of_claude_code_has_one_name_wherever_it_stands() {
        let given = Name::Given(named(CLAUDE_CODE, SESSION));
        let of = |user_id: &str, hint: Option<&NameHints>| {
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

    // S0-86
    #[test]
    fn gemini_cli_names_its_session_in_what_code_assist_wraps() {
        let asks = |session: Value, said: &str| {
            let request = json!({ "contents": [{ "role": "user", "parts": [{ "text": said }] }], "session_id": session });
            json!({ "model": "m", "project": "p", "request": request })
        };
        let of = |body: Value| name(Format::Gemini, &body, None);
        let given = Name::Given(named("gemini-cli", SESSION));
        assert_eq!(
            (of(asks(json!(SESSION), "Hi")), of(asks(json!(SESSION), "Ho"))),
            (given.clone(), given.clone())
        );
        assert_ne!(of(asks(Value::Null, "Hi")), given);
        assert_ne!(of(asks(Value::Null, "Hi")), of(asks(Value::Null, "Ho")));
    }

    // S0-86
    #[test]
    fn what_is_wider_only_tells_openings_apart() {
        let of = |extra: &[(&str, &str)], hint: Option<NameHints>, said: &str| {
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
