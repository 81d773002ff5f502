//! Modes and conversations, as clients and reviewers meet them.

use std::io;
use std::sync::{Arc, Mutex};

use http::{HeaderValue, Method};
use leafgate_admin::{
    EditableRequest, ErrorCode, Event, ModeView, SessionList, State, SubagentVerdict, Subagents, TurnClass,
    TurnMode,
};
use leafgate_tree::Role;
use serde_json::{Value, json};

use crate::pauses::house::{Answer, CANARY, House, RULES, Reply, ask, chat, other_chat, read};

fn refused(answer: &Answer, code: &str, words: &str) {
    let (said, message) = answer.refusal();
    assert_eq!(said, code);
    assert!(message.contains(words), "{message}");
}

// S0-53, S0-56, S0-58
#[tokio::test]
async fn a_mode_pauses_what_no_rule_holds_and_turning_off_gives_it_up() {
    let (house, mut events) = House::watched().await;
    assert_eq!(house.send(&chat("Hi")).await.unwrap().status, 200);
    let chosen = house.choose(TurnMode::InterceptAlways).await;
    assert_eq!(
        (chosen.mode, chosen.lasting, chosen.pending),
        (TurnMode::InterceptAlways, TurnMode::InterceptAlways, 0)
    );
    assert_eq!(chosen.label, "Pause & review every turn");
    assert!(matches!(events.next().await, Event::Mode { mode } if mode == chosen));
    assert_eq!(house.get::<leafgate_admin::Status>("/v1/status").await.mode, Some(chosen));

    let first = house.send(&chat("Hi again"));
    let turn = events.paused().await;
    assert_eq!(
        (turn.mode, turn.class, turn.holds.len()),
        (Some(TurnMode::InterceptAlways), TurnClass::Main, 0)
    );
    house.let_go(&turn.id).await;
    assert_eq!(first.await.unwrap().status, 200);

    let (second, by_mode) = house.holds(&mut events, &chat("Hi once more")).await;
    let (ruled, by_rule) = house.holds(&mut events, &other_chat("prod-db")).await;
    house.choose(TurnMode::Off).await;
    refused(&second.await.unwrap(), "leafgate_cancelled", "Prompt Interception Mode was disabled.");
    assert_eq!(events.until(&by_mode, State::Cancelled).await.ending.as_deref(), Some("modeDisabled"));
    house.let_go(&by_rule).await;
    assert_eq!(ruled.await.unwrap().status, 200);
    assert_eq!(house.upstream.received().len(), 3);
}

// S0-94, S0-95, S0-96, S0-97, S0-98, S0-99
#[tokio::test]
async fn the_monitor_lists_what_agents_asked_as_it_would_leave() {
    let house = House::start().await;
    house.choose(TurnMode::InterceptAlways).await;
    let asks = |says: &str| {
        let mut request = house.request(chat(says).to_string());
        request.headers_mut().insert("x-claude-code-agent-id", "a9daf662".parse().unwrap());
        house.send_raw(request)
    };
    for number in 0..11 {
        assert_eq!(asks(&format!("{number}: write to {CANARY}")).await.unwrap().status, 200);
    }
    let mut events = house.events().await;
    let held = asks("prod-db for me");
    let turn = events.paused().await.id;
    let answer = house.call(Method::GET, "/v1/subagents", None).await;
    assert!(answer.text().contains("10: write to") && !answer.text().contains(CANARY), "{}", answer.text());
    let listed: Subagents = answer.json();
    assert_eq!((listed.requests.len(), listed.seen, listed.trimmed), (10, 12, 2));
    let page = house.call(Method::GET, "/metrics", None).await;
    for line in [
        "leafgate_subagents_total{event=\"seen\"} 12",
        "leafgate_subagents_total{event=\"trimmed\"} 2",
        "leafgate_admin_calls_total{call=\"subagents\"} 1",
    ] {
        assert!(page.text().lines().any(|written| written == line), "{line} in {}", page.text());
    }
    let verdicts: Vec<_> = listed.requests.iter().map(|request| request.verdict).collect();
    assert_eq!(verdicts[0], SubagentVerdict::Held);
    assert!(verdicts[1..].iter().all(|verdict| *verdict == SubagentVerdict::Sent));
    let second = &listed.requests[1];
    assert_eq!((second.agent.as_deref(), second.redactions, second.number), (Some("a9daf662"), 1, 11));
    assert!(second.sections.iter().any(|section| section.role == Role::User && section.bytes > 0));
    house.let_go(&turn).await;
    assert_eq!(held.await.unwrap().status, 200);
}

