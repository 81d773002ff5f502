//! A rule's own examples: texts that it must be about, and texts that it must not.
//!
//! A rule that does not match its example guards something else than its author thinks, and one that
//! matches its counter-example is in the way. Neither is loaded. An example is judged as the rule
//! would meet it: in small requests that hold it wherever the rule looks, after all redact rules.

use std::sync::Arc;

use leafgate_tree::{Document, Limits, NodeId};
use leafgate_vault::{ClientIdentity, InstallationKey, TokenKeys, Vault};

use crate::evaluate::{Which, is_about_any, selected_by};
use crate::file::Complaints;
use crate::file::raw::RawRule;
use crate::index::RuleIndex;
use crate::report::RuleReport;
use crate::rule::{Action, Edit, Rewrite, Rule};
use crate::{Policy, samples};

/// Returns the keys under which rules are tried: always the same, so that a test means the same
/// everywhere. They guard nothing.
pub(crate) fn keys() -> TokenKeys {
    TokenKeys::derive(&InstallationKey::from_bytes([0x5a; 32]), &ClientIdentity::new("rule tests"))
}

/// Reports the examples and counter-examples of a rule that it fails.
pub(crate) fn check(policy: &Policy, index: RuleIndex, raw: &RawRule, complaints: &mut Complaints<'_>) {
    let rule = &policy.rules[index];
    for (list, must, message) in [
        (&raw.examples, true, "the rule does not match its example"),
        (&raw.counter_examples, false, "the rule matches its counter-example"),
    ] {
        let Some(list) = list else { continue };
        if rule.is_of_request() && !matches!(rule.action, Action::Redact(_)) {
            let hint = "it asks about the request as a whole: write a test in the folder `tests`";
            complaints.error(list.span(), "no text can be an example of this rule", hint);
            continue;
        }
        for (text, span) in list.get_ref().words(list.span()) {
            match is_about(policy, index, text) {
                None => {
                    let hint = "write a test in the folder `tests`, with a whole request";
                    complaints.error(span, "no small request holds a text where the rule looks", hint);
                }
                Some(matched) if matched != must => complaints.error(span, message, hint(rule)),
                Some(_) => {}
            }
        }
    }
}

fn hint(rule: &Rule) -> &'static str {
    match rule.when {
        Some(_) => {
            "mend the rule or the example; what `when` asks about the request needs a test in the folder `tests`"
        }
        None => "mend the rule or the example",
    }
}

/// Whether a rule is about a text; `None` where no sample holds it in a place where the rule looks.
fn is_about(policy: &Policy, index: RuleIndex, text: &str) -> Option<bool> {
    let mut is_anywhere = None;
    for (format, body) in samples::holding(text, &policy.rules[index].selector) {
        let Ok(document) = Document::parse(body.to_string().into(), format, &Limits::default()) else {
            continue;
        };
        let document = Arc::new(document);
        let holding = selected_by(policy, index, &document).filter(|leaf| leaf.text().expose() == text);
        let holding: Vec<NodeId> = holding.map(|leaf| leaf.id()).collect();
        if holding.is_empty() {
            continue;
        }
        let rule = &policy.rules[index];
        let redacted = !matches!(rule.action, Action::Redact(_));
        let which = Which::Example { rule: index, redacted };
        let (evaluation, is_about) =
            is_about_any(which, policy, &document, &Vault::new(keys()), index, &holding);
        let matched = is_about && has_done(rule, &evaluation.report.rules[index.get()]);
        is_anywhere = Some(is_anywhere.unwrap_or(false) || matched);
    }
    is_anywhere
}

/// Whether a rule did something. One that finds, replaces or shortens is about more than it changes.
fn has_done(rule: &Rule, report: &RuleReport) -> bool {
    match rule.action {
        Action::Edit(Edit::Rewrite(Rewrite::Replace { .. } | Rewrite::Shorten(_))) => report.edits > 0,
        Action::Redact(_) => report.has_matched() || !report.published.is_empty(),
        Action::Classify(_) | Action::Pin(_) | Action::Edit(_) | Action::Decide(_) => true,
    }
}
