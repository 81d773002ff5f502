//! Expectations that the clients' own tests hold, read from the recordings.

use leafgate_api::Api;
use leafgate_tree::{Author, Draft, Format};
use serde_json::{Value, json};

use crate::support::{parse, recording, wire};

fn cases(name: &str) -> Vec<Value> {
    let Some(text) = recording(&format!("raw-chatmessage/{name}")) else { return Vec::new() };
    let file: Value = serde_json::from_str(&text).unwrap();
    file["cases"].as_array().unwrap().clone()
}

/// The first block of a type, in any message.
fn block<'v>(body: &'v Value, kind: &str) -> &'v Value {
    let blocks = body["messages"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|message| message["content"].as_array().unwrap());
    blocks.into_iter().find(|block| block["type"] == kind).unwrap_or(&Value::Null)
}

/// The value that an expectation's path names, and the value that is expected.
fn expectation<'v>(body: &'v Value, path: &str, expected: &Value) -> (&'v Value, Value) {
    let result = block(body, "tool_result");
    match path {
        "tool_result.cache_control" => (&result["cache_control"], expected.clone()),
        "tool_result.content" => (&result["content"], expected.clone()),
        "tool_result.content[0].type" => (&result["content"][0]["type"], expected.clone()),
        "inner_cache_control" => (&result["content"][0]["cache_control"], expected.clone()),
        "image.source" => (&block(body, "image")["source"], expected.clone()),
        "document.source" => (&block(body, "document")["source"], expected.clone()),
        "image" => (block(body, "image"), expected.clone()),
        "text" => (&block(body, "text")["type"], json!("text")),
        other => panic!("an expectation that this test does not know: {other}"),
    }
}

#[test]
fn raw_messages_become_what_the_client_sends_to_the_messages_api() {
    let mut checked = 0;
    for case in cases("upstream-raw-to-anthropic.cases.json") {
        let (body, _) = wire(&case["raw"], Api::Messages);
        for (path, expected) in case["expect"].as_object().unwrap() {
            let (found, expected) = expectation(&body, path, expected);
            assert_eq!(*found, expected, "{}: {path}", case["name"]);
            checked += 1;
        }
    }
    assert!(checked == 0 || checked == 11, "{checked} expectations");
}

// S0-03
#[test]
fn an_edit_of_a_leaf_changes_that_leaf_of_the_raw_messages_alone() {
    let mut checked = 0;
    for case in cases("upstream-lre-leaf-edits.cases.json") {
        let Some(path) = case["op"]["path"].as_str() else {
            // Edits of whole sections, which collapse a message's texts, are not offered here.
            assert!(case["legacySectionEdit"].is_object());
            continue;
        };
        let document = parse(&json!({ "messages": case["messages"] }).to_string(), Format::Raw);
        let pointer = format!("/{}", path.replace(['.', '['], "/").replace(']', ""));
        let node = document.resolve(&pointer).unwrap();
        let mut draft = Draft::new(std::sync::Arc::new(document));
        draft.set(node, case["op"]["value"].as_str().unwrap(), &Author::Person).unwrap();
        let after: Value = serde_json::from_slice(&draft.render()).unwrap();
        assert_eq!(after["messages"], case["after"], "{}", case["name"]);
        checked += 1;
    }
    assert!(checked == 0 || checked == 2, "{checked} cases");
}
