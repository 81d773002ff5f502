//! Rules that are asked about their candidates do what they do when they are asked about every
//! leaf.

mod generate;
mod work;

use std::cell::Cell;
use std::sync::Arc;

use leafgate_harness::recordings;
use leafgate_tree::{Author, Document, Draft, Format, Limits, NodeId};
use leafgate_vault::{ClientIdentity, InstallationKey, TokenKeys, Vault};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::Value;

use crate::{Context, Evaluation, Policy, PolicySource};
use generate::{Change, Plugins};

thread_local! {
    /// Whether rules are asked about every leaf.
    pub(super) static WALKS_EVERY_LEAF: Cell<bool> = const { Cell::new(false) };
}

/// Runs something with rules that are asked about their candidates, and about every leaf.
fn both<T>(run: impl Fn() -> T) -> [T; 2] {
    [false, true].map(|walks| {
        WALKS_EVERY_LEAF.set(walks);
        let outcome = run();
        WALKS_EVERY_LEAF.set(false);
        outcome
    })
}

fn policy(rules: &str) -> Policy {
    let folder = tempfile::tempdir().unwrap();
    leafgate_harness::rules::write_alone(folder.path(), rules).unwrap();
    std::fs::write(folder.path().join("edits.wasm"), "").unwrap();
    Policy::load(&PolicySource::Folder(folder.path().to_owned()), &Plugins)
        .unwrap_or_else(|error| panic!("{error}\n{rules}"))
}

fn vault() -> Vault {
    Vault::new(TokenKeys::derive(&InstallationKey::from_bytes([7; 32]), &ClientIdentity::new("laptop")))
}

const CONTEXT: Context<'_> = Context {
    on: crate::On::Request,
    only: None,
    session: "s",
    agent: Some("codex"),
    model: None,
    other_models: &[],
    stream: None,
    subagent: Some(true),
    upstream: Some("https://api.openai.com"),
    upstream_name: None,
    endpoint: Some("/v1/chat/completions"),
    outside: &[],
    files: &[],
    prompt: None,
};

/// Everything that an evaluation comes to, but for the time that it took.
fn told(evaluation: &Evaluation) -> (String, String, Value, String) {
    let mut report = evaluation.report.clone();
    report.phases.iter_mut().for_each(|phase| phase.micros = 0);
    report.rules.iter_mut().for_each(|rule| rule.micros = rule.micros.map(|_| 0));
    (
        edits(&evaluation.draft),
        format!("{:?}", evaluation.verdict),
        serde_json::to_value(report).unwrap(),
        format!("{:?}", evaluation.recall),
    )
}

/// What would leave, and how it came about.
fn edits(draft: &Draft) -> String {
    let edits: Vec<_> = draft.edits().map(|edit| (edit.author.clone(), edit.kind, edit.target)).collect();
    let pinned: Vec<_> =
        draft.document().leaves().filter(|leaf| draft.is_pinned(leaf.id())).map(|leaf| leaf.id()).collect();
    format!("{} {edits:?} {pinned:?}", String::from_utf8_lossy(&draft.render()))
}

fn document(body: &str, format: Format) -> Arc<Document> {
    Arc::new(Document::parse(body.to_owned().into(), format, &Limits::default()).unwrap())
}

