//! Messages that are put in: where they stand, how each format spells them, and how they go with deletions and undo.

use crate::common::{chat, parse};
use leafgate_harness::recordings;
use leafgate_tree::{
    Author, Document, Draft, EditError, Format, Limits, NodeId, NodeType, Redaction, Role, SectionId,
    SectionKind,
};
use proptest::prelude::*;
use proptest::sample::Index;

const TEXT: &str = "Context from \"a\".md:\n\nÄ";

fn at(draft: &Draft, pointer: &str) -> SectionId {
    let node = draft.document().resolve(pointer).unwrap();
    draft.document().section_of(node).unwrap()
}

fn insert(draft: &mut Draft, before: &str, text: &str) -> Result<u64, EditError> {
    draft.insert(at(draft, before), Role::User, text, &Author::rule("context"))
}

fn rendered(draft: &Draft) -> String {
    String::from_utf8(draft.render().to_vec()).unwrap()
}

#[test]
fn a_message_stands_directly_before_another() {
    let mut draft =
        chat(r#"{"messages":[ {"role":"system","content":"s"} , {"role":"user","content":"q"} ],"n":1}"#);
    insert(&mut draft, "/messages/1", TEXT).unwrap();
    assert!(draft.is_dirty());
    assert_eq!(
        rendered(&draft),
        "{\"messages\":[ {\"role\":\"system\",\"content\":\"s\"} , {\"role\":\"user\",\"content\":\"Context from \\\"a\\\".md:\\n\\nÄ\"},{\"role\":\"user\",\"content\":\"q\"} ],\"n\":1}"
    );
    let question = draft.document().resolve("/messages/1/content").unwrap();
    assert_eq!(draft.pointer_now(question), "/messages/2/content");
    draft.undo();
    assert!(!draft.is_dirty());
    assert_eq!(draft.pointer_now(question), "/messages/1/content");
    draft.redo();
    assert_eq!(draft.inserted().count(), 1);
    draft.reset();
    assert!(!draft.is_dirty());
    draft.undo();
    assert_eq!(
        draft.inserted().map(|inserted| inserted.text().expose().to_owned()).collect::<Vec<_>>(),
        [TEXT]
    );
}

#[test]
fn several_stand_in_the_order_of_their_edits() {
    let body = r#"{"messages":[{"role":"user","content":"a"},{"role":"user","content":"b"},{"role":"user","content":"c"}]}"#;
    let contents = |draft: &Draft| {
        let document = Document::parse(draft.render(), Format::OpenaiChat, &Limits::default()).unwrap();
        let messages = document.member(document.root(), "messages").unwrap();
        let contents =
            document.children(messages).map(|message| document.member(message, "content").unwrap());
        contents.map(|content| document.leaf(content).unwrap().text().expose().to_owned()).collect::<String>()
    };
    let mut draft = chat(body);
    insert(&mut draft, "/messages/1", "1").unwrap();
    insert(&mut draft, "/messages/1", "2").unwrap();
    insert(&mut draft, "/messages/0", "0").unwrap();
    assert_eq!(contents(&draft), "0a12bc");
    for (delete, left) in [("/messages/1", "0a12c"), ("/messages/0", "012c"), ("/messages/2", "012")] {
        draft.delete(at(&draft, delete), &Author::Person).unwrap();
        assert_eq!(contents(&draft), left);
    }
    assert!(draft.validate().is_err(), "what is left is ours alone");
    for _ in 0..3 {
        draft.undo();
    }
    draft.delete(at(&draft, "/messages/2"), &Author::Person).unwrap();
    draft.delete(at(&draft, "/messages/1"), &Author::Person).unwrap();
    assert_eq!(contents(&draft), "0a12");
}

#[test]
fn each_format_has_its_spelling() {
    let inserted = |body: &str, format, before: &str, role| {
        let mut draft = parse(body.as_bytes(), format);
        draft.insert(at(&draft, before), role, "x", &Author::Person).map(|_| rendered(&draft))
    };
    let messages = r#"{"messages":[{"role":"user","content":"q"}]}"#;
    assert_eq!(
        inserted(messages, Format::AnthropicMessages, "/messages/0", Role::User).unwrap(),
        r#"{"messages":[{"role":"user","content":"x"},{"role":"user","content":"q"}]}"#
    );
    assert_eq!(
        inserted(
            r#"{"input":[{"role":"user","content":"q"}]}"#,
            Format::OpenaiResponses,
            "/input/0",
            Role::System
        )
        .unwrap(),
        r#"{"input":[{"role":"system","content":"x"},{"role":"user","content":"q"}]}"#
    );
    assert_eq!(
        inserted(r#"[{"role":1,"content":[]}]"#, Format::Raw, "/0", Role::Assistant).unwrap(),
        r#"[{"role":2,"content":[{"type":1,"text":"x"}]},{"role":1,"content":[]}]"#
    );
}

#[test]
fn where_nothing_can_be_put_in() {
    let refused = |body: &str, format, before: &str, role| {
        let mut draft = parse(body.as_bytes(), format);
        let refused = draft.insert(at(&draft, before), role, "x", &Author::rule("r"));
        assert!(matches!(refused, Err(EditError::NotInsertable(_))), "{before}: {refused:?}");
        assert!(!draft.is_dirty());
    };
    let calls = r#"{"messages":[{"role":"user","content":"q"},
        {"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]},
        {"role":"tool","tool_call_id":"1","content":"42"}]}"#;
    refused(calls, Format::OpenaiChat, "/messages/2", Role::User);
    refused(calls, Format::OpenaiChat, "/messages/0", Role::Tool);
    refused(calls, Format::OpenaiChat, "/messages/1/tool_calls/0", Role::User);
    refused(r#"{"input":"q"}"#, Format::OpenaiResponses, "/input", Role::User);
    let messages = r#"{"system":"s","messages":[{"role":"user","content":"q"}]}"#;
    refused(messages, Format::AnthropicMessages, "/system", Role::User);
    refused(messages, Format::AnthropicMessages, "/messages/0", Role::System);
    refused(r#"{"requests":[{"message":"q"}]}"#, Format::VscodeChat, "/requests/0/message", Role::User);

    let mut pinned = chat(r#"{"messages":[{"role":"user","content":"q"}]}"#);
    pinned.pin(pinned.document().resolve("/messages").unwrap(), &Author::rule("keep"));
    assert!(matches!(insert(&mut pinned, "/messages/0", "x"), Err(EditError::Pinned { .. })));
}

#[test]
fn what_was_put_in_is_redacted_for_good() {
    let mut draft = chat(r#"{"messages":[{"role":"user","content":"q"}]}"#);
    insert(&mut draft, "/messages/0", "ann and bob and cid").unwrap();
    let redaction = |at, label: &str, replacement: &str| Redaction::new(at, label, replacement);
    draft.redact_inserted(0, &[redaction(8..11, "B", "BBBB_1")]).unwrap();
    // The later ones stand on both sides of the first, and one covers it.
    draft.redact_inserted(0, &[redaction(0..3, "A", "A_1"), redaction(19..22, "C", "C")]).unwrap();
    let now = |draft: &Draft| {
        let inserted = draft.inserted().next().unwrap();
        let text = inserted.text();
        let spans = inserted.redacted().into_iter();
        let spans = spans.map(|(at, label)| format!("{label}={}", &text.expose()[at]));
        (text.expose().to_owned(), spans.collect::<Vec<_>>())
    };
    assert_eq!(
        now(&draft),
        ("A_1 and BBBB_1 and C".to_owned(), ["A=A_1", "B=BBBB_1", "C=C"].map(str::to_owned).to_vec())
    );
    draft.undo();
    draft.redo();
    assert!(!rendered(&draft).contains("bob"));
    draft.redact_inserted(0, &[redaction(4..18, "D", "D")]).unwrap();
    assert_eq!(now(&draft), ("A_1 D C".to_owned(), ["A=A_1", "D=D", "C=C"].map(str::to_owned).to_vec()));
    assert_eq!(draft.redact_inserted(0, &[redaction(5..99, "E", "E")]), Err(EditError::BadRange));
    assert_eq!(draft.redact_inserted(1, &[]), Err(EditError::NotALeaf));
}

/// A client, or who writes to it, can put each of these behind what the user said.
#[test]
fn what_says_nothing_hides_no_message_before_it() {
    let image = r#"{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}"#;
    for silent in [
        r#""""#.to_owned(),
        r#"" \u200b\n""#.to_owned(),
        r#"[{"type":"text","text":""}]"#.to_owned(),
        r#"[]"#.to_owned(),
        "null".to_owned(),
        format!("[{image}]"),
        format!(r#"[{image},{{"type":"text","text":"<system-reminder>a</system-reminder>"}}]"#),
    ] {
        let body = format!(
            r#"{{"messages":[{{"role":"user","content":"a"}},{{"role":"user","content":"b"}},{{"role":"user","content":{silent}}}]}}"#
        );
        let document = Document::parse(body.into(), Format::OpenaiChat, &Limits::default()).unwrap();
        let places = document.latest_user_words();
        let places: Vec<_> =
            places.iter().map(|place| document.pointer(NodeId::from_index(place.start))).collect();
        assert_eq!(places, ["/messages/1", "/messages/2"], "{silent}");
    }
}

#[test]
fn what_the_model_called_behind_the_users_words_says_that_it_goes_on() {
    let goes_on = |body: &str, format| {
        let document = Document::parse(body.to_owned().into(), format, &Limits::default()).unwrap();
        let call = document.first_call_behind(&document.latest_user_words());
        call.map(|call| document.pointer(call)).unwrap_or_default()
    };
    let call = r#"{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]}"#;
    let (asks, result) =
        (r#"{"role":"user","content":"a"}"#, r#"{"role":"tool","tool_call_id":"1","content":"b"}"#);
    let said = r#"{"role":"assistant","content":"b"}"#;
    for (messages, at) in [
        (vec![asks], ""),
        (vec![asks, said], ""),
        (vec![asks, call, result], "/messages/1/tool_calls/0"),
        (vec![asks, call, result, asks], ""),
        // The client stores the result with the call.
        (vec![asks, call], "/messages/1/tool_calls/0"),
    ] {
        let body = format!(r#"{{"messages":[{}]}}"#, messages.join(","));
        assert_eq!(goes_on(&body, Format::OpenaiChat), at, "{body}");
    }
    let body = r#"{"messages":[{"role":"user","content":"a"},
        {"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f","input":{}}]},
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"b"}]}]}"#;
    assert_eq!(goes_on(body, Format::AnthropicMessages), "/messages/1/content/0");
    let body = r#"{"input":[{"role":"user","content":"a"},
        {"type":"function_call","call_id":"1","name":"f","arguments":"{}"}]}"#;
    assert_eq!(goes_on(body, Format::OpenaiResponses), "/input/1");
}

