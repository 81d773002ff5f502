//! Findings replaced in the texts of leaves: by what the rule wants in their place, and each rule is
//! the author of its own.

use std::mem::take;
use std::ops::Range;
use std::sync::Arc;

use leafgate_detect::Confidence;
use leafgate_tree::{EditError, NodeId, Redaction, ValueType};
use leafgate_vault::{Collision, Seen, mask, surrogate};

use super::hits::{Hit, sorted_apart, unite};
use super::release::Guarded;
use super::seams::pieces;
use super::site::{Site, Why};
use super::{Run, author};
use crate::index::RuleIndex;
use crate::rule::{Restore, With};
use crate::verdict::Cause;
use crate::work;

/// What is put in the place of a finding, and the rule that does it.
pub(super) type Replacement = (RuleIndex, Redaction);

impl Run<'_> {
    /// Replaces what was found in adjacent texts, or in one alone: in each of them, and over the borders of two.
    pub(super) fn replace_in(
        &mut self,
        run: &[NodeId],
        own: Vec<Vec<Hit>>,
        over: Vec<Hit>,
        guarded: &Guarded,
    ) {
        let (text, borders) = self.joined(run);
        work::decoded(text.len());
        let mut hits = over;
        let (mut ours, mut released) = (Vec::new(), Vec::new());
        for ((&node, own), at) in run.iter().zip(own).zip(borders.windows(2)) {
            let here = |range: Range<usize>| range.start + at[0]..range.end + at[0];
            ours.extend(self.ours_in(node, &text[at[0]..at[1]]).into_iter().map(here));
            released.extend(self.released_in(node).into_iter().map(here));
            hits.extend(own.into_iter().map(|hit| {
                let at = here(hit.range.clone());
                hit.at(at)
            }));
        }
        let mut hits = self.exempt_all(hits, sorted_apart(ours), released, &text);
        let begins_in = |hit: &Hit| pieces(&borders, &hit.range).next().map_or(0, |(part, _)| part);
        hits.sort_by_cached_key(begins_in);
        for hits in hits.chunk_by(|one, next| begins_in(one) == begins_in(next)) {
            self.remember(Site::Leaf(run[begins_in(&hits[0])]), hits);
        }
        let hits = self.hold_pieces(run, &borders, hits);
        match self.replacements_in(run, &borders, hits, &text, guarded) {
            Ok(replacements) => {
                // A leaf may be as large as the body: its text is given up before the draft decodes it for
                // itself.
                drop(text);
                for (&node, replacements) in run.iter().zip(replacements) {
                    self.replace(node, replacements);
                }
            }
            Err((index, collision)) => self.collided(index, &collision),
        }
    }

    /// Holds the request for each piece of a value that must stay, and returns the other values. It is not
    /// united with what one text holds alone: that is replaced, or named, where it stands.
    fn hold_pieces(&mut self, run: &[NodeId], borders: &[usize], hits: Vec<Hit>) -> Vec<Hit> {
        let fixed = |this: &Self, hit: &Hit| -> Vec<_> {
            let parts = pieces(borders, &hit.range).map(|(part, _)| run[part]);
            parts.filter_map(|node| Some((node, this.unredactable_leaf(node)?))).collect()
        };
        let (held, hits): (Vec<Hit>, Vec<Hit>) =
            hits.into_iter().partition(|hit| !fixed(self, hit).is_empty());
        for hit in self.united_of_acting(held) {
            for (node, why) in fixed(self, &hit) {
                self.unredactable(hit.rule, Site::Leaf(node), &hit.label, why);
            }
        }
        hits
    }

    /// Returns what is put in the places of findings, by leaf: the whole replacement in the place of the first
    /// piece of each.
    fn replacements_in(
        &mut self,
        run: &[NodeId],
        borders: &[usize],
        hits: Vec<Hit>,
        text: &str,
        guarded: &Guarded,
    ) -> Result<Vec<Vec<Replacement>>, (RuleIndex, Collision)> {
        let seen = self.seen(run[0]);
        let mut of_leaf: Vec<Vec<Replacement>> = run.iter().map(|_| Vec::new()).collect();
        for mut hit in self.united_of_acting(hits) {
            let parts: Vec<_> = pieces(borders, &hit.range)
                .map(|(part, at)| (part, at.start - borders[part]..at.end - borders[part]))
                .collect();
            for (part, at) in &parts {
                hit.kept_by = hit.kept_by.or(guarded.keeper(run[*part], at));
            }
            let with = if self.is_number(run[0]) { With::Surrogate } else { self.with(hit.rule) };
            let redaction = self.redaction(&hit, with, text, Some(&seen)).map_err(|it| (hit.rule, it))?;
            let terms = self.terms(&hit);
            if let [(part, at)] = &parts[..] {
                of_leaf[*part].push((hit.rule, Redaction { at: at.clone(), terms, ..redaction }));
                continue;
            }
            let mut replacement = redaction.replacement.clone();
            for (part, at) in parts {
                let (replacement, terms) = (take(&mut replacement), terms.clone());
                of_leaf[part].push((hit.rule, Redaction { at, replacement, terms, ..redaction.clone() }));
            }
        }
        if run.len() > 1 {
            let texts = borders.windows(2).map(|at| &text[at[0]..at[1]]);
            of_leaf.iter_mut().zip(texts).for_each(|(replacements, text)| fill_blank(replacements, text));
        }
        Ok(of_leaf)
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

    /// Returns what is put in the places of what was found in a message that is put in, in order and for good.
    pub(super) fn replacements(
        &self,
        hits: Vec<Hit>,
        text: &str,
    ) -> Result<Vec<Replacement>, (RuleIndex, Collision)> {
        let replacement = |hit: Hit| {
            let redaction = self.redaction(&hit, self.with(hit.rule), text, Some(&Arc::default()));
            redaction.map(|redaction| (hit.rule, redaction)).map_err(|collision| (hit.rule, collision))
        };
        self.united_of_acting(hits).into_iter().map(replacement).collect()
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
    fn with(&self, index: RuleIndex) -> With {
        self.policy.rules[index].redact().map_or(With::Token, |redact| redact.with)
    }

    /// Returns whether a rule's tokens stay in the answer.
    fn stays(&self, index: RuleIndex) -> bool {
        self.policy.rules[index].redact().is_some_and(|redact| redact.restore == Restore::Off)
    }

    /// Returns what is put in the place of a finding. What nobody says where it was `seen` returns into no
    /// argument of a tool.
    pub(super) fn redaction(
        &self,
        hit: &Hit,
        with: With,
        text: &str,
        seen: Option<&Arc<Seen>>,
    ) -> Result<Redaction, Collision> {
        let (label, value) = (hit.label.as_str(), &text[hit.range.clone()]);
        let replacement = match with {
            With::Token if self.stays(hit.rule) => {
                self.vault.tokenize_for_good(label, value)?.as_str().to_owned()
            }
            With::Token => match seen {
                Some(seen) => self.vault.tokenize_seen(label, value, seen, &self.policy.flow)?,
                None => self.vault.tokenize(label, value)?,
            }
            .as_str()
            .to_owned(),
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

/// Puts a mask in the place of the last piece where nothing would be left of a part: APIs refuse a
/// part without text.
fn fill_blank(replacements: &mut [Replacement], text: &str) {
    let mut at = 0;
    let mut blank = true;
    for (_, redaction) in &*replacements {
        blank &= text[at..redaction.at.start].trim().is_empty() && redaction.replacement.trim().is_empty();
        at = redaction.at.end;
    }
    if blank
        && text[at..].trim().is_empty()
        && !text.trim().is_empty()
        && let Some((_, last)) = replacements.last_mut()
    {
        last.replacement = mask(&last.label);
    }
}

pub(super) fn refusal(error: &EditError) -> Why {
    match error {
        EditError::Unredactable { .. } | EditError::BadScalar { .. } => Why::PartOfNumber,
        _ => Why::Refused,
    }
}
