//! Clients that asked for a stream, and how errors reach them before and after it has begun.

use std::time::Duration;

use http::Request;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use serde_json::{Value, json};

use crate::pauses::house::{CANARY, CHAT, House, LONG, RULES, Reply, SOON, ask, chat, streaming};

const KEEPALIVE: &str = ": keepalive\n\n";

/// A gate whose streams begin at once and show signs of life at this pace.
async fn house(reply: Reply, keepalive: Duration) -> House {
    House::with(RULES, reply, |config| {
        config.limits.silence = SOON;
        config.limits.keepalive = keepalive;
    })
    .await
}

/// A begun stream after its first sign of life, and its turn's id.
async fn begun(house: &House, says: &str) -> (Incoming, String) {
    let response = ask(house.address, house.request(streaming(chat(says)).to_string())).await;
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let mut body = response.into_body();
    assert_eq!(next(&mut body).await, KEEPALIVE);
    let turn = house.pending().await.remove(0);
    (body, turn.id)
}

async fn next(body: &mut Incoming) -> String {
    let frame = body.frame().await.expect("the stream goes on").unwrap();
    String::from_utf8(frame.into_data().unwrap().to_vec()).unwrap()
}

async fn rest(body: Incoming) -> String {
    String::from_utf8(body.collect().await.unwrap().to_bytes().to_vec()).unwrap()
}

/// The error of a stream's only and last event.
fn error(stream: &str) -> Value {
    let data = stream.strip_prefix("data: ").and_then(|rest| rest.strip_suffix("\n\n")).expect(stream);
    assert!(!data.contains('\n'), "one line: {stream}");
    serde_json::from_str::<Value>(data).unwrap()["error"].clone()
}

// S0-54
#[tokio::test]
async fn before_the_grace_period_is_over_an_error_has_a_status() {
    let (house, mut events) = House::watched().await;
    let (client, id) = house.holds(&mut events, &streaming(chat("prod-db"))).await;
    house.cancel(&id).await.unwrap();
    assert_eq!(
        client.await.unwrap().refusal().1,
        "held by this gate (rule `production`): Request canceled before sending."
    );
}

#[tokio::test]
async fn before_the_grace_period_is_over_a_resume_passes_the_answer_as_it_is() {
    let (house, mut events) = House::watched_with(RULES, Reply::events("data: [DONE]\n\n"), |_| ()).await;
    let (client, id) = house.holds(&mut events, &streaming(chat("prod-db"))).await;
    house.let_go(&id).await;
    assert_eq!(client.await.unwrap().text(), "data: [DONE]\n\n");
}

#[tokio::test]
async fn a_silent_stream_is_kept_alive_and_goes_on_with_the_answer() {
    let token_free = "data: {\"choices\":[]}\n\ndata: [DONE]\n\n";
    let house = house(Reply::events(token_free), SOON).await;
    let (mut body, id) = begun(&house, "prod-db").await;
    for _ in 0..3 {
        assert_eq!(next(&mut body).await, KEEPALIVE);
    }
    house.let_go(&id).await;
    let rest = rest(body).await;
    assert_eq!(rest.trim_start_matches(KEEPALIVE), token_free);
    assert_eq!(house.upstream.received().len(), 1);
}

#[tokio::test]
async fn tokens_come_back_in_a_stream_that_was_begun() {
    // What the upstream says is the token that it was sent, which is the same for the same value and session.
    let probe = House::start().await;
    probe.send(&chat(CANARY)).await.unwrap();
    let sent: Value = serde_json::from_slice(&probe.upstream.received()[0]).unwrap();
    let token = sent["messages"][3]["content"].as_str().unwrap();
    assert!(token.starts_with("EMAIL_"), "{token}");
    let says = format!(
        "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{token}\"}}}}]}}\n\ndata: [DONE]\n\n"
    );
    let house = house(Reply::events(says.clone()), LONG).await;
    let (body, id) = begun(&house, &format!("prod-db of {CANARY}")).await;
    house.let_go(&id).await;
    assert_eq!(rest(body).await.replace("\"delta\":{\"content\":\"\"}", ""), says.replace(token, CANARY));
}

