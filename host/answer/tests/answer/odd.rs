//! Answers that clients read in different ways, and what real servers write that all of them read alike.

use std::time::{Duration, Instant};

use leafgate_answer::{Answer, AnswerError, AnswerLimits, Api, Call, Reader};
use serde_json::{Value, json};

/// The calls of a whole answer, as they are judged.
fn whole(api: Api, body: &str) -> Result<Vec<Call>, AnswerError> {
    let answer = Answer::read(api, body.to_owned().into()).and_then(Answer::sound);
    answer.map(|answer| answer.calls().to_vec())
}

/// The calls of a stream, as they are judged.
fn stream(api: Api, body: &str) -> Result<Vec<Call>, AnswerError> {
    let mut reader = Reader::stream(api, AnswerLimits { bytes: usize::MAX, values: usize::MAX });
    reader.push(body.as_bytes())?;
    reader.finish().and_then(Answer::sound).map(|answer| answer.calls().to_vec())
}

/// Events as servers send them: with their type as their name, where they have one.
fn events(events: &[Value]) -> String {
    let event = |data: &Value| match data["type"].as_str() {
        Some(kind) => format!("event: {kind}\ndata: {data}\n\n"),
        None => format!("data: {data}\n\n"),
    };
    events.iter().map(event).collect()
}

fn chunk(delta: Value) -> Value {
    json!({ "id": "c", "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] })
}

fn chunks(calls: &[Value]) -> String {
    let chunks = calls.iter().map(|call| chunk(json!({ "tool_calls": [call] })));
    events(
        &chunks
            .chain([json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "tool_calls" }] })])
            .collect::<Vec<_>>(),
    )
}

fn completion(message: Value) -> String {
    json!({ "choices": [{ "index": 0, "message": message, "finish_reason": "tool_calls" }] }).to_string()
}

fn function(name: &str) -> Value {
    json!({ "name": name, "arguments": "{\"command\":\"ls\"}" })
}

fn item(kind: &str, at: usize, item: &Value) -> Value {
    json!({ "type": format!("response.output_item.{kind}"), "output_index": at, "item": item })
}

fn completed(output: Value) -> Value {
    json!({ "type": "response.completed", "response": { "id": "r", "status": "completed", "output": output } })
}

fn asked(arguments: &str) -> Value {
    json!({ "type": "function_call", "id": "fc", "call_id": "c1", "name": "Bash", "arguments": arguments })
}

fn shell(command: &str) -> Value {
    json!({ "type": "local_shell_call", "id": "s", "call_id": "c1", "status": "completed",
        "action": { "type": "exec", "command": [command] } })
}

fn message(text: &str) -> Value {
    json!({ "type": "message", "id": "m", "role": "assistant", "content": [{ "type": "output_text", "text": text }] })
}

