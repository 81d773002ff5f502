//! The value of a token is for the person at this machine: on record before it is given, and in no log.

use std::sync::Arc;

use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderValue, Method};
use leafgate_admin::{ApiError, ErrorCode, Revealed};
use serde_json::{Value, json};

use crate::logs;
use crate::pauses::house::{Answer, CANARY, House, RULES, Reply, ask, chat, read};
use crate::recorder::{Kept, Says};

fn keeps(house: &House, can: bool) -> Arc<Kept> {
    let of_reveals = if can { Says::Waits } else { Says::Lost };
    Kept { of_reveals, ..Kept::default() }.keeps(&house.gate)
}

/// Has a chat with the canary sent, and returns the token that left in its place.
async fn token(house: &House) -> String {
    house.send(&chat(CANARY)).await.unwrap();
    let sent: Value = serde_json::from_slice(&house.upstream.received()[0]).unwrap();
    sent["messages"][3]["content"].as_str().unwrap().to_owned()
}

async fn reveal(house: &House, command: &Value) -> Answer {
    read(ask(house.admin, house.admin_request(Method::POST, "/v1/reveal", Some(command))).await).await
}

fn refused(answer: &Answer) -> ApiError {
    assert_ne!(answer.status, 200, "{}", answer.text());
    assert!(!answer.text().contains(CANARY), "{}", answer.text());
    answer.json()
}

#[tokio::test]
async fn a_value_is_revealed_once_it_is_on_record_who_asked() {
    let house = House::start().await;
    let kept = keeps(&house, true);
    let token = token(&house).await;
    for spelled in [token.clone(), token.to_lowercase()] {
        let answer = reveal(&house, &json!({ "token": spelled, "by": "ann (uid 7)" })).await;
        assert_eq!((answer.status, answer.header("cache-control")), (200, "no-store"), "{}", answer.text());
        let revealed: Revealed = answer.json();
        assert_eq!((revealed.value.expose(), &revealed.token), (CANARY, &token));
        assert!(!format!("{revealed:?}").contains(CANARY));
        let record = kept.reveals.lock().unwrap().pop().unwrap();
        assert_eq!(
            (&record.token, &*record.by, &*record.session),
            (&token, "ann (uid 7)", &*revealed.session)
        );
    }
    assert!(logs::logged().contains("the value of a token is asked for"));
    logs::assert_clean();
}

#[tokio::test]
async fn invariant_7_what_cannot_be_put_on_record_is_not_revealed() {
    let house = House::start().await;
    let kept = keeps(&house, false);
    let token = token(&house).await;
    let error = refused(&reveal(&house, &json!({ "token": token, "by": "ann" })).await);
    assert_eq!(error.code, ErrorCode::Internal);
    assert!(error.message.contains("nothing is revealed"), "{}", error.message);
    assert_eq!(kept.reveals.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn tokens_that_are_none_or_have_expired_are_told_apart() {
    let house = House::start().await;
    let kept = keeps(&house, true);
    let token = token(&house).await;
    let other = House::start().await;
    let expired = refused(&reveal(&other, &json!({ "token": token, "by": "ann" })).await);
    assert_eq!(expired.code, ErrorCode::NotFound);
    assert!(expired.message.contains("it has expired") && expired.hint.is_some(), "{}", expired.message);
    let wrong = match token.strip_suffix('0') {
        Some(begin) => format!("{begin}1"),
        None => format!("{}0", &token[..token.len() - 1]),
    };
    let foreign = House::of_client("somebody else").await;
    for (house, token) in
        [(&house, &*wrong), (&house, ""), (&house, "EMAIL"), (&house, CANARY), (&foreign, &token)]
    {
        let error = refused(&reveal(house, &json!({ "token": token, "by": "ann" })).await);
        assert_eq!(error.code, ErrorCode::NotFound, "{token}");
        assert!(error.message.contains("no token of this installation"), "{token}: {}", error.message);
    }
    for by in ["", "two\nlines", "é", &"x".repeat(65)] {
        let error = refused(&reveal(&house, &json!({ "token": token, "by": by })).await);
        assert_eq!(error.code, ErrorCode::Malformed, "{by:?}");
    }
    assert!(kept.reveals.lock().unwrap().is_empty(), "what is not given is not asked for");
}

#[tokio::test]
async fn a_value_that_a_rule_gives_back_to_nobody_is_not_revealed() {
    let rules = RULES.replacen("action = \"redact\"", "action = \"redact\"\nrestore = \"off\"", 1);
    let house = House::with(&rules, Reply::echo(), |_| ()).await;
    let token = token(&house).await;
    let error = refused(&reveal(&house, &json!({ "token": token, "by": "ann" })).await);
    assert_eq!(error.code, ErrorCode::Blocked);
}

#[tokio::test]
async fn nobody_else_is_told_a_value() {
    let house = House::start().await;
    let kept = keeps(&house, true);
    let token = token(&house).await;
    let command = json!({ "token": token, "by": "ann" });
    let call = || house.admin_request(Method::POST, "/v1/reveal", Some(&command));
    let (mut unknown, mut guessed, mut page, mut form) = (call(), call(), call(), call());
    unknown.headers_mut().remove(AUTHORIZATION);
    guessed
        .headers_mut()
        .insert(AUTHORIZATION, HeaderValue::from_static("Bearer 00000000000000000000000000000000"));
    page.headers_mut().insert("origin", HeaderValue::from_static("https://page.example"));
    form.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    for (request, code) in [
        (unknown, ErrorCode::Unauthorised),
        (guessed, ErrorCode::Unauthorised),
        (page, ErrorCode::ForeignOrigin),
        (form, ErrorCode::NoJson),
    ] {
        assert_eq!(refused(&read(ask(house.admin, request).await).await).code, code);
    }
    // The listener of clients has no such call: it is a path like others there, and leads to the upstream.
    let mut request = house.request(command.to_string());
    *request.uri_mut() = "/v1/reveal".parse().unwrap();
    let answer = read(ask(house.address, request).await).await;
    assert!(!answer.text().contains("\"value\""), "{}", answer.text());
    assert!(kept.reveals.lock().unwrap().is_empty());
}
