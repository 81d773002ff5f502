//! A person releases a redaction through the admin API: where its rule says so, for one request.

use http::Method;
use leafgate_admin::{EditCommand, ErrorCode, RedactedSpan, TurnView};
use serde_json::json;

use crate::pauses::house::{House, Reply, chat};

const RULES: &str = r#"
[[rule]]
id = "contacts"
match = {}
detect = ["pii/email"]
action = "redact"
releasable = true

[[rule]]
id = "cards"
match = {}
detect = ["pii/payment-card"]
action = "redact"

[[rule]]
id = "production"
match = {}
when = 'leaf.text.contains("prod-db")'
action = "pause"
reason = "Names the production database"
"#;

const EMAIL: &str = "jo.released@mail.example.org";

/// A card number of tests, put together.
fn card() -> String {
    format!("{}{}", "45395787", "63621486")
}

fn spans(turn: &TurnView) -> (Vec<RedactedSpan>, Vec<RedactedSpan>) {
    let mut leaves = turn.sections.iter().flat_map(|section| &section.leaves);
    let leaf = leaves.rfind(|leaf| leaf.pointer == "/messages/3/content").unwrap();
    (leaf.redacted.clone(), leaf.released.clone())
}

fn release(span: &RedactedSpan) -> EditCommand {
    EditCommand::Release { redaction: span.redaction.unwrap() }
}

#[tokio::test]
async fn a_released_value_is_shown_leaves_and_is_redacted_in_the_next_request() {
    let (house, mut events) = House::watched_with(RULES, Reply::echo(), |_| {}).await;
    let body = chat(&format!("prod-db: {EMAIL} paid with {}", card()));
    let (client, id) = house.holds(&mut events, &body).await;
    let turn = house.turn(&id).await;
    let (redacted, released) = spans(&turn);
    assert_eq!((redacted.len(), released.len()), (2, 0));
    let (email, card_span) = (&redacted[0], &redacted[1]);
    assert_eq!((&*email.label, email.author.as_deref()), ("EMAIL", Some("rule contacts")));
    assert!(email.releasable && email.kept_by.is_none());
    assert_eq!((card_span.releasable, card_span.kept_by.as_deref()), (false, Some("rule cards")));

    // What its rule keeps is refused, with the reason; so is what is not there.
    let (status, error) = house.edit(&id, &release(card_span)).await.unwrap_err();
    assert_eq!((status, error.code), (403, ErrorCode::NotReleasable));
    assert!(error.message.starts_with("rule cards keeps this value from leaving"), "{}", error.message);
    let (status, error) = house.edit(&id, &EditCommand::Release { redaction: 99 }).await.unwrap_err();
    assert_eq!((status, error.code), (404, ErrorCode::NotFound));

    let shown = house.edit(&id, &release(email)).await.unwrap();
    assert_ne!(shown.digest, turn.digest);
    let (redacted, released) = spans(&shown);
    assert_eq!((redacted.len(), released.len(), &*released[0].label), (1, 1, "EMAIL"));
    let made = shown.edits.last().unwrap();
    assert_eq!((&*made.kind, &*made.author, made.stands), ("release", "person", true));
    assert_eq!(
        (made.label.as_deref(), made.released_from.as_deref()),
        (Some("EMAIL"), Some("rule contacts"))
    );
    // The second reviewer is told, and neither may resume what the first one saw.
    let (status, error) = house.edit(&id, &release(email)).await.unwrap_err();
    assert_eq!((status, error.code), (409, ErrorCode::Conflict));
    let (status, error) = house.resume(&id, &turn.digest).await.unwrap_err();
    assert_eq!((status, error.code), (409, ErrorCode::Stale));
    // The history of a turn with its values names what was released, and spells it nowhere.
    let whole = house.call(Method::GET, &format!("/v1/pending/{id}/request"), None).await;
    let history =
        serde_json::from_slice::<serde_json::Value>(&whole.body).unwrap()["editHistory"].to_string();
    assert!(history.contains(r#""kind":"release""#) && !history.contains(EMAIL), "{history}");
    // Nothing of it is saved for later turns.
    let kept = house.call(Method::POST, &format!("/v1/pending/{id}/capture"), Some(&json!({}))).await;
    assert!(!String::from_utf8_lossy(&kept.body).contains(EMAIL));

    house.let_go(&id).await;
    assert_eq!(client.await.unwrap().status, 200);
    let sent = String::from_utf8(house.upstream.received()[0].to_vec()).unwrap();
    assert!(sent.contains(EMAIL) && !sent.contains(&card()), "{sent}");

    // The conversation goes on, and what was released is redacted again.
    let (again, next) = house.holds(&mut events, &body).await;
    let (redacted, released) = spans(&house.turn(&next).await);
    assert_eq!((redacted.len(), released.len()), (2, 0));
    house.let_go(&next).await;
    assert!(again.await.unwrap().text().contains(EMAIL), "its token is restored as ever");
    assert!(!String::from_utf8_lossy(&house.upstream.received()[1]).contains(EMAIL));
}