fn blocks(blocks: &[(usize, Value)], more: &[Value]) -> String {
    let mut all = vec![
        json!({ "type": "message_start", "message": { "id": "m", "role": "assistant", "content": [] } }),
    ];
    for (at, block) in blocks {
        all.push(json!({ "type": "content_block_start", "index": at, "content_block": block }));
        all.push(json!({ "type": "content_block_stop", "index": at }));
    }
    all.extend_from_slice(more);
    all.push(json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" } }));
    all.push(json!({ "type": "message_stop" }));
    events(&all)
}

fn tool_use(id: &str, name: &str) -> Value {
    json!({ "type": "tool_use", "id": id, "name": name, "input": {} })
}

fn candidate(parts: Value) -> Value {
    json!({ "candidates": [{ "index": 0, "content": { "role": "model", "parts": parts }, "finishReason": "STOP" }] })
}

/// P-01, P-10: what one client runs is what every other one runs, and what was judged.
#[test]
fn calls_that_clients_find_differently_are_odd() {
    let both =
        json!({ "id": "c1", "type": "function", "function": function("Bash"), "custom": function("ok") });
    let empty = json!({ "id": "c1", "type": "function", "function": function("Bash"), "custom": {} });
    let renamed = |mut item: Value| {
        item["name"] = "ok".into();
        item
    };
    let twice =
        json!([{ "id": "c1", "function": function("ok") }, { "id": "c1", "function": function("Bash") }]);
    for (what, answer) in [
        ("two variants", completion(json!({ "tool_calls": [both] }))),
        ("an empty variant", completion(json!({ "tool_calls": [empty] }))),
        (
            "another type",
            completion(
                json!({ "tool_calls": [{ "id": "c", "type": "custom", "function": function("Bash") }] }),
            ),
        ),
        ("one id twice", completion(json!({ "tool_calls": twice }))),
        (
            "a delta in a whole answer",
            json!({ "choices": [{ "message": { "content": "Hi" },
            "delta": { "tool_calls": [{ "index": 0, "id": "c", "function": function("Bash") }] } }] })
            .to_string(),
        ),
        (
            "one index twice",
            json!({ "choices": [{ "index": 0, "message": {} }, { "index": 0, "message": {} }] }).to_string(),
        ),
        (
            "a key twice",
            completion(json!({ "tool_calls": [{ "id": "c", "function": function("Bash") }] }))
                .replace("\"name\":\"Bash\"", "\"name\":\"ok\",\"name\":\"Bash\""),
        ),
        ("another case", completion(json!({ "Tool_Calls": [{ "id": "c", "function": function("Bash") }] }))),
        (
            "two cases",
            completion(
                json!({ "tool_calls": [{ "id": "c", "function": function("ok"), "Function": function("Bash") }] }),
            ),
        ),
        (
            "a letter that folds",
            completion(json!({ "tool_call\u{17f}": [{ "id": "c", "function": function("Bash") }] })),
        ),
    ] {
        assert_eq!(whole(Api::Chat, &answer), Err(AnswerError::Unclear), "{what}: {answer}");
    }
    for (what, answer) in [
        ("a name on a call without one", json!({ "output": [renamed(shell("rm"))] })),
        (
            "a name on a patch",
            json!({ "output": [{ "type": "apply_patch_call", "call_id": "c", "operation": {}, "name": "ok" }] }),
        ),
        ("one id twice", json!({ "output": [asked("{}"), shell("rm")] })),
        (
            "a type in another case",
            json!({ "output": [{ "type": "Function_Call", "call_id": "c", "name": "Bash", "arguments": "{}" }] }),
        ),
    ] {
        assert_eq!(whole(Api::Responses, &answer.to_string()), Err(AnswerError::Unclear), "{what}: {answer}");
    }
    for (what, answer) in [
        ("one id twice", json!({ "content": [tool_use("t", "ok"), tool_use("t", "Bash")] }).to_string()),
        (
            "a key twice in what it is called with",
            json!({ "content": [{ "type": "tool_use", "id": "t", "name": "Bash",
            "input": { "command": "ls" } }] })
            .to_string()
            .replace("\"command\"", "\"command\":\"rm\",\"command\""),
        ),
    ] {
        assert_eq!(whole(Api::Messages, &answer), Err(AnswerError::Unclear), "{what}: {answer}");
    }
    for (what, answer) in [
        ("either name", json!([{ "functionCall": { "name": "ok" }, "function_call": { "name": "Bash" } }])),
        (
            "arguments in pieces",
            json!([{ "functionCall": { "name": "Bash", "partialArgs": [{ "jsonPath": "$.command" }] } }]),
        ),
        (
            "one id twice",
            json!([{ "functionCall": { "id": "1", "name": "a" } }, { "functionCall": { "id": "1", "name": "b" } }]),
        ),
    ] {
        let answer = candidate(answer);
        assert_eq!(whole(Api::Gemini, &answer.to_string()), Err(AnswerError::Unclear), "{what}: {answer}");
        assert_eq!(stream(Api::Gemini, &events(&[answer])), Err(AnswerError::Unclear), "{what}, as a stream");
    }
}

#[test]
fn streams_whose_events_contradict_each_other_are_odd() {
    let piece = |more: Value| {
        let mut piece = json!({ "index": 0, "id": "c1", "type": "function", "function": function("Bash") });
        piece.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        piece
    };
    let finished = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }] });
    let late = chunk(json!({ "tool_calls": [piece(json!({}))] }));
    for (what, answer) in [
        ("two variants", chunks(&[piece(json!({ "custom": function("ok") }))])),
        ("an empty variant", chunks(&[piece(json!({ "custom": {} }))])),
        ("variants in turn", chunks(&[piece(json!({})), json!({ "index": 0, "custom": { "input": "x" } })])),
        (
            "another id at its index",
            chunks(&[piece(json!({})), json!({ "index": 0, "id": "c2", "function": function("") })]),
        ),
        ("one id twice", chunks(&[piece(json!({})), piece(json!({ "index": 1 }))])),
        (
            "another name",
            chunks(&[piece(json!({})), json!({ "index": 0, "id": "c1", "function": function("ok") })]),
        ),
        (
            "its name in two pieces",
            chunks(&[piece(json!({})), json!({ "index": 0, "function": { "name": "Bash" } })]),
        ),
        (
            "arguments before a name",
            chunks(&[json!({ "index": 0, "function": { "arguments": "{}" } }), piece(json!({}))]),
        ),
        (
            "arguments of a call before the last",
            chunks(&[
                piece(json!({})),
                piece(json!({ "index": 1, "id": "c2" })),
                json!({ "index": 0, "function": { "arguments": "x" } }),
            ]),
        ),
        (
            "a second call without an id",
            chunks(&[piece(json!({})), json!({ "index": 1, "function": function("ok") })]),
        ),
        (
            "a second call without an index",
            chunks(&[piece(json!({})), json!({ "id": "c2", "function": function("ok") })]),
        ),
        (
            "a choice that nobody asked for",
            events(&[json!({ "choices": [{ "index": 1, "delta": { "tool_calls": [piece(json!({}))] } }] })]),
        ),
        ("a call behind the end", events(&[finished.clone(), late.clone()])),
        (
            "an event behind the end",
            format!("{}data: [DONE]\n\n{}", events(&[finished]), events(std::slice::from_ref(&late))),
        ),
        ("another name for an event", format!("event: error\ndata: {late}\n\n")),
        (
            "a message that says something else",
            events(&[
                chunk(json!({ "content": "Hi" })),
                json!({ "choices": [{ "index": 0, "message": { "content": "Ho" } }] }),
            ]),
        ),
    ] {
        assert_eq!(stream(Api::Chat, &answer), Err(AnswerError::Unclear), "{what}: {answer}");
    }
    let second = json!({ "type": "function_call", "call_id": "c2", "name": "ok", "arguments": "" });
    let delta = |arguments: &str| json!({ "type": "response.function_call_arguments.delta", "output_index": 0, "delta": arguments });
    let done = |arguments: &str| json!({ "type": "response.function_call_arguments.done", "output_index": 0, "arguments": arguments });
    let named = json!({ "type": "response.function_call_arguments.done", "output_index": 0, "name": "ok", "arguments": "{}" });
    let other = json!({ "type": "response.function_call_arguments.delta", "output_index": 0, "item_id": "m", "delta": "{}" });
    for (what, answer) in [
        (
            "a call that ends as a message",
            vec![item("done", 0, &asked("{}")), completed(json!([message("Hi")]))],
        ),
        (
            "a message that ends as a call",
            vec![item("done", 0, &message("Hi")), completed(json!([asked("{}")]))],
        ),
        (
            "two ends of one item",
            vec![
                item("done", 0, &shell("rm")),
                item("done", 0, &shell("rm")),
                completed(json!([shell("rm")])),
            ],
        ),
        ("two items at one place", vec![item("done", 0, &shell("rm")), item("done", 0, &shell("ls"))]),
        ("another action", vec![item("done", 0, &shell("rm")), completed(json!([shell("ls")]))]),
        (
            "other arguments",
            vec![item("added", 0, &asked("")), delta("{\"a\":1}"), item("done", 0, &asked("{\"a\":2}"))],
        ),
        (
            "other arguments at their end",
            vec![item("added", 0, &asked("")), delta("{}"), done("{\"a\":2}"), item("done", 0, &asked("{}"))],
        ),
        (
            "other arguments in the response",
            vec![item("done", 0, &asked("{}")), completed(json!([asked("{\"a\":2}")]))],
        ),
        (
            "no arguments at the end",
            vec![item("added", 0, &asked("")), delta("{\"a\":1}"), item("done", 0, &asked(""))],
        ),
        ("another name at their end", vec![item("added", 0, &asked("")), delta("{}"), named]),
        (
            "fewer items",
            vec![
                item("done", 0, &message("Hi")),
                item("done", 1, &asked("{}")),
                completed(json!([message("Hi")])),
            ],
        ),
        ("an item behind the end", vec![completed(json!([])), item("done", 0, &asked("{}"))]),
        ("the id of another item", vec![item("added", 0, &asked("")), item("added", 1, &message("")), other]),
        ("arguments of no call", vec![delta("{}")]),
        (
            "arguments of a call before the last",
            vec![item("added", 0, &asked("")), item("added", 1, &second), delta("{\"a\":1}")],
        ),
        (
            "arguments at the end alone",
            vec![item("added", 0, &asked("")), item("done", 0, &asked("{\"a\":1}"))],
        ),
        (
            "a message that begins with a text",
            vec![
                item("added", 0, &message("Hi")),
                json!({ "type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "Ho" }),
                item("done", 1, &asked("{}")),
            ],
        ),
    ] {
        assert_eq!(stream(Api::Responses, &events(&answer)), Err(AnswerError::Unclear), "{what}");
    }
    // Who reads by name has nothing of an event without one.
    let called = [item("added", 0, &asked("")), delta("{}"), done("{}"), item("done", 0, &asked("{}"))];
    let named = events(&called) + &events(&[completed(json!([asked("{}")]))]);
    assert_eq!(stream(Api::Responses, &named).unwrap().len(), 1);
    let names: Vec<&str> = named.lines().filter(|line| line.starts_with("event: ")).collect();
    let nameless = names.iter().fold(named.clone(), |all, name| all.replacen(&format!("{name}\n"), "", 1));
    assert_eq!(stream(Api::Responses, &nameless).unwrap().len(), 1);
    for name in &names[..4] {
        let answer = named.replacen(&format!("{name}\n"), "", 1);
        assert_eq!(stream(Api::Responses, &answer), Err(AnswerError::Unclear), "{name}");
    }
    let late = json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "input_json_delta", "partial_json": "{}" } });
    let called = json!({ "type": "tool_use", "id": "t", "name": "Bash", "input": { "command": "ls" } });
    let begins = json!({ "type": "content_block_start", "index": 0, "content_block": called });
    let served = json!({ "type": "server_tool_use", "id": "s", "name": "web_search", "input": {} });
    let other = json!({ "type": "content_block_start", "index": 0, "content_block": { "type": ["text"] } });
    let begun = |at: usize| json!({ "type": "content_block_start", "index": at, "content_block": { "type": "text" } });
    let said = |at: usize| json!({ "type": "content_block_delta", "index": at, "delta": { "type": "text_delta", "text": "Hi" } });
    for (what, answer) in [
        ("two blocks at one place", blocks(&[(0, tool_use("a", "Bash")), (0, tool_use("b", "Bash"))], &[])),
        (
            "a block without an index",
            blocks(&[(0, tool_use("a", "Bash")), (1, tool_use("b", "Bash"))], &[]).replacen(
                r#""index":1,"#,
                "",
                1,
            ),
        ),
        ("a gap", blocks(&[(1, tool_use("a", "Bash"))], &[])),
        (
            "more of a block that has ended",
            blocks(&[(0, tool_use("a", "Bash"))], std::slice::from_ref(&late)),
        ),
        ("arguments at once and in pieces", events(&[begins, late.clone()])),
        (
            "arguments of a block before the last, which the provider runs",
            blocks(&[(0, served), (1, tool_use("a", "Bash"))], std::slice::from_ref(&late)),
        ),
        (
            "a block that begins with a text",
            blocks(&[(0, json!({ "type": "text", "text": "Hi" })), (1, tool_use("a", "Bash"))], &[]),
        ),
        ("a text in another block", events(&[other, said(0)])),
        ("texts in turns", events(&[begun(0), begun(1), said(1), said(0)])),
        ("a block behind the end", blocks(&[], &[]) + &blocks(&[(0, tool_use("a", "Bash"))], &[])),
        (
            "an event without its name",
            blocks(&[(0, tool_use("a", "Bash"))], &[]).replace("event: content_block_start\n", ""),
        ),
        (
            "an event of another name",
            blocks(&[(0, tool_use("a", "Bash"))], &[]).replace("event: content_block_start", "event: ping"),
        ),
    ] {
        assert_eq!(stream(Api::Messages, &answer), Err(AnswerError::Unclear), "{what}: {answer}");
    }
}

