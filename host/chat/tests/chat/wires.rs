//! Raw messages as each API takes them, and what is noted as lost.

use leafgate_api::Api;
use leafgate_tree::Format;
use serde_json::{Value, json};

use crate::support::{parse, recording, wire};

fn text(text: &str) -> Value {
    json!({ "type": 1, "text": text })
}

fn breakpoint() -> Value {
    json!({ "type": 3, "cacheType": "ephemeral" })
}

fn call(id: &str, arguments: &str) -> Value {
    json!({ "id": id, "type": "function", "function": { "name": "read_file", "arguments": arguments } })
}

fn thinking(thinking: &Value) -> Value {
    json!({ "type": 2, "value": { "type": "thinking", "thinking": thinking } })
}

/// One of everything.
fn conversation() -> Value {
    let image =
        json!({ "type": 0, "imageUrl": { "url": "https://img.example/a.png", "mediaType": "image/png" } });
    let pdf = json!({ "type": 4, "documentData": { "data": "JVBERi0=", "mediaType": "application/pdf" } });
    json!([
        { "role": 0, "content": [text("Be "), text("brief.\n"), breakpoint()] },
        { "role": 1, "name": "jo", "content": [text("Look. "), image, breakpoint(), pdf] },
        { "role": 2, "content": [thinking(&json!({ "id": "r1", "text": "hm", "encrypted": "sig" })), text("Yes.")],
          "toolCalls": [call("c1", "{\"path\": \"a\"}"), call("c2", "not json")] },
        { "role": 3, "toolCallId": "c1", "content": [text("one"), breakpoint()] },
        { "role": 3, "toolCallId": "c2", "content": [] },
    ])
}

// S1-01, S1-05
#[test]
fn openai_chat() {
    let (body, lost) = wire(&conversation(), Api::Chat);
    let cached = json!({ "type": "ephemeral" });
    let function = |arguments: &str| json!({ "name": "read_file", "arguments": arguments });
    let expected = json!({ "messages": [
        { "role": "system", "content": "Be brief.", "copilot_cache_control": cached },
        { "role": "user", "name": "jo", "copilot_cache_control": cached, "content": [
            { "type": "text", "text": "Look." },
            { "type": "image_url", "image_url": { "url": "https://img.example/a.png", "media_type": "image/png" } },
        ]},
        { "role": "assistant", "content": "Yes.", "tool_calls": [
            { "id": "c1", "type": "function", "function": function("{\"path\": \"a\"}") },
            { "id": "c2", "type": "function", "function": function("not json") },
        ]},
        { "role": "tool", "tool_call_id": "c1", "copilot_cache_control": cached,
          "content": [{ "type": "text", "text": "one" }] },
        { "role": "tool", "tool_call_id": "c2", "content": "" },
    ]});
    assert_eq!(body, expected);
    let expected = ["/0", "/0/content/1", "/1/content/0", "/1/content/3", "/1/content/2", "/2/content/0"];
    assert_eq!(lost, expected, "joined, cut; cut, document, place of the breakpoint; reasoning");
}

#[test]
fn anthropic_messages() {
    let (body, lost) = wire(&conversation(), Api::Messages);
    let cached = json!({ "type": "ephemeral" });
    let expected = json!({
        "system": [{ "type": "text", "text": "Be " }, { "type": "text", "text": "brief.\n", "cache_control": cached }],
        "messages": [
            { "role": "user", "content": [
                { "type": "text", "text": "Look. " },
                { "type": "image", "cache_control": cached,
                  "source": { "type": "url", "url": "https://img.example/a.png" } },
                { "type": "document",
                  "source": { "type": "base64", "media_type": "application/pdf", "data": "JVBERi0=" } },
            ]},
            { "role": "assistant", "content": [
                { "type": "thinking", "thinking": "hm", "signature": "sig" },
                { "type": "text", "text": "Yes." },
                { "type": "tool_use", "id": "c1", "name": "read_file", "input": { "path": "a" } },
                { "type": "tool_use", "id": "c2", "name": "read_file", "input": {} },
            ]},
            { "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "c1", "cache_control": cached,
                  "content": [{ "type": "text", "text": "one" }] },
                { "type": "tool_result", "tool_use_id": "c2" },
            ]},
        ],
    });
    assert_eq!(body, expected);
    assert_eq!(lost, ["/1/name", "/2/toolCalls/1"]);
}

