//! Gemini requests: what their parts are, in either spelling, and what stands and falls together.

use crate::common::parse;
use leafgate_harness::recordings;
use leafgate_tree::{
    Access, Author, ContentKind, Document, Draft, EditError, Format, LeafKind, Limits, NodeType, Redaction,
    Role, SectionId, SectionKind,
};
use proptest::prelude::*;

fn example(name: &str) -> Draft {
    let examples = recordings::examples();
    let found = examples.iter().find(|one| one.name == name).unwrap();
    assert_eq!(found.format, Format::Gemini, "{name}");
    parse(&found.body, Format::Gemini)
}

fn at(draft: &Draft, pointer: &str) -> SectionId {
    let node = draft.document().resolve(pointer).unwrap();
    draft.document().section_of(node).unwrap()
}

fn leaf(document: &Document, pointer: &str) -> (LeafKind, Access) {
    let leaf = document.leaf(document.resolve(pointer).unwrap()).unwrap();
    (leaf.kind(), leaf.access())
}

fn section_keys(draft: &Draft) -> Vec<String> {
    let count = draft.document().sections().len();
    (0..count).map(|at| draft.section_key(SectionId::from_index(at))).collect()
}

#[test]
fn an_agents_request_is_read() {
    let draft = example("gemini.json");
    let document = draft.document();
    assert!(document.leaves().all(|leaf| leaf.section().is_some()), "a leaf outside every section");
    let of = |pointer: &str| {
        let section = document.section(at(&draft, pointer));
        (section.kind, section.role, section.tool.as_deref().unwrap_or_default().to_owned())
    };
    use SectionKind::{Assistant, ContentPart, System, ToolCall, ToolResult, User};
    assert_eq!(of("/systemInstruction").0, System);
    assert_eq!((of("/contents/0").0, of("/contents/1").0), (User, Assistant));
    assert_eq!(
        of("/contents/1/parts/1/functionCall/args/path"),
        (ToolCall, Role::Assistant, "read_file".into())
    );
    assert_eq!(of("/contents/2/parts/1/functionResponse/response/output").0, ToolResult);
    assert_eq!(
        of("/contents/3/parts/1/executableCode/code"),
        (ToolCall, Role::Assistant, "code_execution".into())
    );
    assert_eq!(of("/contents/4/parts/0/text").0, ContentPart);
    assert_eq!(of("/tools/0/functionDeclarations/2/name").2, "list_branches");
    assert_eq!(of("/tools/1/codeExecution").2, "codeExecution");
    assert_eq!(document.section(at(&draft, "/contents/0/parts/1")).content_kind, Some(ContentKind::Image));
    let of = |pointer| leaf(document, pointer);
    assert_eq!(of("/contents/0/parts/1/inlineData/data").1, Access::Opaque);
    assert_eq!(of("/contents/1/parts/0/text"), (LeafKind::Reasoning, Access::Frozen));
    assert_eq!(of("/contents/1/parts/1/thoughtSignature"), (LeafKind::Reasoning, Access::Frozen));
    assert_eq!(of("/contents/1/parts/1/functionCall/args/path"), (LeafKind::ToolArguments, Access::Open));
    assert_eq!(of("/contents/1/parts/1/functionCall/name").1, Access::Protected);
    assert_eq!(
        of("/contents/2/parts/0/functionResponse/response/output"),
        (LeafKind::ToolResult, Access::Open)
    );
    assert_eq!(of("/contents/3/parts/2/codeExecutionResult/output"), (LeafKind::ToolResult, Access::Open));
    assert_eq!(of("/tools/0/functionDeclarations/0/parameters/properties/path/type").1, Access::Protected);
    assert_eq!(of("/toolConfig/functionCallingConfig/mode").1, Access::Protected);
    assert_eq!(of("/labels/team"), (LeafKind::RequestOption, Access::Open));
    let labels: Vec<_> = ["/contents/1/parts/1", "/tools/0/functionDeclarations/2", "/tools/1"]
        .map(|pointer| draft.section_label(at(&draft, pointer)))
        .into();
    assert_eq!(labels, ["Tool call · read_file", "Tool · list_branches", "Tool · codeExecution"]);
}

