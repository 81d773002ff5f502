//! Saved edits, as clients and reviewers meet them.

use http::Method;
use leafgate_admin::{
    AutoState, CapturePreview, CapturedEdits, ErrorCode, Event, ModeView, OnDrift, Resumed, SavedAction,
    SavedDiff, SavedEditView, SavedList, SavedScope, State, TurnMode,
};
use serde_json::{Value, json};

use crate::pauses::house::{Answer, CANARY, Events, House, RULES, Reply, chat};

const SYSTEM: &str = "/messages/0/content";

/// What the upstream got last, at a pointer.
fn sent(house: &House, pointer: &str) -> Value {
    let body = house.upstream.received().pop().expect("something was sent");
    serde_json::from_slice::<Value>(&body).unwrap().pointer(pointer).cloned().unwrap_or_default()
}

impl House {
    async fn resumed(&self, id: &str) -> Resumed {
        let digest = self.turn(id).await.digest;
        let path = format!("/v1/pending/{id}/resume");
        let answer = self.call(Method::POST, &path, Some(&json!({ "digest": digest }))).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()
    }

    async fn saved(&self) -> SavedList {
        self.get("/v1/saved").await
    }

    async fn call_ok(&self, method: Method, path: &str, body: &Value) -> SavedList {
        let answer = self.call(method, path, Some(body)).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        answer.json()
    }

    /// Has a conversation's system prompt be replaced from now on.
    async fn capture(&self, events: &mut Events, body: &Value, text: &str) -> Resumed {
        let client = self.send(body);
        let turn = events.paused().await;
        assert_eq!(turn.mode, Some(TurnMode::AutoOverride));
        self.write(&turn.id, SYSTEM, text).await.unwrap();
        let resumed = self.resumed(&turn.id).await;
        assert_eq!(client.await.unwrap().status, 200);
        resumed
    }
}

fn error(answer: &Answer) -> (u16, ErrorCode) {
    (answer.status, answer.json::<leafgate_admin::ApiError>().code)
}

/// A capture that ends changes what is saved and what the mode does: listeners hear of it once.
#[tokio::test]
async fn a_mode_is_told_once_however_many_steps_led_there() {
    let (house, mut events) = House::watched().await;
    house.choose(TurnMode::AutoOverride).await;
    house.capture(&mut events, &chat("one"), "Be kind").await;
    house.choose(TurnMode::Off).await;
    let mut modes: Vec<ModeView> = Vec::new();
    while modes.last().is_none_or(|mode| mode.mode != TurnMode::Off) {
        if let Event::Mode { mode } = events.next().await {
            modes.push(mode);
        }
    }
    assert!(modes.windows(2).all(|pair| pair[0] != pair[1]), "{modes:?}");
    assert!(modes.iter().any(|mode| mode.auto == Some(AutoState::Applying)), "{modes:?}");
}

