//! How the values of a request are named to people and in records: by pointer, path, key and label, but for keys that hold a finding.
//!
//! A key cannot be redacted, because others look its member up by it. So whoever finds something in one hides the key here, and every
//! name that the draft gives has a word in its place. The word is the key's own: edits go by pointers, and [`Draft::resolve`] knows it.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::Draft;
use crate::index::{Index, Segment};
use crate::insert::Inserted;
use crate::node::NodeId;
use crate::pointer::{self, ResolveError};

/// What the words for hidden keys begin with: `[KEY]`, `[KEY 2]`.
const WORD: &str = "[KEY";

/// The members whose keys are hidden, with the numbers of their words.
#[derive(Clone, Debug, Default)]
pub(super) struct HiddenKeys {
    numbers: BTreeMap<NodeId, usize>,
    /// By the object around them.
    objects: BTreeMap<NodeId, GivenWords>,
}

/// The words that are given away in one object.
#[derive(Clone, Debug, Default)]
struct GivenWords {
    last: usize,
    /// Numbers of words that the object has as keys of its own.
    taken: BTreeSet<usize>,
    members: BTreeMap<usize, NodeId>,
}

impl GivenWords {
    fn of(index: &Index, object: NodeId) -> Self {
        let keys = index.children(object).filter_map(|member| match index.segment(member) {
            Some(Segment::Key(key)) => number(&key),
            Some(Segment::Index(_)) | None => None,
        });
        GivenWords { taken: keys.collect(), ..GivenWords::default() }
    }

    fn next(&mut self) -> usize {
        self.last += 1;
        while self.taken.contains(&self.last) {
            self.last += 1;
        }
        self.last
    }
}

impl HiddenKeys {
    fn hide(&mut self, index: &Index, member: NodeId) {
        let Some(object) = index.parent(member) else { return };
        if self.numbers.contains_key(&member) {
            return;
        }
        let words = self.objects.entry(object).or_insert_with(|| GivenWords::of(index, object));
        let number = words.next();
        words.members.insert(number, member);
        self.numbers.insert(member, number);
    }

    fn word(&self, member: NodeId) -> Option<String> {
        self.numbers.get(&member).map(|&number| spelled(number))
    }

    /// The member of an object that a word stands for.
    fn member(&self, object: NodeId, word: &str) -> Option<NodeId> {
        self.objects.get(&object)?.members.get(&number(word)?).copied()
    }

    pub(super) fn memory(&self) -> usize {
        // A member stands in two maps, and a map takes about twice what its entries do.
        self.numbers.len() * 4 * size_of::<(NodeId, usize)>() + self.objects.len() * size_of::<GivenWords>()
    }
}

fn spelled(number: usize) -> String {
    if number == 1 { format!("{WORD}]") } else { format!("{WORD} {number}]") }
}

fn number(word: &str) -> Option<usize> {
    match word.strip_prefix(WORD)?.strip_suffix(']')? {
        "" => Some(1),
        number => number.strip_prefix(' ')?.parse().ok(),
    }
}

impl Draft {
    /// Hides the keys of members from every name that this draft gives from now on.
    pub fn hide_keys(&mut self, members: impl IntoIterator<Item = NodeId>) {
        for member in members {
            Arc::make_mut(&mut self.hidden_keys).hide(&self.document, member);
        }
    }

    /// Returns true if and only if a key on the way to a value is hidden.
    pub fn hides_key_of(&self, node: NodeId) -> bool {
        let mut way = self.document.way_up(node);
        !self.hidden_keys.numbers.is_empty() && way.any(|at| self.hidden_keys.numbers.contains_key(&at))
    }

    /// Returns true if and only if a key inside a value is hidden.
    pub fn hides_key_in(&self, node: NodeId) -> bool {
        let inside = self.document.nodes_in(node);
        self.hidden_keys.numbers.range(inside).any(|(member, _)| *member != node)
    }

    /// Returns the RFC 6901 pointer of a value in the body as received, with words for hidden keys.
    pub fn pointer(&self, node: NodeId) -> String {
        pointer::write_pointer(&self.segments(node))
    }

    /// Returns the path of a value in the body as received, for people.
    pub fn display_path(&self, node: NodeId) -> String {
        pointer::write_display_path(&self.segments(node))
    }

    /// Returns the pointer of a value in the request as it stands now: deleted elements before it no longer count.
    pub fn pointer_now(&self, node: NodeId) -> String {
        pointer::write_pointer(&self.segments_now(node))
    }

    /// Returns the path of a value in the request as it stands now, for people.
    pub fn display_path_now(&self, node: NodeId) -> String {
        pointer::write_display_path(&self.segments_now(node))
    }

