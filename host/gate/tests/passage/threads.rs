//! Requests that go on from a response by its name: the call of a result stands in the response, which nobody says again.

use http::Response;
use leafgate_answer::{Api, Call, CallKind, Finish, Head, Reply, answer_events, write_answer};
use serde_json::{Value, json};

use crate::kit::{
    Body, EMAIL, REDACT_EMAIL, Running, Upstream, answer, email_token, full, gate, json_answer, once, post,
};

const OWN: &str = "/w/app/.env";
const STREAMS: [bool; 2] = [false, true];

fn reads(file: &str) -> (&'static str, Value) {
    ("read_file", json!({ "filePath": file, "startLine": 1, "endLine": 9 }))
}

/// An answer that calls tools, under these ids.
fn calls(response: &str, calls: &[(&str, (&str, Value))], streams: bool) -> Response<Body> {
    let call = |(id, (tool, arguments)): &(&str, (&str, Value))| Call {
        id: (*id).into(),
        name: (*tool).into(),
        arguments: arguments.to_string().into(),
        kind: CallKind::Function,
    };
    let calls = calls.iter().map(call).collect();
    let reply = Reply { calls, finish: Some(Finish::Calls), ..Reply::default() };
    let head = Head { id: response.into(), model: "m".into(), ..Head::default() };
    let whole = write_answer(Api::Responses, &reply, &head);
    if !streams {
        return json_answer(whole.to_string());
    }
    let events: String =
        answer_events(Api::Responses, &whole, false).unwrap().iter().map(ToString::to_string).collect();
    answer("text/event-stream", full(events))
}

/// A gate before a model that first calls these, and then, told a result, edits a file.
async fn edits(
    first: &'static [(&'static str, &'static str)],
    file: &'static str,
    streams: bool,
) -> (Running, Upstream) {
    let upstream = Upstream::start(move |seen: crate::kit::Seen| async move {
        let request: Value = serde_json::from_slice(&seen.body).unwrap();
        if request["previous_response_id"].is_null() {
            let first: Vec<_> = first.iter().map(|(id, file)| (*id, reads(file))).collect();
            return calls("resp_1", &first, streams);
        }
        let token = email_token();
        let edit =
            json!({ "filePath": file, "oldString": token, "newString": format!("{token}\nSTAGE=test") });
        calls("resp_2", &[("call_9", ("replace_string_in_file", edit))], streams)
    })
    .await;
    (gate(REDACT_EMAIL, &upstream.url()).await, upstream)
}

/// Whether the edit that answers these items writes the value.
async fn writes(gate: &Running, items: Value) -> bool {
    let next = json!({ "previous_response_id": "resp_1", "input": items });
    let text = once(gate, post("/v1/responses", next.to_string())).await.text().to_owned();
    assert!(text.contains("STAGE=test"), "{text}");
    assert_ne!(text.contains(EMAIL), text.contains(&email_token()), "{text}");
    text.contains(EMAIL)
}

fn result(call: &str) -> Value {
    json!({ "type": "function_call_output", "call_id": call, "output": format!("MAIL={EMAIL}\n") })
}

#[tokio::test]
async fn a_value_returns_to_the_file_that_a_call_behind_the_response_read() {
    for streams in STREAMS {
        for (file, returns) in [(OWN, true), ("/w/app/other.ini", false)] {
            let (gate, _upstream) = edits(&[("call_1", OWN)], file, streams).await;
            once(&gate, post("/v1/responses", r#"{"input": "Hi"}"#)).await;
            assert_eq!(writes(&gate, json!([result("call_1")])).await, returns, "{streams} {file}");
        }
    }
}

#[tokio::test]
async fn a_value_returns_to_no_file_where_it_is_not_certain_which_call_gave_it() {
    let named =
        json!({ "type": "function_call", "call_id": "call_1", "name": "read_file", "arguments": "{}" });
    let forged = |call: &str, name: &str| {
        let mut item = result(call);
        item["name"] = name.into();
        item
    };
    for streams in STREAMS {
        for (first, items) in [
            (&[("call_1", OWN), ("call_1", "/w/b")][..], json!([result("call_1")])),
            (&[("call_1", OWN), ("call_1", OWN)], json!([result("call_1")])),
            (&[("call_1", "/w/b"), ("call_2", OWN)], json!([result("call_1")])),
            (&[("call_1", OWN)], json!([result("call_2")])),
            (&[("call_1", "/w/b")], json!([forged("call_1", "read_file")])),
            (&[("call_1", OWN)], json!([forged("call_2", "read_file")])),
            (&[("call_1", OWN)], json!([named, result("call_1")])),
        ] {
            let (gate, _upstream) = edits(first, OWN, streams).await;
            once(&gate, post("/v1/responses", r#"{"input": "Hi"}"#)).await;
            assert!(!writes(&gate, items.clone()).await, "{streams} {first:?} {items}");
        }
    }
}
