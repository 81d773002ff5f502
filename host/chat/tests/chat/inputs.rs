//! What files are taken for, what is mapped, and what is refused with its place.

use leafgate_chat::{InputShape, messages, shape, verbatim_messages};
use leafgate_tree::Format;
use serde_json::{Value, json};

use crate::support::{parse, raw, recording};

#[test]
fn files_are_told_by_their_shape() {
    for (file, expected) in [
        (json!([]), InputShape::Raw),
        (json!([{ "role": 1, "content": [] }]), InputShape::Raw),
        (json!({ "messages": [{ "role": 0, "content": [] }] }), InputShape::Raw),
        (json!({ "messages": [{ "role": "user", "content": "x" }] }), InputShape::OpenaiChat),
        (json!([{ "type": 1, "text": "x" }]), InputShape::RawParts),
        (json!({ "prompts": [] }), InputShape::Replay),
        (json!({ "requests": [] }), InputShape::Export),
    ] {
        assert_eq!(shape(&parse(&file.to_string(), Format::Generic)), Ok(expected), "{file}");
    }
}

// S1-03
#[test]
fn what_is_wrong_is_told_with_its_place_and_no_text() {
    let secret = "the text of a leaf";
    for (file, place) in [
        (json!({ "text": secret }), ""),
        (json!(secret), ""),
        (json!([{ "role": 1, "content": secret }]), "/0/content"),
        (json!([{ "role": 1, "content": [] }, secret]), "/1"),
        (json!([{ "role": 1, "content": [] }, { "role": secret, "content": [] }]), "/1/role"),
        (json!([{ "role": 1, "content": [{ "type": secret }] }]), "/0/content/0"),
        (json!([{ "role": 1, "content": [{ "type": 1, "text": 7 }] }]), "/0/content/0"),
        (json!([{ "role": 1, "content": [{ "type": 0, "imageUrl": secret }] }]), "/0/content/0/imageUrl"),
        (json!([{ "role": 2, "content": [], "toolCalls": [{ "id": "c" }] }]), "/0/toolCalls/0"),
        (json!([{ "role": 3, "content": [], "toolCallId": 7 }]), "/0/toolCallId"),
        (json!([{ "role": "user", "content": "" }, { "role": 1 }]), "/1/role"),
        (json!([{ "role": "user", "content": 7 }]), "/0/content"),
    ] {
        let Err(error) = messages(&parse(&file.to_string(), Format::Generic), None) else { panic!("{file}") };
        assert_eq!(error.pointer, place, "{file}");
        assert!(!error.to_string().contains(secret) && error.to_string().contains("at "), "{error}");
    }
}

#[test]
fn only_a_replay_has_requests_by_number() {
    for file in [json!([]), json!({ "requests": [] }), json!({ "prompts": [] })] {
        assert!(messages(&parse(&file.to_string(), Format::Generic), Some(1)).is_err(), "{file}");
    }
}

