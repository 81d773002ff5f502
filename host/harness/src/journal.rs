//! Edits, and the ways back: whatever is done in whatever order, undo and redo are exact and redactions stay.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use leafgate_tree::{Author, Draft, Format, NodeId, Redaction, Role, SectionId, Version};

use crate::bodies::{entries, parse};
use crate::input::Input;

/// Most steps of one run; longer inputs only repeat themselves.
const STEPS: usize = 40;

/// What a redaction writes. No other text of a run holds it.
const TOKEN: &str = "[REDACTED]";

/// Random steps over a request, in the format that its shape says.
pub fn journal(input: &[u8]) {
    let mut input = Input::new(input);
    let format = Format::ALL[input.choose(Format::ALL.len())];
    let Some(document) = parse(input.body, format) else { return };
    let values =
        (0..document.node_count()).map(NodeId::from_index).filter(|&node| document.settable(node).is_some());
    let mut run = Run {
        values: values.collect(),
        draft: Draft::new(Arc::new(document)),
        last: 0,
        redacted: BTreeSet::new(),
    };
    for _ in 0..STEPS {
        run.step(&mut input);
        if !input.more() {
            break;
        }
    }
    run.conclude();
}

struct Run {
    draft: Draft,
    values: Vec<NodeId>,
    last: Version,
    /// What a redaction has touched: its text is not what it was, in any state.
    redacted: BTreeSet<NodeId>,
}

impl Run {
    fn step(&mut self, input: &mut Input<'_>) {
        let before = self.draft.render();
        let changed = match input.choose(11) {
            0..=2 => self.set(input),
            3 => self.redact(input),
            4 => self.section(input, Draft::delete),
            5 => self.section(input, Draft::restore),
            6 => self.undo(&before),
            7 => self.draft.redo(),
            8 => self.reset(&before),
            9 => self.insert(input),
            _ => self.and_back(input, &before),
        };
        match changed {
            Some(version) => {
                assert!(version > self.last, "versions repeat");
                self.last = version;
            }
            None if self.redacted.is_empty() => assert_eq!(self.draft.render(), before, "nothing was done"),
            None => {}
        }
        self.check();
    }

    fn value(&self, input: &mut Input<'_>) -> Option<NodeId> {
        self.values.get(input.choose(self.values.len())).copied()
    }

    fn set(&mut self, input: &mut Input<'_>) -> Option<Version> {
        let node = self.value(input)?;
        let author = if input.choose(2) == 0 { Author::Person } else { Author::rule("rule") };
        let new = input.text();
        let was = self.draft.text(node).into_cow().into_owned();
        let version = self.draft.set(node, &new, &author).ok()?;
        assert_eq!(self.draft.text(node).expose(), new);
        assert_eq!(version.is_none(), was == new);
        version
    }

    fn redact(&mut self, input: &mut Input<'_>) -> Option<Version> {
        let node = self.value(input)?;
        let text = self.draft.text(node).into_cow().into_owned();
        let at = input.range(&text);
        let expected = format!("{}{TOKEN}{}", &text[..at.start], &text[at.end..]);
        let redaction = Redaction::new(at, "LABEL", TOKEN);
        let before = self.draft.render();
        match self.draft.redact(node, &[redaction], &Author::rule("rule")) {
            Ok(()) => {
                assert_eq!(self.draft.text(node).expose(), expected);
                self.redacted.insert(node);
            }
            Err(_) => assert_eq!(self.draft.render(), before, "a refused redaction"),
        }
        None
    }

    fn section(&mut self, input: &mut Input<'_>, act: Act) -> Option<Version> {
        let sections = self.draft.document().sections().len();
        let id = SectionId::from_index(input.choose(sections));
        if sections == 0 {
            return None;
        }
        let (node, was) = (self.draft.document().section(id).node, self.draft.render());
        let was_deleted = self.draft.is_deleted(node);
        let version = act(&mut self.draft, id, &Author::Person);
        if version.is_ok() {
            let mut back = self.draft.clone();
            back.undo();
            assert_eq!(back.render(), was, "a deletion or restoring, undone");
            assert_eq!(back.is_deleted(node), was_deleted);
        }
        let _ = self.draft.validate();
        version.ok()
    }

