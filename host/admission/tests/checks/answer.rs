//! An answer counts if and only if each item of it fits what was asked.

use std::ops::Range;

use leafgate_contract::{
    Action, CheckedEdits, CheckedFindings, DetectLeaf, LeafKind, PluginEdit, PluginFinding, Role,
    SectionKind, Target, TransformLeaf, TransformRequest, TransformSection, ValueType,
};
use leafgate_detect::Confidence;

use super::Choices;

/// What the leaves hold: characters of one to four bytes, and nothing.
const TEXTS: [&str; 4] = ["aé😀 text", "", "\u{301}x", "-1.5e3"];
const TYPES: [ValueType; 4] = [ValueType::Text, ValueType::Text, ValueType::Null, ValueType::Number];
const SECTIONS: usize = 2;
const LABELS: usize = 2;

/// Holds the check of answers to its promise. An input chooses the answers.
pub(crate) fn answer(input: &[u8]) {
    let mut choices = Choices::new(input);
    findings(&mut choices);
    edits(&mut choices);
}

fn findings(choices: &mut Choices<'_>) {
    let leaf = |(text, value)| {
        let (kind, role) = (LeafKind::Text, Role::User);
        DetectLeaf { kind, value, role, tool: None, key: "", text }
    };
    let leaves: Vec<_> = TEXTS.into_iter().zip(TYPES).map(leaf).collect();
    let count = choices.below(4);
    let answer: Vec<_> = (0..count)
        .map(|_| PluginFinding {
            leaf: place(choices),
            at: span(choices),
            label: place(choices),
            confidence: Confidence::High,
        })
        .collect();
    let sound = |finding: &PluginFinding| {
        TEXTS.get(finding.leaf).is_some_and(|text| text.get(finding.at.clone()).is_some())
            && finding.label < LABELS
    };
    let expected = answer.iter().all(sound);
    let checked = CheckedFindings::checked(answer.clone(), &leaves, LABELS);
    assert_eq!(checked.is_ok(), expected, "{answer:?}");
    let Ok(checked) = checked else { return };
    let kept: Vec<_> = answer.into_iter().filter(|finding| !finding.at.is_empty()).collect();
    assert_eq!(checked.into_vec(), kept);
}

fn edits(choices: &mut Choices<'_>) {
    let section =
        TransformSection { kind: SectionKind::User, role: Role::User, ..TransformSection::default() };
    let leaf =
        |(text, value)| TransformLeaf { section: 0, kind: LeafKind::Text, value, pointer: "", key: "", text };
    let leaves: Vec<_> = TEXTS.into_iter().zip(TYPES).map(leaf).collect();
    let request = TransformRequest {
        format: "raw",
        model: "",
        session: "",
        subagent: false,
        sections: &[section; SECTIONS],
        leaves: &leaves,
    };
    let count = choices.below(4);
    let answer: Vec<PluginEdit> =
        (0..count).map(|_| PluginEdit { target: target(choices), action: action(choices) }).collect();
    let expected = answer.iter().all(is_sound);
    let checked = CheckedEdits::checked(answer.clone(), &request, LABELS);
    assert_eq!(checked.is_ok(), expected, "{answer:?}");
    for edit in checked.into_iter().flat_map(CheckedEdits::into_vec) {
        let (Target::Leaf(place), Action::Redact(spans)) = (edit.target, edit.action) else { continue };
        assert!(
            spans.iter().all(|(at, _)| TEXTS[place].get(at.clone()).is_some_and(|found| !found.is_empty()))
        );
    }
}

/// The table of the contract, written once more.
fn is_sound(edit: &PluginEdit) -> bool {
    match (edit.target, &edit.action) {
        (Target::Leaf(place), _) if place >= TEXTS.len() => false,
        (Target::Section(place), _) if place >= SECTIONS => false,
        (Target::Leaf(place), Action::Redact(spans)) => {
            spans.iter().all(|(at, label)| TEXTS[place].get(at.clone()).is_some() && *label < LABELS)
        }
        (Target::Leaf(place), Action::Set(text)) => match TYPES[place] {
            ValueType::Text => true,
            _ => {
                serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
                    && !text.starts_with(['{', '[', '"'])
                    && text.trim() == text
            }
        },
        (Target::Leaf(_) | Target::Section(_), Action::Pin) => true,
        (Target::Section(_), Action::Delete | Action::InsertBefore { .. }) => true,
        (_, Action::Note(_) | Action::Pause(_) | Action::Block(_)) => true,
        _ => false,
    }
}

fn target(choices: &mut Choices<'_>) -> Target {
    match choices.below(4) {
        0 => Target::Request,
        1 => Target::Section(place(choices)),
        _ => Target::Leaf(place(choices)),
    }
}

fn action(choices: &mut Choices<'_>) -> Action {
    match choices.below(8) {
        0 => {
            let count = choices.below(4);
            Action::Redact((0..count).map(|_| (span(choices), place(choices))).collect())
        }
        1 => Action::Set(text(choices)),
        2 => Action::Pin,
        3 => Action::Delete,
        4 => Action::InsertBefore { role: Role::User, text: text(choices) },
        5 => Action::Note(text(choices)),
        6 => Action::Pause(text(choices)),
        _ => Action::Block(text(choices)),
    }
}

/// What is written: numbers and words of JSON, nearly so, and other text.
fn text(choices: &mut Choices<'_>) -> String {
    const PIECES: &[u8] = b"0123.eE+-truefalsnul \n\"[{]}";
    let length = choices.below(8);
    (0..length).map(|_| char::from(PIECES[choices.below(PIECES.len())])).collect()
}

/// A place of something, seldom one that is far away.
fn place(choices: &mut Choices<'_>) -> usize {
    match choices.byte() {
        255 => usize::MAX,
        254 => u32::MAX as usize,
        near => usize::from(near) % 6,
    }
}

fn span(choices: &mut Choices<'_>) -> Range<usize> {
    let mut end = || match choices.byte() {
        255 => usize::MAX,
        254 => u32::MAX as usize,
        near => usize::from(near) % 16,
    };
    end()..end()
}
