//! Tool calls of answers that wait, over synthetic and every recorded stream.

use leafgate_answer::{
    Account, Answer, AnswerError, AnswerLimits, Api, Call, CallError, CallKind, Finish, Gathered, Gathering,
    Hearing, Holding, Reader, Reply, RunKind, StreamStep, TextRun, answer_events, write_answer,
};
use leafgate_harness::recordings;
use serde_json::{Value, json};

const FOLDERS: [(&str, Api); 6] = [
    ("openai-chat", Api::Chat),
    ("copilot-capi-sse", Api::Chat),
    ("openai-responses", Api::Responses),
    ("anthropic-messages", Api::Messages),
    ("gemini", Api::Gemini),
    ("code-assist", Api::CodeAssist),
];

/// What went on of a stream event by event, which events waited, and all of those.
type Held = (Vec<u8>, Vec<bool>, Option<Gathered>);

fn held_as(api: Api, stream: &[u8], holding: Holding) -> Result<Held, AnswerError> {
    let mut hearing = Hearing::new(Account::new(api, false), usize::MAX);
    let mut calls = Gathering::new(api, Some(holding));
    let (mut passed, mut waits, mut event) = (Vec::new(), Vec::new(), Vec::new());
    let mut steps = hearing.push(stream.to_vec().into());
    steps.extend(hearing.finish());
    for (bytes, step) in steps {
        event.extend(bytes);
        drop(calls.take(&step, hearing.account()));
        match step {
            StreamStep::Within => continue,
            StreamStep::Event(_) | StreamStep::End(Some(_)) => waits.push(calls.holds()),
            StreamStep::Feed
            | StreamStep::Comment
            | StreamStep::End(None)
            | StreamStep::Done
            | StreamStep::Odd => {}
        }
        if calls.is_odd() {
            return Err(AnswerError::Unclear);
        }
        let event = std::mem::take(&mut event);
        passed.extend(if calls.holds() { Vec::new() } else { event });
    }
    let held = calls.holds().then(|| calls.finish(hearing.account())).transpose()?;
    if held.as_ref().is_some_and(|held| held.answer.is_odd) {
        return Err(AnswerError::Unclear);
    }
    Ok((passed, waits, held))
}

/// What went on of a stream, and what waited.
fn hold(api: Api, stream: &[u8]) -> Result<(Vec<u8>, Option<Gathered>), AnswerError> {
    held_as(api, stream, Holding::Calls).map(|(passed, _, held)| (passed, held))
}

fn read(api: Api, stream: &[u8]) -> Answer {
    let mut reader = Reader::stream(api, AnswerLimits::default());
    reader.push(stream).unwrap();
    reader.finish().unwrap()
}

/// What a client reads of a stream whose held part was changed.
fn client(api: Api, passed: &[u8], held: &Gathered, changed: &Value) -> Answer {
    let mut stream = passed.to_vec();
    for event in held.rest(changed).unwrap() {
        stream.extend(event.to_string().into_bytes());
    }
    read(api, &stream)
}

fn reply() -> Reply {
    let call = |id: &str, path: &str| Call {
        id: id.into(),
        name: "read_file".into(),
        arguments: json!({ "path": path }).to_string().into(),
        kind: CallKind::Function,
    };
    Reply {
        content: "I look into it".into(),
        calls: vec![call("call_1", "a.md"), call("call_2", "b.md")],
        finish: Some(Finish::Calls),
        ..Reply::default()
    }
}

fn whole(api: Api) -> Value {
    let head = leafgate_answer::Head { id: "r1".into(), model: "m".into(), ..Default::default() };
    write_answer(api, &reply(), &head)
}

fn answer(api: Api, whole: &Value) -> Answer {
    Answer::read(api, whole.to_string().into()).and_then(Answer::sound).unwrap()
}

fn calls_of(api: Api, whole: &Value) -> Vec<Call> {
    answer(api, whole).calls().to_vec()
}

fn stream_of(api: Api, whole: &Value) -> Vec<u8> {
    answer_events(api, whole, false).unwrap().iter().map(ToString::to_string).collect::<String>().into_bytes()
}

