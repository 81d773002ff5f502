//! Bodies that are hostile, broken or odd: each gets its answer.

use std::fmt::Write as _;
use std::sync::Arc;

use crate::common::{chat, parse};
use leafgate_tree::{
    Access, Author, Document, Draft, EditError, Format, Limits, NodeType, ParseErrorKind, Redaction,
    ResolveError, SectionId,
};

fn refused(body: &str) -> leafgate_tree::ParseError {
    Document::parse(body.to_owned().into(), Format::OpenaiChat, &Limits::default())
        .expect_err("a body to refuse")
}

#[test]
fn not_json_says_where() {
    let error = refused("{\"a\": 1,\n  b: 2}");
    assert_eq!((error.line, error.column, error.is_cap()), (2, 3, false));
    assert_eq!(error.to_string(), "not JSON: expected a key in quotes at line 2, column 3");
    for body in [
        "",
        " ",
        "nul",
        "01",
        "1.",
        "-",
        "1e",
        "\"a",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\u{1}\"",
        "[1,]",
        "{\"a\":1,}",
        "1 2",
        "NaN",
    ] {
        assert!(!refused(body).is_cap(), "{body:?}");
    }
}

#[test]
fn truncated_bodies_say_so() {
    assert_eq!(refused("{\"messages\": [{\"role\": \"us").kind, ParseErrorKind::Truncated);
}

#[test]
fn two_hundred_levels_pass_and_two_hundred_and_one_do_not() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(Document::parse(nested(200).into(), Format::Generic, &Limits::default()).is_ok());
    let error = refused(&nested(201));
    assert_eq!(error.kind, ParseErrorKind::TooDeep { limit: 200 });
    assert!(error.is_cap());
}

#[test]
fn two_million_values_are_refused() {
    let error = refused(&format!("[{}0]", "0,".repeat(2_000_000)));
    assert_eq!(error.kind, ParseErrorKind::TooManyNodes { limit: 1_000_000 });
}

#[test]
fn invalid_utf8_is_no_json_but_a_raw_leaf() {
    let body: &[u8] = b"{\"a\": \"\xff\"}";
    let error = Document::parse(body.into(), Format::OpenaiChat, &Limits::default()).unwrap_err();
    assert_eq!((error.kind, error.offset), (ParseErrorKind::InvalidUtf8, 7));
    let mut raw = Draft::new(Arc::new(Document::raw(body.into())));
    let leaf = raw.document().root();
    assert_eq!(raw.text(leaf).expose(), "{\"a\": \"\u{fffd}\"}");
    raw.splice(leaf, vec![(2..3, "b".into())], &Author::Person).unwrap();
    assert_eq!(&raw.render()[..], b"{\"b\": \"\xff\"}");
}

#[test]
fn lone_surrogates_nul_and_line_separators_survive_outside_the_edit() {
    let body = "{\"messages\":[{\"role\":\"user\",\"content\":\"a\\udeaa secret \\u0000 \u{2028} z\"}]}";
    let mut draft = chat(body);
    let leaf = draft.document().resolve("/messages/0/content").unwrap();
    let at = draft.text(leaf).expose().find("secret").unwrap();
    let redaction = Redaction::new(at..at + 6, "X", "TOKEN");
    draft.redact(leaf, &[redaction], &Author::rule("r")).unwrap();
    assert_eq!(draft.render(), body.replace("secret", "TOKEN"));
    let set = draft.text(leaf).expose().replace("TOKEN", "word");
    draft.set(leaf, &set, &Author::Person).unwrap();
    assert_eq!(draft.render(), body.replace("secret", "word"));
}

