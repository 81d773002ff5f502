//! After a person's edits the rules are asked about what would leave, whatever the edits made of the structure.

use std::collections::BTreeSet;
use std::sync::Arc;

use leafgate_contract::NoPlugins;
use leafgate_policy::{Cause, Context, Evaluation, Policy, PolicySource, Verdict};
use leafgate_tree::{Author, Document, Draft, Format, Limits, NodeId, Role, SectionId};
use proptest::prelude::*;
use proptest::sample::Index;

use crate::support::{secret, vault};

const RULES: &str = r#"
[[rule]]
id = "secrets"
match = {}
detect = ["secrets", "pii/email"]
action = "redact"
on_unredactable = "pause"

[[rule]]
id = "mails"
match = {}
when = 'leaf.findings.exists(f, f.label == "EMAIL")'
action = "pause"

[[rule]]
id = "production"
match = { kind = "tool-arguments" }
when = 'leaf.text.contains("prod-db")'
action = "pause"

[[rule]]
id = "query"
match = { path = "messages[*].tool_calls[*].function.arguments.query" }
action = "pause"

[[rule]]
id = "large-model"
match = { model = "large-*" }
action = "pause"

[[rule]]
id = "never"
match = {}
when = 'leaf.text.contains("drop table")'
action = "block"
"#;

const BODY: &str = r#"{"model":"small-1","messages":[{"role":"user","content":"ask jane.doe@mail.example.org"},
    {"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"q\":\"x\"}"}}]},
    {"role":"tool","tool_call_id":"c1","content":"ok"},{"role":"user","content":"go on"}]}"#;

const ARGUMENTS: &str = "/messages/1/tool_calls/0/function/arguments";

struct Case {
    policy: Policy,
    paused: Evaluation,
}

fn parse(body: bytes::Bytes) -> Arc<Document> {
    Arc::new(Document::parse(body, Format::OpenaiChat, &Limits::default()).unwrap())
}

fn case() -> Case {
    let folder = tempfile::tempdir().unwrap();
    leafgate_harness::rules::write_alone(folder.path(), RULES).unwrap();
    let policy = Policy::load(&PolicySource::Folder(folder.path().to_owned()), &NoPlugins).unwrap();
    let paused = policy.evaluate(parse(BODY.into()), &Context::default(), &vault());
    assert_eq!(rules(&paused.verdict), BTreeSet::from(["mails".to_owned()]));
    Case { policy, paused }
}

impl Case {
    fn draft(&self) -> Draft {
        self.paused.draft.clone()
    }

    fn review(&self, draft: &mut Draft) -> Result<Verdict, leafgate_policy::Hold> {
        self.policy.review(draft, &Context::default(), &vault(), &self.paused.recall)
    }
}

/// The rules that pause or block.
fn rules(verdict: &Verdict) -> BTreeSet<String> {
    match verdict {
        Verdict::Forward | Verdict::Route(_) => BTreeSet::new(),
        Verdict::Pause(holds) => holds.iter().map(|hold| hold.rule.to_string()).collect(),
        Verdict::Block(hold) => BTreeSet::from([hold.rule.to_string()]),
    }
}

fn at(draft: &Draft, pointer: &str) -> NodeId {
    draft.document().resolve(pointer).unwrap()
}

fn set(draft: &mut Draft, pointer: &str, text: &str) {
    draft.set(at(draft, pointer), text, &Author::Person).unwrap();
}

