//! Invariant 6, for what the gate logs: a line for each request, and never a header value or text of a body.

use crate::kit::{Client, EMAIL, REDACT_EMAIL, chat, gate, says};
use crate::logs::{logged, record};

#[tokio::test]
async fn a_rule_that_could_not_run_is_a_warning_even_where_the_request_passes() {
    record();
    let rules = "[[rule]]\nid = 'broken'\nmatch = { role = 'user' }\nwhen = 'int(leaf.text) > 3'\n\
                 action = 'block'\non_error = 'pass'\n";
    let gate = gate(rules, "echo:").await;
    let mut client = Client::connect(gate.address).await;
    assert_eq!(client.whole(chat(says("canary7391"))).await.status, 200);
    drop(client);
    let log = logged();
    let warning = log.lines().find(|line| line.contains("could not run") && line.contains("broken")).unwrap();
    assert!(warning.contains("WARN leafgate::policy"), "{warning}");
    assert!(!log.contains("canary"), "{log}");
}

#[tokio::test]
async fn no_secret_of_a_path_a_query_or_a_header_is_logged() {
    record();
    let gate = gate("extends = \"default\"\n", "echo:").await;
    let mut client = Client::connect(gate.address).await;
    let body = "kfhfgtKAQWYm85EZgslmBp65HpUbz04IfkvX";
    let secret = format!("{}{body}", "ghp_");
    let escaped: String = secret.bytes().map(|byte| format!("%{byte:02X}")).collect();
    // The first is refused before any rule runs, the last passes.
    for target in [
        format!("/elsewhere/{secret}"),
        format!("/v1/files/{secret}/content"),
        format!("/v1/files/{escaped}"),
        format!("/v1/models?q={secret}"),
        "/v1/files/file-1".to_owned(),
    ] {
        for method in [http::Method::GET, http::Method::POST] {
            let mut request = chat(says("hi"));
            if method == http::Method::GET {
                *request.body_mut() = http_body_util::Full::default();
            }
            (*request.method_mut(), *request.uri_mut()) = (method, target.parse().unwrap());
            request.headers_mut().insert("authorization", format!("Bearer {secret}").parse().unwrap());
            client.whole(request).await;
        }
    }
    let mut request = chat(says("hi"));
    request.headers_mut().insert("x-note", secret.parse().unwrap());
    assert_eq!(client.whole(request).await.status, 400);
    drop(client);
    let log = logged();
    assert!(log.contains("path=/v1/files/file-1"), "{log}");
    assert!(!log.contains(body) && !log.contains(&escaped), "{log}");
}

#[tokio::test]
async fn invariant_6_nothing_of_a_request_is_logged() {
    record();
    let gate = gate(REDACT_EMAIL, "echo:").await;
    let mut client = Client::connect(gate.address).await;
    let canary = "canary7391";
    let bodies = [
        says(&format!("{canary} {EMAIL}")),
        format!("{{\"{canary}\": \"{canary}\", \"stream\": true}}"),
        format!("{{\"{canary}\": {canary}}}"),
        canary.to_owned(),
    ];
    for body in bodies {
        for (header, value) in [
            ("authorization", "Bearer canary7391"),
            ("content-encoding", "canary7391"),
            ("origin", "http://canary7391"),
        ] {
            let mut request = chat(body.clone());
            request.headers_mut().insert(header, value.parse().unwrap());
            client.whole(request).await;
        }
    }
    let query =
        http::Request::get("/v1/models?key=canary7391").body(http_body_util::Full::default()).unwrap();
    client.whole(query).await;
    drop(client);
    let log = logged();
    assert!(log.matches("leafgate::request").count() >= 12, "one line a request: {log}");
    assert!(log.contains("rules=mail") && log.contains("path=/v1/chat/completions"), "{log}");
    assert!(!log.contains("canary") && !log.contains("jane.doe"), "{log}");
}
