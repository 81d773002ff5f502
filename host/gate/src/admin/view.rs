//! A turn as a person sees it.
//!
//! All of it is computed from the draft, of which the bytes that would leave are computed too. Texts have passed redaction; what stood
//! there before is masked, and so is what holds the turn because it cannot be redacted. Paths are those of the present order, pointers
//! those of the body as received, which edits go by.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use leafgate_admin::{
    CapturePreview, Diff, EditView, InsertedDiff, LeafDiff, LeafView, NoteView, OptionDiff, Payload, Pins,
    RedactedSpan, SectionView, ShownText, ToolInvocation, TurnView,
};
use leafgate_desk::DeskError;
use leafgate_tree::{
    Access, Author, Draft, Inserted, Leaf, LeafKind, LeafText, MarkedSpan, NodeId, NodeType, PutOption,
    ReleaseTerms, SectionId, SectionKind, ValueSource, ValueType, display_mask,
};

use crate::pending::Snapshot;

/// A turn in full.
pub(super) fn turn(snapshot: &Snapshot) -> TurnView {
    of_shown(snapshot, &snapshot.shown())
}

/// A turn in full, of whose request people see `draft`.
pub(super) fn of_shown(snapshot: &Snapshot, draft: &Draft) -> TurnView {
    let stands = &*snapshot.draft;
    let pinned = pinned(draft, &snapshot.pins);
    TurnView {
        summary: snapshot.summary.clone(),
        sections: sections(draft, &snapshot.pins),
        edits: history(draft),
        digest: snapshot.digest.to_string(),
        version: snapshot.version,
        can_undo: stands.edits().next().is_some(),
        can_redo: stands.can_redo(),
        is_dirty: stands.is_dirty(),
        invalid: stands.validate().err().map(|invalid| invalid.to_string()),
        notes: snapshot.guard.notes.iter().map(note).collect(),
        pinned: pinned.into_iter().map(|section| draft.section_key(section)).collect(),
        tokens: None,
    }
}

fn note(note: &leafgate_policy::Note) -> NoteView {
    NoteView {
        rule: note.rule.to_string(),
        plugin: note.plugin.to_string(),
        about: note.about.to_owned(),
        pointer: note.pointer.clone(),
        text: ShownText::new(note.text.clone()),
    }
}

/// The sections that people see first: those that a person pinned, in that order, then those of which a rule pinned something.
fn pinned(draft: &Draft, pins: &[SectionId]) -> Vec<SectionId> {
    let document = draft.document();
    let by_person: BTreeSet<_> = pins.iter().collect();
    let outermost = document.sections().iter().enumerate().filter(|(_, section)| section.parent.is_none());
    let by_rule = outermost
        .filter(|(_, section)| draft.pin_in(section.node).is_some())
        .map(|(place, _)| SectionId::from_index(place))
        .filter(|section| !by_person.contains(section));
    pins.iter().copied().chain(by_rule).collect()
}

/// The very bytes that a resume sends, with masks for values that hold the turn.
pub(super) fn payload(snapshot: &Snapshot) -> Payload {
    Payload {
        body: ShownText::new(String::from_utf8_lossy(&snapshot.shown_body())),
        digest: snapshot.digest.to_string(),
    }
}

/// Returns what came against what would leave.
pub fn request_diff(draft: &Draft) -> Diff {
    let changes = draft.changes(display_mask);
    let leaves = changes.leaves.into_iter().map(|leaf| LeafDiff {
        path: draft.display_path_now(leaf.node),
        pointer: draft.pointer(leaf.node),
        authors: leaf.authors.iter().map(ToString::to_string).collect(),
        before: ShownText::new(leaf.before.into_cow()),
        after: ShownText::new(leaf.after.into_cow()),
    });
    let inserted = changes.inserted.into_iter().map(|inserted| InsertedDiff {
        before: draft.display_path_now(inserted.before),
        role: inserted.role,
        author: inserted.author.to_string(),
        text: ShownText::new(inserted.text().into_cow()),
    });
    let options = changes.options.into_iter().map(|option| OptionDiff {
        key: option.key().to_owned(),
        author: option.author.to_string(),
        json: ShownText::new(option.json().into_cow()),
    });
    // Nothing is left of these in the present order.
    let deleted = changes.deleted.iter().map(|section| draft.display_path(section.node));
    Diff {
        leaves: leaves.collect(),
        deleted: deleted.collect(),
        inserted: inserted.collect(),
        options: options.collect(),
    }
}

/// The first sections of a turn, each with those inside it. Options of the request are none.
pub(super) fn preview(draft: &Draft, first: usize) -> CapturePreview {
    let is_said = |section: &SectionView| section.node_type != NodeType::RequestOption;
    let sections: Vec<_> = sections(draft, &[]).into_iter().filter(is_said).collect();
    let tops = sections.iter().enumerate().filter(|(_, section)| section.parent.is_none());
    let tops: Vec<usize> = tops.map(|(place, _)| place).collect();
    let end = tops.get(first).copied().unwrap_or(sections.len());
    let more = tops.len().saturating_sub(first);
    CapturePreview { sections: sections.into_iter().take(end).collect(), more }
}

