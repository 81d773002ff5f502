//! Answers that clients read in different ways: where rules or a person decide about them, nothing of them passes.

use leafgate_answer::{Api, answer_events};
use serde_json::{Value, json};

use crate::pauses::answering::{self, ADDRESS, ASK, BUFFERED, LIVE, everywhere, model, request, sent};
use crate::pauses::house::{House, Reply};

/// Refuses what may reach nobody.
const CALLS: &str =
    "[[rule]]\nid = \"calls\"\non = \"tool-call\"\nmatch = { tool = \"run_hidden\" }\naction = \"block\"\n";

const OTHER: &str =
    "[[rule]]\nid = \"other\"\non = \"tool-call\"\nmatch = { tool = \"other\" }\naction = \"block\"\n";

/// What may reach nobody.
const HIDDEN: &str = "run_hidden";

fn chat(message: Value) -> String {
    json!({ "choices": [{ "index": 0, "message": message, "finish_reason": "tool_calls" }] }).to_string()
}

fn call(more: Value) -> Value {
    let mut call = json!({ "index": 0, "id": "c", "type": "function",
        "function": { "name": HIDDEN, "arguments": "{\"command\":\"rm\"}" } });
    call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    call
}

fn event(data: &Value) -> String {
    match data["type"].as_str() {
        Some(kind) => format!("event: {kind}\ndata: {data}\n\n"),
        None => format!("data: {data}\n\n"),
    }
}

fn chunk(delta: Value) -> String {
    event(&json!({ "choices": [{ "index": 0, "delta": delta }] }))
}

fn done(at: usize, item: &Value) -> String {
    event(&json!({ "type": "response.output_item.done", "output_index": at, "item": item }))
}

fn completed(output: Value) -> String {
    event(
        &json!({ "type": "response.completed", "response": { "id": "r", "status": "completed", "output": output } }),
    )
}

async fn told(rules: &str, api: Api, stream: bool, sent: &str) -> String {
    answering::told(rules, api, stream, sent).await.text().to_owned()
}

/// P-01, P-10, P-14, P-26: each of these was read by some client as a call that was not judged.
#[tokio::test]
async fn what_clients_read_differently_reaches_none() {
    let shell = |command: &str| json!({ "type": "local_shell_call", "call_id": "c", "action": { "command": [command] } });
    let renamed = json!({ "type": "local_shell_call", "call_id": "c", "name": HIDDEN, "action": { "command": [HIDDEN] } });
    let message = json!({ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "Hi" }] });
    let plain = chunk(json!({ "content": "Hi" }));
    let hidden = chunk(json!({ "tool_calls": [call(json!({}))] }));
    let cases = [
        (Api::Chat, false, chat(json!({ "tool_calls": [call(json!({ "custom": {} }))] }))),
        (Api::Chat, false, chat(json!({ "Tool_Calls": [call(json!({}))] }))),
        (Api::Chat, false, chat(json!({ "Content": HIDDEN }))),
        (Api::Chat, true, chunk(json!({ "tool_calls": [call(json!({ "custom": {} }))] }))),
        (Api::Chat, true, chunk(json!({ "Content": HIDDEN }))),
        (Api::Chat, true, hidden.replacen("data:", "Data:", 1)),
        (Api::Chat, true, hidden.replacen("data:", " data:", 1)),
        (Api::Chat, true, hidden.replacen("data: ", "", 1)),
        (Api::Chat, true, format!("{plain}\u{feff}{hidden}")),
        (Api::Chat, true, format!("{plain}: x\u{85}{hidden}")),
        (Api::Chat, true, format!("{plain}: x\u{2028}{hidden}")),
        (Api::Responses, false, json!({ "id": "r", "output": [renamed.clone()] }).to_string()),
        (Api::Responses, true, done(0, &renamed) + &completed(json!([renamed]))),
        (Api::Responses, true, done(0, &shell(HIDDEN)) + &completed(json!([message]))),
        (Api::Responses, true, done(0, &shell(HIDDEN)) + &completed(json!([shell("ls")]))),
        (Api::Responses, true, done(0, &shell(HIDDEN)) + &done(0, &shell("ls"))),
    ];
    for (api, stream, sent) in cases {
        for rules in [ASK, BUFFERED, LIVE] {
            let told = told(rules, api, stream, &sent).await;
            assert!(told.contains("clients may read"), "{api:?} {sent}\n-> {told}");
            assert!(!told.contains(HIDDEN), "{api:?} {sent}\n-> {told}");
        }
    }
}

