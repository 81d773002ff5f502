//! Recorded requests and answers, adapted to every API: what is said stays.

#![allow(missing_docs, reason = "a test binary has no public items")]
#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use leafgate_adapt::{AdaptError, PathTerms, StreamAdapter, TurnMessage, adapt, adapt_answer, messages};
use leafgate_answer::{AnswerLimits, Api, Head, Reader, Reply};
use leafgate_harness::recordings::{self, all};
use leafgate_tree::{Document, Format, Limits, Role};
use serde_json::{Value, json};

const APIS: [Api; 4] = [Api::Chat, Api::Responses, Api::Messages, Api::Gemini];

fn format_of(api: Api) -> Format {
    *Format::ALL.iter().find(|format| format.api() == Some(api)).unwrap()
}

fn read(body: impl Into<Vec<u8>>, api: Api) -> Document {
    Document::parse(body.into().into(), format_of(api), &Limits::default()).unwrap()
}

fn adapted(body: &Value, from: Api, to: Api) -> (Value, Vec<&'static str>) {
    let path = PathTerms { model: "m", streams: false };
    let made = adapt(&read(body.to_string(), from), from, to, path).unwrap_or_else(|error| panic!("{error}"));
    (serde_json::from_slice(&made.body).unwrap(), made.losses)
}

/// What a conversation says, however its messages are cut: who, in which words and pictures, with which calls.
#[derive(Debug, Default, PartialEq)]
struct SaidInRow {
    role: String,
    text: String,
    images: usize,
    calls: Vec<(String, Value)>,
}

fn said(all: &[TurnMessage]) -> (String, Vec<SaidInRow>) {
    let (mut system, mut rows): (Vec<String>, Vec<SaidInRow>) = (Vec::new(), Vec::new());
    for message in all {
        if message.role == Role::System {
            system.push(message.text());
            continue;
        }
        let role = match message.role {
            Role::Tool => format!("result {}", position(all, message)),
            Role::Other => "user".to_owned(),
            role => role.name().to_owned(),
        };
        if rows.last().is_none_or(|last| last.role != role) {
            rows.push(SaidInRow { role, ..SaidInRow::default() });
        }
        let row = rows.last_mut().unwrap();
        let text = message.text();
        row.text =
            [&*row.text, &*text].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n");
        // A result in words alone keeps no picture.
        row.images += if message.role == Role::Tool { 0 } else { message.images().count() };
        let arguments = |text: &str| serde_json::from_str(text).unwrap_or_else(|_| json!({ "input": text }));
        row.calls.extend(
            message
                .calls
                .iter()
                .map(|call| (call.name.expose().to_owned(), arguments(call.arguments.expose()))),
        );
    }
    rows.retain(|row| !row.text.is_empty() || row.images > 0 || !row.calls.is_empty());
    (system.join("\n\n"), rows)
}

/// Which call a result is of, counted over the conversation: ids differ where an API has none.
fn position(all: &[TurnMessage], result: &TurnMessage) -> String {
    let mut calls = all.iter().flat_map(|message| &message.calls);
    calls
        .position(|call| Some(call.id.expose()) == result.call_id.as_deref())
        .map_or("?".to_owned(), |at| at.to_string())
}

/// Leaves out what providers ran themselves, and calls that wait for their results.
fn without_pairless(all: &mut Vec<TurnMessage>) {
    let ids = |of: &dyn Fn(&TurnMessage) -> Vec<String>| all.iter().flat_map(of).collect::<Vec<_>>();
    let results = ids(&|message| message.call_id.iter().cloned().collect());
    let calls = ids(&|message| message.calls.iter().map(|call| call.id.expose().to_owned()).collect());
    all.iter_mut()
        .for_each(|message| message.calls.retain(|call| results.iter().any(|id| id == call.id.expose())));
    all.retain(|message| message.call_id.as_ref().is_none_or(|id| calls.contains(id)));
}

// S3-28
#[test]
fn a_recorded_conversation_says_the_same_in_every_api() {
    let mut adapted = 0;
    for recording in all() {
        let Some(from) = recording.format.api().filter(|api| APIS.contains(api)) else { continue };
        let document = read(recording.body.clone(), from);
        for to in APIS.into_iter().filter(|to| *to != from) {
            let made = match adapt(&document, from, to, PathTerms { model: "m", streams: true }) {
                Ok(made) => made,
                Err(AdaptError::Kept(_) | AdaptError::NoMessages) => continue,
                Err(error) => panic!("{}: {error}", recording.name),
            };
            let (mut before, mut after) = (messages(&document), messages(&read(made.body, to)));
            if made.losses.contains(&"images in results of tools") {
                before.iter_mut().chain(&mut after).for_each(|message| {
                    if message.role == Role::Tool {
                        message.parts.clear();
                    }
                });
            }
            without_pairless(&mut before);
            let (before, after) = (said(&before), said(&after));
            assert!(before == after, "{} from {from} to {to}:\n{before:#?}\n{after:#?}", recording.name);
            adapted += 1;
        }
    }
    assert!(adapted > 30, "{adapted}");
}

