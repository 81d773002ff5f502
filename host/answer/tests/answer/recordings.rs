//! What the crate promises, over every recorded answer.

use leafgate_answer::{
    Answer, AnswerLimits, Api, Call, CallKind, Finish, Head, Reader, Reply, answer_events, write_answer,
};
use leafgate_harness::recordings;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

/// The folders of recorded answers, their API, and how many answers of each kind every clone has.
const FOLDERS: [(&str, Api, usize, usize); 6] = [
    ("openai-chat", Api::Chat, 1, 2),
    ("copilot-capi-sse", Api::Chat, 0, 0),
    ("openai-responses", Api::Responses, 1, 1),
    ("anthropic-messages", Api::Messages, 1, 1),
    ("gemini", Api::Gemini, 1, 1),
    ("code-assist", Api::CodeAssist, 1, 1),
];

struct Recorded {
    api: Api,
    name: String,
    body: Vec<u8>,
}

fn recorded(ending: &str, least: fn(&(&str, Api, usize, usize)) -> usize) -> Vec<Recorded> {
    let mut all = Vec::new();
    for folder in &FOLDERS {
        let files = recordings::read(folder.0, ending);
        assert!(files.len() >= least(folder), "{} in {}", files.len(), folder.0);
        all.extend(files.into_iter().map(|file| Recorded {
            api: folder.1,
            name: file.name,
            body: file.body,
        }));
    }
    all
}

fn streams() -> Vec<Recorded> {
    recorded(".sse", |folder| folder.3)
}

/// Whole answers; `count.response.json` counts tokens and is none.
fn wholes() -> Vec<(Recorded, Answer)> {
    let all = recorded(".response.json", |folder| folder.2).into_iter();
    let all = all.filter(|recorded| {
        let json: Value = serde_json::from_slice(&recorded.body).unwrap();
        let counts = ["input_tokens", "totalTokens"].iter().any(|key| json[key].is_number());
        !counts
    });
    all.map(|recorded| {
        let answer = whole(recorded.api, &recorded.body);
        assert!(!answer.is_odd, "{}", recorded.name);
        (recorded, answer)
    })
    .collect()
}

fn whole(api: Api, body: &[u8]) -> Answer {
    let mut reader = Reader::whole(api, AnswerLimits::default());
    assert!(reader.push(body).unwrap().is_empty());
    reader.finish().unwrap()
}

/// Reads a stream in pieces, and adds up what the pieces gave.
fn stream(api: Api, body: &[u8], cuts: &[usize]) -> (Answer, Reply) {
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (body.len() + 1)).collect();
    cuts.extend([0, body.len()]);
    cuts.sort_unstable();
    let mut reader = Reader::stream(api, AnswerLimits::default());
    let mut sum = Reply::default();
    for cut in cuts.windows(2) {
        reader.push(&body[cut[0]..cut[1]]).unwrap().iter().for_each(|delta| sum.add(delta));
    }
    (reader.finish().unwrap(), sum)
}

/// A reply whose arguments are spelled in one way.
fn spelled(reply: &Reply) -> Reply {
    let mut reply = reply.clone();
    for call in reply.calls.iter_mut().filter(|call| call.kind == CallKind::Function) {
        if let Ok(json) = serde_json::from_str::<Value>(call.arguments.expose()) {
            call.arguments = json.to_string().into();
        }
    }
    reply
}

/// The texts and calls of a reply, spelled in one way.
fn said(reply: &Reply) -> Reply {
    Reply { finish: None, usage: None, ..spelled(reply) }
}

/// A value without the members that say nothing, and without indices, which only streams need.
fn told(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let members = members.iter().map(|(key, value)| (key.clone(), told(value)));
            members.filter(|(key, value)| !says_nothing(value) && key != "index").collect()
        }
        Value::Array(elements) => elements.iter().map(told).collect(),
        other => other.clone(),
    }
}

fn says_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(elements) => elements.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    }
}

fn framed(api: Api, json: &Value) -> Option<String> {
    Some(answer_events(api, json, true)?.iter().map(ToString::to_string).collect())
}

