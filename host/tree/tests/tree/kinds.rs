//! What sections are: kinds by name, by form and by place; content parts by their types; what no format knows.

use crate::common::{chat, parse};
use leafgate_harness::recordings;
use leafgate_tree::{
    ContentKind, Document, Draft, Format, LeafKind, Limits, NodeType, Redaction, SectionId, SectionKind,
};

fn read(body: &str, format: Format) -> Document {
    Document::parse(body.to_owned().into(), format, &Limits::default()).unwrap()
}

fn kinds(document: &Document) -> Vec<SectionKind> {
    let messages = document.sections().iter().filter(|section| section.node_type == NodeType::Message);
    messages.map(|section| section.kind).collect()
}

fn labels(draft: &Draft) -> Vec<String> {
    let document = draft.document();
    let ids = (0..document.sections().len()).map(SectionId::from_index);
    let ids = ids.filter(|&id| document.section(id).node_type == NodeType::Message);
    ids.map(|id| draft.section_label(id)).collect()
}

const CONTEXT: &str = r#"[
    {"role":"system","content":"Be brief"},
    {"role":"user","content":"notes/\n  a.md\n  b.md"},
    {"role":"assistant","content":"A list of notes"},
    {"role":"user","content":"Context from notes/a.md:\n\nBuy milk"},
    {"role":"user","content":[{"type":"text","text":"Context from \u0063at.png:\n\n"},{"type":"image_url","image_url":{"url":"https://x.test/c"}}]},
    {"role":"user","content":"Vault:\nnotes/\n  a.md\n  b.md"},
    {"role":"user","content":"What should I buy?"}]"#;

#[test]
fn context_stands_before_the_latest_question() {
    use SectionKind::{Assistant, Context, System, User};
    let document = read(&format!(r#"{{"messages":{CONTEXT}}}"#), Format::OpenaiChat);
    assert_eq!(kinds(&document), [System, User, Assistant, Context, Context, Context, User]);
    let responses = read(&format!(r#"{{"input":{CONTEXT}}}"#), Format::OpenaiResponses);
    assert_eq!(kinds(&responses), kinds(&document));
    let messages = read(&format!(r#"{{"messages":{CONTEXT}}}"#), Format::AnthropicMessages);
    assert_eq!(kinds(&messages), kinds(&document));
}

#[test]
fn a_label_names_the_path_as_it_is_now() {
    let mut draft = chat(&format!(r#"{{"messages":{CONTEXT}}}"#));
    let expected = ["Context · notes/a.md", "Context · cat.png", "Context", "User"];
    assert_eq!(labels(&draft)[3..], expected.map(str::to_owned));
    let leaf = draft.document().resolve("/messages/3/content").unwrap();
    let redaction = Redaction::new(13..18, "DIR", "DIR_1");
    draft.redact(leaf, &[redaction], &leafgate_tree::Author::rule("dirs")).unwrap();
    assert_eq!(labels(&draft)[3], "Context · DIR_1/a.md");
}

// S0-18
#[test]
fn a_name_says_what_a_user_message_carries() {
    use SectionKind::{Assistant, Context, History, Prediction, User};
    let body = r#"{"messages":[
        {"role":"user","name":"conversation-History","content":"a"}, {"role":"user","name":"context","content":"b"},
        {"role":"user","name":"prediction","content":"c"}, {"role":"assistant","name":"history","content":"d"},
        {"role":"user","name":"ann","content":"e"}]}"#;
    assert_eq!(kinds(&read(body, Format::OpenaiChat)), [History, Context, Prediction, Assistant, User]);
    let raw = body.replace("\"user\"", "1").replace("\"assistant\"", "2");
    assert_eq!(kinds(&read(&raw, Format::Raw)), [History, Context, Prediction, Assistant, User]);
}

#[test]
fn results_told_in_words_belong_to_their_tool() {
    let body = r#"{"messages":[{"role":"user","content":"Tool read_file result: 42"},{"role":"user","content":"Go on"}]}"#;
    let mut draft = parse(body.as_bytes(), Format::OpenaiChat);
    assert_eq!(kinds(draft.document()), [SectionKind::ToolResult, SectionKind::User]);
    assert_eq!(labels(&draft)[0], "Tool result · read_file");
    // They pair with no call, so each may go alone.
    draft.delete(SectionId::from_index(1), &leafgate_tree::Author::Person).unwrap();
    assert_eq!(draft.validate(), Ok(()));
}

// S0-18
#[test]
fn a_prediction_is_one() {
    let document = read(
        r#"{"messages":[],"prediction":{"type":"content","content":"fn main() {}"}}"#,
        Format::OpenaiChat,
    );
    assert_eq!(document.sections().last().unwrap().kind, SectionKind::Prediction);
}

// S0-18, S1-04
#[test]
fn parts_are_what_their_types_say() {
    let parts = |body: &str, format| {
        let document = read(body, format);
        let parts: Vec<_> = document.sections().iter().filter_map(|section| section.content_kind).collect();
        (parts, document.unknown_sections())
    };
    use ContentKind::*;
    let chat = r#"{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url"},{"type":"input_audio"},
        {"type":"file"},{"type":"refusal","refusal":"no"},{"type":"hologram"},{}]}]}"#;
    assert_eq!(parts(chat, Format::OpenaiChat), (vec![Text, Image, Audio, Document, Text, Other, Other], 2));
    let messages = r#"{"messages":[{"role":"user","content":[{"type":"tool_result","content":[{"type":"image"}]},{"type":"document"},
        {"type":"redacted_thinking"},{"type":"tool_use","name":"f"}]},{"role":"critic","content":"x"}]}"#;
    assert_eq!(
        parts(messages, Format::AnthropicMessages),
        (vec![ToolResult, Image, Document, Thinking], 1),
        "a call is no part of content, and nobody knows the critic"
    );
    let raw = r#"[{"role":1,"content":[{"type":1,"text":"a"},{"type":0},{"type":2},{"type":3},{"type":4},{"type":9}]}]"#;
    assert_eq!(parts(raw, Format::Raw), (vec![Text, Image, Opaque, CacheBreakpoint, Document, Other], 1));
}

