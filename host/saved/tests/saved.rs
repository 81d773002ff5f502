//! Saved edits on requests that have changed since.

#![allow(missing_docs, reason = "a test binary has no public items")]
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::sync::Arc;

use leafgate_admin::{LeftOutEdit, OnDrift, SavedScope};
use leafgate_harness::recordings;
use leafgate_saved::{
    Capture, CaptureStamp, Drift, Fit, GuardKey, MAX_EDITS, SavedEdit, SavedFile, SavedFileError, ScopeEdits,
    apply,
};
use leafgate_tree::{
    Author, Document, Draft, EditError, Format, Limits, NodeId, Redaction, ReleaseTerms, SectionId,
};
use serde_json::{Value, json};

const QUESTION: &str = "Where does the build keep what it made of the sources?";
const RULE: &str = "You are a careful assistant, and you never guess.";

fn key() -> GuardKey {
    GuardKey::derive(b"of a test")
}

fn draft_of(format: Format, body: &Value) -> Draft {
    Draft::new(Arc::new(Document::parse(body.to_string().into(), format, &Limits::default()).unwrap()))
}

fn chat(messages: &Value) -> Draft {
    draft_of(Format::OpenaiChat, &json!({ "model": "m", "temperature": 0.5, "messages": messages }))
}

fn conversation() -> Draft {
    chat(&json!([
        { "role": "system", "content": RULE },
        { "role": "user", "content": QUESTION },
        { "role": "assistant", "content": "In target." },
        { "role": "user", "content": "yes" },
    ]))
}

fn node(draft: &Draft, pointer: &str) -> NodeId {
    draft.document().resolve(pointer).unwrap()
}

fn section(draft: &Draft, pointer: &str) -> SectionId {
    let node = node(draft, pointer);
    let place = draft.document().sections().iter().position(|section| section.node == node);
    SectionId::from_index(place.unwrap())
}

fn stamp() -> CaptureStamp {
    CaptureStamp { on_drift: OnDrift::Pause, updated_at: "2026-11-22T14:00:00Z".to_owned() }
}

/// Saves what a person does to a request, with nothing in between that a policy would do.
fn captured(mut of: Draft, edit: impl FnOnce(&mut Draft)) -> ScopeEdits {
    let mut fresh = of.clone();
    edit(&mut of);
    let mut capture = Capture::of(&of);
    capture.make(&mut fresh, &key(), &stamp());
    let captured = capture.finish(&fresh);
    assert_eq!(captured.left_out, []);
    ScopeEdits { scope: SavedScope::Session, key: key(), edits: captured.edits }
}

fn set(pointer: &'static str, text: &'static str) -> impl FnOnce(&mut Draft) {
    move |draft| {
        draft.set(node(draft, pointer), text, &Author::Person).unwrap();
    }
}

fn made(layers: &[&ScopeEdits], mut draft: Draft) -> (Vec<Fit>, Value) {
    let fits = apply(layers, &mut draft).into_iter().map(|outcome| outcome.fit).collect();
    (fits, serde_json::from_slice(&draft.render()).unwrap())
}

fn only(layer: &ScopeEdits, draft: Draft) -> (Fit, Value) {
    let (fits, body) = made(&[layer], draft);
    let [fit] = fits.try_into().unwrap();
    (fit, body)
}

#[test]
fn an_edit_is_made_where_it_was_and_where_its_text_stands_now() {
    let layer = captured(conversation(), set("/messages/1/content", "Where is the build?"));
    assert_eq!(layer.edits[0].path, "messages[1].content");
    let (fit, body) = only(&layer, conversation());
    assert!(matches!(fit, Fit::Made(_)));
    assert_eq!(body["messages"][1]["content"], "Where is the build?");
    // A client puts a message in, gives the message parts, and marks them for a cache.
    let moved = chat(&json!([
        { "role": "system", "content": RULE },
        { "role": "system", "content": "The date is today, and the weather is fine outside." },
        { "role": "user", "content": [
            { "type": "text", "text": QUESTION, "cache_control": { "type": "ephemeral" } },
        ]},
    ]));
    let (fit, body) = only(&layer, moved);
    assert!(matches!(fit, Fit::Made(_)), "{fit:?}");
    assert_eq!(body["messages"][2]["content"][0]["text"], "Where is the build?");
}

