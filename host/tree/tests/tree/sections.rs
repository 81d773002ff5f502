//! Which sections a request has, what they are called, who may do what with them, and where their leaves stand.

use crate::common::parse;
use leafgate_harness::recordings;
use leafgate_tree::{
    Access, Author, Document, Draft, EditError, Format, NodeType, Role, SectionId, SectionKind,
};

const CHAT: &str = r#"{"model":"m","messages":[{"role":"system","content":"Be brief"},
    {"role":"user","name":"ann","content":[{"type":"text","text":"Look"},{"type":"image_url","image_url":{"url":"https://x.test/a"}}]},
    {"role":"assistant","content":null,"tool_calls":[
        {"id":"c1","type":"function","function":{"name":"f","arguments":"{\"path\":\"a\"}"}},
        {"id":"c2","type":"function","function":{"arguments":"{}"}}]},
    {"role":"tool","tool_call_id":"c1","content":"42"},{"role":"tool","tool_call_id":"c2","content":"43"},
    {"role":"user","content":"And?"}]}"#;

/// A message of each role as VS Code keeps them.
const RAW: &str = r#"[{"role":0,"content":[{"type":1,"text":"s"}]},
    {"role":1,"name":"ann","content":[{"type":1,"text":"q"},{"type":0,"imageUrl":{"url":"u"}}]},
    {"role":2,"content":[],"toolCalls":[{"id":"c","type":"function","function":{"name":"f","arguments":"no json"}}]},
    {"role":3,"toolCallId":"c","content":[{"type":1,"text":"r"}]},{"role":9,"content":[]}]"#;

fn ids(document: &Document) -> impl Iterator<Item = SectionId> {
    (0..document.sections().len()).map(SectionId::from_index)
}

/// The section of a key.
fn keyed(draft: &Draft, key: &str) -> SectionId {
    ids(draft.document())
        .find(|&id| draft.section_key(id) == key)
        .unwrap_or_else(|| panic!("no section {key}"))
}

// S0-20, S0-21, S0-22, S1-14
#[test]
fn each_message_is_a_section_with_its_parts_and_calls_below() {
    let draft = parse(CHAT.as_bytes(), Format::OpenaiChat);
    let document = draft.document();
    let told: Vec<_> = ids(document)
        .filter(|&id| document.section(id).node_type != NodeType::RequestOption)
        .map(|id| {
            let section = document.section(id);
            let places = [section.message, section.content_index, section.tool_call_index];
            (draft.section_key(id), draft.section_label(id), document.display_path(section.node), places)
        })
        .collect();
    let row = |key: &str, label: &str, path: &str, message, content, call| {
        (key.to_owned(), label.to_owned(), path.to_owned(), [Some(message), content, call])
    };
    assert_eq!(
        told,
        [
            row("system-0", "System", "messages[0]", 0, None, None),
            row("user-1", "User", "messages[1]", 1, None, None),
            row("user-1/content/0", "Content #1", "messages[1].content[0]", 1, Some(0), None),
            row("user-1/content/1", "Content #2", "messages[1].content[1]", 1, Some(1), None),
            row("assistant-2", "Assistant", "messages[2]", 2, None, None),
            row("assistant-2/toolCall/0", "Tool call · f", "messages[2].tool_calls[0]", 2, None, Some(0)),
            row("assistant-2/toolCall/1", "Tool call · c2", "messages[2].tool_calls[1]", 2, None, Some(1)),
            row("tool-result-3", "Tool result · f", "messages[3]", 3, None, None),
            row("tool-result-4", "Tool result · c2", "messages[4]", 4, None, None),
            row("user-5", "User", "messages[5]", 5, None, None),
        ]
    );
    for (child, parent) in [("user-1/content/1", "user-1"), ("assistant-2/toolCall/0", "assistant-2")] {
        assert_eq!(document.section(keyed(&draft, child)).parent, Some(keyed(&draft, parent)));
    }
    assert_eq!(document.section(keyed(&draft, "user-5")).parent, None);
}

/// Responses has calls among its messages, as items.
// S0-22
#[test]
fn a_call_bears_the_name_of_its_tool_wherever_it_stands() {
    let body = r#"{"input":[{"type":"function_call","call_id":"c1","name":"f","arguments":"{}"},
        {"type":"function_call_output","call_id":"c1","output":"42"}]}"#;
    let draft = parse(body.as_bytes(), Format::OpenaiResponses);
    let labels: Vec<_> = ids(draft.document()).map(|id| draft.section_label(id)).collect();
    assert!(labels.starts_with(&["Tool call · f".to_owned(), "Tool result · f".to_owned()]), "{labels:?}");
}