// S0-66, S0-74, S0-75, S0-76
#[tokio::test]
async fn what_a_person_edits_while_capturing_is_applied_to_later_turns() {
    let (house, mut events) = House::watched().await;
    let mode = house.choose(TurnMode::AutoOverride).await;
    let banner = mode.saved.unwrap();
    assert_eq!(mode.auto, Some(AutoState::Capturing));
    assert_eq!(banner.title, "Auto-apply edits · Session");
    assert_eq!(banner.subtitle, "Capturing next turn · showing first 3 sections");
    assert_eq!(banner.actions, [SavedAction::WhereToSaveEdits, SavedAction::SectionsToCapture]);

    let resumed = house.capture(&mut events, &chat("one"), &format!("Be kind to {CANARY}")).await;
    let captured = resumed.captured.unwrap();
    assert_eq!((resumed.turn.state, captured.scope), (State::Resumed, SavedScope::Session));
    assert_eq!((captured.edits.len(), captured.left_out.len()), (1, 0));
    let kind = sent(&house, SYSTEM);
    let (start, token) = kind.as_str().unwrap().split_at("Be kind to ".len());
    assert!(start == "Be kind to " && token.starts_with("EMAIL_"), "{kind}");
    assert_eq!(captured.edits[0].text.as_ref().unwrap().expose(), kind.as_str().unwrap(), "as it left");

    assert_eq!(house.send(&chat("two")).await.unwrap().status, 200);
    assert_eq!((sent(&house, SYSTEM), sent(&house, "/messages/3/content")), (kind.clone(), json!("two")));
    let status = house.get::<ModeView>("/v1/mode").await;
    assert_eq!(status.auto, Some(AutoState::Applying));
    let banner = status.saved.unwrap();
    assert_eq!(banner.subtitle, format!("Applying (saved {})", captured.edits[0].updated_at));
    assert!(banner.actions.starts_with(&[
        SavedAction::CaptureNewEdits,
        SavedAction::PauseNextTurn,
        SavedAction::RemoveSavedEdits
    ]));
    let list = house.saved().await;
    assert_eq!((list.edits.len(), list.edits[0].last.as_ref().unwrap().outcome.as_str()), (1, "made"));
    let id = &list.edits[0].id;
    let diff = house.get::<SavedDiff>(&format!("/v1/saved/{id}/diff")).await;
    assert_eq!(
        (diff.before.unwrap().expose(), diff.after.unwrap().expose()),
        ("Be brief", kind.as_str().unwrap())
    );
    assert!(diff.edit.title.starts_with("Edited · Session · saved 2"));

    // A pause shows who made it, and undo takes it back for this turn.
    let third = house.send(&chat("prod-db"));
    let turn = events.paused().await;
    let view = house.turn(&turn.id).await;
    assert_eq!(view.edits.iter().filter(|edit| edit.author == format!("saved edit {id}")).count(), 1);
    house.edit(&turn.id, &leafgate_admin::EditCommand::Undo).await.unwrap();
    assert_eq!(house.resumed(&turn.id).await.captured, None, "a rule's pause captures nothing");
    assert_eq!(third.await.unwrap().status, 200);
    assert_eq!(sent(&house, SYSTEM), "Be brief");
    assert_eq!(house.send(&chat("four")).await.unwrap().status, 200);
    assert_eq!(sent(&house, SYSTEM), kind);
}

// S0-68, S0-69, S0-75
#[tokio::test]
async fn capture_is_armed_again_by_hand_and_by_removing_everything() {
    let (house, mut events) = House::watched().await;
    let refused = house.call(Method::POST, "/v1/saved/capture", Some(&json!({}))).await;
    assert_eq!(error(&refused), (422, ErrorCode::Nothing));
    house.choose(TurnMode::AutoOverride).await;
    house.capture(&mut events, &chat("one"), "Be kind").await;
    let list = house.call_ok(Method::POST, "/v1/saved/capture", &json!({})).await;
    assert_eq!(list.auto, Some(AutoState::Capturing));
    assert!(!list.status.actions.contains(&SavedAction::PauseNextTurn), "a pause is coming already");
    // What is saved is applied to the turn that captures more. The same place is saved anew.
    let client = house.send(&chat("two"));
    let turn = events.paused().await;
    let view = house.turn(&turn.id).await;
    assert!(
        view.sections.iter().any(|section| section.leaves.iter().any(|leaf| leaf.text.expose() == "Be kind"))
    );
    house.write(&turn.id, SYSTEM, "Be kind and brief").await.unwrap();
    house.write(&turn.id, "/messages/1/content", "Good day").await.unwrap();
    assert_eq!(house.resumed(&turn.id).await.captured.unwrap().edits.len(), 2);
    client.await.unwrap();
    house.send(&chat("three")).await.unwrap();
    assert_eq!(
        (sent(&house, SYSTEM), sent(&house, "/messages/1/content")),
        (json!("Be kind and brief"), json!("Good day"))
    );
    assert_eq!(house.saved().await.edits.len(), 2);
    // One that is resumed without an edit keeps what there is.
    house.call_ok(Method::POST, "/v1/saved/capture", &json!({})).await;
    let client = house.send(&chat("four"));
    let turn = events.paused().await;
    assert_eq!(house.resumed(&turn.id).await.captured.unwrap(), CapturedEdits::default());
    client.await.unwrap();
    assert_eq!(house.saved().await.auto, Some(AutoState::Applying));

    let list = house.call_ok(Method::POST, "/v1/saved/clear", &json!({})).await;
    assert_eq!((list.edits.len(), list.auto), (0, Some(AutoState::Capturing)));
    let client = house.send(&chat("five"));
    let turn = events.paused().await;
    assert!(house.turn(&turn.id).await.edits.is_empty());
    house.let_go(&turn.id).await;
    client.await.unwrap();
    assert_eq!(sent(&house, SYSTEM), "Be brief");
}