#[tokio::test]
async fn a_cancel_after_the_grace_period_is_an_event() {
    let house = house(Reply::echo(), LONG).await;
    let (body, id) = begun(&house, "prod-db").await;
    house.cancel(&id).await.unwrap();
    let error = error(&rest(body).await);
    assert_eq!(error["message"], "held by this gate (rule `production`): Request canceled before sending.");
    assert_eq!(
        (&error["code"], &error["type"]),
        (&"leafgate_cancelled".into(), &"invalid_request_error".into())
    );
    assert_eq!(house.upstream.received().len(), 0);
}

/// What a client reads that joins the texts of a stream's events.
fn joined(stream: &str) -> String {
    let data = stream.lines().filter_map(|line| line.strip_prefix("data: "));
    let events = data.filter_map(|data| serde_json::from_str::<Value>(data).ok());
    let texts = ["/choices/0/delta/content", "/delta/text", "/delta"];
    let text = |event: Value| texts.iter().find_map(|at| event.pointer(at)?.as_str().map(str::to_owned));
    events.filter_map(text).collect()
}

// S0-56
#[tokio::test]
async fn where_it_is_wanted_a_cancel_is_the_models_words_and_nothing_is_sent() {
    let said = "held by this gate (rule `production`): Request canceled before sending.";
    let [(_, responses, ..), (_, messages, ..)] = spoken();
    for (path, body) in [
        (CHAT, streaming(chat("prod-db"))),
        ("/v1/responses", responses),
        ("/v1/messages?beta=true", messages),
    ] {
        for (silence, streams) in [(SOON, true), (LONG, true), (LONG, false)] {
            let house = House::with(RULES, Reply::echo(), |config| {
                config.answer_cancelled = true;
                config.limits.silence = silence;
            })
            .await;
            let mut events = house.events().await;
            let mut body = body.clone();
            body["stream"] = streams.into();
            let ask = |house: &House| {
                let request = Request::post(path).header("host", house.address.to_string());
                house.send_raw(request.body(Full::from(body.to_string())).unwrap())
            };
            let client = ask(&house);
            house.cancel(&events.paused().await.id).await.unwrap();
            let answer = client.await.unwrap();
            assert_eq!(answer.status, 200, "{path}");
            // The same question again is answered as the cancelled one, without a person.
            let again = ask(&house).await.unwrap();
            for (answer, said) in
                [(answer, said), (again, "held by this gate: Request canceled before sending.")]
            {
                match streams {
                    true => assert!(joined(answer.text()).starts_with(said), "{path}: {}", answer.text()),
                    false => assert!(answer.text().contains(said), "{path}: {}", answer.text()),
                }
                assert!(!answer.text().contains("error\":{"), "{path}: {}", answer.text());
            }
            assert_eq!(house.upstream.received().len(), 0);
            assert_eq!(house.gate.status().requests.cancelled, 2);
        }
    }
}

// S0-56
#[tokio::test]
async fn what_is_no_models_turn_and_what_nobody_decided_about_stay_errors() {
    let house = House::with(RULES, Reply::echo(), |config| {
        config.answer_cancelled = true;
        config.limits.desk.timeout = SOON;
    })
    .await;
    assert_eq!(house.send(&chat("prod-db")).await.unwrap().refusal().0, "leafgate_timed_out");
    let (house, mut events) =
        House::watched_with(RULES, Reply::echo(), |config| config.answer_cancelled = true).await;
    let request = Request::post("/v1/messages/count_tokens").header("host", house.address.to_string());
    let said = json!({ "model": "m", "messages": [{ "role": "user", "content": "prod-db" }] });
    let client = house.send_raw(request.body(Full::from(said.to_string())).unwrap());
    house.cancel(&events.paused().await.id).await.unwrap();
    assert_eq!(client.await.unwrap().status, 400);
}