#[test]
fn openai_responses() {
    let (body, lost) = wire(&conversation(), Api::Responses);
    let function_call = |id: &str, arguments: &str| json!({ "type": "function_call", "name": "read_file", "arguments": arguments, "call_id": id });
    let expected = json!({ "input": [
        { "role": "system", "content": [
            { "type": "input_text", "text": "Be " }, { "type": "input_text", "text": "brief.\n" }] },
        { "role": "user", "content": [
            { "type": "input_text", "text": "Look. " },
            { "type": "input_image", "detail": "auto", "image_url": "https://img.example/a.png" },
        ]},
        { "type": "reasoning", "id": "r1", "summary": [], "encrypted_content": "sig" },
        { "type": "message", "role": "assistant", "id": "msg_123", "status": "completed",
          "content": [{ "type": "output_text", "text": "Yes.", "annotations": [] }] },
        function_call("c1", "{\"path\": \"a\"}"),
        function_call("c2", "not json"),
        { "type": "function_call_output", "call_id": "c1", "output": "one" },
        { "type": "function_call_output", "call_id": "c2", "output": "" },
    ]});
    assert_eq!(body, expected);
    let breakpoints_and_others =
        ["/0/content/2", "/1/name", "/1/content/2", "/1/content/3", "/2/content/0", "/3/content/1"];
    assert_eq!(lost, breakpoints_and_others);
}

#[test]
fn a_breakpoint_that_no_block_can_bear_gets_a_text_of_its_own() {
    let filler = json!([{ "type": "text", "text": " ", "cache_control": { "type": "ephemeral" } }]);
    let (body, lost) = wire(&json!([{ "role": 1, "content": [breakpoint()] }]), Api::Messages);
    assert_eq!(body["messages"][0]["content"], filler);
    assert_eq!(lost, [""; 0]);
    let encrypted = thinking(&json!({ "encrypted": "blob" }));
    let (body, _) = wire(
        &json!([{ "role": 2, "content": [encrypted, breakpoint()] }, { "role": 1, "content": [text("go on")] }]),
        Api::Messages,
    );
    assert_eq!(body["messages"][0]["content"][0], json!({ "type": "redacted_thinking", "data": "blob" }));
    assert_eq!(body["messages"][0]["content"][1], filler[0]);
}

#[test]
fn a_spare_breakpoint_goes_to_the_system_prompt_and_a_fifth_is_noted() {
    let said =
        |parts: Vec<Value>| json!([{ "role": 0, "content": [text("s")] }, { "role": 1, "content": parts }]);
    let parts = |count: usize| (0..count).flat_map(|_| [text("t"), breakpoint()]).collect::<Vec<_>>();
    let (body, lost) = wire(&said(parts(3)), Api::Messages);
    assert_eq!(body["system"][0]["cache_control"]["type"], "ephemeral");
    assert!(lost.is_empty());
    let (body, lost) = wire(&said(parts(5)), Api::Messages);
    assert_eq!(body["system"][0]["cache_control"], Value::Null);
    assert_eq!(lost, ["/1/content/9"]);
}

#[test]
fn messages_api_roles_alternate_and_the_user_has_the_last_word() {
    let messages = json!([
        { "role": 1, "content": [text("a")] }, { "role": 1, "content": [text("b")] },
        { "role": 0, "content": [text("late")] },
        { "role": 2, "content": [text("c")] }, { "role": 2, "content": [text(" \n")] },
    ]);
    let (body, lost) = wire(&messages, Api::Messages);
    let roles: Vec<_> =
        body["messages"].as_array().unwrap().iter().map(|message| message["role"].clone()).collect();
    assert_eq!(roles, ["user", "assistant", "user"]);
    assert_eq!(body["messages"][2]["content"], json!([{ "type": "text", "text": "Please continue." }]));
    assert_eq!(lost, ["/1", "/2", "/4/content/0", "/4", "/4"]);
}

