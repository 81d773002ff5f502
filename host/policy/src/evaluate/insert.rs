//! Messages that are put in: where they stand, when they do not, and what redaction does with them.
//!
//! A message is put in once. Where the same one stands already, because the client sent it or a rule put it in before, nothing is done:
//! the same request gives the same bytes however often it passes. Whoever put a message in, its text is searched by every redact rule of
//! the request: it is no leaf of the received body that a `match` could name.

use std::ops::Range;
use std::sync::Arc;

use leafgate_detect::{Finding, Input, views};
use leafgate_tree::{
    Author, Document, EditError, LeafKind, LeafText, NodeId, NodeType, Redaction, Role, SectionId, ValueType,
};
use leafgate_vault::Collision;

use super::hits::{Hit, exempt, unite};
use super::look::Rules;
use super::{Run, author};
use crate::index::RuleIndex;
use crate::plugin::{DetectLeaf, Fault};
use crate::rule::{Insert, Rule};

/// What was found in a text that is no leaf, and which plugins gave no answer.
#[derive(Default)]
struct Seen {
    hits: Vec<Hit>,
    faults: Vec<(RuleIndex, Arc<str>, Fault)>,
}

impl<'p> Run<'p> {
    /// Puts a rule's message directly before the latest one of the user.
    pub(super) fn insert(&mut self, index: RuleIndex, rule: &Rule, insert: &Insert) {
        match self.first_match(index) {
            Ok(None) => return,
            Ok(Some(_)) => self.report.rules[index].matched += 1,
            Err(error) => return self.rule_failed(index, error.to_string()),
        }
        let Some(before) = self.document.latest_user_message() else {
            *self.report.rules[index].skipped.entry("no message of the user").or_default() += 1;
            return;
        };
        let checkpoint = self.draft.checkpoint();
        match self.put_in(before, Role::User, &insert.text, &author(rule)) {
            Ok(false) => {}
            Ok(true) => {
                self.report.rules[index].edits += 1;
                match rule.monitors() {
                    true => self.draft.rollback(checkpoint),
                    false => self.redact_again(&[]),
                }
            }
            Err(error) => {
                if let Err(fault) = self.skip(index, error) {
                    self.rule_failed(index, format!("its message was not put in: {fault}"));
                }
            }
        }
    }

    /// Puts a message before another one; `false` where it stands there already.
    pub(super) fn put_in(
        &mut self,
        before: SectionId,
        role: Role,
        text: &str,
        author: &Author,
    ) -> Result<bool, EditError> {
        let node = self.document.section(before).node;
        if self.draft.is_deleted(node) {
            return Err(EditError::Deleted);
        }
        if self.stands_already(before, role, text) {
            return Ok(false);
        }
        self.draft.insert(before, role, text, author).map(|_| true)
    }

    /// Whether one of the messages of the same role directly before a place says the same, as it came or as it leaves.
    fn stands_already(&self, before: SectionId, role: Role, text: &str) -> bool {
        // Redacted alike, a text and what became of it are the same.
        let leaves_as = self.redacted_copy(role, text);
        let same = |other: &str| other == text || leaves_as.as_deref() == Some(other);
        let node = self.document.section(before).node;
        let put_in = |inserted: &leafgate_tree::Inserted| {
            inserted.before() == node && inserted.role() == role && same(inserted.text().expose())
        };
        if self.draft.inserted().any(put_in) {
            return true;
        }
        let messages = self.document.sections()[..before.index()].iter().rev();
        let messages = messages.filter(|section| section.node_type == NodeType::Message);
        messages
            .filter(|section| !self.draft.is_deleted(section.node))
            .take_while(|section| section.role == role)
            .filter_map(|section| only_text(self.document, section.node))
            .any(|leaf| {
                let came: LeafText<'_> = self.document.leaf(leaf).expect("it is a leaf").text();
                same(came.expose()) || same(self.draft.text(leaf).expose())
            })
    }

    /// The text as redaction would leave it; `None` where it could not look.
    fn redacted_copy(&self, role: Role, text: &str) -> Option<String> {
        let seen = self.search(&self.redact_rules(), role, text, &[]);
        let redactions = self.replacements(seen.hits, text).ok()?;
        let mut copy = text.to_owned();
        for (_, redaction) in redactions.into_iter().rev() {
            copy.replace_range(redaction.at, &redaction.replacement);
        }
        Some(copy)
    }