/// Path and body of a request that is paused, its sign of life, and the events that a cancel ends it with: name, pointer, word.
type Spoken = (&'static str, Value, &'static str, Vec<(&'static str, &'static str, &'static str)>);

fn spoken() -> [Spoken; 2] {
    let said = json!([{ "role": "user", "content": "prod-db" }]);
    let responses = json!({ "model": "m", "stream": true, "input": said });
    let messages = json!({ "model": "m", "stream": true, "max_tokens": 9, "messages": said });
    let raised = vec![
        ("error", "/error/code", "leafgate_cancelled"),
        ("response.failed", "/response/error/code", "invalid_prompt"),
    ];
    let ping = "event: ping\ndata: {\"type\": \"ping\"}\n\n";
    [
        ("/v1/responses", responses, KEEPALIVE, raised),
        ("/v1/messages?beta=true", messages, ping, vec![("error", "/error/type", "invalid_request_error")]),
    ]
}

#[tokio::test]
async fn each_api_is_kept_alive_and_refused_in_its_own_events() {
    for (path, body, sign, expected) in spoken() {
        let house = house(Reply::echo(), SOON).await;
        let request = Request::post(path).header("host", house.address.to_string());
        let response = ask(house.address, request.body(Full::from(body.to_string())).unwrap()).await;
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        let mut body = response.into_body();
        for _ in 0..3 {
            assert_eq!(next(&mut body).await, sign, "{path}");
        }
        house.cancel(&house.pending().await.remove(0).id).await.unwrap();
        let rest = rest(body).await;
        let events = rest.trim_start_matches(sign).strip_suffix("\n\n").expect(&rest).split("\n\n");
        let events: Vec<_> = events.collect();
        assert_eq!(events.len(), expected.len(), "{rest}");
        for (event, (name, pointer, word)) in events.into_iter().zip(expected) {
            let (named, data) = event.split_once("\ndata: ").expect(event);
            let data: Value = serde_json::from_str(data).unwrap();
            assert_eq!(named, format!("event: {name}"));
            assert_eq!(
                (data["type"].as_str(), data.pointer(pointer).unwrap().as_str()),
                (Some(name), Some(word))
            );
            assert!(
                rest.contains("held by this gate (rule `production`): Request canceled before sending."),
                "{rest}"
            );
        }
        assert_eq!(house.upstream.received().len(), 0);
    }
}

#[tokio::test]
async fn an_error_of_the_upstream_and_what_is_no_stream_are_events_too() {
    let slow = "{\n  \"error\": {\"message\": \"Slow down\", \"type\": \"rate_limit\", \"code\": \"rl\"}\n}";
    let of = |status, kind, body: &str| Reply { status, kind, body: Some(body.to_owned()) };
    for (reply, words, code) in [
        (of(429, "application/json", slow), "Slow down", "rl"),
        (of(502, "text/html", "<p>bad gateway"), "status 502", "leafgate_upstream"),
        (Reply::echo(), "without an event stream", "leafgate_upstream"),
    ] {
        let house = house(reply, LONG).await;
        let (body, id) = begun(&house, "prod-db").await;
        house.let_go(&id).await;
        let error = error(&rest(body).await);
        assert!(error["message"].as_str().unwrap().contains(words), "{error}");
        assert_eq!(error["code"], code);
    }
}

#[tokio::test]
async fn a_client_that_leaves_a_begun_stream_is_noticed() {
    let house = house(Reply::echo(), SOON).await;
    let mut events = house.events().await;
    let (body, id) = begun(&house, "prod-db").await;
    drop(body);
    events.until(&id, leafgate_admin::State::Disconnected).await;
}

// S0-54
#[tokio::test]
async fn who_did_not_ask_for_a_stream_hears_nothing_before_the_answer() {
    let house = house(Reply::echo(), SOON).await;
    let mut events = house.events().await;
    let (client, id) = house.holds(&mut events, &chat("prod-db")).await;
    // A stream that is held as long has begun by now.
    let (body, _) = begun_of_another_session(&house).await;
    assert!(!client.is_finished());
    house.cancel(&id).await.unwrap();
    client.await.unwrap().refusal();
    drop(body);
}

async fn begun_of_another_session(house: &House) -> (Incoming, u16) {
    let body = streaming(crate::pauses::house::other_chat("prod-db elsewhere")).to_string();
    let response = ask(house.address, house.request(body)).await;
    let status = response.status().as_u16();
    (response.into_body(), status)
}