#[test]
fn snake_case_is_read_as_camel_case_is() {
    fn camel(key: &str) -> String {
        let mut words = key.split('_');
        let first = words.next().unwrap_or_default().to_owned();
        first + &words.map(|word| word[..1].to_uppercase() + &word[1..]).collect::<String>()
    }
    fn respelled(value: &serde_json::Value, data: bool) -> serde_json::Value {
        use serde_json::Value;
        match value {
            Value::Object(members) => Value::Object(
                members
                    .iter()
                    .map(|(key, value)| {
                        let inside = data || matches!(&**key, "args" | "properties");
                        (
                            if data { key.clone() } else { camel(key) },
                            respelled(value, inside || key == "response" && value.get("type").is_none()),
                        )
                    })
                    .collect(),
            ),
            Value::Array(items) => Value::Array(items.iter().map(|item| respelled(item, data)).collect()),
            other => other.clone(),
        }
    }
    let snake = example("gemini-snake-case.json");
    let value: serde_json::Value = serde_json::from_slice(snake.document().source()).unwrap();
    let camel_body = respelled(&value, false).to_string();
    assert!(camel_body.contains("functionResponse") && !camel_body.contains("function_response"));
    let snake = parse(value.to_string().as_bytes(), Format::Gemini);
    let camel = parse(camel_body.as_bytes(), Format::Gemini);
    let said = |draft: &Draft| {
        let leaves = draft.document().leaves();
        let mut said: Vec<_> = leaves
            .map(|leaf| {
                let text = leaf.text().into_cow().into_owned();
                (text, leaf.kind(), leaf.access(), leaf.role(), leaf.tool().map(str::to_owned))
            })
            .collect();
        said.sort_by_key(|leaf| format!("{leaf:?}"));
        said
    };
    assert_eq!(said(&snake), said(&camel));
}

#[test]
fn a_call_and_its_response_stand_and_fall_together() {
    for (name, call, response) in [
        ("gemini.json", "/contents/1", "/contents/2/parts/1"),
        ("gemini-snake-case.json", "/contents/1/parts/0", "/contents/2"),
    ] {
        let mut draft = example(name);
        let message = |draft: &Draft, pointer: &str| {
            let place = draft.document().section(at(draft, pointer)).message;
            let sections = draft.document().sections();
            let found =
                sections.iter().position(|one| one.node_type == NodeType::Message && one.message == place);
            SectionId::from_index(found.unwrap())
        };
        let (call, response) = (message(&draft, call), message(&draft, response));
        for gone in [call, response] {
            draft.delete(gone, &Author::Person).unwrap();
            assert!(draft.is_deleted(draft.document().section(call).node), "{name}");
            assert!(draft.is_deleted(draft.document().section(response).node), "{name}");
            assert_eq!(draft.validate(), Ok(()), "{name}");
            draft.undo();
        }
        let between = draft.insert(response, Role::User, "x", &Author::Person);
        assert!(matches!(between, Err(EditError::NotInsertable(_))), "{name}");
    }
}

#[test]
fn responses_in_turns_of_their_own_belong_to_their_calls() {
    let body = r#"{"contents":[{"parts":[{"text":"q"}]},
        {"role":"model","parts":[{"functionCall":{"id":"1","name":"f"}},{"functionCall":{"id":"2","name":"f"}}]},
        {"role":"function","parts":[{"functionResponse":{"id":"2","name":"f","response":{"a":1}}}]},
        {"role":"function","parts":[{"functionResponse":{"id":"1","name":"f","response":{"a":2}}}]},
        {"role":"model","parts":[{"functionCall":{"name":"g"}}]},
        {"role":"user","parts":[{"functionResponse":{"name":"g","response":{}}}]},{"parts":[{"text":"go on"}]}]}"#;
    let draft = parse(body.as_bytes(), Format::Gemini);
    let messages =
        draft.document().sections().iter().filter(|section| section.node_type == NodeType::Message);
    let exchanges: Vec<_> = messages.map(|message| message.exchange.unwrap()).collect();
    assert_eq!(exchanges, [1, 2, 2, 2, 3, 3, 4]);
}

#[test]
fn what_gemini_would_refuse_is_told() {
    let refusal = |body: &str, act: &dyn Fn(&mut Draft)| {
        let mut draft = parse(body.as_bytes(), Format::Gemini);
        act(&mut draft);
        draft.validate().map_or_else(|invalid| invalid.to_string(), |()| String::new())
    };
    let set = |pointer: &'static str, text: &'static str| {
        move |draft: &mut Draft| {
            let node = draft.document().resolve(pointer).unwrap();
            draft.set(node, text, &Author::Person).unwrap();
        }
    };
    let delete = |pointer: &'static str| {
        move |draft: &mut Draft| {
            draft.delete(at(draft, pointer), &Author::Person).unwrap();
        }
    };
    let calls = r#"{"contents":[{"parts":[{"text":"q"}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}}]},
        {"parts":[{"functionResponse":{"name":"f","response":{}}}]}],
        "tools":[{"functionDeclarations":[{"name":"f"},{"name":"g"}]},{"googleSearch":{}}],
        "toolConfig":{"functionCallingConfig":{"allowedFunctionNames":["f"]}}}"#;
    assert!(refusal(calls, &set("/contents/1/role", "assistant")).contains("role"));
    assert!(refusal(calls, &set("/contents/1/parts/0/functionCall/name", "h")).contains("same id"));
    assert!(refusal(calls, &set("/contents/0/parts/0/text", " ")).contains("must not be empty"));
    assert!(refusal(calls, &delete("/tools/0/functionDeclarations/0")).contains("definition was deleted"));
    assert_eq!(refusal(calls, &delete("/tools/0/functionDeclarations/1")), "");
    assert_eq!(refusal(calls, &delete("/tools/1")), "");
    assert!(refusal(calls, &delete("/contents/0")).contains("first message"));
    let talk = r#"{"contents":[{"parts":[{"text":"q"}]},{"role":"model","parts":[{"text":"a"}]},{"parts":[{"text":"r"}]}]}"#;
    assert!(refusal(talk, &delete("/contents/2")).contains("last turn"));
}

