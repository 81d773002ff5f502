//! What a collector is sent, and that none is needed.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

#[path = "../../store/tests/store/record.rs"]
mod record;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use leafgate_answer::{Answer, Api, Delta};
use leafgate_contract::NoPlugins;
use leafgate_policy::{Policy, PolicySource};
use leafgate_record::{AnswerPart, RecordId, Recorded, RecordedEdit, Recorder as _, RequestRecord};
use leafgate_trace::{Collector, Tracer};
use serde_json::{Value, json};

/// A text that stands in the request, its path and its answer.
const CANARY: &str = "canary-of-the-request";

static POLICY: LazyLock<Arc<Policy>> =
    LazyLock::new(|| Arc::new(Policy::load(&PolicySource::None, &NoPlugins).unwrap()));

fn request(id: u64, change: impl FnOnce(&mut RequestRecord)) -> Box<RequestRecord> {
    let mut record = record::record(id, &CANARY.into(), Arc::clone(&POLICY));
    record.path = format!("/v1/chat/completions/{CANARY}");
    record.model = Some("gpt-4o".to_owned());
    record.held = Some(CANARY.to_owned());
    let path = format!("messages[0].{CANARY}");
    record.edits =
        record.edits.iter().map(|edit| RecordedEdit { path: path.clone(), ..edit.clone() }).collect();
    change(&mut record);
    Box::new(record)
}

/// Answers one delivery after the other, and gives what came.
fn collector() -> (Collector, Receiver<(String, Value)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (sender, came) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let delivered = take(stream.unwrap());
            if sender.send(delivered).is_err() {
                return;
            }
        }
    });
    (url.parse().unwrap(), came)
}

fn take(stream: TcpStream) -> (String, Value) {
    let mut stream = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).unwrap();
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length: ") {
            length = value.trim().parse().unwrap();
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).unwrap();
    stream.get_mut().write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}").unwrap();
    (head, serde_json::from_slice(&body).unwrap())
}

/// The attributes of a span by their keys.
fn attribute<'s>(span: &'s Value, key: &str) -> &'s Value {
    let all = span["attributes"].as_array().unwrap();
    let found = all.iter().find(|attribute| attribute["key"] == key);
    found.map_or(&Value::Null, |attribute| attribute["value"].as_object().unwrap().values().next().unwrap())
}

// S0-120
#[test]
fn a_span_says_what_became_of_a_request_and_nothing_that_was_said() {
    let (collector, came) = collector();
    let tracer = Tracer::start(collector).unwrap();
    assert!(matches!(tracer.request(request(1, |_| ())), Recorded::Taken));
    let head = AnswerPart::Head { status: http::StatusCode::OK, after: Duration::from_millis(3) };
    tracer.answer(RecordId(1), head);
    let answer = json!({ "model": CANARY, "choices": [
        { "index": 0, "finish_reason": "stop", "message": { "role": "assistant", "content": CANARY } }],
        "usage": { "prompt_tokens": 7, "completion_tokens": 3, "prompt_tokens_details": { "cached_tokens": 5 } } });
    let answer = Answer::read(Api::Chat, answer.to_string().into()).unwrap();
    tracer.answer(RecordId(1), AnswerPart::Said([Delta::Content(CANARY.into())].into()));
    tracer.answer(RecordId(1), AnswerPart::End { complete: true, answer: Some(Arc::new(answer.summary())) });
    tracer.request(request(2, |record| (record.verdict, record.sent) = ("blocked", None)));
    tracer.close();
    let (head, message) = came.recv().unwrap();
    assert!(head.starts_with("POST /v1/traces HTTP/1.1\r\n") && head.contains("application/json"), "{head}");
    assert!(!message.to_string().contains(CANARY), "{message}");
    let spans = message["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap();
    let [sent, blocked] = &spans[..] else { panic!("{message}") };
    assert_eq!(
        (&sent["name"], &sent["kind"], &sent["status"]),
        (&"chat gpt-4o".into(), &3.into(), &Value::Null)
    );
    for (key, value) in [
        ("gen_ai.operation.name", "chat"),
        ("gen_ai.provider.name", "openai"),
        ("gen_ai.request.model", "gpt-4o"),
        ("gen_ai.conversation.id", "SESSION_habcdef"),
        ("gen_ai.usage.input_tokens", "7"),
        ("gen_ai.usage.output_tokens", "3"),
        ("gen_ai.usage.cache_read.input_tokens", "5"),
        ("http.response.status_code", "200"),
        ("leafgate.verdict", "forwarded"),
        ("leafgate.redactions", "1"),
    ] {
        assert_eq!(attribute(sent, key), value, "{key}");
    }
    assert_eq!(attribute(sent, "gen_ai.response.finish_reasons")["values"][0]["stringValue"], "stop");
    assert_eq!(
        (&blocked["status"]["code"], attribute(blocked, "error.type")),
        (&2.into(), &"blocked".into())
    );
    let length = |key: &str| sent[key].as_str().unwrap().len();
    assert_eq!((length("traceId"), length("spanId")), (32, 16));
    assert!(sent["traceId"] != blocked["traceId"]);
    let nanos = |key: &str| sent[key].as_str().unwrap().parse::<u128>().unwrap();
    assert!(nanos("endTimeUnixNano") > nanos("startTimeUnixNano"));
}

#[test]
fn a_models_name_is_told_only_where_it_can_be_one() {
    let (collector, came) = collector();
    let tracer = Tracer::start(collector).unwrap();
    let secret = format!("{}{}", "ghp_", "kfhfgtKAQWYm85EZgslmBp65HpUbz04IfkvX");
    let names = [secret.clone(), "two words".to_owned(), "m".repeat(200), "ann@firma.de".to_owned()];
    for (id, name) in (1..).zip(&names) {
        tracer.request(request(id, |record| record.model = Some(name.clone())));
    }
    tracer.close();
    let (_, message) = came.recv().unwrap();
    let spans = message["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap();
    assert_eq!(spans.len(), names.len());
    for span in spans {
        assert_eq!((&span["name"], attribute(span, "gen_ai.request.model")), (&"chat".into(), &Value::Null));
    }
}

#[test]
fn a_collector_that_is_away_costs_spans_alone() {
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let tracer = Tracer::start(format!("http://{nobody}").parse().unwrap()).unwrap();
    // More than the thread keeps, and more than waits for it.
    for id in 0..20_000 {
        assert!(matches!(tracer.request(request(id, |_| ())), Recorded::Taken));
    }
    tracer.close();
    assert!(matches!(tracer.request(request(1, |_| ())), Recorded::Taken));
}
