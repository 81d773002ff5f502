//! Phase 1, and again after every rule that writes: what was found is replaced.
//!
//! The findings of all rules are united and replaced leaf by leaf. What cannot be replaced holds the request by the rule's
//! `on_unredactable`: keys; protected, frozen and raw leaves; numbers outside tool data; what is seen only once a text beyond the tree's
//! caps is unescaped; and what is encoded, which pauses where the rule does not say otherwise.

use std::borrow::Cow;
use std::collections::HashSet;

use leafgate_detect::Input;
use leafgate_tree::{Access, Document, EditError, Leaf, LeafKind, NodeId, Redaction, ValueType};
use leafgate_vault::{Collision, mask, surrogate};

use super::beneath::Under;
use super::hits::{Hit, exempt, unite};
use super::look::{Found, Hidden, Rules};
use super::{Run, Unredactable, author};
use crate::condition::FindingFact;
use crate::index::RuleIndex;
use crate::rule::{Action, OnUnredactable, Redact, Restore, With};
use crate::verdict::Cause;

impl<'p> Run<'p> {
    pub(super) fn redact_received(&mut self) {
        let rules = self.redact_rules();
        if rules.is_empty() {
            return;
        }
        self.scan_keys(&rules);
        let found = self.look(&rules, self.document.leaves());
        self.settle(found);
    }

    /// Redacts what an author wrote or put in, before anything else looks at it.
    pub(super) fn redact_again(&mut self, written: &[NodeId]) {
        let rules = self.redact_rules();
        if rules.is_empty() {
            return;
        }
        if !written.is_empty() {
            let found = self.look(&rules, written.iter().filter_map(|&node| self.document.settable(node)));
            self.settle(found);
        }
        self.redact_inserted(&rules);
    }

