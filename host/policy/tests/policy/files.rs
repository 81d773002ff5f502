//! The text of a document is judged as a text of the leaf that it stands in, and nothing in it is replaced.

use std::sync::Arc;

use leafgate_policy::{Context, Evaluation, FileText, Policy, Verdict};
use leafgate_tree::{Author, Document};
use serde_json::{Value, json};

use super::support::*;

const SECRETS: &str = r#"
    [[rule]]
    id = "secrets"
    match = {}
    detect = ["secrets"]
    action = "redact"
"#;

/// A request with a PDF, as clients of chat completions send it.
fn body() -> Value {
    let url = "data:application/pdf;base64,JVBERi0xLjcKJeLjz9MKMSAwIG9iago8PC9GbGF0ZQ==";
    let file = json!({ "type": "file", "file": { "file_data": url } });
    json!({ "model": "m", "messages": [{ "role": "user", "content": [{ "type": "text", "text": "read it" }, file] }] })
}

const PLACE: &str = "/messages/0/content/1/file/file_data";

fn pages(document: &Document, last: &str) -> Vec<FileText> {
    let [(node, what)] = document.unread()[..] else { panic!("it has one document") };
    let page = |text: &str| FileText { node, what, text: text.into() };
    vec![page("the first page"), page(last)]
}

/// Evaluates a request with a PDF of two pages.
fn with_page(policy: &Policy, last: &str) -> Evaluation {
    let document = document(&body());
    let files = pages(&document, last);
    policy.evaluate(Arc::clone(&document), &Context { files: &files, ..Context::default() }, &vault())
}

fn pause(evaluation: &Evaluation) -> String {
    let Verdict::Pause(holds) = &evaluation.verdict else { panic!("{:?}", evaluation.verdict) };
    holds[0].detail.clone()
}

#[test]
fn a_value_in_a_document_asks_a_person_and_is_told_by_its_place() {
    let evaluation = with_page(&policy(SECRETS), &format!("the key is {}", secret()));
    assert_eq!(pause(&evaluation), format!("SECRET in the text of a PDF, at {PLACE}"));
    assert_eq!(evaluation.draft.edits().count(), 0);
    assert_eq!(sent(&evaluation), body());
    assert_eq!(evaluation.recall.detectors().values().sum::<usize>(), 1);
    assert!(!told(&evaluation).contains(&secret()));
    assert_forward(&with_page(&policy(SECRETS), "nothing to find"));
}

#[test]
fn a_rule_says_what_becomes_of_it() {
    let rules = format!("{SECRETS}on_unredactable = \"block\"\n");
    let held = with_page(&policy(&rules), &secret());
    assert_eq!(block(&held).detail, format!("SECRET in the text of a PDF, at {PLACE}"));
    let elsewhere = SECRETS.replace("match = {}", "match = { role = \"assistant\" }");
    assert_forward(&with_page(&policy(&elsewhere), &secret()));
    let watches = format!("{SECRETS}mode = \"monitor\"\n");
    let watched = with_page(&policy(&watches), &secret());
    assert_forward(&watched);
    assert!(!watched.report.rules[0].would.is_empty());
}

#[test]
fn what_is_encoded_in_a_document_is_found_there_too() {
    use base64::Engine as _;
    let encoded =
        base64::engine::general_purpose::STANDARD.encode(format!("the key is {} for now", secret()));
    let evaluation = with_page(&policy(SECRETS), &encoded);
    assert_eq!(pause(&evaluation), format!("SECRET in the text of a PDF, at {PLACE}"));
}

#[test]
fn rules_that_decide_see_the_words_of_a_document_and_what_was_found_in_it() {
    let by_words = r#"
        [[rule]]
        id = "internal"
        match = { role = "user" }
        when = 'leaf.text.contains("internal use")'
        action = "block"
    "#;
    let held = with_page(&policy(by_words), "for internal use only");
    assert_eq!(block(&held).detail, format!("first at {PLACE}"));
    assert_forward(&with_page(&policy(by_words), "for everybody"));
    let by_findings = format!(
        "{SECRETS}mode = \"monitor\"\n[[rule]]\nid = \"found\"\nmatch = {{}}\nwhen = 'leaf.findings.exists(f, f.label == \"SECRET\")'\naction = \"block\"\n"
    );
    assert_eq!(&*block(&with_page(&policy(&by_findings), &secret())).rule, "found");
}

#[test]
fn a_plugin_is_shown_the_text_as_one_of_its_leaf() {
    let fakes = Fakes::default().with("names", Fake::finds("Acme"));
    let rules = r#"
        [[rule]]
        id = "names"
        match = { role = "user" }
        detect = ["plugin:names"]
        action = "redact"
        [plugins.names]
        file = "names.wasm"
    "#;
    let held = with_page(&policy_with(rules, &fakes), "a letter to Acme, Inc.");
    assert_eq!(pause(&held), format!("NAME in the text of a PDF, at {PLACE}"));
}

/// A review that changes other leaves still holds for the document, until it is gone.
#[test]
fn a_review_holds_for_what_stands() {
    let policy = policy(SECRETS);
    let document = document(&body());
    let files = pages(&document, &secret());
    let context = Context { files: &files, ..Context::default() };
    let Evaluation { draft, recall, .. } = policy.evaluate(Arc::clone(&document), &context, &vault());
    let mut changed = draft;
    let words = document.leaves().find(|leaf| leaf.text().expose() == "read it").unwrap().id();
    changed.set(words, "read it well", &Author::Person).unwrap();
    let verdict = policy.review(&mut changed, &context, &vault(), &recall).unwrap();
    assert!(matches!(verdict, Verdict::Pause(_)), "{verdict:?}");
}
