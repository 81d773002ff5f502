//! Recorded operations: what they hold, and that they are made again only where they fit.

use std::sync::Arc;

use leafgate_tree::{
    Author, Document, Draft, EditError, Format, Limits, Redaction, Replay, ReplayError, ResolveError, Role,
};

const BODY: &str = r#"{"temperature":0.50,"messages":[{"role":"user","content":"Hi Bob"},
    {"role":"assistant","content":"Hello"},{"role":"user","content":"Bye"}]}"#;

fn draft(body: &str) -> Draft {
    let document = Document::parse(body.to_owned().into(), Format::OpenaiChat, &Limits::default()).unwrap();
    Draft::new(Arc::new(document))
}

fn section(draft: &Draft, pointer: &str) -> leafgate_tree::SectionId {
    let node = draft.document().resolve(pointer).unwrap();
    let sections = draft.document().sections();
    leafgate_tree::SectionId::from_index(sections.iter().position(|section| section.node == node).unwrap())
}

/// A draft with a redaction and one edit of each kind that leaves something behind.
fn edited() -> Draft {
    let mut draft = draft(BODY);
    let leaf = |pointer: &str| draft.document().resolve(pointer).unwrap();
    let (first, number) = (leaf("/messages/0/content"), leaf("/temperature"));
    let at = Redaction::new(3..6, "NAME", "NAME_x");
    draft.redact(first, &[at], &Author::rule("names")).unwrap();
    draft.set(first, "Hello NAME_x", &Author::rule("polite")).unwrap();
    draft.set(number, "1", &Author::Person).unwrap();
    let (second, third) = (section(&draft, "/messages/1"), section(&draft, "/messages/2"));
    draft.delete(second, &Author::SavedEdit { id: "short".into() }).unwrap();
    draft.insert(third, Role::User, "One more thing.", &Author::Person).unwrap();
    draft
}

fn record(draft: &Draft) -> String {
    let lines = draft.operations(str::to_owned);
    lines.iter().map(|operation| serde_json::to_string(operation).unwrap() + "\n").collect()
}

/// Replays a record on a body, from which `Bob` is redacted first.
fn replayed(record: &str, body: &str) -> (Draft, Vec<leafgate_tree::Misfit>) {
    let mut draft = draft(body);
    if let Ok(first) = draft.document().resolve("/messages/0/content") {
        let at = Redaction::new(3..6, "NAME", "NAME_x");
        let _ = draft.redact(first, &[at], &Author::rule("names"));
    }
    let mut replay = Replay::parse(record).unwrap();
    while replay.step(&mut draft) {}
    (draft, replay.into_misfits())
}

#[test]
fn recorded_operations_make_the_same_bytes_again() {
    let first = edited();
    let (again, misfits) = replayed(&record(&first), BODY);
    assert!(misfits.is_empty(), "{misfits:?}");
    assert_eq!(again.render(), first.render());
    assert_eq!(record(&again), record(&first));
}

#[test]
fn what_a_step_wrote_is_redacted_before_it_is_found_taken_back_or_left_out() {
    let mut first = draft(BODY);
    let leaf = |pointer: &str| first.document().resolve(pointer).unwrap();
    let (one, two) = (leaf("/messages/0/content"), leaf("/messages/2/content"));
    for (node, text) in [(one, "a"), (two, "b"), (one, "c"), (two, "d")] {
        first.set(node, text, &Author::Person).unwrap();
    }
    let gone = section(&first, "/messages/1");
    first.delete(gone, &Author::Person).unwrap();
    first.reset().unwrap();
    first.set(one, "e", &Author::Person).unwrap();
    let mut replay = Replay::parse(&record(&first)).unwrap();
    let mut again = draft(BODY);
    let mut steps = Vec::new();
    while replay.step(&mut again) {
        steps.push(again.edits().count());
    }
    assert_eq!(steps, [2, 4, 5, 6, 7], "edits after each step");
    assert_eq!(again.render(), first.render());
}

#[test]
fn invariant_6_an_operation_holds_no_redacted_value() {
    let record = record(&edited());
    assert!(!record.contains("Bob") && record.contains("Hi NAME_x"), "{record}");
}

#[test]
fn numbers_keep_their_spelling() {
    let record = record(&edited());
    assert!(record.contains(r#""oldValue":"0.50","newValue":1"#), "{record}");
}

// S0-31, S0-32
#[test]
fn an_operation_says_which_part_of_a_request_it_changes() {
    let mut draft = draft(
        r#"{"temperature":1,"messages":[{"role":"user","name":"ann","content":"Hi"},{"role":"assistant","tool_calls":[
            {"id":"c","type":"function","function":{"name":"f","arguments":"{\"path\":\"a\"}"}}]}]}"#,
    );
    for (pointer, new, kind, path) in [
        ("/messages/0/name", "bob", "messageField", "messages[0].name"),
        ("/messages/0/content", "Ho", "contentText", "messages[0].content"),
        (
            "/messages/1/tool_calls/0/function/arguments/path",
            "b",
            "toolArguments",
            "messages[1].tool_calls[0].function.arguments.path",
        ),
        ("/temperature", "2", "requestOption", "requestOptions.temperature"),
    ] {
        let node = draft.document().resolve(pointer).unwrap();
        let version = draft.set(node, new, &Author::Person).unwrap().unwrap();
        let operation = serde_json::to_value(draft.operations(str::to_owned).last().unwrap()).unwrap();
        let told = ["targetKind", "targetPath", "pointer"].map(|key| operation[key].as_str().unwrap());
        assert_eq!(told, [kind, path, pointer]);
        assert_eq!(operation["id"]["version"], version);
    }
}

#[test]
fn an_operation_that_no_longer_fits_is_not_made() {
    let record = record(&edited());
    let why = |body: &str| -> Vec<ReplayError> {
        replayed(&record, body).1.into_iter().map(|misfit| misfit.why).collect()
    };
    let other = BODY.replace("0.50", "0.5").replace("Hello", "Hey");
    assert_eq!(why(&other), [ReplayError::OtherText, ReplayError::OtherSection]);
    assert_eq!(why(r#"{"messages":[]}"#), [const { ReplayError::Place(ResolveError::NotFound) }; 4]);
}

#[test]
fn an_edit_that_the_draft_refuses_names_its_reason() {
    let line = record(&edited()).lines().nth(1).unwrap().replace("messages/0/content", "messages/0/role");
    let line = line.replace("Hi NAME_x", "user");
    let (draft, misfits) = replayed(&line, BODY);
    assert_eq!(misfits[0].why, ReplayError::Edit(EditError::Protected));
    assert_eq!(misfits[0].line, 1);
    assert!(!draft.is_dirty() || draft.edits().count() == 0);
}

#[test]
fn a_bad_line_is_named_without_its_text() {
    let error = Replay::parse("\n{\"kind\":\"set\",\"pointer\":\"/secret\"}\n").err().unwrap();
    assert_eq!(error.line, 2);
    assert!(!error.to_string().contains("secret"), "{error}");
}