#[test]
fn opaque_values_reach_the_output_that_their_scope_allows_as_they_are_spelled() {
    let body = r#"[{"role":1,"content":[
        {"type":2,"value":{"type":"file","n":1.50E+0,"s":"\udead"},"scope":2},
        {"type":2,"value":{"type":"hidden"},"scope":5},
        {"type":2,"value":{"type":"input_text","text":"t"},"scope":0}]}]"#;
    let read = leafgate_chat::messages(&parse(body, Format::Raw), None).unwrap();
    let mut losses = read.losses.clone();
    let chat = leafgate_chat::to_wire(&read.messages, Api::Chat, &mut losses).unwrap().pretty();
    assert!(chat.contains(r#"{"type":"file","n":1.50E+0,"s":"\udead"}"#), "{chat}");
    assert!(!chat.contains("hidden"));
    assert_eq!(losses.all().len(), 1);
    let mut losses = read.losses;
    let responses = leafgate_chat::to_wire(&read.messages, Api::Responses, &mut losses).unwrap().pretty();
    assert!(responses.contains(r#"{"type":"input_text","text":"t"}"#), "{responses}");
    assert_eq!(losses.all().len(), 2);
}

#[test]
fn a_stateful_marker_cuts_what_the_server_remembers() {
    let marker = json!({ "type": 2, "value": {
        "type": "stateful_marker", "value": { "modelId": "m", "marker": "resp_1" } } });
    let phase = json!({ "type": 2, "value": { "type": "phase_data", "phase": "final" } });
    let compacted = json!({ "type": 2, "value": {
        "type": "context_management", "context_management": { "type": "compaction", "id": "x" } } });
    let messages = json!([
        { "role": 1, "content": [text("old")] },
        { "role": 2, "content": [text("answer"), marker] },
        { "role": 1, "content": [text("new")] },
        { "role": 2, "content": [phase, text("then"), compacted] },
    ]);
    let (body, lost) = wire(&messages, Api::Responses);
    assert_eq!(body["previous_response_id"], "resp_1");
    let input = body["input"].as_array().unwrap();
    assert_eq!(input.len(), 3);
    assert_eq!(input[0]["content"][0]["text"], "new");
    assert_eq!(input[1], json!({ "type": "compaction", "id": "x" }));
    assert_eq!(input[2]["phase"], "final");
    assert_eq!(lost, ["/0", "/1"]);
}

#[test]
fn images_that_a_tool_gave_follow_its_text_as_a_message_of_the_user() {
    let image = json!({ "type": 0, "imageUrl": { "url": "data:image/png;base64,AAAA", "detail": "low" } });
    let messages = json!([{ "role": 3, "toolCallId": "c", "content": [image, text("x")] }]);
    let (body, lost) = wire(&messages, Api::Responses);
    assert_eq!(body["input"][0]["output"], "x");
    assert_eq!(body["input"][1]["role"], "user");
    assert_eq!(body["input"][1]["content"][1]["detail"], "low");
    assert_eq!(lost, ["/0/content/0"]);
}

/// Counted in the recording: four requests with 3, 5, 7 and 9 messages; texts that end in white
/// space; breakpoints, in the last request with an empty text of the model.
#[test]
fn every_request_of_the_recorded_replay_converts_with_every_loss_noted() {
    let Some(replay) = recording("raw-chatmessage/spec.chatreplay.json") else { return };
    let document = parse(&replay, Format::Generic);
    for (number, count, cut, breakpoints) in [(1, 3, 3, 3), (2, 5, 5, 4), (3, 7, 6, 4), (4, 9, 7, 5)] {
        let read = leafgate_chat::messages(&document, Some(number)).unwrap();
        assert_eq!((read.messages.len(), read.request), (count, Some((number, 4))));
        assert_eq!(read.losses.all().len(), 0);
        let mut losses = read.losses.clone();
        let body: Value = serde_json::from_str(
            &leafgate_chat::to_wire(&read.messages, Api::Chat, &mut losses).unwrap().pretty(),
        )
        .unwrap();
        assert_eq!(body["messages"].as_array().unwrap().len(), count);
        // Breakpoints stand last and each text is one part, so that only white space is lost.
        assert_eq!(losses.all().len(), cut, "{:?}", losses.all());
        let mut losses = read.losses.clone();
        let _ = leafgate_chat::to_wire(&read.messages, Api::Responses, &mut losses);
        assert_eq!(losses.all().len(), breakpoints, "{:?}", losses.all());
    }
    assert!(leafgate_chat::messages(&document, Some(5)).is_err());
    assert_eq!(
        leafgate_chat::messages(&document, None).unwrap().messages.len(),
        9,
        "the last one, if none is named"
    );
}
