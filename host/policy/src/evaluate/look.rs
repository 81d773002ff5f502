//! Detection over many leaves: one walk for all redact rules, nothing changed yet.
//!
//! Each distinct set of built-in detectors runs at most once per leaf. Each detector plugin is called at most once, with every leaf that
//! any rule wants it to see and that it has not answered for before.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use leafgate_detect::Finding;
use leafgate_tree::{Access, Leaf, NodeId, ValueType};

use super::Run;
use super::beneath::{Beneath, Lies, Under};
use super::hits::{Hit, exempt};
use super::scanner::{Present, Scanner};
use crate::condition::ConditionError;
use crate::index::{EngineIndex, PluginIndex, RuleIndex};
use crate::memo::Answer;
use crate::plugin::{DetectLeaf, Fault};
use crate::rule::Redact;

/// The redact rules of a policy that apply to a request, with their places.
pub(super) type Rules<'p> = Vec<(RuleIndex, &'p Redact)>;

/// What one walk found.
#[derive(Default)]
pub(super) struct Found {
    pub(super) hits: Vec<(NodeId, Hit)>,
    /// Hits in texts beneath those of leaves.
    pub(super) hidden: Vec<Hidden>,
    /// Rules whose `when` failed, each once.
    pub(super) failed: Vec<(RuleIndex, ConditionError)>,
    /// Rules whose plugin gave no answer.
    pub(super) faults: Vec<(RuleIndex, Arc<str>, Fault)>,
}

/// A hit beneath a leaf's text. No `Debug`: it holds what was found.
pub(super) struct Hidden {
    pub(super) node: NodeId,
    pub(super) hit: Hit,
    /// The words found there.
    pub(super) words: String,
    pub(super) under: Under,
}

/// One text that a detector plugin is to see on behalf of a rule.
struct Candidate<'s> {
    leaf: Leaf<'s>,
    rule: RuleIndex,
    text: Cow<'s, str>,
    /// Which text beneath the leaf's it is, if it is not the leaf's own.
    beneath: Option<(usize, Arc<Beneath>)>,
}

impl Candidate<'_> {
    fn place(&self) -> (NodeId, Option<usize>) {
        (self.leaf.id(), self.beneath.as_ref().map(|(place, _)| *place))
    }
}

/// A walk under way.
struct Look<'s, 'p> {
    run: &'s Run<'p>,
    rules: &'s Rules<'p>,
    scanner: Scanner,
    /// By index of the plugin.
    candidates: Vec<Vec<Candidate<'s>>>,
    found: Found,
}

impl<'p> Run<'p> {
    /// Detects in the present text of some leaves.
    pub(super) fn look<'s>(&'s self, rules: &'s Rules<'p>, leaves: impl Iterator<Item = Leaf<'s>>) -> Found {
        let candidates = self.policy.plugins.iter().map(|_| Vec::new()).collect();
        let mut look =
            Look { run: self, rules, scanner: Scanner::default(), candidates, found: Found::default() };
        for leaf in leaves {
            // `true` and `null` have no room for a value.
            if !matches!(leaf.value_type(), ValueType::Boolean | ValueType::Null) {
                look.leaf(leaf);
            }
        }
        for (index, mut candidates) in std::mem::take(&mut look.candidates).into_iter().enumerate() {
            if !candidates.is_empty() {
                // Two rules may want the same text seen: then they stand side by side.
                candidates.sort_by_key(Candidate::place);
                look.ask(PluginIndex::new(index), &candidates);
            }
        }
        look.found
    }

    /// Calls a detector plugin; gives what it finds in each leaf.
    pub(super) fn call_detector(
        &self,
        plugin: PluginIndex,
        asked: &[DetectLeaf<'_>],
    ) -> Result<Vec<Vec<Finding>>, Fault> {
        let loaded = &self.policy.plugins[plugin];
        let findings = loaded.plugin.detect(asked, &self.spent[plugin])?;
        let mut by_leaf = vec![Vec::new(); asked.len()];
        for finding in findings.into_vec() {
            by_leaf[finding.leaf].push(Finding {
                range: finding.at,
                label: loaded.labels[finding.label].clone(),
                detector: loaded.detector.clone(),
                confidence: finding.confidence,
            });
        }
        Ok(by_leaf)
    }
}