#[test]
fn every_recorded_stream_passes_up_to_its_first_call_and_is_whole_again_with_the_rest() {
    let (mut held_streams, mut passed_streams) = (0, 0);
    for (folder, api) in FOLDERS {
        // Documentation shows a stream with an ellipsis in the place of most of its events: clients read no such thing.
        let files = recordings::read(folder, ".sse").into_iter();
        for file in files.filter(|file| !file.name.contains("openapi-streaming")) {
            let full = read(api, &file.body);
            assert!(!full.is_odd, "{}", file.name);
            let (passed, held) =
                hold(api, &file.body).unwrap_or_else(|error| panic!("{}: {error}", file.name));
            assert!(file.body.starts_with(&passed), "{}", file.name);
            let Some(held) = held else {
                assert_eq!(passed, file.body, "{}", file.name);
                assert!(full.calls().is_empty(), "{}", file.name);
                passed_streams += 1;
                continue;
            };
            held_streams += 1;
            assert!(read_calls(api, &passed).is_empty(), "{}: a call passed", file.name);
            assert_eq!(held.answer.json(), full.json(), "{}", file.name);
            // Unchanged, in a form of our own.
            let again = client(api, &passed, &held, &held.answer.json());
            assert_eq!(again.reply.content, full.reply.content, "{}", file.name);
            assert_eq!(again.calls(), full.calls(), "{}", file.name);
            // Refused: what was said before stays, then come our words, and the turn is over.
            let refused = held.answer.refused(&vec![true; held.answer.calls().len()], "No, thank you.");
            let refused = client(api, &passed, &held, &refused);
            assert!(refused.calls().is_empty(), "{}", file.name);
            assert!(refused.reply.content.expose().ends_with("No, thank you."), "{}", file.name);
            assert_eq!(refused.reply.finish, Some(Finish::Stop), "{}", file.name);
        }
    }
    let least = if recordings::fixtures().is_some() { 3 } else { 2 };
    assert!(held_streams >= least && passed_streams >= 2, "{held_streams} held, {passed_streams} passed");
}

fn read_calls(api: Api, stream: &[u8]) -> Vec<Call> {
    let mut reader = Reader::stream(api, AnswerLimits::default());
    reader.push(stream).unwrap();
    reader.finish().map(|answer| answer.calls().to_vec()).unwrap_or_default()
}

#[test]
fn arguments_are_changed_in_every_api_whole_and_as_a_stream() {
    for &api in Api::ALL {
        let whole = whole(api);
        let mut calls = calls_of(api, &whole);
        assert_eq!(calls.len(), 2, "{api:?}");
        calls[1].arguments = r#"{"path":"c.md"}"#.into();
        let changed = answer(api, &whole).changed(&[], &calls).unwrap();
        let (passed, held) = hold(api, &stream_of(api, &whole)).unwrap();
        let said = client(api, &passed, &held.unwrap(), &changed);
        for calls in [calls_of(api, &changed), said.calls().to_vec()] {
            let paths: Vec<Value> = calls
                .iter()
                .map(|call| serde_json::from_str::<Value>(call.arguments.expose()).unwrap()["path"].clone())
                .collect();
            assert_eq!(paths, ["a.md", "c.md"], "{api:?}");
        }
        assert_eq!(said.reply.content.expose(), "I look into it", "{api:?}");
        assert_eq!(said.reply.finish, Some(Finish::Calls), "{api:?}");
    }
}

#[test]
fn what_is_no_call_of_the_answer_is_not_written() {
    for &api in Api::ALL {
        let before = whole(api);
        let calls = calls_of(api, &before);
        let answer = answer(api, &before);
        let mut no_json = calls.clone();
        no_json[0].arguments = "rm -rf".into();
        assert_eq!(answer.changed(&[], &no_json), Err(CallError::Arguments { at: 0 }), "{api:?}");
        assert_eq!(answer.changed(&[], &calls[1..]), Err(CallError::Count { had: 2, given: 1 }), "{api:?}");
        let mut other = calls.clone();
        other[1].id = "call_9".into();
        assert_eq!(answer.changed(&[], &other), Err(CallError::Fixed { at: 1 }), "{api:?}");
    }
}

