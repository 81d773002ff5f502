//! Answers that no recording has: broken, hostile, unusual.

use leafgate_answer::{
    Answer, AnswerError, AnswerLimits, Api, CallKind, Delta, Finish, Reader, Reply, answer_events,
    write_answer,
};
use serde_json::{Value, json};

fn read(api: Api, text: &str) -> Result<Answer, AnswerError> {
    let mut reader = Reader::stream(api, AnswerLimits::default());
    reader.push(text.as_bytes())?;
    reader.finish()
}

fn stream(api: Api, text: &str) -> Answer {
    read(api, text).unwrap()
}

fn whole(api: Api, json: &Value) -> Answer {
    let mut reader = Reader::whole(api, AnswerLimits::default());
    reader.push(json.to_string().as_bytes()).unwrap();
    reader.finish().unwrap()
}

fn events(events: &[Value]) -> String {
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}

fn chunk(delta: Value) -> Value {
    json!({ "id": "c", "choices": [{ "index": 0, "delta": delta }] })
}

fn block(at: usize, block: Value, deltas: &[Value]) -> Vec<Value> {
    let mut all = vec![json!({ "type": "content_block_start", "index": at, "content_block": block })];
    all.extend(
        deltas.iter().map(|delta| json!({ "type": "content_block_delta", "index": at, "delta": delta })),
    );
    all.push(json!({ "type": "content_block_stop", "index": at }));
    all
}

#[test]
fn an_event_may_stand_on_many_lines() {
    let text = "data: {\"choices\": [{\"index\": 0,\r\ndata: \"delta\": {\"content\": \"a\"}}]}\r\n\r\n: note\n\
                id: 1\ndata:{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"b\"}}]}\n\ndata: [DONE]\n\n";
    let answer = stream(Api::Chat, text);
    assert_eq!(answer.reply.content.expose(), "ab");
}

#[test]
fn the_last_event_may_lack_its_end() {
    let text = events(&[chunk(json!({ "content": "a" }))])
        + "data: "
        + &chunk(json!({ "content": "b" })).to_string();
    assert_eq!(stream(Api::Chat, &text).reply.content.expose(), "ab");
}

#[test]
fn what_is_no_event_is_odd_and_the_rest_is_read() {
    let text = format!("data: {{broken\n\n{}data: [1]\n\n", events(&[chunk(json!({ "content": "a" }))]));
    let answer = stream(Api::Chat, &text);
    assert_eq!(answer.reply.content.expose(), "a");
    assert!(answer.is_odd);
}

#[test]
fn a_longer_answer_than_the_limit_is_an_error_for_good() {
    for mut reader in [
        Reader::stream(Api::Chat, AnswerLimits { bytes: 10, values: 100 }),
        Reader::whole(Api::Chat, AnswerLimits { bytes: 10, values: 100 }),
    ] {
        assert!(reader.push(b"data: 1234").is_ok());
        assert_eq!(reader.push(b"5"), Err(AnswerError::TooLong { limit: 10 }));
        assert_eq!(reader.push(b""), Err(AnswerError::TooLong { limit: 10 }));
        assert_eq!(reader.finish().err(), Some(AnswerError::TooLong { limit: 10 }));
    }
    let mut reader = Reader::whole(Api::Gemini, AnswerLimits { bytes: 1000, values: 5 });
    assert_eq!(reader.push(b"[[[[[["), Err(AnswerError::TooManyValues { limit: 5 }));
}

#[test]
fn deep_nesting_is_an_error_or_odd() {
    let deep = "[".repeat(100_000);
    let mut reader = Reader::whole(Api::Chat, AnswerLimits::default());
    reader.push(deep.as_bytes()).unwrap();
    assert!(matches!(reader.finish(), Err(AnswerError::NotJson { .. })));
    let answer = stream(Api::Chat, &format!("data: {{\"a\":{deep}\n\n{}", events(&[chunk(json!({}))])));
    assert!(answer.is_odd);
}