/// A value whose objects have each member twice.
fn twice(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let member = |(key, value): (&String, &Value)| {
                let member = format!("{}:{}", json!(key), twice(value));
                format!("{member},{member}")
            };
            format!("{{{}}}", members.iter().map(member).collect::<Vec<_>>().join(","))
        }
        Value::Array(elements) => {
            format!("[{}]", elements.iter().map(twice).collect::<Vec<_>>().join(","))
        }
        value => value.to_string(),
    }
}

/// A server that ends its lines with CR, and says each key twice.
#[tokio::test]
async fn what_is_odd_in_its_spelling_alone_passes_where_rules_have_it_spelled_anew() {
    let words = model("I run it", &[("read_file", json!({ "path": "a" }))]);
    let respell = |rules: &str| rules.replace("\nmatch", "\non_odd = \"respell\"\nmatch");
    for (api, stream) in everywhere() {
        let plain = sent(api, stream, &words);
        let data = |line: &str| match line.split_once("data: ") {
            Some((_, data)) => {
                let twice = serde_json::from_str(data).map(|data: Value| twice(&data));
                format!("data: {}\r", twice.unwrap_or_else(|_| data.to_owned()))
            }
            None => format!("{line}\r"),
        };
        let odd = match stream {
            true => plain.lines().map(data).collect(),
            false => format!("\u{feff}{}", twice(&serde_json::from_str(&plain).unwrap())),
        };
        for rules in [CALLS, BUFFERED, LIVE] {
            let left = told(rules, api, stream, &odd).await;
            assert!(left.contains("clients may read"), "{api:?} {stream} {rules}\n-> {left}");
            let left = told(&respell(rules), api, stream, &odd).await;
            match stream {
                true => assert_eq!(left, plain, "{api:?} {rules}"),
                false => assert_eq!(
                    serde_json::from_str::<Value>(&left).unwrap(),
                    serde_json::from_str::<Value>(&plain).unwrap()
                ),
            }
            // All rules must say so.
            let left = told(&(respell(rules) + OTHER), api, stream, &odd).await;
            assert!(left.contains("clients may read"), "{api:?} {stream} {rules}\n-> {left}");
        }
        // What is spelled anew is judged.
        let left = told(&respell(CALLS), api, stream, &odd.replace("read_file", HIDDEN)).await;
        assert!(left.contains("did not pass this gate"), "{api:?} {stream}\n-> {left}");
    }
}

/// Servers that repeat a call's name in each chunk: libraries that join names in pieces call another tool than those that
/// take the first or the last.
#[tokio::test]
async fn a_name_that_each_chunk_repeats_is_refused_or_said_once() {
    let piece = |function: Value| {
        chunk(json!({ "tool_calls": [{ "index": 0, "id": "c", "type": "function", "function": function }] }))
    };
    let (start, rest) = ("{\"path\":", "\"a\"}");
    let odd = |first: &str, then: Value| {
        let end = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "tool_calls" }] });
        piece(json!({ "name": first, "arguments": start })) + &piece(then) + &event(&end) + "data: [DONE]\n\n"
    };
    let named = |name: &str| json!({ "name": name, "arguments": rest });
    let again = odd("read_file", named("read_file"));
    let respell = CALLS.replace("\nmatch", "\non_odd = \"respell\"\nmatch");
    let left = told(CALLS, Api::Chat, true, &again).await;
    assert!(
        left.contains("clients may read") && left.contains("on_odd") && !left.contains("read_file"),
        "{left}"
    );
    let once = odd("read_file", json!({ "arguments": rest }));
    assert_eq!(told(&respell, Api::Chat, true, &again).await, once);
    // What is said once is judged, and two names are none.
    let left = told(&respell, Api::Chat, true, &odd(HIDDEN, named(HIDDEN))).await;
    assert!(left.contains("did not pass this gate") && !left.contains("arguments"), "{left}");
    for (first, then) in [("read_file", HIDDEN), (HIDDEN, "read_file"), ("run_", "hidden")] {
        let left = told(&respell, Api::Chat, true, &odd(first, named(then))).await;
        assert!(left.contains("clients may read") && !left.contains(HIDDEN), "{left}");
    }
}