// S0-67
#[tokio::test]
async fn what_drifts_is_told_or_waits_as_the_edit_says() {
    let (house, mut events) = House::watched().await;
    house.choose(TurnMode::AutoOverride).await;
    house.capture(&mut events, &chat("one"), "Be kind").await;
    // The system prompt opens the conversation, so a later message is what drifts in it.
    let (client, turn) = house.holds(&mut events, &chat("prod-db")).await;
    house.write(&turn, "/messages/3/content", "the other database").await.unwrap();
    let path = format!("/v1/pending/{turn}/capture");
    let captured: CapturedEdits =
        house.call(Method::POST, &path, Some(&json!({ "onDrift": "pause" }))).await.json();
    assert_eq!(captured.edits.iter().map(|edit| edit.on_drift).collect::<Vec<_>>(), [OnDrift::Pause]);
    house.let_go(&turn).await;
    client.await.unwrap();
    house.send(&chat("prod-db")).await.unwrap();
    assert_eq!(sent(&house, "/messages/3/content"), "the other database", "before the rule could pause it");

    let client = house.send(&chat("something else"));
    let turn = events.paused().await;
    assert_eq!((turn.mode, turn.holds[0].rule.as_str()), (None, "(saved edits)"));
    assert!(turn.holds[0].detail.contains("another text stands there"), "{}", turn.holds[0].detail);
    house.cancel(&turn.id).await.unwrap();
    let (code, message) = client.await.unwrap().refusal();
    assert_eq!(code, "leafgate_cancelled", "{message}");
    let list = house.saved().await;
    let drifted: Vec<_> = list.edits.iter().filter(|edit| !edit.last.as_ref().unwrap().fits).collect();
    assert_eq!((drifted.len(), list.status.drifted), (1, 1));
    assert_eq!(drifted[0].last.as_ref().unwrap().outcome, "otherText");
    // Nobody waits because of what a client asks beside its turn.
    let mut beside = house.request(chat("a title?").to_string());
    beside.headers_mut().insert("x-interaction-type", "conversation-background".parse().unwrap());
    assert_eq!(house.send_raw(beside).await.unwrap().status, 200);
    assert_eq!(sent(&house, SYSTEM), "Be kind");
}

