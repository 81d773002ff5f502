//! The admin API: who may call it, what it shows, what it refuses.

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::Full;
use leafgate_admin::{
    Diff, EditCommand, EditableRequest, Event, MetadataField, OutlineView, ShownText, State, TurnMode,
    TurnView,
};
use leafgate_tree::Access;
use serde_json::{Value, json};

use crate::pauses::house::{Answer, CANARY, House, RULES, Reply, ask, chat, read};

/// What an attack changes of a proper call; an empty value leaves the header out.
async fn attack(house: &House, method: Method, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    let mut request = house.admin_request(method, path, None);
    *request.body_mut() = Full::new(Bytes::from(body.to_owned()));
    for (name, value) in headers {
        let name: http::HeaderName = name.parse().unwrap();
        request.headers_mut().remove(&name);
        if !value.is_empty() {
            request.headers_mut().insert(name, value.parse().unwrap());
        }
    }
    read(ask(house.admin, request).await).await
}

#[tokio::test]
async fn a_health_check_needs_no_token_and_says_nothing() {
    let house = House::start().await;
    let no_token = ("authorization", "");
    for path in ["/healthz", "/readyz"] {
        let answer = attack(&house, Method::GET, path, &[no_token], "").await;
        assert_eq!((answer.status, answer.text()), (200, "ok\n"));
        assert_eq!(attack(&house, Method::HEAD, path, &[no_token], "").await.status, 200);
        let rebound = format!("rebound.example:{}", house.admin.port());
        assert_eq!(attack(&house, Method::GET, path, &[no_token, ("host", &rebound)], "").await.status, 403);
        let page = ("origin", "https://page.example");
        assert_eq!(attack(&house, Method::GET, path, &[no_token, page], "").await.status, 403);
        assert_eq!(attack(&house, Method::POST, path, &[no_token], "").await.status, 401);
        assert_eq!(attack(&house, Method::GET, &format!("{path}/x"), &[no_token], "").await.status, 401);
    }
}

/// Serves metrics where nothing else is.
#[tokio::test]
async fn a_listener_of_metrics_has_no_admin_api() {
    let mut house = House::start().await;
    let token = ("authorization", "");
    house.admin = house.serve_metrics().await;
    assert!(
        attack(&house, Method::GET, "/metrics", &[token], "").await.text().contains("leafgate_build_info")
    );
    assert_eq!(attack(&house, Method::GET, "/readyz", &[token], "").await.status, 200);
    for (method, path) in [(Method::GET, "/v1/status"), (Method::POST, "/metrics"), (Method::PUT, "/v1/off")]
    {
        assert_eq!(attack(&house, method, path, &[], "").await.status, 404, "{path}, with the token");
    }
    let rebound = format!("rebound.example:{}", house.admin.port());
    for foreign in [("host", rebound.as_str()), ("origin", "https://page.example")] {
        assert_eq!(attack(&house, Method::GET, "/metrics", &[foreign], "").await.status, 403, "{foreign:?}");
    }
}

// S0-124
#[tokio::test]
async fn who_may_not_call_learns_and_changes_nothing() {
    let (house, mut events) = House::watched().await;
    let (_client, id) = house.holds(&mut events, &chat("prod-db")).await;
    let cancel = format!("/v1/pending/{id}/cancel");
    let json = ("content-type", "application/json");
    let wrong = format!("Bearer {}", "0".repeat(64));
    let rebound = format!("rebound.example:{}", house.admin.port());
    let form = ("content-type", "application/x-www-form-urlencoded");
    let attacks: [(&[_], _, _); 9] = [
        (&[json, ("authorization", "")], 401, "unauthorised"),
        (&[json, ("authorization", &wrong)], 401, "unauthorised"),
        (&[json, ("host", &rebound)], 403, "foreign-origin"),
        (&[json, ("origin", "https://page.example")], 403, "foreign-origin"),
        (&[json, ("origin", "null")], 403, "foreign-origin"),
        (&[form, ("authorization", "")], 401, "unauthorised"),
        (&[form], 415, "no-json"),
        (&[("content-type", "text/plain")], 415, "no-json"),
        (&[("content-type", "")], 415, "no-json"),
    ];
    for (headers, status, code) in attacks {
        let answer = attack(&house, Method::POST, &cancel, headers, "{}").await;
        assert_eq!(
            (answer.status, answer.json::<Value>()["code"].as_str().unwrap()),
            (status, code),
            "{headers:?}"
        );
    }
    for path in ["/v1/status", "/v1/pending", "/v1/events", "/v1/nothing", "/"] {
        let answer = attack(&house, Method::GET, path, &[("authorization", "")], "").await;
        assert_eq!(answer.status, 401, "{path}");
    }
    // What a browser asks before it sends JSON across origins is not granted.
    let preflight = [
        ("authorization", ""),
        ("origin", "https://page.example"),
        ("access-control-request-method", "POST"),
    ];
    let answer = attack(&house, Method::OPTIONS, &cancel, &preflight, "").await;
    assert_eq!(answer.status, 403);
    assert!(answer.headers.keys().all(|name| !name.as_str().starts_with("access-control-")));
    assert_eq!(house.pending().await[0].state, State::Waiting);
}

