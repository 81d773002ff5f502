//! What an API would refuse because of our edits, with the place and the rule.

use crate::common::parse;
use leafgate_tree::{Author, Draft, EditError, Format, NodeType, Redaction, Role, SectionId};

fn with(body: &str, format: Format, edits: &[(&str, &str)]) -> Draft {
    let mut draft = parse(body.as_bytes(), format);
    for (pointer, text) in edits {
        let node = draft.document().resolve(pointer).unwrap();
        draft.set(node, text, &Author::Person).unwrap();
    }
    draft
}

/// The pointer and the rule of a refusal; empty where there is none.
fn refusal(draft: &Draft) -> String {
    draft.validate().map_or_else(|invalid| invalid.to_string(), |()| String::new())
}

fn assert_refused(body: &str, format: Format, edit: (&str, &str), rule: &str) {
    let mut draft = with(body, format, &[edit]);
    let said = refusal(&draft);
    assert!(said.contains(rule) && said.contains(edit.0), "{edit:?}: {said}");
    draft.undo();
    assert_eq!(refusal(&draft), "", "what came is the client's affair");
}

const CHAT: &str = r#"{"messages":[{"role":"user","content":[{"type":"text","text":"q"}]},
    {"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]},
    {"role":"tool","tool_call_id":"1","content":"42"}]}"#;
const MESSAGES: &str = r#"{"messages":[{"role":"user","content":[{"type":"text","text":"q"}]},
    {"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f","input":{}}]},
    {"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"42"}]},{"role":"user","content":"go on"}]}"#;
const RAW: &str =
    r#"[{"role":0,"content":[{"type":1,"text":"s"}]},{"role":1,"content":[{"type":1,"text":"q"}]}]"#;

// S0-122, S1-12
#[test]
fn roles_and_types_stay_words_of_the_api() {
    let role = "role must be one that the API knows";
    let kind = "type must name what the part holds";
    assert_refused(CHAT, Format::OpenaiChat, ("/messages/0/role", "critic"), role);
    assert_refused(MESSAGES, Format::AnthropicMessages, ("/messages/0/role", "tool"), role);
    assert_refused(RAW, Format::Raw, ("/0/role", "7"), role);
    assert_refused(CHAT, Format::OpenaiChat, ("/messages/0/content/0/type", "image_url"), kind);
    assert_refused(RAW, Format::Raw, ("/0/content/0/type", "0"), kind);
    assert_refused(RAW, Format::Raw, ("/0/content/0/type", "1.5"), kind);
    // One role for another is a person's decision.
    assert_eq!(refusal(&with(RAW, Format::Raw, &[("/0/role", "1")])), "");
    assert_eq!(refusal(&with(CHAT, Format::OpenaiChat, &[("/messages/0/role", "developer")])), "");
}

/// What a deletion may not bring about, no change of a role may.
#[test]
fn another_role_leaves_an_order_that_the_api_takes() {
    let first = with(MESSAGES, Format::AnthropicMessages, &[("/messages/0/role", "assistant")]);
    assert!(refusal(&first).starts_with("the first message must have the role `user` (at /messages/0)"));
    let gemini = r#"{"contents":[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"text":"a"}]},
        {"role":"user","parts":[{"text":"go on"}]}]}"#;
    for (body, format, last, role) in [
        (MESSAGES, Format::AnthropicMessages, "/messages/3/role", "assistant"),
        (gemini, Format::Gemini, "/contents/2/role", "model"),
    ] {
        let said = refusal(&with(body, format, &[(last, role)]));
        assert!(said.contains(last.trim_end_matches("/role")), "{said}");
    }
    assert_eq!(
        refusal(&with(MESSAGES, Format::AnthropicMessages, &[("/messages/0/content/0/text", "r")])),
        ""
    );
}

#[test]
fn ids_of_calls_and_results_stay_the_same() {
    let rule = "same id";
    let calls = "/messages/1/tool_calls/0/id";
    assert_refused(CHAT, Format::OpenaiChat, (calls, "2"), rule);
    let draft = with(CHAT, Format::OpenaiChat, &[(calls, "2"), ("/messages/2/tool_call_id", "2")]);
    assert_eq!(refusal(&draft), "", "both at once are a pair again");
    assert_refused(MESSAGES, Format::AnthropicMessages, ("/messages/1/content/0/id", "2"), rule);
    let items = r#"{"input":[{"type":"function_call","id":"fc_1","call_id":"1","name":"f","arguments":"{}"},
        {"type":"function_call_output","call_id":"1","output":"42"}]}"#;
    assert_refused(items, Format::OpenaiResponses, ("/input/0/call_id", "2"), rule);
    assert_eq!(
        refusal(&with(items, Format::OpenaiResponses, &[("/input/0/id", "fc_2")])),
        "",
        "no pair hangs on it"
    );
}

