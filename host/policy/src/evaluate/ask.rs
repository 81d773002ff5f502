//! Detector plugins, each asked once for a search about every text that any rule wants it to see.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use leafgate_contract::{DetectLeaf, Fault};
use leafgate_detect::{Confidence, Finding};
use leafgate_tree::NodeId;

use super::Run;
use super::beneath::Beneath;
use super::found::Found;
use super::search::Search;
use super::site::Site;
use super::subject::Subject;
use crate::index::{PluginIndex, RuleIndex};
use crate::memo::{Answer, Digest, Memo, Question};

/// One text that a detector plugin is to see on behalf of a rule: a subject's own, or one of those
/// beneath it.
pub(super) struct Candidate<'s> {
    subject: Rc<Subject<'s>>,
    rule: RuleIndex,
    view: Option<usize>,
}

impl Candidate<'_> {
    /// Returns what the memo knows the text by, where it is digested as it came.
    fn digest(&self, memo: &Memo) -> Option<Digest> {
        if self.view.is_none() { self.subject.digest(memo) } else { None }
    }

    /// Returns the decoded text of a leaf that is spelled with escapes and stands as it came, unless
    /// others are to see it too.
    fn into_decoded(self) -> Option<(NodeId, String)> {
        let subject = Rc::into_inner(self.subject)?;
        match subject.decoded.into_inner()? {
            Cow::Owned(text) => subject.leaf.map(|leaf| (leaf.id(), text)),
            Cow::Borrowed(_) => None,
        }
    }

    fn place(&self) -> (Site, Option<usize>) {
        (self.subject.site, self.view)
    }

    fn beneath(&self) -> Option<&Beneath> {
        self.view.and_then(|view| Some(&**self.subject.beneath.as_ref()?.get(view)?))
    }

    fn text(&self) -> &str {
        self.beneath().map_or_else(|| self.subject.text(), Beneath::text)
    }

    fn as_leaf(&self) -> DetectLeaf<'_> {
        let Subject { kind, value, role, tool, .. } = *self.subject;
        DetectLeaf { kind, value, role, tool, key: &self.subject.key, text: self.text() }
    }
}

