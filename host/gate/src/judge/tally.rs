//! What rules did, in numbers and names.

use leafgate_policy::{Evaluation, MAX_WOULD, Mode, RuleReport, Verdict};

use crate::log::Tally;

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

/// Returns what rules did, in numbers and names.
pub(crate) fn tally(evaluation: &Evaluation) -> Tally {
    let matched = || evaluation.report.rules.iter().filter(|rule| rule.has_matched());
    let found = evaluation.recall.detectors();
    let report = &evaluation.report;
    let errors = evaluation
        .report
        .rules
        .iter()
        .flat_map(|rule| rule.errors.iter().map(move |error| (&rule.rule, error)));
    let failed = errors.clone().map(|(rule, _)| rule.to_string()).collect();
    Tally {
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
        would: evaluation.report.rules.iter().filter_map(would).collect(),
        assembled: None,
        findings: found.into_iter().map(|(detector, count)| (detector.to_owned(), count)).collect(),
        failed,
        plugins: report.plugins.iter().map(|took| (took.plugin.to_string(), took.micros)).collect(),
        files_read: 0,
        unread: 0,
        edits: evaluation.draft.edits().count(),
        redactions: evaluation.draft.redactions().count(),
    }
}
