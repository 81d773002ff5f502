//! An upstream that is Copilot's: its clients' paths, as the first upstream and as a named one.

use http::Request;
use http_body_util::Full;
use leafgate_gate::{GateConfig, NamedUpstream, UpstreamConfig, UpstreamKind, UpstreamTarget};
use serde_json::{Value, json};

use crate::kit::{
    Answer, Body, EMAIL, REDACT_EMAIL, Running, Upstream, answer, email_token, full, gate, gate_of,
    json_answer, once, post, says,
};

/// A gate whose first upstream, and the named one `copilot`, is Copilot's.
async fn before(target: UpstreamTarget) -> Running {
    let mut upstream = UpstreamConfig::new(target.clone());
    upstream.kind = UpstreamKind::Copilot;
    let mut config = GateConfig::new(target);
    config.named = vec![NamedUpstream { name: "copilot".parse().unwrap(), upstream: upstream.clone() }];
    config.upstream = leafgate_gate::FirstUpstream::Own(Box::new(upstream));
    gate_of(config, REDACT_EMAIL).await
}

fn get(path: &str) -> Request<Full<bytes::Bytes>> {
    Request::get(path).body(Full::default()).unwrap()
}

#[tokio::test]
async fn every_path_of_its_clients_is_walked_and_sent_on_as_it_is() {
    let upstream = Upstream::silent().await;
    let gate = before(upstream.url().parse().unwrap()).await;
    let chat = json!({ "model": "m", "messages": [{ "role": "user", "content": EMAIL }] });
    for (path, body) in [
        ("/chat/completions", chat.clone()),
        ("/responses", json!({ "model": "m", "input": [{ "role": "user", "content": EMAIL }] })),
        (
            "/v1/messages",
            json!({ "model": "m", "max_tokens": 9, "messages": [{ "role": "user", "content": EMAIL }] }),
        ),
        ("/completions", json!({ "prompt": EMAIL })),
        ("/v1/engines/gpt-41-copilot/completions", json!({ "prompt": EMAIL, "suffix": "" })),
        ("/embeddings", json!({ "input": [EMAIL] })),
        ("/auto", json!({ "prompt": EMAIL, "tier": "x" })),
        ("/models/session", json!({ "hints": [EMAIL] })),
        ("/models/session/intent", chat),
        ("/search", json!({ "query": EMAIL })),
        ("/skills?x=1", json!({ "query": EMAIL })),
        ("/agents/swe/v1/jobs", json!({ "problem": { "text": EMAIL } })),
        ("/agents/v1/jobs", json!([EMAIL])),
    ] {
        for base in ["", "/u/copilot"] {
            assert_eq!(
                once(&gate, post(&format!("{base}{path}"), body.to_string())).await.status,
                200,
                "{path}"
            );
            let seen = upstream.seen().pop().unwrap();
            assert_eq!(seen.target, path);
            assert_eq!(seen.body, body.to_string().replace(EMAIL, &email_token()), "{path}");
        }
    }
    for path in ["/auto", "/agents/swe/v1/jobs"] {
        let at = gate_of(GateConfig::new(upstream.url().parse().unwrap()), REDACT_EMAIL).await;
        assert_eq!(once(&at, post(path, "{}")).await.status, 404, "{path} is nobody else's");
    }
}

#[tokio::test]
async fn its_answers_are_restored_as_those_of_the_apis() {
    let said = |seen: &crate::kit::Seen| {
        let request: Value = serde_json::from_slice(&seen.body).unwrap();
        let pointers = ["/messages/0/content", "/input/0/content"];
        pointers.iter().find_map(|pointer| request.pointer(pointer)?.as_str().map(str::to_owned)).unwrap()
    };
    let upstream = Upstream::start(move |seen| {
        let said = said(&seen);
        let answer = match seen.target.as_str() {
            "/chat/completions" => json!({ "choices": [{ "message": { "role": "assistant", "content": said } }] }),
            "/responses" => json!({ "output": [{ "type": "message", "role": "assistant", "content":
                [{ "type": "output_text", "text": said }] }] }),
            _ => json!({ "type": "message", "role": "assistant", "content": [{ "type": "text", "text": said }] }),
        };
        async move { json_answer(answer.to_string()) }
    })
    .await;
    let gate = before(upstream.url().parse().unwrap()).await;
    for path in ["/chat/completions", "/responses", "/v1/messages"] {
        let key = if path == "/responses" { "input" } else { "messages" };
        let body = json!({ "model": "m", "max_tokens": 9, key: [{ "role": "user", "content": EMAIL }] });
        let answer = once(&gate, post(&format!("/u/copilot{path}"), body.to_string())).await;
        assert!(answer.text().contains(EMAIL), "{path}: {}", answer.text());
    }
}