#[test]
fn options_tools_and_the_choice_among_them_have_their_places() {
    let chat = json!({
        "model": "gpt", "max_tokens": 5, "temperature": 1.5, "stop": "END", "seed": 1, "user": "u", "n": 1,
        "logit_bias": { "1": 2 }, "response_format": { "type": "text" }, "my_own": 1,
        "messages": [{ "role": "system", "content": "Brief." }, { "role": "user", "content": "Hi" }],
        "tools": [{ "type": "function", "function": { "name": "read", "description": "Reads.", "parameters": { "type": "object" } } }],
        "tool_choice": { "type": "function", "function": { "name": "read" } },
    });
    let (made, losses) = adapted(&chat, Api::Chat, Api::Messages);
    // An agent asks again: the provider is to keep what is the same.
    let mark = json!({ "type": "ephemeral" });
    assert_eq!(
        made,
        json!({
            "model": "m", "max_tokens": 5, "temperature": 1.0, "stop_sequences": ["END"], "system": [{ "type": "text", "text": "Brief.", "cache_control": mark }],
            "metadata": { "user_id": "u" },
            "messages": [{ "role": "user", "content": [{ "type": "text", "text": "Hi", "cache_control": mark }] }],
            "tools": [{ "name": "read", "description": "Reads.", "input_schema": { "type": "object" } }],
            "tool_choice": { "type": "tool", "name": "read" },
        })
    );
    // A key of the client's own is not repeated.
    assert_eq!(losses, ["seed", "logit_bias", "other members", "response_format"]);

    let (made, losses) = adapted(&chat, Api::Chat, Api::Gemini);
    assert_eq!(
        made["generationConfig"],
        json!({ "maxOutputTokens": 5, "temperature": 1.5, "stopSequences": ["END"], "seed": 1 })
    );
    assert_eq!(
        made["toolConfig"]["functionCallingConfig"],
        json!({ "mode": "ANY", "allowedFunctionNames": ["read"] })
    );
    assert!(losses.contains(&"user"), "{losses:?}");

    let messages = json!({
        "model": "claude", "max_tokens": 9, "system": [{ "type": "text", "text": "Brief." }], "top_k": 3,
        "thinking": { "type": "enabled", "budget_tokens": 1024 },
        "messages": [{ "role": "user", "content": "Hi" }],
        "tools": [{ "name": "read", "input_schema": { "type": "object" } }, { "type": "web_search_20250305", "name": "web_search" }],
        "tool_choice": { "type": "any" },
    });
    let (made, losses) = adapted(&messages, Api::Messages, Api::Chat);
    assert_eq!(made["messages"][0], json!({ "role": "system", "content": "Brief." }));
    assert_eq!((&made["max_completion_tokens"], &made["tool_choice"]), (&json!(9), &json!("required")));
    assert_eq!(made["tools"][0]["function"]["parameters"], json!({ "type": "object" }));
    assert_eq!(losses, ["tools that are no functions", "top_k", "thinking"]);
}

#[test]
fn messages_gets_the_bound_that_it_wants_and_a_kept_conversation_is_refused() {
    let (made, _) = adapted(&json!({ "input": "Hi" }), Api::Responses, Api::Messages);
    assert_eq!(made["max_tokens"], 8192);
    assert!(!made.to_string().contains("cache_control"), "nobody asks again: {made}");
    for (body, from) in [
        (json!({ "input": "Go on", "previous_response_id": "r" }), Api::Responses),
        (
            json!({ "contents": [{ "role": "user", "parts": [{ "text": "Hi" }] }], "cachedContent": "c" }),
            Api::Gemini,
        ),
    ] {
        let path = PathTerms { model: "m", streams: false };
        let refused = adapt(&read(body.to_string(), from), from, Api::Chat, path).err();
        assert!(matches!(refused, Some(AdaptError::Kept(_))), "{refused:?}");
    }
}