/// Servers write nulls by accident, which are nothing to every client.
#[tokio::test]
async fn a_null_changes_nothing() {
    let nulls = json!({ "role": "assistant", "content": "Hi", "refusal": null, "function_call": null, "tool_calls": null });
    let whole = chat(nulls.clone());
    let called = chat(json!({ "content": null, "tool_calls": [call(json!({ "custom": null }))] }));
    for rules in [ASK, BUFFERED, LIVE] {
        assert_eq!(told(rules, Api::Chat, false, &whole).await, whole);
        let stream = chunk(nulls.clone()) + "data: [DONE]\n\n";
        assert_eq!(told(rules, Api::Chat, true, &stream).await, stream);
    }
    assert_eq!(told(BUFFERED, Api::Chat, false, &called).await, called);
}

/// P-15: a value over two parts, blocks, items or choices is one value to whoever joins them.
#[tokio::test]
async fn a_value_over_a_border_is_found() {
    let (left, right) = ADDRESS.split_at(11);
    let text = |text: &str| json!({ "type": "text", "text": text });
    let said = |text: &str| json!({ "type": "output_text", "text": text, "annotations": [], "logprobs": [] });
    let message = |id: &str, content: Value| json!({ "type": "message", "id": id, "role": "assistant", "status": "completed", "content": content });
    let choice = |at: usize, text: &str| json!({ "index": at, "message": { "role": "assistant", "content": text }, "finish_reason": "stop" });
    let part = |text: &str| json!({ "text": text });
    let signed = |text: &str| json!({ "text": text, "thoughtSignature": "s" });
    let parts = |parts: Value| json!({ "candidates": [{ "index": 0, "content": { "role": "model", "parts": parts }, "finishReason": "STOP" }] });
    let output = |output: Value| json!({ "id": "r", "status": "completed", "output": output });
    let blocks = json!({ "id": "m", "type": "message", "role": "assistant", "content": [text(left), text(right)], "stop_reason": "end_turn" });
    let cases = [
        (Api::Chat, json!({ "choices": [choice(0, left), choice(1, right)] })),
        (
            Api::Chat,
            json!({ "choices": [{ "index": 0, "message": { "content": [text(left), text(right)] }, "finish_reason": "stop" }] }),
        ),
        (Api::Messages, blocks),
        (Api::Responses, output(json!([message("a", json!([said(left), said(right)]))]))),
        (
            Api::Responses,
            output(json!([message("a", json!([said(left)])), message("b", json!([said(right)]))])),
        ),
        (Api::Gemini, parts(json!([part(left), part(right)]))),
        // What is signed is judged, and cannot be changed.
        (Api::Gemini, parts(json!([signed(ADDRESS)]))),
    ];
    for (api, whole) in cases {
        let stream: String =
            answer_events(api, &whole, false).unwrap().iter().map(ToString::to_string).collect();
        for (rules, streams, sent) in
            [(BUFFERED, false, whole.to_string()), (BUFFERED, true, stream.clone()), (LIVE, true, stream)]
        {
            let told = told(rules, api, streams, &sent).await;
            let is_whole = told.contains(ADDRESS);
            let is_there = is_whole || told.contains(left) && told.contains(right);
            assert!(!is_there, "{api:?} {streams} {sent}\n-> {told}");
        }
    }
}