// S0-87, S0-89, S0-90, S0-117, S0-118
#[tokio::test]
async fn conversations_are_listed_selected_followed_and_closed() {
    let (house, mut events) = House::watched().await;
    house.send(&other_chat("One")).await.unwrap();
    let Event::Sessions { active: Some(active), follow: true } = events.told().await else {
        panic!("the first conversation is the active one")
    };
    house.send(&other_chat("Two")).await.unwrap();
    let listed: SessionList = house.get("/v1/sessions").await;
    let [newest, older] = &listed.sessions[..] else { panic!("{listed:?}") };
    assert!(newest.active && !older.active && older.id == active.id && listed.follow);
    let end = &older.id[older.id.len() - 6..];
    assert_eq!(older.label, format!("chat · other · …{end}"));

    let path = format!("/v1/sessions/{}", older.id);
    let call = async |method, path: &str, body: Option<&Value>| house.call(method, path, body).await;
    let selected: SessionList = call(Method::POST, &format!("{path}/select"), Some(&json!({}))).await.json();
    assert!(selected.sessions[1].active && !selected.follow);
    let status: leafgate_admin::Status = house.get("/v1/status").await;
    assert_eq!((status.active.map(|session| session.id), status.follow), (Some(older.id.clone()), false));
    house.choose(TurnMode::InterceptAlways).await;
    assert_eq!(house.send(&other_chat("Two")).await.unwrap().status, 200, "it is not the active one");
    let client = house.send(&other_chat("One"));
    events.paused().await;
    let closed: SessionList = call(Method::DELETE, &path, None).await.json();
    assert_eq!(closed.sessions.len(), 1);
    refused(&client.await.unwrap(), "leafgate_cancelled", "Chat context changed");
    let again = call(Method::DELETE, &path, None).await;
    let error: leafgate_admin::ApiError = again.json();
    assert_eq!((again.status, error.code), (404, ErrorCode::NotFound));
    let followed: SessionList =
        call(Method::PUT, "/v1/sessions", Some(&json!({ "follow": true }))).await.json();
    assert!(followed.follow && followed.sessions[0].active);
}

/// Each process knows its own conversations, turns and mode, and the token of one opens no other.
// S0-91, S0-92
#[tokio::test]
async fn two_gates_know_nothing_of_each_other() {
    let (one, other) = (House::start().await, House::start().await);
    one.choose(TurnMode::InterceptAlways).await;
    let mut events = one.events().await;
    let client = one.send(&chat("Hi"));
    let turn = events.paused().await;
    assert_eq!(
        other.send(&chat("Hi")).await.unwrap().status,
        200,
        "the same chat, and the same session's name"
    );
    assert!(other.pending().await.is_empty());
    assert_eq!(other.get::<ModeView>("/v1/mode").await.mode, TurnMode::Off);
    let listed = async |house: &House| house.get::<SessionList>("/v1/sessions").await.sessions;
    let [here, there] = [&listed(&one).await[..], &listed(&other).await[..]].map(|list| match list {
        [only] => (only.id.clone(), only.pending),
        _ => panic!("{list:?}"),
    });
    assert_eq!((here.1, there.1), (1, 0));
    assert_eq!(other.cancel(&turn.id).await.unwrap_err().0, 404);
    let mut foreign = other.admin_request(Method::GET, "/v1/pending", None);
    let token = format!("Bearer {}", one.token);
    foreign.headers_mut().insert("authorization", token.parse().unwrap());
    assert_eq!(read(ask(other.admin, foreign).await).await.status, 401);
    assert_eq!(one.pending().await[0].state, State::Waiting);
    one.let_go(&turn.id).await;
    assert_eq!(client.await.unwrap().status, 200);
}

#[tokio::test]
async fn each_choice_is_kept_before_it_is_acknowledged_and_a_failure_is_told() {
    let house = House::start().await;
    let kept: Arc<Mutex<Vec<TurnMode>>> = Arc::default();
    let keep = Arc::clone(&kept);
    house.gate.keep_mode(TurnMode::InterceptAlways, move |mode| {
        if mode == TurnMode::Off {
            return Err(io::Error::other("the disk is full"));
        }
        keep.lock().unwrap().push(mode);
        Ok(())
    });
    assert_eq!(house.get::<ModeView>("/v1/mode").await.mode, TurnMode::InterceptAlways);
    for mode in [TurnMode::InterceptOnce, TurnMode::AutoOverride] {
        assert_eq!(house.choose(mode).await.not_kept, None);
    }
    assert_eq!(*kept.lock().unwrap(), [TurnMode::InterceptAlways, TurnMode::AutoOverride]);
    let off = house.choose(TurnMode::Off).await;
    assert_eq!((off.mode, off.not_kept.as_deref()), (TurnMode::Off, Some("the disk is full")));
}

