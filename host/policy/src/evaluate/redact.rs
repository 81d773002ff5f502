//! Phase 1, and again after every rule that writes: what was found is replaced.
//!
//! The findings of all rules are united and replaced text by text. What cannot be replaced holds
//! the request by the rule's `on_unredactable`: keys; protected, frozen and raw leaves; numbers
//! outside tool data; path, query and headers. What is seen only once a text is decoded pauses,
//! where the rule does not say otherwise.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use leafgate_tree::NodeId;

use super::found::{Found, MAX_FINDINGS};
use super::hits::Hit;
use super::known::Known;
use super::seams::Seams;
use super::search::{Rules, Search};
use super::site::Site;
use super::trace::{EXCEPTED, PUBLISHED};
use super::{Run, micros};
use crate::condition::FindingFact;
use crate::index::RuleIndex;
use crate::rule::{Action, Redact, Rule};
use crate::verdict::Cause;

impl Rule {
    /// What a redact rule does; `None` for any other.
    pub(super) fn redact(&self) -> Option<&Redact> {
        match &self.action {
            Action::Redact(redact) => Some(redact),
            Action::Classify(_) | Action::Pin(_) | Action::Edit(_) | Action::Decide(_) => None,
        }
    }
}

impl<'p> Run<'p> {
    /// Redacts the received request, keys and what stands outside the body included.
    pub(super) fn redact_received(&mut self) {
        let rules = self.redact_rules();
        if rules.is_empty() {
            return;
        }
        rules.iter().for_each(|(index, _)| self.trace_rule(*index));
        let known = Known::of(self, &rules);
        let all_seams = !known.asked_always.is_empty();
        let mut seams = Seams::of(self.document, |list| all_seams || known.has_open_seams(list));
        let mut search = Search::new(self);
        search.keys(&rules, &known);
        search.leaves(&rules, &known);
        search.seams(&mut seams, |list| match known.has_open_seams(list) {
            true => &rules,
            false => &known.asked_always,
        });
        search.outside(&rules);
        search.files(&rules);
        let found = search.finish();
        known.keep(self, &found, &seams);
        self.settle(&rules, found, &seams);
    }

    /// Redacts what an author wrote or put in, before anything else looks at it, but for the messages that were
    /// put in first, so many of them.
    pub(super) fn redact_written(&mut self, written: &[NodeId], inserted: usize) {
        let rules = self.redact_rules();
        if rules.is_empty() {
            return;
        }
        let written: BTreeSet<NodeId> = written.iter().copied().collect();
        let mut seams = Seams::around(self.document, &written);
        let mut search = Search::new(self);
        for leaf in written.iter().filter_map(|&node| self.document.settable(node)) {
            search.leaf(&rules, leaf);
        }
        search.seams(&mut seams, |_| &rules);
        search.inserted(&rules, inserted);
        search.options(&rules);
        let found = search.finish();
        self.settle(&rules, found, &seams);
    }

    /// Searches what stands outside the body, and nothing else.
    pub(super) fn redact_outside(&mut self) {
        let rules = self.redact_rules();
        let mut search = Search::new(self);
        search.outside(&rules);
        let found = search.finish();
        self.settle(&rules, found, &Seams::default());
    }