/// Another client that names its conversation as the first one does gets none of its edits, unless
/// the conversation is the same to everything that the gate knows.
// S0-70
#[tokio::test]
async fn another_conversation_sees_no_saved_edits_whatever_it_calls_itself() {
    let (house, mut events) = House::watched().await;
    house.choose(TurnMode::AutoOverride).await;
    let named = |says: &str, key: &str| {
        let mut body = chat(says);
        body["prompt_cache_key"] = json!(key);
        body["user"] = json!("ann");
        body
    };
    let with = |body: &Value, header: Option<(&'static str, &str)>| {
        let mut request = house.request(body.to_string());
        if let Some((name, value)) = header {
            request.headers_mut().insert(name, value.parse().unwrap());
        }
        house.send_raw(request)
    };
    house.capture(&mut events, &named("one", "cache"), "Be kind").await;
    house.send(&named("two", "cache")).await.unwrap();
    assert_eq!(sent(&house, SYSTEM), "Be kind");
    let mut opens_otherwise = named("two", "cache");
    opens_otherwise["messages"][1]["content"] = json!("Good evening");
    let window = ("vscode-sessionid", "window");
    for (body, header) in [
        // The same cache key and user, another beginning.
        (&opens_otherwise, None),
        // The same beginning, another cache key.
        (&named("two", "another"), None),
        // The same beginning, without the hints; with a window; with a session of its own.
        (&chat("two"), None),
        (&named("two", "cache"), Some(window)),
        (&named("two", "cache"), Some(("session-id", "s-1"))),
        (&named("two", "cache"), Some(("x-claude-code-session-id", "s-1"))),
    ] {
        let before = house.upstream.received().len();
        let client = with(body, header);
        let turn = events.paused().await;
        assert_eq!(turn.mode, Some(TurnMode::AutoOverride), "nothing is saved for it");
        assert!(house.turn(&turn.id).await.edits.is_empty(), "{header:?}");
        house.let_go(&turn.id).await;
        assert_eq!(client.await.unwrap().status, 200);
        assert_eq!(house.upstream.received().len(), before + 1);
        assert_eq!(sent(&house, SYSTEM), "Be brief", "{header:?}");
    }
    house.send(&named("three", "cache")).await.unwrap();
    assert_eq!(sent(&house, SYSTEM), "Be kind");
}

#[tokio::test]
async fn saved_edits_of_a_conversation_end_with_it() {
    let (house, mut events) = House::watched().await;
    house.choose(TurnMode::AutoOverride).await;
    house.capture(&mut events, &chat("one"), "Be kind").await;
    let session = house.saved().await.edits[0].session.clone().unwrap();
    let closed = house.call(Method::DELETE, &format!("/v1/sessions/{session}"), None).await;
    assert_eq!(closed.status, 200);
    assert!(house.saved().await.edits.is_empty());
    let (client, turn) = house.holds(&mut events, &chat("two")).await;
    assert!(house.turn(&turn).await.edits.is_empty());
    house.let_go(&turn).await;
    client.await.unwrap();
}

#[tokio::test]
async fn invariant_10_a_pinned_leaf_is_neither_captured_nor_changed() {
    let rules = format!(
        "{RULES}\n[[rule]]\nid = \"steady\"\nmatch = {{ role = \"system\" }}\naction = \"pin\"\n\n[[rule]]\nid = \"polite\"\nmatch = {{ role = \"user\" }}\naction = \"rewrite\"\nappend = \"!\"\n"
    );
    let (house, mut events) = House::watched_with(&rules, Reply::echo(), |_| ()).await;
    house.choose(TurnMode::AutoOverride).await;
    let (client, turn) = house.holds(&mut events, &chat("one")).await;
    house.write(&turn, SYSTEM, "Be kind").await.unwrap();
    house.write(&turn, "/messages/1/content", "Good day").await.unwrap();
    house.write(&turn, "/messages/2/content", "Yes, please?").await.unwrap();
    let captured = house.resumed(&turn).await.captured.unwrap();
    client.await.unwrap();
    let left: Vec<_> = captured.left_out.iter().map(|left| (left.path.as_str(), left.why.as_str())).collect();
    assert_eq!(left[0], ("messages[0].content", "the leaf is pinned by rule steady"));
    assert!(
        left[1].0 == "messages[1].content" && left[1].1.starts_with("a rule or plugin changes"),
        "{left:?}"
    );
    assert_eq!(
        captured.edits.iter().map(|edit| edit.path.as_str()).collect::<Vec<_>>(),
        ["messages[2].content"]
    );
    house.send(&chat("two")).await.unwrap();
    assert_eq!(
        (sent(&house, SYSTEM), sent(&house, "/messages/2/content")),
        (json!("Be brief"), json!("Yes, please?"))
    );
}

