//! Phase 2 and the rules' own part of phase 4: pin, rewrite, delete. What they put in is next door.

use std::collections::BTreeSet;
use std::ops::Range;

use leafgate_tree::{Checkpoint, Document, EditError, NodeId, NodeType, SectionId, ValueType};
use regex::Regex;

use super::{Run, author};
use crate::index::RuleIndex;
use crate::rule::{Action, Delete, Edit, Phase, Pin, Rewrite, Rule};

/// A rule's edits so far.
#[derive(Default)]
pub(super) struct Edits {
    /// How many.
    pub(super) made: usize,
    /// The leaves that they wrote to.
    pub(super) written: Vec<NodeId>,
}

impl<'p> Run<'p> {
    pub(super) fn pin(&mut self) {
        self.each_rule(Phase::Pin, |run, index, rule| match &rule.action {
            Action::Pin(pin) => {
                run.edit_selected(index, |run, selected| run.pin_leaves(index, rule, pin, selected));
            }
            Action::Classify(_) | Action::Redact(_) | Action::Edit(_) | Action::Decide(_) => {}
        });
    }

    pub(super) fn rewrite(&mut self) {
        self.each_rule(Phase::Rewrite, |run, index, rule| match &rule.action {
            Action::Edit(edit) => run.edit(index, rule, edit),
            Action::Classify(_) | Action::Redact(_) | Action::Pin(_) | Action::Decide(_) => {}
        });
    }

    fn edit(&mut self, index: RuleIndex, rule: &'p Rule, edit: &'p Edit) {
        match edit {
            Edit::Rewrite(rewrite) => {
                self.edit_selected(index, |run, selected| run.rewrite_leaves(index, rule, rewrite, selected));
            }
            Edit::Delete(delete) => {
                self.edit_selected(index, |run, selected| run.delete_sections(index, rule, delete, selected));
            }
            Edit::Insert(insert) => self.insert(index, rule, insert),
            Edit::Transform(transform) => self.transform(index, transform),
            Edit::FilterTools(filter) => self.filter_tools(index, rule, filter),
            Edit::StripTools => self.strip_tools(index, rule),
            Edit::NormaliseTools => self.normalise_tools(index, rule),
            Edit::Options(options) => self.put_options(index, rule, options),
            Edit::Model(model) => self.set_model(index, rule, model),
        }
    }

    /// Runs one rule over the leaves that it selects. Its edits stay together or not at all, and in
    /// monitor mode not at all; what it wrote is redacted at once.
    fn edit_selected(
        &mut self,
        index: RuleIndex,
        edit: impl FnOnce(&mut Self, &[NodeId]) -> Result<Edits, EditError>,
    ) {
        let selected = match self.selected(index) {
            Ok(selected) => selected,
            Err(error) => return self.rule_failed(index, error.to_string()),
        };
        self.report.rules[index].matched += selected.len();
        let selected = self.matchable(index, selected);
        if selected.is_empty() {
            return;
        }
        let (before, made) = (self.draft.checkpoint(), self.draft.edits().count());
        match edit(self, &selected) {
            Ok(edits) => {
                self.report.rules[index].edits += edits.made;
                if self.policy.rules[index].monitors() {
                    self.would_have_edited(index, made);
                    self.take_back(before);
                } else if !edits.written.is_empty() {
                    self.redact_again(&edits.written);
                }
            }
            Err(error) => {
                self.take_back(before);
                self.rule_failed(index, format!("its edits were taken back: {error}"));
            }
        }
    }

    fn pin_leaves(
        &mut self,
        index: RuleIndex,
        rule: &Rule,
        pin: &Pin,
        selected: &[NodeId],
    ) -> Result<Edits, EditError> {
        let mut edits = Edits::default();
        for &node in selected {
            match pin {
                Pin::Received => {}
                Pin::To(to) => self.write(index, rule, node, Change::Set(to), &mut edits)?,
                Pin::FirstSeen(on_drift) => {
                    if let Some(first) = self.drifted(index, node, *on_drift) {
                        self.write(index, rule, node, Change::Set(&first), &mut edits)?;
                    }
                }
                Pin::Protect { edit, delete } => {
                    self.protect(index, rule, node, *edit, *delete);
                    continue;
                }
            }
            self.draft.pin(node, &author(rule));
        }
        Ok(edits)
    }

    /// Keeps a leaf from whoever would change it, or its message from whoever would leave it out.
    fn protect(&mut self, index: RuleIndex, rule: &Rule, node: NodeId, edit: bool, delete: bool) {
        if rule.monitors() {
            return self.would_have(index, Some(node), || "protect it".to_owned());
        }
        if edit {
            self.draft.keep_text(node, &author(rule));
        }
        if let Some(section) = deletable_around(self.document, node).filter(|_| delete) {
            self.draft.keep_section(section, &author(rule));
        }
    }