    /// Returns the redact rules that apply to this request.
    pub(super) fn redact_rules(&self) -> Rules<'p> {
        let mut rules = self.all_redact_rules();
        rules.retain(|(index, _)| self.active[index.get()].is_some());
        rules
    }

    /// Returns all redact rules of the policy.
    pub(super) fn all_redact_rules(&self) -> Rules<'p> {
        let rules = self.policy.rules.iter().enumerate();
        rules.filter_map(|(index, rule)| Some((RuleIndex::new(index), rule.redact()?))).collect()
    }

    /// Acts on what a search found: what can be replaced is, and what cannot holds the request.
    fn settle(&mut self, rules: &Rules<'p>, found: Found, seams: &Seams) {
        if found.too_much {
            return self.too_much(rules);
        }
        self.decoded.extend(found.decoded);
        for (index, error) in found.failed {
            self.rule_failed(index, error.to_string());
        }
        for (index, plugin, fault, node) in found.faults {
            self.plugin_failed(index, &plugin, &fault, node);
        }
        for (index, site, label) in &found.published {
            Self::count(&mut self.report.rules[*index].published, label.as_str());
            self.trace_stood(*index, site.node(), PUBLISHED, Some(label));
        }
        for (index, site, label) in &found.excepted {
            Self::count(&mut self.report.rules[*index].excepted, label.as_str());
            self.trace_stood(*index, site.node(), EXCEPTED, Some(label));
        }
        for (index, took) in found.took {
            *self.report.rules[index].micros.get_or_insert(0) += micros(took);
        }
        let guarded = self.guarded(&found.hidden, seams);
        let covered = self.covered(&found.hits);
        let mut leaves: BTreeMap<NodeId, Vec<Hit>> = BTreeMap::new();
        let mut inserted: BTreeMap<usize, Vec<Hit>> = BTreeMap::new();
        let mut borders: Vec<(usize, Hit)> = Vec::new();
        let mut fixed: Vec<(Site, Hit)> = Vec::new();
        for (site, hit) in found.hits {
            match site {
                Site::Leaf(node) => leaves.entry(node).or_default().push(hit),
                Site::Inserted(number) => inserted.entry(number).or_default().push(hit),
                Site::Seam(number) => borders.push((number, hit)),
                Site::Key(_) | Site::Option(_) | Site::Outside { .. } | Site::File(_) => {
                    fixed.push((site, hit))
                }
                Site::Elsewhere => {}
            }
        }
        // Names first: what holds a finding is not spelled where another place below it is named.
        self.hold_fixed(&fixed, &found.hidden);
        self.hold_hidden(found.hidden, &covered, seams);
        self.replace_over_seams(borders, &mut leaves, seams, &guarded);
        for (node, hits) in leaves {
            self.replace_in(&[node], vec![hits], Vec::new(), &guarded);
        }
        for (number, hits) in inserted {
            self.replace_in_inserted(number, hits);
        }
    }

    /// Blocks a request with more findings than it may have: each enforcing rule would leave some
    /// of them.
    fn too_much(&mut self, rules: &Rules<'p>) {
        for &(index, _) in rules {
            let why = format!("more than {MAX_FINDINGS} findings in one request (cap `max_findings`)");
            self.report.rules[index].errors.push(why.clone());
            self.hold(index, Cause::TooMuch, true, why);
        }
    }

    /// Counts one more of a label.
    fn count(by_label: &mut BTreeMap<String, usize>, label: &str) {
        match by_label.get_mut(label) {
            Some(count) => *count += 1,
            None => _ = by_label.insert(label.to_owned(), 1),
        }
    }

    /// Keeps findings for `leaf.findings` and counts them, and the text once for each rule that
    /// found something in it.
    pub(super) fn remember(&mut self, of: Site, hits: &[Hit]) {
        let mut rules: Vec<RuleIndex> = Vec::new();
        for hit in hits {
            let report = &mut self.report.rules[hit.rule];
            Self::count(
                if hit.published { &mut report.published } else { &mut report.findings },
                hit.label.as_str(),
            );
            if let Site::Leaf(node) = of {
                if hit.published {
                    self.trace_stood(hit.rule, Some(node), PUBLISHED, Some(&hit.label));
                }
                self.would_have(hit.rule, Some(node), || format!("redact {}", hit.label));
            }
            if !rules.contains(&hit.rule) {
                rules.push(hit.rule);
                self.report.rules[hit.rule].matched += 1;
            }
        }
        let fact = |hit: &Hit| FindingFact {
            label: hit.label.clone(),
            detector: hit.detector.clone(),
            confidence: hit.confidence,
        };
        // What several rules look for was found once.
        let mut seen = HashSet::new();
        let found: Vec<&Hit> = hits.iter().filter(|hit| seen.insert((&hit.range, &hit.detector))).collect();
        // A rule that pauses for a finding does not pause for an example.
        let (examples, live): (Vec<&Hit>, Vec<&Hit>) = found.into_iter().partition(|hit| hit.published);
        for example in examples {
            *self.recall.examples.entry(example.detector.clone()).or_default() += 1;
        }
        let live: Vec<FindingFact> = live.into_iter().map(fact).collect();
        if !live.is_empty() {
            self.recall.findings.entry(of).or_default().extend(live);
        }
    }

    pub(super) fn count_finding(&mut self, index: RuleIndex, label: &str) {
        Self::count(&mut self.report.rules[index].findings, label);
    }
}