impl<'s> Look<'s, '_> {
    fn leaf(&mut self, leaf: Leaf<'s>) {
        let mut present = Present::new(self.run, leaf);
        // Media is on the list of what is not scanned; what turns out to be text beneath it is.
        if present.is_media() && present.beneath().is_empty() {
            return;
        }
        self.scanner.begin();
        for &(rule, redact) in self.rules {
            if !self.applies(rule, &leaf, &present.text) {
                continue;
            }
            if let Some(engine) = redact.engine {
                self.scan(rule, engine, &mut present);
            }
            for &plugin in &redact.plugins {
                self.show(plugin, rule, &mut present);
            }
        }
    }

    /// A plugin has no notion of a prefix: it is shown what may be changed, what is beneath that, and no more.
    fn show(&mut self, plugin: PluginIndex, rule: RuleIndex, present: &mut Present<'s>) {
        let (leaf, candidates) = (present.leaf, &mut self.candidates[plugin.get()]);
        if leaf.access() == Access::Open {
            candidates.push(Candidate { leaf, rule, text: present.text.clone(), beneath: None });
        }
        if matches!(leaf.access(), Access::Open | Access::Opaque) {
            candidates.extend(present.beneath().iter().enumerate().map(|(place, beneath)| Candidate {
                leaf,
                rule,
                text: Cow::Owned(beneath.text().to_owned()),
                beneath: Some((place, Arc::clone(beneath))),
            }));
        }
    }

    fn applies(&mut self, rule: RuleIndex, leaf: &Leaf<'s>, text: &str) -> bool {
        match self.run.applies(rule, leaf, text) {
            Ok(applies) => applies,
            Err(error) => {
                if !self.found.failed.iter().any(|(failed, _)| *failed == rule) {
                    self.found.failed.push((rule, error));
                }
                false
            }
        }
    }

    fn scan(&mut self, rule: RuleIndex, engine: EngineIndex, present: &mut Present<'s>) {
        let (leaf, first) = (present.leaf, self.found.hits.len());
        if !present.is_media() {
            let (findings, quiet) = self.scanner.scan(self.run, engine, present);
            self.found.hits.extend(findings.iter().map(|finding| (leaf.id(), Hit::new(finding, rule))));
            if quiet {
                return;
            }
        }
        let plain = first..self.found.hits.len();
        for at in 0..present.beneath().len() {
            let findings = self.scanner.scan_beneath(self.run, engine, present, at);
            let hits = findings.iter().map(|finding| Hit::new(finding, rule)).collect();
            self.beneath(leaf.id(), hits, &present.beneath()[at], &plain);
        }
    }

    /// Keeps what was found beneath a leaf's text, but for tokens of ours. `plain` is where the hits in that text itself stand,
    /// in order: what one of them covers was found already.
    fn beneath(&mut self, node: NodeId, hits: Vec<Hit>, beneath: &Beneath, plain: &Range<usize>) {
        if hits.is_empty() {
            return;
        }
        let text = beneath.text();
        for hit in exempt(hits, &self.run.vault.keys().find(text), text) {
            match beneath.lies(hit.range.clone()) {
                Lies::At(range) => {
                    let known = &self.found.hits[plain.clone()];
                    let next = known.partition_point(|(_, known)| known.range.end < range.end);
                    if known.get(next).is_none_or(|(_, known)| range.start < known.range.start) {
                        self.found.hits.push((node, Hit { range, ..hit }));
                    }
                }
                Lies::Under(under) => {
                    let words = text[hit.range.clone()].to_owned();
                    self.found.hidden.push(Hidden { node, hit, words, under });
                }
            }
        }
    }

    /// Asks one plugin about all its leaves at once. A fault drops the whole answer, for every rule that asked.
    fn ask(&mut self, plugin: PluginIndex, candidates: &[Candidate<'s>]) {
        // Two rules may want the same text seen: it is shown once.
        let groups: Vec<&[Candidate<'_>]> = candidates.chunk_by(|a, b| a.place() == b.place()).collect();
        let keys: Vec<Cow<'_, str>> = groups.iter().map(|group| group[0].leaf.key()).collect();
        let shown = groups.iter().zip(&keys).map(|(group, key)| detect_leaf(&group[0], key));
        let shown: Vec<DetectLeaf<'_>> = shown.collect();
        match self.answers(plugin, &shown) {
            Ok(answers) => {
                let mut plain: BTreeMap<(NodeId, RuleIndex), Range<usize>> = BTreeMap::new();
                for (group, answer) in groups.iter().zip(&answers) {
                    let findings = answer.findings().iter();
                    for candidate in *group {
                        let hits =
                            findings.clone().map(|finding| Hit::new(finding, candidate.rule)).collect();
                        let (first, of) = (self.found.hits.len(), (candidate.leaf.id(), candidate.rule));
                        let known = plain.get(&of).cloned().unwrap_or_default();
                        self.push(candidate, hits, &known);
                        if candidate.beneath.is_none() {
                            plain.insert(of, first..self.found.hits.len());
                        }
                    }
                }
            }
            Err(fault) => {
                let name = &self.run.policy.plugins[plugin].name;
                let mut rules: Vec<RuleIndex> = candidates.iter().map(|candidate| candidate.rule).collect();
                rules.sort_unstable();
                rules.dedup();
                let fault_of = |rule| (rule, Arc::clone(name), fault.clone());
                self.found.faults.extend(rules.into_iter().map(fault_of));
            }
        }
    }

    /// What a plugin finds in each leaf: what it said before, and for the rest what it says now.
    fn answers(&self, plugin: PluginIndex, shown: &[DetectLeaf<'_>]) -> Result<Vec<Answer>, Fault> {
        let policy = self.run.policy;
        let questions: Vec<_> = shown.iter().map(|leaf| policy.memo.plugin(plugin, leaf)).collect();
        let known = |question: &Option<_>| question.and_then(|question| policy.memo.recall(question));
        let mut answers: Vec<Option<Answer>> = questions.iter().map(known).collect();
        let open: Vec<usize> = (0..shown.len()).filter(|&place| answers[place].is_none()).collect();
        if !open.is_empty() {
            let asked: Vec<DetectLeaf<'_>> = open.iter().map(|&place| shown[place]).collect();
            for (place, findings) in open.into_iter().zip(self.run.call_detector(plugin, &asked)?) {
                let answer = Answer::new(&findings, false, false);
                if let Some(question) = questions[place] {
                    policy.memo.keep(question, answer.clone());
                }
                answers[place] = Some(answer);
            }
        }
        Ok(answers.into_iter().flatten().collect())
    }

    /// Keeps what a plugin found in a text. `plain` is where its hits in the leaf's own text stand, which comes first.
    fn push(&mut self, candidate: &Candidate<'_>, hits: Vec<Hit>, plain: &Range<usize>) {
        let node = candidate.leaf.id();
        match &candidate.beneath {
            Some((_, beneath)) => self.beneath(node, hits, beneath, plain),
            None => self.found.hits.extend(hits.into_iter().map(|hit| (node, hit))),
        }
    }
}

fn detect_leaf<'a>(candidate: &'a Candidate<'_>, key: &'a str) -> DetectLeaf<'a> {
    let leaf = &candidate.leaf;
    DetectLeaf {
        kind: leaf.kind(),
        value: leaf.value_type(),
        role: leaf.role(),
        tool: leaf.tool(),
        key,
        text: &candidate.text,
    }
}