// S0-71, S0-77
#[tokio::test]
async fn a_turn_is_saved_by_hand_and_a_capture_shows_its_first_sections() {
    let (house, mut events) = House::watched().await;
    let mut body = chat("prod-db");
    // Options are no sections, though this one comes first.
    body["max_tokens"] = json!(9);
    let (client, turn) = house.holds(&mut events, &body).await;
    let path = format!("/v1/pending/{turn}/capture");
    let nothing = house.call(Method::POST, &path, Some(&json!({}))).await;
    assert_eq!(error(&nothing), (422, ErrorCode::Nothing));
    let list = house.call_ok(Method::PUT, "/v1/saved", &json!({ "previewLimit": 2 })).await;
    assert_eq!((list.status.preview_limit, list.auto), (2, None));
    let preview = house.get::<CapturePreview>(&path).await;
    let tops = preview.sections.iter().filter(|section| section.parent.is_none());
    assert_eq!(
        (tops.map(|section| section.key.as_str()).collect::<Vec<_>>(), preview.more > 0),
        (vec!["system-0", "user-1"], true)
    );
    for limit in [0, 11, 99] {
        let refused = house.call(Method::PUT, "/v1/saved", Some(&json!({ "previewLimit": limit }))).await;
        assert_eq!(error(&refused), (400, ErrorCode::Malformed), "{limit}");
    }
    assert_eq!(house.saved().await.status.preview_limit, 2);
    house.write(&turn, SYSTEM, "Be kind").await.unwrap();
    for (scope, code) in
        [("project", (422, ErrorCode::RefusedEdit)), ("workspace", (500, ErrorCode::Internal))]
    {
        let refused = house.call(Method::POST, &path, Some(&json!({ "scope": scope }))).await;
        assert_eq!(error(&refused), code, "{}", refused.text());
    }
    let saved: CapturedEdits = house.call(Method::POST, &path, Some(&json!({}))).await.json();
    let id = &saved.edits[0].id;
    assert_eq!(house.get::<SavedEditView>(&format!("/v1/saved/{id}")).await.replaces.len(), 32);
    house.let_go(&turn).await;
    client.await.unwrap();
    house.send(&chat("two")).await.unwrap();
    assert_eq!(sent(&house, SYSTEM), "Be brief", "the mode does not apply it");
    house.choose(TurnMode::AutoOverride).await;
    assert!(matches!(events.next().await, Event::Resolved { .. } | Event::Mode { .. }));
    house.send(&chat("three")).await.unwrap();
    assert_eq!(sent(&house, SYSTEM), "Be kind");
    let gone = house.call(Method::DELETE, &format!("/v1/saved/{id}"), None).await;
    assert_eq!((gone.status, gone.json::<SavedList>().edits.len()), (200, 0));
    let unknown = house.call(Method::GET, &format!("/v1/saved/{id}"), None).await;
    assert_eq!(error(&unknown), (404, ErrorCode::NotFound));
}

#[tokio::test]
async fn invariant_6_a_place_under_a_key_that_holds_a_value_is_not_saved() {
    let pausing = "action = \"redact\"\non_unredactable = \"pause\"";
    let rules = RULES.replacen("action = \"redact\"", pausing, 1);
    let (house, mut events) = House::watched_with(&rules, Reply::echo(), |_| ()).await;
    let mut body = chat("Hi");
    body["metadata"] = json!({ CANARY: "some words of a client" });
    let (client, turn) = house.holds(&mut events, &body).await;
    for (pointer, text) in [("/metadata/[KEY]", "other words"), (SYSTEM, "Be kind")] {
        house.write(&turn, pointer, text).await.unwrap();
    }
    let path = format!("/v1/pending/{turn}/capture");
    let captured: CapturedEdits = house.call(Method::POST, &path, Some(&json!({}))).await.json();
    assert_eq!(
        captured.edits.iter().map(|edit| edit.path.as_str()).collect::<Vec<_>>(),
        ["messages[0].content"]
    );
    assert_eq!(captured.left_out[0].why, "a key of its path holds a value that a rule finds");
    assert_eq!(captured.left_out[0].path, r#"metadata["[KEY]"]"#);
    assert_eq!(house.saved().await.edits.len(), 1);
    house.cancel(&turn).await.unwrap();
    assert_eq!(client.await.unwrap().status, 400);
}