    fn insert(&mut self, input: &mut Input<'_>) -> Option<Version> {
        let sections = self.draft.document().sections().len();
        let before = SectionId::from_index(input.choose(sections));
        let (role, text) = (Role::ALL[input.choose(Role::ALL.len())], input.text());
        if sections == 0 {
            return None;
        }
        let was = self.draft.render();
        let version = self.draft.insert(before, role, &text, &Author::Person).ok()?;
        let mut back = self.draft.clone();
        back.undo();
        assert_eq!(back.render(), was, "an insertion, undone");
        Some(version)
    }

    fn undo(&mut self, before: &Bytes) -> Option<Version> {
        let version = self.draft.undo()?;
        let mut again = self.draft.clone();
        again.redo();
        assert_eq!(again.render(), before, "undone and made again");
        Some(version)
    }

    /// Reset gives what undoing everything gives, and is undone itself.
    fn reset(&mut self, before: &Bytes) -> Option<Version> {
        let undone = self.all_undone().render();
        let version = self.draft.reset();
        assert_eq!(self.draft.render(), undone, "reset");
        let mut back = self.draft.clone();
        if version.is_some() {
            back.undo();
        }
        assert_eq!(back.render(), before, "reset, undone");
        version
    }

    /// A change that is given up leaves nothing behind but the numbers that it took.
    fn and_back(&mut self, input: &mut Input<'_>, before: &Bytes) -> Option<Version> {
        let (checkpoint, redacted) = (self.draft.clone(), self.redacted.clone());
        self.set(input);
        self.redact(input);
        self.draft.rollback(checkpoint);
        self.redacted = redacted;
        assert_eq!(self.draft.render(), before, "rolled back");
        None
    }

    /// What holds after every step.
    fn check(&self) {
        let rendered = self.draft.render();
        // Panics where it is no JSON.
        entries(&rendered);
        let is_source = rendered.as_ptr() == self.draft.document().source().as_ptr();
        assert_eq!(self.draft.is_dirty(), !is_source, "what is not edited is the buffer itself");
        assert!(self.draft.changed_leaves().all(|node| self.draft.document().settable(node).is_some()));
        assert!(!format!("{:?}", self.draft).contains(TOKEN));
        // Reading it all once more takes as long as the rest of a step.
        if self.last % 8 == 1 {
            self.shown_is_sent(&rendered);
        }
    }

    /// What a person is shown of a leaf is what a reading of the bytes that leave finds there.
    fn shown_is_sent(&self, rendered: &[u8]) {
        let sent = parse(rendered, self.draft.document().format()).expect("a body is JSON");
        // Pointers are long and resolved from the root: a sample of many.
        let step = (self.draft.document().node_count() / 50).max(1);
        let leaves = self.draft.leaves_now().filter(|&node| !self.draft.is_deleted(node));
        for node in leaves.step_by(step) {
            let pointer = self.draft.pointer_now(node);
            // A key that stands twice names no single value.
            let Ok(found) = sent.resolve(&pointer) else { continue };
            let text = sent.settable(found).map(|value| value.text().into_cow().into_owned());
            let shown = self.draft.text(node).into_cow().into_owned();
            // Halves of a surrogate pair that meet are one character.
            assert!(
                text.as_ref() == Some(&shown) || shown.contains(char::REPLACEMENT_CHARACTER),
                "{pointer}"
            );
        }
    }

    fn conclude(self) {
        let end = self.draft.render();
        self.shown_is_sent(&end);
        let mut draft = self.all_undone();
        for &node in &self.values {
            let (now, received) =
                (draft.text(node), self.draft.document().settable(node).map(|leaf| leaf.text()));
            // What is redacted in a document's leaf is redacted in the string that spells it.
            let subtree = self.draft.document().subtree(node);
            let redacted = self.redacted.iter().any(|touched| subtree.contains(&touched.index()));
            assert!(redacted || Some(now) == received, "a text that nobody redacted");
        }
        if self.redacted.is_empty() {
            assert_eq!(&draft.render(), draft.document().source(), "undo is exact");
        }
        while draft.can_redo() {
            draft.redo();
        }
        // What had been undone before is made again as well.
        if !self.draft.can_redo() {
            assert_eq!(draft.render(), end, "redo is exact");
        }
    }

    fn all_undone(&self) -> Draft {
        let mut draft = self.draft.clone();
        while draft.undo().is_some() {}
        draft
    }
}

type Act = fn(&mut Draft, SectionId, &Author) -> Result<Version, leafgate_tree::EditError>;