#[test]
fn results_of_one_turn_are_one_message_where_the_api_wants_that() {
    let call =
        |id: &str| json!({ "id": id, "type": "function", "function": { "name": "read", "arguments": "{}" } });
    let chat = json!({ "messages": [
        { "role": "user", "content": "Read both" },
        { "role": "assistant", "content": null, "tool_calls": [call("a"), call("b")] },
        { "role": "tool", "tool_call_id": "a", "content": "1" },
        { "role": "tool", "tool_call_id": "b", "content": "2" },
    ] });
    let (made, _) = adapted(&chat, Api::Chat, Api::Messages);
    let ids: Vec<_> = made["messages"][2]["content"]
        .as_array()
        .unwrap()
        .iter()
        .map(|block| &block["tool_use_id"])
        .collect();
    assert_eq!(ids, ["a", "b"]);
    let (made, _) = adapted(&chat, Api::Chat, Api::Gemini);
    assert_eq!(made["contents"][2]["parts"][1]["functionResponse"]["name"], "read");
}

/// A call whose tool said nothing was left out with its result, as one that was never answered.
// S3-28
#[test]
fn a_result_that_says_nothing_is_one() {
    let call = json!({ "id": "a", "type": "function", "function": { "name": "run", "arguments": "{}" } });
    let chat = json!({ "messages": [
        { "role": "user", "content": "Run it" },
        { "role": "assistant", "content": null, "tool_calls": [call] },
        { "role": "tool", "tool_call_id": "a", "content": "" },
    ] });
    let (made, losses) = adapted(&chat, Api::Chat, Api::Responses);
    assert_eq!(made["input"][2], json!({ "type": "function_call_output", "call_id": "a", "output": "" }));
    let (made, _) = adapted(&chat, Api::Chat, Api::Messages);
    let result = json!({ "type": "tool_result", "tool_use_id": "a", "content": [] });
    assert_eq!((&made["messages"][2]["content"], losses.len()), (&json!([result]), 0));
}

/// Whether a call went wrong was told as a line of its result, and so was what else stands beside its text.
// S3-28
#[test]
fn what_stands_beside_a_result_is_none_of_its_words() {
    let result = |key: &str, value: Value| {
        let mut result = json!({ "type": "tool_result", "tool_use_id": "a", "content": [{ "type": "text", "text": "42", "cache_control": { "type": "ephemeral", "ttl": "1h" } }] });
        result[key] = value;
        json!({ "messages": [
            { "role": "assistant", "content": [{ "type": "tool_use", "id": "a", "name": "run", "input": {} }] },
            { "role": "user", "content": [result] },
        ] })
    };
    let item = json!({ "input": [
        { "type": "function_call", "id": "fc", "status": "completed", "call_id": "a", "name": "run", "arguments": "{}", "namespace": "n" },
        { "type": "function_call_output", "id": "fco", "status": "completed", "call_id": "a", "output": "42" },
    ] });
    let chat = json!({ "messages": [
        { "role": "assistant", "content": null, "tool_calls": [
            { "id": "a", "type": "function", "function": { "name": "run", "arguments": "{}" }, "index": 0 }] },
        { "role": "tool", "tool_call_id": "a", "name": "run", "content": [{ "type": "text", "text": "42", "cache_control": { "type": "ephemeral" } }] },
    ] });
    let gemini = json!({ "contents": [
        { "role": "model", "parts": [{ "functionCall": { "id": "a", "name": "run", "args": {} }, "thoughtSignature": "c2ln" }] },
        { "role": "user", "parts": [{ "functionResponse": {
            "id": "a", "name": "run", "response": { "output": "42" }, "willContinue": false, "scheduling": "SILENT" } }] },
    ] });
    for (body, from) in [
        (result("is_error", json!(false)), Api::Messages),
        (result("is_error", json!(true)), Api::Messages),
        (item, Api::Responses),
        (chat, Api::Chat),
        (gemini, Api::Gemini),
    ] {
        let said = messages(&read(body.to_string(), from));
        let texts: Vec<String> = said.iter().map(TurnMessage::text).collect();
        assert_eq!(texts, ["", "42"], "{from}");
    }
}

/// Servers read the arguments of calls as JSON; those of custom tools are none, and Gemini leaves out what is empty.
// S3-28
#[test]
fn arguments_are_always_an_object() {
    let row = json!({ "input": [
        { "type": "custom_tool_call", "call_id": "a", "name": "patch", "input": "*** Begin" },
        { "type": "custom_tool_call_output", "call_id": "a", "output": "Done." },
    ] });
    let (made, _) = adapted(&row, Api::Responses, Api::Chat);
    let function = &made["messages"][0]["tool_calls"][0]["function"];
    assert_eq!(function["arguments"], "{\"input\":\"*** Begin\"}");
    let turns = json!({ "contents": [
        { "role": "model", "parts": [{ "functionCall": { "name": "now" } }] },
        { "role": "user", "parts": [{ "functionResponse": { "name": "now", "response": { "output": "9:00" } } }] },
    ] });
    let (made, _) = adapted(&turns, Api::Gemini, Api::Responses);
    assert_eq!(made["input"][0]["arguments"], "{}");
}

