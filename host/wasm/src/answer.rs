//! Checks of what a plugin answered. Nothing passes that was not asked for; one wrong item and the whole answer is gone.
//!
//! Pure: no wasmtime, no instance. An empty span is dropped without complaint, since patterns match empty text all the time and there is
//! nothing to redact in it.

use std::ops::Range;

use leafgate_policy::plugin::{
    Action, DetectLeaf, Fault, InvalidAnswer, PluginEdit, PluginFinding, PluginWords, Target,
    TransformRequest, ValueType,
};

use crate::bindings::{self, detect, transform, types};
use crate::limits::Limits;

/// Findings about `leaves`, whose first has the place `first` among those of the caller.
pub(crate) fn findings(
    answer: Vec<detect::Finding>,
    leaves: &[DetectLeaf<'_>],
    first: usize,
    labels: usize,
    limits: &Limits,
) -> Result<Vec<PluginFinding>, Fault> {
    at_most(answer.len(), limits.findings, "findings")?;
    let mut checked = Vec::with_capacity(answer.len());
    for finding in answer {
        let place = finding.leaf as usize;
        let leaf = leaves.get(place).ok_or(InvalidAnswer::UnknownLeaf).map_err(Fault::Invalid)?;
        let at = span(finding.at, leaf.text)?;
        let label = label(finding.label, labels)?;
        if !at.is_empty() {
            let confidence = bindings::confidence(finding.confidence);
            checked.push(PluginFinding { leaf: first + place, at, label, confidence });
        }
    }
    Ok(checked)
}

/// Edits of `request`.
pub(crate) fn edits(
    answer: Vec<transform::Edit>,
    request: &TransformRequest<'_>,
    labels: usize,
    limits: &Limits,
) -> Result<Vec<PluginEdit>, Fault> {
    at_most(answer.len(), limits.edits, "edits")?;
    let redactions = answer.iter().map(|edit| match &edit.action {
        transform::Action::Redact(redactions) => redactions.len(),
        _ => 0,
    });
    at_most(redactions.sum(), limits.findings, "findings")?;
    answer.into_iter().map(|edit| check_edit(edit, request, labels)).collect()
}

/// Why a plugin gave up, in its own words.
pub(crate) fn gave_up(failure: types::Failure) -> Fault {
    let (unsupported, message) = match failure {
        types::Failure::Unsupported(message) => (true, message),
        types::Failure::Internal(message) => (false, message),
    };
    Fault::GaveUp { unsupported, message: PluginWords::new(message) }
}

fn check_edit(
    edit: transform::Edit,
    request: &TransformRequest<'_>,
    labels: usize,
) -> Result<PluginEdit, Fault> {
    let target = target(edit.target, request)?;
    let action = action(edit.action, target, request, labels)?;
    Ok(PluginEdit { target, action })
}

fn target(target: transform::Target, request: &TransformRequest<'_>) -> Result<Target, Fault> {
    let (checked, known, unknown) = match target {
        transform::Target::Request => return Ok(Target::Request),
        transform::Target::Section(place) => (
            Target::Section(place as usize),
            (place as usize) < request.sections.len(),
            InvalidAnswer::UnknownSection,
        ),
        transform::Target::Leaf(place) => (
            Target::Leaf(place as usize),
            (place as usize) < request.leaves.len(),
            InvalidAnswer::UnknownLeaf,
        ),
    };
    if known { Ok(checked) } else { Err(Fault::Invalid(unknown)) }
}

/// The table of `wit/plugin.wit`: which action fits which target.
fn action(
    action: transform::Action,
    target: Target,
    request: &TransformRequest<'_>,
    labels: usize,
) -> Result<Action, Fault> {
    let leaf = match target {
        Target::Leaf(place) => request.leaves.get(place),
        Target::Request | Target::Section(_) => None,
    };
    match (action, target, leaf) {
        (transform::Action::Redact(redactions), _, Some(leaf)) => redact(redactions, leaf.text, labels),
        (transform::Action::Set(text), _, Some(leaf)) if fits(&text, leaf.value) => Ok(Action::Set(text)),
        (transform::Action::Pin, Target::Leaf(_) | Target::Section(_), _) => Ok(Action::Pin),
        (transform::Action::Delete, Target::Section(_), _) => Ok(Action::Delete),
        (transform::Action::InsertBefore(section), Target::Section(_), _) => {
            Ok(Action::InsertBefore { role: bindings::role_back(section.role), text: section.text })
        }
        (transform::Action::Note(text), ..) => Ok(Action::Note(text)),
        (transform::Action::Pause(text), ..) => Ok(Action::Pause(text)),
        (transform::Action::Block(text), ..) => Ok(Action::Block(text)),
        _ => Err(Fault::Invalid(InvalidAnswer::Misfit)),
    }
}

fn redact(redactions: Vec<transform::Redaction>, text: &str, labels: usize) -> Result<Action, Fault> {
    let mut checked = Vec::with_capacity(redactions.len());
    for redaction in redactions {
        let at = span(redaction.at, text)?;
        let label = label(redaction.label, labels)?;
        if !at.is_empty() {
            checked.push((at, label));
        }
    }
    Ok(Action::Redact(checked))
}

fn span(at: types::Span, text: &str) -> Result<Range<usize>, Fault> {
    let (start, end) = (at.start as usize, at.end as usize);
    if start > end || end > text.len() {
        return Err(Fault::Invalid(InvalidAnswer::SpanOutside));
    }
    if !text.is_char_boundary(start) || !text.is_char_boundary(end) {
        return Err(Fault::Invalid(InvalidAnswer::SpanInsideCharacter));
    }
    Ok(start..end)
}

fn label(place: u32, labels: usize) -> Result<usize, Fault> {
    let place = place as usize;
    if place < labels { Ok(place) } else { Err(Fault::Invalid(InvalidAnswer::UnknownLabel)) }
}

/// Whether a text can stand where a leaf of this type stands: any text in a string, elsewhere the spelling of a JSON scalar.
fn fits(text: &str, value: ValueType) -> bool {
    match value {
        ValueType::Text => true,
        // Parsed and thrown away: a number's spelling stays its own, however large. The first byte keeps out blanks and containers.
        ValueType::Number | ValueType::Boolean | ValueType::Null => {
            text.starts_with(|first: char| matches!(first, '-' | '0'..='9' | 't' | 'f' | 'n'))
                && text.ends_with(|last: char| last.is_ascii_alphanumeric())
                && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
        }
    }
}

fn at_most(count: usize, limit: usize, what: &'static str) -> Result<(), Fault> {
    if count <= limit { Ok(()) } else { Err(Fault::TooMuch { limit, what }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scalar_spelling_fits_where_a_scalar_stands() {
        for text in ["0", "-1.5e300", "1e999", "12345678901234567890123", "true", "false", "null"] {
            assert!(fits(text, ValueType::Number), "{text}");
        }
        for text in [
            "",
            " 1",
            "1 ",
            "1\n",
            "01",
            "+1",
            ".5",
            "1.",
            "NaN",
            "\"1\"",
            "[1]",
            "{}",
            "1,2",
            "tru",
            "true false",
        ] {
            assert!(!fits(text, ValueType::Number), "{text}");
        }
        assert!(fits("anything at all", ValueType::Text));
    }

    #[test]
    fn a_span_may_touch_the_end_but_not_pass_it() {
        let span_of = |start, end| span(types::Span { start, end }, "aé");
        assert_eq!(span_of(0, 3).unwrap(), 0..3);
        assert_eq!(span_of(3, 3).unwrap(), 3..3);
        assert_eq!(span_of(0, 4).unwrap_err(), Fault::Invalid(InvalidAnswer::SpanOutside));
        assert_eq!(span_of(1, 0).unwrap_err(), Fault::Invalid(InvalidAnswer::SpanOutside));
        assert_eq!(span_of(0, 2).unwrap_err(), Fault::Invalid(InvalidAnswer::SpanInsideCharacter));
        assert_eq!(span_of(u32::MAX, u32::MAX).unwrap_err(), Fault::Invalid(InvalidAnswer::SpanOutside));
    }
}
