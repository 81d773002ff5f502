//! A person takes a redaction back: the received bytes leave, and nothing else changes.

use leafgate_tree::{
    Author, Document, Draft, EditError, EditKind, Format, Limits, NodeId, Redaction, ReleaseTerms, Replay,
};

const BODY: &str = r#"{"messages":[{"role":"user","content":"to j\u006f@x.org and ann, jo@x.org"},{"role":"user","content":[{"type":"text","text":"key ab"},{"type":"text","text":"cd end"}]}]}"#;

const TEXT: &str = "/messages/0/content";

fn rule() -> Author {
    Author::rule("contacts")
}

fn draft() -> Draft {
    Draft::new(Document::parse(BODY.into(), Format::OpenaiChat, &Limits::default()).unwrap().into())
}

fn leaf(draft: &Draft, pointer: &str) -> NodeId {
    draft.document().resolve(pointer).unwrap()
}

fn redaction(at: std::ops::Range<usize>, replacement: &str) -> Redaction {
    Redaction::new(at, "EMAIL", replacement)
}

/// The redaction of a finding of its own, which a person may release.
fn releasable(draft: &mut Draft, redaction: Redaction) -> Redaction {
    Redaction { terms: ReleaseTerms::Releasable(draft.new_finding()), ..redaction }
}

/// Two addresses are redacted on terms that let a person release them, and a name for good.
fn redacted() -> (Draft, NodeId) {
    let mut draft = draft();
    let node = leaf(&draft, TEXT);
    let name = redaction(16..19, "NAME_1");
    let all = [
        releasable(&mut draft, redaction(3..11, "EMAIL_1")),
        Redaction { terms: ReleaseTerms::Kept { by: Some("names".into()) }, ..name },
        releasable(&mut draft, redaction(21..29, "EMAIL_1")),
    ];
    draft.redact(node, &all, &rule()).unwrap();
    (draft, node)
}

fn body(draft: &Draft) -> String {
    String::from_utf8(draft.render().to_vec()).unwrap()
}

// S0-42
#[test]
fn a_release_sends_the_received_spelling_and_undo_redo_and_reset_reach_it() {
    let (mut draft, node) = redacted();
    let before = body(&draft);
    draft.release(0).unwrap();
    assert_eq!(draft.text(node).expose(), "to jo@x.org and NAME_1, EMAIL_1");
    let released = body(&draft);
    assert!(released.contains(r"to j\u006f@x.org and NAME_1, EMAIL_1"), "as it was spelled: {released}");
    let edit = draft.edits().next().unwrap();
    assert_eq!((edit.kind, &edit.author), (EditKind::Release, &Author::Person));
    assert_eq!(draft.released_by(edit).map(|made| made.number).collect::<Vec<_>>(), [0]);
    assert_eq!(draft.standing_edits().len(), 1);
    let standing: Vec<_> = draft.standing_redactions().iter().map(|made| made.number).collect();
    assert_eq!(standing, [1, 2], "two tokens that are equal are told apart");
    draft.undo().unwrap();
    assert_eq!((body(&draft), draft.standing_edits().len()), (before.clone(), 0));
    draft.redo().unwrap();
    assert_eq!(body(&draft), released);
    draft.reset().unwrap();
    assert_eq!(body(&draft), before, "a reset takes it back too");
    draft.undo().unwrap();
    assert_eq!(body(&draft), released);
}

#[test]
fn what_may_not_be_released_is_refused_and_nothing_changes() {
    let (mut draft, node) = redacted();
    let before = body(&draft);
    let kept = EditError::NotReleasable { by: Author::rule("names") };
    assert_eq!(draft.release(1), Err(kept));
    assert_eq!(draft.release(3), Err(EditError::NoSuchRedaction));
    // Redacted without a word about it is redacted for good.
    let text = draft.text(node).expose().len();
    draft.set(node, &format!("{} more", draft.text(node).expose()), &Author::Person).unwrap();
    draft.redact(node, &[redaction(text + 1..text + 5, "X_1")], &rule()).unwrap();
    assert_eq!(draft.release(3), Err(EditError::NotReleasable { by: rule() }));
    draft.undo().unwrap();
    assert_eq!(body(&draft), before);
    draft.release(0).unwrap();
    assert_eq!(draft.release(0), Err(EditError::NotRedacted), "the second is told");
    let message = draft.document().section_of(node).unwrap();
    draft.delete(message, &Author::Person).unwrap();
    assert_eq!(draft.release(2), Err(EditError::Deleted));
}

