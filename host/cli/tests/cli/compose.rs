//! `compose`: the request that a profile makes, and `apply`, which says what would leave of it.

use serde_json::{Value, json};

use crate::support::{Bench, EMAIL};

const PROFILE: &str = r#"
[[rule]]
id = "addresses"
match = {}
detect = ["pii/email"]
action = "redact"

[[assemble]]
id = "vault"
match = { model = "vault/*" }
model = "gpt-x"
prompt = { type = "file", path = "prompt.md" }
context = ["notes/*.md"]
"#;

fn bench() -> Bench {
    let bench = Bench::with(PROFILE);
    bench.file("policy/prompt.md", "Answer from the notes.\n");
    bench.file("policy/notes/a.md", &format!("Ask {EMAIL}."));
    bench
}

fn asks() -> String {
    json!({ "model": "vault/any", "messages": [{ "role": "user", "content": "Whom?" }],
        "tools": [{ "type": "function", "function": { "name": "look" } }] })
    .to_string()
}

#[test]
fn a_request_is_made_and_its_steps_are_told() {
    let made = bench().run(&["compose", "--policy", "policy"], &asks());
    insta::assert_snapshot!(made.shown());
}

#[test]
fn as_json_it_has_steps_and_losses() {
    let made = bench().run(&["compose", "--policy", "policy", "--json"], &asks());
    assert_eq!(made.code, 0, "{}", made.err);
    let made: Value = made.json();
    assert_eq!(made["profile"], "vault");
    let body: Value = serde_json::from_str(made["body"].as_str().unwrap()).unwrap();
    assert_eq!(body["messages"][1]["content"], format!("Context from notes/a.md:\n\nAsk {EMAIL}."));
    let losses = made["losses"].as_array().unwrap();
    assert_eq!((losses.len(), &losses[0]["did"]), (1, &json!("left-out-tools")));
    let digests = made["steps"].as_array().unwrap().iter().filter(|step| step.get("digest").is_some());
    assert!(digests.count() >= 3, "{made}");
}

#[test]
fn what_leaves_of_it_was_searched() {
    let bench = bench();
    let applied = bench.run(&["apply", "--policy", "policy"], &asks());
    assert_eq!(applied.code, 0, "{}", applied.err);
    assert!(applied.out.contains("Context from notes/a.md:\\n\\nAsk EMAIL_"), "{}", applied.out);
    assert!(!applied.out.contains(EMAIL));
    let told = bench.run(&["apply", "--policy", "policy", "--json"], &asks());
    let told: Value = told.json();
    assert_eq!(told["assembled"]["profile"], "vault");
    assert!(told["assembled"]["steps"].as_array().unwrap().len() >= 4);
    let plain = bench.run(&["apply", "--policy", "policy", "--json"], r#"{"model":"m","messages":[]}"#);
    assert!(plain.json::<Value>().get("assembled").is_none());
}

#[test]
fn what_cannot_be_made_is_told_by_name() {
    let bench = bench();
    for (args, input, says) in [
        (vec!["--profile", "vaults"], asks(), "profiles are: vault"),
        (vec![], r#"{"model":"m","messages":[]}"#.to_owned(), "no profile is for this request"),
        (
            vec![],
            r#"{"model":"vault/a","messages":[{"role":"user","content":"x"}],"leafgate":{"context":["prompt.md"]}}"#.to_owned(),
            "does not allow `prompt.md`",
        ),
        (vec!["--profile", "vault"], "[]".to_owned(), "profile `vault` cannot make this request"),
    ] {
        let args = [&["compose", "--policy", "policy"], &args[..]].concat();
        let ran = bench.run(&args, &input);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{args:?}");
        assert!(ran.err.contains(says), "{args:?}: {}", ran.err);
    }
    let none = bench.run(&["compose"], &asks());
    assert!(none.err.contains("write an `[[assemble]]` table"), "{}", none.err);
}

#[test]
fn the_vault_of_the_examples_makes_the_request_of_the_examples() {
    let examples = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let (policy, request) = (examples.join("policies/vault"), examples.join("requests/question.json"));
    let args =
        ["compose", "--policy", policy.to_str().unwrap(), "--profile", "vault", request.to_str().unwrap()];
    let made = Bench::new().run(&args, "");
    assert_eq!(made.code, 0, "{}", made.err);
    for part in [
        "Answer from the notes.",
        "Context from notes/garden.md",
        "Directory structure of notes",
        "data:image/png",
    ] {
        assert!(made.out.contains(part), "{part}: {}", made.out);
    }
}