#[tokio::test]
async fn the_data_port_is_no_admin_api_and_takes_no_foreign_pages() {
    let house = House::start().await;
    let own = house.address.to_string();
    for (host, origin) in [("page.example", None), (own.as_str(), Some("https://page.example"))] {
        let mut request = house.request(chat("Hi").to_string());
        request.headers_mut().insert("host", host.parse().unwrap());
        if let Some(origin) = origin {
            request.headers_mut().insert("origin", origin.parse().unwrap());
        }
        assert_eq!(read(ask(house.address, request).await).await.status, 403);
    }
    let request = Request::post("/pending/1/cancel").header("host", own).body(Full::default()).unwrap();
    assert_eq!(read(ask(house.address, request).await).await.status, 404);
    assert_eq!(house.gate.status().requests.refused, 3);
}

// S0-27, S0-124
#[tokio::test]
async fn bad_calls_are_answered_in_words() {
    let (house, mut events) =
        House::watched_with(RULES, Reply::echo(), |config| config.limits.command = 1000).await;
    let (_client, id) = house.holds(&mut events, &chat("prod-db")).await;
    let edit = format!("/v1/pending/{id}/edit");
    let json = [("content-type", "application/json")];
    let set =
        |pointer: &str, text: &str| json!({ "action": "set", "pointer": pointer, "text": text }).to_string();
    let cases = [
        (Method::GET, "/v1/pending/77".to_owned(), String::new(), 404, "not-found"),
        (Method::GET, "/v1/pending/none".to_owned(), String::new(), 404, "not-found"),
        (Method::GET, "/v2/status".to_owned(), String::new(), 404, "not-found"),
        (Method::GET, edit.clone(), String::new(), 405, "wrong-method"),
        (Method::POST, "/v1/status".to_owned(), "{}".to_owned(), 405, "wrong-method"),
        (Method::POST, edit.clone(), "x".repeat(1001), 413, "too-large"),
        (Method::POST, edit.clone(), "{".to_owned(), 400, "malformed"),
        (
            Method::POST,
            edit.clone(),
            json!({ "action": "set", "pointer": CANARY }).to_string(),
            400,
            "malformed",
        ),
        (Method::POST, edit.clone(), json!({ "action": CANARY }).to_string(), 400, "malformed"),
        (Method::POST, edit.clone(), set("messages", CANARY), 422, "refused-edit"),
        (Method::POST, edit.clone(), set("/messages/9", CANARY), 422, "refused-edit"),
        (Method::POST, edit.clone(), set("/messages", CANARY), 422, "refused-edit"),
        (
            Method::POST,
            edit.clone(),
            json!({ "action": "delete", "section": CANARY }).to_string(),
            422,
            "refused-edit",
        ),
        (Method::POST, edit.clone(), json!({ "action": "undo" }).to_string(), 422, "nothing"),
        (
            Method::POST,
            format!("/v1/pending/{id}/cancel"),
            json!({ "because": CANARY }).to_string(),
            400,
            "malformed",
        ),
        (Method::POST, "/v1/pending/77/cancel".to_owned(), "{}".to_owned(), 404, "not-found"),
    ];
    let before = house.turn(&id).await;
    for (method, path, body, status, code) in cases {
        let headers: &[_] = if method == Method::POST { &json } else { &[] };
        let answer = attack(&house, method, &path, headers, &body).await;
        let word = answer.json::<Value>()["code"].clone();
        assert_eq!((answer.status, word.as_str()), (status, Some(code)), "{path} {body}");
        assert!(!answer.text().contains(CANARY), "{}", answer.text());
        assert_eq!(answer.header("cache-control"), "no-store");
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
        assert_eq!(answer.header("content-security-policy"), "default-src 'none'; frame-ancestors 'none'");
    }
    assert_eq!(house.turn(&id).await.version, before.version);
}

