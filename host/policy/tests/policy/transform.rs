//! Transformer plugins: what they see, what becomes of their answers.

use leafgate_contract::{Action, Fault, InvalidAnswer, PluginEdit, PluginWords, Target, TransformRequest};
use leafgate_policy::{Cause, Verdict};
use leafgate_tree::Author;
use serde_json::json;

use super::support::*;

const REDACT: &str = r#"
    [[rule]]
    id = "mail"
    match = {}
    detect = ["pii/email"]
    action = "redact"
"#;

fn rules(fields: &str) -> String {
    format!(
        r#"
        {REDACT}
        [[rule]]
        id = "plugin"
        match = {{ path = "messages[*].content" }}
        action = "transform"
        plugin = "fake"
        {fields}
        [plugins.fake]
        file = "fake.wasm"
        "#
    )
}

fn run(
    fake: Fake,
    fields: &str,
    body: &serde_json::Value,
) -> (leafgate_policy::Evaluation, Vec<Vec<String>>) {
    let fakes = Fakes::default().with("fake", fake);
    let evaluation = evaluate(&policy_with(&rules(fields), &fakes), body);
    (evaluation, fakes.get("fake").calls())
}

fn edit(target: Target, action: Action) -> PluginEdit {
    PluginEdit { target, action }
}

/// Answers every call with the same edits.
fn always(edits: Vec<PluginEdit>) -> Fake {
    Fake::transformer(move |_| Ok(edits.clone()))
}

#[test]
fn it_sees_tokens_not_secrets_and_its_edits_bear_its_name() {
    let fake = Fake::transformer(|request: &TransformRequest<'_>| {
        assert_eq!((request.format, request.model, request.session), ("openai-chat", "gpt-4o", "s1"));
        let leaf = request.leaves[0];
        assert_eq!((leaf.pointer, leaf.key), ("/messages/0/content", "content"));
        assert_eq!(request.sections[leaf.section].message, Some(0));
        Ok(vec![edit(Target::Leaf(0), Action::Set(format!("{}!", leaf.text)))])
    });
    let (evaluation, calls) = run(fake, "", &chat(EMAIL));
    let token = token("EMAIL", EMAIL);
    assert_eq!(calls, [[token.clone()]]);
    assert_eq!(sent_at(&evaluation, "/messages/0/content"), format!("{token}!"));
    let author = Author::Plugin { rule: "plugin".into(), plugin: "fake".into() };
    assert_eq!(evaluation.draft.edits().next().unwrap().author, author);
}

#[test]
fn one_that_sees_raw_text_cannot_send_it() {
    let fake = Fake::transformer(|request: &TransformRequest<'_>| {
        Ok(vec![edit(Target::Leaf(0), Action::Set(format!("copy: {}", request.leaves[0].text)))])
    });
    let (evaluation, calls) = run(fake, "sees = 'raw'", &chat(EMAIL));
    assert_eq!(calls, [[EMAIL]]);
    assert_eq!(sent_at(&evaluation, "/messages/0/content"), format!("copy: {}", token("EMAIL", EMAIL)));
}

#[test]
fn a_secret_that_it_invents_is_redacted() {
    let (evaluation, _) =
        run(always(vec![edit(Target::Leaf(0), Action::Set(EMAIL.into()))]), "", &chat("hello"));
    assert_eq!(sent_at(&evaluation, "/messages/0/content"), token("EMAIL", EMAIL));
}

#[test]
fn its_redactions_become_tokens_of_its_labels() {
    let spans = Action::Redact(vec![(3..7, 0), (8..12, 1)]);
    let (evaluation, _) = run(always(vec![edit(Target::Leaf(0), spans)]), "", &chat("at Acme Corp"));
    let expected = format!("at {} {}", token("NAME", "Acme"), token("OTHER", "Corp"));
    assert_eq!(sent_at(&evaluation, "/messages/0/content"), expected);
    assert_eq!(evaluation.draft.edits().count(), 0, "redactions are no edits");
}

#[test]
fn redactions_of_raw_text_hold_where_the_text_has_moved() {
    let text = format!("{EMAIL} at Acme");
    let at = text.len() - 4..text.len();
    let fake = always(vec![edit(Target::Leaf(0), Action::Redact(vec![(at, 0)]))]);
    let (evaluation, _) = run(fake, "sees = 'raw'", &chat(&text));
    let expected = format!("{} at {}", token("EMAIL", EMAIL), token("NAME", "Acme"));
    assert_eq!(sent_at(&evaluation, "/messages/0/content"), expected);
}

#[test]
fn a_redaction_where_nothing_can_be_replaced_holds() {
    let fakes =
        Fakes::default().with("fake", always(vec![edit(Target::Leaf(0), Action::Redact(vec![(0..4, 0)]))]));
    let rules = rules("").replace("messages[*].content", "messages[*].role");
    let evaluation = evaluate(&policy_with(&rules, &fakes), &chat("hello"));
    assert_eq!(block(&evaluation).cause, Cause::Unredactable);
}

#[test]
fn pins_and_deletes_apply() {
    let body = json!({"messages": [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]});
    let fake = Fake::transformer(|request: &TransformRequest<'_>| {
        let section = request.leaves[1].section;
        Ok(vec![edit(Target::Leaf(0), Action::Pin), edit(Target::Section(section), Action::Delete)])
    });
    let (evaluation, _) = run(fake, "", &body);
    assert_eq!(sent(&evaluation)["messages"].as_array().unwrap().len(), 1);
    let first = evaluation.draft.document().resolve("/messages/0/content").unwrap();
    assert!(evaluation.draft.is_pinned(first));
}