// S3-17
#[test]
fn a_whole_answer_replayed_as_a_stream_is_the_same_answer() {
    let mut replayed = 0;
    for (Recorded { api, name, .. }, answer) in wholes() {
        let Some(text) = framed(api, &answer.json()) else {
            assert!(answer.failure.is_some() && answer.reply.finish == Some(Finish::Failed), "{name}");
            continue;
        };
        replayed += 1;
        let (again, sum) = stream(api, text.as_bytes(), &[]);
        assert_eq!(told(&again.json()), told(&answer.json()), "{name}");
        assert_eq!((&again.reply, &again.head), (&answer.reply, &answer.head), "{name}");
        assert_eq!(said(&sum), said(&answer.reply), "{name}");
    }
    assert!(replayed >= 4);
}

// S3-24
#[test]
fn a_stream_and_the_answer_that_it_stands_for_give_one_reply() {
    for Recorded { api, name, body } in streams() {
        let (answer, sum) = stream(api, &body, &[]);
        let again = whole(api, answer.json().to_string().as_bytes());
        assert_eq!(again.reply, answer.reply, "{name}");
        assert_eq!(again.head, answer.head, "{name}");
        if !is_abridged(&name) {
            assert_eq!(said(&sum), said(&answer.reply), "{name}");
            assert!(!answer.is_odd, "{name}");
        }
        assert!(answer.reply.finish.is_some(), "{name}");
        let text = framed(api, &answer.json()).unwrap();
        assert_eq!(stream(api, text.as_bytes(), &[]).0.reply, answer.reply, "{name}");
    }
}

/// Documentation shows a stream with an ellipsis in the place of most of its deltas.
fn is_abridged(name: &str) -> bool {
    name.contains("openapi-streaming")
}

#[test]
fn a_stream_may_be_cut_anywhere() {
    let mut runner =
        TestRunner::new(ProptestConfig { failure_persistence: None, cases: 8, ..ProptestConfig::default() });
    for Recorded { api, name, body } in streams() {
        let read = |cuts: &[usize]| {
            let (answer, sum) = stream(api, &body, cuts);
            (answer.json(), answer.reply, answer.head, answer.failure, answer.is_cut_off, answer.is_odd, sum)
        };
        let uncut = read(&[]);
        let same = |cuts: Vec<usize>| {
            prop_assert!(read(&cuts) == uncut, "{}", name);
            Ok(())
        };
        runner.run(&prop::collection::vec(any::<usize>(), 0..60), same).unwrap();
    }
}

#[test]
fn a_reply_written_for_its_own_api_is_read_again() {
    let answers = wholes().into_iter().map(|(recorded, answer)| (recorded.name, answer));
    let streams = streams().into_iter();
    let streams = streams.map(|recorded| (recorded.name, stream(recorded.api, &recorded.body, &[]).0));
    for (name, answer) in answers.chain(streams).filter(|(_, answer)| answer.failure.is_none()) {
        let written = write_answer(answer.api, &answer.reply, &answer.head);
        let again = whole(answer.api, written.to_string().as_bytes());
        assert_eq!(spelled(&without_gaps(again.reply)), spelled(&without_gaps(answer.reply)), "{name}");
        assert_eq!(again.head, answer.head, "{name}");
    }
}

/// Where an API demands a name or counts, one is made.
fn without_gaps(mut reply: Reply) -> Reply {
    for (at, call) in reply.calls.iter_mut().enumerate().filter(|(_, call)| call.id.is_empty()) {
        call.id = format!("call_{at}").into();
    }
    reply.usage = Some(reply.usage.unwrap_or_default());
    if reply.finish == Some(Finish::Other) {
        reply.finish = Some(Finish::Stop);
    }
    reply
}

