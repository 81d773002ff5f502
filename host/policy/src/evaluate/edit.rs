//! Phase 2 and the rules' own part of phase 4: pin, rewrite, delete. What they put in is next door.

use std::collections::BTreeSet;
use std::ops::Range;

use leafgate_tree::{
    Author, Document, Draft, EditError, EditKind, NodeId, NodeType, Role, SectionId, ValueType,
};
use regex::Regex;
use serde_json::Value;

use super::{Run, author};
use crate::condition::Condition;
use crate::index::RuleIndex;
use crate::rule::{Action, Edit, Phase, Pin, Rewrite, Rule};

/// A change of a request. Whatever rules and plugins do comes down to these, to pins, and to holds.
pub(super) enum Change<'c> {
    /// Gives a leaf another text.
    Set(NodeId, &'c str),
    /// Gives parts of a text others; spliced, so that the tokens beside them stay what they are.
    Splice(NodeId, Vec<(Range<usize>, String)>),
    /// Leaves a section out, with what belongs to it.
    Delete(SectionId),
    /// Puts a message before another one, unless it stands there.
    Insert(SectionId, Role, &'c str),
    /// Puts a member into the body.
    Option(&'c str, &'c Value),
}

impl<'p> Run<'p> {
    pub(super) fn pin(&mut self) {
        self.each_rule(Phase::Pin, |run, index, rule| {
            if let Action::Pin(pin) = &rule.action {
                run.edit_selected(index, rule, |run, author, node| {
                    run.pin_leaf(index, rule, pin, author, node)
                });
                if let Pin::To { text, absent } = pin
                    && let Some(keys) = absent.get(&run.document.format())
                {
                    run.put_absent(index, rule, text, keys);
                }
            }
        });
    }

    /// Puts the text of a pin in where its place is not there.
    fn put_absent(&mut self, index: RuleIndex, rule: &Rule, to: &str, keys: &[String]) {
        let mut at = Some(self.document.root());
        keys.iter().for_each(|key| at = at.and_then(|object| self.document.member(object, key)));
        let applies = |when: &Condition| when.is_of_request() && when.of_request(&self.request) == Ok(true);
        if at.is_some()
            || self.active[index.get()].is_none()
            || !rule.when.as_ref().is_none_or(applies)
            || self.document.is_raw()
        {
            return;
        }
        let spelled =
            serde_json::from_str(to).ok().filter(|value: &Value| value.is_number() || value.is_boolean());
        let value = spelled.unwrap_or_else(|| to.into());
        self.report.rules[index].matched += 1;
        self.make(index, |run| {
            run.change(index, &author(rule), None, Change::Option(&keys.join("."), &value))
        });
    }

    pub(super) fn rewrite(&mut self) {
        self.each_rule(Phase::Rewrite, |run, index, rule| {
            if let Action::Edit(edit) = &rule.action {
                run.edit(index, rule, edit);
            }
        });
    }

    fn edit(&mut self, index: RuleIndex, rule: &'p Rule, edit: &'p Edit) {
        match edit {
            Edit::Rewrite(rewrite) => self.edit_selected(index, rule, |run, author, node| {
                let change = run.rewritten(node, rewrite);
                change.map_or(Ok(0), |change| run.change(index, author, Some(node), change))
            }),
            Edit::Delete { history } => {
                let spares_history = !history && rule.selector.names_a_tool_alone();
                let mut seen = BTreeSet::new();
                self.edit_selected(index, rule, |run, author, node| {
                    run.delete_around(index, author, node, spares_history, &mut seen)
                });
            }
            Edit::Insert(text) => self.insert(index, rule, text),
            Edit::Transform(transform) => self.transform(index, transform),
            Edit::FilterTools(filter) => self.filter_tools(index, rule, filter),
            Edit::StripTools => self.strip_tools(index, rule),
            Edit::NormaliseTools => self.normalise_tools(index, rule),
            Edit::Options(options) => self.put_options(index, rule, options),
            Edit::Model(model) => self.set_model(index, rule, model),
        }
    }

    /// Makes the edits of a rule leaf by leaf, over those that it selects. `edit` returns how many it made.
    fn edit_selected(
        &mut self,
        index: RuleIndex,
        rule: &Rule,
        mut edit: impl FnMut(&mut Self, &Author, NodeId) -> Result<usize, EditError>,
    ) {
        let selected = match self.selected(index) {
            Ok(selected) => selected,
            Err(error) => return self.rule_failed(index, error.to_string()),
        };
        self.report.rules[index].matched += selected.len();
        let selected = self.matchable(index, selected);
        if !selected.is_empty() {
            let author = author(rule);
            self.make(index, |run| selected.iter().map(|&node| edit(run, &author, node)).sum());
        }
    }

    /// Makes the edits of a rule once for the request, where it applies to any leaf of it.
    pub(super) fn edit_request(
        &mut self,
        index: RuleIndex,
        edit: impl FnOnce(&mut Self) -> Result<usize, EditError>,
    ) {
        // The rule that chose the model was asked about the one before.
        let is_chosen = self.chosen_model.is_some_and(|(chosen, _)| chosen == index);
        match if is_chosen { Ok(true) } else { self.first_match(index).map(|first| first.is_some()) } {
            Ok(false) => {}
            Ok(true) => {
                self.report.rules[index].matched += 1;
                self.make(index, edit);
            }
            Err(error) => self.rule_failed(index, error.to_string()),
        }
    }

    /// Makes edits of a rule, which stay together or not at all. `edit` returns how many it made.
    fn make(&mut self, index: RuleIndex, edit: impl FnOnce(&mut Self) -> Result<usize, EditError>) {
        let before = self.draft.clone();
        match edit(self) {
            Ok(made) => self.made(index, before, made),
            Err(error) => {
                self.take_back(before);
                self.rule_failed(index, format!("its edits were taken back: {error}"));
            }
        }
    }

    /// Counts the edits that a rule made, and redacts at once what it wrote or put in. In monitor mode they
    /// are taken back instead, and told.
    pub(super) fn made(&mut self, index: RuleIndex, before: Draft, made: usize) {
        let known = before.edits().count();
        self.report.rules[index].edits += made;
        if self.policy.rules[index].monitors() {
            self.would_have_edited(index, known);
            return self.take_back(before);
        }
        let edits = self.draft.edits().skip(known);
        let edits: Vec<_> = edits.map(|edit| (edit.target, edit.kind)).collect();
        // What something was only taken out of is another text too.
        let set = edits.iter().filter(|(_, kind)| *kind == EditKind::Set);
        let set: Vec<NodeId> = set.map(|(target, _)| *target).collect();
        set.iter().for_each(|&node| self.was_written(node));
        let puts_in = edits.iter().any(|(_, kind)| matches!(kind, EditKind::Insert | EditKind::Option));
        if puts_in || !set.is_empty() {
            self.redact_written(&set, 0);
        }
    }

    /// Takes back what was edited since.
    pub(super) fn take_back(&mut self, to: Draft) {
        self.draft.rollback(to);
        self.were_taken_back();
    }

    /// Makes one change, and returns how many edits that is. One that meets what may not be changed is left
    /// out and counted, at `at`; any other refusal is given back.
    pub(super) fn change(
        &mut self,
        index: RuleIndex,
        author: &Author,
        at: Option<NodeId>,
        change: Change<'_>,
    ) -> Result<usize, EditError> {
        let done = match change {
            Change::Set(node, text) => self.draft.set(node, text, author).map(|done| done.is_some()),
            Change::Splice(node, parts) => self.draft.splice(node, parts, author).map(|done| done.is_some()),
            Change::Delete(section) => self.draft.delete(section, author).map(|_| true),
            Change::Insert(before, role, text) => self.put_in(before, role, text, author),
            Change::Option(key, value) => {
                self.draft.put_option(key, value, author).map(|done| done.is_some())
            }
        };
        match done {
            Ok(done) => Ok(usize::from(done)),
            Err(error) => self.skip(index, at, error).map(|()| 0),
        }
    }

    fn pin_leaf(
        &mut self,
        index: RuleIndex,
        rule: &Rule,
        pin: &Pin,
        author: &Author,
        node: NodeId,
    ) -> Result<usize, EditError> {
        let first;
        let to = match pin {
            Pin::Received => None,
            Pin::To { text, .. } => Some(&**text),
            Pin::FirstSeen(on_drift) => {
                first = self.drifted(index, node, *on_drift);
                first.as_deref()
            }
            Pin::Protect { edit, delete } => {
                self.protect(index, rule, node, *edit, *delete);
                return Ok(0);
            }
        };
        let made = to.map_or(Ok(0), |to| self.change(index, author, Some(node), Change::Set(node, to)))?;
        self.draft.pin(node, author);
        Ok(made)
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

    /// Returns what a rule does to a leaf; `None` where that is nothing.
    fn rewritten<'r>(&self, node: NodeId, rewrite: &'r Rewrite) -> Option<Change<'r>> {
        let text = self.draft.text(node);
        let text = text.expose();
        let parts = match rewrite {
            Rewrite::Set(new) => return Some(Change::Set(node, new)),
            // A number has no beginning to write before.
            _ if self.document.leaf(node)?.value_type() != ValueType::Text => return None,
            Rewrite::Prepend(new) => vec![(0..0, new.clone())],
            Rewrite::Append(new) => vec![(text.len()..text.len(), new.clone())],
            Rewrite::Replace { pattern, with } => replacements(pattern, with, text),
            Rewrite::Shorten(shorten) => {
                // A token is left out whole, or not at all.
                let redacted: Vec<_> =
                    self.draft.redacted(node).into_iter().map(|(range, _)| range).collect();
                shorten.cut(text, &redacted).into_iter().collect()
            }
        };
        (!parts.is_empty()).then_some(Change::Splice(node, parts))
    }

    /// Deletes the message, or the tool definition, around a leaf, unless that was `seen` before; what belongs
    /// to it goes with it.
    fn delete_around(
        &mut self,
        index: RuleIndex,
        author: &Author,
        node: NodeId,
        spares_history: bool,
        seen: &mut BTreeSet<Result<u32, SectionId>>,
    ) -> Result<usize, EditError> {
        let Some(section) = deletable_around(self.document, node) else {
            return self.skip(index, Some(node), EditError::NotDeletable).map(|()| 0);
        };
        let of = self.document.section(section);
        let is_message = of.node_type == NodeType::Message;
        if spares_history && is_message {
            self.leave_undone(index, Some(node), "history");
            return Ok(0);
        }
        // The messages of an exchange go together or stay together, so one of them asks for all.
        let asked = of.exchange.filter(|_| is_message).ok_or(section);
        match seen.insert(asked) && !self.draft.is_deleted(node) {
            true => self.change(index, author, Some(node), Change::Delete(section)),
            false => Ok(0),
        }
    }
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
    document.way_out(document.section_of(node)).find(|&section| {
        let section = document.section(section);
        match section.node_type {
            NodeType::Message => true,
            NodeType::RequestOption => section.deletable,
            NodeType::ContentPart | NodeType::ToolCall => false,
        }
    })
}
