//! Invariant 6 for what a request says outside its body: no secret leaves in a path, a query or a header.

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::Full;

use crate::kit::{Answer, Client, Running, behind, chat, once, says};

const SECRETS: &str = "extends = \"default\"\n";

/// A secret of real shape, put together here so that no scanner takes this file for a leak.
fn secret() -> String {
    format!("{}{}", "ghp_", "kfhfgtKAQWYm85EZgslmBp65HpUbz04IfkvX")
}

fn bare(method: Method, target: &str) -> Request<Full<Bytes>> {
    Request::builder().method(method).uri(target).body(Full::default()).unwrap()
}

fn with(mut request: Request<Full<Bytes>>, name: &str, value: &str) -> Request<Full<Bytes>> {
    let name: http::HeaderName = name.parse().unwrap();
    request.headers_mut().insert(name, value.parse().unwrap());
    request
}

async fn assert_blocked(gate: &Running, request: Request<Full<Bytes>>) -> Answer {
    let shown = format!("{} {} {:?}", request.method(), request.uri(), request.headers());
    let refusal = once(gate, request).await;
    assert_eq!(refusal.status, 400, "{shown}");
    let (code, message) = refusal.error();
    assert_eq!(code, "leafgate_blocked", "{shown}");
    assert!(!message.contains(&secret()), "{message}");
    refusal
}

#[tokio::test]
async fn invariant_6_a_secret_in_path_query_or_header_does_not_leave() {
    let (upstream, gate) = behind(SECRETS).await;
    let secret = secret();
    let escaped: String = secret.bytes().map(|byte| format!("%{byte:02x}")).collect();
    for method in [Method::GET, Method::HEAD, Method::DELETE, Method::POST] {
        for target in [
            format!("/v1/files/{secret}"),
            format!("/v1/files/{escaped}/content"),
            format!("/v1/models?q={secret}"),
            format!("/v1/models?q=a+{escaped}+b"),
            format!("/v1/models?{secret}=1"),
            format!("/v1/models?{secret}"),
            format!("/v1/models?key={secret}"),
        ] {
            let request = bare(method.clone(), &target);
            if method == Method::HEAD {
                assert_eq!(once(&gate, request).await.status, 400, "{target}");
            } else {
                assert_blocked(&gate, request).await;
            }
        }
    }
    let metadata = format!(
        r#"{{"turn_id":"0199","workspace":{{"git":{{"remote_urls":{{"origin":"https://ann:{secret}@github.com/acme/app.git"}}}}}}}}"#
    );
    for (name, value) in [
        ("x-codex-turn-metadata", metadata.as_str()),
        ("x-anything", &secret),
        ("user-agent", &format!("tool/1 ({secret})")),
        ("accept", &format!("application/json; note={secret}")),
        ("traceparent", &format!("00-{secret}")),
        ("referer", &format!("https://host.example/?token={secret}")),
        (&format!("x-{}", secret.to_lowercase().replace('_', "-")), &secret),
    ] {
        assert_blocked(&gate, with(chat(says("hi")), name, value)).await;
        assert_blocked(&gate, with(bare(Method::GET, "/v1/models"), name, value)).await;
        assert_blocked(&gate, with(bare(Method::DELETE, "/v1/files/f"), name, value)).await;
    }
    assert!(upstream.seen().is_empty());
}