/// The sections of a request; what a person pinned is named by `pins`.
pub(super) fn sections(draft: &Draft, pins: &[SectionId]) -> Vec<SectionView> {
    let document = draft.document();
    let pins: BTreeSet<_> = pins.iter().collect();
    let calls = TurnCalls::new(draft);
    let mut leaves = leaves(draft);
    let mut inserted: Vec<_> = draft.inserted().enumerate().collect();
    let mut views = Vec::with_capacity(document.sections().len() + inserted.len());
    for (place, section) in document.sections().iter().enumerate() {
        let id = SectionId::from_index(place);
        if section.node_type == NodeType::Message {
            let here = inserted.extract_if(.., |(_, inserted)| inserted.before == section.node);
            views.extend(here.map(|(at, inserted)| inserted_view(draft, at, inserted)));
        }
        // What a rule pinned stays pinned wherever a person moves it.
        let by_rule = draft.pin_in(section.node);
        let pinned_by = by_rule.or(pins.contains(&id).then_some(&Author::Person)).map(ToString::to_string);
        views.push(SectionView {
            key: draft.section_key(id),
            label: draft.section_label(id),
            kind: section.kind,
            node_type: section.node_type,
            role: section.role,
            parent: section.parent.map(|parent| draft.section_key(parent)),
            path: path_of(draft, section.node),
            pointer: draft.pointer(section.node),
            source_message_index: section.message,
            content_index: section.content_index,
            content_kind: section.content_kind,
            tool_call_index: section.tool_call_index,
            tool_invocation: calls.invocation(id),
            editable: section.editable && draft.kept_by(section.node).is_none(),
            deletable: section.deletable && !draft.is_section_kept(id),
            deleted: draft.is_deleted(section.node),
            pinned: pinned_by.is_some(),
            pinned_by,
            leaves: leaves.remove(&id).unwrap_or_default(),
            ..SectionView::default()
        });
    }
    views.extend(draft.options().enumerate().map(|(at, option)| option_view(at, option)));
    views
}

/// Returns the display path of a section in the present order. One that is left out has no place there, and the next one has
/// its number: it is named by where it stood.
fn path_of(draft: &Draft, node: NodeId) -> String {
    if !draft.is_deleted(node) {
        return draft.display_path_now(node);
    }
    let stood = draft.display_path(node);
    match stood.strip_prefix("messages[") {
        Some(place) => format!("originalMessages[{place}"),
        None => format!("{stood} as received"),
    }
}

/// A text that was put in. Undo takes it out.
fn put_in_leaf(path: &str, kind: LeafKind, text: LeafText<'_>) -> LeafView {
    LeafView {
        pointer: String::new(),
        path: path.to_owned(),
        kind,
        value: ValueType::Text,
        access: Access::Frozen,
        text: ShownText::new(text.into_cow()),
        redacted: Vec::new(),
        released: Vec::new(),
        changed: true,
        pinned: false,
    }
}

/// A member that was put into the body.
fn option_view(at: usize, option: &PutOption) -> SectionView {
    let leaf = put_in_leaf(option.key(), LeafKind::RequestOption, option.json());
    put_in_view(format!("option-{at}"), &option.author, option.key().to_owned(), leaf)
}

/// A message that was put in.
fn inserted_view(draft: &Draft, at: usize, inserted: &Inserted) -> SectionView {
    let redacted = inserted.redacted().into_iter();
    let redacted = redacted.map(|(at, label)| redacted_span(MarkedSpan { at, label, redaction: None }));
    let key = format!("{}{at}", SectionView::INSERTED);
    // What a rule put in is the rule's.
    let editable = inserted.author.is_person();
    let leaf = LeafView {
        pointer: if editable { key.clone() } else { String::new() },
        access: if editable { Access::Open } else { Access::Frozen },
        redacted: redacted.collect(),
        ..put_in_leaf("content", LeafKind::Text, inserted.text())
    };
    let path = format!("before {}", draft.display_path_now(inserted.before));
    SectionView {
        kind: SectionKind::Context,
        node_type: NodeType::Message,
        role: inserted.role,
        editable,
        ..put_in_view(key, &inserted.author, path, leaf)
    }
}

/// An option that was put in: it has no place in the received body.
fn put_in_view(key: String, author: &Author, path: String, leaf: LeafView) -> SectionView {
    SectionView {
        key,
        label: format!("Put in by {author}"),
        kind: SectionKind::RequestOption,
        path,
        leaves: vec![leaf],
        ..SectionView::default()
    }
}

/// The calls of tools in a request, as they would leave.
struct TurnCalls<'d> {
    draft: &'d Draft,
    arguments: BTreeMap<SectionId, NodeId>,
    leaving: ValueSource<'d>,
}

impl<'d> TurnCalls<'d> {
    fn new(draft: &'d Draft) -> Self {
        TurnCalls { draft, arguments: draft.document().tool_arguments(), leaving: draft.as_leaving() }
    }

