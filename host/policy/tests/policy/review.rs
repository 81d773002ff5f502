//! A person changes a request that waits: what they write is redacted before it is anything, and the rules are asked anew.

use std::sync::Arc;

use leafgate_contract::NoPlugins;
use leafgate_policy::{Cause, Context, Evaluation, Policy, PolicySource, Verdict};
use leafgate_tree::{Author, Document, Draft, Format, Limits, NodeId};
use leafgate_vault::Vault;

use crate::support::{restore, secret, vault};

const RULES: &str = r#"
[[rule]]
id = "secrets"
match = {}
detect = ["secrets", "pii/email"]
action = "redact"

[[rule]]
id = "production"
match = {}
when = 'leaf.text.contains("prod-db")'
action = "pause"
reason = "names the production database"

[[rule]]
id = "never"
match = {}
when = 'leaf.text.contains("drop table")'
action = "block"
reason = "destroys data"
"#;

const BODY: &str = r#"{"model":"m","messages":[{"role":"user","content":"look at prod-db"},
    {"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"q\":\"x\"}"}}]},
    {"role":"tool","tool_call_id":"c1","content":"ok"}]}"#;

struct Case {
    policy: Policy,
    vault: Vault,
    paused: Evaluation,
}

fn paused() -> Case {
    let folder = tempfile::tempdir().unwrap();
    leafgate_harness::rules::write_alone(folder.path(), RULES).unwrap();
    let policy = Policy::load(&PolicySource::Folder(folder.path().to_owned()), &NoPlugins).unwrap();
    let vault = vault();
    let document = Document::parse(BODY.into(), Format::OpenaiChat, &Limits::default()).unwrap();
    let paused = policy.evaluate(Arc::new(document), &Context::default(), &vault);
    assert!(matches!(&paused.verdict, Verdict::Pause(holds) if &*holds[0].rule == "production"));
    Case { policy, vault, paused }
}

impl Case {
    fn review(&self, draft: &mut Draft) -> Result<Verdict, leafgate_policy::Hold> {
        self.policy.review(draft, &Context::default(), &self.vault, &self.paused.recall)
    }
}

fn at(draft: &Draft, pointer: &str) -> NodeId {
    draft.document().resolve(pointer).unwrap()
}

#[test]
fn a_secret_that_a_person_writes_is_redacted_and_no_undo_or_redo_brings_it_back() {
    let case = paused();
    let mut draft = case.paused.draft.clone();
    let leaf = at(&draft, "/messages/0/content");
    draft.set(leaf, &format!("prod-db with {}", secret()), &Author::Person).unwrap();
    assert!(matches!(case.review(&mut draft).unwrap(), Verdict::Pause(_)));
    let shown = draft.text(leaf).expose().to_owned();
    assert!(shown.starts_with("prod-db with ") && !shown.contains(&secret()));
    assert_eq!(restore(&case.vault, &shown), format!("prod-db with {}", secret()));
    draft.undo();
    assert_eq!(draft.render(), BODY);
    draft.redo();
    assert_eq!(draft.text(leaf).expose(), shown);
}

#[test]
fn an_edit_can_take_the_reason_for_a_pause_away_or_bring_a_block() {
    let case = paused();
    let mut draft = case.paused.draft.clone();
    let leaf = at(&draft, "/messages/0/content");
    draft.set(leaf, "look at the test database", &Author::Person).unwrap();
    assert_eq!(case.review(&mut draft).unwrap(), Verdict::Forward);
    draft.set(leaf, "drop table users", &Author::Person).unwrap();
    assert!(matches!(case.review(&mut draft).unwrap(), Verdict::Block(hold) if &*hold.rule == "never"));
    draft.undo();
    assert_eq!(case.review(&mut draft).unwrap(), Verdict::Forward);
}

#[test]
fn a_document_set_as_a_whole_is_looked_at_through_its_escapes() {
    let case = paused();
    let mut draft = case.paused.draft.clone();
    let arguments = at(&draft, "/messages/1/tool_calls/0/function/arguments");
    draft.set(arguments, &format!("{{\"q\":\"{}\"}}", secret()), &Author::Person).unwrap();
    case.review(&mut draft).unwrap();
    assert!(!std::str::from_utf8(&draft.render()).unwrap().contains(&secret()));

    // The same with its first letter spelled as an escape: no byte range of the text is the secret, so the change is refused.
    let before = case.paused.draft.clone();
    let mut draft = before.clone();
    draft.set(arguments, &format!("{{\"q\":\"\\u0067{}\"}}", &secret()[1..]), &Author::Person).unwrap();
    let refused = case.review(&mut draft).unwrap_err();
    assert_eq!(refused.cause, Cause::Unredactable);
    assert!(!refused.detail.contains(&secret()[1..]));
}

#[test]
fn what_cannot_be_redacted_where_a_person_wrote_it_is_refused_and_changes_nothing() {
    let case = paused();
    let mut draft = case.paused.draft.clone();
    let role = at(&draft, "/messages/0/role");
    draft.set(role, &secret(), &Author::Person).unwrap();
    let written = draft.render();
    assert_eq!(case.review(&mut draft).unwrap_err().cause, Cause::Unredactable);
    assert_eq!(draft.render(), written, "the review changed nothing; the desk drops the change");
}

#[test]
fn the_same_change_gives_the_same_bytes() {
    let render = || {
        let case = paused();
        let mut draft = case.paused.draft.clone();
        let leaf = at(&draft, "/messages/2/content");
        draft.set(leaf, &format!("mail a.person@example.org and {}", secret()), &Author::Person).unwrap();
        case.review(&mut draft).unwrap();
        draft.render()
    };
    assert_eq!(render(), render());
}

#[test]
fn rules_that_pause_or_block_see_a_json_text_that_was_set_as_a_whole_and_what_it_spells() {
    let case = paused();
    for (text, blocked) in [
        (r#"{"q":"drop table users"}"#, true),
        (r#"{"q":"drop\u0020table users"}"#, true),
        (r#"{"deep":{"er":["[\"drop table\"]"]}}"#, true),
        (r#"{"q":"select"}"#, false),
    ] {
        let mut draft = case.paused.draft.clone();
        let arguments = at(&draft, "/messages/1/tool_calls/0/function/arguments");
        draft.set(arguments, text, &Author::Person).unwrap();
        let verdict = case.review(&mut draft).unwrap();
        assert_eq!(matches!(verdict, Verdict::Block(_)), blocked, "{text}");
    }
}