#[test]
fn a_prompt_that_is_known_is_no_users_words() {
    let body = r#"{"messages":[{"role":"system","content":"s"},{"role":"user","content":"Lead."},
        {"role":"user","content":"Lead."}]}"#;
    let kinds = |prompt: &str| {
        let document = Document::parse(body.into(), Format::OpenaiChat, &Limits::default()).unwrap();
        let document = document.with_prompt(|text| text == prompt).unwrap_or(document);
        document.messages().map(|message| document.section(message).kind).collect::<Vec<_>>()
    };
    assert_eq!(kinds("Lead."), [SectionKind::System, SectionKind::System, SectionKind::User]);
    assert_eq!(kinds("Lead"), [SectionKind::System, SectionKind::User, SectionKind::User]);
}

#[test]
fn where_there_are_no_messages_the_prompt_is_what_the_user_said_last() {
    let words = |body: &str, format| {
        let document = Document::parse(body.to_owned().into(), format, &Limits::default()).unwrap();
        let places = document.latest_user_words();
        assert!(places.is_sorted_by_key(|place| place.start));
        places.iter().map(|place| document.pointer(NodeId::from_index(place.start))).collect::<Vec<_>>()
    };
    for (body, places) in [
        (r#"{"model":"m","prompt":"a","suffix":"b","n":1}"#, vec!["/prompt", "/suffix"]),
        (r#"{"input":["a","b"],"model":"m"}"#, vec!["/input"]),
        (r#"{"messages":[{"role":"user","content":"a"}]}"#, vec![]),
        (r#"["prompt"]"#, vec![]),
    ] {
        assert_eq!(words(body, Format::Generic), places, "{body}");
    }
    assert_eq!(words(r#"{"messages":[],"prompt":"a"}"#, Format::OpenaiChat), Vec::<String>::new());
    assert_eq!(words(r#"{"model":"m","input":"a"}"#, Format::OpenaiResponses), ["/input"]);
    let text = Document::raw("no JSON".into());
    assert_eq!(text.latest_user_words(), vec![text.subtree(text.root())]);
}

#[test]
fn the_latest_user_message_is_one_in_which_the_user_speaks() {
    let latest = |body: &str, format| {
        let draft = parse(body.as_bytes(), format);
        draft
            .document()
            .latest_user_message()
            .map(|id| draft.document().pointer(draft.document().section(id).node))
    };
    let agent = r#"{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f","input":{}}]},
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"42"}]}]}"#;
    assert_eq!(latest(agent, Format::AnthropicMessages).as_deref(), Some("/messages/0"));
    let context = r#"{"messages":[{"role":"user","content":"a"},{"role":"user","content":"q"},{"role":"assistant","content":"b"}]}"#;
    assert_eq!(latest(context, Format::OpenaiChat).as_deref(), Some("/messages/1"));
    assert_eq!(latest(r#"{"messages":[]}"#, Format::OpenaiChat), None);
}

#[test]
fn memory_counts_a_text_and_the_pieces_that_have_it_again() {
    let mut draft = chat(r#"{"messages":[{"role":"user","content":"q"}]}"#);
    let (before, text) = (draft.memory(), "long ".repeat(1000));
    insert(&mut draft, "/messages/0", &text).unwrap();
    assert!(draft.memory() >= before + 2 * text.len());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// Wherever a message may stand, it changes nothing beside it, and the request stays one that its API takes.
    #[test]
    fn an_insertion_adds_and_changes_nothing(which: Index, place: Index, text in "\\PC{0,20}|[\"\\\\\n\u{0}é😀]{0,6}") {
        let recordings = recordings::all();
        let recordings::Recording { name, body, format } = &recordings[which.index(recordings.len())];
        let mut draft = parse(body, *format);
        let sections = draft.document().sections();
        let messages: Vec<_> = (0..sections.len()).filter(|&at| sections[at].node_type == NodeType::Message).collect();
        prop_assume!(!messages.is_empty());
        let before = SectionId::from_index(messages[place.index(messages.len())]);
        if draft.insert(before, Role::User, &text, &Author::Person).is_err() {
            prop_assert!(!draft.is_dirty());
            return Ok(());
        }
        prop_assert_eq!(draft.validate(), Ok(()), "{}", name);
        let rendered = draft.render();
        let added = rendered.len() - body.len();
        let start = draft.document().body_span(draft.document().section(before).node).start;
        prop_assert_eq!(&rendered[..start], &body[..start]);
        prop_assert_eq!(&rendered[start + added..], &body[start..]);
        let after = Document::parse(rendered, *format, &Limits::default()).unwrap();
        let place = draft.document().section(before).message.unwrap();
        let inserted = after.sections().iter().find(|section| section.message == Some(place)).unwrap();
        prop_assert_eq!(inserted.role, Role::User);
        draft.undo();
        prop_assert_eq!(&draft.render()[..], &body[..]);
    }
}