#[test]
fn an_edit_that_does_not_fit_drops_the_whole_answer() {
    let good = || edit(Target::Leaf(0), Action::Set("changed".into()));
    for (bad, why) in [
        (edit(Target::Leaf(7), Action::Pin), InvalidAnswer::UnknownLeaf),
        (edit(Target::Section(99), Action::Pin), InvalidAnswer::UnknownSection),
        (edit(Target::Request, Action::Set(String::new())), InvalidAnswer::Misfit),
        (edit(Target::Leaf(0), Action::Delete), InvalidAnswer::Misfit),
        (edit(Target::Leaf(0), Action::Redact(vec![(0..99, 0)])), InvalidAnswer::SpanOutside),
        (edit(Target::Leaf(0), Action::Redact(vec![(0..1, 9)])), InvalidAnswer::UnknownLabel),
        (edit(Target::Leaf(0), Action::Redact(vec![(0..1, 0)])), InvalidAnswer::SpanOutside),
    ] {
        let (evaluation, _) = run(always(vec![good(), bad]), "", &chat("hello"));
        assert_eq!(sent(&evaluation), chat("hello"), "nothing half-applied");
        assert!(block(&evaluation).detail.contains(&why.to_string()), "{}", block(&evaluation).detail);
    }
}

#[test]
fn pinned_and_protected_leaves_are_skipped_without_fault() {
    let fakes = Fakes::default().with(
        "fake",
        always(vec![
            edit(Target::Leaf(0), Action::Set("assistant".into())),
            edit(Target::Leaf(1), Action::Set("changed".into())),
        ]),
    );
    let pin = "[[rule]]\nid = 'keep'\nmatch = { path = 'messages[0].content' }\naction = 'pin'\n";
    let rules = pin.to_owned() + &rules("").replace("messages[*].content", "messages[*]");
    let evaluation = evaluate(&policy_with(&rules, &fakes), &chat("hello"));
    assert_forward(&evaluation);
    assert_eq!(sent(&evaluation), chat("hello"));
    let skipped = &evaluation.report.rules[2].skipped;
    assert_eq!((skipped["protected"], skipped["pinned"]), (1, 1));
}

#[test]
fn faults_follow_on_error_and_leave_other_rules_alone() {
    for (on_error, expected) in [("block", "block"), ("pause", "pause"), ("pass", "forward")] {
        let fake = Fake::transformer(|_| Err(Fault::Trap { code: "unreachable".into() }));
        let (evaluation, _) = run(fake, &format!("on_error = '{on_error}'"), &chat(EMAIL));
        let verdict = match &evaluation.verdict {
            Verdict::Forward => "forward",
            Verdict::Route(_) => "route",
            Verdict::Pause(_) => "pause",
            Verdict::Block(_) => "block",
        };
        assert_eq!(verdict, expected);
        assert_eq!(sent_at(&evaluation, "/messages/0/content"), token("EMAIL", EMAIL));
        assert_eq!(evaluation.report.rules[1].errors, ["plugin `fake` trapped: unreachable"]);
    }
    let panicked = || Fault::Panicked { message: PluginWords::new("at line 7") };
    let fake = Fake::transformer(move |_| Err(panicked().on_text(0)));
    let (evaluation, _) = run(fake, "on_error = 'block'", &chat("hello"));
    let error = "plugin `fake` panicked, on the text of 5 bytes at /messages/0/content";
    assert_eq!(evaluation.report.rules[1].errors, [error]);
    assert!(evaluation.report.notes.iter().any(|note| note.text == "at line 7"));
}

#[test]
fn its_words_reach_the_report_redacted_and_no_hold() {
    let words = format!("saw {EMAIL}");
    let edits = vec![
        edit(Target::Leaf(0), Action::Note(words.clone())),
        edit(Target::Request, Action::Pause(words.clone())),
        edit(Target::Request, Action::Block(words)),
    ];
    let (evaluation, _) = run(always(edits), "reason = 'Ask the team'", &chat("hello"));
    let hold = block(&evaluation);
    assert_eq!((hold.cause, &*hold.reason), (Cause::Plugin, "Ask the team"));
    let notes: Vec<_> = evaluation.report.notes.iter().map(|note| (note.about, &*note.text)).collect();
    assert_eq!(notes, [("note", "saw [EMAIL]"), ("pause", "saw [EMAIL]"), ("block", "saw [EMAIL]")]);
    assert_eq!(evaluation.report.notes[0].pointer.as_deref(), Some("/messages/0/content"));
    assert!(!told(&evaluation).contains(EMAIL));
}

#[test]
fn a_long_remark_is_cut_after_it_was_redacted() {
    let words = format!("{}{EMAIL}", "words ".repeat(165));
    assert!(words.len() > 1000 && words.len() - EMAIL.len() < 1000, "the address lies over the end");
    let (evaluation, _) = run(always(vec![edit(Target::Leaf(0), Action::Note(words))]), "", &chat("hello"));
    let note = &evaluation.report.notes[0].text;
    assert!(note.ends_with("[EMAIL]") && note.len() <= 1000, "{note}");
}

#[test]
fn what_it_says_when_it_gives_up_is_redacted_too() {
    let fake = Fake::transformer(|_| {
        Err(Fault::GaveUp { unsupported: false, message: PluginWords::new(format!("cannot read {EMAIL}")) })
    });
    let (evaluation, _) = run(fake, "", &chat("hello"));
    assert_eq!(evaluation.report.notes[0].text, "cannot read [EMAIL]");
    assert!(!told(&evaluation).contains(EMAIL));
}

#[test]
fn it_is_not_called_when_nothing_is_selected() {
    let fakes = Fakes::default().with("fake", always(vec![]));
    let rules = rules("").replace("messages[*].content", "nowhere");
    assert_forward(&evaluate(&policy_with(&rules, &fakes), &chat("hello")));
    assert!(fakes.get("fake").calls().is_empty());
}