#[test]
fn what_was_written_and_redacted_then_cannot_be_released() {
    let mut draft = draft();
    let node = leaf(&draft, TEXT);
    draft.set(node, "mail me@y.org now", &Author::Person).unwrap();
    let email = releasable(&mut draft, redaction(5..13, "EMAIL_2"));
    draft.redact(node, &[email], &rule()).unwrap();
    assert_eq!(draft.release(0), Err(EditError::NotReceived));
    assert!(!draft.redaction(0).unwrap().is_releasable());
}

#[test]
fn what_stands_beside_something_deleted_cannot_be_released_with_it() {
    let check = |edits: Vec<(std::ops::Range<usize>, &str)>, at| {
        let mut draft = draft();
        let node = leaf(&draft, TEXT);
        for (at, text) in edits {
            draft.splice(node, vec![(at, text.to_owned())], &Author::Person).unwrap();
        }
        let email = releasable(&mut draft, redaction(at, "EMAIL_1"));
        draft.redact(node, &[email], &rule()).unwrap();
        assert_eq!(draft.release(0), Err(EditError::NotReceived));
    };
    check(vec![(0..3, "")], 0..8);
    check(vec![(16..19, "bob"), (5..5, "ZZ"), (5..7, "")], 3..11);
}

#[test]
fn a_finding_over_two_parts_is_released_in_both_or_in_none() {
    let mut draft = draft();
    let parts = ["/messages/1/content/0/text", "/messages/1/content/1/text"].map(|at| leaf(&draft, at));
    let first = releasable(&mut draft, redaction(4..6, "KEY_1"));
    let second = Redaction { terms: first.terms.clone(), ..redaction(0..2, "") };
    draft.redact(parts[0], &[first], &rule()).unwrap();
    draft.redact(parts[1], &[second], &rule()).unwrap();
    let before = body(&draft);
    assert!(before.contains("key KEY_1") && before.contains(r#"" end""#), "{before}");
    draft.release(1).unwrap();
    assert_eq!(body(&draft), BODY, "with all of it released, it is the body that came");
    assert_eq!(draft.standing_edits().len(), 1);
    draft.undo().unwrap();
    assert_eq!(body(&draft), before);
    // Where one piece was written over, the other stays too.
    draft.set(parts[0], "key gone", &Author::Person).unwrap();
    let edited = body(&draft);
    assert_eq!(draft.release(1), Err(EditError::NotRedacted));
    assert_eq!(body(&draft), edited);
}

#[test]
fn an_edit_beside_it_leaves_a_released_value_released_and_no_record_spells_it() {
    let (mut draft, node) = redacted();
    draft.release(0).unwrap();
    draft.set(node, "Write to jo@x.org and NAME_1, EMAIL_1!", &Author::Person).unwrap();
    let released: Vec<_> = draft.released(node).into_iter().map(|span| span.at).collect();
    assert!(released.len() == 1 && released[0] == (9..17), "though the texts differ on both sides of it");
    let shown = serde_json::to_string(&draft.operations(str::to_owned)).unwrap();
    assert!(!shown.contains("jo@x.org") && shown.contains("‹EMAIL›"), "{shown}");
    assert!(shown.contains(r#""kind":"release","label":"EMAIL","token":"EMAIL_1""#), "{shown}");
    let diff = draft.changes(|label| format!("‹{label}›"));
    assert!(!diff.leaves[0].before.expose().contains("jo@x.org"));
    // Without it in the new text nothing is released.
    draft.set(node, "Write to j@x.org", &Author::Person).unwrap();
    assert!(!draft.has_released(node));
}

#[test]
fn a_recorded_release_is_not_made_again() {
    let (mut draft, _) = redacted();
    draft.release(0).unwrap();
    let record: Vec<_> =
        draft.operations(str::to_owned).iter().map(|one| serde_json::to_string(one).unwrap()).collect();
    let (mut next, _) = redacted();
    let before = body(&next);
    let mut replay = Replay::parse(&record.join("\n")).unwrap();
    while replay.step(&mut next) {}
    assert_eq!(body(&next), before);
    let misfits: Vec<_> = replay.into_misfits().iter().map(|misfit| misfit.why.to_string()).collect();
    assert_eq!(misfits, ["a release holds for the one request that it was made in"]);
}
