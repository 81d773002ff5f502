//! Conversations cannot be crossed: who has a name in common with another one gets none of its values, answers to none of its tokens,
//! and neither joins its turns nor takes their place. What is saved for a conversation is tried in `saved`.

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use leafgate_admin::{State, TurnMode};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::pauses::house::{Answer, CANARY, House, chat};

/// One of two conversations: how it begins, and how its client names it.
#[derive(Clone, Copy)]
struct Party {
    opens: &'static str,
    cache_key: &'static str,
    header: Option<(&'static str, &'static str)>,
}

const FIRST: Party = Party { opens: "Hello", cache_key: "cache", header: None };

impl Party {
    fn asks(self, house: &House, says: &str) -> Request<Full<Bytes>> {
        let mut body = chat(says);
        body["messages"][1]["content"] = json!(self.opens);
        body["prompt_cache_key"] = json!(self.cache_key);
        body["user"] = json!("ann");
        let mut request = house.request(body.to_string());
        if let Some((name, value)) = self.header {
            request.headers_mut().insert(name, value.parse().unwrap());
        }
        request
    }

    fn sends(self, house: &House, says: &str) -> JoinHandle<Answer> {
        house.send_raw(self.asks(house, says))
    }
}

/// What the user said last, as it left.
fn said_last(house: &House) -> String {
    let body: Value = serde_json::from_slice(house.upstream.received().last().unwrap()).unwrap();
    body["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap().to_owned()
}

async fn are_apart(one: Party, other: Party) {
    let house = House::start().await;
    // The upstream repeats what was said last: the one who said the value gets it back.
    let answer = one.sends(&house, CANARY).await.unwrap();
    assert!(answer.text().contains(CANARY), "{}", answer.text());
    let token = said_last(&house);
    assert!(token.starts_with("EMAIL_"), "{token}");
    assert!(one.sends(&house, &format!("again {token}")).await.unwrap().text().contains(CANARY));
    // The other one says the token, and learns nothing.
    let answer = other.sends(&house, &format!("again {token}")).await.unwrap();
    assert!(answer.text().contains(&token) && !answer.text().contains(CANARY), "{}", answer.text());

    // The same question of both: neither joins the other's turn, and none takes the other's place.
    let mut events = house.events().await;
    house.choose(TurnMode::InterceptAlways).await;
    let (mine, turn) = (one.sends(&house, "Why?"), events.paused().await);
    let (theirs, their_turn) = (other.sends(&house, "Why?"), events.paused().await);
    assert_ne!((&turn.id, &turn.session), (&their_turn.id, &their_turn.session));
    let waiting = house.pending().await;
    assert!(
        waiting.len() == 2
            && waiting.iter().all(|turn| turn.state == State::Waiting && turn.connections == 1)
    );
    house.cancel(&turn.id).await.unwrap();
    assert_eq!(mine.await.unwrap().refusal().0, "leafgate_cancelled");
    house.let_go(&their_turn.id).await;
    assert_eq!(theirs.await.unwrap().status, 200, "a cancel holds for its own conversation");
    let asked = house.upstream.received().len();
    assert_eq!(one.sends(&house, "Why?").await.unwrap().refusal().0, "leafgate_cancelled");
    assert_eq!(house.upstream.received().len(), asked);
}

#[tokio::test]
async fn a_cache_key_in_common_crosses_nothing() {
    are_apart(FIRST, Party { opens: "Good evening", ..FIRST }).await;
}

#[tokio::test]
async fn a_beginning_in_common_crosses_nothing() {
    are_apart(FIRST, Party { cache_key: "another", ..FIRST }).await;
}

#[tokio::test]
async fn a_window_in_common_crosses_nothing() {
    let window = Some(("vscode-sessionid", "window"));
    are_apart(Party { header: window, ..FIRST }, Party { header: window, opens: "Good evening", ..FIRST })
        .await;
}

#[tokio::test]
async fn sessions_of_their_own_cross_nothing_though_all_else_is_in_common() {
    for name in ["session-id", "x-claude-code-session-id"] {
        let named = |value| Party { header: Some((name, value)), ..FIRST };
        are_apart(named("s-1"), named("s-2")).await;
        are_apart(named("s-1"), FIRST).await;
    }
}

// S0-08
#[tokio::test]
async fn locations_of_one_session_cross_nothing() {
    let at = |place| Party { header: Some(("openai-intent", place)), ..FIRST };
    are_apart(at("conversation-panel"), at("conversation-inline")).await;
}

/// The names of clients are parts of all keys, so one client's session header leads another one nowhere.
#[tokio::test]
async fn the_session_header_of_another_client_crosses_nothing() {
    let party = Party { header: Some(("session-id", "s-1")), ..FIRST };
    let (house, other) = (House::start().await, House::of_client("other").await);
    assert!(party.sends(&house, CANARY).await.unwrap().text().contains(CANARY));
    let token = said_last(&house);
    let answer = party.sends(&other, &format!("again {token}")).await.unwrap();
    assert!(!answer.text().contains(CANARY), "{}", answer.text());
    assert!(party.sends(&other, CANARY).await.unwrap().text().contains(CANARY));
    assert_ne!(said_last(&other), token, "the same value has another token");
    let session = async |house: &House| {
        let listed: leafgate_admin::SessionList = house.get("/v1/sessions").await;
        listed.sessions[0].id.clone()
    };
    assert_ne!(session(&house).await, session(&other).await);
}
