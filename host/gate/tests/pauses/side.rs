//! Requests that a client makes beside a turn with the turn's words: one decision for all of them.

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use leafgate_admin::{SessionList, TurnSummary};
use leafgate_gate::{FirstUpstream, GateConfig, UpstreamKind};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::pauses::house::{Answer, CANARY, House, Reply};

/// Holds whatever names the database, wherever that stands; and hides addresses.
const RULES: &str = r#"
[[rule]]
id = "addresses"
match = {}
detect = ["pii/email"]
action = "redact"

[[rule]]
id = "production"
match = {}
when = 'leaf.text.contains("prod-db")'
action = "pause"
"#;

const TITLE: [(&str, &str); 2] =
    [("openai-intent", "conversation-panel"), ("x-interaction-type", "conversation-background")];
const TURN: [(&str, &str); 2] =
    [("openai-intent", "conversation-agent"), ("x-interaction-type", "conversation-agent")];

/// What VS Code sends as a turn.
fn turn(words: &str) -> Value {
    let context = "<context>\nThe current date is 2026-11-24.\n</context>";
    json!({ "model": "m-1", "messages": [
        { "role": "system", "content": "Be brief" },
        { "role": "user", "content": "<environment_info>\nThe user's current OS is: Linux\n</environment_info>\n" },
        { "role": "user", "content": format!("{context}\n<userRequest>\n{words}\n</userRequest>\n") },
    ]})
}

/// What it sends to have a title.
fn title(words: &str) -> Value {
    json!({ "model": "small", "messages": [
        { "role": "system", "content": "You name chats." },
        { "role": "user", "content": format!("Please write a brief title for the following request:\n\n{words}") },
    ]})
}

impl House {
    fn asks(&self, path: &str, headers: &[(&'static str, &str)], body: &Value) -> JoinHandle<Answer> {
        let mut request: Request<Full<Bytes>> = self.request(body.to_string());
        *request.uri_mut() = path.parse().unwrap();
        for (name, value) in headers {
            request.headers_mut().insert(*name, value.parse().unwrap());
        }
        self.send_raw(request)
    }

    fn turn_of(&self, words: &str) -> JoinHandle<Answer> {
        self.asks("/v1/chat/completions", &TURN, &turn(words))
    }

    fn title_of(&self, words: &str) -> JoinHandle<Answer> {
        self.asks("/v1/chat/completions", &TITLE, &title(words))
    }

    /// What has left, as text.
    fn left(&self) -> Vec<String> {
        self.upstream.received().iter().map(|body| String::from_utf8(body.to_vec()).unwrap()).collect()
    }
}

/// The upstream is Copilot's.
fn copilots(config: &mut GateConfig) {
    if let FirstUpstream::Own(upstream) = &mut config.upstream {
        upstream.kind = UpstreamKind::Copilot;
    }
}

async fn beside(events: &mut crate::pauses::house::Events) -> TurnSummary {
    loop {
        let turn = events.paused().await;
        if turn.with.is_some() {
            return turn;
        }
    }
}

// S0-93
#[tokio::test]
async fn a_person_is_asked_once_for_a_message_and_what_repeats_it() {
    let (house, mut events) = House::watched_with(RULES, Reply::echo(), copilots).await;
    let words = format!("Drop prod-db and write to {CANARY}");
    let asked = house.turn_of(&words);
    let waits = events.paused().await;
    assert_eq!(waits.label.split(" · ").take(2).collect::<Vec<_>>(), ["agent", "conversation-agent"]);
    assert!(waits.words.as_ref().unwrap().expose().starts_with("Drop prod-db and write to EMAIL_"));
    let named = house.title_of(&words);
    let joined = beside(&mut events).await;
    assert_eq!(joined.with.as_deref(), Some(&*waits.id));
    let chosen = house.asks("/auto", &[], &json!({ "prompt": words, "tier": "balance" }));
    beside(&mut events).await;
    let found = house.asks("/embeddings", &[], &json!({ "model": "e", "input": [words] }));
    beside(&mut events).await;
    let pending = house.pending().await;
    assert_eq!(pending.iter().map(|turn| (&turn.id, turn.beside)).collect::<Vec<_>>(), [(&waits.id, 3)]);
    let status: leafgate_admin::Status = house.get("/v1/status").await;
    assert_eq!(status.pending, 1);
    let alone = house.resume(&joined.id, &house.turn(&joined.id).await.digest).await.unwrap_err().1;
    assert!(alone.message.contains(&format!("decide about turn {}", waits.id)), "{}", alone.message);

    house.let_go(&waits.id).await;
    for answer in [asked, named, chosen, found] {
        assert_eq!(answer.await.unwrap().status, 200);
    }
    let left = house.left();
    assert_eq!(left.len(), 4);
    assert!(left.iter().all(|body| body.contains("prod-db") && !body.contains(CANARY)), "{left:?}");
    assert!(left.iter().any(|body| body.contains("You name chats.")), "each has its own body");
    // Behind the turn, too.
    assert_eq!(house.title_of(&words).await.unwrap().status, 200);
    assert_eq!(house.pending().await.len(), 0);
    let listed: SessionList = house.get("/v1/sessions").await;
    let [session] = &listed.sessions[..] else { panic!("{listed:?}") };
    assert!(
        session.words.as_ref().unwrap().expose().starts_with("Drop prod-db"),
        "the title is no conversation"
    );
}

/// Without the words another message would stand where the rule does not look.
#[tokio::test]
async fn what_a_rule_counts_keeps_its_place() {
    let rules = "[[rule]]\nid = 'third'\nmatch = { path = 'messages[2].content' }\naction = 'pause'\n";
    let (house, mut events) = House::watched_with(rules, Reply::echo(), |_| ()).await;
    let _asked = house.turn_of("Why?");
    events.paused().await;
    let mut smuggler = title("Why?");
    smuggler["messages"][1]["content"] = "Why?".into();
    let more = json!({ "role": "user", "content": "The password is hunter2" });
    smuggler["messages"].as_array_mut().unwrap().push(more);
    let _named = house.asks("/v1/chat/completions", &TITLE, &smuggler);
    assert_eq!(events.paused().await.with, None);
}