/// The list of models behind a gate whose upstream is of this kind.
async fn models(kind: UpstreamKind, list: fn() -> http::Response<Body>) -> Answer {
    let upstream = Upstream::start(move |_| async move { list() }).await;
    let mut config = UpstreamConfig::new(upstream.url().parse().unwrap());
    config.kind = kind;
    let mut gate = GateConfig::new(upstream.url().parse().unwrap());
    gate.upstream = leafgate_gate::FirstUpstream::Own(Box::new(config));
    let gate = gate_of(gate, REDACT_EMAIL).await;
    let mut request = get("/models");
    request.headers_mut().insert("accept-encoding", "gzip".parse().unwrap());
    let answer = once(&gate, request).await;
    let plain = upstream.only().headers["accept-encoding"] == "identity";
    assert_eq!(plain, kind == UpstreamKind::Copilot, "what is read must come so that it can be");
    answer
}

const LIST: &str =
    r#"{ "data": [ {"id": "gpt", "supported_endpoints": ["/responses" , "ws:/responses"], "n": 1e0 } ]}"#;

#[tokio::test]
async fn the_list_of_models_offers_no_socket() {
    let listed = models(UpstreamKind::Copilot, || json_answer(LIST)).await;
    let expected = LIST.replace(r#" , "ws:/responses""#, "");
    assert_eq!((listed.status, listed.text()), (200, expected.as_str()));
    assert_eq!(listed.headers["content-length"], expected.len().to_string());
    assert_eq!(models(UpstreamKind::Models, || json_answer(LIST)).await.text(), LIST, "elsewhere it passes");
    let other = models(UpstreamKind::Copilot, || answer("text/plain", full(LIST))).await;
    assert_eq!(other.text(), LIST, "what is no JSON passes");
    let coded = || {
        let mut coded = json_answer(LIST);
        coded.headers_mut().insert("content-encoding", "gzip".parse().unwrap());
        coded
    };
    assert_eq!(models(UpstreamKind::Copilot, coded).await.text(), LIST, "what is compressed passes");
}

#[tokio::test]
async fn servers_of_tools_are_refused_at_every_upstream() {
    let upstream = Upstream::silent().await;
    let copilot = before(upstream.url().parse().unwrap()).await;
    let other = gate(REDACT_EMAIL, &upstream.url()).await;
    for (gate, path) in
        [(&copilot, "/u/copilot/mcp/readonly"), (&copilot, "/mcp/readonly"), (&other, "/mcp/readonly")]
    {
        let refused = once(gate, post(path, r#"{"jsonrpc": "2.0", "method": "initialize", "id": 1}"#)).await;
        assert_eq!(refused.status, 404, "{path}");
        let (code, message) = refused.error();
        assert!(code == "leafgate_unsupported" && message.contains("(MCP)"), "{code} {message}");
        assert_eq!(once(gate, get(path)).await.status, 404, "GET {path}");
    }
    assert_eq!(upstream.seen().len(), 0);
}

#[tokio::test]
async fn the_built_in_upstream_can_play_it_and_the_status_names_its_kind() {
    let gate = before(UpstreamTarget::Echo).await;
    let answer = once(&gate, post("/u/copilot/chat/completions", says(EMAIL))).await;
    let answer: Value = serde_json::from_str(answer.text()).unwrap();
    assert!(answer["leafgate_sent"].as_str().unwrap().contains(&email_token()));
    let auto = once(&gate, post("/auto", json!({ "prompt": EMAIL }).to_string())).await;
    assert_eq!(
        auto.text(),
        json!({ "prompt": email_token() }).to_string(),
        "its answers are no model's words"
    );
    let status = gate.gate.status();
    assert_eq!(status.upstream_kind.as_deref(), Some("copilot"));
    assert_eq!(status.upstreams[0].kind.as_deref(), Some("copilot"));
    let other = gate_of(GateConfig::new(UpstreamTarget::Echo), REDACT_EMAIL).await;
    assert_eq!(other.gate.status().upstream_kind, None);
}