// S0-20
#[test]
fn what_stands_beside_the_messages_is_a_system_section_of_its_own() {
    for (body, format, path) in [
        (r#"{"system":"s","messages":[{"role":"user","content":"q"}]}"#, Format::AnthropicMessages, "system"),
        (
            r#"{"instructions":"s","input":[{"role":"user","content":"q"}]}"#,
            Format::OpenaiResponses,
            "instructions",
        ),
    ] {
        let draft = parse(body.as_bytes(), format);
        let system = draft.document().section(keyed(&draft, "system"));
        assert_eq!((system.kind, system.role, system.message), (SectionKind::System, Role::System, None));
        assert_eq!(draft.document().display_path(system.node), path);
        let user = draft.document().section(keyed(&draft, "user-0"));
        assert_eq!(user.message, Some(0), "it moves no message");
    }
}

/// Members that no format knows are options like any other, and an option that is set is what leaves.
// S0-04, S0-46
#[test]
fn every_other_member_is_an_option_whose_leaves_can_be_set() {
    const OPTIONS: &str = r#""model":"m","max_tokens":9,"temperature":0.20,"tool_choice":"auto","prediction":{"type":"content","content":"p"},
        "reasoning":{"effort":"low"},"intent":true,"x-unknown":{"deep":[null]}"#;
    for (messages, format) in [
        (r#""messages":[{"role":"user","content":"q"}]"#, Format::OpenaiChat),
        (r#""input":[{"role":"user","content":"q"}]"#, Format::OpenaiResponses),
        (r#""messages":[{"role":"user","content":"q"}]"#, Format::AnthropicMessages),
    ] {
        let body = format!("{{{OPTIONS},{messages}}}");
        let draft = parse(body.as_bytes(), format);
        let document = draft.document();
        let options: Vec<_> = ids(document)
            .filter(|&id| document.section(id).node_type == NodeType::RequestOption)
            .map(|id| draft.section_key(id))
            .collect();
        for name in [
            "model",
            "max_tokens",
            "temperature",
            "tool_choice",
            "prediction",
            "reasoning",
            "intent",
            "x-unknown",
        ] {
            assert!(options.contains(&format!("requestOptions/{name}")), "{name} of {format}: {options:?}");
        }
        for (pointer, new, before, after) in [
            ("/temperature", "0.7", "0.20", "0.7"),
            ("/intent", "false", "true", "false"),
            ("/x-unknown/deep/0", "7", "[null]", "[7]"),
            ("/max_tokens", "12", ":9,", ":12,"),
        ] {
            let mut draft = parse(body.as_bytes(), format);
            let node = draft.document().resolve(pointer).unwrap();
            draft.set(node, new, &Author::Person).unwrap();
            assert_eq!(draft.render(), body.replacen(before, after, 1), "{pointer} of {format}");
        }
    }
}

// S0-26, S1-06
#[test]
fn leaves_are_scalars_and_bear_the_keys_of_the_api() {
    let paths = |body: &str, format| -> Vec<String> {
        let draft = parse(body.as_bytes(), format);
        let document = draft.document();
        document.leaves().map(|leaf| document.display_path(leaf.id())).collect()
    };
    let chat = paths(CHAT, Format::OpenaiChat);
    for path in [
        "messages[0].role",
        "messages[0].content",
        "messages[1].name",
        "messages[1].content[0].text",
        "messages[1].content[1].image_url.url",
        "messages[2].content",
        "messages[2].tool_calls[0].function.arguments.path",
        "messages[3].tool_call_id",
    ] {
        assert!(chat.iter().any(|leaf| leaf == path), "{path}");
    }
    let raw = paths(RAW, Format::Raw);
    for path in [
        "[0].content[0].text",
        "[1].content[1].imageUrl.url",
        "[2].toolCalls[0].function.arguments",
        "[3].toolCallId",
    ] {
        assert!(raw.iter().any(|leaf| leaf == path), "{path} of {raw:?}");
    }
    for leaf in
        ["messages", "messages[1].content", "messages[1].content[1].image_url", "messages[2].tool_calls"]
    {
        assert!(!chat.iter().any(|path| path == leaf), "{leaf} is a group");
    }
}

// S1-01, S1-02
#[test]
fn the_numbers_of_raw_roles_are_roles_and_others_are_shown_all_the_same() {
    let draft = parse(RAW.as_bytes(), Format::Raw);
    let messages =
        draft.document().sections().iter().filter(|section| section.node_type == NodeType::Message);
    let roles: Vec<_> = messages.map(|section| (section.role, section.kind)).collect();
    assert_eq!(
        roles,
        [
            (Role::System, SectionKind::System),
            (Role::User, SectionKind::User),
            (Role::Assistant, SectionKind::Assistant),
            (Role::Tool, SectionKind::ToolResult),
            (Role::Other, SectionKind::Other),
        ]
    );
}

/// A person may change nearly all and leave nearly all out; calls are changed argument by argument.
// S0-21, S0-22
#[test]
fn who_may_do_what_with_a_section() {
    let draft = parse(CHAT.as_bytes(), Format::OpenaiChat);
    for (key, editable, deletable) in [
        ("system-0", true, false),
        ("user-1", true, true),
        ("user-1/content/0", true, false),
        ("user-1/content/1", false, false),
        ("assistant-2", true, true),
        ("assistant-2/toolCall/0", false, false),
        ("tool-result-3", true, true),
    ] {
        let section = draft.document().section(keyed(&draft, key));
        assert_eq!((section.editable, section.deletable), (editable, deletable), "{key}");
    }
    let argument = draft.document().resolve("/messages/2/tool_calls/0/function/arguments/path").unwrap();
    assert_eq!(draft.document().leaf(argument).unwrap().access(), Access::Open);
    draft.may_edit(argument, &Author::Person).unwrap();
}

// S0-39, S1-16
#[test]
fn no_part_and_no_call_is_ever_deleted_or_moved() {
    for recording in recordings::all() {
        let mut draft = parse(&recording.body, recording.format);
        let document = std::sync::Arc::clone(draft.document());
        for id in ids(&document) {
            if matches!(document.section(id).node_type, NodeType::ContentPart | NodeType::ToolCall)
                && document.section(id).parent.is_some()
            {
                for author in [Author::Person, Author::rule("r")] {
                    assert_eq!(draft.delete(id, &author), Err(EditError::NotDeletable), "{recording:?}");
                }
            }
        }
        assert!(!draft.is_dirty(), "{recording:?}");
    }
}

/// The API joins messages of the user that follow each other, and wants a result of every call.
#[test]
fn results_in_two_messages_of_the_user_go_with_their_calls() {
    let body = r#"{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":[
        {"type":"tool_use","id":"1","name":"f","input":{}},{"type":"tool_use","id":"2","name":"f","input":{}}]},
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"a"}]},
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"2","content":"b"}]},
        {"role":"user","content":"And?"}]}"#;
    let mut draft = parse(body.as_bytes(), Format::AnthropicMessages);
    let calls = keyed(&draft, "assistant-1");
    draft.delete(calls, &Author::Person).unwrap();
    let left = r#"{"messages":[{"role":"user","content":"q"},
        {"role":"user","content":"And?"}]}"#;
    assert_eq!(draft.render(), left);
    assert_eq!(draft.validate(), Ok(()));
}