/// The texts in JSON were told one by one, without its keys and marks: what tools mostly give.
// S3-28
#[test]
fn json_in_a_text_stays_that_text() {
    let read = "{\"b\": [1, \"two\"], \"a\": null}";
    let call = json!({ "id": "a", "type": "function", "function": { "name": "run", "arguments": "{}" } });
    let chat = json!({ "messages": [
        { "role": "user", "content": read },
        { "role": "assistant", "content": null, "tool_calls": [call] },
        { "role": "tool", "tool_call_id": "a", "content": read },
    ] });
    let (made, _) = adapted(&chat, Api::Chat, Api::Responses);
    assert_eq!(made["input"][0]["content"][0]["text"], read, "{made}");
    assert_eq!(made["input"][2]["output"], read, "{made}");
    for (response, output) in [
        (json!({ "output": "42" }), "42"),
        (json!({ "a": "1", "b": 2 }), "{\"a\":\"1\",\"b\":2}"),
        (json!({ "rows": ["1"] }), "{\"rows\":[\"1\"]}"),
    ] {
        let gemini = json!({ "contents": [
            { "role": "model", "parts": [{ "functionCall": { "name": "run", "args": {} } }] },
            { "role": "user", "parts": [{ "functionResponse": { "name": "run", "response": response } }] },
        ] });
        let (made, _) = adapted(&gemini, Api::Gemini, Api::Chat);
        assert_eq!(made["messages"][1]["content"], output, "{made}");
    }
}

fn reply_of(api: Api, bytes: &[u8], is_stream: bool) -> Reply {
    let limits = AnswerLimits::default();
    let mut reader = if is_stream { Reader::stream(api, limits) } else { Reader::whole(api, limits) };
    reader.push(bytes).unwrap();
    reader.finish().unwrap().reply
}

/// What every API can say of an answer.
fn told(reply: &Reply) -> (String, Vec<(String, Value)>) {
    let arguments = |text: &str| serde_json::from_str(text).unwrap_or_else(|_| json!({ "input": text }));
    let calls =
        reply.calls.iter().map(|call| (call.name.expose().to_owned(), arguments(call.arguments.expose())));
    (reply.content.expose().to_owned(), calls.collect())
}

#[test]
fn a_recorded_answer_says_the_same_in_every_api() {
    let folders = [
        ("openai-chat", Api::Chat),
        ("openai-responses", Api::Responses),
        ("anthropic-messages", Api::Messages),
        ("gemini", Api::Gemini),
    ];
    let mut adapted = 0;
    for (folder, from) in folders {
        for (ending, is_stream) in [(".response.sse", true), (".response.json", false)] {
            for file in recordings::read(folder, ending) {
                let limits = AnswerLimits::default();
                for to in APIS.into_iter().filter(|to| *to != from) {
                    let made = match is_stream {
                        true => {
                            let mut adapter = StreamAdapter::new(from, to, Head::default(), true, limits);
                            let mut made = String::new();
                            file.body
                                .chunks(97)
                                .for_each(|piece| made.push_str(&adapter.push(piece).unwrap()));
                            adapter.finish().map(|end| (made + &end).into_bytes())
                        }
                        false => adapt_answer(from, to, &file.body, limits),
                    };
                    // Errors, counts and answers that broke off are none.
                    let Ok(made) = made else { continue };
                    let (before, after) =
                        (reply_of(from, &file.body, is_stream), reply_of(to, &made, is_stream));
                    assert_eq!(told(&before), told(&after), "{} from {from} to {to}", file.name);
                    let output = before.usage.map(|usage| usage.output);
                    assert!(
                        output.is_none() || after.usage.map(|usage| usage.output) == output,
                        "{} {to}",
                        file.name
                    );
                    adapted += 1;
                }
            }
        }
    }
    assert!(adapted > 20, "{adapted}");
}

#[test]
fn words_leave_as_they_come() {
    let mut adapter =
        StreamAdapter::new(Api::Chat, Api::Messages, Head::default(), false, AnswerLimits::default());
    let piece = |delta: Value| {
        format!("data: {}\n\n", json!({ "id": "c", "choices": [{ "index": 0, "delta": delta }] }))
    };
    let first = adapter.push(piece(json!({ "role": "assistant", "content": "Fo" })).as_bytes()).unwrap();
    assert!(first.contains("message_start") && first.contains("\"Fo\""), "{first}");
    let second = adapter.push(piece(json!({ "content": "ur." })).as_bytes()).unwrap();
    assert!(second.contains("\"ur.\"") && !second.contains("message_start"), "{second}");
    assert!(adapter.finish().is_err(), "a stream that broke off does not end well");
}