    /// Returns how a value hangs in its container; `None` for the root.
    pub fn segment(&self, node: NodeId) -> Option<Segment<'_>> {
        match self.hidden_keys.word(node) {
            Some(word) => Some(Segment::Key(Cow::Owned(word))),
            None => self.document.segment(node),
        }
    }

    /// Returns the value that a pointer of [`Draft::pointer`] names.
    ///
    /// # Errors
    /// See [`ResolveError`].
    pub fn resolve(&self, pointer: &str) -> Result<NodeId, ResolveError> {
        let member = |object, word: &str| self.hidden_keys.member(object, word);
        self.document.resolve_by(pointer, member)
    }

    pub(crate) fn segments(&self, node: NodeId) -> Vec<Segment<'_>> {
        let mut segments: Vec<_> = self.document.way_up(node).filter_map(|at| self.segment(at)).collect();
        segments.reverse();
        segments
    }

    fn segments_now(&self, node: NodeId) -> Vec<Segment<'_>> {
        let mut segments = self.segments(node);
        if self.deleted.is_empty() && self.inserted().next().is_none() {
            return segments;
        }
        let way = self.document.way_up(node).filter(|&at| self.document.segment(at).is_some());
        let way: Vec<_> = way.collect();
        for (segment, &at) in segments.iter_mut().rev().zip(&way) {
            if let Segment::Index(index) = segment {
                let parent = self.document.parent(at).unwrap_or(at);
                *index -= self.deleted.before(parent, at);
                let before = |inserted: &&Inserted| {
                    inserted.before <= at && self.document.parent(inserted.before) == Some(parent)
                };
                *index += self.inserted().filter(before).count();
            }
        }
        segments
    }
}

#[cfg(test)]
mod tests {
    use crate::{Document, Format, Limits, SectionId};

    use super::*;

    fn draft(body: &str) -> Draft {
        Draft::new(Arc::new(
            Document::parse(body.to_owned().into(), Format::OpenaiChat, &Limits::default()).unwrap(),
        ))
    }

    fn hide(draft: &mut Draft, pointers: &[&str]) -> Vec<NodeId> {
        let nodes: Vec<_> =
            pointers.iter().map(|pointer| draft.document().resolve(pointer).unwrap()).collect();
        draft.hide_keys(nodes.iter().copied());
        nodes
    }

    #[test]
    fn invariant_6_a_hidden_key_stands_in_no_name_and_its_word_leads_to_it() {
        let body = r#"{"messages": [{"role": "user", "content": "a"}],
            "secret-1": {"x": 1, "secret-2": [2]}, "[KEY 2]": 3, "secret-3": 4}"#;
        let mut draft = draft(body);
        let leaf = draft.document().resolve("/secret-1/secret-2/0").unwrap();
        assert_eq!(draft.pointer(leaf), "/secret-1/secret-2/0");
        let nodes = hide(&mut draft, &["/secret-1", "/secret-1/secret-2", "/secret-3"]);
        assert_eq!(draft.pointer(leaf), "/[KEY]/[KEY]/0");
        assert_eq!(draft.display_path_now(leaf), r#"["[KEY]"]["[KEY]"][0]"#);
        assert_eq!(draft.pointer(nodes[2]), "/[KEY 3]", "a member is called so already");
        for node in (0..draft.document().node_count()).map(NodeId::from_index) {
            assert!(!draft.pointer(node).contains("secret"), "{}", draft.pointer(node));
            assert!(!draft.display_path(node).contains("secret"));
            // A string that spells a document has the pointer of that document.
            let named = draft.resolve(&draft.pointer(node)).unwrap();
            assert_eq!(draft.pointer(named), draft.pointer(node));
        }
        assert_eq!(draft.resolve("/[KEY]/[KEY]/0"), Ok(leaf));
        assert_eq!(draft.resolve("/[KEY 2]"), draft.document().resolve("/[KEY 2]"));
        assert_eq!(draft.resolve("/[KEY 4]"), Err(ResolveError::NotFound));
        assert!(draft.hides_key_of(leaf) && !draft.hides_key_of(draft.document().root()));
        assert!(draft.hides_key_in(draft.document().root()) && draft.hides_key_in(nodes[0]));
        assert!(!draft.hides_key_in(nodes[1]) && !draft.hides_key_in(leaf));
        for id in (0..draft.document().sections().len()).map(SectionId::from_index) {
            assert!(!draft.section_key(id).contains("secret") && !draft.section_label(id).contains("secret"));
        }
    }

    #[test]
    fn a_key_that_was_hidden_stays_hidden_when_a_draft_returns_to_an_earlier_state() {
        let mut draft = draft(r#"{"secret": 1}"#);
        let before = draft.clone();
        let nodes = hide(&mut draft, &["/secret"]);
        draft.rollback(before);
        assert_eq!(draft.pointer(nodes[0]), "/[KEY]");
    }
}
