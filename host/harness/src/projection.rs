//! A projection names places of the tree; whatever a body holds, the names hang together.

use std::collections::BTreeSet;
use std::sync::Arc;

use leafgate_tree::{
    Access, Author, Document, Draft, EditError, Format, Limits, NodeId, NodeType, ResolveError, SectionId,
};

use crate::bodies::{entries, parse};
use crate::input::Input;

/// Most sections that are deleted one by one.
const DELETIONS: usize = 50;

/// Reads a body as a format: sections nest and have labels and keys, leaves lie in them, the same leaves are there as in every other
/// format, and each deletion is refused or gives JSON, and is undone exactly.
pub fn projection(format: Format, input: &[u8]) {
    let mut input = Input::new(input);
    let Some(document) = parse(input.body, format) else { return };
    assert_eq!(document.format(), format);
    let _ = (document.model(), document.streams(), format!("{document:?}"));
    leaves(&document);
    shape(&document, input.body);
    let document = Arc::new(document);
    let draft = Draft::new(Arc::clone(&document));
    sections(&draft);
    assert_eq!(draft.validate(), Ok(()), "what nobody edited is the client's");
    let sections = document.sections().len();
    let first = input.choose(sections);
    for at in (first..sections).take(DELETIONS) {
        deletion(&draft, SectionId::from_index(at));
    }
}

/// Sections cover their children, come after their parents, and bear a label and a key.
fn sections(draft: &Draft) {
    let (document, mut keys) = (draft.document(), BTreeSet::new());
    for at in 0..document.sections().len() {
        let id = SectionId::from_index(at);
        let section = document.section(id);
        // An option is called what its key is, and a tool what it is called: both are the client's words.
        let named_here = section.node_type != NodeType::RequestOption && section.tool.is_none();
        assert!(!draft.section_label(id).is_empty() || !named_here, "no label");
        // A key of the body that stands twice names two options.
        let key = draft.section_key(id);
        assert!(keys.insert(key.clone()) || stands_twice(document, section.node), "{key} twice");
        let Some(parent) = section.parent else { continue };
        let (outer, inner) =
            (document.subtree(document.section(parent).node), document.subtree(section.node));
        assert!(
            parent < id && outer.start <= inner.start && inner.end <= outer.end,
            "{key} outside its parent"
        );
    }
}

fn stands_twice(document: &Document, node: NodeId) -> bool {
    document.resolve(&document.pointer(node)).is_err()
}

fn leaves(document: &Document) {
    for leaf in document.leaves() {
        let section = leaf.section().expect("a leaf belongs to a section");
        assert!(
            document.subtree(document.section(section).node).contains(&leaf.id().index()),
            "a leaf outside its section"
        );
        let _ = (leaf.role(), leaf.tool(), leaf.kind());
    }
}

/// A format names things and changes none: the same values, and none out of sight but media.
fn shape(document: &Document, body: &[u8]) {
    let generic =
        Document::detect(body.to_vec().into(), &Limits::default()).expect("the body was read before");
    assert_eq!(document.node_count(), generic.node_count());
    let opaque = document.leaves().filter(|leaf| leaf.access() == Access::Opaque);
    // A place alone hides nothing: what is out of sight is base64 from beginning to end.
    let is_base64 = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=');
    for leaf in opaque {
        let text = leaf.text();
        let payload = text.expose().split_once(";base64,").map_or(text.expose(), |(_, payload)| payload);
        assert!(payload.chars().all(is_base64), "text out of sight at {}", document.pointer(leaf.id()));
    }
}

/// Keys and texts of a request, in order, but for what is deleted in it.
fn words(document: &Document, is_deleted: impl Fn(NodeId) -> bool) -> Vec<String> {
    let values = (0..document.node_count()).filter_map(|at| document.settable(NodeId::from_index(at)));
    let values = values.map(|value| (value.id(), value.text().into_cow().into_owned()));
    let keys = document.keys().map(|key| (key.node, key.text.into_cow().into_owned()));
    values.chain(keys).filter(|(node, _)| !is_deleted(*node)).map(|(_, text)| text).collect()
}

/// What was not deleted stands where it stood: a deletion takes its own key, commas and nothing else along.
fn what_is_left(draft: &Draft, rendered: &[u8]) {
    let document = draft.document();
    let left = parse(rendered, document.format()).expect("a body with less in it");
    // Of a smaller body less is walked.
    let beyond_caps = |document: &Document| document.leaves().any(|leaf| leaf.beyond_caps());
    if !beyond_caps(document) && !beyond_caps(&left) {
        assert_eq!(words(document, |node| draft.is_deleted(node)), words(&left, |_| false));
    }
}

fn deletion(draft: &Draft, id: SectionId) {
    let mut draft = draft.clone();
    match draft.delete(id, &Author::Person) {
        Ok(_) => {}
        Err(error) => return assert_eq!(error, EditError::NotDeletable),
    }
    assert!(draft.is_deleted(draft.document().section(id).node));
    let rendered = draft.render();
    // Panics where it is no JSON.
    entries(&rendered);
    what_is_left(&draft, &rendered);
    assert!(rendered.len() < draft.document().source().len());
    if let Err(invalid) = draft.validate() {
        let found = draft.document().resolve(&invalid.pointer);
        assert!(found != Err(ResolveError::NotFound), "a pointer to nothing");
    }
    for leaf in draft.document().leaves().take(50) {
        let _ = (draft.pointer_now(leaf.id()), draft.display_path_now(leaf.id()));
    }
    draft.undo();
    assert_eq!(&draft.render(), draft.document().source(), "undone");
}