// S0-72
#[test]
fn what_does_not_certainly_fit_is_told_and_nothing_is_written() {
    let question = || captured(conversation(), set("/messages/1/content", "Where is the build?"));
    let short = || captured(conversation(), set("/messages/3/content", "no"));
    let asks = |texts: &[&str]| {
        let user = |text: &&str| json!({ "role": "user", "content": text });
        chat(&texts.iter().map(user).collect::<Value>())
    };
    let other_role =
        chat(&json!([{ "role": "user", "content": "a" }, { "role": "assistant", "content": QUESTION }]));
    for (layer, draft, drift) in [
        (question(), asks(&["a", "Where is it?"]), Drift::OtherText),
        (question(), asks(&["a"]), Drift::Gone),
        (question(), other_role, Drift::Gone),
        (question(), asks(&[QUESTION, "a", QUESTION]), Drift::Ambiguous),
        (short(), asks(&["yes"]), Drift::Gone),
        (short(), asks(&["a", "b", "yes", "c"]), Drift::OtherText),
        (
            question(),
            draft_of(
                Format::AnthropicMessages,
                &json!({ "messages": [{ "role": "user", "content": QUESTION }] }),
            ),
            Drift::OtherFormat,
        ),
    ] {
        let before: Value = serde_json::from_slice(&draft.render()).unwrap();
        let mut draft = draft;
        let outcome = apply(&[&layer], &mut draft).pop().unwrap();
        assert_eq!((&outcome.fit, outcome.pauses()), (&Fit::Drifted(drift), Some(drift)));
        assert!(draft.edits().next().is_none());
        assert_eq!(serde_json::from_slice::<Value>(&draft.render()).unwrap(), before);
    }
    // Of two equal ones, that at its own place is it.
    let (fit, _) = only(&question(), asks(&[QUESTION, QUESTION]));
    assert!(matches!(fit, Fit::Made(_)));
}

#[test]
fn messages_are_left_out_and_put_in_again() {
    let delete = captured(conversation(), |draft| {
        draft.delete(section(draft, "/messages/2"), &Author::Person).unwrap();
    });
    let put_in = captured(conversation(), |draft| {
        draft
            .insert(
                section(draft, "/messages/1"),
                leafgate_tree::Role::User,
                "Read this first",
                &Author::Person,
            )
            .unwrap();
    });
    let (fits, body) = made(&[&delete, &put_in, &put_in], conversation());
    assert!(matches!(fits[..], [Fit::Made(_), Fit::Made(_), Fit::Unneeded]), "{fits:?}");
    let says: Vec<_> =
        body["messages"].as_array().unwrap().iter().map(|message| message["content"].clone()).collect();
    assert_eq!(says, [RULE, "Read this first", QUESTION, "yes"]);
    // A short message is known by its place alone.
    let longer = chat(&json!([
        { "role": "system", "content": RULE }, { "role": "user", "content": QUESTION },
        { "role": "user", "content": "Well" }, { "role": "assistant", "content": "In target." },
    ]));
    assert_eq!(only(&delete, longer).0, Fit::Drifted(Drift::Gone));
}

#[test]
fn options_are_set_by_their_spelling() {
    let layer = captured(conversation(), set("/temperature", "1.0"));
    assert_eq!(only(&layer, conversation()).1["temperature"], json!(1.0));
    let other = draft_of(Format::OpenaiChat, &json!({ "temperature": 0.7, "messages": [] }));
    assert_eq!(only(&layer, other).0, Fit::Drifted(Drift::OtherText));
}