// S0-33
#[tokio::test]
async fn a_turn_shows_every_leaf_once_and_every_edit_with_its_author() {
    let (house, mut events) = House::watched().await;
    let mut body = chat(&format!("{CANARY} asks about prod-db"));
    body["temperature"] = json!(0.5);
    body["tools"] =
        json!([{ "type": "function", "function": { "name": "look", "parameters": { "type": "object" } } }]);
    let (_client, id) = house.holds(&mut events, &body).await;
    let turn = house.turn(&id).await;
    let mut shown: Vec<_> =
        turn.sections.iter().flat_map(|section| &section.leaves).map(|leaf| leaf.pointer.clone()).collect();
    shown.sort();
    let mut expected = Vec::new();
    leaves(&body, String::new(), &mut expected);
    expected.sort();
    assert_eq!(shown, expected);

    let message = turn.sections.iter().find(|section| section.key == "user-3").unwrap();
    assert_eq!((message.path.as_str(), message.editable, message.deletable), ("messages[3]", true, true));
    let content = message.leaves.iter().find(|leaf| leaf.path == "content").unwrap();
    let span = &content.redacted[0];
    assert!(content.changed && content.text.expose()[span.start..span.end].starts_with("EMAIL_"));
    assert_eq!(span.label, "EMAIL");
    let redaction = &turn.edits[0];
    assert_eq!((redaction.kind.as_str(), redaction.author.as_str()), ("redact", "rule addresses"));
    assert_eq!((redaction.version, redaction.label.as_deref()), (0, Some("EMAIL")));
    assert_eq!(redaction.path, "messages[3].content");
}

