//! Answers of plugins, translated from the contract's types into the policy's, which checks them.
//!
//! Pure: no wasmtime, no instance. The cost of an answer is charged before it is translated.

use leafgate_contract::{Action, Cost, PluginEdit, PluginFinding, Target};

use crate::bindings::{self, detect, transform};

/// Returns what a detector's answer costs.
pub(crate) fn cost_of_findings(answer: &[detect::Finding]) -> Cost {
    Cost { findings: answer.len(), answer_bytes: size_of_val(answer), ..Cost::default() }
}

/// Returns what a transformer's answer costs.
pub(crate) fn cost_of_edits(answer: &[transform::Edit]) -> Cost {
    let mut cost = Cost { edits: answer.len(), answer_bytes: size_of_val(answer), ..Cost::default() };
    for edit in answer {
        match &edit.action {
            transform::Action::Redact(redactions) => {
                cost.findings += redactions.len();
                cost.answer_bytes += size_of_val(redactions.as_slice());
            }
            transform::Action::Set(text)
            | transform::Action::Note(text)
            | transform::Action::Pause(text)
            | transform::Action::Block(text) => cost.answer_bytes += text.len(),
            transform::Action::InsertBefore(section) => cost.answer_bytes += section.text.len(),
            transform::Action::Pin | transform::Action::Delete => {}
        }
    }
    cost
}

/// Translates a finding; its leaf is still the place in the batch.
pub(crate) fn finding(finding: detect::Finding) -> PluginFinding {
    PluginFinding {
        leaf: finding.leaf as usize,
        at: finding.at.start as usize..finding.at.end as usize,
        label: finding.label as usize,
        confidence: bindings::confidence(finding.confidence),
    }
}

/// Translates an edit.
pub(crate) fn edit(edit: transform::Edit) -> PluginEdit {
    let target = match edit.target {
        transform::Target::Request => Target::Request,
        transform::Target::Section(place) => Target::Section(place as usize),
        transform::Target::Leaf(place) => Target::Leaf(place as usize),
    };
    PluginEdit { target, action: action(edit.action) }
}

fn action(action: transform::Action) -> Action {
    match action {
        transform::Action::Redact(redactions) => {
            let span = |redaction: transform::Redaction| {
                (redaction.at.start as usize..redaction.at.end as usize, redaction.label as usize)
            };
            Action::Redact(redactions.into_iter().map(span).collect())
        }
        transform::Action::Set(text) => Action::Set(text),
        transform::Action::Pin => Action::Pin,
        transform::Action::Delete => Action::Delete,
        transform::Action::InsertBefore(section) => {
            Action::InsertBefore { role: bindings::role_back(section.role), text: section.text }
        }
        transform::Action::Note(text) => Action::Note(text),
        transform::Action::Pause(text) => Action::Pause(text),
        transform::Action::Block(text) => Action::Block(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bindings::types;

    #[test]
    fn every_text_and_every_redaction_of_an_answer_is_counted() {
        let edit = |action| transform::Edit { target: transform::Target::Leaf(0), action };
        let redaction = transform::Redaction { at: types::Span { start: 0, end: 1 }, label: 0 };
        let section = transform::NewSection { role: types::Role::User, text: "12345678".to_owned() };
        let text = || "12345678".to_owned();
        let edits = [
            edit(transform::Action::Redact(vec![redaction, redaction])),
            edit(transform::Action::Set(text())),
            edit(transform::Action::Pin),
            edit(transform::Action::Delete),
            edit(transform::Action::InsertBefore(section)),
            edit(transform::Action::Note(text())),
            edit(transform::Action::Pause(text())),
            edit(transform::Action::Block(text())),
        ];
        let cost = cost_of_edits(&edits);
        assert_eq!((cost.edits, cost.findings), (8, 2));
        let fixed = size_of_val(&edits) + 2 * size_of::<transform::Redaction>();
        assert_eq!(cost.answer_bytes, fixed + 5 * 8);
    }
}
