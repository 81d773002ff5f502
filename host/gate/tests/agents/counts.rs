//! What a turn of a team would cost, and which words a team has none of.

use serde_json::{Value, json};

use crate::agents::stage::*;
use crate::kit::{EMAIL, REDACT_EMAIL, email_token, once, post};

/// A body without what no count takes.
fn countable(mut body: Value) -> Value {
    let members = body.as_object_mut().unwrap();
    ["max_tokens", "stream"].iter().for_each(|key| drop(members.remove(*key)));
    body
}

// S4-19
#[tokio::test]
async fn a_count_is_of_what_the_entry_would_send() {
    for (path, count) in [("/messages", "/messages/count_tokens"), ("/responses", "/responses/input_tokens")]
    {
        let api = api_of(path);
        let script = [("lead", vec![says("Done.")])].into();
        let stage = Stage::with(&team(&[agent("lead"), agent("reviewer")]), script, REDACT_EMAIL).await;
        let mut client = Conversation::new(api, false, &format!("Ask {EMAIL}."));
        let asked = countable(client.body.clone());
        for (path, model) in [
            (format!("/agents/v1{count}"), "m"),
            (format!("/agents/lead/v1{count}"), "m"),
            (format!("/v1{count}"), "agents"),
        ] {
            let mut asked = asked.clone();
            asked["model"] = model.into();
            let answer = once(&stage.gate, post(&path, asked.to_string())).await;
            if model == "agents" {
                assert!(answer.text().contains("leafgate.defaultModel"), "{}", answer.text());
                continue;
            }
            assert_eq!((answer.status, answer.text()), (200, COUNTED), "{path}");
        }
        client.finish(&stage).await;
        let [first, second, turn] = &stage.upstream.seen()[..] else { panic!("three requests") };
        let body = |seen: &crate::kit::Seen| serde_json::from_slice::<Value>(&seen.body).unwrap();
        assert_eq!(body(first), countable(body(turn)), "{path}");
        assert_eq!(body(first), body(second));
        assert_eq!(first.target, format!("/v1{count}"));
        let sent = body(first).to_string();
        assert!(sent.contains("delegateWork") && sent.contains(&email_token()) && !sent.contains(EMAIL));
    }
}

/// A client asks between a call and its result what the next turn would cost.
#[tokio::test]
async fn a_count_leaves_a_run_alone_that_waits_for_its_client() {
    let script = [("lead", vec![reads("a"), says("Done.")])].into();
    let stage = Stage::new(&team(&[agent("lead")]), script).await;
    let mut client =
        Conversation::new(leafgate_answer::Api::Messages, false, "Read a.").with_file("a", "alpha");
    let (_, reply, _) = client.send(&stage).await;
    let id = reply.unwrap().calls[0].id.expose().to_owned();
    client.results(&[(id, "alpha".to_owned())]);
    let mut count = post("/agents/v1/messages/count_tokens", countable(client.body.clone()).to_string());
    count.headers_mut().insert("authorization", "Bearer one".parse().unwrap());
    assert_eq!(once(&stage.gate, count).await.text(), COUNTED);
    assert!(stage.upstream.seen()[1].target.ends_with("/count_tokens"));
    assert_eq!(client.finish(&stage).await.content.expose(), "Done.");
}