    /// The call that a section is, or that it is the result of.
    fn invocation(&self, id: SectionId) -> Option<ToolInvocation> {
        let section = self.draft.document().section(id);
        if !matches!(section.kind, SectionKind::ToolCall | SectionKind::ToolResult) {
            return None;
        }
        // Text for people that spells a key which holds a finding: the leaves below name it otherwise.
        let spells_none = |node: &&NodeId| !self.draft.hides_key_in(**node);
        let arguments = self.arguments.get(&id).filter(spells_none).map(|&node| {
            match self.draft.document().settable(node) {
                Some(_) => self.draft.text(node).into_cow().into_owned(),
                None => self.leaving.json(node),
            }
        });
        Some(ToolInvocation {
            id: section.call_id.as_deref().map(str::to_owned),
            name: section.tool.as_deref().map(str::to_owned),
            arguments: arguments.map(ShownText::new),
        })
    }
}

/// The leaves by the innermost section around them. A string that was set as a whole is one leaf, and nothing that it spelled before
/// is left of it.
fn leaves(draft: &Draft) -> BTreeMap<SectionId, Vec<LeafView>> {
    let document = draft.document();
    let changed: BTreeSet<_> = draft.changes(display_mask).leaves.iter().map(|leaf| leaf.node).collect();
    let mut leaves: BTreeMap<SectionId, Vec<LeafView>> = BTreeMap::new();
    for leaf in draft.leaves_now().filter_map(|node| document.settable(node)) {
        let Some(section) = leaf.section() else { continue };
        let view = leaf_view(draft, &leaf, document.section(section).node, changed.contains(&leaf.id()));
        leaves.entry(section).or_default().push(view);
    }
    leaves
}

fn leaf_view(draft: &Draft, leaf: &Leaf<'_>, section: NodeId, changed: bool) -> LeafView {
    LeafView {
        pointer: draft.pointer(leaf.id()),
        path: relative_path(draft, section, leaf.id()),
        kind: leaf.kind(),
        value: leaf.value_type(),
        access: leaf.access(),
        text: ShownText::new(draft.text(leaf.id()).into_cow()),
        redacted: draft.redactions_in(leaf.id()).into_iter().map(redacted_span).collect(),
        released: draft.released(leaf.id()).into_iter().map(redacted_span).collect(),
        changed,
        pinned: draft.is_pinned(leaf.id()),
    }
}

/// A stretch that redaction wrote or a person released, and on whose terms.
fn redacted_span(span: MarkedSpan<'_>) -> RedactedSpan {
    let made = span.redaction;
    let kept_by = made.and_then(|made| match &made.terms {
        ReleaseTerms::Kept { by: Some(rule) } => Some(Author::rule(rule.clone()).to_string()),
        ReleaseTerms::Kept { by: None } => Some(made.author.to_string()),
        ReleaseTerms::Releasable(_) => None,
    });
    RedactedSpan {
        start: span.at.start,
        end: span.at.end,
        label: span.label.to_string(),
        redaction: made.map(|made| made.number),
        author: made.map(|made| made.author.to_string()),
        releasable: made.is_some_and(|made| made.is_releasable()),
        kept_by,
    }
}

/// The display path of a value from the section around it; empty for the section's own value.
fn relative_path(draft: &Draft, section: NodeId, node: NodeId) -> String {
    let (around, path) = (draft.display_path(section), draft.display_path(node));
    let relative = path.strip_prefix(&around).unwrap_or(&path);
    relative.strip_prefix('.').unwrap_or(relative).to_owned()
}

/// What was done. Redactions come first and have no version: no undo reaches them, whenever they were made.
fn history(draft: &Draft) -> Vec<EditView> {
    let view = |version, author: &Author, kind: &str, node, label: Option<String>, stands| EditView {
        version,
        author: author.to_string(),
        kind: kind.to_owned(),
        path: draft.display_path_now(node),
        pointer: draft.pointer(node),
        label,
        released_from: None,
        stands,
    };
    let redactions = draft
        .standing_redactions()
        .into_iter()
        .map(|made| view(0, &made.author, "redact", made.node, Some(made.label.to_string()), true));
    let standing: BTreeSet<_> = draft.standing_edits().into_iter().map(|edit| edit.version).collect();
    let edits = draft.edits().map(|edit| {
        let stands = standing.contains(&edit.version);
        let released = draft.released_by(edit).next();
        EditView {
            label: released.map(|made| made.label.to_string()),
            released_from: released.map(|made| made.author.to_string()),
            ..view(edit.version, &edit.author, edit.kind.name(), edit.target, None, stands)
        }
    });
    redactions.chain(edits).collect()
}

/// Which sections a person wants to see first.
pub(super) fn arrangement(pins: &Pins, draft: &Draft) -> Result<Vec<SectionId>, DeskError> {
    let keys = (0..draft.document().sections().len()).map(SectionId::from_index);
    let keys: HashMap<_, _> = keys.map(|id| (draft.section_key(id), id)).collect();
    pins.sections.iter().map(|key| keys.get(key).copied().ok_or(DeskError::NoSuchPlace)).collect()
}

#[cfg(test)]
#[path = "view_tests.rs"]
mod tests;