// S0-70
#[test]
fn the_closer_scope_wins() {
    let layer =
        |scope, text| ScopeEdits { scope, ..captured(conversation(), set("/messages/1/content", text)) };
    let session = layer(SavedScope::Session, "of the session");
    let global = layer(SavedScope::Global, "of all");
    let delete = captured(conversation(), |draft| {
        draft.delete(section(draft, "/messages/1"), &Author::Person).unwrap();
    });
    let (fits, body) = made(&[&session, &delete, &global], conversation());
    assert!(matches!(fits[..], [Fit::Made(_), Fit::Overruled, Fit::Overruled]), "{fits:?}");
    assert_eq!(body["messages"][1]["content"], "of the session");
}

#[test]
fn invariant_10_a_pinned_leaf_takes_no_saved_edit() {
    let layer = captured(conversation(), set("/messages/1/content", "Where is the build?"));
    let mut draft = conversation();
    draft.pin(node(&draft, "/messages/1/content"), &Author::rule("steady"));
    let outcome = apply(&[&layer], &mut draft).pop().unwrap();
    assert!(matches!(&outcome.fit, Fit::Refused(EditError::Pinned { .. })), "{outcome:?}");
    assert_eq!(outcome.pauses(), None, "the policy wants it so");
    assert!(!draft.is_dirty());
    // Neither is it captured.
    let mut edited = draft.clone();
    edited.set(node(&draft, "/messages/1/content"), "By hand", &Author::Person).unwrap();
    let mut capture = Capture::of(&edited);
    capture.make(&mut draft, &key(), &stamp());
    let captured = capture.finish(&draft);
    assert_eq!(captured.edits, []);
    let why = "the leaf is pinned by rule steady".to_owned();
    assert_eq!(captured.left_out, [LeftOutEdit { path: "messages[1].content".to_owned(), why }]);
}

fn redacted(mut draft: Draft, value: &str, token: &str) -> Draft {
    let leaf = node(&draft, "/messages/0/content");
    let at = draft.text(leaf).expose().find(value).unwrap();
    let redaction = Redaction::new(at..at + value.len(), "NAME", token);
    draft.redact(leaf, &[redaction], &Author::rule("names")).unwrap();
    draft
}

#[test]
fn invariant_6_a_redacted_value_is_neither_in_the_edit_nor_in_its_guard() {
    let says = |name: &str| {
        chat(&json!([{ "role": "user", "content": format!("Ask {name} what the build is for") }]))
    };
    let layer = captured(
        redacted(says("wanda"), "wanda", "NAME_1"),
        set("/messages/0/content", "Ask NAME_1 about the build"),
    );
    let file = SavedFile { edits: layer.edits.clone(), ..SavedFile::default() };
    assert!(!file.spell().contains("wanda") && !format!("{layer:?}").contains("NAME_1"));
    // Another value in its place is the same text to the guard: it says nothing about the value.
    let (fit, body) = only(&layer, redacted(says("oscar"), "oscar", "NAME_2"));
    assert!(matches!(fit, Fit::Made(_)));
    assert_eq!(body["messages"][0]["content"], "Ask NAME_1 about the build");
    // Unredacted, it is another text.
    assert_eq!(only(&layer, says("wanda")).0, Fit::Drifted(Drift::OtherText));
}

#[test]
fn a_release_is_not_captured_and_neither_is_a_text_that_holds_what_was_released() {
    let mut draft = conversation();
    let leaf = node(&draft, "/messages/1/content");
    let terms = ReleaseTerms::Releasable(draft.new_finding());
    let redaction = Redaction { terms, ..Redaction::new(10..15, "NAME", "NAME_1") };
    draft.redact(leaf, &[redaction], &Author::rule("names")).unwrap();
    let mut fresh = draft.clone();
    draft.release(0).unwrap();
    assert!(Capture::of(&draft).is_empty());
    draft.set(leaf, &format!("{QUESTION} Say it."), &Author::Person).unwrap();
    draft.set(node(&draft, "/messages/3/content"), "no", &Author::Person).unwrap();
    let mut capture = Capture::of(&draft);
    capture.make(&mut fresh, &key(), &stamp());
    let captured = capture.finish(&fresh);
    let places: Vec<_> = captured.edits.iter().map(|edit| edit.pointer.as_str()).collect();
    assert_eq!(places, ["/messages/3/content"]);
    let why = "it holds a value that was released for this one request".to_owned();
    assert_eq!(captured.left_out, [LeftOutEdit { path: "messages[1].content".to_owned(), why }]);
}