    /// Redacts every message that was put in and stands.
    pub(super) fn redact_inserted(&mut self, rules: &Rules<'p>) {
        for place in 0..self.draft.inserted().count() {
            let Some(inserted) = self.draft.inserted().nth(place) else { return };
            let (before, role, text) =
                (inserted.before(), inserted.role(), inserted.text().into_cow().into_owned());
            let written: Vec<_> = inserted.redacted().iter().map(|(range, _)| range.clone()).collect();
            let seen = self.search(rules, role, &text, &written);
            self.hold_encoded(rules, before, &text);
            for (rule, plugin, fault) in seen.faults {
                self.detector_failed(rule, &plugin, &fault);
            }
            for hit in &seen.hits {
                self.count_finding(hit.rule, hit.label.as_str());
            }
            match self.replacements(seen.hits, &text) {
                Ok(replacements) => self.replace_inserted(place, replacements),
                Err((rule, collision)) => return self.collided(rule, &collision),
            }
        }
    }

    fn replace_inserted(&mut self, place: usize, replacements: Vec<(RuleIndex, Redaction)>) {
        for (rule, _) in &replacements {
            self.report.rules[*rule].edits += 1;
        }
        let redactions: Vec<Redaction> = replacements.into_iter().map(|(_, redaction)| redaction).collect();
        if !redactions.is_empty() {
            self.draft
                .redact_inserted(place, &redactions)
                .expect("united findings are sorted, apart and on the text's own character boundaries");
        }
    }

    /// What all redact rules find in a text that is no leaf, but for tokens and what redaction has `written`.
    fn search(&self, rules: &Rules<'p>, role: Role, text: &str, written: &[Range<usize>]) -> Seen {
        let mut seen = Seen::default();
        for &(index, redact) in rules {
            if let Some(engine) = redact.engine {
                let findings = self.policy.engines[engine].scan(&Input::new(text));
                seen.hits.extend(findings.iter().map(|finding| Hit::new(finding, index)));
            }
            let leaf = [message_text(role, text)];
            for &plugin in &redact.plugins {
                match self.call_detector(plugin, &leaf) {
                    Ok(findings) => {
                        let findings: Vec<Finding> = findings.into_iter().flatten().collect();
                        seen.hits.extend(findings.iter().map(|finding| Hit::new(finding, index)));
                    }
                    Err(fault) => {
                        seen.faults.push((index, Arc::clone(&self.policy.plugins[plugin].name), fault));
                    }
                }
            }
        }
        let mut ours = self.vault.keys().find(text);
        ours.extend_from_slice(written);
        ours.sort_by_key(|range| range.start);
        seen.hits = exempt(seen.hits, &ours, text);
        seen
    }

    /// What stands in the place of what was found, with the rules that found it.
    fn replacements(
        &self,
        hits: Vec<Hit>,
        text: &str,
    ) -> Result<Vec<(RuleIndex, Redaction)>, (RuleIndex, Collision)> {
        let rules = &self.policy.rules;
        let hits = unite(hits.into_iter().filter(|hit| !rules[hit.rule].monitors()).collect());
        let replace = |hit: &Hit| match self.redaction(hit, self.with(hit.rule), text) {
            Ok(redaction) => Ok((hit.rule, redaction)),
            Err(collision) => Err((hit.rule, collision)),
        };
        hits.iter().map(replace).collect()
    }

    /// A value that is encoded in the text cannot be replaced there.
    fn hold_encoded(&mut self, rules: &Rules<'p>, before: NodeId, text: &str) {
        for view in views(text) {
            for &(index, redact) in rules {
                let Some(engine) = redact.engine else { continue };
                let findings = self.policy.engines[engine].scan(&Input::new(view.text()));
                let hits = findings.iter().map(|finding| Hit::new(finding, index)).collect();
                for hit in exempt(hits, &self.vault.keys().find(view.text()), view.text()) {
                    let why = format!("in {} of a message that is put in", view.phrase());
                    self.encoded(index, before, hit.label.as_str(), &why);
                }
            }
        }
    }
}

fn message_text(role: Role, text: &str) -> DetectLeaf<'_> {
    DetectLeaf { kind: LeafKind::Text, value: ValueType::Text, role, tool: None, key: "content", text }
}

/// The one text of a message that holds nothing else.
fn only_text(document: &Document, message: NodeId) -> Option<NodeId> {
    let leaves = document.subtree(message).filter_map(|at| document.leaf(NodeId::from_index(at)));
    let mut texts =
        leaves.filter(|leaf| leaf.kind() == LeafKind::Text && leaf.value_type() == ValueType::Text);
    let only = texts.next()?;
    texts.next().is_none().then_some(only.id())
}
