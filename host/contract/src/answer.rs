//! Answers of plugins, checked: the one place in which an item of an answer is compared with what
//! the plugin was asked.
//!
//! One wrong item and the whole answer is gone. The types can be made by a check alone, so nothing
//! that uses an answer has to look at its numbers again.

use std::ops::Range;

use crate::{
    Action, DetectLeaf, Fault, InvalidAnswer, PluginEdit, PluginFinding, Target, TransformRequest, ValueType,
};

/// A detector's answer, checked against the leaves that it was given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckedFindings(Vec<PluginFinding>);

impl CheckedFindings {
    /// Checks an answer about `leaves` of a plugin with so many labels.
    ///
    /// An empty span is dropped without complaint: patterns match empty text all the time, and
    /// there is nothing to redact in it.
    ///
    /// # Errors
    /// [`Fault::Invalid`] with the first thing that does not fit.
    pub fn checked(
        mut answer: Vec<PluginFinding>,
        leaves: &[DetectLeaf<'_>],
        labels: usize,
    ) -> Result<Self, Fault> {
        for finding in &answer {
            let leaf = leaves.get(finding.leaf).ok_or(InvalidAnswer::UnknownLeaf).map_err(Fault::Invalid)?;
            let checked =
                check_span(leaf.text, &finding.at).and_then(|()| check_label(finding.label, labels));
            checked.map_err(|fault| fault.on_text(finding.leaf))?;
        }
        answer.retain(|finding| !finding.at.is_empty());
        Ok(CheckedFindings(answer))
    }

    /// Adds the answer about a further batch, whose first leaf has the place `first` among all.
    pub fn append(&mut self, batch: CheckedFindings, first: usize) {
        let moved = |finding: PluginFinding| PluginFinding { leaf: first + finding.leaf, ..finding };
        self.0.extend(batch.0.into_iter().map(moved));
    }

    /// Returns the findings in the order of the answer.
    pub fn into_vec(self) -> Vec<PluginFinding> {
        self.0
    }
}

/// A transformer's answer, checked against the request that it was given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckedEdits(Vec<PluginEdit>);

impl CheckedEdits {
    /// Checks an answer to `request` of a plugin with so many labels. Empty spans are dropped as in
    /// [`CheckedFindings::checked`].
    ///
    /// # Errors
    /// [`Fault::Invalid`] with the first thing that does not fit.
    pub fn checked(
        mut answer: Vec<PluginEdit>,
        request: &TransformRequest<'_>,
        labels: usize,
    ) -> Result<Self, Fault> {
        for edit in &mut answer {
            check_edit(edit, request, labels).map_err(|fault| match edit.target {
                Target::Leaf(place) if place < request.leaves.len() => fault.on_text(place),
                Target::Leaf(_) | Target::Section(_) | Target::Request => fault,
            })?;
            if let Action::Redact(spans) = &mut edit.action {
                spans.retain(|(at, _)| !at.is_empty());
            }
        }
        Ok(CheckedEdits(answer))
    }

    /// Returns the edits in the order of the answer.
    pub fn into_vec(self) -> Vec<PluginEdit> {
        self.0
    }
}

/// The table of `wit/plugin.wit`: which action fits which target.
fn check_edit(edit: &PluginEdit, request: &TransformRequest<'_>, labels: usize) -> Result<(), Fault> {
    let leaf = match edit.target {
        Target::Leaf(place) => Some(request.leaves.get(place).ok_or(invalid(InvalidAnswer::UnknownLeaf))?),
        Target::Section(place) if place >= request.sections.len() => {
            return Err(invalid(InvalidAnswer::UnknownSection));
        }
        Target::Section(_) | Target::Request => None,
    };
    match (&edit.action, edit.target, leaf) {
        (Action::Redact(spans), _, Some(leaf)) => spans.iter().try_for_each(|(at, label)| {
            check_span(leaf.text, at)?;
            check_label(*label, labels)
        }),
        (Action::Set(text), _, Some(leaf)) if fits(text, leaf.value) => Ok(()),
        (Action::Pin, Target::Leaf(_) | Target::Section(_), _)
        | (Action::Delete | Action::InsertBefore { .. }, Target::Section(_), _)
        | (Action::Note(_) | Action::Pause(_) | Action::Block(_), ..) => Ok(()),
        _ => Err(invalid(InvalidAnswer::Misfit)),
    }
}

fn check_span(text: &str, span: &Range<usize>) -> Result<(), Fault> {
    if span.start > span.end || span.end > text.len() {
        return Err(invalid(InvalidAnswer::SpanOutside));
    }
    match text.is_char_boundary(span.start) && text.is_char_boundary(span.end) {
        true => Ok(()),
        false => Err(invalid(InvalidAnswer::SpanInsideCharacter)),
    }
}

fn check_label(label: usize, labels: usize) -> Result<(), Fault> {
    if label < labels { Ok(()) } else { Err(invalid(InvalidAnswer::UnknownLabel)) }
}

fn invalid(answer: InvalidAnswer) -> Fault {
    Fault::Invalid(answer)
}

/// Returns true where a text can stand in the place of a leaf of this type: any text in a string,
/// elsewhere the spelling of a JSON scalar.
fn fits(text: &str, value: ValueType) -> bool {
    match value {
        ValueType::Text => true,
        // Parsed and thrown away: a number's spelling stays its own, however large. The first byte
        // keeps out blanks and containers.
        ValueType::Number | ValueType::Boolean | ValueType::Null => {
            text.starts_with(|first: char| matches!(first, '-' | '0'..='9' | 't' | 'f' | 'n'))
                && text.ends_with(|last: char| last.is_ascii_alphanumeric())
                && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
        }
    }
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
        let check = |at: Range<usize>| check_span("aé", &at);
        assert_eq!((check(0..3), check(3..3)), (Ok(()), Ok(())));
        #[expect(clippy::reversed_empty_ranges, reason = "a plugin can answer one")]
        let reversed = 1..0;
        for outside in [0..4, reversed, usize::MAX..usize::MAX] {
            assert_eq!(check(outside), Err(invalid(InvalidAnswer::SpanOutside)));
        }
        assert_eq!(check(0..2), Err(invalid(InvalidAnswer::SpanInsideCharacter)));
    }

    #[test]
    fn an_answer_about_a_batch_is_moved_to_the_place_of_the_batch() {
        let finding =
            |leaf| PluginFinding { leaf, at: 0..1, label: 0, confidence: leafgate_detect::Confidence::High };
        let mut all = CheckedFindings(vec![finding(1)]);
        all.append(CheckedFindings(vec![finding(0), finding(2)]), 512);
        assert_eq!(all.into_vec().iter().map(|finding| finding.leaf).collect::<Vec<_>>(), [1, 512, 514]);
    }
}