/// P-01, P-26: lines that some clients read and others do not.
#[test]
fn lines_that_clients_read_differently_are_odd() {
    let call = chunk(json!({ "tool_calls": [{ "index": 0, "id": "c", "function": function("Bash") }] }));
    let said = chunk(json!({ "content": "Hi" }));
    for line in [
        format!("{call}"),
        format!(" data: {call}"),
        format!("Data: {call}"),
        format!("data : {call}"),
        format!("\u{feff}data: {call}"),
        format!("data: \u{feff}{call}"),
        format!(": x\u{b}data: {call}"),
        format!(": x\u{c}data: {call}"),
        format!(": x\u{85}data: {call}"),
        format!(": x\u{2028}data: {call}"),
        format!("id: 1\u{2029}data: {call}"),
        format!(": x\rdata: {call}"),
        format!("data: {said}\ndata: {call}"),
        format!("data: {{\ndata: {call}\ndata: }}"),
        format!("data: [DONE] \ndata: {call}"),
        format!("data: [{call}]"),
        format!("event: a\nevent: b\ndata: {call}"),
        format!("data: {call}\nevent: ping"),
        format!("data\nevent: message\ndata: {call}"),
        format!("data:\ndata: {call}"),
        format!("data: {call}\ndata:"),
    ] {
        let stream_of = format!("data: {said}\n\n{line}\n\n");
        assert_eq!(stream(Api::Chat, &stream_of), Err(AnswerError::Unclear), "{line:?}");
    }
}