#[test]
fn a_part_of_a_stream_that_is_no_event_is_an_error() {
    for &api in Api::ALL {
        let mut stream = stream_of(api, &whole(api));
        stream.splice(0..0, *b"data: {\"choices\": oops}\n\n");
        assert_eq!(hold(api, &stream).unwrap_err(), AnswerError::Unclear, "{api:?}");
    }
}

#[test]
fn calls_of_every_choice_and_of_every_kind_of_client_tool_are_calls() {
    let second = json!({ "choices": [
        { "index": 0, "message": { "content": "a" } },
        { "index": 1, "message": { "tool_calls": [{ "id": "x", "function": { "name": "rm", "arguments": "{}" } }] } },
    ]});
    assert_eq!(calls_of(Api::Chat, &second)[0].name.expose(), "rm");
    let old = json!({ "choices": [{ "message": { "function_call": { "name": "rm", "arguments": "{}" } } }] });
    assert_eq!(calls_of(Api::Chat, &old)[0].name.expose(), "rm");
    let items = json!({ "output": [
        { "type": "web_search_call", "id": "w" },
        { "type": "local_shell_call", "call_id": "l", "action": { "command": ["ls"] } },
        { "type": "custom_tool_call", "call_id": "c", "name": "apply_patch", "input": "*** Begin" },
        { "type": "teleport_call", "call_id": "t", "to": "there" },
    ]});
    let calls = calls_of(Api::Responses, &items);
    let names: Vec<&str> = calls.iter().map(|call| call.name.expose()).collect();
    assert_eq!(names, ["local_shell_call", "apply_patch", "unknown-tool"]);
    assert_eq!(
        calls.iter().map(|call| call.kind == CallKind::Function).collect::<Vec<_>>(),
        [true, false, true]
    );
}

#[test]
fn a_stream_that_waits_from_its_beginning_is_told_anew() {
    for &api in Api::ALL {
        let whole = whole(api);
        let (passed, waits, held) = held_as(api, &stream_of(api, &whole), Holding::All).unwrap();
        assert!(passed.is_empty() && waits.iter().all(|waits| *waits));
        let held = held.unwrap();
        let texts = held.texts(|_| String::new());
        let [TextRun { kind: RunKind::Said, texts, .. }] = &texts[..] else { panic!("{api:?} {texts:?}") };
        let [(leaf, 0)] = texts[..] else { panic!("{api:?} {texts:?}") };
        let other = [(leaf, "Something else".to_owned())];
        let changed = held.answer.changed(&other, held.answer.calls()).unwrap();
        let said = client(api, b"", &held, &changed);
        assert_eq!(said.reply.content.expose(), "Something else", "{api:?}");
        assert_eq!(said.calls().len(), 2, "{api:?}");
    }
}

// S3-21
#[test]
fn some_calls_are_refused_and_the_others_stay() {
    for &api in Api::ALL {
        let stream = stream_of(api, &whole(api));
        let (passed, held) = hold(api, &stream).unwrap();
        let held = held.unwrap();
        for refused in [[true, false], [false, true]] {
            let calls = calls_of(api, &whole(api));
            let changed = held.answer.refused(&refused, "No, thank you.");
            let left: Vec<Call> = calls
                .into_iter()
                .zip(refused)
                .filter(|(_, refused)| !refused)
                .map(|(call, _)| call)
                .collect();
            assert_eq!(calls_of(api, &changed), left, "{api:?} {refused:?}");
            let answer = client(api, &passed, &held, &changed);
            assert_eq!(answer.calls(), left, "{api:?} {refused:?}");
            let said = answer.reply.content.expose();
            assert!(said.starts_with("I look into it") && said.contains("No, thank you."), "{api:?}: {said}");
            assert_eq!(answer.reply.finish, Some(Finish::Calls), "{api:?}");
        }
    }
}

