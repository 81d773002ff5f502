//! What came, beside what was expected.

use leafgate_contract::{Action, PluginEdit, PluginFinding, Target};
use leafgate_detect::Label;

use super::{ExpectedEdit, ExpectedFinding, GivenLeaf, GivenText, shown};

/// Returns what differs between what a detector found and what it should have found.
pub(super) fn findings(
    given: &GivenText,
    labels: &[Label],
    expected: &[ExpectedFinding],
    found: &[PluginFinding],
) -> Vec<String> {
    let mut left: Vec<&PluginFinding> = found.iter().collect();
    // In the order of texts: of two equal ones the first is expected first.
    left.sort_by_key(|finding| (finding.leaf, finding.at.start, finding.at.end));
    let mut problems = Vec::new();
    for expected in expected {
        let fits = |finding: &&PluginFinding| {
            finding.leaf == expected.leaf
                && given.leaves[finding.leaf].text[finding.at.clone()] == expected.text
                && expected.at.is_none_or(|at| finding.at.start == at)
                && expected.label.as_ref().is_none_or(|label| *label == *labels[finding.label].as_str())
                && expected.confidence.is_none_or(|confidence| confidence == finding.confidence)
        };
        match left.iter().position(fits) {
            Some(at) => drop(left.remove(at)),
            None => problems.push(format!("it does not find {}", told(expected))),
        }
    }
    problems.extend(left.into_iter().map(|finding| {
        let text = &given.leaves[finding.leaf].text;
        let label = &labels[finding.label];
        format!(
            "it finds {} of leaf {} ({label}), which the case does not expect",
            shown(text, &finding.at),
            finding.leaf
        )
    }));
    problems
}

fn told(expected: &ExpectedFinding) -> String {
    let at = expected.at.map(|at| format!(" at {at}")).unwrap_or_default();
    let label = expected.label.as_ref().map(|label| format!(" ({label})")).unwrap_or_default();
    let confidence = expected.confidence.map(|sure| format!(" with {sure:?} confidence").to_lowercase());
    format!("`{}`{at} in leaf {}{label}{}", expected.text, expected.leaf, confidence.unwrap_or_default())
}

/// Returns what differs between the edits that a transformer proposed and those that it should.
pub(super) fn edits(
    given: &GivenText,
    labels: &[Label],
    texts: &[String],
    other: &[ExpectedEdit],
    proposed: &[PluginEdit],
) -> Vec<String> {
    let mut problems = Vec::new();
    for (place, (leaf, expected)) in given.leaves.iter().zip(texts).enumerate() {
        match becomes(leaf, place, labels, proposed) {
            Ok(text) if text == *expected => {}
            Ok(text) => problems.push(format!("leaf {place} becomes `{text}`, not `{expected}`")),
            Err(why) => problems.push(format!("leaf {place}: {why}")),
        }
    }
    let is_text = |edit: &&PluginEdit| matches!(edit.action, Action::Set(_) | Action::Redact(_));
    let mut left: Vec<&PluginEdit> = proposed.iter().filter(|edit| !is_text(edit)).collect();
    for expected in other {
        match left.iter().position(|edit| fits(expected, edit)) {
            Some(at) => drop(left.remove(at)),
            None => problems.push(format!("it does not propose {}", wanted(expected))),
        }
    }
    problems.extend(left.into_iter().map(|edit| {
        let said = words(&edit.action).map(|words| format!(" `{words}`")).unwrap_or_default();
        format!(
            "it proposes `{}`{said} of {}, which the case does not expect",
            edit.action.name(),
            place(edit.target)
        )
    }));
    problems
}

/// Returns the text of a leaf after all edits of it; redacted stretches are their labels in square
/// brackets.
fn becomes(
    leaf: &GivenLeaf,
    place: usize,
    labels: &[Label],
    proposed: &[PluginEdit],
) -> Result<String, &'static str> {
    let mut text = leaf.text.clone();
    for edit in proposed.iter().filter(|edit| edit.target == Target::Leaf(place)) {
        match &edit.action {
            Action::Set(new) => text.clone_from(new),
            Action::Redact(spans) => {
                let mut spans = spans.clone();
                spans.sort_by_key(|(at, _)| std::cmp::Reverse(at.start));
                let mut before = usize::MAX;
                for (at, label) in spans {
                    // The host unites what overlaps; here it would only be hard to read.
                    if at.end > before {
                        return Err("two redactions overlap: cases cannot say what becomes of that");
                    }
                    if text != leaf.text && before == usize::MAX {
                        return Err("it redacts a text that it has edited before");
                    }
                    before = at.start;
                    text.replace_range(at, &format!("[{}]", labels[label]));
                }
            }
            _ => {}
        }
    }
    Ok(text)
}

fn fits(expected: &ExpectedEdit, edit: &PluginEdit) -> bool {
    let said = words(&edit.action).unwrap_or_default();
    expected.action == edit.action.name()
        && edit.target == expected.target()
        && expected.text.as_ref().is_none_or(|part| said.contains(part))
}

fn wanted(expected: &ExpectedEdit) -> String {
    let text = expected.text.as_ref().map(|text| format!(" with `{text}`")).unwrap_or_default();
    format!("`{}` of {}{text}", expected.action, place(expected.target()))
}

fn place(target: Target) -> String {
    match target {
        Target::Request => "the request".to_owned(),
        Target::Section(section) => format!("section {section}"),
        Target::Leaf(leaf) => format!("leaf {leaf}"),
    }
}

/// What an action says, where it says something.
fn words(action: &Action) -> Option<&str> {
    match action {
        Action::Set(text)
        | Action::Note(text)
        | Action::Pause(text)
        | Action::Block(text)
        | Action::InsertBefore { text, .. } => Some(text),
        Action::Redact(_) | Action::Pin | Action::Delete => None,
    }
}
