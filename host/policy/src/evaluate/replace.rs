//! Findings replaced in the texts of leaves: by what the rule wants in their place, and each rule is
//! the author of its own.

use std::ops::Range;
use std::sync::Arc;

use leafgate_detect::Confidence;
use leafgate_tree::{EditError, NodeId, Redaction, ValueType};
use leafgate_vault::{Collision, Seen, mask, surrogate};

use super::hits::{Hit, sorted_apart, unite};
use super::release::Guarded;
use super::site::{Site, Why};
use super::{Run, author};
use crate::index::RuleIndex;
use crate::rule::{Restore, With};
use crate::verdict::Cause;
use crate::work;

/// What is put in the place of a finding, and the rule that does it.
pub(super) type Replacement = (RuleIndex, Redaction);

impl Run<'_> {
    /// Replaces what was found in one leaf.
    pub(super) fn replace_in(&mut self, node: NodeId, hits: Vec<Hit>, guarded: &Guarded) {
        let text = self.draft.text(node).into_cow().into_owned();
        work::decoded(text.len());
        let hits = self.exempt_all(hits, self.ours_in(node, &text), self.released_in(node), &text);
        self.remember(Site::Leaf(node), &hits);
        let mut hits = self.united_of_acting(hits);
        guarded.keep(node, &mut hits);
        if let Some(why) = self.unredactable_leaf(node) {
            hits.iter()
                .for_each(|hit| self.unredactable(hit.rule, Site::Leaf(node), &hit.label, why.clone()));
            return;
        }
        let replacements = self.replacements(&hits, self.is_number(node), &text, &self.seen(node));
        // A leaf may be as large as the body: its text is given up before the draft decodes it for
        // itself.
        drop(text);
        match replacements {
            Ok(mut replacements) => {
                for ((_, redaction), hit) in replacements.iter_mut().zip(&hits) {
                    redaction.terms = self.terms(hit);
                }
                self.replace(node, replacements);
            }
            Err((index, collision)) => self.collided(index, &collision),
        }
    }

    /// Returns the stretches of a leaf's present text in which nothing is looked for: tokens of
    /// ours, and what redaction wrote.
    pub(super) fn ours_in(&self, node: NodeId, text: &str) -> Vec<Range<usize>> {
        let mut ours = self.vault.keys().find(text);
        ours.extend(self.draft.redacted(node).into_iter().map(|(range, _)| range));
        sorted_apart(ours)
    }

    pub(super) fn united_of_acting(&self, mut hits: Vec<Hit>) -> Vec<Hit> {
        hits.retain(|hit| !self.policy.rules[hit.rule].monitors());
        for hit in &mut hits {
            hit.kept_by = Some(hit.rule).filter(|&rule| !self.lets_release(rule));
            // What a rule that is enforced found, no other one names: of equals the earlier does.
            if hit.rule.get() < self.policy.enforced {
                hit.finding.confidence = Confidence::High;
            }
        }
        unite(hits)
    }

    /// Returns what is put in the places of united findings, in their order, and for good.
    pub(super) fn replacements(
        &self,
        hits: &[Hit],
        in_number: bool,
        text: &str,
        seen: &Arc<Seen>,
    ) -> Result<Vec<Replacement>, (RuleIndex, Collision)> {
        let replacement = |hit: &Hit| {
            let with = if in_number { With::Surrogate } else { self.with(hit.rule) };
            let redaction = self.redaction(hit, with, text, seen);
            redaction.map(|redaction| (hit.rule, redaction)).map_err(|collision| (hit.rule, collision))
        };
        hits.iter().map(replacement).collect()
    }

    /// Makes replacements in a leaf, sorted and apart. Each rule is the author of its own, so they
    /// are made rule by rule.
    pub(super) fn replace(&mut self, node: NodeId, mut replacements: Vec<Replacement>) {
        let mut rules: Vec<RuleIndex> = replacements.iter().map(|(rule, _)| *rule).collect();
        rules.sort_unstable();
        rules.dedup();
        for index in rules {
            let own = replacements.iter().filter(|(rule, _)| *rule == index);
            let of_rule: Vec<Redaction> = own.map(|(_, redaction)| redaction.clone()).collect();
            match self.draft.redact(node, &of_rule, &author(&self.policy.rules[index])) {
                Ok(()) => {
                    self.report.rules[index].edits += of_rule.len();
                    self.was_written(node);
                    shift(&mut replacements, index);
                }
                Err(error) => {
                    for redaction in &of_rule {
                        if let Ok(label) = leafgate_detect::Label::new(&redaction.label) {
                            self.unredactable(index, Site::Leaf(node), &label, refusal(&error));
                        }
                    }
                    replacements.retain(|(rule, _)| *rule != index);
                }
            }
        }
    }

    fn is_number(&self, node: NodeId) -> bool {
        self.document.settable(node).is_some_and(|leaf| leaf.value_type() == ValueType::Number)
    }

    /// Returns how a redact rule replaces a text.
    pub(super) fn with(&self, index: RuleIndex) -> With {
        self.policy.rules[index].redact().map_or(With::Token, |redact| redact.with)
    }

    /// Returns whether a rule's tokens stay in the answer.
    fn stays(&self, index: RuleIndex) -> bool {
        self.policy.rules[index].redact().is_some_and(|redact| redact.restore == Restore::Off)
    }

    pub(super) fn redaction(
        &self,
        hit: &Hit,
        with: With,
        text: &str,
        seen: &Arc<Seen>,
    ) -> Result<Redaction, Collision> {
        let (label, value) = (hit.label.as_str(), &text[hit.range.clone()]);
        let replacement = match with {
            With::Token if self.stays(hit.rule) => {
                self.vault.tokenize_for_good(label, value)?.as_str().to_owned()
            }
            With::Token => {
                self.vault.tokenize_seen(label, value, seen, &self.policy.flow)?.as_str().to_owned()
            }
            With::Mask => mask(label),
            With::Hash => self.vault.keys().hash(label, value),
            With::Surrogate => surrogate(self.vault.keys(), label, value),
            With::Drop => String::new(),
        };
        let detector = Some(hit.detector.as_str().into());
        Ok(Redaction { detector, ..Redaction::new(hit.range.clone(), label, replacement) })
    }

    /// Blocks a request in which two values have one token: the answer would be restored to the
    /// wrong one.
    pub(super) fn collided(&mut self, index: RuleIndex, collision: &Collision) {
        self.report.rules[index].errors.push(format!("token {} is taken", collision.token));
        self.hold(index, Cause::Collision, true, collision.to_string());
    }
}

/// Moves what is still to be replaced behind the replacements of one rule, which are made and leave
/// the list.
fn shift(replacements: &mut Vec<Replacement>, made: RuleIndex) {
    let (mut grown, mut shrunk) = (0, 0);
    replacements.retain_mut(|(rule, redaction)| {
        work::step();
        if *rule == made {
            grown += redaction.replacement.len();
            shrunk += redaction.at.len();
            return false;
        }
        redaction.at = redaction.at.start + grown - shrunk..redaction.at.end + grown - shrunk;
        true
    });
}

pub(super) fn refusal(error: &EditError) -> Why {
    match error {
        EditError::Unredactable { .. } | EditError::BadScalar { .. } => Why::PartOfNumber,
        _ => Why::Refused,
    }
}
