//! Exports that other programs read.

use leafgate_record::{RecordId, Recorder as _};
use leafgate_store::{ExportFormat, Log};
use serde_json::{Value, json};

use crate::kit::{self, answer, begun, end, event, request, taken};

const PICTURE: &str = "https://example.org/a.png";

fn exported(log: &Log, format: ExportFormat) -> Value {
    serde_json::from_str(&kit::exported(log, format)).unwrap()
}

#[test]
fn a_body_over_several_lines_is_one_line_of_an_export() {
    let (folder, store) = begun();
    for id in 1..=2 {
        taken(store.request(request(id, &"{\r\n  \"model\": \"m\",\n\t\"messages\": []\r\n}".into())));
    }
    store.close();
    let lines = kit::exported(&Log::open(folder.path()).unwrap(), ExportFormat::Jsonl);
    let models: Vec<_> = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["body"]["model"].clone())
        .collect();
    assert_eq!(models, ["m", "m"]);
}

fn user(text: &str) -> Value {
    json!({ "role": "user", "content": text })
}

/// A question with a picture, a round of a tool, the answer; the same question again, which fails; and
/// again, with no answer.
fn logged() -> (tempfile::TempDir, Log) {
    let (folder, store) = begun();
    let asked = json!({ "role": "user", "content": [{ "type": "text", "text": "Look\nat it" },
        { "type": "image_url", "image_url": { "url": PICTURE } }] });
    let function = json!({ "name": "read", "arguments": "{\"path\":\"a\"}" });
    let call = json!({ "id": "c1", "type": "function", "function": function });
    let called = json!({ "role": "assistant", "content": null, "tool_calls": [call] });
    let result = json!({ "role": "tool", "tool_call_id": "c1", "content": "42" });
    let first = vec![asked.clone()];
    let second = [first.clone(), vec![called, result]].concat();
    let again = [second.clone(), vec![json!({ "role": "assistant", "content": "It is 42" }), asked]].concat();
    let unanswered =
        [again.clone(), vec![json!({ "role": "assistant", "content": "no" }), user("And now?")]].concat();
    let bodies = [first, second, again, unanswered];
    for (id, messages) in (1..).zip(bodies) {
        taken(store.request(request(id, &json!({ "model": "m", "messages": messages }).to_string().into())));
        let call = json!({ "tool_calls": [{ "index": 0, "id": "c1", "function": function }] });
        match id {
            1 => answer(&store, id, &[event(&call, None), event(&json!({}), Some("tool_calls"))], true),
            2 => answer(&store, id, &[event(&json!({ "content": "It is 42" }), Some("stop"))], true),
            3 => {
                store.answer(RecordId(id), crate::kit::head());
                store.answer(RecordId(id), end(false));
            }
            _ => {}
        }
    }
    store.close();
    let log = Log::open(folder.path()).unwrap();
    (folder, log)
}

/// Equal questions were one turn, every answer was pending, and a result was nowhere.
// S2-30
#[test]
fn a_chat_has_each_question_with_its_range_status_times_and_results() {
    let (_folder, log) = logged();
    let chat = exported(&log, ExportFormat::Chat);
    let requests = chat["requests"].as_array().unwrap();
    let texts: Vec<_> = requests.iter().map(|turn| turn["message"]["text"].as_str().unwrap()).collect();
    assert_eq!(texts, ["Look\nat it", "Look\nat it", "And now?"]);
    let states: Vec<_> = requests.iter().map(|turn| &turn["modelState"]["value"]).collect();
    assert_eq!(states, [1, 3, 3], "{requests:#?}");
    let first = &requests[0];
    let range = json!({ "startLineNumber": 1, "startColumn": 1, "endLineNumber": 2, "endColumn": 6 });
    assert_eq!(first["message"]["parts"][0]["editorRange"], range);
    assert_eq!(first["variableData"]["variables"][0]["value"], PICTURE);
    let kinds: Vec<_> = first["response"].as_array().unwrap().iter().map(|part| &part["kind"]).collect();
    assert_eq!(kinds, ["toolInvocationSerialized", "markdownContent"]);
    let call = &first["response"][0];
    assert_eq!(
        (&call["toolId"], &call["toolCallId"], &call["result"]),
        (&json!("read"), &json!("c1"), &json!("42"))
    );
    assert!(first["modelState"]["completedAt"].as_i64() >= first["timestamp"].as_i64());
    assert!(
        first["result"]["timings"]["totalElapsed"].is_i64() && first["result"].get("errorDetails").is_none()
    );
    assert_eq!(requests[1]["result"]["errorDetails"]["message"], "the answer broke off");
}

/// Calls were text, and tool messages had no `toolCallId`.
// S1-17
#[test]
fn a_replay_has_raw_messages_and_each_call_with_its_result() {
    let (_folder, log) = logged();
    let replay = exported(&log, ExportFormat::Replay);
    assert_eq!((&replay["totalPrompts"], &replay["totalLogEntries"]), (&json!(3), &json!(5)));
    let logs = replay["prompts"][0]["logs"].as_array().unwrap();
    let kinds: Vec<_> = logs.iter().map(|log| &log["kind"]).collect();
    assert_eq!(kinds, ["request", "toolCall", "request"]);
    assert_eq!((&logs[1]["id"], &logs[1]["response"]), (&json!("c1"), &json!(["42"])));
    let messages = &logs[2]["requestMessages"]["messages"];
    let expected = json!([
        { "role": 1, "content": [{ "type": 1, "text": "Look\nat it" },
            { "type": 0, "imageUrl": { "url": PICTURE } }] },
        { "role": 2, "content": [], "toolCalls": [{ "id": "c1", "type": "function",
            "function": { "name": "read", "arguments": "{\"path\":\"a\"}" } }] },
        { "role": 3, "content": [{ "type": 1, "text": "42" }], "toolCallId": "c1" },
    ]);
    assert_eq!(*messages, expected);
}