    fn rewrite_leaves(
        &mut self,
        index: RuleIndex,
        rule: &Rule,
        rewrite: &Rewrite,
        selected: &[NodeId],
    ) -> Result<Edits, EditError> {
        let mut edits = Edits::default();
        for &node in selected {
            let change = match rewrite {
                Rewrite::Set(text) => Some(Change::Set(text)),
                Rewrite::Shorten(shorten) if self.is_text(node) => {
                    // A token is left out whole, or not at all.
                    let redacted: Vec<_> =
                        self.draft.redacted(node).into_iter().map(|(range, _)| range).collect();
                    let cut = shorten.cut(self.draft.text(node).expose(), &redacted);
                    cut.map(|part| Change::Splice(vec![part]))
                }
                part if self.is_text(node) => part_of_text(part, self.draft.text(node).expose()),
                // A number has no beginning to write before.
                Rewrite::Prepend(_) | Rewrite::Append(_) | Rewrite::Replace { .. } | Rewrite::Shorten(_) => {
                    None
                }
            };
            if let Some(change) = change {
                self.write(index, rule, node, change, &mut edits)?;
            }
        }
        Ok(edits)
    }

    fn is_text(&self, node: NodeId) -> bool {
        self.document.leaf(node).is_some_and(|leaf| leaf.value_type() == ValueType::Text)
    }

    /// Makes one edit. A leaf that the rule may not edit is skipped; a text that does not fit the
    /// leaf fails the rule.
    fn write(
        &mut self,
        index: RuleIndex,
        rule: &Rule,
        node: NodeId,
        change: Change<'_>,
        edits: &mut Edits,
    ) -> Result<(), EditError> {
        let author = author(rule);
        if let Err(error) = self.draft.may_edit(node, &author) {
            return self.skip(index, Some(node), error);
        }
        let outcome = match change {
            Change::Set(text) => self.draft.set(node, text, &author),
            Change::Splice(parts) => self.draft.splice(node, parts, &author),
        };
        match outcome {
            Ok(None) => Ok(()),
            Ok(Some(_)) => {
                edits.made += 1;
                edits.written.push(node);
                self.was_written(node);
                Ok(())
            }
            Err(error) => self.skip(index, Some(node), error),
        }
    }

    /// Takes back what was edited since.
    pub(super) fn take_back(&mut self, to: Checkpoint) {
        self.draft.rollback(to);
        self.were_taken_back();
    }

    /// Deletes the message, or the tool definition, around each selected leaf; what belongs to it
    /// goes with it.
    fn delete_sections(
        &mut self,
        index: RuleIndex,
        rule: &Rule,
        delete: &Delete,
        selected: &[NodeId],
    ) -> Result<Edits, EditError> {
        let spares_history = !delete.history && rule.selector.names_a_tool_alone();
        let mut edits = Edits::default();
        let mut seen = BTreeSet::new();
        for &node in selected {
            let Some(section) = deletable_around(self.document, node) else {
                self.skip(index, Some(node), EditError::NotDeletable)?;
                continue;
            };
            if spares_history && self.document.section(section).node_type == NodeType::Message {
                self.leave_undone(index, Some(node), "history");
                continue;
            }
            if !seen.insert(section.index()) || self.draft.is_deleted(node) {
                continue;
            }
            match self.draft.delete(section, &author(rule)) {
                Ok(_) => edits.made += 1,
                Err(error) => self.skip(index, Some(node), error)?,
            }
        }
        Ok(edits)
    }
}

/// One change of one leaf.
enum Change<'r> {
    Set(&'r str),
    Splice(Vec<(Range<usize>, String)>),
}

/// A change of a part of a text; spliced, so that the tokens beside it stay what they are.
fn part_of_text<'r>(rewrite: &'r Rewrite, text: &str) -> Option<Change<'r>> {
    let parts = match rewrite {
        Rewrite::Set(new) => return Some(Change::Set(new)),
        Rewrite::Prepend(new) => vec![(0..0, new.clone())],
        Rewrite::Append(new) => vec![(text.len()..text.len(), new.clone())],
        Rewrite::Replace { pattern, with } => replacements(pattern, with, text),
        Rewrite::Shorten(_) => Vec::new(),
    };
    (!parts.is_empty()).then_some(Change::Splice(parts))
}

fn replacements(pattern: &Regex, with: &str, text: &str) -> Vec<(Range<usize>, String)> {
    let replacement = |captures: regex::Captures<'_>| {
        let mut new = String::new();
        captures.expand(with, &mut new);
        captures.get(0).map(|whole| (whole.range(), new))
    };
    pattern.captures_iter(text).filter_map(replacement).collect()
}

/// The innermost section around a leaf that can be deleted as a whole: its message, or its tool
/// definition.
pub(super) fn deletable_around(document: &Document, node: NodeId) -> Option<SectionId> {
    std::iter::successors(document.section_of(node), |&section| document.section(section).parent).find(
        |&section| {
            let section = document.section(section);
            match section.node_type {
                NodeType::Message => true,
                NodeType::RequestOption => section.deletable,
                NodeType::ContentPart | NodeType::ToolCall => false,
            }
        },
    )
}
