//! What a recorder is told, and that it decides whether what must be recorded leaves.

use std::sync::Arc;

use leafgate_gate::{GateConfig, NamedUpstream, UpstreamConfig};
use leafgate_record::{AnswerPart, Both};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::kit::{
    EMAIL, REDACT_EMAIL, Upstream, behind, chat, email_token, gate, gate_of, json_answer, once, post, says,
};
use crate::logs::{logged, record};
use crate::recorder::{Kept, Says};

// S0-115
#[tokio::test]
async fn a_recorder_is_told_what_came_what_left_and_what_was_answered() {
    let message = serde_json::json!({ "role": "assistant", "content": email_token() });
    let answer =
        serde_json::json!({ "choices": [{ "index": 0, "message": message, "finish_reason": "stop" }] });
    let upstream = Upstream::start(move |_| {
        let answer = answer.to_string();
        async { json_answer(answer) }
    });
    let upstream = upstream.await;
    let gate = gate(REDACT_EMAIL, &upstream.url()).await;
    let kept = Kept::of(&gate.gate);
    let sent = says(&format!("write to {EMAIL}"));
    once(&gate, chat(sent.clone())).await;
    let requests = kept.requests.lock().unwrap();
    let [record] = &requests[..] else { panic!("{} requests", requests.len()) };
    assert_eq!(record.received, sent);
    assert_eq!(record.sent.as_ref(), Some(&upstream.only().body));
    assert_eq!((record.api, record.model.as_deref(), record.verdict), ("chat", Some("m"), "forwarded"));
    let edit = &record.edits[0];
    assert_eq!((&*edit.kind, &*edit.path, &*edit.rule), ("redact", "messages[0].content", "mail"));
    assert_eq!((edit.detector.as_deref(), edit.length), (Some("pii/email"), Some(EMAIL.len())));
    // Tokens stay tokens.
    let answers = kept.answers.lock().unwrap();
    let answered: Vec<_> = answers.iter().map(|(_, part)| part).collect();
    let [AnswerPart::Head { .. }, AnswerPart::End { complete: true, answer: Some(answer) }] = &answered[..]
    else {
        panic!("{answered:?}")
    };
    assert_eq!(answer.reply.content.expose(), email_token());
    assert_eq!(upstream.only().headers["accept-encoding"], "identity");
}

#[tokio::test]
async fn an_answer_that_ends_with_trailers_is_complete() {
    record();
    let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", socket.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut stream, _) = socket.accept().await.unwrap();
        let mut came = Vec::new();
        while !came.ends_with(b"}") {
            assert_ne!(stream.read_buf(&mut came).await.unwrap(), 0, "the request ends with its body");
        }
        let answer = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n\
                      2\r\n{}\r\n0\r\nx-sum: 1\r\n\r\n";
        stream.write_all(answer.as_bytes()).await.unwrap();
    });
    let gate = gate(REDACT_EMAIL, &url).await;
    let kept = Kept::of(&gate.gate);
    once(&gate, post("/v1/with-trailers", says("hello"))).await;
    let is_end = |(_, part): &(_, AnswerPart)| matches!(part, AnswerPart::End { .. });
    kept.until(|kept| kept.answers.lock().unwrap().iter().any(is_end)).await;
    let answers = kept.answers.lock().unwrap();
    assert!(matches!(answers.last(), Some((_, AnswerPart::End { complete: true, .. }))), "{answers:?}");
    let log = logged();
    let line = log.lines().find(|line| line.contains("path=/v1/with-trailers")).unwrap();
    assert!(line.contains("complete=true"), "{line}");
}

#[tokio::test]
async fn a_conversation_is_recorded_as_what_it_is_wherever_it_went() {
    let (_upstream, gate) = behind(REDACT_EMAIL).await;
    let kept = Kept::of(&gate.gate);
    once(&gate, post("/v1/nobody/knows", says("hello"))).await;
    once(&gate, post("/v1/nobody/knows", "{}")).await;
    let requests = kept.requests.lock().unwrap();
    let recorded: Vec<_> = requests.iter().map(|record| (record.api, record.answers)).collect();
    assert_eq!(recorded, [("chat", Some(leafgate_answer::Api::Chat)), ("openai", None)]);
}

#[tokio::test]
async fn of_a_request_that_was_missed_no_answer_is_told() {
    let upstream = Upstream::start(|_| async { json_answer("{}".to_owned()) }).await;
    let gate = gate(REDACT_EMAIL, &upstream.url()).await;
    let kept = Kept { of_requests: Says::Missed, ..Kept::default() }.keeps(&gate.gate);
    let answer = once(&gate, chat(says("hello"))).await;
    assert_eq!((answer.status, &answer.body[..]), (200, &b"{}"[..]));
    assert_eq!(kept.requests.lock().unwrap().len(), 1);
    assert!(kept.answers.lock().unwrap().is_empty());
    // Who does not keep it need not be able to read it.
    assert!(!upstream.only().headers.contains_key("accept-encoding"));
}