/// A null is no member to every client; what says nothing contradicts nothing.
/// What a stream is put together to says what its events said: rules read the one, clients the others.
#[test]
fn a_text_that_is_lost_on_the_way_together_is_odd() {
    let forms = [
        [json!("heron"), json!(["bird"]), json!("sings")],
        [json!("heron"), json!([{ "type": "text", "text": "" }]), json!("sings")],
        [json!("heron"), json!({}), json!("sings")],
        [json!("heron"), json!(1), json!("sings")],
    ];
    for contents in forms {
        let said = contents.map(|content| chunk(json!({ "content": content })));
        assert_eq!(stream(Api::Chat, &events(&said)), Err(AnswerError::Unclear), "{said:?}");
    }
    // Some clients read each kind by itself.
    let resumed = [("content", "her"), ("refusal", "No"), ("content", "on")];
    let resumed = resumed.map(|(key, text)| chunk(json!({ key: text })));
    assert_eq!(stream(Api::Chat, &events(&resumed)), Err(AnswerError::Unclear));
    let parts =
        ["heron", "sings"].map(|text| chunk(json!({ "content": [{ "type": "text", "text": text }] })));
    assert_eq!(stream(Api::Chat, &events(&parts)), Ok(Vec::new()));
}

#[test]
fn what_real_servers_write_by_accident_is_read_alike() {
    let nulls = json!({ "id": "c1", "type": "function", "index": null, "function": function("Bash"), "custom": null });
    let message = json!({ "role": "assistant", "content": null, "refusal": null, "reasoning": null, "audio": null,
        "function_call": null, "tool_calls": [nulls] });
    let names = |calls: Result<Vec<Call>, AnswerError>| -> Vec<String> {
        calls.unwrap().into_iter().map(|call| call.name.into_string()).collect()
    };
    assert_eq!(names(whole(Api::Chat, &completion(message))), ["Bash"]);
    let nothing = completion(json!({ "content": "Hi", "tool_calls": null, "function_call": null }));
    assert_eq!(whole(Api::Chat, &nothing), Ok(Vec::new()));
    // Two calls without ids are told apart by their places.
    let no_ids = json!([{ "id": "", "function": function("a") }, { "id": "", "function": function("b") }]);
    assert_eq!(names(whole(Api::Chat, &completion(json!({ "tool_calls": no_ids })))), ["a", "b"]);
    let pieces = [
        json!({ "index": 0, "id": "c1", "type": "function", "function": { "name": "Bash", "arguments": "" }, "custom": null }),
        json!({ "index": 0, "id": null, "type": null, "function": { "name": null, "arguments": "{}" }, "custom": null }),
        json!({ "index": 0, "id": "c1", "function": { "arguments": "" } }),
    ];
    assert_eq!(names(stream(Api::Chat, &chunks(&pieces))), ["Bash"]);
    // The last chunk may say all of it again, and why it ended; some call their events messages.
    let again = json!({ "choices": [{ "index": 0, "delta": null, "message": { "content": "Hi" }, "finish_reason": "stop" }] });
    let text = events(&[chunk(json!({ "content": "Hi" })), again.clone(), again])
        + "event: message\ndata: {\"choices\":[]}\n\n";
    assert_eq!(stream(Api::Chat, &text), Ok(Vec::new()));
    let quiet = [
        item("added", 0, &asked("")),
        json!({ "type": "response.function_call_arguments.delta", "output_index": 0, "delta": "{\"a\":1}" }),
        item("done", 0, &asked("{\"a\":1}")),
        completed(json!([])),
    ];
    assert_eq!(names(stream(Api::Responses, &events(&quiet))), ["Bash"]);
    let shells = [
        item(
            "added",
            0,
            &json!({ "type": "local_shell_call", "call_id": "c1", "action": { "command": [] } }),
        ),
        item("done", 0, &shell("ls")),
        completed(json!([shell("ls")])),
    ];
    assert_eq!(names(stream(Api::Responses, &events(&shells))), ["local_shell_call"]);
    let served = json!({ "type": "server_tool_use", "id": "s", "name": "web_search", "input": {} });
    assert_eq!(stream(Api::Messages, &blocks(&[(0, served)], &[])), Ok(Vec::new()));
    assert_eq!(names(stream(Api::Messages, &blocks(&[(0, tool_use("t", "Bash"))], &[]))), ["Bash"]);
    let signed =
        candidate(json!([{ "functionCall": { "name": "Bash", "args": {} }, "thoughtSignature": "s" }]));
    assert_eq!(names(whole(Api::Gemini, &signed.to_string())), ["Bash"]);
}