impl<'s> Search<'s, '_> {
    /// Returns true if and only if a rule shows a text at this site to its plugins. What stands
    /// outside the body is no leaf: only rules that look at everything ask a plugin about it.
    pub(super) fn asks_plugins(&self, rule: RuleIndex, site: Site) -> bool {
        let is_outside = matches!(site, Site::Outside { .. });
        !is_outside || self.run.policy.rules[rule].selector.is_everything_in_a_request()
    }

    /// Keeps a text, and those beneath it, for the plugins that are to see it. Detectors of the
    /// policy's own are left out where they can find nothing.
    pub(super) fn show(&mut self, subject: Subject<'s>, wanted: &[(PluginIndex, RuleIndex)]) {
        let policy = self.run.policy;
        let own = subject.is_for_plugins().then_some(None);
        let beneath = subject.beneath.as_ref().map_or(0, Vec::len);
        let subject = Rc::new(subject);
        for view in own.into_iter().chain((0..beneath).map(Some)) {
            let mut may_find = None;
            for &(plugin, rule) in wanted {
                let candidate = || Candidate { subject: Rc::clone(&subject), rule, view };
                if let Some(set) = plugin.get().checked_sub(policy.declared) {
                    let may_find = may_find.get_or_insert_with(|| policy.own.may_find(candidate().text()));
                    if !may_find[set] {
                        continue;
                    }
                }
                self.candidates[plugin.get()].push(candidate());
            }
        }
    }

    /// Asks the plugins, and returns everything that was found.
    pub(super) fn finish(mut self) -> Found {
        for (index, mut candidates) in std::mem::take(&mut self.candidates).into_iter().enumerate() {
            if !candidates.is_empty() && !self.found.too_much {
                // Two rules may want the same text seen: then they stand side by side.
                candidates.sort_by_key(Candidate::place);
                let since = self.run.trace.is_some().then(Instant::now);
                self.ask(PluginIndex::new(index), &candidates);
                self.found.took(candidates[0].rule, since);
            }
            if self.run.has_transformers() {
                let decoded = candidates.into_iter().filter_map(Candidate::into_decoded);
                self.found.decoded.extend(decoded);
            }
        }
        self.found
    }

    /// Asks one plugin about all its texts at once. A fault drops the whole answer, for every rule
    /// that asked.
    fn ask(&mut self, plugin: PluginIndex, candidates: &[Candidate<'s>]) {
        let groups: Vec<&[Candidate<'_>]> = candidates.chunk_by(|a, b| a.place() == b.place()).collect();
        let shown: Vec<DetectLeaf<'_>> = groups.iter().map(|group| group[0].as_leaf()).collect();
        let memo = &self.run.policy.memo;
        let question = |(group, leaf): (&&[Candidate<'_>], &DetectLeaf<'_>)| {
            memo.plugin(plugin, leaf, group[0].digest(memo))
        };
        let questions: Vec<Question> = groups.iter().zip(&shown).map(question).collect();
        match self.answers(plugin, &shown, &questions) {
            Ok(answers) => {
                let mut plain: BTreeMap<(Site, RuleIndex), Range<usize>> = BTreeMap::new();
                for (group, answer) in groups.iter().zip(&answers) {
                    for candidate in *group {
                        // A text itself comes before those beneath it.
                        let (first, of) = (self.found.hits.len(), (candidate.subject.site, candidate.rule));
                        let known = plain.get(&of).cloned().unwrap_or_default();
                        self.take(candidate, answer.findings(), &known);
                        if candidate.view.is_none() {
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
                let text = fault.parts().0.and_then(|place| groups.get(place));
                let node = text.and_then(|group| group[0].subject.site.node());
                let fault_of = |rule| (rule, Arc::clone(name), fault.clone(), node);
                self.found.faults.extend(rules.into_iter().map(fault_of));
            }
        }
    }

    /// Keeps what a plugin found in a text. `plain` is where its hits in the text itself stand.
    fn take(&mut self, candidate: &Candidate<'_>, findings: &[Finding], plain: &Range<usize>) {
        let subject = &candidate.subject;
        let sure: Vec<Finding>;
        let findings = match subject.wants_certainty() {
            false => findings,
            true => {
                let is_sure = |finding: &&Finding| finding.confidence == Confidence::High;
                sure = findings.iter().filter(is_sure).cloned().collect();
                &sure
            }
        };
        match (candidate.view, candidate.beneath()) {
            (Some(view), Some(beneath)) => {
                self.found.push_beneath(self.run, subject, (view, beneath), findings, candidate.rule, plain);
            }
            _ => self.found.push(self.run, subject, findings, candidate.rule),
        }
    }

    /// Returns what a plugin finds in each text: what it said before, and for the rest what it says
    /// now.
    fn answers(
        &self,
        plugin: PluginIndex,
        shown: &[DetectLeaf<'_>],
        questions: &[Question],
    ) -> Result<Vec<Answer>, Fault> {
        let policy = self.run.policy;
        let mut answers: Vec<Option<Answer>> =
            questions.iter().map(|&question| policy.memo.recall(question)).collect();
        let open: Vec<usize> = (0..shown.len()).filter(|&at| answers[at].is_none()).collect();
        if !open.is_empty() {
            let asked: Vec<DetectLeaf<'_>> = open.iter().map(|&at| shown[at]).collect();
            let found = self.run.call_detector(plugin, &asked);
            let found = found.map_err(|fault| fault.moved(|place| open[place]))?;
            for (at, findings) in open.into_iter().zip(found) {
                let answer = Answer::new(&findings, false, false);
                policy.memo.keep(questions[at], answer.clone());
                answers[at] = Some(answer);
            }
        }
        Ok(answers.into_iter().flatten().collect())
    }
}

impl Run<'_> {
    /// Calls a detector plugin, and returns what it finds in each text.
    fn call_detector(
        &self,
        plugin: PluginIndex,
        asked: &[DetectLeaf<'_>],
    ) -> Result<Vec<Vec<Finding>>, Fault> {
        let loaded = &self.policy.plugins[plugin];
        let findings = loaded.plugin.detect(asked, &self.spent[plugin])?;
        let mut by_leaf = vec![Vec::new(); asked.len()];
        for finding in findings.into_vec() {
            by_leaf[finding.leaf].push(loaded.finding(finding.label, finding.at, finding.confidence));
        }
        Ok(by_leaf)
    }
}