// S0-14
#[tokio::test]
async fn only_paths_of_the_list_are_paused_by_a_mode_and_rules_run_everywhere() {
    let listed = |path: &'static str| {
        House::with(RULES, Reply::echo(), move |config| config.intercept = vec![path.parse().unwrap()])
    };
    let other = listed("/v1/messages").await;
    other.choose(TurnMode::InterceptAlways).await;
    let mut events = other.events().await;
    assert_eq!(other.send(&chat("Hi")).await.unwrap().status, 200);
    let ruled = other.send(&chat("prod-db"));
    let turn = events.paused().await;
    assert_eq!((turn.mode, turn.holds.len()), (None, 1));
    other.let_go(&turn.id).await;
    assert_eq!(ruled.await.unwrap().status, 200);

    let house = listed("/v1/chat/*").await;
    house.choose(TurnMode::InterceptAlways).await;
    let mut events = house.events().await;
    let sent = house.send(&chat("Hi"));
    let turn = events.paused().await;
    assert_eq!(turn.mode, Some(TurnMode::InterceptAlways));
    house.let_go(&turn.id).await;
    assert_eq!(sent.await.unwrap().status, 200);
}

// S0-14, S0-64, S0-130
#[tokio::test]
async fn locations_are_left_out_and_a_named_path_is_paused_whatever_is_asked_there() {
    let house = House::with(RULES, Reply::echo(), |config| {
        config.intercept = ["!editor", "/v1/chat/*", "/v1/completions"].map(|it| it.parse().unwrap()).into();
    })
    .await;
    let mode = house.choose(TurnMode::InterceptAlways).await;
    assert!(mode.text.ends_with("names waits: !editor, /v1/chat/*, /v1/completions."), "{}", mode.text);
    let mut events = house.events().await;
    let said = |intent: &'static str| {
        let mut request = house.request(chat("Hi").to_string());
        request.headers_mut().insert("openai-intent", HeaderValue::from_static(intent));
        house.send_raw(request)
    };
    assert_eq!(said("conversation-inline").await.unwrap().status, 200);
    let mut named = house.request(r#"{"model":"m-1","prompt":"Hi"}"#);
    *named.uri_mut() = "/v1/completions".parse().unwrap();
    for (sent, label, intent) in [
        (said("conversation-panel"), "panel · conversation-panel · …", Some("conversation-panel")),
        (house.send_raw(named), "request · other · …", None),
    ] {
        let turn = events.paused().await;
        assert_eq!(turn.mode, Some(TurnMode::InterceptAlways));
        let whole: EditableRequest = house.get(&format!("/v1/pending/{}/request", turn.id)).await;
        assert_eq!(whole.metadata.intent.as_deref(), intent);
        assert!(turn.label.starts_with(label), "{}", turn.label);
        house.let_go(&turn.id).await;
        assert_eq!(sent.await.unwrap().status, 200);
    }
    assert!(house.choose(TurnMode::Off).await.text.ends_with("Only rules pause."));
}

/// The house's rules may never be past without a word: off ends by itself, and says what it is.
#[tokio::test]
async fn a_person_switches_the_gate_off_for_a_while_and_everybody_is_told() {
    let (house, mut events) = House::watched().await;
    let switch =
        async |seconds: u32| house.call(Method::PUT, "/v1/off", Some(&json!({ "seconds": seconds }))).await;
    let leaves = async |words: &str| {
        assert_eq!(house.send(&chat(&format!("{words} {CANARY}"))).await.unwrap().status, 200);
        let body = house.upstream.received().pop().unwrap();
        String::from_utf8(body.to_vec()).unwrap().contains(CANARY)
    };
    assert!(!leaves("on").await);
    let off: ModeView = switch(300).await.json();
    assert!(off.off_seconds.is_some_and(|left| (290..=300).contains(&left)), "{off:?}");
    assert!(off.label == "SWITCHED OFF" && off.text.contains("no rule looks at it"), "{off:?}");
    assert!(matches!(events.next().await, Event::Mode { mode } if mode.label == "SWITCHED OFF"));
    assert!(!house.get::<leafgate_admin::Status>("/v1/status").await.enabled);
    assert!(leaves("off").await, "everything passes as it comes");
    assert_eq!(house.send(&chat("rm -rf")).await.unwrap().status, 200);

    let on: ModeView = switch(0).await.json();
    assert_eq!((on.off_seconds, &*on.label), (None, TurnMode::Off.label()));
    assert!(matches!(events.next().await, Event::Mode { mode } if mode.off_seconds.is_none()));
    assert!(!leaves("on again").await);
    assert_eq!(switch(3601).await.status, 400, "an hour at most");
}

#[tokio::test]
async fn a_gate_is_not_switched_off_where_its_operator_forbids_it() {
    let house = House::with(RULES, Reply::echo(), |config| config.may_be_off = false).await;
    let refused = house.call(Method::PUT, "/v1/off", Some(&json!({ "seconds": 60 }))).await;
    assert_eq!(refused.status, 403);
    assert_eq!(refused.json::<leafgate_admin::ApiError>().code, ErrorCode::Forbidden);
    assert!(house.get::<leafgate_admin::Status>("/v1/status").await.enabled);
}
