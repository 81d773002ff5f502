//! One turn from its pause to its end.

use std::io::Write as _;

use bytes::Bytes;
use http::Method;
use leafgate_admin::{EditCommand, ErrorCode, Payload, State};
use serde_json::json;

use crate::pauses::house::{CANARY, House, RULES, Reply, SOON, chat};

// S0-122
#[tokio::test]
async fn what_our_edits_made_invalid_waits_until_they_are_taken_back() {
    let rules = "[[rule]]\nid = 'none'\nmatch = { section = 'user' }\naction = 'delete'\n";
    let (house, mut events) = House::watched_with(rules, Reply::echo(), |_| {}).await;
    let (client, id) = house.holds(&mut events, &chat("hello")).await;
    let turn = house.turn(&id).await;
    assert!(turn.invalid.is_some_and(|why| why.contains("would answer itself")));
    let (status, error) = house.resume(&id, &turn.digest).await.unwrap_err();
    assert_eq!((status, error.code), (409, ErrorCode::Invalid));
    house.edit(&id, &EditCommand::Reset).await.unwrap();
    house.let_go(&id).await;
    assert_eq!(client.await.unwrap().status, 200);
    assert_eq!(house.upstream.received(), [Bytes::from(chat("hello").to_string())], "as it came, and once");
}

// S0-02, S0-63, S0-65, S0-108
#[tokio::test]
async fn invariant_4_a_resume_sends_exactly_the_bytes_that_were_shown() {
    let (house, mut events) = House::watched().await;
    let client = house.send(&chat(&format!("{CANARY} asks about prod-db")));
    let paused = events.paused().await;
    assert_eq!(paused.holds[0].named(), "production (high)");
    assert_eq!(paused.holds[0].reason, "Names the production database");
    assert!(paused.label.starts_with("chat · other · …"), "{}", paused.label);
    assert_eq!((paused.state, paused.redactions, paused.model.as_str()), (State::Waiting, 1, "m-1"));

    let payload: Payload = house.get(&format!("/v1/pending/{}/payload", paused.id)).await;
    assert_eq!(house.turn(&paused.id).await.digest, payload.digest);
    assert_eq!(house.digest(payload.body.expose().as_bytes()), payload.digest);
    let resumed = house.resume(&paused.id, &payload.digest).await.unwrap();
    assert_eq!((resumed.state, resumed.left_ms), (State::Resumed, 0));

    let answer = client.await.unwrap();
    assert_eq!((answer.status, answer.header("leafgate-edits")), (200, "1"));
    assert_eq!(answer.header("leafgate-generation"), paused.generation);
    assert!(answer.text().contains(CANARY), "the answer is restored like any other");
    assert_eq!(house.upstream.received(), [payload.body.expose()]);
    assert_eq!(events.until(&paused.id, State::Resumed).await.generation, paused.generation);
}

// S0-34, S0-43, S1-11
#[tokio::test]
async fn invariant_11_an_edit_that_is_undone_leaves_the_very_bytes() {
    let (house, mut events) = House::watched().await;
    let body = chat("prod-db, please");
    let (client, id) = house.holds(&mut events, &body).await;
    let before = house.turn(&id).await;
    let edited = house.write(&id, "/messages/3/content", "test-db, please").await.unwrap();
    assert_ne!(edited.digest, before.digest);
    assert_eq!((edited.edits.len(), edited.edits[0].author.as_str()), (1, "person"));
    assert!(edited.can_undo && !edited.can_redo);
    let undone = house.edit(&id, &EditCommand::Undo).await.unwrap();
    assert_eq!(undone.digest, before.digest);
    assert!(!undone.can_undo && undone.can_redo && undone.version > edited.version);
    let dirty = [before.is_dirty, edited.is_dirty, undone.is_dirty];
    assert_eq!(dirty, [false, true, false], "it says what differs, not what was done");
    house.resume(&id, &undone.digest).await.unwrap();
    assert_eq!(client.await.unwrap().status, 200);
    assert_eq!(house.upstream.received(), [body.to_string()]);
}

/// It leaves under its own header, which nobody has searched yet.
#[tokio::test]
async fn a_request_that_comes_again_is_searched_outside_its_body_before_it_joins() {
    let (house, mut events) = House::watched().await;
    let body = chat("prod-db");
    let (first, id) = house.holds(&mut events, &body).await;
    let mut again = house.request(body.to_string());
    again.headers_mut().insert("baggage", CANARY.parse().unwrap());
    assert_eq!(house.send_raw(again).await.unwrap().refusal().0, "leafgate_blocked");
    house.let_go(&id).await;
    assert_eq!(first.await.unwrap().status, 200);
}

/// Google's clients may put their key into the query.
#[tokio::test]
async fn a_key_in_the_query_is_shown_to_nobody_and_leaves_as_it_came() {
    let (house, mut events) = House::watched().await;
    let ask = |key: &str| {
        let body = json!({ "contents": [{ "role": "user", "parts": [{ "text": "prod-db" }] }] });
        let mut request = house.request(body.to_string());
        let path = format!("/v1beta/models/m:generateContent?alt=json&key={key}");
        *request.uri_mut() = path.parse().unwrap();
        house.send_raw(request)
    };
    // What is read of the admin API, and the log, must not hold the canary.
    let first = ask(CANARY);
    let id = events.paused().await.id;
    assert_eq!(house.pending().await.len(), 1);
    house.get::<Payload>(&format!("/v1/pending/{id}/payload")).await;
    house.call(Method::GET, &format!("/v1/pending/{id}/diff"), None).await;
    let again = ask("renewed");
    let first = first.await.unwrap();
    assert!(first.text().contains("LEAFGATE_REPLACED"), "it is the same request: {}", first.text());
    house.let_go(&id).await;
    assert_eq!(again.await.unwrap().status, 200);
    assert_eq!(house.upstream.targets(), ["/v1beta/models/m:generateContent?alt=json&key=renewed"]);
}

