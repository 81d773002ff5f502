//! Streams that are written while their answer comes about.

use leafgate_answer::{
    Answer, AnswerLimits, Api, Call, Finish, Head, LIVE_SIGNATURE, LiveAnswer, Reader, Reply, StreamEvent,
    Usage,
};
use proptest::prelude::*;
use serde_json::Value;

const APIS: [Api; 3] = [Api::Chat, Api::Responses, Api::Messages];

fn head() -> Head {
    Head { id: "a-1".into(), model: "m-1".into(), created: 1 }
}

fn read(api: Api, events: &[StreamEvent]) -> Answer {
    let mut reader = Reader::stream(api, AnswerLimits::default());
    events.iter().for_each(|event| drop(reader.push(event.to_string().as_bytes()).unwrap()));
    reader.finish().unwrap()
}

fn call(id: &str) -> Call {
    Call { id: id.into(), name: "read_file".into(), arguments: "{}".into(), ..Call::default() }
}

/// What is said in between, and in which part of the answer.
fn told(api: Api) -> Vec<StreamEvent> {
    let mut live = LiveAnswer::new(api, head(), true);
    let mut events = live.say("I a");
    events.extend(live.say("sk."));
    events.extend(live.reason("They work."));
    events.extend(live.say("\n\nDone."));
    let usage = Usage { input: 10, output: 5, ..Usage::default() };
    let calls = vec![call("c1"), call("c2")];
    events.extend(live.end(&Reply {
        calls,
        finish: Some(Finish::Calls),
        usage: Some(usage),
        ..Reply::default()
    }));
    events
}

// S3-16
#[test]
fn words_go_out_as_they_are_said_with_calls_and_costs_behind_them() {
    let told = APIS.map(|api| {
        let events: String = told(api).iter().map(ToString::to_string).collect();
        format!("{api:?}\n{}", events.trim_end())
    });
    insta::assert_snapshot!(told.join("\n\n"));
}

#[test]
fn what_is_said_first_is_out_at_once() {
    for api in APIS {
        let mut live = LiveAnswer::new(api, head(), false);
        assert!(!live.has_content() && live.say("").is_empty(), "nothing begins with nothing");
        let first: String = live.say("Fi").iter().map(ToString::to_string).collect();
        assert!(first.contains("\"Fi\""), "{api:?}: {first}");
        let next: String = live.say("ve").iter().map(ToString::to_string).collect();
        assert!(!format!("{live:?}").contains("ve\""), "{live:?}");
        assert_eq!((next.matches("data: ").count(), next.contains("\"ve\"")), (1, true), "{api:?}: {next}");
    }
}

#[test]
fn what_is_not_the_models_own_reasoning_can_be_told() {
    let [chat, responses, messages] = APIS.map(|api| read(api, &told(api)));
    assert_eq!(messages.json()["content"][1]["signature"], LIVE_SIGNATURE);
    assert_eq!(responses.json()["output"][1]["id"], "rs_a-1_1");
    assert_eq!(chat.json()["choices"][0]["message"]["reasoning_content"], "They work.");
}

/// Numbers of events and places of parts, as an SDK follows them.
fn is_in_order(api: Api, events: &[StreamEvent]) -> Result<(), TestCaseError> {
    let (mut open, mut begun) = (None, 0);
    for (number, event) in events.iter().enumerate() {
        let event = event.to_string();
        let data = event.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
        let Ok(data) = serde_json::from_str::<Value>(data) else { continue };
        let kind = data["type"].as_str().unwrap_or_default();
        let at = data.get("index").or(data.get("output_index")).and_then(Value::as_u64);
        match kind {
            "content_block_start" | "response.output_item.added" => {
                prop_assert_eq!((open, at), (None, Some(begun)));
                (open, begun) = (at, begun + 1);
            }
            "content_block_stop" | "response.output_item.done" => {
                prop_assert_eq!(open.take(), at);
            }
            _ => prop_assert!(at.is_none() || api == Api::Chat || at == open, "{}", kind),
        }
        if api == Api::Responses {
            prop_assert_eq!(data["sequence_number"].as_u64(), Some(number as u64));
        }
    }
    prop_assert_eq!(open, None);
    Ok(())
}

proptest! {
    /// Whatever is said in whatever order is read as what was said.
    // S3-16
    #[test]
    fn a_live_answer_is_read_as_what_was_said(
        pieces in prop::collection::vec((any::<bool>(), "[a-z \n]{0,5}"), 0..8),
        calls in 0..3_usize,
    ) {
        for api in APIS {
            let mut live = LiveAnswer::new(api, head(), true);
            let (mut events, mut content) = (Vec::new(), String::new());
            for (says, piece) in &pieces {
                events.extend(if *says { live.say(piece) } else { live.reason(piece) });
                content.push_str(if *says { piece } else { "" });
            }
            let usage = Usage { input: 3, output: 4, ..Usage::default() };
            let finish = Some(if calls > 0 { Finish::Calls } else { Finish::Length });
            let calls: Vec<Call> = (0..calls).map(|at| call(&format!("c{at}"))).collect();
            let last = Reply { calls, finish, usage: Some(usage), ..Reply::default() };
            events.extend(live.end(&last));
            is_in_order(api, &events)?;
            let read = read(api, &events);
            prop_assert_eq!(read.reply.content.expose(), content, "{:?}", api);
            prop_assert_eq!(
                (&read.reply.calls, read.reply.finish, read.reply.usage),
                (&last.calls, last.finish, last.usage),
                "{:?}", api
            );
            let reasoned = pieces.iter().any(|(says, piece)| !says && !piece.is_empty());
            prop_assert_eq!(!read.reply.reasoning.is_empty(), reasoned);
        }
    }
}