#[test]
fn only_what_a_person_did_and_what_stands_is_captured() {
    let mut draft = conversation();
    draft.set(node(&draft, "/messages/0/content"), "By a rule", &Author::rule("r")).unwrap();
    draft.set(node(&draft, "/messages/1/content"), "First", &Author::Person).unwrap();
    draft.set(node(&draft, "/messages/1/content"), "Second", &Author::Person).unwrap();
    draft.set(node(&draft, "/messages/3/content"), "Undone", &Author::Person).unwrap();
    draft.undo();
    let mut capture = Capture::of(&draft);
    let mut fresh = conversation();
    capture.make(&mut fresh, &key(), &stamp());
    let captured = capture.finish(&fresh).edits;
    let texts: Vec<_> = captured.iter().map(|edit| (edit.pointer.as_str(), edit.text.as_deref())).collect();
    assert_eq!(texts, [("/messages/1/content", Some("Second"))]);
    draft.reset();
    assert!(Capture::of(&draft).is_empty());
}

#[test]
fn what_a_rule_changes_later_is_not_captured() {
    let mut edited = conversation();
    edited.set(node(&edited, "/messages/1/content"), "By hand", &Author::Person).unwrap();
    let mut capture = Capture::of(&edited);
    let mut fresh = conversation();
    capture.make(&mut fresh, &key(), &stamp());
    fresh.set(node(&fresh, "/messages/1/content"), "By hand, and by a rule", &Author::rule("r")).unwrap();
    let captured = capture.finish(&fresh);
    assert!(captured.edits.is_empty());
    assert!(captured.left_out[0].why.starts_with("a rule or plugin changes this place"));
}

fn some() -> Vec<SavedEdit> {
    let mut edits =
        captured(conversation(), set("/messages/1/content", "Line one\nline two \u{1b} \"\"\" '''")).edits;
    edits.extend(
        captured(conversation(), |draft| {
            draft
                .insert(section(draft, "/messages/1"), leafgate_tree::Role::User, "", &Author::Person)
                .unwrap();
            draft.delete(section(draft, "/messages/2"), &Author::Person).unwrap();
        })
        .edits,
    );
    edits
}

// S0-72
#[test]
fn a_file_is_read_as_it_was_written() {
    let file = SavedFile {
        key: Some("k".to_owned()),
        workspace: Some("/srv/\u{7f}".to_owned()),
        edits: some(),
        ..SavedFile::default()
    };
    let text = file.spell();
    assert!(text.starts_with("# Edits that a person saved"), "{text}");
    assert_eq!(SavedFile::parse(&text).unwrap(), file);
    assert_eq!(SavedFile::parse(&SavedFile::default().spell()).unwrap(), SavedFile::default());
}

