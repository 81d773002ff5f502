//! Who is named for what a leaf says now.

use leafgate_tree::{Author, Document, Draft, Format, Limits, NodeId, Redaction};

fn draft() -> (Draft, NodeId) {
    let body = r#"{"messages":[{"role":"user","content":"ann and bob"}]}"#;
    let document = Document::parse(body.into(), Format::OpenaiChat, &Limits::default()).unwrap();
    let draft = Draft::new(document.into());
    let leaf = draft.document().leaves().find(|leaf| leaf.text().expose() == "ann and bob").unwrap().id();
    (draft, leaf)
}

fn redaction(at: std::ops::Range<usize>, replacement: &str) -> Redaction {
    Redaction::new(at, "NAME", replacement)
}

/// Who is named beside those who set the text.
fn redactors(draft: &Draft, leaf: NodeId) -> Vec<Author> {
    let changes = draft.changes(str::to_owned);
    let changed = changes.leaves.iter().find(|changed| changed.node == leaf).unwrap();
    changed
        .authors
        .iter()
        .map(|&author| author.clone())
        .filter(|author| *author != Author::rule("rewrite"))
        .collect()
}

#[test]
fn a_redaction_of_a_text_that_was_undone_names_nobody() {
    let (mut draft, leaf) = draft();
    draft.redact(leaf, &[redaction(0..3, "[NAME]")], &Author::rule("names")).unwrap();
    assert_eq!(redactors(&draft, leaf), [Author::rule("names")]);

    draft.set(leaf, "[NAME] and carol", &Author::rule("rewrite")).unwrap();
    draft.redact(leaf, &[redaction(11..16, "NAME_x")], &Author::rule("more-names")).unwrap();
    assert_eq!(redactors(&draft, leaf), [Author::rule("names"), Author::rule("more-names")]);

    draft.undo().unwrap();
    assert_eq!(
        redactors(&draft, leaf),
        [Author::rule("names")],
        "the second redacted what is no longer there"
    );
    draft.redo().unwrap();
    assert_eq!(redactors(&draft, leaf).len(), 2);
}

#[test]
fn an_author_is_named_once_and_a_redaction_that_drops_counts() {
    let (mut draft, leaf) = draft();
    draft.redact(leaf, &[redaction(0..3, ""), redaction(8..11, "")], &Author::rule("names")).unwrap();
    assert_eq!(draft.text(leaf).expose(), " and ");
    assert_eq!(redactors(&draft, leaf), [Author::rule("names")]);
}