/// A stream passes up to its first call, and what comes behind that goes on with it for some clients.
#[tokio::test]
async fn a_value_over_a_call_is_found() {
    let (left, right) = ADDRESS.split_at(11);
    let gemini = |part: Value| {
        event(&json!({ "candidates": [{ "index": 0, "content": { "role": "model", "parts": [part] } }] }))
    };
    let gemini = |texts: [&str; 2], thinks: bool| {
        let text = |text: &str| {
            if thinks { json!({ "text": text, "thought": true }) } else { json!({ "text": text }) }
        };
        let call = json!({ "functionCall": { "name": "read_file", "args": {} } });
        let end = event(&json!({ "candidates": [{ "index": 0, "finishReason": "STOP" }] }));
        texts.map(|said| gemini(text(said))).join(&gemini(call)) + &end
    };
    let chat = |texts: [&str; 2], key: &str| {
        let call = chunk(
            json!({ "tool_calls": [call(json!({ "function": { "name": "read_file", "arguments": "{}" } }))] }),
        );
        let end = event(&json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "tool_calls" }] }));
        texts.map(|said| chunk(json!({ key: said }))).join(&call) + &end
    };
    // What was found before it stands in a stretch that is longer than the look-behind, and has no blank.
    let long = format!("{}else@elsewhere.net/{left}", "a/".repeat(300));
    let messages = |texts: [&str; 2]| {
        let block = |at: usize, block: Value, delta: Value| {
            [
                json!({ "type": "content_block_start", "index": at, "content_block": block }),
                json!({ "type": "content_block_delta", "index": at, "delta": delta }),
                json!({ "type": "content_block_stop", "index": at }),
            ]
        };
        let said = |at: usize, text: &str| {
            block(at, json!({ "type": "text", "text": "" }), json!({ "type": "text_delta", "text": text }))
        };
        let tool = json!({ "type": "tool_use", "id": "t", "name": "read_file", "input": {} });
        let start = json!({ "type": "message_start", "message": { "id": "m", "type": "message", "role": "assistant", "content": [] } });
        let end = json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" } });
        let call = block(1, tool, json!({ "type": "input_json_delta", "partial_json": "{}" }));
        let blocks = said(0, texts[0]).into_iter().chain(call).chain(said(2, texts[1]));
        [start]
            .into_iter()
            .chain(blocks)
            .chain([end, json!({ "type": "message_stop" })])
            .map(|data| event(&data))
            .collect::<String>()
    };
    for (api, stream) in [
        (Api::Gemini, gemini([left, right], false)),
        (Api::Gemini, gemini([left, right], true)),
        (Api::Gemini, gemini([&long, right], false)),
        (Api::Gemini, gemini([&long, right], true)),
        (Api::Chat, chat([left, right], "content")),
        (Api::Chat, chat([left, right], "reasoning_content")),
        (Api::Chat, chat([&long, right], "content")),
        (Api::Messages, messages([left, right])),
        (Api::Messages, messages([&long, right])),
    ] {
        let told = told(LIVE, api, true, &stream).await;
        assert!(!(told.contains(left) && told.contains(right)), "{api:?} {stream}\n-> {told}");
    }
    // What goes on harmlessly passes, also where something was changed before.
    for (api, stream) in [
        (Api::Gemini, gemini(["To else@elsewhere.net, ", "and others"], false)),
        (Api::Chat, chat(["To else@elsewhere.net, ", "and others"], "content")),
        (Api::Messages, messages(["To else@elsewhere.net, ", "and others"])),
    ] {
        let told = told(LIVE, api, true, &stream).await;
        let call = stream.find("read_file").unwrap();
        let behind = stream[..call].rfind("\n\n").unwrap();
        assert!(!told.contains("else@") && told.ends_with(&stream[behind..]), "{api:?} {stream}\n-> {told}");
    }
}

/// P-12: the probabilities of words are many times what is said, and take less than they seem to.
#[tokio::test]
async fn an_answer_with_the_probabilities_of_its_words_passes_under_the_default_limits() {
    let word = json!({ "token": " longer", "logprob": -12.25, "bytes": [32, 108, 111, 110, 103, 101, 114] });
    let mut top = word.clone();
    top["top_logprobs"] = vec![word; 20].into();
    let chunk = json!({ "id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m-1", "choices": [
        { "index": 0, "delta": { "content": " longer" }, "logprobs": { "content": [top.clone()] }, "finish_reason": null }] });
    let whole = json!({ "choices": [{ "index": 0, "message": { "role": "assistant", "content": " longer".repeat(4_000) },
        "logprobs": { "content": vec![top; 4_000] }, "finish_reason": "stop" }] });
    let stream = format!("{}data: [DONE]\n\n", event(&chunk).repeat(4_000));
    for (rules, streams, sent) in
        [(BUFFERED, false, whole.to_string()), (BUFFERED, true, stream.clone()), (LIVE, true, stream)]
    {
        let told = told(rules, Api::Chat, streams, &sent).await;
        assert!(told == sent, "{streams}: {}", &told[..told.len().min(400)]);
    }
}

/// P-12: small values take many times the bytes that spell them.
#[tokio::test]
async fn each_value_counts_against_what_all_answers_may_take() {
    let choices = |count: usize| format!("{{\"choices\":[{}{{}}]}}", "{},".repeat(count));
    let cases = [
        (false, choices(100), false),
        (false, choices(100_000), true),
        (true, format!("data: {}\n\n", choices(100)), false),
        (true, format!("data: {}\n\n", choices(10_000)).repeat(10), true),
    ];
    for (stream, sent, is_refused) in cases {
        let kind = if stream { "text/event-stream" } else { "application/json" };
        let reply = Reply { status: 200, kind, body: Some(sent.clone()) };
        let house = House::with(BUFFERED, reply, |config| config.limits.answers = 4 << 20).await;
        let told = house.send_raw(request(&house, Api::Chat, stream)).await.unwrap().text().to_owned();
        assert_eq!(told.contains("limit `answers`"), is_refused, "{stream} {}", &told[..told.len().min(400)]);
        assert_eq!(told == sent, !is_refused, "{stream}");
    }
}