#[test]
fn a_file_that_is_not_exactly_one_is_refused_and_not_quoted() {
    let text = SavedFile { edits: some(), ..SavedFile::default() }.spell();
    for (from, to, says) in [
        ("version = 1", "version = 2", "version 2"),
        ("version = 1", "version = \"quoted\"", "line 4: "),
        ("action = \"set\"", "action = \"quoted\"", "unknown, missing or misspelled"),
        ("action = \"set\"", "action = \"delete\"", "edit 1: `delete` takes neither"),
        ("role = \"user\"", "role = \"user\"\nquoted = 1", "unknown, missing or misspelled"),
        ("leaf = \"text\"\n", "", "`leaf` belongs to `set`"),
        ("format = \"openai-chat\"", "format = \"quoted\"", "no such format"),
        ("replaces = \"", "replaces = \"quoted", "`replaces` is 32"),
        ("id = \"", "id = \"../", "`id` is up to 64"),
        ("updated-at = ", "updated-at = quoted", "line "),
    ] {
        assert!(text.contains(from), "{from}");
        let error = SavedFile::parse(&text.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(error.contains(says) && !error.contains("quoted"), "{to}: {error}");
    }
    let twice = format!("{text}\n{}", &text[text.find("[[edit]]").unwrap()..]);
    assert!(SavedFile::parse(&twice).unwrap_err().to_string().contains("the same id"));
}

#[test]
fn an_edit_of_the_same_place_replaces_the_one_before_it_and_a_file_is_bounded() {
    let mut file = SavedFile::default();
    file.put(&captured(conversation(), set("/messages/1/content", "One")).edits).unwrap();
    file.put(&captured(conversation(), set("/messages/1/content", "Two")).edits).unwrap();
    assert_eq!(file.edits.iter().map(|edit| edit.text.as_deref()).collect::<Vec<_>>(), [Some("Two")]);
    let many: Vec<SavedEdit> = (0..=MAX_EDITS)
        .map(|number| SavedEdit {
            id: leafgate_saved::SavedId::new(&number.to_string()).unwrap(),
            ..file.edits[0].clone()
        })
        .collect();
    let before = file.clone();
    assert!(matches!(file.put(&many), Err(SavedFileError::TooMany { .. })));
    assert_eq!(file, before);
    assert!(file.remove(before.edits[0].id.as_str()) && !file.remove("none"));
}

/// Each leaf of each recording that a rule may edit is edited, saved, and found again.
#[test]
fn invariant_5_saved_edits_give_the_same_bytes_and_change_one_leaf_of_each_recording() {
    let mut checked = 0;
    for recording in recordings::all() {
        let Ok(document) =
            Document::parse(recording.body.clone().into(), recording.format, &Limits::default())
        else {
            continue;
        };
        let document = Arc::new(document);
        let author = Author::SavedEdit { id: "any".into() };
        let fresh = Draft::new(Arc::clone(&document));
        let editable = document.leaves().filter(|leaf| fresh.may_edit(leaf.id(), &author).is_ok());
        let texts: Vec<_> =
            editable.filter(|leaf| leaf.value_type() == leafgate_tree::ValueType::Text).collect();
        // Some of each recording, since some have thousands.
        for leaf in texts.iter().step_by(texts.len() / 6 + 1) {
            let new = format!("saved {}", checked);
            let mut edited = fresh.clone();
            edited.set(leaf.id(), &new, &Author::Person).unwrap();
            let mut capture = Capture::of(&edited);
            let mut again = fresh.clone();
            capture.make(&mut again, &key(), &stamp());
            let edits = capture.finish(&again).edits;
            let layer = ScopeEdits { scope: SavedScope::Global, key: key(), edits };
            let twice = [(); 2].map(|()| {
                let mut draft = fresh.clone();
                let outcomes = apply(&[&layer], &mut draft);
                assert!(
                    matches!(outcomes[0].fit, Fit::Made(at) if at == leaf.id()),
                    "{recording:?} {outcomes:?}"
                );
                draft.render()
            });
            assert_eq!(twice[0], twice[1], "the same in, the same out");
            assert_eq!(twice[0], edited.render(), "one leaf, one change");
            let mut pinned = fresh.clone();
            pinned.pin(leaf.id(), &Author::rule("steady"));
            apply(&[&layer], &mut pinned);
            assert_eq!(pinned.render(), recording.body, "a pinned leaf stays");
            checked += 1;
        }
    }
    assert!(checked >= 50, "{checked} leaves: fewer than every clone has");
}
