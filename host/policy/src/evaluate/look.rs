//! Detection over many leaves: one walk for all redact rules, nothing changed yet.
//!
//! Each distinct set of built-in detectors runs at most once per leaf. Each detector plugin is called once, with every leaf that any
//! rule wants it to see.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use leafgate_detect::{Finding, Input};
use leafgate_tree::{Access, Leaf, NodeId, ValueType, unescape_deeply};

use super::Run;
use super::answer::check_findings;
use super::hits::Hit;
use crate::condition::ConditionError;
use crate::plugin::{DetectLeaf, Fault};
use crate::rule::Redact;

/// The redact rules of a policy that apply to a request, with their places.
pub(super) type Rules<'p> = Vec<(usize, &'p Redact)>;

/// What one walk found.
#[derive(Default)]
pub(super) struct Found {
    pub(super) hits: Vec<(NodeId, Hit)>,
    /// Hits in the unescaped text of leaves beyond the tree's caps, with the words found there.
    pub(super) hidden: Vec<(NodeId, Hit, String)>,
    /// Rules whose `when` failed, each once.
    pub(super) failed: Vec<(usize, ConditionError)>,
    /// Rules whose plugin gave no answer.
    pub(super) faults: Vec<(usize, Arc<str>, Fault)>,
}

/// One text that a detector plugin is to see on behalf of a rule.
struct Candidate<'s> {
    leaf: Leaf<'s>,
    rule: usize,
    text: Cow<'s, str>,
    /// Whether it is the unescaped text of a leaf beyond the caps.
    hidden: bool,
}

impl Candidate<'_> {
    fn place(&self) -> (NodeId, bool) {
        (self.leaf.id(), self.hidden)
    }
}

/// A walk under way.
struct Look<'s, 'p> {
    run: &'s Run<'p>,
    rules: &'s Rules<'p>,
    scanner: Scanner,
    /// By place of the plugin.
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
            // Media is on the list of what is not scanned; `true` and `null` have no room for a value.
            let scanned = leaf.access() != Access::Opaque
                && !matches!(leaf.value_type(), ValueType::Boolean | ValueType::Null);
            if scanned {
                look.leaf(leaf);
            }
        }
        for (plugin, candidates) in std::mem::take(&mut look.candidates).into_iter().enumerate() {
            if !candidates.is_empty() {
                look.ask(plugin, &candidates);
            }
        }
        look.found
    }
}

impl<'s> Look<'s, '_> {
    fn leaf(&mut self, leaf: Leaf<'s>) {
        let text = self.run.draft.text(leaf.id()).into_cow();
        let plain = self.run.draft.is_unwalked(leaf.id()).then(|| unescape_deeply(&text));
        self.scanner.begin();
        for &(place, redact) in self.rules {
            if !self.applies(place, &leaf, &text) {
                continue;
            }
            if let Some(engine) = redact.engine {
                self.scan(place, engine, &leaf, &text, plain.as_deref());
            }
            // A plugin has no notion of a prefix: it is shown what may be changed, and no more.
            if leaf.access() == Access::Open {
                for &plugin in &redact.plugins {
                    let candidates = &mut self.candidates[plugin];
                    candidates.push(Candidate { leaf, rule: place, text: text.clone(), hidden: false });
                    let plain = plain.clone().map(Cow::Owned);
                    candidates.extend(plain.map(|text| Candidate { leaf, rule: place, text, hidden: true }));
                }
            }
        }
    }

    fn applies(&mut self, place: usize, leaf: &Leaf<'s>, text: &str) -> bool {
        match self.run.applies(place, leaf, text) {
            Ok(applies) => applies,
            Err(error) => {
                if !self.found.failed.iter().any(|(failed, _)| *failed == place) {
                    self.found.failed.push((place, error));
                }
                false
            }
        }
    }

    fn scan(&mut self, place: usize, engine: usize, leaf: &Leaf<'s>, text: &str, plain: Option<&str>) {
        let key = leaf.key();
        let input = Input::new(text).with_key(&key);
        let input = if leaf.access() == Access::Open { input } else { input.prefix_only() };
        let hits =
            self.scanner.scan(self.run, engine, &input, false).iter().map(|finding| Hit::new(finding, place));
        self.found.hits.extend(hits.map(|hit| (leaf.id(), hit)));
        if let Some(plain) = plain {
            let input = Input { text: plain, ..input };
            for finding in self.scanner.scan(self.run, engine, &input, true) {
                let words = plain[finding.range.clone()].to_owned();
                self.found.hidden.push((leaf.id(), Hit::new(finding, place), words));
            }
        }
    }

    /// Asks one plugin about all its leaves at once. A fault drops the whole answer, for every rule that asked.
    fn ask(&mut self, plugin: usize, candidates: &[Candidate<'s>]) {
        let loaded = &self.run.policy.plugins[plugin];
        // Two rules may want the same text seen: it is shown once. They stand side by side.
        let groups: Vec<&[Candidate<'_>]> = candidates.chunk_by(|a, b| a.place() == b.place()).collect();
        let keys: Vec<Cow<'_, str>> = groups.iter().map(|group| group[0].leaf.key()).collect();
        let shown = groups.iter().zip(&keys).map(|(group, key)| detect_leaf(&group[0], key));
        let shown: Vec<DetectLeaf<'_>> = shown.collect();
        let answer = loaded.plugin.detect(&shown);
        match answer.and_then(|findings| check_findings(findings, &shown, loaded.labels.len())) {
            Ok(findings) => {
                for finding in findings {
                    for candidate in groups[finding.leaf] {
                        let hit = Hit {
                            range: finding.at.clone(),
                            label: loaded.labels[finding.label].clone(),
                            detector: loaded.detector.clone(),
                            confidence: finding.confidence,
                            rule: candidate.rule,
                        };
                        self.push(candidate, hit);
                    }
                }
            }
            Err(fault) => {
                let mut rules: Vec<usize> = candidates.iter().map(|candidate| candidate.rule).collect();
                rules.sort_unstable();
                rules.dedup();
                let fault_of = |rule| (rule, Arc::clone(&loaded.name), fault.clone());
                self.found.faults.extend(rules.into_iter().map(fault_of));
            }
        }
    }

    fn push(&mut self, candidate: &Candidate<'_>, hit: Hit) {
        let node = candidate.leaf.id();
        if candidate.hidden {
            let words = candidate.text[hit.range.clone()].to_owned();
            self.found.hidden.push((node, hit, words));
        } else {
            self.found.hits.push((node, hit));
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

/// Runs each engine at most once per leaf, and keeps its buffer from leaf to leaf.
#[derive(Default)]
struct Scanner {
    /// Which engine has run on this leaf, on its plain or its unescaped text, and where its findings lie.
    ran: Vec<(usize, bool, Range<usize>)>,
    findings: Vec<Finding>,
}

impl Scanner {
    fn begin(&mut self) {
        self.ran.clear();
        self.findings.clear();
    }

    fn scan(&mut self, run: &Run<'_>, engine: usize, input: &Input<'_>, unescaped: bool) -> &[Finding] {
        let known = self.ran.iter().find(|(ran, plain, _)| (*ran, *plain) == (engine, unescaped));
        let range = match known {
            Some((.., range)) => range.clone(),
            None => {
                let start = self.findings.len();
                run.policy.engines[engine].scan_into(input, &mut self.findings);
                let range = start..self.findings.len();
                self.ran.push((engine, unescaped, range.clone()));
                range
            }
        };
        &self.findings[range]
    }
}