#[test]
fn marks_for_caches_are_no_part_of_what_a_message_says() {
    let body = r#"{"messages":[{"role":"user","content":[{"type":"text","text":"q","cache_control":{"type":"ephemeral","ttl":"1h"}}]}]}"#;
    let document = read(body, Format::AnthropicMessages);
    let message = document.sections()[0].node;
    let texts: Vec<_> = document.lasting_leaves(message).map(|leaf| document.pointer(leaf.id())).collect();
    assert_eq!(texts, ["/messages/0/role", "/messages/0/content/0/type", "/messages/0/content/0/text"]);
}

#[test]
fn a_tool_definition_without_parameters_is_one_all_the_same() {
    let definitions = [
        (
            r#"{"tools":[{"type":"function","function":{"name":"f"}},{"type":"custom","custom":{"name":"g"}}]}"#,
            Format::OpenaiChat,
        ),
        (r#"{"functions":[{"name":"f"},{"name":"g"}]}"#, Format::OpenaiChat),
        (r#"{"tools":[{"type":"function","name":"f"},{"type":"web_search"}]}"#, Format::OpenaiResponses),
        (r#"{"tools":[{"name":"f"},{"type":"bash_20250124","name":"bash"}]}"#, Format::AnthropicMessages),
        (r#"{"tools":[{"functionDeclarations":[{"name":"f"},{"name":"g"}]}]}"#, Format::Gemini),
    ];
    for (body, format) in definitions {
        let document = read(body, format);
        let deletable =
            document.sections().iter().filter(|section| section.deletable && section.tool.is_some());
        let reached: Vec<_> = document
            .leaves()
            .filter(|leaf| leaf.kind() == LeafKind::ToolSchema && leaf.tool().is_some())
            .filter_map(|leaf| leaf.section())
            .collect();
        let named: Vec<_> = deletable.map(|section| section.tool.clone()).collect();
        assert!(!named.is_empty(), "{body}");
        for tool in named {
            assert!(reached.iter().any(|&id| document.section(id).tool == tool), "{tool:?} in {body}");
        }
    }
}

#[test]
fn every_leaf_of_an_export_belongs_to_a_section() {
    let body = r#"{"requests":[{"requestId":"r","timestamp":17,"isCanceled":false,"message":{"text":"q"},"response":[{"value":"a"}]},
        {"requestId":"s","message":{"text":"r"}}],"responderUsername":"agent"}"#;
    let draft = parse(body.as_bytes(), Format::VscodeChat);
    let document = draft.document();
    let around = |pointer: &str| document.section_of(document.resolve(pointer).unwrap()).unwrap();
    assert_eq!(draft.section_key(around("/requests/0/timestamp")), "requestOptions/requests/0");
    assert_eq!(draft.section_label(around("/requests/1/requestId")), "Request #2");
    assert_eq!(draft.section_key(around("/requests/0/message/text")), "user-0");
    for recording in recordings::all() {
        let document = read(std::str::from_utf8(&recording.body).unwrap(), recording.format);
        assert!(document.leaves().all(|leaf| leaf.section().is_some()), "{recording:?}");
    }
}
