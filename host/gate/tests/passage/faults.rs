//! Invariant 7 for the gate: a guard that did not run never counts as passed; what it is told about clients, and what it counts.

use http::StatusCode;

use crate::kit::{Upstream, answer, chat, full, gate, once, says};

/// A rule whose condition fails on every leaf of text.
fn failing(on_error: &str) -> String {
    format!(
        "[[rule]]\nid = 'broken'\nmatch = {{ role = 'user' }}\nwhen = 'int(leaf.text) > 3'\naction = 'block'\n{on_error}"
    )
}

#[tokio::test]
async fn invariant_7_a_rule_that_cannot_run_blocks_unless_it_says_otherwise_and_is_counted_either_way() {
    let upstream = Upstream::silent().await;
    for (on_error, status) in [("", 400), ("on_error = 'block'\n", 400), ("on_error = 'pass'\n", 200)] {
        let gate = gate(&failing(on_error), &upstream.url()).await;
        let answer = once(&gate, chat(says("seven"))).await;
        assert_eq!(answer.status, status, "{on_error}");
        let counts = gate.gate.status().requests;
        assert_eq!((counts.faults, counts.blocked), (1, u64::from(status == 400)), "{on_error}");
    }
    assert_eq!(upstream.seen().len(), 1);
}

#[tokio::test]
async fn a_rule_sees_path_upstream_headers_and_who_asks() {
    const CODEX: &str = "codex_cli_rs/0.46.0";
    for (rule, program, status) in [
        ("match = { endpoint = '/v1/chat/*', upstream = 'echo:' }", "", 400),
        ("match = { endpoint = '/v1/messages' }", "", 200),
        ("match = { upstream = 'https://*' }", "", 200),
        ("match = { header = { x-team = 'red' } }", "", 400),
        ("match = { header = { x-team = 'blue' } }", "", 200),
        ("match = { subagent = true, stream = false }", "", 400),
        ("match = { subagent = false }", "", 200),
        ("match = {}\nwhen = 'request.subagent && request.endpoint == \"/v1/chat/completions\"'", "", 400),
        ("match = { agent = 'codex' }", CODEX, 400),
        ("match = { agent = 'codex' }", "claude-cli/2.0.14 (external, cli)", 200),
        ("match = {}\nwhen = 'request.agent == \"other\"'", CODEX, 200),
        ("match = {}\nwhen = 'request.agent == \"other\"'", "my-tool/1", 400),
        // A client without a name is another one.
        ("match = {}\nwhen = 'request.agent == \"other\"'", "", 400),
    ] {
        let gate = gate(&format!("[[rule]]\nid = 'no'\n{rule}\naction = 'block'\n"), "echo:").await;
        let mut request = chat(says("hi"));
        *request.uri_mut() = "/v1/chat/completions?x=1".parse().unwrap();
        for (name, value) in
            [("x-team", "red"), ("x-interaction-type", "conversation-subagent"), ("user-agent", program)]
        {
            if !value.is_empty() {
                request.headers_mut().insert(name, value.parse().unwrap());
            }
        }
        assert_eq!(once(&gate, request).await.status, status, "{rule} {program}");
    }
}

#[tokio::test]
async fn answers_are_counted_by_what_the_upstream_said() {
    let upstream = Upstream::start(|seen| async move {
        let mut response = answer("application/json", full("{}"));
        let status = seen.target.rsplit('/').next().unwrap().parse().unwrap();
        *response.status_mut() = StatusCode::from_u16(status).unwrap();
        response
    })
    .await;
    let gate = gate("", &upstream.url()).await;
    for status in [200, 201, 401, 429, 500, 502, 503, 302] {
        once(&gate, crate::kit::post(&format!("/v1/{status}"), "{}")).await;
    }
    let counts = gate.gate.status().requests;
    assert_eq!(counts.forwarded, 8);
    let answers = counts.answers;
    assert_eq!((answers.succeeded, answers.client_errors, answers.server_errors), (2, 2, 3));
    assert_eq!((answers.redirected, answers.none), (1, 0));
}