// S0-36
#[test]
fn a_new_edit_takes_the_redo_away() {
    let mut draft = parse(CHAT.as_bytes(), Format::OpenaiChat);
    let node = draft.document().resolve("/messages/5/content").unwrap();
    draft.set(node, "one", &Author::Person).unwrap();
    draft.undo();
    assert!(draft.can_redo());
    draft.set(node, "two", &Author::Person).unwrap();
    assert!(!draft.can_redo() && draft.redo().is_none());
    assert_eq!(draft.text(node).expose(), "two");
}

// S0-25, S0-37
#[test]
fn an_edit_behind_a_deletion_is_undone_where_it_was_made() {
    let mut draft = parse(CHAT.as_bytes(), Format::OpenaiChat);
    let node = draft.document().resolve("/messages/5/content").unwrap();
    let first = keyed(&draft, "user-1");
    draft.set(node, "Go on", &Author::Person).unwrap();
    draft.delete(first, &Author::Person).unwrap();
    draft.set(node, "Stop", &Author::Person).unwrap();
    assert_eq!(draft.display_path_now(node), "messages[4].content");
    draft.undo();
    assert_eq!(draft.text(node).expose(), "Go on");
    draft.undo();
    assert_eq!(
        (draft.display_path_now(node).as_str(), draft.text(node).expose()),
        ("messages[5].content", "Go on")
    );
    draft.undo();
    assert_eq!(draft.render(), CHAT);
}