/// What the desk refuses is a state of its own to whoever asked.
#[tokio::test]
async fn who_may_not_resume_is_told_by_a_code() {
    let (house, mut events) = House::watched().await;
    let (client, id) = house.holds(&mut events, &chat("prod-db")).await;
    let _behind = house.send(&chat("prod-db, again"));
    let queued = events.paused().await;
    assert_eq!(queued.state, State::Queued);
    let blocked = house.write(&id, "/messages/3/content", "prod-db: rm -rf /").await.unwrap();
    let mut cases = vec![
        (queued.id.clone(), house.turn(&queued.id).await.digest, ErrorCode::Queued),
        (id.clone(), blocked.digest.clone(), ErrorCode::Blocked),
    ];
    for gone in [false, true] {
        if gone {
            client.abort();
            events.until(&id, State::Disconnected).await;
            cases = vec![(id.clone(), blocked.digest.clone(), ErrorCode::Disconnected)];
        }
        for (id, digest, code) in &cases {
            let (status, error) = house.resume(id, digest).await.unwrap_err();
            assert_eq!((status, error.code), (409, *code));
        }
    }
    assert_eq!(house.upstream.received().len(), 0);
}

// S0-53, S0-63
#[tokio::test]
async fn a_cancelled_request_is_refused_in_its_dialect_and_never_sent() {
    let (house, mut events) = House::watched().await;
    let (client, id) = house.holds(&mut events, &chat("prod-db")).await;
    assert_eq!(house.cancel(&id).await.unwrap().state, State::Cancelled);
    let answer = client.await.unwrap();
    let words = "held by this gate (rule `production`): Request canceled before sending.";
    assert_eq!(answer.refusal(), ("leafgate_cancelled".to_owned(), words.to_owned()));
    assert_eq!(answer.header("leafgate-generation").len(), 12);
    assert_eq!(house.upstream.received().len(), 0);
    assert!(house.pending().await.is_empty());
    let counts = house.gate.status().requests;
    assert_eq!((counts.paused, counts.cancelled, counts.forwarded, counts.blocked), (1, 1, 0, 0));
}

// S0-54
#[tokio::test]
async fn a_deadline_cancels_where_nothing_else_is_said() {
    let house = House::with(RULES, Reply::echo(), |config| config.limits.desk.timeout = SOON).await;
    let (code, message) = house.send(&chat("prod-db")).await.unwrap().refusal();
    assert_eq!(code, "leafgate_timed_out");
    let words =
        format!("(rule `production`): nobody decided about this request within {} s", SOON.as_secs_f64());
    assert!(message.contains(&words), "{message}");
    assert_eq!(house.upstream.received().len(), 0);
    // The clock goes on after a deadline: the next one is met too.
    assert_eq!(house.send(&chat("prod-db")).await.unwrap().refusal().0, "leafgate_timed_out");
}

// S0-117
#[tokio::test]
async fn a_client_that_goes_away_takes_its_turn_along_after_a_while() {
    let (house, mut events) =
        House::watched_with(RULES, Reply::echo(), |config| config.limits.desk.linger = SOON).await;
    let (client, id) = house.holds(&mut events, &chat("prod-db")).await;
    client.abort();
    let gone = events.until(&id, State::Disconnected).await;
    assert_eq!(gone.connections, 0);
    events.until(&id, State::Cancelled).await;
    assert_eq!(house.upstream.received().len(), 0);
}

// S0-46
#[tokio::test]
async fn a_compressed_body_leaves_as_it_came_unless_it_was_edited() {
    let (house, mut events) = House::watched().await;
    let plain = chat("prod-db").to_string();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(plain.as_bytes()).unwrap();
    let packed = gzip.finish().unwrap();
    for edit in [false, true] {
        let mut request = house.request(packed.clone());
        request.headers_mut().insert("content-encoding", "gzip".parse().unwrap());
        let client = house.send_raw(request);
        let id = events.paused().await.id;
        if edit {
            house.write(&id, "/model", "m-2").await.unwrap();
        }
        house.let_go(&id).await;
        assert_eq!(client.await.unwrap().status, 200);
    }
    let received = house.upstream.received();
    assert_eq!(received[0], packed);
    assert_eq!(received[1], plain.replace("m-1", "m-2"));
}

#[tokio::test]
async fn a_gate_that_stops_answers_who_waits() {
    let mut house = House::start().await;
    let mut events = house.events().await;
    let (client, id) = house.holds(&mut events, &chat("prod-db")).await;
    house.stop().await;
    let (code, message) = client.await.unwrap().refusal();
    assert_eq!(code, "leafgate_cancelled");
    assert!(message.contains("the gate is stopping"), "{message}");
    events.until(&id, State::Cancelled).await;
    assert_eq!(house.upstream.received().len(), 0);
}