/// Changes a request as a person would.
fn change(draft: &mut Draft, change: &Change) {
    let document = Arc::clone(draft.document());
    match change {
        Change::Set(at, text) => {
            let settable: Vec<NodeId> = (0..document.node_count())
                .map(NodeId::from_index)
                .filter(|&node| document.settable(node).is_some())
                .collect();
            if let Some(&node) = settable.get(at % settable.len().max(1)) {
                let _ = draft.set(node, text, &Author::Person);
            }
        }
        Change::Insert(text) => {
            if let Some(before) = document.latest_user_message() {
                let _ = draft.insert(before, leafgate_tree::Role::User, text, &Author::Person);
            }
        }
        Change::Delete(at) => {
            let places = document.sections().len().max(1);
            let _ = draft.delete(leafgate_tree::SectionId::from_index(at % places), &Author::Person);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn candidates_and_a_walk_of_every_leaf_come_to_the_same(
        rules in generate::rules(), body in generate::body(), changes in prop::collection::vec(generate::change(), 0..4)
    ) {
        let policy = policy(&rules);
        let document = document(&body, Format::OpenaiChat);
        let [one, other] = both(|| policy.evaluate(Arc::clone(&document), &CONTEXT, &vault()));
        prop_assert_eq!(told(&one), told(&other));

        let [one, other] = both(|| {
            let mut draft = one.draft.clone();
            changes.iter().for_each(|made| change(&mut draft, made));
            let verdict = policy.review(&mut draft, &CONTEXT, &vault(), &one.recall);
            (edits(&draft), format!("{verdict:?}"))
        });
        prop_assert_eq!(one, other);

        let [one, other] = both(|| {
            let mut steps = changes.iter();
            policy.replay(Arc::clone(&document), &CONTEXT, &vault(), |draft| {
                let step = steps.next();
                step.into_iter().for_each(|made| change(draft, made));
                step.is_some()
            })
        });
        prop_assert_eq!(told(&one), told(&other));
    }
}

#[test]
fn recorded_requests_come_to_the_same() {
    // The largest ones take longer than all others together, and show nothing else.
    let small = recordings::all().into_iter().filter(|recording| recording.body.len() < 64 << 10);
    let documents: Vec<_> = small
        .map(|recording| {
            let document = Document::parse(recording.body.into(), recording.format, &Limits::default());
            (recording.name, Arc::new(document.unwrap()))
        })
        .collect();
    let come_to_the_same = |rules: String| {
        let policy = policy(&rules);
        for (name, document) in &documents {
            let [one, other] = both(|| policy.evaluate(Arc::clone(document), &CONTEXT, &vault()));
            prop_assert_eq!(told(&one), told(&other), "{}", name);
        }
        Ok(())
    };
    let config = ProptestConfig { cases: recordings::cases(8), ..ProptestConfig::default() };
    TestRunner::new(config).run(&generate::rules_for_recordings(), come_to_the_same).unwrap();
}

#[test]
fn a_literal_is_found_however_a_body_spells_it() {
    let policy = policy(
        r#"
        [[rule]]
        id = "production"
        match = {}
        when = 'leaf.text.contains("prod-db/\"one\"")'
        action = "pause"
        "#,
    );
    let text = r#"see prod-db/"one" now"#;
    let inside =
        serde_json::json!({ "deep": serde_json::json!({ "a": 1, "text": text }).to_string() }).to_string();
    let plain = serde_json::to_string(text).unwrap();
    for spelled in [
        plain.clone(),
        plain.replace("prod", "\\u0070r\\u006Fd"),
        plain.replace('/', "\\/"),
        serde_json::to_string(&inside).unwrap(),
        serde_json::to_string(&inside.replace("prod", "\\u0070rod")).unwrap(),
    ] {
        let body = format!(r#"{{"messages":[{{"role":"user","content":{spelled}}}]}}"#);
        let [one, other] =
            both(|| policy.evaluate(document(&body, Format::OpenaiChat), &CONTEXT, &vault()).verdict);
        assert!(matches!(one, crate::Verdict::Pause(_)), "{spelled}");
        assert_eq!(one, other, "{spelled}");
    }
}

#[test]
fn a_body_that_is_no_json_is_looked_at_too() {
    let policy = policy(
        "[[rule]]\nid = \"x\"\nmatch = {}\nwhen = 'leaf.text.contains(\"prod-db\")'\naction = \"block\"",
    );
    let raw = Arc::new(Document::raw("not JSON: prod-db\u{0}\"".into()));
    let [one, other] = both(|| policy.evaluate(Arc::clone(&raw), &CONTEXT, &vault()).verdict);
    assert!(matches!(one, crate::Verdict::Block(_)));
    assert_eq!(one, other);
}