// S3-16
#[test]
fn a_reply_crosses_to_every_other_api() {
    for (Recorded { name, .. }, answer) in wholes().into_iter().filter(|(_, answer)| answer.failure.is_none())
    {
        for &other in Api::ALL {
            let written = write_answer(other, &answer.reply, &answer.head);
            let read = whole(other, written.to_string().as_bytes());
            assert_eq!(read.reply.reasoning, answer.reply.reasoning, "{name} as {other:?}");
            assert_eq!(read.reply.content, answer.reply.content, "{name} as {other:?}");
            let (before, after) = (spelled(&answer.reply), spelled(&read.reply));
            assert_eq!(after.calls.len(), before.calls.len(), "{name} as {other:?}");
            for (before, after) in before.calls.iter().zip(&after.calls) {
                assert_eq!(
                    (&after.name, &after.arguments),
                    (&before.name, &before.arguments),
                    "{name} as {other:?}"
                );
            }
            let text = framed(other, &written).unwrap();
            assert_eq!(stream(other, text.as_bytes(), &[]).0.reply, read.reply, "{name} as {other:?}");
        }
    }
}

#[test]
fn debug_shows_no_text() {
    for (Recorded { name, .. }, answer) in wholes() {
        let shown = format!("{answer:?}");
        let texts = [&answer.reply.content, &answer.reply.reasoning];
        for text in texts.iter().map(|text| text.expose()).filter(|text| text.len() > 12) {
            assert!(!shown.contains(text), "{name}");
        }
    }
}

#[test]
fn a_damaged_stream_is_read_like_the_answer_that_it_is_put_together_to() {
    let mut runner =
        TestRunner::new(ProptestConfig { failure_persistence: None, cases: 24, ..ProptestConfig::default() });
    for Recorded { api, name, body } in streams() {
        let text = String::from_utf8(body).unwrap();
        let events: Vec<&str> = text.lines().filter(|line| line.starts_with("data:")).collect();
        // Each event may be left out, come twice, or change places with another.
        let damage = prop::collection::vec((any::<usize>(), any::<usize>(), 0..3usize), 0..8);
        let reads_alike = |damage: Vec<(usize, usize, usize)>| {
            let mut events = events.clone();
            for (one, other, kind) in damage {
                let (one, other) = (one % events.len(), other % events.len());
                match kind {
                    0 => events.swap(one, other),
                    1 => events.insert(other, events[one]),
                    _ if events.len() > 1 => drop(events.remove(one)),
                    _ => {}
                }
            }
            let mut reader = Reader::stream(api, AnswerLimits::default());
            for event in events {
                reader.push(event.as_bytes()).unwrap();
                reader.push(b"\n\n").unwrap();
            }
            if let Ok(answer) = reader.finish() {
                prop_assert!(
                    whole(api, answer.json().to_string().as_bytes()).reply == answer.reply,
                    "{}",
                    name
                );
            }
            Ok(())
        };
        runner.run(&damage, reads_alike).unwrap();
    }
}

/// Puts another value in the place of one within a value: the `at`th in order, counted from the top.
fn put(value: &mut Value, at: &mut usize, other: &Value) {
    if *at == 0 {
        *value = other.clone();
    }
    *at = at.wrapping_sub(1);
    match value {
        Value::Object(members) => members.values_mut().for_each(|member| put(member, at, other)),
        Value::Array(elements) => elements.iter_mut().for_each(|element| put(element, at, other)),
        _ => {}
    }
}

fn count(value: &Value) -> usize {
    1 + match value {
        Value::Object(members) => members.values().map(count).sum(),
        Value::Array(elements) => elements.iter().map(count).sum(),
        _ => 0,
    }
}

fn odd_value() -> impl Strategy<Value = Value> {
    let odd =
        ["null", "true", "-1", "1e300", "18446744073709551615", "\"x\"", "[]", "{}", "[\"x\"]", "[[{}]]"];
    prop::sample::select(odd.map(|text| serde_json::from_str::<Value>(text).unwrap()).to_vec())
}