#[test]
fn what_is_no_answer_is_an_error_without_its_text() {
    for &api in Api::ALL {
        let error = read(api, "data: {\"secret-word\": 1}\n\n").unwrap_err();
        assert_eq!(error, AnswerError::NoAnswer { api: api.name() });
        assert!(!error.to_string().contains("secret-word"));
        assert!(read(api, "").is_err());
        let mut reader = Reader::whole(api, AnswerLimits::default());
        reader.push(b"<html>secret-word").unwrap();
        assert_eq!(reader.finish().err(), Some(AnswerError::NotJson { line: 1, column: 1 }));
    }
}

#[test]
fn an_error_is_a_failure_in_every_api() {
    let bodies = [
        (Api::Chat, json!({ "error": { "message": "no", "type": "t", "code": null } })),
        (Api::Responses, json!({ "error": { "message": "no", "type": "t" } })),
        (Api::Messages, json!({ "type": "error", "error": { "type": "t", "message": "no" } })),
        (Api::Gemini, json!({ "error": { "code": 429, "message": "no", "status": "t" } })),
        (Api::CodeAssist, json!({ "error": { "code": 429, "message": "no", "status": "t" } })),
    ];
    for (api, body) in bodies {
        for answer in [whole(api, &body), stream(api, &events(std::slice::from_ref(&body)))] {
            assert_eq!(answer.reply.finish, Some(Finish::Failed), "{api:?}");
            let failure = answer.failure.unwrap();
            assert_eq!((failure.kind.expose(), failure.message.expose()), ("t", "no"), "{api:?}");
        }
    }
}