    pub(super) fn redact_rules(&self) -> Rules<'p> {
        let rules = self.policy.rules.iter().enumerate();
        rules
            .map(|(index, rule)| (RuleIndex::new(index), rule))
            .filter_map(|(index, rule)| match &rule.action {
                Action::Redact(redact) if self.active[index.get()].is_some() => Some((index, redact)),
                _ => None,
            })
            .collect()
    }

    fn settle(&mut self, found: Found) {
        for (index, error) in found.failed {
            self.rule_failed(index, error.to_string());
        }
        for (index, plugin, fault) in found.faults {
            self.detector_failed(index, &plugin, &fault);
        }
        self.hold_hidden(found.hidden, &found.hits);
        self.replace_all(found.hits);
    }

    /// Looks at every distinct key once. A key cannot be redacted, so a finding holds the request.
    fn scan_keys(&mut self, rules: &Rules<'p>) {
        let document = self.document;
        let mut clean: HashSet<Cow<'p, str>> = HashSet::new();
        let mut guilty: HashSet<Cow<'p, str>> = HashSet::new();
        let mut recent = Recent::default();
        for key in document.keys() {
            let text = key.text.into_cow();
            if recent.is_known(text.clone()) || clean.contains(&text) || guilty.contains(&text) {
                continue;
            }
            let any = rules.iter().any(|(_, redact)| !self.findings_in_key(redact, &text).is_empty());
            if any {
                guilty.insert(text)
            } else {
                clean.insert(text)
            };
        }
        if guilty.is_empty() {
            return;
        }
        for key in document.keys().filter(|key| guilty.contains(key.text.expose())) {
            for &(index, redact) in rules {
                let selects = self.active[index.get()]
                    .as_ref()
                    .is_some_and(|active| active.selection.selects_key(document, &key));
                if !selects {
                    continue;
                }
                for label in self.findings_in_key(redact, key.text.expose()) {
                    self.tainted.insert(key.node);
                    self.count_finding(index, &label);
                    self.unredactable(index, key.node, &label, IN_A_KEY);
                }
            }
        }
    }

    /// Labels of what a rule's detectors find in a key, tokens exempt.
    fn findings_in_key(&self, redact: &Redact, text: &str) -> Vec<String> {
        let Some(engine) = redact.engine else { return Vec::new() };
        let findings = self.policy.engines[engine].scan(&Input::new(text));
        if findings.is_empty() {
            return Vec::new();
        }
        let hits = findings.iter().map(|finding| Hit::new(finding, RuleIndex::new(0))).collect();
        exempt(hits, &self.vault.keys().find(text), text).iter().map(|hit| hit.label.to_string()).collect()
    }

    /// Replaces all hits, leaf by leaf in body order.
    fn replace_all(&mut self, mut hits: Vec<(NodeId, Hit)>) {
        // Stable: within a leaf, built-in detectors stay before plugins, and rules in file order.
        hits.sort_by_key(|(node, _)| *node);
        let mut rest = hits.into_iter().peekable();
        while let Some((node, first)) = rest.next() {
            let mut of_leaf = vec![first];
            while let Some((_, hit)) = rest.next_if(|(next, _)| *next == node) {
                of_leaf.push(hit);
            }
            self.replace_in(node, of_leaf);
        }
    }

    fn replace_in(&mut self, node: NodeId, hits: Vec<Hit>) {
        let text = self.draft.text(node).into_cow().into_owned();
        let mut ours = self.vault.keys().find(&text);
        ours.extend(self.draft.redacted(node).into_iter().map(|(range, _)| range));
        ours.sort_by_key(|range| range.start);
        let hits = exempt(hits, &ours, &text);
        self.remember(node, &hits);
        let rules = &self.policy.rules;
        let hits = unite(hits.into_iter().filter(|hit| !rules[hit.rule].monitors()).collect());
        // From the end, so that earlier ranges keep their meaning; one call for neighbours of the same rule.
        let runs: Vec<_> = hits
            .chunk_by(|a, b| a.rule == b.rule)
            .rev()
            .map(|run| (run, self.replacements_of(node, run, &text)))
            .collect();
        // A leaf may be as large as the body: its text is given up before the draft decodes it for itself.
        drop(text);
        for (run, redactions) in runs {
            self.replace_run(node, run, redactions);
        }
    }

    /// What takes the places of neighbouring findings of one rule; `None` where the leaf takes no replacement.
    fn replacements_of(
        &self,
        node: NodeId,
        run: &[Hit],
        text: &str,
    ) -> Option<Result<Vec<Redaction>, Collision>> {
        let Action::Redact(redact) = &self.policy.rules[run[0].rule].action else { return None };
        let leaf = self.document.settable(node);
        if leaf.as_ref().is_some_and(|leaf| unredactable_leaf(self.document, leaf).is_some()) {
            return None;
        }
        let with = match leaf.map(|leaf| leaf.value_type()) {
            Some(ValueType::Number) => With::Surrogate,
            _ => redact.with,
        };
        Some(run.iter().map(|hit| self.redaction(hit, with, text)).collect())
    }

    fn replace_run(
        &mut self,
        node: NodeId,
        run: &[Hit],
        redactions: Option<Result<Vec<Redaction>, Collision>>,
    ) {
        let index = run[0].rule;
        let rule = &self.policy.rules[index];
        let redactions = match redactions {
            Some(Ok(redactions)) => redactions,
            Some(Err(collision)) => return self.collided(index, &collision),
            None => {
                let leaf = self.document.settable(node);
                if let Some(why) = leaf.and_then(|leaf| unredactable_leaf(self.document, &leaf)) {
                    run.iter().for_each(|hit| self.unredactable(index, node, hit.label.as_str(), why));
                }
                return;
            }
        };
        match self.draft.redact(node, &redactions, &author(rule)) {
            Ok(()) => self.report.rules[index].edits += redactions.len(),
            Err(error) => {
                for hit in run {
                    self.unredactable(index, node, hit.label.as_str(), refusal(&error));
                }
            }
        }
    }

    /// What a redact rule puts in the place of a text.
    pub(super) fn with(&self, index: RuleIndex) -> With {
        match &self.policy.rules[index].action {
            Action::Redact(redact) => redact.with,
            _ => With::Token,
        }
    }

    /// Returns whether a rule's tokens stay in the answer.
    fn stays(&self, index: RuleIndex) -> bool {
        matches!(&self.policy.rules[index].action, Action::Redact(redact) if redact.restore == Restore::Off)
    }

    pub(super) fn redaction(&self, hit: &Hit, with: With, text: &str) -> Result<Redaction, Collision> {
        let (label, value) = (hit.label.as_str(), &text[hit.range.clone()]);
        let replacement = match with {
            With::Token if self.stays(hit.rule) => {
                self.vault.tokenize_for_good(label, value)?.as_str().to_owned()
            }
            With::Token => self.vault.tokenize(label, value)?.as_str().to_owned(),
            With::Mask => mask(label),
            With::Hash => self.vault.keys().hash(label, value),
            With::Surrogate => surrogate(self.vault.keys(), label, value),
            With::Drop => String::new(),
        };
        Ok(Redaction { at: hit.range.clone(), label: label.into(), replacement })
    }

    /// Two values with one token: the answer would be restored to the wrong one, whatever the rule says.
    pub(super) fn collided(&mut self, index: RuleIndex, collision: &Collision) {
        self.report.rules[index].errors.push(format!("token {} is taken", collision.token));
        self.hold(index, Cause::Collision, true, collision.to_string());
    }

    /// Keeps findings for `leaf.findings` and counts them, and the leaf once for each rule that found something in it.
    fn remember(&mut self, node: NodeId, hits: &[Hit]) {
        let mut rules: Vec<RuleIndex> = Vec::new();
        for hit in hits {
            self.count_finding(hit.rule, hit.label.as_str());
            if !rules.contains(&hit.rule) {
                rules.push(hit.rule);
                self.report.rules[hit.rule].matched += 1;
            }
            let fact = FindingFact {
                label: hit.label.clone(),
                detector: hit.detector.clone(),
                confidence: hit.confidence,
            };
            self.findings.entry(node).or_default().push(fact);
        }
    }

    pub(super) fn count_finding(&mut self, index: RuleIndex, label: &str) {
        *self.report.rules[index].findings.entry(label.to_owned()).or_default() += 1;
    }

    /// Holds what only the texts beneath those of leaves show.
    fn hold_hidden(&mut self, hidden: Vec<Hidden>, hits: &[(NodeId, Hit)]) {
        for hidden in hidden {
            if self.is_replaced_anyway(&hidden, hits) {
                continue;
            }
            let Hidden { node, hit, under, .. } = hidden;
            let label = hit.label.as_str();
            self.count_finding(hit.rule, label);
            match under {
                Under::Escapes => self.unredactable(hit.rule, node, label, &under.place()),
                Under::Encoding { .. } => self.encoded(hit.rule, node, label, &under.place()),
            }
        }
    }

    /// Whether a finding beneath a leaf's text goes with what is replaced in that text: the same words, or all of the encoded form.
    fn is_replaced_anyway(&self, hidden: &Hidden, hits: &[(NodeId, Hit)]) -> bool {
        let rules = &self.policy.rules;
        // A rule in monitor mode replaces nothing; it still does not count the same value twice.
        let replaces = |rule: RuleIndex| !rules[rule].monitors() || rules[hidden.hit.rule].monitors();
        let mut of_leaf =
            hits.iter().filter(|(node, hit)| *node == hidden.node && replaces(hit.rule)).peekable();
        if of_leaf.peek().is_none() {
            return false;
        }
        let text = self.draft.text(hidden.node).into_cow();
        of_leaf.any(|(_, Hit { range, .. })| {
            let covers = match &hidden.under {
                Under::Encoding { at: Some(at), .. } => range.start <= at.start && at.end <= range.end,
                _ => false,
            };
            covers || text[range.clone()].contains(&hidden.words)
        })
    }

    /// A finding that must be redacted and cannot be.
    pub(super) fn unredactable(&mut self, index: RuleIndex, node: NodeId, label: &str, why: &str) {
        let on_unredactable = match &self.policy.rules[index].action {
            Action::Redact(redact) => redact.on_unredactable,
            Action::Transform(transform) => transform.on_unredactable,
            _ => OnUnredactable::Block,
        };
        self.hold_unredactable(index, node, label, why, on_unredactable);
    }

    /// A finding inside an encoding: replacing it would mean to encode anew what somebody else has encoded.
    pub(super) fn encoded(&mut self, index: RuleIndex, node: NodeId, label: &str, why: &str) {
        let on_encoded = match &self.policy.rules[index].action {
            Action::Redact(redact) => redact.on_encoded,
            _ => OnUnredactable::Pause,
        };
        self.hold_unredactable(index, node, label, why, on_encoded);
    }

    fn hold_unredactable(
        &mut self,
        index: RuleIndex,
        node: NodeId,
        label: &str,
        why: &str,
        how: OnUnredactable,
    ) {
        self.report.rules[index].unredactable += 1;
        if !self.policy.rules[index].monitors() {
            self.unredactable.insert(Unredactable { node, in_key: why == IN_A_KEY });
        }
        let detail = format!("{label} {why}, at {}", self.pointer(node));
        self.hold(index, Cause::Unredactable, how == OnUnredactable::Block, detail);
    }
}

