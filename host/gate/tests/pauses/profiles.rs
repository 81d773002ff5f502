//! Requests that a profile makes and that a person looks at.

use leafgate_admin::Payload;
use serde_json::{Value, json};

use crate::pauses::house::{House, RULES, Reply, chat};

/// A profile that makes every chat.
const PROFILE: &str = r#"
[[assemble]]
id = "vault"
match = {}
agent_mode = true
prompt = { type = "literal", text = "Review." }
"#;

/// The rules of all houses, and the profile with what else it says.
fn rules(rest: &str) -> String {
    format!("{RULES}{PROFILE}{rest}")
}

fn refusing(message: &str) -> Reply {
    let body = json!({ "error": { "message": message } }).to_string();
    Reply { status: 400, kind: "application/json", body: Some(body) }
}

fn with_tools(says: &str) -> Value {
    let mut chat = chat(says);
    chat["tools"] = json!([{ "type": "function", "function": { "name": "look", "parameters": {} } }]);
    chat
}

#[tokio::test]
async fn what_is_shown_is_what_the_profile_made_and_what_leaves() {
    let (house, mut events) = House::watched_with(&rules(""), Reply::echo(), |_| {}).await;
    let (client, id) = house.holds(&mut events, &chat("prod-db?")).await;
    let payload: Payload = house.get(&format!("/v1/pending/{id}/payload")).await;
    assert!(payload.body.expose().contains(r#"{"role":"system","content":"Review."}"#));
    assert!(!payload.body.expose().contains("Be brief"));
    house.let_go(&id).await;
    assert_eq!(client.await.unwrap().status, 200);
    assert_eq!(house.upstream.received(), [payload.body.expose()]);
}

// S3-19
#[tokio::test]
async fn an_approved_body_asks_again_before_it_leaves_in_another_form() {
    let rules = rules("downgrade = { on = [\"tools\"] }\n");
    let (house, mut events) =
        House::watched_with(&rules, refusing("this model does not support tools"), |_| {}).await;
    let client = house.send(&with_tools("prod-db?"));
    let first = events.paused().await;
    // The person takes the words away for which the rule asked.
    house.write(&first.id, "/messages/3/content", "all?").await.unwrap();
    house.let_go(&first.id).await;
    let second = events.paused().await;
    assert_eq!(second.holds[0].rule, "(profile)");
    assert!(second.holds[0].reason.contains("does without"), "{}", second.holds[0].reason);
    assert_eq!(house.upstream.received().len(), 1, "nothing left meanwhile");
    let payload: Payload = house.get(&format!("/v1/pending/{}/payload", second.id)).await;
    assert!(!payload.body.expose().contains("tools"), "it does without");
    assert!(payload.body.expose().contains("all?"), "what the person wrote stays");
    house.let_go(&second.id).await;
    let answer = client.await.unwrap();
    assert_eq!((answer.status, answer.header("leafgate-downgrade")), (400, "tools"));
    assert_eq!(house.upstream.received()[1], payload.body.expose());
}

#[tokio::test]
async fn a_person_who_cancels_the_lesser_form_has_nothing_sent() {
    let rules = rules("downgrade = { on = [\"tools\"] }\n");
    let (house, mut events) =
        House::watched_with(&rules, refusing("this model does not support tools"), |_| {}).await;
    let client = house.send(&with_tools("prod-db?"));
    house.let_go(&events.paused().await.id).await;
    house.cancel(&events.paused().await.id).await.unwrap();
    assert_eq!(client.await.unwrap().refusal().0, "leafgate_cancelled");
    assert_eq!(house.upstream.received().len(), 1);
}

// S3-20
#[tokio::test]
async fn a_person_may_choose_another_model_for_one_that_is_not_there() {
    let rules = rules("downgrade = { else = \"pause\" }\n");
    let (house, mut events) =
        House::watched_with(&rules, refusing("The model `m-1` does not exist"), |_| {}).await;
    let client = house.send(&chat("hello"));
    let turn = events.paused().await;
    assert!(turn.holds[0].reason.contains("choose another one"), "{}", turn.holds[0].reason);
    house.write(&turn.id, "/model", "m-2").await.unwrap();
    house.let_go(&turn.id).await;
    assert_eq!(client.await.unwrap().status, 400, "asked once, then the provider's words");
    let models: Vec<Value> = house
        .upstream
        .received()
        .iter()
        .map(|body| serde_json::from_slice::<Value>(body).unwrap()["model"].clone())
        .collect();
    assert_eq!(models, ["m-1", "m-2"]);
}