/// All choices count, and each in which something is refused says so.
#[test]
fn calls_of_several_choices_are_refused_by_their_number() {
    let call =
        |id: &str| json!({ "id": id, "type": "function", "function": { "name": "f", "arguments": "{}" } });
    let choice = |index: u8, calls: Value| {
        json!({ "index": index, "finish_reason": "tool_calls",
            "message": { "role": "assistant", "content": null, "tool_calls": calls } })
    };
    let whole = json!({ "id": "a", "object": "chat.completion", "choices": [
        choice(0, json!([call("1"), call("2")])), choice(1, json!([call("3")])),
    ] });
    let whole = answer(Api::Chat, &whole).refused(&[false, true, true], "No.");
    let first = json!({ "role": "assistant", "content": "No.", "tool_calls": [call("1")] });
    assert_eq!(whole["choices"][0]["message"], first);
    assert_eq!(whole["choices"][0]["finish_reason"], "tool_calls");
    assert_eq!(whole["choices"][1]["message"], json!({ "role": "assistant", "content": "No." }));
    assert_eq!(whole["choices"][1]["finish_reason"], "stop");
}

/// What waits of a stream whose texts rules read while they come.
fn unspoken(api: Api, events: &[Value]) -> Vec<bool> {
    let event = |event: &Value| match event["type"].as_str() {
        Some(kind) => format!("event: {kind}\ndata: {event}\n\n"),
        None => format!("data: {event}\n\n"),
    };
    let stream: String = events.iter().map(event).collect();
    held_as(api, stream.as_bytes(), Holding::Unspoken).unwrap().1
}

#[test]
fn a_stream_waits_from_where_not_the_model_speaks() {
    let (passes, waits) = (false, true);
    let delta = |delta: Value| json!({ "choices": [{ "index": 0, "delta": delta }] });
    let chat = [
        delta(json!({ "role": "assistant", "content": "Hi", "annotations": [{ "title": "A" }] })),
        delta(json!({ "reasoning_text": "Hm" })),
        delta(json!({ "content": " you" })),
    ];
    assert_eq!(unspoken(Api::Chat, &chat), [passes, waits, waits]);
    let parts = delta(json!({ "content": [{ "type": "text", "text": "Hi" }] }));
    assert_eq!(unspoken(Api::Chat, &[parts]), [waits], "nobody reads these in pieces");
    let start = |at: usize, block: Value| json!({ "type": "content_block_start", "index": at, "content_block": block });
    let messages = [
        json!({ "type": "message_start", "message": { "id": "a", "role": "assistant", "content": [] } }),
        start(0, json!({ "type": "text", "text": "" })),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": "Hi" } }),
        json!({ "type": "content_block_stop", "index": 0 }),
        start(1, json!({ "type": "a_block_of_tomorrow", "words": "Hi" })),
        json!({ "type": "content_block_stop", "index": 1 }),
    ];
    assert_eq!(unspoken(Api::Messages, &messages), [passes, passes, passes, passes, waits, waits]);
    // What is no beginning of a block is none to any client, and a text waits from its own beginning on.
    let mut stray = messages.clone();
    stray[2]["content_block"] = stray[4]["content_block"].clone();
    assert_eq!(unspoken(Api::Messages, &stray[..4]), [passes; 4]);
    let item = |item: Value| json!({ "type": "response.output_item.added", "output_index": 0, "item": item });
    let reasons = item(json!({ "type": "reasoning", "id": "r", "summary": [] }));
    let searches = item(json!({ "type": "web_search_call", "id": "w", "status": "in_progress" }));
    assert_eq!(unspoken(Api::Responses, &[reasons]), [passes]);
    assert_eq!(unspoken(Api::Responses, &[searches]), [waits]);
}

/// A client may run the calls of any choice: one that is not kept must not pass unread.
#[test]
fn a_choice_beyond_those_that_are_kept_is_unclear() {
    let call =
        json!({ "index": 0, "id": "c", "type": "function", "function": { "name": "f", "arguments": "{}" } });
    let event = json!({ "choices": [{ "index": 100_000, "delta": { "tool_calls": [call] } }] });
    assert!(matches!(hold(Api::Chat, format!("data: {event}\n\n").as_bytes()), Err(AnswerError::Unclear)));
}

#[test]
fn probabilities_within_probabilities_are_left_out_once() {
    let answer = |probabilities: Value| {
        let said = json!({ "choices": [{ "index": 0, "message": { "role": "assistant", "content": "Hi" }, "logprobs": probabilities }] });
        Answer::read(Api::Chat, said.to_string().into()).unwrap().values()
    };
    let nested = json!({ "logprobs": { "logprobs": vec![1; 100] } });
    assert_eq!(answer(nested), answer(json!({ "content": [1] })));
}
