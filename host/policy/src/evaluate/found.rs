//! What a search found, and what of it counts: not what an exception allows, no token of ours, no
//! published example that stays.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use leafgate_contract::Fault;
use leafgate_detect::{Finding, Label};
use leafgate_tree::NodeId;

use super::Run;
use super::beneath::{Beneath, Under};
use super::hits::{Hit, exempt};
use super::site::Site;
use super::subject::Subject;
use crate::condition::ConditionError;
use crate::index::RuleIndex;
use crate::rule::Published;

/// How many findings one request may have. Redaction costs time and memory for each; a real request
/// has a few dozen.
pub(super) const MAX_FINDINGS: usize = 100_000;

/// What one search found.
#[derive(Default)]
pub(super) struct Found {
    pub(super) hits: Vec<(Site, Hit)>,
    /// Hits in texts beneath those that were searched, where nothing can be replaced.
    pub(super) hidden: Vec<Hidden>,
    /// Rules whose `when` failed, each once.
    pub(super) failed: Vec<(RuleIndex, ConditionError)>,
    /// Rules whose plugin gave no answer, and the value on which it failed.
    pub(super) faults: Vec<(RuleIndex, Arc<str>, Fault, Option<NodeId>)>,
    /// Published examples that are left alone.
    pub(super) published: Vec<LeftAlone>,
    /// What an exception allows.
    pub(super) excepted: Vec<LeftAlone>,
    /// How long was looked on behalf of each rule, where somebody wants to know. What rules look for
    /// together counts for the first of them.
    pub(super) took: BTreeMap<RuleIndex, Duration>,
    /// Whether there was more than [`MAX_FINDINGS`]; then the rest was not looked for.
    pub(super) too_much: bool,
    /// Where any detector found anything, whatever becomes of it: tokens of ours and examples too.
    pub(super) noisy: Vec<Site>,
    /// Texts of leaves as they came that were decoded, where transformers may want to see them too.
    pub(super) decoded: Vec<(NodeId, String)>,
}

/// A finding that nothing is done about, by rule and place.
pub(super) type LeftAlone = (RuleIndex, Site, Label);

/// A hit beneath a text. No `Debug`: it holds what was found.
pub(super) struct Hidden {
    pub(super) site: Site,
    pub(super) hit: Hit,
    /// The words found there.
    pub(super) words: String,
    pub(super) under: Under,
    /// Which of the texts beneath it is.
    pub(super) view: usize,
}

impl Found {
    /// Keeps what was found in a text itself. Where nothing is ever replaced, tokens of ours are
    /// taken out at once.
    pub(super) fn push(
        &mut self,
        run: &Run<'_>,
        subject: &Subject<'_>,
        findings: &[Finding],
        rule: RuleIndex,
    ) {
        if findings.is_empty() || !self.has_room(findings.len()) {
            return;
        }
        let site = subject.site;
        self.noisy.push(site);
        let replaceable = subject.is_replaceable(run);
        let findings = self.without_excepted(run, site, || subject.text(), findings, rule);
        let findings = self.without_kept(run, site, &findings, rule, replaceable);
        let mut hits: Vec<Hit> = findings.iter().map(|finding| Hit::new(finding.clone(), rule)).collect();
        if !site.is_replaced() {
            let text = subject.text();
            hits = exempt(hits, &run.vault.keys().find(text), text);
        }
        self.hits.extend(hits.into_iter().map(|hit| (site, hit)));
    }

    /// Keeps what was found beneath a text, but for tokens of ours: as a hit of the text itself
    /// where that spells it and nothing else. `plain` is where the hits in the text itself stand,
    /// in order: what one of them covers was found already.
    pub(super) fn push_beneath(
        &mut self,
        run: &Run<'_>,
        subject: &Subject<'_>,
        (view, beneath): (usize, &Beneath),
        findings: &[Finding],
        rule: RuleIndex,
        plain: &Range<usize>,
    ) {
        if findings.is_empty() || !self.has_room(findings.len()) {
            return;
        }
        let (site, replaceable) = (subject.site, subject.is_replaceable(run));
        self.noisy.push(site);
        let text = beneath.text();
        let findings = self.without_excepted(run, site, || text, findings, rule);
        let findings = self.without_kept(run, site, &findings, rule, replaceable && beneath.is_exact());
        let hits = findings.iter().map(|finding| Hit::new(finding.clone(), rule)).collect();
        for hit in exempt(hits, &run.vault.keys().find(text), text) {
            match beneath.spelled_at(hit.range.clone()) {
                Ok(range) => {
                    let known = &self.hits[plain.clone()];
                    let next = known.partition_point(|(_, known)| known.range.end < range.end);
                    if known.get(next).is_none_or(|(_, known)| range.start < known.range.start) {
                        self.hits.push((site, hit.at(range)));
                    }
                }
                Err(under) => {
                    let words = text[hit.range.clone()].to_owned();
                    self.hidden.push(Hidden { site, hit, words, under, view });
                }
            }
        }
    }

    /// Takes out what an exception allows, and keeps count of it.
    fn without_excepted<'f, 't>(
        &mut self,
        run: &Run<'_>,
        site: Site,
        text: impl FnOnce() -> &'t str,
        findings: &'f [Finding],
        rule: RuleIndex,
    ) -> Cow<'f, [Finding]> {
        if run.policy.exceptions.is_empty() {
            return Cow::Borrowed(findings);
        }
        let text = text();
        let excepts = |found: &Finding| run.excepts(site, rule, &found.label, &text[found.range.clone()]);
        leave_alone(&mut self.excepted, (rule, site), findings, excepts)
    }

    /// Takes out published examples that nothing replaces, by the rule's will or because nothing
    /// can, and keeps count of them: they hold no request.
    fn without_kept<'f>(
        &mut self,
        run: &Run<'_>,
        site: Site,
        findings: &'f [Finding],
        rule: RuleIndex,
        replaceable: bool,
    ) -> Cow<'f, [Finding]> {
        let redact = run.policy.rules[rule].redact();
        let keeps = redact.is_some_and(|redact| !replaceable || redact.published == Published::Keep);
        leave_alone(&mut self.published, (rule, site), findings, |found| keeps && found.published)
    }

    /// Adds to the time of a rule, where it is taken.
    pub(super) fn took(&mut self, rule: RuleIndex, since: Option<Instant>) {
        if let Some(since) = since {
            *self.took.entry(rule).or_default() += since.elapsed();
        }
    }

    fn has_room(&mut self, more: usize) -> bool {
        self.too_much |= self.hits.len() + self.hidden.len() + more > MAX_FINDINGS;
        !self.too_much
    }
}

/// Takes the findings out that nothing is done about, and lists them.
fn leave_alone<'f>(
    alone: &mut Vec<LeftAlone>,
    (rule, site): (RuleIndex, Site),
    findings: &'f [Finding],
    is_one: impl Fn(&Finding) -> bool,
) -> Cow<'f, [Finding]> {
    if !findings.iter().any(&is_one) {
        return Cow::Borrowed(findings);
    }
    let (left, rest): (Vec<Finding>, Vec<Finding>) = findings.iter().cloned().partition(is_one);
    alone.extend(left.into_iter().map(|finding| (rule, site, finding.label)));
    Cow::Owned(rest)
}
