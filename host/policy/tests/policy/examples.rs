//! The example folders load, and do what their comments say.

use std::path::PathBuf;

use leafgate_policy::{Policy, Verdict};
use serde_json::json;

use super::support::*;

fn examples(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/policies").join(name)
}

#[test]
fn the_starter_policy_does_what_it_says() {
    let policy: Policy =
        load_folder(&examples("starter"), &Fakes::default()).unwrap_or_else(|error| panic!("{error}"));
    let body = json!({"model": "gpt-4o", "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": format!("Today is Monday, 3 June 2024. Mail {EMAIL}, key {}", secret())},
    ]});
    let evaluation = evaluate(&policy, &body);
    assert_forward(&evaluation);
    let text = sent_at(&evaluation, "/messages/1/content");
    assert_eq!(text, format!("Mail {}, key {}", token("EMAIL", EMAIL), token("SECRET", &secret())));
    assert_eq!(sent_at(&evaluation, "/messages/0/content"), "Be brief.");

    let evaluation = evaluate(&policy, &tool_chat(&json!({}), "host prod-db-1 answered"));
    assert_eq!(&*block(&evaluation).rule, "no-production-data");
    assert!(block(&evaluation).reason.contains("production"));
}

#[test]
fn the_context_policy_puts_its_message_in_once() {
    let policy =
        load_folder(&examples("context"), &Fakes::default()).unwrap_or_else(|error| panic!("{error}"));
    let evaluation = evaluate(&policy, &chat("hello"));
    assert_forward(&evaluation);
    let text = sent_at(&evaluation, "/messages/0/content");
    assert!(text.starts_with("Context from house-rules.md:\n\nAnswer in British English."), "{text}");
    assert_eq!(sent_at(&evaluation, "/messages/1/content"), "hello");
    let again = evaluate(&policy, &sent(&evaluation));
    assert_eq!(sent(&again), sent(&evaluation));
}

#[test]
fn the_demo_policy_loads_with_its_plugins() {
    let fakes = Fakes::default()
        .with("redact-names", Fake::finds("Marlene Okafor"))
        .with("rewrite-home-paths", Fake::transformer(|_| Ok(vec![])))
        .with("trim-tool-results", Fake::transformer(|_| Ok(vec![])));
    // The components are built, not kept: a copy of the folder gets empty files in their place.
    let copy = tempfile::tempdir().unwrap();
    std::fs::create_dir(copy.path().join("plugins")).unwrap();
    for entry in std::fs::read_dir(examples("demo")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            std::fs::copy(&path, copy.path().join(path.file_name().unwrap())).unwrap();
        }
    }
    for name in ["redact-names", "rewrite-home-paths", "trim-tool-results"] {
        std::fs::write(copy.path().join(format!("plugins/{name}.wasm")), "").unwrap();
    }
    let policy = load_folder(copy.path(), &fakes).unwrap_or_else(|error| panic!("{error}"));
    let evaluation = evaluate(&policy, &chat(&format!("{EMAIL} of Marlene Okafor")));
    assert_eq!(evaluation.verdict, Verdict::Forward);
    let text = sent_at(&evaluation, "/messages/0/content");
    assert_eq!(text, format!("{} of {}", token("EMAIL", EMAIL), token("NAME", "Marlene Okafor")));
}

// S3-10
#[test]
fn the_vault_policy_makes_requests_of_notes_a_picture_and_a_map() {
    let policy = load_folder(&examples("vault"), &Fakes::default()).unwrap_or_else(|error| panic!("{error}"));
    assert!(policy.warnings().is_empty(), "{:?}", policy.warnings());
    let request =
        document(&json!({ "model": "vault/any", "messages": [{ "role": "user", "content": "When?" }] }));
    let assembly = policy.assembly_for(&request, &Default::default()).unwrap();
    let made = assembly.make(&request, &assembly.files(), None).unwrap();
    let made: serde_json::Value = serde_json::from_slice(made.document.source()).unwrap();
    let messages = made["messages"].as_array().unwrap();
    assert!(messages[0]["content"].as_str().unwrap().starts_with("Answer from the notes."));
    assert!(messages[1]["content"].as_str().unwrap().starts_with("Context from notes/garden.md:"));
    assert_eq!(messages[3]["content"][1]["type"], "image_url");
    assert!(messages[4]["content"].as_str().unwrap().starts_with("Directory structure of notes:"));
    assert_eq!((messages.len(), &made["model"]), (6, &json!("gpt-4.1")));
    let evaluation = evaluate(&policy, &made);
    assert_forward(&evaluation);
    let people = sent_at(&evaluation, "/messages/2/content");
    assert!(people.contains("EMAIL_") && !people.contains('@'), "{people}");
}

#[test]
fn the_team_policy_keeps_delegated_agents_out_of_production() {
    let policy = load_folder(&examples("team"), &Fakes::default()).unwrap_or_else(|error| panic!("{error}"));
    let body = chat("Ask prod-db.");
    assert_forward(&evaluate(&policy, &body));
    let delegated = leafgate_policy::Context { subagent: Some(true), ..Default::default() };
    let evaluation = policy.evaluate(document(&body), &delegated, &vault());
    assert_eq!(&*block(&evaluation).rule, "agents-stay-out-of-production");
}
