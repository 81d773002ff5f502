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
async fn a_rule_about_a_client_sees_which_one_asks() {
    let rules = "[[rule]]\nid = 'no-codex'\nmatch = { agent = 'codex' }\naction = 'block'\n\
                 [[rule]]\nid = 'no-strangers'\nmatch = {}\nwhen = 'request.agent == \"other\"'\naction = 'block'\n";
    let gate = gate(rules, "echo:").await;
    for (program, status) in
        [("codex_cli_rs/0.46.0", 400), ("claude-cli/2.0.14 (external, cli)", 200), ("my-tool/1", 400)]
    {
        let mut request = chat(says("hi"));
        request.headers_mut().insert("user-agent", program.parse().unwrap());
        assert_eq!(once(&gate, request).await.status, status, "{program}");
    }
    assert_eq!(once(&gate, chat(says("hi"))).await.status, 400, "a client without a name is another one");
}

#[tokio::test]
async fn a_rule_sees_path_upstream_headers_and_who_asks() {
    for (rule, status) in [
        ("match = { endpoint = '/v1/chat/*', upstream = 'echo:' }", 400),
        ("match = { endpoint = '/v1/messages' }", 200),
        ("match = { upstream = 'https://*' }", 200),
        ("match = { header = { x-team = 'red' } }", 400),
        ("match = { header = { x-team = 'blue' } }", 200),
        ("match = { subagent = true, stream = false }", 400),
        ("match = { subagent = false }", 200),
        ("match = {}\nwhen = 'request.subagent && request.endpoint == \"/v1/chat/completions\"'", 400),
    ] {
        let gate = gate(&format!("[[rule]]\nid = 'no'\n{rule}\naction = 'block'\n"), "echo:").await;
        let mut request = chat(says("hi"));
        *request.uri_mut() = "/v1/chat/completions?x=1".parse().unwrap();
        request.headers_mut().insert("x-team", "red".parse().unwrap());
        request.headers_mut().insert("x-interaction-type", "conversation-subagent".parse().unwrap());
        assert_eq!(once(&gate, request).await.status, status, "{rule}");
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