#[test]
fn half_a_character_is_lost_and_noted() {
    for (body, place) in [
        (
            r#"[{"role":1,"content":[{"type":1,"text":"a\udeaab"},{"type":1,"text":"\ufffd"}]}]"#,
            "/0/content/0/text",
        ),
        (r#"[{"role":"user","content":"a\ud800"}]"#, "/0/content"),
        (r#"[{"role":"user","content":[{"type":"text","text":"\udc00"}]}]"#, "/0/content/0/text"),
        (r#"[{"role":1,"content":[],"name":"a\udeaa"}]"#, "/0/name"),
        (r#"[{"role":"user","content":"","name":"a\udeaa"}]"#, "/0/name"),
        (
            r#"[{"role":2,"content":[],"toolCalls":[{"id":"c","function":{"name":"f","arguments":"\ud800"}}]}]"#,
            "/0/toolCalls/0/function/arguments",
        ),
        (r#"{"requests":[{"message":"a\ud800","response":[{"value":"b"}]}]}"#, "/requests/0/message"),
        (
            r#"{"requests":[{"message":"a","response":[{"value":"b\udeaa"}]}]}"#,
            "/requests/0/response/0/value",
        ),
        (
            r#"{"requests":[{"message":"a","result":{"metadata":{"toolCallRounds":[{"response":"b\udeaa"}]}}}]}"#,
            "/requests/0/result/metadata/toolCallRounds/0/response",
        ),
    ] {
        let read = messages(&parse(body, Format::Generic), None).unwrap();
        let places: Vec<_> = read.losses.all().iter().map(|loss| loss.pointer.as_str()).collect();
        assert_eq!(places, [place], "{body}");
    }
}

// S1-02
#[test]
fn numbers_that_nobody_knows_are_left_out_and_noted() {
    let file = json!([
        { "role": 9, "content": [{ "type": 1, "text": "x" }] },
        { "role": 1, "content": [{ "type": 7, "new": true }, { "type": 1, "text": "y", "odd": 1 }] },
    ]);
    let (messages, lost) = raw(&file);
    assert_eq!(messages, json!([{ "role": 1, "content": [{ "type": 1, "text": "y" }] }]));
    assert_eq!(lost, ["/0", "/1/content/0", "/1/content/1/odd"]);
}

// S1-03
#[test]
fn openai_chat_messages_as_raw_messages() {
    let audio = json!({ "type": "input_audio", "input_audio": { "data": "AAAA", "format": "wav" } });
    let file = json!({ "model": "m", "messages": [
        { "role": "developer", "content": "rules" },
        { "role": "user", "name": "jo", "content": [
            { "type": "text", "text": "look" },
            { "type": "image_url", "image_url": { "url": "https://img.example/a.png", "detail": "high" } },
            audio,
        ]},
        { "role": "assistant", "content": null, "refusal": null, "tool_calls": [
            { "id": "c", "type": "function", "function": { "name": "f", "arguments": "{}" } },
            { "id": "d", "type": "custom", "custom": { "name": "g", "input": "x" } },
        ]},
        { "role": "tool", "tool_call_id": "c", "content": "done", "copilot_cache_control": { "type": "ephemeral" } },
        { "role": "function", "name": "f", "content": "old" },
    ]});
    let (messages, lost) = raw(&file);
    let expected = json!([
        { "role": 0, "content": [{ "type": 1, "text": "rules" }] },
        { "role": 1, "name": "jo", "content": [
            { "type": 1, "text": "look" },
            { "type": 0, "imageUrl": { "url": "https://img.example/a.png", "detail": "high" } },
            { "type": 2, "value": audio, "scope": 2 },
        ]},
        { "role": 2, "content": [],
          "toolCalls": [{ "id": "c", "type": "function", "function": { "name": "f", "arguments": "{}" } }] },
        { "role": 3, "toolCallId": "c",
          "content": [{ "type": 1, "text": "done" }, { "type": 3, "cacheType": "ephemeral" }] },
    ]);
    assert_eq!(messages, expected);
    assert_eq!(lost, ["/model", "/messages/0/role", "/messages/2/tool_calls/1", "/messages/4"]);
}

// S1-05
#[test]
fn what_a_part_of_a_replay_holds_is_kept_or_noted() {
    let opaque = json!({ "type": 2, "value": { "x": 1 }, "scope": 2, "tokenUsage": 17 });
    let odd = json!({ "type": 2, "value": 1, "scope": "all" });
    let document = json!({ "type": 4, "documentData": { "data": "AAAA", "mediaType": "a/b", "title": "t" } });
    let messages = json!([{ "role": 1, "content": [opaque, odd, document] }]);
    let replay = json!({ "prompts": [{ "logs": [{ "requestMessages": { "messages": messages } }] }] });
    let (written, lost) = raw(&replay);
    assert_eq!(written[0]["content"][0], opaque);
    let content = "/prompts/0/logs/0/requestMessages/messages/0/content";
    assert_eq!(lost, [format!("{content}/1/scope"), format!("{content}/2/documentData/title")]);
}

// S1-05
#[test]
fn raw_messages_stay_as_they_are_spelled() {
    let body = "{ \"messages\" : [ {\"role\":1, \"content\":[ ], \"odd\":1.50E0} ] }";
    let document = parse(body, Format::Raw);
    assert_eq!(verbatim_messages(&document), Some("[ {\"role\":1, \"content\":[ ], \"odd\":1.50E0} ]"));
}

/// Counted in the recordings: two parts each, a text and a breakpoint.
#[test]
fn recorded_contents_are_read_as_one_message_of_the_user() {
    for name in ["dealenx-completed", "p47-services", "peckjon-sample"] {
        let name = format!("raw-chatmessage/{name}.req0.renderedUserMessage.raw-parts.json");
        let Some(text) = recording(&name) else { return };
        let (messages, lost) = raw(&serde_json::from_str(&text).unwrap());
        let types: Vec<Value> =
            messages[0]["content"].as_array().unwrap().iter().map(|part| part["type"].clone()).collect();
        assert_eq!(
            (messages.as_array().unwrap().len(), types, lost.len()),
            (1, vec![json!(1), json!(3)], 0),
            "{name}"
        );
    }
}