/// As Claude Code, Codex and the SDKs send them.
#[tokio::test]
async fn what_clients_say_about_themselves_passes() {
    let (_upstream, gate) = behind(SECRETS).await;
    let credential = format!("Bearer {}", secret());
    let headers = [
        ("authorization", credential.as_str()),
        ("x-api-key", &credential),
        ("cookie", &credential),
        ("user-agent", "claude-cli/2.0.14 (external, cli)"),
        ("anthropic-version", "2023-06-01"),
        (
            "anthropic-beta",
            "claude-code-20250219,interleaved-thinking-2025-05-14,fine-grained-tool-streaming-2025-05-14",
        ),
        ("anthropic-dangerous-direct-browser-access", "true"),
        ("x-app", "cli"),
        ("x-stainless-package-version", "0.60.0"),
        ("x-stainless-runtime-version", "v24.3.0"),
        ("x-stainless-retry-count", "1"),
        ("x-stainless-timeout", "600"),
        ("idempotency-key", "stainless-python-retry-7f0c3b52-7a7c-4f0e-a3a5-5c9a1de5a7c1"),
        ("openai-organization", "org-8FkQ2mXpL0vTz1BnYcRw7dHs"),
        ("openai-project", "proj_4hT9sKqVb2LmXw8ZrNcY6pEd"),
        ("chatgpt-account-id", "5d1c8f0e-0d7c-4a39-9b1f-2f4b0c3a7e66"),
        ("session_id", "0199a213-81c0-7800-8aa1-bbab2a035a53"),
        ("conversation_id", "0199a213-81c0-7800-8aa1-bbab2a035a53"),
        ("originator", "codex_cli_rs"),
        (
            "x-codex-turn-metadata",
            r#"{"turn_id":"0199a213","workspace":{"git":{"remote_urls":{"origin":"https://github.com/acme/app.git"},"commit":"9f2b7c1d4e5a60718293a4b5c6d7e8f901234567"}}}"#,
        ),
        ("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),
        ("x-request-id", "req_011CSHoEeqs5C35K2UUqR7Fy"),
        ("accept", "application/json"),
        ("accept-encoding", "gzip, deflate, br, zstd"),
        ("content-type", "application/json; charset=utf-8"),
    ];
    let dress = |mut request: Request<Full<Bytes>>| {
        for (name, value) in headers {
            request = with(request, name, value);
        }
        request
    };
    let mut client = Client::connect(gate.address).await;
    for request in [
        chat(says("hi")),
        bare(Method::GET, "/v1/models?limit=20&after=gpt-4.1-mini-2025-04-14"),
        bare(
            Method::GET,
            "/v1/responses/resp_68c1f2a3b4d5819e9f0a1b2c3d4e5f60718293a4b5c6d7e8?include[]=reasoning.encrypted_content",
        ),
        bare(Method::GET, "/v1/files/file-8FkQ2mXpL0vTz1BnYcRw7dHs/content"),
        bare(Method::DELETE, "/v1/vector_stores/vs_68c1f2a3b4d5819e9f0a1b2c3d4e5f60"),
        bare(Method::POST, "/v1/messages/batches/msgbatch_01HkcTjaV5uDC8jWR4ZsDV8d/cancel"),
        crate::kit::post(
            "/openai/deployments/gpt-4o/chat/completions?api-version=2025-04-01-preview",
            says("hi"),
        ),
    ] {
        let shown = format!("{} {}", request.method(), request.uri());
        let answer = client.whole(dress(request)).await;
        assert_eq!(answer.status, 200, "{shown}: {}", answer.text());
    }
}

#[tokio::test]
async fn a_rule_that_asks_for_a_person_blocks_what_cannot_be_shown_to_one() {
    let rules = "[[rule]]\nid = 'mail'\nmatch = {}\ndetect = ['pii/email']\naction = 'redact'\non_unredactable = 'pause'\n\
                 [[rule]]\nid = 'look'\nmatch = {}\naction = 'pause'\n";
    let (upstream, gate) = behind(rules).await;
    let refusal = assert_blocked(&gate, bare(Method::GET, "/v1/models?q=jane.doe@mail.example.org")).await;
    let (_, message) = refusal.error();
    assert!(message.contains("rule `mail`") && message.contains("without a body"), "{message}");
    assert!(upstream.seen().is_empty());
    assert_eq!(once(&gate, bare(Method::GET, "/v1/models")).await.status, 200, "there is nothing to look at");
}
