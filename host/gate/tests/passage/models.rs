//! Another model than the client asks for, where the path names it: Gemini's, and Azure's deployments.

use http::Response;
use serde_json::{Value, json};

use crate::kit::{Answer, Body, Running, Upstream, gate, json_answer, once, post};

const GEMINI: &str = "/v1beta/models/small:streamGenerateContent?alt=sse&key=k";
const VERTEX: &str = "/v1/projects/p/locations/l/publishers/google/models/small:generateContent";
const AZURE: &str = "/openai/deployments/small/chat/completions?api-version=2024-10-21";

fn body(path: &str) -> String {
    match path.starts_with("/openai/") {
        true => json!({ "messages": [{ "role": "user", "content": "Hi" }] }),
        false => json!({ "contents": [{ "role": "user", "parts": [{ "text": "Hi" }] }] }),
    }
    .to_string()
}

async fn ask(gate: &Running, path: &str) -> Answer {
    once(gate, post(path, body(path))).await
}

/// What was asked, in order.
fn targets(upstream: &Upstream) -> Vec<String> {
    upstream.seen().into_iter().map(|seen| seen.target).collect()
}

const PROFILE: &str =
    "[[assemble]]\nid = \"other\"\nmatch = { format = [\"gemini\", \"openai-chat\"] }\nmodel = \"big 2.5\"\n";

// S3-20
#[tokio::test]
async fn a_profile_names_the_model_in_the_path() {
    let upstream = Upstream::silent().await;
    // Rules are asked about the model that is asked.
    let rules = "[[rule]]\nid = \"big\"\nmatch = { model = \"small\" }\naction = \"block\"\nreason = \"Not that one\"\n";
    let gate = gate(&format!("{PROFILE}{rules}"), &upstream.url()).await;
    for path in [GEMINI, VERTEX, AZURE] {
        let answer = ask(&gate, path).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    let expected = [GEMINI, VERTEX, AZURE].map(|path| path.replace("small", "big%202.5"));
    assert_eq!(targets(&upstream), expected);
    let azure: Value = serde_json::from_slice(&upstream.seen()[2].body).unwrap();
    assert_eq!(azure["model"], "big 2.5");
}

#[tokio::test]
async fn a_rule_names_the_model_in_the_path() {
    let upstream = Upstream::silent().await;
    let rules =
        "[[rule]]\nid = \"larger\"\nmatch = { model = \"small\" }\naction = \"rewrite\"\nmodel = \"big\"\n";
    let gate = gate(rules, &upstream.url()).await;
    for path in [GEMINI, VERTEX, AZURE] {
        assert_eq!(ask(&gate, path).await.status, 200);
    }
    assert_eq!(targets(&upstream), [GEMINI, VERTEX, AZURE].map(|path| path.replace("small", "big")));
    let counted = once(&gate, post("/v1beta/models/small:countTokens", body(GEMINI))).await;
    assert_eq!(counted.status, 200);
    assert_eq!(upstream.seen()[3].target, "/v1beta/models/big:countTokens");
    // One that the rule is not about stays where it is, byte for byte.
    ask(&gate, &GEMINI.replace("small", "other%2Dmodel")).await;
    assert_eq!(upstream.seen()[4].target, GEMINI.replace("small", "other%2Dmodel"));
    assert_eq!(upstream.seen()[4].body, body(GEMINI));
}

fn refusing(message: &str) -> Response<Body> {
    let mut refusal = json_answer(json!({ "error": { "message": message } }).to_string());
    *refusal.status_mut() = http::StatusCode::NOT_FOUND;
    refusal
}

// S3-20
#[tokio::test]
async fn a_model_that_is_not_there_is_another_one_in_the_path() {
    let upstream = Upstream::start(|seen| async move {
        match seen.target.contains("third") {
            true => json_answer("{}"),
            false => refusing("models/x is not found for API version v1beta, or the model does not exist"),
        }
    })
    .await;
    let lines = "downgrade = { models = [\"second\", \"third\"], else = \"pause\" }\n";
    let gate_ = gate(&format!("{PROFILE}{lines}"), &upstream.url()).await;
    for path in [GEMINI, VERTEX, AZURE] {
        let before = upstream.seen().len();
        let answer = ask(&gate_, path).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(answer.headers["leafgate-downgrade"], "model");
        let asked = ["big%202.5", "second", "third"].map(|model| path.replace("small", model));
        assert_eq!(targets(&upstream)[before..], asked);
    }
    // Nobody can choose in a body what stands in a path: the client hears it at once.
    let none = gate(&format!("{PROFILE}downgrade = {{ else = \"pause\" }}\n"), &upstream.url()).await;
    let answer = ask(&none, VERTEX).await;
    assert_eq!(answer.status, 404);
    assert!(answer.text().contains("is not found"), "{}", answer.text());
}