/// P-12: whoever judges an answer pays for each of its texts.
#[test]
fn an_answer_has_no_more_texts_than_anybody_says() {
    let blocks = |count: usize| {
        let block = json!({ "type": "text", "text": "a" });
        json!({ "type": "message", "role": "assistant", "content": vec![block; count] }).to_string()
    };
    assert_eq!(whole(Api::Messages, &blocks(1_000)), Ok(Vec::new()));
    assert_eq!(whole(Api::Messages, &blocks(160_000)), Err(AnswerError::Unclear));
}

/// P-12: each choice with each call would be a billion.
#[test]
fn the_calls_of_many_choices_are_refused_in_one_pass() {
    let calls = json!([{ "id": "c", "type": "function", "function": function("run") }]);
    let choice =
        |at: usize| json!({ "index": at, "message": { "tool_calls": calls }, "finish_reason": "tool_calls" });
    let choices: Vec<Value> = (0..30_000).map(choice).collect();
    let answer = Answer::read(Api::Chat, json!({ "choices": choices }).to_string().into()).unwrap();
    let refused: Vec<bool> = (0..30_000).map(|at| at % 2 == 0).collect();
    let begun = Instant::now();
    let left = answer.refused(&refused, "no");
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    assert_eq!(
        left["choices"][0],
        json!({ "index": 0, "message": { "content": "no" }, "finish_reason": "stop" })
    );
    assert_eq!(left["choices"][1], choice(1));
}