/// Why nothing can be replaced in a key: others look the member up by it.
const IN_A_KEY: &str = "in a key";

/// Keys that were met a moment ago: a request spells the same few thousands of times, and hashing each costs more than scanning it.
struct Recent<'d>([Option<Cow<'d, str>>; 64]);

impl Default for Recent<'_> {
    fn default() -> Self {
        Recent([const { None }; 64])
    }
}

impl<'d> Recent<'d> {
    /// Whether it was the last key of its kind; it is from now on.
    fn is_known(&mut self, key: Cow<'d, str>) -> bool {
        let bytes = key.as_bytes();
        let (first, last) = (bytes.first().unwrap_or(&0), bytes.last().unwrap_or(&0));
        let place = (usize::from(*first) + usize::from(*last) * 7 + bytes.len() * 31) % self.0.len();
        let known = self.0[place].as_ref() == Some(&key);
        if !known {
            self.0[place] = Some(key);
        }
        known
    }
}

/// Why nothing can be replaced in a leaf; `None` where it can.
pub(super) fn unredactable_leaf(document: &Document, leaf: &Leaf<'_>) -> Option<&'static str> {
    let in_tool_data = matches!(leaf.kind(), LeafKind::ToolArguments | LeafKind::ToolResult);
    match (leaf.access(), leaf.value_type()) {
        _ if document.is_raw() => Some("in a body that is not JSON"),
        (Access::Protected, _) => Some("in a protected leaf"),
        (Access::Frozen, _) => Some("in a frozen leaf"),
        (Access::Opaque, _) => Some("in media"),
        (Access::Open, ValueType::Number) if !in_tool_data => Some("in a number outside tool data"),
        (Access::Open, _) => None,
    }
}

pub(super) fn refusal(error: &EditError) -> &'static str {
    match error {
        EditError::Unredactable { .. } | EditError::BadScalar { .. } => {
            "in a number that it is only a part of"
        }
        _ => "where nothing can be replaced",
    }
}
