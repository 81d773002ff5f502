//! Detection over many leaves: one walk for all redact rules, nothing changed yet.
//!
//! Each distinct set of built-in detectors runs at most once per leaf. Each detector plugin is called once, with every leaf that any
//! rule wants it to see.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use leafgate_detect::{Finding, Input};
use leafgate_tree::{Access, Leaf, NodeId, ValueType};

use super::Run;
use super::answer::check_findings;
use super::beneath::{Beneath, Under, beneath};
use super::hits::{Hit, exempt};
use crate::condition::ConditionError;
use crate::plugin::{DetectLeaf, Fault};
use crate::rule::Redact;

/// The redact rules of a policy that apply to a request, with their places.
pub(super) type Rules<'p> = Vec<(usize, &'p Redact)>;

/// What one walk found.
#[derive(Default)]
pub(super) struct Found {
    pub(super) hits: Vec<(NodeId, Hit)>,
    /// Hits in texts beneath those of leaves.
    pub(super) hidden: Vec<Hidden>,
    /// Rules whose `when` failed, each once.
    pub(super) failed: Vec<(usize, ConditionError)>,
    /// Rules whose plugin gave no answer.
    pub(super) faults: Vec<(usize, Arc<str>, Fault)>,
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
    rule: usize,
    text: Cow<'s, str>,
    /// Where it lies if it is not the leaf's own text, and which of those it is.
    under: Option<(usize, Under)>,
}

impl Candidate<'_> {
    fn place(&self) -> (NodeId, Option<usize>) {
        (self.leaf.id(), self.under.as_ref().map(|(place, _)| *place))
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
            // `true` and `null` have no room for a value.
            if !matches!(leaf.value_type(), ValueType::Boolean | ValueType::Null) {
                look.leaf(leaf);
            }
        }
        for (plugin, mut candidates) in std::mem::take(&mut look.candidates).into_iter().enumerate() {
            if !candidates.is_empty() {
                // Two rules may want the same text seen: then they stand side by side.
                candidates.sort_by_key(Candidate::place);
                look.ask(plugin, &candidates);
            }
        }
        look.found
    }
}

impl<'s> Look<'s, '_> {
    fn leaf(&mut self, leaf: Leaf<'s>) {
        let text = self.run.draft.text(leaf.id()).into_cow();
        let beneath = beneath(&leaf, &text, self.run.draft.is_unwalked(leaf.id()));
        // Media is on the list of what is not scanned; what turns out to be text beneath it is.
        let is_media = leaf.access() == Access::Opaque;
        if is_media && beneath.is_empty() {
            return;
        }
        self.scanner.begin();
        for &(place, redact) in self.rules {
            if !self.applies(place, &leaf, &text) {
                continue;
            }
            if let Some(engine) = redact.engine {
                if !is_media {
                    self.scan(place, engine, &leaf, &text);
                }
                self.scan_beneath(place, engine, &leaf, &beneath);
            }
            for &plugin in &redact.plugins {
                self.show(plugin, place, leaf, text.clone(), &beneath);
            }
        }
    }

    /// A plugin has no notion of a prefix: it is shown what may be changed, what is beneath that, and no more.
    fn show(&mut self, plugin: usize, rule: usize, leaf: Leaf<'s>, text: Cow<'s, str>, beneath: &[Beneath]) {
        let candidates = &mut self.candidates[plugin];
        if leaf.access() == Access::Open {
            candidates.push(Candidate { leaf, rule, text, under: None });
        }
        if matches!(leaf.access(), Access::Open | Access::Opaque) {
            candidates.extend(beneath.iter().enumerate().map(|(place, beneath)| Candidate {
                leaf,
                rule,
                text: Cow::Owned(beneath.text.clone()),
                under: Some((place, beneath.under.clone())),
            }));
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

    fn scan(&mut self, place: usize, engine: usize, leaf: &Leaf<'s>, text: &str) {
        let key = leaf.key();
        let input = Input::new(text).with_key(&key);
        let input = if leaf.access() == Access::Open { input } else { input.prefix_only() };
        let findings = self.scanner.scan(self.run, engine, &input, None);
        self.found.hits.extend(findings.iter().map(|finding| (leaf.id(), Hit::new(finding, place))));
    }

    fn scan_beneath(&mut self, place: usize, engine: usize, leaf: &Leaf<'s>, beneath: &[Beneath]) {
        for (at, Beneath { text, under }) in beneath.iter().enumerate() {
            // The leaf's key names what is encoded as little as it names a part of it.
            let key = if *under == Under::Escapes { leaf.key() } else { Cow::Borrowed("") };
            let input = Input::new(text).with_key(&key);
            let input = if leaf.access() == Access::Protected { input.prefix_only() } else { input };
            let findings = self.scanner.scan(self.run, engine, &input, Some(at));
            let hits = findings.iter().map(|finding| Hit::new(finding, place)).collect();
            self.hidden(leaf.id(), hits, text, under);
        }
    }

    /// Keeps what was found beneath a leaf's text, but for tokens of ours.
    fn hidden(&mut self, node: NodeId, hits: Vec<Hit>, text: &str, under: &Under) {
        if hits.is_empty() {
            return;
        }
        for hit in exempt(hits, &self.run.vault.keys().find(text), text) {
            let words = text[hit.range.clone()].to_owned();
            self.found.hidden.push(Hidden { node, hit, words, under: under.clone() });
        }
    }

    /// Asks one plugin about all its leaves at once. A fault drops the whole answer, for every rule that asked.
    fn ask(&mut self, plugin: usize, candidates: &[Candidate<'s>]) {
        let loaded = &self.run.policy.plugins[plugin];
        // Two rules may want the same text seen: it is shown once.
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
        match &candidate.under {
            Some((_, under)) => self.hidden(node, vec![hit], &candidate.text, under),
            None => self.found.hits.push((node, hit)),
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

/// Runs each engine at most once per text, and keeps its buffer from leaf to leaf.
#[derive(Default)]
struct Scanner {
    /// Which engine has run on the leaf's text, or on which of those beneath it, and where its findings lie.
    ran: Vec<(usize, Option<usize>, Range<usize>)>,
    findings: Vec<Finding>,
}

impl Scanner {
    fn begin(&mut self) {
        self.ran.clear();
        self.findings.clear();
    }

    fn scan(
        &mut self,
        run: &Run<'_>,
        engine: usize,
        input: &Input<'_>,
        beneath: Option<usize>,
    ) -> &[Finding] {
        let known = self.ran.iter().find(|(ran, which, _)| (*ran, *which) == (engine, beneath));
        let range = match known {
            Some((.., range)) => range.clone(),
            None => {
                let start = self.findings.len();
                run.policy.engines[engine].scan_into(input, &mut self.findings);
                let range = start..self.findings.len();
                self.ran.push((engine, beneath, range.clone()));
                range
            }
        };
        &self.findings[range]
    }
}