#[test]
fn no_shape_makes_it_panic_and_what_is_replayed_reads_alike() {
    let mut runner =
        TestRunner::new(ProptestConfig { failure_persistence: None, cases: 40, ..ProptestConfig::default() });
    let changes = prop::collection::vec((any::<usize>(), odd_value()), 1..4);
    for (Recorded { api, name, .. }, answer) in wholes() {
        let survives = |changes: Vec<(usize, Value)>| {
            let mut json = answer.json();
            for (at, other) in changes {
                let mut at = at % count(&json);
                put(&mut json, &mut at, &other);
            }
            let mut reader = Reader::whole(api, AnswerLimits::default());
            reader.push(json.to_string().as_bytes()).unwrap();
            let text = framed(api, &json);
            let Ok(answer) = reader.finish() else { return Ok(()) };
            let _ = (answer.turn(), write_answer(api, &answer.reply, &answer.head), format!("{answer:?}"));
            if let Some(text) = text {
                let mut reader = Reader::stream(api, AnswerLimits::default());
                reader.push(text.as_bytes()).unwrap();
                prop_assert!(reader.finish().is_ok() || answer.failure.is_some(), "{}", name);
            }
            Ok(())
        };
        runner.run(&changes, survives).unwrap();
    }
}

#[test]
fn no_event_makes_it_panic() {
    let mut runner =
        TestRunner::new(ProptestConfig { failure_persistence: None, cases: 60, ..ProptestConfig::default() });
    let changes = prop::collection::vec((any::<usize>(), any::<usize>(), odd_value()), 1..6);
    for Recorded { api, name, body } in streams() {
        let text = String::from_utf8(body).unwrap();
        let events = text.lines().filter_map(|line| line.strip_prefix("data:"));
        let events: Vec<Value> = events.filter_map(|data| serde_json::from_str(data).ok()).collect();
        let survives = |changes: Vec<(usize, usize, Value)>| {
            let mut events = events.clone();
            for (which, at, other) in changes {
                let which = which % events.len();
                let event = &mut events[which];
                let mut at = at % count(event);
                put(event, &mut at, &other);
            }
            let text: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
            let mut reader = Reader::stream(api, AnswerLimits::default());
            reader.push(text.as_bytes()).unwrap();
            if let Ok(answer) = reader.finish() {
                let again = whole(api, answer.json().to_string().as_bytes());
                prop_assert!(again.reply == answer.reply, "{}", name);
                let _ = (answer.turn(), framed(api, &answer.json()));
            }
            Ok(())
        };
        runner.run(&changes, survives).unwrap();
    }
}

#[test]
fn a_last_word_is_added_behind_what_an_answer_says() {
    let read = |api, whole: Value| Answer::read(api, whole.to_string().into()).unwrap();
    for &api in Api::ALL {
        let reply = Reply { content: "Hi.".into(), finish: Some(Finish::Stop), ..Reply::default() };
        let said = read(api, write_answer(api, &reply, &Head::default())).with_text(" Bye.");
        let read_again = read(api, said.unwrap()).reply;
        assert!(
            read_again.content.expose().starts_with("Hi.") && read_again.content.expose().ends_with("Bye."),
            "{api:?}"
        );

        let call = Call { id: "c".into(), name: "look".into(), arguments: "{}".into(), ..Call::default() };
        let calls = Reply { calls: vec![call], finish: Some(Finish::Calls), ..Reply::default() };
        let calls = read(api, write_answer(api, &calls, &Head::default()));
        assert_eq!(calls.with_text(" Bye."), None, "{api:?}: the model goes on");
    }
    let function = json!({ "name": "look", "arguments": "{}" });
    let old = json!({ "choices": [{ "message": { "content": "Hi.", "function_call": function } }] });
    assert_eq!(read(Api::Chat, old).with_text(" Bye."), None, "a call in its old form");
    let said = json!({ "type": "message", "content": [{ "type": "output_text", "text": "Hi." }] });
    let searched = json!({ "output": [{ "type": "web_search_call", "id": "ws" }, said] });
    let said = read(Api::Responses, searched).with_text(" Bye.").unwrap();
    assert_eq!(said["output"][1]["content"][0]["text"], "Hi. Bye.", "the provider has run its tool");
}