#[test]
fn messages_are_put_in_as_turns() {
    let mut draft = parse(br#"{"contents":[{"parts":[{"text":"q"}]}]}"#, Format::Gemini);
    let first = at(&draft, "/contents/0");
    assert!(draft.insert(first, Role::System, "x", &Author::Person).is_err());
    draft.insert(first, Role::User, "a \"b\"", &Author::Person).unwrap();
    assert_eq!(
        draft.render(),
        r#"{"contents":[{"role":"user","parts":[{"text":"a \"b\""}]},{"parts":[{"text":"q"}]}]}"#
    );
    // What stands alone in place of a list has nothing before it.
    let mut alone = parse(br#"{"contents":{"parts":{"text":"q"}}}"#, Format::Gemini);
    let only = at(&alone, "/contents");
    assert!(alone.insert(only, Role::User, "x", &Author::Person).is_err());
    assert_eq!(alone.delete(only, &Author::Person), Err(EditError::NotDeletable));
}

#[test]
fn a_counted_request_is_read_as_the_request_itself() {
    let draft = example("gemini-count-tokens.json");
    let document = draft.document();
    assert_eq!(document.model().as_deref(), Some("models/gemini-2.5-flash"));
    let inner = serde_json::from_slice::<serde_json::Value>(document.source()).unwrap();
    let inner = parse(inner["generateContentRequest"].to_string().as_bytes(), Format::Gemini);
    for leaf in inner.document().leaves() {
        let pointer = format!("/generateContentRequest{}", inner.document().pointer(leaf.id()));
        let wrapped = document.leaf(document.resolve(&pointer).unwrap()).unwrap();
        assert_eq!(
            (wrapped.kind(), wrapped.access(), wrapped.role(), wrapped.tool()),
            (leaf.kind(), leaf.access(), leaf.role(), leaf.tool()),
            "{pointer}"
        );
    }
    assert_eq!(
        section_keys(&draft),
        [
            "requestOptions/generateContentRequest",
            "requestOptions/generateContentRequest/0",
            "system",
            "system/content/0",
            "context-0",
            "context-0/content/0",
            "user-1",
            "user-1/content/0",
            "requestOptions/generateContentRequest/3",
            "requestOptions/generateContentRequest/3/0",
            "requestOptions/generateContentRequest/3/0/0",
            "requestOptions/generateContentRequest/3/1",
        ]
    );
    assert_eq!(draft.section_label(SectionId::from_index(8)), "tools");
}

#[test]
fn a_request_of_code_assist_is_read_as_the_request_that_it_wraps() {
    let draft = example("code-assist/agent.request.json");
    let document = draft.document();
    assert_eq!(document.model().as_deref(), Some("gemini-2.5-pro"));
    assert_eq!(leaf(document, "/project"), (LeafKind::RequestOption, Access::Protected));
    let inner = serde_json::from_slice::<serde_json::Value>(document.source()).unwrap();
    let inner = parse(inner["request"].to_string().as_bytes(), Format::Gemini);
    for leaf in inner.document().leaves() {
        let pointer = format!("/request{}", inner.document().pointer(leaf.id()));
        let wrapped = document.leaf(document.resolve(&pointer).unwrap()).unwrap();
        assert_eq!(
            (wrapped.kind(), wrapped.access(), wrapped.role(), wrapped.tool()),
            (leaf.kind(), leaf.access(), leaf.role(), leaf.tool()),
            "{pointer}"
        );
    }
    let labels = |draft: &Draft| -> Vec<String> {
        draft.document().messages().map(|message| draft.section_label(message)).collect()
    };
    assert_eq!(labels(&draft), labels(&inner));
}

#[test]
fn what_is_put_into_a_wrapped_request_stands_in_what_is_wrapped() {
    for (body, expected) in [
        (
            r#"{"model":"m","request":{"contents":[{"parts":[{"text":"q"}]}]}}"#,
            r#"{"model":"m","request":{"contents":[{"role":"user","parts":[{"text":"a"}]},{"parts":[{"text":"q"}]}],"generationConfig":{"topK":2}}}"#,
        ),
        (
            r#"{"generateContentRequest":{"model":"m","contents":[{"parts":[{"text":"q"}]}],"generationConfig":{"seed":1}}}"#,
            r#"{"generateContentRequest":{"model":"m","contents":[{"role":"user","parts":[{"text":"a"}]},{"parts":[{"text":"q"}]}],"generationConfig":{"seed":1,"topK":2}}}"#,
        ),
    ] {
        let mut draft = parse(body.as_bytes(), Format::Gemini);
        let rule = Author::rule("options");
        draft.put_option("generationConfig.topK", &serde_json::json!(2), &rule).unwrap().unwrap();
        let first = draft.document().messages().next().unwrap();
        draft.insert(first, Role::User, "a", &Author::Person).unwrap();
        assert_eq!(draft.render(), expected);
        let put = draft.options().next().unwrap();
        assert!(
            put.pointer().ends_with("equest/generationConfig/topK")
                || put.pointer().ends_with("equest/generationConfig")
        );
        let again = parse(&draft.render(), Format::Gemini);
        assert!(again.document().resolve(&put.pointer()).is_ok(), "{}", put.pointer());
    }
    let calls = r#"{"model":"m","request":{"contents":[{"parts":[{"text":"q"}]}],"tools":[{"functionDeclarations":[{"name":"f"}]}],"toolConfig":{}}}"#;
    let mut draft = parse(calls.as_bytes(), Format::Gemini);
    let list = draft.document().tool_list().unwrap();
    draft.delete(list, &Author::Person).unwrap();
    assert_eq!(draft.render(), r#"{"model":"m","request":{"contents":[{"parts":[{"text":"q"}]}]}}"#);
}

#[test]
fn a_signed_thought_is_frozen_and_nothing_else_for_its_sake() {
    let body = r#"{"contents":[{"role":"model","parts":[{"text":"t","thought":true},{"text":"t","thought":true,"thoughtSignature":"s"},
        {"text":"t","thoughtSignature":"s"},{"functionCall":{"name":"f","args":{"a":"t"}},"thought_signature":"s"}]}]}"#;
    let mut draft = parse(body.as_bytes(), Format::Gemini);
    let of = |pointer: &str| leaf(draft.document(), pointer);
    assert_eq!(of("/contents/0/parts/0/text"), (LeafKind::Reasoning, Access::Open));
    assert_eq!(of("/contents/0/parts/1/text"), (LeafKind::Reasoning, Access::Frozen));
    assert_eq!(of("/contents/0/parts/2/text"), (LeafKind::Text, Access::Open));
    assert_eq!(of("/contents/0/parts/3/functionCall/args/a"), (LeafKind::ToolArguments, Access::Open));
    let argument = draft.document().resolve("/contents/0/parts/3/functionCall/args/a").unwrap();
    let redaction = Redaction::new(0..1, "X", "TOKEN");
    draft.redact(argument, &[redaction], &Author::rule("secrets")).unwrap();
    assert_eq!(draft.validate(), Ok(()));
}