#[test]
fn pause_and_block_rules_see_a_json_text_that_was_set_as_a_whole() {
    let case = case();
    for (text, rule) in [
        (r#"{"q":"prod-db"}"#, "production"),
        (r#"{"q":"pr\u006fd-db"}"#, "production"),
        (r#"{"query":1}"#, "query"),
        (r#"{"a":"{\"b\":\"prod-db\"}"}"#, "production"),
    ] {
        let mut draft = case.draft();
        set(&mut draft, ARGUMENTS, text);
        let verdict = case.review(&mut draft).unwrap();
        assert_eq!(rules(&verdict), BTreeSet::from(["mails".to_owned(), rule.to_owned()]), "{text}");
    }
    let mut draft = case.draft();
    set(&mut draft, ARGUMENTS, r#"{"q":"dr\u006fp table users"}"#);
    assert!(matches!(case.review(&mut draft).unwrap(), Verdict::Block(hold) if &*hold.rule == "never"));
}

#[test]
fn a_key_of_a_new_json_text_is_searched() {
    let case = case();
    let mut draft = case.draft();
    set(&mut draft, ARGUMENTS, &format!(r#"{{"\u0067{}":1}}"#, &secret()[1..]));
    match case.review(&mut draft) {
        Ok(Verdict::Pause(holds)) => assert!(holds.iter().any(|hold| hold.cause == Cause::Unredactable)),
        Err(hold) => assert_eq!(hold.cause, Cause::Unredactable),
        other => panic!("{other:?}"),
    }
}

#[test]
fn rules_that_name_a_model_see_the_one_that_would_leave() {
    let case = case();
    let mut draft = case.draft();
    set(&mut draft, "/model", "large-2");
    assert!(rules(&case.review(&mut draft).unwrap()).contains("large-model"));
    draft.undo().unwrap();
    assert!(!rules(&case.review(&mut draft).unwrap()).contains("large-model"));
}

#[test]
fn a_message_that_was_put_in_is_seen() {
    let case = case();
    let mut draft = case.draft();
    let last = at(&draft, "/messages/3");
    let place = draft.document().sections().iter().position(|section| section.node == last).unwrap();
    draft.insert(SectionId::from_index(place), Role::User, "drop table users", &Author::Person).unwrap();
    assert!(matches!(case.review(&mut draft).unwrap(), Verdict::Block(hold) if &*hold.rule == "never"));
}

#[test]
fn what_was_found_counts_as_long_as_its_replacement_stands() {
    let case = case();
    let mut draft = case.draft();
    set(&mut draft, "/messages/3/content", "mail john.roe@mail.example.org");
    case.review(&mut draft).unwrap();
    set(&mut draft, "/messages/0/content", "ask nobody");
    // The mail of the first edit holds it still, at the second review after it too.
    assert!(rules(&case.review(&mut draft).unwrap()).contains("mails"));
    set(&mut draft, "/messages/3/content", "mail nobody");
    assert_eq!(case.review(&mut draft).unwrap(), Verdict::Forward);
    draft.undo().unwrap();
    assert!(rules(&case.review(&mut draft).unwrap()).contains("mails"));
}

#[test]
fn places_are_named_as_edits_name_them() {
    let case = case();
    let mut draft = case.draft();
    set(&mut draft, ARGUMENTS, r#"{"q":"prod-db"}"#);
    let first = at(&draft, "/messages/0");
    let place = draft.document().sections().iter().position(|section| section.node == first).unwrap();
    draft.delete(SectionId::from_index(place), &Author::Person).unwrap();
    let Verdict::Pause(holds) = case.review(&mut draft).unwrap() else { panic!("it waits") };
    assert_eq!(rules(&Verdict::Pause(holds.clone())), BTreeSet::from(["production".to_owned()]));
    assert!(holds[0].detail.contains(ARGUMENTS), "{}", holds[0].detail);
}

const TEXTS: [&str; 7] = [
    "plain",
    "mail john.roe@mail.example.org",
    r#"{"q":"prod-db"}"#,
    r#"{"query":"x","deep":"{\"q\":\"pr\\u006fd-db\"}"}"#,
    r#"{"q":"drop table users"}"#,
    "large-3",
    "amFuZS5kb2VAbWFpbC5leGFtcGxlLm9yZw==",
];

#[derive(Clone, Debug)]
enum Step {
    Set(Index, Index),
    Delete(Index),
    Restore(Index),
    Insert(Index, Index),
    Undo,
    Redo,
    Reset,
}

fn any_step() -> impl Strategy<Value = Step> {
    let index = any::<Index>;
    prop_oneof![
        6 => (index(), index()).prop_map(|(node, text)| Step::Set(node, text)),
        2 => index().prop_map(Step::Delete),
        1 => index().prop_map(Step::Restore),
        2 => (index(), index()).prop_map(|(section, text)| Step::Insert(section, text)),
        2 => Just(Step::Undo),
        1 => Just(Step::Redo),
        1 => Just(Step::Reset),
    ]
}

fn take(draft: &mut Draft, step: &Step) {
    let document = Arc::clone(draft.document());
    let section = |index: &Index| SectionId::from_index(index.index(document.sections().len()));
    match step {
        Step::Set(node, text) => {
            let node = NodeId::from_index(node.index(document.node_count()));
            let _ = draft.set(node, TEXTS[text.index(TEXTS.len())], &Author::Person);
        }
        Step::Delete(index) => _ = draft.delete(section(index), &Author::Person),
        Step::Restore(index) => _ = draft.restore(section(index), &Author::Person),
        Step::Insert(index, text) => {
            let _ = draft.insert(section(index), Role::User, TEXTS[text.index(TEXTS.len())], &Author::Person);
        }
        Step::Undo => _ = draft.undo(),
        Step::Redo => _ = draft.redo(),
        Step::Reset => _ = draft.reset(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn invariant_4_a_person_is_shown_every_hold_that_a_fresh_evaluation_of_what_leaves_gives(
        steps in proptest::collection::vec(any_step(), 1..10)
    ) {
        let case = case();
        let mut draft = case.draft();
        for step in &steps {
            let before = draft.clone();
            take(&mut draft, step);
            let Ok(shown) = case.review(&mut draft) else {
                // The desk drops a change that is refused.
                draft = before;
                continue;
            };
            let fresh = case.policy.evaluate(parse(draft.render()), &Context::default(), &vault());
            prop_assert!(!fresh.draft.is_dirty(), "nothing is left to redact after {:?}", step);
            if let Verdict::Block(_) = &fresh.verdict {
                prop_assert!(matches!(shown, Verdict::Block(_)), "{:?} after {:?}", shown, step);
            } else {
                let (fresh, shown) = (rules(&fresh.verdict), rules(&shown));
                prop_assert!(fresh.is_subset(&shown), "{:?} beyond {:?} after {:?}", fresh, shown, step);
            }
        }
    }
}