#[test]
fn texts_of_messages_stay_texts() {
    let rule = "must not be empty";
    assert_refused(MESSAGES, Format::AnthropicMessages, ("/messages/0/content/0/text", " "), rule);
    assert_refused(MESSAGES, Format::AnthropicMessages, ("/messages/3/content", ""), rule);
    assert_eq!(refusal(&with(CHAT, Format::OpenaiChat, &[("/messages/0/content/0/text", "")])), "");
    // Redaction is no exception.
    let mut draft = parse(MESSAGES.as_bytes(), Format::AnthropicMessages);
    let text = draft.document().resolve("/messages/0/content/0/text").unwrap();
    let all = Redaction::new(0..1, "X", String::new());
    draft.redact(text, &[all], &Author::rule("drop")).unwrap();
    assert!(refusal(&draft).contains(rule));
    // What is left out is not sent, whatever it says.
    let message = (0..).map(SectionId::from_index).find(|&id| {
        let section = draft.document().section(id);
        section.message == Some(0)
    });
    draft.delete(message.unwrap(), &Author::Person).unwrap();
    assert!(!refusal(&draft).contains(rule));
}

#[test]
fn something_of_the_user_is_left_to_answer() {
    let body = r#"{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]}"#;
    let mut draft = parse(body.as_bytes(), Format::OpenaiChat);
    draft.delete(SectionId::from_index(2), &Author::Person).unwrap();
    assert!(refusal(&draft).contains("answer itself"), "{}", refusal(&draft));
    draft.delete(SectionId::from_index(1), &Author::Person).unwrap();
    assert_eq!(refusal(&draft), "");
    draft.delete(SectionId::from_index(0), &Author::Person).unwrap();
    assert!(refusal(&draft).contains("nothing to answer"));
}

#[test]
fn a_system_message_is_deleted_by_nobody() {
    for (body, format, pointer) in [
        (
            r#"{"messages":[{"role":"system","content":"s"},{"role":"user","content":"q"}]}"#,
            Format::OpenaiChat,
            "/messages/0",
        ),
        (r#"{"messages":[{"role":"developer","content":"s"}]}"#, Format::OpenaiChat, "/messages/0"),
        (
            r#"{"input":[{"role":"developer","content":"s"},{"role":"user","content":"q"}]}"#,
            Format::OpenaiResponses,
            "/input/0",
        ),
        (r#"{"instructions":"s","input":"q"}"#, Format::OpenaiResponses, "/instructions"),
        (
            r#"{"system":"s","messages":[{"role":"user","content":"q"}]}"#,
            Format::AnthropicMessages,
            "/system",
        ),
        (
            r#"{"messages":[{"role":"user","content":"q"},{"role":"system","content":"s"}]}"#,
            Format::AnthropicMessages,
            "/messages/1",
        ),
        (
            r#"{"systemInstruction":{"parts":[{"text":"s"}]},"contents":[]}"#,
            Format::Gemini,
            "/systemInstruction",
        ),
        (RAW, Format::Raw, "/0"),
    ] {
        let mut draft = parse(body.as_bytes(), format);
        let node = draft.document().resolve(pointer).unwrap();
        let section = draft.document().section_of(node).unwrap();
        assert!(!draft.document().section(section).deletable, "{body}");
        for author in [Author::Person, Author::rule("r"), Author::SavedEdit { id: "e".into() }] {
            assert_eq!(draft.delete(section, &author), Err(EditError::NotDeletable), "{body}");
        }
        assert_eq!(draft.render(), body);
    }
}

// S0-123
#[test]
fn no_request_is_emptied_of_all_its_messages() {
    for (body, format, why) in [
        (r#"{"messages":[{"role":"user","content":"q"}]}"#, Format::OpenaiChat, "every message was deleted"),
        (
            r#"{"input":[{"role":"user","content":"q"}]}"#,
            Format::OpenaiResponses,
            "every message was deleted",
        ),
        (
            r#"{"messages":[{"role":"user","content":"q"}]}"#,
            Format::AnthropicMessages,
            "every message was deleted",
        ),
        (r#"{"contents":[{"parts":[{"text":"q"}]}]}"#, Format::Gemini, "every message was deleted"),
        (
            r#"{"messages":[{"role":"critic","content":"q"}]}"#,
            Format::OpenaiChat,
            "every message was deleted",
        ),
        (
            r#"{"messages":[{"role":"system","content":"s"},{"role":"user","content":"q"}]}"#,
            Format::OpenaiChat,
            "only system messages",
        ),
        (
            r#"{"system":"s","messages":[{"role":"user","content":"q"}]}"#,
            Format::AnthropicMessages,
            "only system messages",
        ),
    ] {
        let mut draft = parse(body.as_bytes(), format);
        let mut messages = draft.document().sections().iter().enumerate();
        let last = messages.rfind(|(_, section)| section.node_type == NodeType::Message).map(|(at, _)| at);
        let last = SectionId::from_index(last.unwrap());
        // A system message of our own is no question either.
        let _ = draft.insert(last, Role::System, "x", &Author::rule("r"));
        draft.delete(last, &Author::Person).unwrap();
        assert!(refusal(&draft).contains(why), "{body}: {}", refusal(&draft));
    }
}