#[test]
fn bodies_of_other_shapes_are_no_gemini_requests() {
    let shape = |body: &str| Document::detect(body.to_owned().into(), &Limits::default()).unwrap().format();
    assert_eq!(shape(r#"{"contents":[{"parts":[{"text":"q"}]}]}"#), Format::Gemini);
    assert_eq!(shape(r#"{"contents":{"parts":{"text":"q"}}}"#), Format::Gemini);
    assert_eq!(shape(r#"{"generate_content_request":{"contents":[{"parts":[]}]}}"#), Format::Gemini);
    assert_eq!(shape(r#"{"contents":["q"]}"#), Format::Generic);
    assert_eq!(shape(r#"{"contents":"q"}"#), Format::Generic);
    assert_eq!(
        shape(r#"{"messages":[{"role":"user","content":"q"}],"contents":[{"parts":[]}]}"#),
        Format::OpenaiChat
    );
}

proptest! {
    /// Any part under any of the API's keys: every leaf stays in a section, and what is out of sight is media.
    #[test]
    fn every_leaf_of_any_part_belongs_to_a_section(
        key in prop::sample::select(&["text", "inlineData", "file_data", "functionCall", "function_response", "executableCode",
            "codeExecutionResult", "thought", "thoughtSignature", "new"][..]),
        value in crate::common::any_json(),
        role in prop::sample::select(&["user", "model", "function", "critic"][..]),
    ) {
        let body = format!(r#"{{"contents":[{{"role":"{role}","parts":[{{"{key}":{value}}}]}}],"systemInstruction":{{"parts":{{"{key}":{value}}}}}}}"#);
        let draft = parse(body.as_bytes(), Format::Gemini);
        prop_assert!(draft.document().leaves().all(|leaf| leaf.section().is_some() && leaf.access() != Access::Opaque));
    }
}
