//! A second look at what plugins answer. Whoever runs them checks their answers already; nothing here may slice a text by a number
//! that came from outside without having looked at it itself.

use std::ops::Range;

use crate::plugin::{
    Action, DetectLeaf, Fault, InvalidAnswer, PluginEdit, PluginFinding, Target, TransformRequest,
};

/// Gives a detector's findings back if every one of them fits.
pub(super) fn check_findings(
    findings: Vec<PluginFinding>,
    leaves: &[DetectLeaf<'_>],
    labels: usize,
) -> Result<Vec<PluginFinding>, Fault> {
    for finding in &findings {
        let leaf = leaves.get(finding.leaf).ok_or(Fault::Invalid(InvalidAnswer::UnknownLeaf))?;
        check_span(leaf.text, &finding.at)?;
        check_label(finding.label, labels)?;
    }
    Ok(findings)
}

/// Gives a transformer's edits back if every one of them fits.
pub(super) fn check_edits(
    edits: Vec<PluginEdit>,
    request: &TransformRequest<'_>,
    labels: usize,
) -> Result<Vec<PluginEdit>, Fault> {
    for edit in &edits {
        check_edit(edit, request, labels)?;
    }
    Ok(edits)
}

fn check_edit(edit: &PluginEdit, request: &TransformRequest<'_>, labels: usize) -> Result<(), Fault> {
    let misfit = Err(Fault::Invalid(InvalidAnswer::Misfit));
    match edit.target {
        Target::Leaf(leaf) if leaf >= request.leaves.len() => {
            return Err(Fault::Invalid(InvalidAnswer::UnknownLeaf));
        }
        Target::Section(section) if section >= request.sections.len() => {
            return Err(Fault::Invalid(InvalidAnswer::UnknownSection));
        }
        _ => {}
    }
    match (&edit.action, edit.target) {
        (Action::Redact(spans), Target::Leaf(leaf)) => {
            for (span, label) in spans {
                check_span(request.leaves[leaf].text, span)?;
                check_label(*label, labels)?;
            }
            Ok(())
        }
        (Action::Set(_), Target::Leaf(_))
        | (Action::Pin, Target::Leaf(_) | Target::Section(_))
        | (Action::Delete | Action::InsertBefore { .. }, Target::Section(_))
        | (Action::Note(_) | Action::Pause(_) | Action::Block(_), _) => Ok(()),
        _ => misfit,
    }
}

fn check_span(text: &str, span: &Range<usize>) -> Result<(), Fault> {
    if span.start >= span.end || span.end > text.len() {
        return Err(Fault::Invalid(InvalidAnswer::SpanOutside));
    }
    match text.is_char_boundary(span.start) && text.is_char_boundary(span.end) {
        true => Ok(()),
        false => Err(Fault::Invalid(InvalidAnswer::SpanInsideCharacter)),
    }
}

fn check_label(label: usize, labels: usize) -> Result<(), Fault> {
    if label < labels { Ok(()) } else { Err(Fault::Invalid(InvalidAnswer::UnknownLabel)) }
}
