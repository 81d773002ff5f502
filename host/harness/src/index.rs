//! The index holds every position of a body, and names each so that it is found again.

use leafgate_tree::{Access, Document, Draft, Format, Limits, ResolveError, unescape_deeply};
use leafgate_verify::walk::PositionKind;

use crate::bodies::{align, entries};
use crate::input::Input;

/// Any bytes are read or refused with a place inside them. What is read has the positions that the independent walk finds, their texts
/// and types, and their pointers lead back; unedited, the received buffer itself leaves.
pub fn index(input: &[u8]) {
    let body = Input::new(input).body;
    raw(body);
    let document = match Document::parse(body.to_vec().into(), Format::Generic, &Limits::default()) {
        Ok(document) => document,
        Err(error) => {
            assert!(error.offset <= body.len() && error.line >= 1 && error.column >= 1);
            let is_json =
                std::str::from_utf8(body).is_ok_and(|body| leafgate_verify::walk::positions(body).is_ok());
            assert!(error.is_cap() || !is_json, "refused JSON: {error}");
            return;
        }
    };
    let entries = entries(body);
    for &(value, at) in &align(&document, &entries) {
        let what = entries[at].position.what;
        let known = format!("{:?}", value.value_type());
        assert!(
            format!("{what:?}") == known || what == PositionKind::Document && known == "Text",
            "{what:?} as {known}"
        );
        let span = document.body_span(value.id());
        assert!(span.start < span.end && span.end <= body.len());
    }
    keys(
        &document,
        &entries
            .iter()
            .filter(|entry| entry.position.what == PositionKind::Key)
            .map(|entry| &*entry.text)
            .collect::<Vec<_>>(),
    );
    pointers(&document);
    let draft = Draft::new(document.into());
    assert!(!draft.is_dirty());
    assert_eq!(draft.render().as_ptr(), draft.document().source().as_ptr(), "the buffer itself, not a copy");
}

/// A body that is no JSON is one leaf with all of it.
fn raw(body: &[u8]) {
    let document = Document::raw(body.to_vec().into());
    assert_eq!(document.leaves().count(), 1);
    assert!(document.leaves().all(|leaf| leaf.access() != Access::Opaque));
    assert_eq!(&Draft::new(document.into()).render()[..], body);
    // Whatever is unescaped here came from a stranger.
    let _ = unescape_deeply(&String::from_utf8_lossy(body));
}

fn keys(document: &Document, walked: &[&str]) {
    let beyond_caps = document.leaves().any(|leaf| leaf.beyond_caps());
    let keys: Vec<_> = document.keys().map(|key| key.text.into_cow()).collect();
    // The walk also sees the keys beyond the caps.
    assert!(keys.len() <= walked.len() && (beyond_caps || keys.len() == walked.len()));
    let mut rest = walked.iter();
    assert!(keys.iter().all(|key| rest.any(|walked| walked == key)), "a key that the walk has not");
}

/// Every pointer leads back to its node, unless a key on the way stands twice.
fn pointers(document: &Document) {
    // Pointers of deep documents are long, and each is resolved from the root: a sample of large ones.
    let step = (document.node_count() / 500).max(1);
    for leaf in document.leaves().step_by(step) {
        match document.resolve(&document.pointer(leaf.id())) {
            Ok(found) => assert_eq!(found, leaf.id()),
            Err(error) => assert_eq!(error, ResolveError::Ambiguous),
        }
        let _ = (document.display_path(leaf.id()), leaf.key(), format!("{leaf:?}"));
    }
}