#[test]
fn duplicate_keys_are_all_leaves_and_ambiguous_to_pointers() {
    let mut draft = parse(br#"{"a": "one", "a": "two"}"#, Format::Generic);
    let leaves: Vec<_> = draft.document().leaves().map(|leaf| leaf.id()).collect();
    assert_eq!(leaves.len(), 2);
    assert_eq!(draft.document().resolve("/a"), Err(ResolveError::Ambiguous));
    let redaction = Redaction::new(0..3, "X", "T");
    draft.redact(leaves[0], &[redaction], &Author::rule("r")).unwrap();
    assert_eq!(draft.render(), r#"{"a": "T", "a": "two"}"#);
}

#[test]
fn a_document_in_a_string_keeps_its_spelling_and_stays_a_document() {
    let inner = r#"{"path": "\/tmp\/a", "n": 1.0, "deep": "[\"x\", \"y\"]"}"#;
    let body = format!(
        r#"{{"messages":[{{"role":"assistant","tool_calls":[{{"id":"c","type":"function","function":{{"name":"f","arguments":{}}}}}]}}]}}"#,
        serde_json::to_string(inner).unwrap()
    );
    let mut draft = chat(&body);
    let leaf = draft.document().resolve("/messages/0/tool_calls/0/function/arguments/deep/1").unwrap();
    assert_eq!(draft.document().display_path(leaf), "messages[0].tool_calls[0].function.arguments.deep[1]");
    draft.set(leaf, "quote \" and\nline", &Author::Person).unwrap();
    let outer: serde_json::Value = serde_json::from_slice(&draft.render()).unwrap();
    let arguments = outer["messages"][0]["tool_calls"][0]["function"]["arguments"].as_str().unwrap();
    assert!(arguments.starts_with(r#"{"path": "\/tmp\/a", "n": 1.0, "#), "spelling kept");
    let arguments: serde_json::Value = serde_json::from_str(arguments).unwrap();
    let deep: Vec<String> = serde_json::from_str(arguments["deep"].as_str().unwrap()).unwrap();
    assert_eq!(deep, ["x", "quote \" and\nline"]);
    draft.undo();
    assert_eq!(draft.render(), body);
}

/// Its values would pass unseen where an escape hides one of their characters as well.
#[test]
fn a_document_is_walked_however_its_first_bracket_is_spelled() {
    for spelling in [r"\u007b", r"\u0020{", r"\u000A \u000d\u0009\n{", r"\u007B"] {
        let body = format!(r#"{{"arguments": "{spelling}\"k\": \"\\u0041\"}}"}}"#);
        let draft = parse(body.as_bytes(), Format::Generic);
        let leaf = draft.document().resolve("/arguments/k").expect(spelling);
        assert_eq!(draft.text(leaf).expose(), "A");
    }
}

#[test]
fn setting_a_whole_document_takes_inner_edits_with_it() {
    let mut draft = parse(br#"{"a": "{\"b\": \"c\"}"}"#, Format::Generic);
    let inner = draft.document().resolve("/a/b").unwrap();
    let outer = draft.document().resolve("/a").unwrap();
    draft.set(inner, "d", &Author::Person).unwrap();
    draft.set(outer, "no JSON any more", &Author::Person).unwrap();
    assert_eq!(draft.render(), r#"{"a": "no JSON any more"}"#);
    draft.undo();
    assert_eq!(draft.render(), r#"{"a": "{\"b\": \"d\"}"}"#);
}

#[test]
fn documents_beyond_the_caps_are_leaves_that_say_so() {
    let mut text = "{\"secret\":1}".to_owned();
    for _ in 0..6 {
        text = format!("{{\"a\":{}}}", serde_json::to_string(&text).unwrap());
    }
    // Enough other text for the purse of decoded bytes, so that the level is what stops it.
    let body = format!("[{text},\"{}\"]", "x".repeat(8 * text.len()));
    let draft = parse(body.as_bytes(), Format::Generic);
    let beyond: Vec<_> = draft.document().leaves().filter(|leaf| leaf.beyond_caps()).collect();
    assert_eq!(beyond.len(), 1);
    assert!(leafgate_tree::unescape_deeply(beyond[0].text().expose()).contains("\"secret\""));
}

#[test]
fn a_string_of_brackets_costs_no_more_than_its_length() {
    // Prose that starts like JSON, over and over, nested as deep as strings nest.
    let mut text = "[not json".to_owned();
    while text.len() < 1 << 20 {
        let mut outer = String::new();
        write!(outer, "[{}, ", serde_json::to_string(&text).unwrap()).unwrap();
        text = outer;
    }
    let body = serde_json::to_string(&text).unwrap();
    let draft = parse(body.as_bytes(), Format::Generic);
    assert_eq!(draft.document().leaves().count(), 1);
}

#[test]
fn protected_leaves_are_for_people_and_frozen_ones_for_nobody() {
    let body = r#"{"model":"m","messages":[{"role":"assistant","content":"x","reasoning_details":[
        {"type":"reasoning.text","text":"thought","signature":"abc"},{"type":"reasoning.summary","summary":"open","signature":null}]}]}"#;
    let mut draft = chat(body);
    let at = |pointer: &str| draft.document().resolve(pointer).unwrap();
    let (role, thought, open) = (
        at("/messages/0/role"),
        at("/messages/0/reasoning_details/0/text"),
        at("/messages/0/reasoning_details/1/summary"),
    );
    assert_eq!(draft.set(role, "user", &Author::rule("r")), Err(EditError::Protected));
    assert!(draft.set(role, "user", &Author::Person).unwrap().is_some());
    assert_eq!(draft.set(thought, "other", &Author::Person), Err(EditError::Frozen));
    assert!(draft.set(open, "other", &Author::rule("r")).unwrap().is_some());
}

// S0-43, S1-11
#[test]
fn numbers_take_numbers_only() {
    let mut draft = parse(br#"{"temperature": 0.70}"#, Format::OpenaiChat);
    let leaf = draft.document().resolve("/temperature").unwrap();
    assert!(matches!(draft.set(leaf, "hot", &Author::Person), Err(EditError::BadScalar { .. })));
    assert!(matches!(draft.set(leaf, "", &Author::Person), Err(EditError::BadScalar { .. })));
    draft.set(leaf, "1e-1", &Author::Person).unwrap();
    assert_eq!(draft.render(), r#"{"temperature": 1e-1}"#);
    assert!(draft.set(leaf, "0.70", &Author::Person).unwrap().is_some());
    assert!(!draft.is_dirty(), "dirty is a comparison, not a count of edits");
}

#[test]
fn schema_names_are_protected_and_descriptions_open() {
    let body = r#"{"tools":[{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object",
        "properties":{"type":{"type":"string","description":"about type"},"user.name":{"enum":["a"]}},"required":["type"]}}}]}"#;
    let draft = chat(body);
    let access =
        |pointer: &str| draft.document().leaf(draft.document().resolve(pointer).unwrap()).unwrap().access();
    let parameters = "/tools/0/function/parameters";
    assert_eq!(access("/tools/0/function/name"), Access::Protected);
    assert_eq!(access("/tools/0/function/description"), Access::Open);
    assert_eq!(access(&format!("{parameters}/required/0")), Access::Protected);
    assert_eq!(access(&format!("{parameters}/properties/type/type")), Access::Protected);
    assert_eq!(access(&format!("{parameters}/properties/type/description")), Access::Open);
    assert_eq!(access(&format!("{parameters}/properties/user.name/enum/0")), Access::Open);
}

#[test]
fn debug_output_holds_no_text() {
    let draft = chat(r#"{"messages":[{"role":"user","content":"private words"}]}"#);
    let leaf = draft.document().leaves().nth(1).unwrap();
    for debug in [
        format!("{draft:?}"),
        format!("{leaf:?}"),
        format!("{:?}", leaf.text()),
        format!("{:?}", draft.document()),
    ] {
        assert!(!debug.contains("private"), "{debug}");
    }
}

#[test]
fn arrays_where_an_api_has_objects_are_walked_in_every_format() {
    let shapes = [
        "[1]",
        "[[1]]",
        "{}",
        "[{}]",
        "\"x\"",
        "null",
        "{\"type\":[1]}",
        "[{\"type\":\"text\",\"text\":[1]}]",
    ];
    let members = [
        "content",
        "tool_calls",
        "function_call",
        "audio",
        "reasoning_details",
        "toolCalls",
        "summary",
        "output",
        "source",
    ];
    for shape in shapes {
        for member in members {
            for part in [
                "image_url",
                "input_audio",
                "file",
                "function",
                "custom",
                "content",
                "source",
                "citations",
                "value",
            ] {
                let message = format!(
                    r#"{{"role":"user","{member}":{shape}}},{{"role":2,"type":"tool_use","{member}":[{{"{part}":{shape}}}]}}"#
                );
                let body = format!(
                    r#"{{"messages":[{message}],"input":[{message}],"requests":[{message},{shape}],"system":{shape},"tools":[{{"{part}":{shape}}}],"response_format":{{"json_schema":{shape}}},"text":{shape},"prediction":{shape},"thinking":{shape}}}"#
                );
                for &format in Format::ALL {
                    let draft = parse(body.as_bytes(), format);
                    for at in 0..draft.document().sections().len() {
                        let id = leafgate_tree::SectionId::from_index(at);
                        assert!(!draft.section_key(id).is_empty() && !draft.section_label(id).is_empty());
                    }
                    assert_eq!(draft.render(), body);
                }
            }
        }
    }
}

#[test]
fn definitions_of_tools_that_stand_in_no_array_stay() {
    for tools in [r#"{"first": {"name": "f"}}"#, r#""[{\"name\": \"f\"}]""#] {
        for key in ["tools", "functions"] {
            let body = format!(r#"{{"{key}": {tools}, "messages": [{{"role": "user", "content": "hi"}}]}}"#);
            let mut draft = chat(&body);
            for at in 0..draft.document().sections().len() {
                let id = SectionId::from_index(at);
                if draft.document().section(id).node_type == NodeType::RequestOption {
                    assert_eq!(draft.delete(id, &Author::Person), Err(EditError::NotDeletable), "{body}");
                }
            }
        }
    }
}

#[test]
fn a_system_prompt_beside_the_messages_has_a_key_of_its_own() {
    for (format, body) in [
        (Format::AnthropicMessages, r#"{"system": "a", "messages": [{"role": "system", "content": "b"}]}"#),
        (Format::OpenaiResponses, r#"{"instructions": "a", "input": [{"role": "system", "content": "b"}]}"#),
    ] {
        let draft = parse(body.as_bytes(), format);
        let keys: Vec<_> = (0..2).map(|at| draft.section_key(SectionId::from_index(at))).collect();
        assert_eq!(keys, ["system", "system-0"], "{format}");
    }
}

#[test]
fn messages_that_are_no_list_make_no_section_twice() {
    for format in Format::ALL {
        let body = r#"{"origin": "a", "messages": 1, "input": {"b": 2}, "requests": null}"#;
        let draft = parse(body.as_bytes(), *format);
        let mut keys: Vec<_> = (0..draft.document().sections().len())
            .map(|at| draft.section_key(SectionId::from_index(at)))
            .collect();
        keys.sort();
        let count = keys.len();
        keys.dedup();
        assert_eq!(keys.len(), count, "{format}: {keys:?}");
    }
}

#[test]
fn what_is_no_element_of_a_list_is_not_deleted() {
    for (format, body) in [
        (Format::OpenaiResponses, r#"{"input": -1}"#),
        (Format::OpenaiResponses, r#"{"instructions": "a", "model": "m", "input": "b"}"#),
        (Format::AnthropicMessages, r#"{"system": "a", "model": "m", "messages": []}"#),
    ] {
        let mut draft = parse(body.as_bytes(), format);
        for at in 0..draft.document().sections().len() {
            let deleted = draft.delete(SectionId::from_index(at), &Author::Person);
            assert_eq!(deleted, Err(EditError::NotDeletable), "{body}");
        }
    }
}

#[test]
fn parts_of_a_summary_and_of_content_are_numbered_as_one() {
    let body = r#"{"input": [{"type": "reasoning", "summary": [{"text": "a"}], "content": [{"text": "b"}, {"text": "c"}]}]}"#;
    let draft = parse(body.as_bytes(), Format::OpenaiResponses);
    let keys: Vec<_> = (1..4).map(|at| draft.section_key(SectionId::from_index(at))).collect();
    assert_eq!(keys, ["assistant-0/content/0", "assistant-0/content/1", "assistant-0/content/2"]);
}
