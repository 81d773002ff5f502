//! What rules did, in numbers and names.

use leafgate_policy::{Evaluation, MAX_WOULD, Mode, Policy, RuleReport, Verdict};

/// What the policy did, in numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct RuleTally {
    /// The rules that matched, by id.
    pub(crate) rules: Vec<String>,
    /// Those of them that only warn.
    pub(crate) warnings: Vec<String>,
    /// What rules that only count would have done, and where. No text.
    pub(crate) would: Vec<String>,
    /// Which rule blocked the request, and what an operator needs to know about it: a place, a plugin's fault, a limit. No text.
    pub(crate) held: Option<String>,
    /// Rules that could not run to their end, and why.
    pub(crate) errors: Vec<String>,
    /// Whether a person is asked.
    pub(crate) waits: bool,
    /// The profile that made the request, and what that took.
    pub(crate) assembled: Option<String>,
    /// Packed files whose text was read.
    pub(crate) files_read: usize,
    /// Files that could not be looked into.
    pub(crate) unread: usize,
    pub(crate) edits: usize,
    pub(crate) redactions: usize,
    /// Findings by detector.
    pub(crate) findings: Vec<(String, usize)>,
    /// The rules of `errors`, by id.
    pub(crate) failed: Vec<String>,
    /// Microseconds by plugin.
    pub(crate) plugins: Vec<(String, u64)>,
}

impl RuleTally {
    /// Returns what rules did about one request or answer.
    pub(crate) fn of(evaluation: &Evaluation) -> Self {
        let report = &evaluation.report;
        let matched = || report.rules.iter().filter(|rule| rule.has_matched());
        let found = evaluation.recall.detectors();
        let errors =
            report.rules.iter().flat_map(|rule| rule.errors.iter().map(move |error| (&rule.rule, error)));
        let failed = errors.clone().map(|(rule, _)| rule.to_string()).collect();
        RuleTally {
            held: match &evaluation.verdict {
                Verdict::Block(hold) => Some(format!("{}: {}", hold.rule, hold.detail)),
                _ => None,
            },
            waits: matches!(evaluation.verdict, Verdict::Pause(_)),
            errors: errors.map(|(rule, error)| format!("{rule}: {error}")).collect(),
            rules: matched().map(|rule| rule.rule.to_string()).collect(),
            warnings: matched()
                .filter(|rule| rule.mode == Mode::Warn)
                .map(|rule| rule.rule.to_string())
                .collect(),
            would: report.rules.iter().filter_map(would).collect(),
            findings: found.into_iter().map(|(detector, count)| (detector.to_owned(), count)).collect(),
            failed,
            plugins: report.plugins.iter().map(|took| (took.plugin.to_string(), took.micros)).collect(),
            edits: evaluation.draft.edits().count(),
            redactions: evaluation.draft.redactions().count(),
            ..RuleTally::default()
        }
    }

    /// Adds what rules did before the request was judged anew elsewhere. What holds it, and what was
    /// edited, is what happened there.
    pub(crate) fn add_before(&mut self, before: RuleTally) {
        let add = |to: &mut Vec<String>, from: Vec<String>| {
            let new: Vec<String> = from.into_iter().filter(|one| !to.contains(one)).collect();
            to.splice(0..0, new);
        };
        add(&mut self.rules, before.rules);
        add(&mut self.warnings, before.warnings);
        add(&mut self.would, before.would);
        add(&mut self.errors, before.errors);
        add(&mut self.failed, before.failed);
    }

    /// Returns what of it is new to who has counted `before`. Time is spent each time.
    pub(crate) fn beyond(&self, before: &RuleTally) -> RuleTally {
        let new = |all: &[String], known: &[String]| -> Vec<String> {
            all.iter().filter(|one| !known.contains(one)).cloned().collect()
        };
        let is_new = |detector: &str| before.findings.iter().all(|(known, _)| known != detector);
        let findings = self.findings.iter().filter(|(detector, _)| is_new(detector));
        RuleTally {
            rules: new(&self.rules, &before.rules),
            errors: new(&self.errors, &before.errors),
            failed: new(&self.failed, &before.failed),
            findings: findings.cloned().collect(),
            plugins: self.plugins.clone(),
            ..RuleTally::default()
        }
    }

    /// Adds what rules did about more of the same.
    pub(crate) fn also(&mut self, more: RuleTally) {
        let before = std::mem::replace(self, more);
        let findings = before.findings.clone();
        self.add_before(before);
        self.findings.extend(findings);
    }

    /// A rule that could not run is a guard that did not stand: it gets a line of its own, whatever its
    /// `on_error` lets happen.
    pub(crate) fn warn_of_errors(&self, policy: &Policy) {
        for error in &self.errors {
            tracing::warn!(
                target: "leafgate::policy",
                error,
                generation = policy.generation_name(),
                held = self.held.is_some() || self.waits,
                "a rule could not run to its end"
            );
        }
    }
}

/// What a rule that only counts would have done, first of all, and where.
fn would(rule: &RuleReport) -> Option<String> {
    let first = rule.would.first()?;
    let more = match rule.would.len() {
        1 => String::new(),
        MAX_WOULD => " and more".to_owned(),
        count => format!(" and {} more", count - 1),
    };
    Some(format!("{}: {first}{more}", rule.rule))
}