#[test]
fn an_error_in_the_middle_keeps_what_was_said() {
    let begun = json!({ "type": "response.output_item.added", "output_index": 0,
        "item": { "type": "message", "role": "assistant", "id": "m", "content": [] } });
    let said = json!({ "type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "half" });
    let messages = [
        vec![json!({ "type": "message_start", "message": { "id": "m", "content": [] } })],
        block(0, json!({ "type": "text", "text": "" }), &[json!({ "type": "text_delta", "text": "half" })]),
        vec![json!({ "type": "error", "error": { "type": "overloaded_error", "message": "later" } })],
    ];
    let streams = [
        (
            Api::Chat,
            events(&[chunk(json!({ "content": "half" })), json!({ "error": { "message": "later" } })]),
        ),
        (Api::Responses, events(&[begun, said, json!({ "type": "error", "message": "later", "code": "c" })])),
        (Api::Messages, events(&messages.concat())),
        (
            Api::CodeAssist,
            events(&[
                json!({ "response": { "candidates": [{ "content": { "parts": [{ "text": "half" }] } }] } }),
                json!({ "error": { "code": 503, "message": "later", "status": "UNAVAILABLE" } }),
            ]),
        ),
    ];
    for (api, text) in streams {
        let answer = stream(api, &text);
        assert_eq!(answer.reply.content.expose(), "half", "{api:?}");
        assert_eq!(answer.reply.finish, Some(Finish::Failed), "{api:?}");
        assert_eq!(answer.failure.unwrap().message.expose(), "later", "{api:?}");
    }
}

#[test]
fn an_answer_that_breaks_off_has_no_finish() {
    let gemini = json!({ "candidates": [{ "content": { "parts": [{ "text": "a" }] } }] });
    let message = json!({ "type": "message_start", "message": { "id": "m", "content": [] } });
    let response = json!({ "type": "response.created", "response": { "id": "r", "status": "in_progress" } });
    for (api, event) in [
        (Api::Chat, chunk(json!({ "content": "a" }))),
        (Api::Responses, response),
        (Api::Messages, message),
        (Api::CodeAssist, json!({ "response": gemini })),
        (Api::Gemini, gemini),
    ] {
        let text = events(&[event]);
        let cut = stream(api, &text);
        assert_eq!((cut.reply.finish, cut.is_cut_off), (None, true), "{api:?}");
        // Some servers say that a stream is over, and not why the model stopped.
        for end in ["data: [DONE]\n\n", "data: [DONE]"] {
            assert!(!stream(api, &format!("{text}{end}")).is_cut_off, "{api:?}");
        }
    }
    // In one piece it is all there is.
    let unended = json!({ "choices": [{ "message": { "role": "assistant", "content": "a" } }] });
    assert!(!whole(Api::Chat, &unended).is_cut_off);
}

#[test]
fn arguments_that_were_cut_off_stay_text() {
    let start = json!({ "type": "message_start", "message": { "id": "m", "content": [] } });
    let tool = json!({ "type": "tool_use", "id": "t", "name": "rm", "input": {} });
    let piece = json!({ "type": "input_json_delta", "partial_json": "{\"path\": \"/tm" });
    let text = events(&[vec![start], block(0, tool, &[piece])].concat());
    let reply = stream(Api::Messages, &text).reply;
    assert_eq!(reply.calls[0].arguments.expose(), "{\"path\": \"/tm");
    let written = write_answer(Api::Messages, &reply, &Default::default());
    assert_eq!(written["content"][0]["input"], json!({}), "no arguments can be made of them");
}

#[test]
fn a_call_without_arguments_has_an_empty_object() {
    let start = json!({ "type": "message_start", "message": { "id": "m", "content": [] } });
    let tool = json!({ "type": "tool_use", "id": "t", "name": "now", "input": {} });
    let text = events(&[vec![start], block(0, tool, &[])].concat());
    let mut reader = Reader::stream(Api::Messages, AnswerLimits::default());
    let mut sum = Reply::default();
    reader.push(text.as_bytes()).unwrap().iter().for_each(|delta| sum.add(delta));
    assert_eq!(sum.calls[0].arguments.expose(), "{}");
    assert_eq!(reader.finish().unwrap().reply.calls, sum.calls);
}

#[test]
fn a_repetition_that_says_something_else_is_odd() {
    let item = |text: &str| {
        json!({ "type": "message", "role": "assistant", "id": "m",
        "content": [{ "type": "output_text", "text": text }] })
    };
    let call = |arguments: &str| json!({ "type": "function_call", "call_id": "c", "name": "run", "arguments": arguments });
    let added = |at: usize, item: Value| json!({ "type": "response.output_item.added", "output_index": at, "item": item });
    let done = |at: usize, item: Value| json!({ "type": "response.output_item.done", "output_index": at, "item": item });
    let said = json!({ "type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "yes" });
    let asked = json!({ "type": "response.function_call_arguments.delta", "output_index": 1, "delta": "{\"c\":\"ls\"}" });
    let answer = |text: &str, arguments: &str| {
        stream(
            Api::Responses,
            &events(&[
                added(0, item("")),
                said.clone(),
                done(0, item(text)),
                added(1, call("")),
                asked.clone(),
                done(1, call(arguments)),
            ]),
        )
    };
    assert!(!answer("yes", "{\"c\":\"ls\"}").is_odd);
    assert!(answer("no", "{\"c\":\"ls\"}").is_odd);
    assert!(answer("yes", "{\"c\":\"rm\"}").is_odd);

    let name = |name: &str| {
        chunk(json!({ "tool_calls": [{ "index": 0, "function": { "name": name, "arguments": "" } }] }))
    };
    assert!(stream(Api::Chat, &events(&[name("ls"), name("rm")])).is_odd);
}

#[test]
fn items_that_the_last_event_leaves_out_count() {
    let done = json!({ "type": "response.output_item.done", "output_index": 0, "item": {
        "type": "custom_tool_call", "call_id": "c", "name": "apply_patch", "input": "*** Begin Patch" } });
    let end = json!({ "type": "response.completed", "response": { "id": "r", "status": "completed", "output": [] } });
    let answer = stream(Api::Responses, &events(&[done, end]));
    assert_eq!(answer.reply.calls[0].kind, CallKind::Custom);
    assert_eq!(answer.reply.calls[0].arguments.expose(), "*** Begin Patch");
    assert_eq!(answer.reply.finish, Some(Finish::Calls));
    assert_eq!(answer.turn().len(), 1);
}

#[test]
fn calls_of_chat_are_told_apart_without_indices() {
    let piece = |call: Value| chunk(json!({ "tool_calls": [call] }));
    let text = events(&[
        piece(json!({ "id": "a", "function": { "name": "one", "arguments": "{" } })),
        piece(json!({ "function": { "arguments": "}" } })),
        piece(json!({ "id": "b", "function": { "name": "two", "arguments": "{}" } })),
    ]);
    let calls = stream(Api::Chat, &text).reply.calls;
    let read: Vec<_> =
        calls.iter().map(|call| (call.id.expose(), call.name.expose(), call.arguments.expose())).collect();
    assert_eq!(read, [("a", "one", "{}"), ("b", "two", "{}")]);
}

#[test]
fn indices_in_the_air_take_no_memory() {
    let call = chunk(json!({ "tool_calls": [{ "index": 4_000_000_000_u64, "id": "x" }] }));
    let choice = json!({ "choices": [{ "index": 9_000_000_u64, "delta": { "content": "x" } }] });
    for event in [call, choice] {
        let answer = stream(Api::Chat, &events(&[event]));
        assert!(answer.reply.calls.is_empty() && answer.is_odd);
    }
    let item = json!({ "type": "response.output_item.added", "output_index": 0, "item": { "type": "message", "role": "assistant" } });
    let far = json!({ "type": "response.output_text.delta", "output_index": 0, "content_index": 1_000_000, "delta": "x" });
    let answer = stream(Api::Responses, &events(&[item, far]));
    assert_eq!(answer.json()["output"][0]["content"], json!([]));
    let start = json!({ "type": "content_block_start", "index": 7, "content_block": { "type": "text", "text": "x" } });
    let answer = stream(
        Api::Messages,
        &events(&[json!({ "type": "message_start", "message": { "id": "m" } }), start]),
    );
    assert!(answer.is_odd);
}

#[test]
fn an_unknown_event_says_nothing() {
    let start = json!({ "type": "message_start", "message": { "id": "m", "content": [] } });
    let text = events(&[start, json!({ "type": "word-of-the-upstream" })]);
    let answer = stream(Api::Messages, &text);
    assert!(!answer.json().to_string().contains("word-of") && answer.reply == Reply::default());
}

#[test]
fn a_turn_keeps_what_the_provider_signed() {
    let content = json!([
        { "type": "thinking", "thinking": "so", "signature": "c2ln" },
        { "type": "redacted_thinking", "data": "eA" },
        { "type": "tool_use", "id": "t", "name": "read", "input": { "path": "a" } },
    ]);
    let answer = whole(Api::Messages, &json!({ "id": "m", "content": content, "stop_reason": "tool_use" }));
    assert_eq!(answer.turn(), [json!({ "role": "assistant", "content": content })]);
    let text: String = answer_events(Api::Messages, &answer.json(), false)
        .unwrap()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(stream(Api::Messages, &text).turn(), answer.turn());
}

#[test]
fn a_refusal_is_said_in_each_api() {
    let refusal =
        json!({ "choices": [{ "message": { "refusal": "I will not." }, "finish_reason": "stop" }] });
    let answer = whole(Api::Chat, &refusal);
    assert_eq!((answer.reply.content.expose(), answer.reply.finish), ("I will not.", Some(Finish::Refusal)));
    for api in [Api::Chat, Api::Responses, Api::Messages] {
        let again = whole(api, &write_answer(api, &answer.reply, &answer.head)).reply;
        assert_eq!(
            (again.content, again.finish),
            (answer.reply.content.clone(), Some(Finish::Refusal)),
            "{api:?}"
        );
    }
}

#[test]
fn a_prompt_that_gemini_refuses_is_filtered() {
    let blocked = json!({ "promptFeedback": { "blockReason": "SAFETY" } });
    assert_eq!(whole(Api::Gemini, &blocked).reply.finish, Some(Finish::Filtered));
    assert_eq!(answer_events(Api::Gemini, &blocked, false).map(|events| events.len()), Some(1));
    assert_eq!(stream(Api::Gemini, &events(&[blocked])).reply.finish, Some(Finish::Filtered));
}

#[test]
fn gemini_streams_an_array_without_sse() {
    let piece = |text: &str, more: Value| {
        let mut candidate = json!({ "content": { "parts": [{ "text": text }] } });
        candidate.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({ "candidates": [candidate] })
    };
    let pieces = json!([piece("a", json!({})), piece("b", json!({ "finishReason": "STOP" }))]);
    let answer = whole(Api::Gemini, &pieces);
    assert_eq!((answer.reply.content.expose(), answer.reply.finish), ("ab", Some(Finish::Stop)));
}

#[test]
fn costs_come_only_to_those_who_ask() {
    let json = json!({ "choices": [{ "index": 0, "message": { "content": "a" }, "finish_reason": "stop" }],
        "usage": { "prompt_tokens": 1, "completion_tokens": 2 } });
    let asked = answer_events(Api::Chat, &json, true).unwrap();
    let plain = answer_events(Api::Chat, &json, false).unwrap();
    assert_eq!(asked.len(), plain.len() + 1);
    assert!(plain.iter().all(|event| !event.to_string().contains("usage")));
    assert_eq!(plain.last().unwrap().to_string(), "data: [DONE]\n\n");
}

#[test]
fn reasoning_in_many_parts_keeps_its_paragraphs() {
    let item = json!({ "type": "reasoning", "id": "r", "summary": [
        { "type": "summary_text", "text": "**One**" }, { "type": "summary_text", "text": "**Two**" }] });
    let answer = whole(Api::Responses, &json!({ "id": "x", "status": "completed", "output": [item] }));
    assert_eq!(answer.reply.reasoning.expose(), "**One**\n\n**Two**");
    let text: String = answer_events(Api::Responses, &answer.json(), false)
        .unwrap()
        .iter()
        .map(ToString::to_string)
        .collect();
    let mut reader = Reader::stream(Api::Responses, AnswerLimits::default());
    let deltas = reader.push(text.as_bytes()).unwrap();
    assert_eq!(deltas.iter().filter(|delta| matches!(delta, Delta::Reasoning(_))).count(), 3);
    assert_eq!(reader.finish().unwrap().reply, answer.reply);
}

#[test]
fn calls_that_are_no_objects_are_no_calls() {
    let json = json!({ "choices": [{ "message": { "tool_calls": ["x", null, 1] }, "finish_reason": "tool_calls" }] });
    assert!(whole(Api::Chat, &json).reply.calls.is_empty());
    let text: String =
        answer_events(Api::Chat, &json, false).unwrap().iter().map(ToString::to_string).collect();
    assert!(stream(Api::Chat, &text).reply.calls.is_empty());
}

#[test]
fn counts_beyond_reason_are_the_largest() {
    let many = u64::MAX;
    let usage = json!({ "prompt_tokens": many, "completion_tokens": many, "input_tokens": many, "output_tokens": many,
        "cache_read_input_tokens": many, "promptTokenCount": many, "candidatesTokenCount": many, "thoughtsTokenCount": many });
    let choices = json!([{ "message": {} }]);
    let mut json = json!({ "choices": choices, "output": [], "content": [], "candidates": [], "usage": usage, "usageMetadata": usage });
    json["response"] = json.clone();
    for &api in Api::ALL {
        let reply = whole(api, &json).reply;
        assert_eq!(reply.usage.map(|usage| usage.input), Some(many), "{api:?}");
        for &other in Api::ALL {
            let _ = write_answer(other, &reply, &Default::default());
        }
    }
}

#[test]
fn a_call_beside_a_broken_character_is_read() {
    let call = json!({ "index": 0, "id": "c", "function": { "name": "rm", "arguments": "{}" } });
    let chunk = chunk(json!({ "tool_calls": [call], "content": "HALF" })).to_string();
    for half in ["\\ud83d".as_bytes(), b"\xff"] {
        let (before, after) = chunk.split_once("HALF").unwrap();
        let event = [b"data: ", before.as_bytes(), half, after.as_bytes(), b"\n\n"].concat();
        let mut reader = Reader::stream(Api::Chat, AnswerLimits::default());
        reader.push(&event).unwrap();
        let answer = reader.finish().unwrap();
        assert_eq!(answer.reply.calls[0].name.expose(), "rm");
        assert_eq!(answer.reply.content.expose(), "\u{fffd}");
        assert_eq!(answer.is_odd, half == b"\xff", "some clients give up at such bytes");
    }
}