/// Words of a model must not pass for the team's; what is no text of a model passes.
#[tokio::test]
async fn completions_are_refused_by_name_and_embeddings_pass() {
    let stage = Stage::new(&team(&[agent("lead")]), [("lead", vec![])].into()).await;
    for (path, model) in [
        ("/agents/v1/completions", "m"),
        ("/agents/lead/v1/completions", "m"),
        ("/v1/completions", "agents"),
        ("/v1/completions", "agents/lead"),
    ] {
        let body = json!({ "model": model, "prompt": "Go." });
        let answer = once(&stage.gate, post(path, body.to_string())).await;
        let (code, said) = answer.error();
        assert_eq!((answer.status, code.as_str()), (400, "leafgate_malformed"), "{path}");
        assert!(said.contains("not completions") && said.contains("without `/agents`"), "{path}: {said}");
    }
    let gemini = r#"{"contents":[{"parts":[{"text":"Go."}]}]}"#;
    for path in ["/agents/v1beta/models/m:countTokens", "/v1beta/models/agents:countTokens"] {
        let answer = once(&stage.gate, post(path, gemini)).await;
        assert!(answer.text().contains("not gemini"), "{path}: {}", answer.text());
    }
    assert_eq!(stage.upstream.seen().len(), 0);
    for path in
        ["/agents/v1/messages/batches", "/agents/v1/batches", "/agents/v1beta/models/m:batchGenerateContent"]
    {
        let answer = once(&stage.gate, post(path, "{}")).await;
        assert!(answer.text().contains("not requests of many turns at once"), "{path}: {}", answer.text());
    }
    assert_eq!(stage.upstream.seen().len(), 0);
    let embeddings = once(&stage.gate, post("/agents/v1/embeddings", r#"{"model":"m","input":"x"}"#)).await;
    assert_eq!((embeddings.status, stage.upstream.only().target.as_str()), (200, "/v1/embeddings"));
}

/// A client takes what comes from the team's base URL for the team's: what passes is a list.
// S4-21
#[tokio::test]
async fn what_a_team_knows_nothing_of_is_refused_by_its_path_and_models_are_read() {
    let stage = Stage::new(&team(&[agent("lead")]), [("lead", vec![])].into()).await;
    let request = |method: &str, path: &str, body: &str| {
        let mut request = post(path, body.to_owned());
        *request.method_mut() = method.parse().unwrap();
        request
    };
    for (method, path, body) in [
        ("POST", "/agents/v1/audio/transcriptions", "{}"),
        ("POST", "/agents/v1/audio/speech", r#"{"input":"x"}"#),
        ("POST", "/agents/v1/images/generations", "{}"),
        ("POST", "/agents/lead/v1/files", "{}"),
        ("GET", "/agents/v1/files", ""),
        ("GET", "/agents/v1/responses/resp_1", ""),
        ("POST", "/agents/v1/responses/resp_1/cancel", ""),
        ("DELETE", "/agents/v1/responses/resp_1", ""),
        ("GET", "/agents/v1/chat/completions", ""),
        ("GET", "/agents/v1/messages/batches", ""),
        ("PUT", "/agents/v1/models/m", "{}"),
        ("POST", "/agents/v1/unheard/of", "{}"),
    ] {
        let answer = once(&stage.gate, request(method, path, body)).await;
        let said = answer.text();
        assert_eq!(answer.status, 404, "{method} {path}: {said}");
        let named = path.split_once("/v1/").unwrap().1;
        assert!(said.contains(&format!("{method} /v1/{named}")), "{method} {path}: {said}");
        assert!(said.contains("without `/agents`"), "{said}");
    }
    assert_eq!(stage.upstream.seen().len(), 0);
    for (method, path, body) in [
        ("GET", "/agents/v1/models", ""),
        ("GET", "/agents/lead/v1/models/m", ""),
        ("GET", "/agents/v1beta/models", ""),
        ("POST", "/agents/v1/responses/compact", r#"{"model":"m","input":[]}"#),
    ] {
        let answer = once(&stage.gate, request(method, path, body)).await;
        assert_eq!(answer.status, 200, "{method} {path}: {}", answer.text());
    }
    assert_eq!(stage.upstream.seen().len(), 4);
    // Without the team nothing changes.
    assert_eq!(once(&stage.gate, request("GET", "/v1/files", "")).await.status, 200);
}

/// What a team cannot do is said before anything is asked.
// S4-21
#[tokio::test]
async fn what_only_a_provider_keeps_is_refused_with_what_to_send_instead() {
    let script = [("lead", vec![reads("a"), says("Done.")])].into();
    let stage = Stage::new(&team(&[agent("lead")]), script).await;
    for (path, member, why) in [
        ("/responses", json!({ "background": true }), "leave `background` out"),
        ("/responses", json!({ "conversation": "conv_1" }), "without `conversation`"),
        ("/responses", json!({ "previous_response_id": "lga_00_1" }), "the whole conversation as `input`"),
        ("/chat/completions", json!({ "n": 2 }), "leave `n` out"),
    ] {
        let mut body = Conversation::new(api_of(path), false, "Go.").body;
        body.as_object_mut().unwrap().extend(member.as_object().unwrap().clone());
        let answer = once(&stage.gate, post(&format!("/agents/v1{path}"), body.to_string())).await;
        assert_eq!(answer.status, 400, "{}", answer.text());
        assert!(answer.text().contains(why), "{}", answer.text());
    }
    assert_eq!(stage.upstream.seen().len(), 0);
    // A run that waits is found all the same by a client that names the last answer and repeats nothing.
    let mut client = Conversation::new(leafgate_answer::Api::Responses, false, "Read a.");
    let (_, reply, text) = client.send(&stage).await;
    let id = reply.unwrap().calls[0].id.expose().to_owned();
    let last: Value = serde_json::from_str(&text).unwrap();
    client.body["previous_response_id"] = last["id"].clone();
    client.body["input"] = json!([]);
    client.results(&[(id, "alpha".to_owned())]);
    let (status, reply, text) = client.send(&stage).await;
    assert_eq!(
        (status, reply.map(|reply| reply.content.expose().to_owned())),
        (200, Some("Done.".to_owned())),
        "{text}"
    );
}

/// They are refused without the tools that use them, which are the entry's alone.
#[tokio::test]
async fn what_belongs_to_a_providers_tools_is_the_entrys_alone() {
    let script =
        [("lead", vec![delegates("reader", "Read."), says("Done.")]), ("reader", vec![reports("Read.")])];
    let stage = Stage::new(&team(&[agent("lead"), agent("reader")]), script.into()).await;
    let mut client = Conversation::new(leafgate_answer::Api::Messages, false, "Go.");
    client.body["mcp_servers"] = json!([{ "type": "url", "url": "https://mcp.example", "name": "s" }]);
    client.body["container"] = json!({ "skills": [] });
    client.body["tools"]
        .as_array_mut()
        .unwrap()
        .push(json!({ "type": "mcp_toolset", "mcp_server_name": "s" }));
    assert_eq!(client.finish(&stage).await.content.expose(), "Done.");
    for body in stage.bodies_of("lead") {
        assert!(body.get("mcp_servers").is_some() && body.get("container").is_some(), "{body}");
        assert!(body["tools"].to_string().contains("mcp_toolset"), "{body}");
    }
    let reader = &stage.bodies_of("reader")[0];
    let members = [reader.get("mcp_servers"), reader.get("container")];
    assert!(members == [None, None] && !reader["tools"].to_string().contains("mcp_toolset"), "{reader}");
}

/// A provider asks a server by itself: its tools count as the client's own do.
// S3-21
#[tokio::test]
async fn an_entry_has_the_servers_all_of_whose_tools_it_may_call() {
    for (permission, servers) in [
        (json!({ "type": "all" }), &["docs", "shell"][..]),
        (json!({ "type": "specific", "tools": ["find"] }), &["docs"]),
        (json!({ "type": "specific", "tools": ["read_file"] }), &[]),
        (json!({ "type": "none" }), &[]),
    ] {
        let mut lead = agent("lead");
        lead["toolPermissions"] = permission.clone();
        let stage = Stage::new(&team(&[lead]), [("lead", vec![says("Done.")])].into()).await;
        let mut client = Conversation::new(leafgate_answer::Api::Messages, false, "Go.");
        client.body["mcp_servers"] = json!([
            { "type": "url", "url": "https://docs.example", "name": "docs" },
            { "type": "url", "url": "https://shell.example", "name": "shell" },
        ]);
        let sets = [
            json!({ "type": "mcp_toolset", "mcp_server_name": "docs", "default_config": { "enabled": false }, "configs": { "find": { "enabled": true } } }),
            json!({ "type": "mcp_toolset", "mcp_server_name": "shell" }),
        ];
        client.body["tools"].as_array_mut().unwrap().extend(sets);
        assert_eq!(client.finish(&stage).await.content.expose(), "Done.");
        let body = &stage.bodies_of("lead")[0];
        let named = |list: &Value, key: &str| {
            let list = list.as_array().into_iter().flatten();
            list.filter_map(|it| it[key].as_str().map(str::to_owned)).collect::<Vec<_>>()
        };
        assert_eq!(named(&body["mcp_servers"], "name"), servers, "{permission}: {body}");
        assert_eq!(named(&body["tools"], "mcp_server_name"), servers, "{permission}: {body}");
    }
}