#[tokio::test]
async fn an_answer_is_told_while_one_of_two_recorders_keeps_it() {
    let upstream = Upstream::start(|_| async { json_answer("{}".to_owned()) }).await;
    let gate = gate(REDACT_EMAIL, &upstream.url()).await;
    let missed = Arc::new(Kept { of_requests: Says::Missed, ..Kept::default() });
    let kept = Arc::new(Kept::default());
    gate.gate.record(Arc::new(Both(missed, kept.clone())));
    once(&gate, chat(says("hello"))).await;
    assert!(!kept.answers.lock().unwrap().is_empty());
}

#[tokio::test]
async fn what_must_be_recorded_and_is_not_does_not_leave() {
    for says_so in [Says::Refused, Says::Lost] {
        let (upstream, gate) = behind(REDACT_EMAIL).await;
        Kept { of_requests: says_so, ..Kept::default() }.keeps(&gate.gate);
        let answer = once(&gate, chat(says("hello"))).await;
        let (code, message) = answer.error();
        assert_eq!(code, "leafgate_internal");
        assert!(message.contains("must log every request"), "{message}");
        assert!(upstream.seen().is_empty());
    }
}

#[tokio::test]
async fn what_a_rule_blocks_is_told_and_what_nobody_reads_is_read_then() {
    let block = "[[rule]]\nid = \"no\"\nmatch = { role = \"user\" }\nwhen = 'leaf.text.contains(\"secret plan\")'\naction = \"block\"\nreason = \"No\"\n";
    let (upstream, gate) = behind(block).await;
    let kept = Kept::of(&gate.gate);
    once(&gate, chat(says("the secret plan"))).await;
    {
        let requests = kept.requests.lock().unwrap();
        assert_eq!((requests[0].verdict, &requests[0].sent), ("leafgate_blocked", &None));
        assert_eq!(requests[0].rules, ["no"]);
    }
    // The rule that holds is one that matched, where nothing can be replaced too.
    let mail = crate::kit::gate(REDACT_EMAIL, &upstream.url()).await;
    mail.gate.record(Arc::clone(&kept) as _);
    once(&mail, post(&format!("/v1/chat/completions?to={EMAIL}"), says("hello"))).await;
    {
        let requests = kept.requests.lock().unwrap();
        assert_eq!(
            (requests[1].verdict, &requests[1].rules[..]),
            ("leafgate_blocked", &["mail".to_owned()][..])
        );
        assert_eq!(mail.gate.status().rules[0].requests, 1);
    }
    let open = crate::kit::gate("", &upstream.url()).await;
    open.gate.record(Arc::clone(&kept) as _);
    once(&open, chat(says("hello"))).await;
    assert_eq!(kept.requests.lock().unwrap().len(), 3);
}

#[tokio::test]
async fn a_request_that_a_rule_sends_on_is_told_of_once_from_where_it_went() {
    let (first, other) = (Upstream::silent().await, Upstream::silent().await);
    let mut config = GateConfig::new(first.url().parse().unwrap());
    let upstream = UpstreamConfig::new(other.url().parse().unwrap());
    config.named = vec![NamedUpstream { name: "local".parse().unwrap(), upstream }];
    let rules = "[[rule]]\nid = 'away'\nmatch = {}\naction = 'route'\nto = 'local'\n";
    let gate = gate_of(config, rules).await;
    let kept = Kept::of(&gate.gate);
    once(&gate, chat(says("hello"))).await;
    let requests = kept.requests.lock().unwrap();
    let [record] = &requests[..] else { panic!("{} requests", requests.len()) };
    assert_eq!((&*record.upstream, &record.rules[..]), (&*other.url(), &["away".to_owned()][..]));
    assert_eq!((record.verdict, record.sent.is_some()), ("forwarded", true));
    assert_eq!(record.upstream_name.as_deref(), Some("local"));
}

#[tokio::test]
async fn a_recorder_is_told_the_name_of_an_upstream_and_no_key_of_its_address() {
    let upstream = Upstream::silent().await;
    let key = format!("{}{}", "k3yOfTheHouse", "9f8e7d6c5b4a");
    let target = format!("{}/{key}/openai", upstream.url()).parse().unwrap();
    let mut config = GateConfig::new(upstream.url().parse().unwrap());
    config.named =
        vec![NamedUpstream { name: "house".parse().unwrap(), upstream: UpstreamConfig::new(target) }];
    let gate = gate_of(config, "").await;
    let kept = Kept::of(&gate.gate);
    once(&gate, chat(says("hello"))).await;
    once(&gate, post("/u/house/v1/chat/completions", says("hello"))).await;
    assert_eq!(upstream.seen()[1].target, format!("/{key}/openai/v1/chat/completions"));
    let requests = kept.requests.lock().unwrap();
    let told: Vec<_> =
        requests.iter().map(|record| (record.upstream_name.as_deref(), &*record.upstream)).collect();
    assert_eq!(told, [(None, &*upstream.url()), (Some("house"), &*format!("{}/…/openai", upstream.url()))]);
}