#[tokio::test]
async fn a_request_that_is_no_chat_shows_every_leaf_too() {
    let rules = RULES.replace(r#"match = { role = "user" }"#, "match = {}");
    let (house, mut events) = House::watched_with(&rules, Reply::echo(), |_| ()).await;
    let bodies = [
        json!({ "model": "m-1", "input": ["prod-db", { "deep": [1, null, true] }], "n": 2 }),
        json!(["prod-db", ["x"]]),
        json!("prod-db"),
    ];
    for body in bodies {
        let mut request = house.request(body.to_string());
        *request.uri_mut() = "/v1/embeddings".parse().unwrap();
        let client = house.send_raw(request);
        let paused = events.paused().await;
        assert!(paused.label.starts_with("request · other"), "{}", paused.label);
        let turn = house.turn(&paused.id).await;
        let leaves_shown = turn.sections.iter().flat_map(|section| &section.leaves);
        let mut shown: Vec<_> = leaves_shown.map(|leaf| leaf.pointer.clone()).collect();
        shown.sort();
        let mut expected = Vec::new();
        leaves(&body, String::new(), &mut expected);
        expected.sort();
        assert_eq!(shown, expected);
        house.cancel(&paused.id).await.unwrap();
        client.await.unwrap().refusal();
    }
}

fn leaves(value: &Value, pointer: String, found: &mut Vec<String>) {
    match value {
        Value::Array(items) => {
            items
                .iter()
                .enumerate()
                .for_each(|(place, item)| leaves(item, format!("{pointer}/{place}"), found));
        }
        Value::Object(members) => {
            members.iter().for_each(|(key, member)| leaves(member, format!("{pointer}/{key}"), found));
        }
        _ => found.push(pointer),
    }
}

// S0-102
#[tokio::test]
async fn a_list_shows_the_beginning_of_a_long_name_and_the_request_all_of_it() {
    let (house, mut events) = House::watched().await;
    let name = "a-model-".repeat(20);
    let mut body = chat("prod-db");
    body["model"] = json!(name);
    let client = house.send(&body);
    let turn = events.paused().await;
    assert!(turn.model.len() == 64 && name.starts_with(&turn.model));
    let whole: EditableRequest = house.get(&format!("/v1/pending/{}/request", turn.id)).await;
    assert_eq!(
        (whole.model, whole.turn.summary.model, whole.turn.summary.id),
        (name, turn.model, turn.id.clone())
    );
    house.cancel(&turn.id).await.unwrap();
    client.await.unwrap().refusal();
}

// S0-07, S0-80
#[tokio::test]
async fn a_diff_masks_what_came_and_names_what_is_left_out() {
    let (house, mut events) = House::watched().await;
    let (_client, id) = house.holds(&mut events, &chat(&format!("{CANARY} asks about prod-db"))).await;
    let edited = house.edit(&id, &EditCommand::Delete { section: "assistant-2".to_owned() }).await.unwrap();
    let section = |key: &str| edited.sections.iter().find(|section| section.key == key).unwrap();
    assert!(section("assistant-2").deleted && !section("user-3").deleted);
    assert_eq!(section("user-3").path, "messages[2]");
    house.write(&id, "/model", "m-2").await.unwrap();
    let diff: Diff = house.get(&format!("/v1/pending/{id}/diff")).await;
    assert_eq!(diff.deleted, ["messages[2]"]);
    let lines: Vec<_> = diff
        .leaves
        .iter()
        .map(|leaf| (leaf.path.as_str(), leaf.before.expose(), leaf.authors.join(", ")))
        .collect();
    assert_eq!(
        lines,
        [
            ("messages[2].content", "‹EMAIL› asks about prod-db", "rule addresses".to_owned()),
            ("model", "m-1", "person".to_owned()),
        ]
    );
    assert!(diff.leaves[0].after.expose().starts_with("EMAIL_"));
    let restored =
        house.edit(&id, &EditCommand::Restore { section: "assistant-2".to_owned() }).await.unwrap();
    assert!(restored.sections.iter().all(|section| !section.deleted));
}

// S0-61, S0-105
#[tokio::test]
async fn events_tell_the_life_of_a_turn_in_order() {
    let (house, mut events) = House::watched().await;
    let _client = house.send(&chat("prod-db"));
    let Event::Paused { turn } = events.next().await else { panic!("it pauses first") };
    house.write(&turn.id, "/model", "m-2").await.unwrap();
    let Event::Changed { turn: changed } = events.next().await else { panic!("then it changes") };
    assert_eq!((changed.id.as_str(), changed.model.as_str(), changed.edits), (turn.id.as_str(), "m-2", 1));
    house.cancel(&turn.id).await.unwrap();
    let Event::Resolved { turn: over } = events.next().await else { panic!("then it is over") };
    assert_eq!((over.state, over.connections, over.left_ms), (State::Cancelled, 0, 0));
}

#[tokio::test]
async fn the_status_says_what_serves_and_what_became_of_requests() {
    let house =
        House::with(RULES, Reply::echo(), |config| config.policy_source = "/etc/rules".to_owned()).await;
    house.send(&chat("Hi")).await.unwrap();
    house.send(&chat("rm -rf /")).await.unwrap().refusal();
    let status: leafgate_admin::Status = house.get("/v1/status").await;
    assert_eq!(status, house.gate.status());
    assert_eq!(status.listen, format!("http://{}", house.address));
    assert_eq!(status.upstream, house.upstream.url());
    assert_eq!(status.policy.source, "/etc/rules");
    assert_eq!((status.requests.forwarded, status.requests.blocked, status.pending), (1, 1, 0));
}

#[tokio::test]
async fn invariant_6_a_key_that_holds_a_finding_stands_in_no_view_and_its_place_can_be_edited() {
    let pausing = "action = \"redact\"\non_unredactable = \"pause\"";
    let (house, mut events) =
        House::watched_with(&RULES.replacen("action = \"redact\"", pausing, 1), Reply::echo(), |_| ()).await;
    let mut body = chat("prod-db");
    // A member of the body, one inside another, and one in the arguments of a call.
    body[CANARY] = json!({ "note": "one", CANARY: ["two"] });
    let arguments = json!({ CANARY: "three" }).to_string();
    body["messages"][2] = json!({ "role": "assistant", "content": null, "tool_calls": [
        { "id": "c", "type": "function", "function": { "name": "f", "arguments": arguments } },
    ]});
    body["messages"]
        .as_array_mut()
        .unwrap()
        .insert(3, json!({ "role": "tool", "tool_call_id": "c", "content": "r" }));
    let (client, id) = house.holds(&mut events, &body).await;
    // Whatever the house calls and whatever events it hears must not hold the value.
    let turn = house.turn(&id).await;
    let leaves: Vec<_> = turn.sections.iter().flat_map(|section| &section.leaves).collect();
    let at = |text: &str| leaves.iter().find(|leaf| leaf.text.expose() == text).unwrap();
    assert_eq!((&*at("one").pointer, &*at("one").path), ("/[KEY]/note", "note"));
    assert_eq!(at("two").pointer, "/[KEY]/[KEY]/0");
    assert_eq!(at("three").pointer, "/messages/2/tool_calls/0/function/arguments/[KEY]");
    let option = turn.sections.iter().find(|section| section.key == "requestOptions/[KEY]").unwrap();
    assert_eq!((&*option.label, &*option.path), ("[KEY]", r#"["[KEY]"]"#));
    for (pointer, text) in [("/[KEY]/[KEY]/0", "2"), ("/[KEY]/note", "1")] {
        house.write(&id, pointer, text).await.unwrap();
    }
    let changed = house.get::<Diff>(&format!("/v1/pending/{id}/diff")).await;
    let changed: Vec<_> = changed.leaves.iter().map(|leaf| (&*leaf.pointer, leaf.after.expose())).collect();
    assert_eq!(changed, [("/[KEY]/note", "1"), ("/[KEY]/[KEY]/0", "2")]);
    let outline: OutlineView = house.get(&format!("/v1/pending/{id}/outline?pointer=/%5BKEY%5D")).await;
    let names: Vec<_> = outline.nodes.iter().map(|node| &*node.name).collect();
    assert_eq!(names, ["[KEY]", "note", "[KEY]", "0"]);
    for path in ["outline", "capture"] {
        house.get::<Value>(&format!("/v1/pending/{id}/{path}")).await;
    }
    // The request itself, and the body that leaves, are shown as they are: they are what is sent.
    for (path, shown) in [("request", ["messages", "requestOptions"]), ("payload", ["body", "body"])] {
        let request = house.admin_request(Method::GET, &format!("/v1/pending/{id}/{path}"), None);
        let mut answer: Value = read(ask(house.admin, request).await).await.json();
        for member in shown {
            let held = answer.as_object_mut().unwrap().remove(member);
            assert!(held.is_none_or(|held| held.to_string().contains(CANARY)), "{path}: {member}");
        }
        for came in ["originalMessages", "originalRequestOptions"] {
            answer.as_object_mut().unwrap().remove(came);
        }
        assert!(!answer.to_string().contains(CANARY), "{path}: {answer}");
    }
    house.cancel(&id).await.unwrap();
    assert_eq!(client.await.unwrap().status, 400);
}

// S0-120
#[tokio::test]
async fn metrics_count_what_happens_and_hold_no_content() {
    let house = House::start().await;
    let no_token = ("authorization", "");
    let mut events = house.events().await;
    let (_client, id) = house.holds(&mut events, &chat(&format!("prod-db {CANARY}"))).await;
    let shown = house.call(Method::GET, &format!("/v1/pending/{id}"), None).await;
    assert_eq!(shown.status, 200);
    house.choose(TurnMode::InterceptOnce).await;
    for (method, path, body) in [
        (Method::GET, format!("/v1/pending/{id}/diff"), None),
        (Method::PUT, "/v1/saved".to_owned(), Some(json!({ "scope": "session" }))),
        (Method::POST, "/v1/saved/clear".to_owned(), Some(json!({ "scope": "session" }))),
    ] {
        let answer = house.call(method, &path, body.as_ref()).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    }
    let page = attack(&house, Method::GET, "/metrics", &[no_token], "").await;
    assert_eq!(page.status, 200);
    for line in [
        "leafgate_requests_total{verdict=\"paused\"} 1",
        "leafgate_pending 1",
        "leafgate_judging_seconds_count 1",
        "leafgate_admin_calls_total{call=\"turn\"} 1",
        "leafgate_admin_calls_total{call=\"set_mode\"} 1",
        "leafgate_modes_chosen_total{mode=\"interceptOnce\"} 1",
        "leafgate_admin_calls_total{call=\"diff\"} 1",
        "leafgate_admin_calls_total{call=\"set_saved\"} 1",
        "leafgate_admin_calls_total{call=\"clear_saved\"} 1",
        "leafgate_subagents_total{event=\"seen\"} 0",
        "leafgate_saved_edits_total{scope=\"session\",event=\"cleared\"} 1",
        "leafgate_saved_preview_limit 3",
        "leafgate_memo_total{outcome=\"known\"} 0",
    ] {
        assert!(page.text().lines().any(|written| written == line), "{line} in {}", page.text());
    }
    for secret in [CANARY, "prod-db"] {
        assert!(!page.text().contains(secret), "{}", page.text());
    }
    house.cancel(&id).await.unwrap();
    let page = attack(&house, Method::GET, "/metrics", &[no_token], "").await;
    let ended = "leafgate_turns_ended_total{ending=\"user\",location=\"chat\"} 1";
    assert!(page.text().lines().any(|line| line == ended), "{}", page.text());
    let logged = crate::logs::logged();
    for told in ["ending=\"user\" location=\"chat\"", "mode=\"interceptOnce\""] {
        assert!(logged.contains(told), "{told} is logged");
    }
    let rebound = format!("rebound.example:{}", house.admin.port());
    let foreign = attack(&house, Method::GET, "/metrics", &[no_token, ("host", &rebound)], "").await;
    assert_eq!(foreign.status, 403);
}

// S0-05, S0-17, S0-81
#[tokio::test]
async fn a_turn_says_how_many_tokens_it_is_and_what_its_model_takes() {
    let (house, mut events) = House::watched().await;
    let body = json!({ "model": "gpt-4o", "messages": [
        { "role": "system", "content": "Be brief." },
        { "role": "user", "content": "Look at prod-db, and say hello world." }] });
    let (_client, id) = house.holds(&mut events, &body).await;
    let turn = house.turn(&id).await;
    let tokens = turn.tokens.as_ref().unwrap();
    assert_eq!((tokens.max, &*tokens.tokenizer, tokens.is_estimate), (Some(128_000), "o200k_base", false));
    assert_eq!(tokens.budget, format!("0% ({}/128000)", tokens.used));
    let tops = turn.sections.iter().filter(|section| section.parent.is_none());
    let tops: Vec<_> = tops.map(|section| (&*section.key, section.token_count)).collect();
    assert_eq!(tops.iter().filter_map(|(_, tokens)| *tokens).sum::<u64>(), tokens.used);
    assert_eq!(
        tops.iter().find(|(_, tokens)| tokens.is_none()),
        Some(&("requestOptions/model", None)),
        "an option"
    );
    let whole: EditableRequest = house.get(&format!("/v1/pending/{id}/request")).await;
    assert_eq!((whole.tokens.as_ref(), whole.metadata.max_prompt_tokens), (Some(tokens), Some(128_000)));
    assert_eq!(whole.metadata.fields, MetadataField::DEFAULT);
    // What a person writes counts at once.
    let pointer = "/messages/1/content".to_owned();
    let text = ShownText::new("Look at prod-db, and say hello world. ".repeat(9));
    let edited = house.edit(&id, &EditCommand::Set { pointer, text }).await.unwrap();
    assert!(edited.tokens.unwrap().used > 5 * tokens.used);
}

fn gemini(house: &House, model: &str, says: &str) -> Request<Full<Bytes>> {
    let body = json!({ "systemInstruction": { "parts": [{ "text": "Be brief." }] },
        "contents": [{ "role": "user", "parts": [{ "text": says }] }] });
    let mut request = house.request(body.to_string());
    *request.uri_mut() = format!("/v1beta/models/{model}:generateContent").parse().unwrap();
    request
}

/// The model of a path was no model, so it had no budget, and another one no new context.
// S0-05, S0-119
#[tokio::test]
async fn a_model_that_the_path_names_has_its_budget_and_another_one_is_a_new_context() {
    let (house, mut events) = House::watched().await;
    let first = house.send_raw(gemini(&house, "gemini-2.5-pro", "Look at prod-db"));
    let turn = events.paused().await;
    assert_eq!(turn.model, "gemini-2.5-pro");
    let whole: EditableRequest = house.get(&format!("/v1/pending/{}/request", turn.id)).await;
    assert_eq!((&*whole.model, whole.metadata.max_prompt_tokens), ("gemini-2.5-pro", Some(1_048_576)));
    let system: Value = serde_json::from_str(whole.messages[0].expose()).unwrap();
    assert_eq!(system, json!({ "role": "system", "parts": [{ "text": "Be brief." }] }));
    assert_eq!(whole.messages.len(), 2);
    let second = house.send_raw(gemini(&house, "gemini-2.5-flash", "Look at prod-db"));
    let other = events.paused().await;
    assert_eq!(other.model, "gemini-2.5-flash");
    let refused = first.await.unwrap();
    assert!(refused.text().contains("context changed"), "{}", refused.text());
    house.cancel(&other.id).await.unwrap();
    assert_eq!(second.await.unwrap().status, 400);
}

/// The client ran with a million, and the budget said 200,000.
// S0-81
#[tokio::test]
async fn a_client_that_asks_for_a_larger_window_has_its_budget() {
    let (house, mut events) = House::watched().await;
    let mut body = chat("prod-db");
    body["model"] = json!("claude-sonnet-4-5");
    let mut request = house.request(body.to_string());
    request.headers_mut().insert("anthropic-beta", "context-1m-2025-08-07".parse().unwrap());
    let client = house.send_raw(request);
    let turn = events.paused().await;
    assert_eq!(house.turn(&turn.id).await.tokens.unwrap().max, Some(1_000_000));
    house.cancel(&turn.id).await.unwrap();
    client.await.unwrap().refusal();
}

#[tokio::test]
async fn a_message_that_a_person_put_in_can_be_mended() {
    let (house, mut events) = House::watched().await;
    let (client, id) = house.holds(&mut events, &chat("prod-db")).await;
    let before = "user-3".to_owned();
    house.edit(&id, &EditCommand::Insert { before, text: ShownText::new("Mind teh gap") }).await.unwrap();
    let text = |turn: &TurnView| {
        let section = turn.sections.iter().find(|section| section.key == "inserted-0").unwrap();
        let leaf = &section.leaves[0];
        assert_eq!((leaf.access, &*leaf.pointer, section.editable), (Access::Open, "inserted-0", true));
        leaf.text.expose().to_owned()
    };
    let mended = house.write(&id, "inserted-0", &format!("Mind the gap, {CANARY}")).await.unwrap();
    assert!(text(&mended).starts_with("Mind the gap, EMAIL_"), "{}", text(&mended));
    assert_eq!(mended.edits.iter().filter(|edit| edit.stands && edit.kind == "insert").count(), 1);
    let undone = house.edit(&id, &EditCommand::Undo).await.unwrap();
    assert_eq!(text(&undone), "Mind teh gap");
    house.edit(&id, &EditCommand::Redo).await.unwrap();
    assert!(house.write(&id, "inserted-1", "none").await.is_err());
    house.let_go(&id).await;
    assert_eq!(client.await.unwrap().status, 200);
    let sent = String::from_utf8(house.upstream.received().pop().unwrap().to_vec()).unwrap();
    assert!(sent.contains("Mind the gap, EMAIL_") && !sent.contains("teh") && !sent.contains(CANARY));
}
