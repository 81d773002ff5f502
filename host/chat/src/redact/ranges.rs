//! The offsets that an export keeps of the parts of a question (`range`, `editorRange`) and of its
//! attachments. They count UTF-16 units of the question's text, and become stale when a rule
//! changes that text.
//!
//! They follow as recorded edits of number leaves. Only differences are applied: a range that was
//! wrong before stays as wrong as it was.

use std::sync::Arc;

use leafgate_tree::{Author, Document, Draft, NodeId, ParseError};
use leafgate_words::words;
use serde::Serialize;

use super::rendered;
use crate::export::variables;
use crate::node::JsonView;

/// The author of these edits. No rule can have this name.
pub const AUTHOR: &str = "(ranges)";

/// The result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranges {
    /// How many numbers were edited.
    pub edits: usize,
    /// The offsets that could not follow.
    pub stale: Vec<Stale>,
}

impl Ranges {
    /// Returns whether an offset that could not follow holds the export.
    pub fn holds(&self) -> bool {
        self.stale.iter().any(|stale| stale.reason.holds())
    }
}

/// An offset that no longer fits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stale {
    /// Its place, as an RFC 6901 pointer.
    pub pointer: String,
    /// Why.
    pub reason: StaleReason,
}

words! {
    /// Why an offset could not follow.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum StaleReason {
        /// The question's text and its part differ now: a value may stand in pieces in several parts.
        TextsDiffer = "the question's text and its part were changed differently",
        /// The parts overlap or are out of order.
        Disorder = "the parts overlap or are out of order, so their ranges were left alone",
        /// It did not fit before either, or starts inside a changed text.
        NotFollowed = "it did not fit before, or starts inside a changed text",
        /// A rule has pinned it, or it is no number.
        NotEditable = "a rule has pinned it, or it is no number",
    }
    /// Returns the reason in words.
    pub fn describe = 0;
}

impl StaleReason {
    /// Returns whether the export must not be passed on: a text that was changed in one place may
    /// still stand in another.
    pub fn holds(self) -> bool {
        self == StaleReason::TextsDiffer
    }
}

/// Moves all ranges of an export whose texts were changed.
///
/// # Errors
/// A draft that renders no JSON, which none does.
pub fn follow(draft: &mut Draft) -> Result<Ranges, ParseError> {
    let mut ranges = Ranges::default();
    if !draft.is_dirty() {
        return Ok(ranges);
    }
    let before = Arc::clone(draft.document());
    let after = rendered(draft, before.format())?;
    for request in JsonView::root(&before).list("requests") {
        if let Some(question) = ChangedQuestion::read(request, &after) {
            question.follow(request, draft, &mut ranges);
        }
    }
    Ok(ranges)
}

/// A question with a changed text.
struct ChangedQuestion<'d> {
    /// The whole text, before and after.
    text: Option<(String, String)>,
    parts: Vec<ChangedPart<'d>>,
}

struct ChangedPart<'d> {
    node: JsonView<'d>,
    /// Its text, before and after. Some kinds of parts have none.
    text: Option<(String, String)>,
    old: UnitSpan,
    new: UnitSpan,
}

/// UTF-16 units of the question's text.
#[derive(Clone, Copy, PartialEq, Eq)]
struct UnitSpan {
    start: i64,
    end: i64,
}

impl<'d> ChangedQuestion<'d> {
    /// `None`: nothing changed in it, or it has no parts.
    fn read(request: JsonView<'d>, after: &Document) -> Option<ChangedQuestion<'d>> {
        let message = request.get("message")?;
        let text = message.get("text").and_then(|text| both(text, after));
        let parts = message.get("parts").filter(|parts| parts.is_array())?;
        let parts: Vec<_> = parts.items().filter_map(|part| ChangedPart::read(part, after)).collect();
        let has_changed =
            |text: &Option<(String, String)>| text.as_ref().is_some_and(|(old, new)| old != new);
        let any = has_changed(&text) || parts.iter().any(|part| has_changed(&part.text));
        any.then_some(ChangedQuestion { text, parts })
    }

    fn follow(mut self, request: JsonView<'_>, draft: &mut Draft, ranges: &mut Ranges) {
        if self.parts.windows(2).any(|pair| pair[1].old.start < pair[0].old.end) {
            return ranges.note(self.parts[0].node, StaleReason::Disorder);
        }
        self.shift();
        for part in &self.parts {
            if let Some(range) = part.node.get("range") {
                ranges.set(draft, range, [("start", part.new.start), ("endExclusive", part.new.end)]);
            }
            self.follow_editor(part, draft, ranges);
            if self.differs(part) {
                ranges.note(part.node, StaleReason::TextsDiffer);
            }
        }
        self.follow_variables(request, draft, ranges);
    }

    /// Moves each part by the growth of the parts before it, and extends it by its own.
    fn shift(&mut self) {
        let mut shift = 0;
        for part in &mut self.parts {
            let grown = part.text.as_ref().map_or(0, |(old, new)| units(new) - units(old));
            part.new.start = part.old.start + shift;
            shift += grown;
            part.new.end = (part.old.end + shift).max(part.new.start);
        }
    }

    /// Returns whether a part agreed with the text, and no longer does.
    fn differs(&self, part: &ChangedPart<'_>) -> bool {
        let (Some((old, new)), Some((old_part, new_part))) = (&self.text, &part.text) else { return false };
        slice(old, part.old).as_deref() == Some(old_part) && slice(new, part.new).as_deref() != Some(new_part)
    }

    /// Moves lines and columns, if they agreed with the offsets.
    fn follow_editor(&self, part: &ChangedPart<'_>, draft: &mut Draft, ranges: &mut Ranges) {
        let (Some(editor), Some((old, new))) = (part.node.get("editorRange"), &self.text) else { return };
        let keys = ["startLineNumber", "startColumn", "endLineNumber", "endColumn"];
        let place = |text: &str, span: UnitSpan| {
            Some([position(text, span.start)?, position(text, span.end)?].concat())
        };
        let was = keys.map(|key| editor.get_integer(key));
        match (place(old, part.old), place(new, part.new)) {
            (Some(from), Some(to)) if from.iter().zip(was).all(|(line, was)| Some(*line) == was) => {
                ranges.set(
                    draft,
                    editor,
                    [(keys[0], to[0]), (keys[1], to[1]), (keys[2], to[2]), (keys[3], to[3])],
                );
            }
            _ => ranges.note(editor, StaleReason::NotFollowed),
        }
    }

    /// An attachment that a word of the question names has the range of that word.
    fn follow_variables(&self, request: JsonView<'_>, draft: &mut Draft, ranges: &mut Ranges) {
        for variable in variables(request) {
            let Some((range, old)) = variable.get("range").and_then(|range| Some((range, span(range)?)))
            else {
                continue;
            };
            match self.moved(old) {
                Some(new) => ranges.set(draft, range, [("start", new.start), ("endExclusive", new.end)]),
                None => ranges.note(range, StaleReason::NotFollowed),
            }
        }
    }

    /// Returns the new range: that of the part with the same range, or the same inside an unchanged
    /// text.
    fn moved(&self, old: UnitSpan) -> Option<UnitSpan> {
        let part = self.parts.iter().find(|part| part.old.start <= old.start && old.end <= part.old.end)?;
        if part.old == old {
            return Some(part.new);
        }
        let is_same = part.text.as_ref().is_none_or(|(before, after)| before == after);
        let shift = part.new.start - part.old.start;
        is_same.then_some(UnitSpan { start: old.start + shift, end: old.end + shift })
    }
}

impl<'d> ChangedPart<'d> {
    fn read(node: JsonView<'d>, after: &Document) -> Option<ChangedPart<'d>> {
        let old = span(node.get("range")?)?;
        Some(ChangedPart { node, text: node.get("text").and_then(|text| both(text, after)), old, new: old })
    }
}

impl Ranges {
    fn note(&mut self, node: JsonView<'_>, reason: StaleReason) {
        self.stale.push(Stale { pointer: node.pointer(), reason });
    }

    fn set<const N: usize>(&mut self, draft: &mut Draft, range: JsonView<'_>, numbers: [(&str, i64); N]) {
        for (key, number) in numbers {
            let Some(leaf) = range.get(key).filter(|leaf| leaf.integer() != Some(number)) else { continue };
            match set(draft, leaf, number) {
                true => self.edits += 1,
                false => self.note(leaf, StaleReason::NotEditable),
            }
        }
    }
}

fn set(draft: &mut Draft, leaf: JsonView<'_>, number: i64) -> bool {
    let node: NodeId = leaf.id;
    leaf.is_number() && draft.set(node, &number.to_string(), &Author::rule(AUTHOR)).is_ok()
}

/// A text before and after. After, it may be deleted with something around it.
fn both(text: JsonView<'_>, after: &Document) -> Option<(String, String)> {
    let new = after.settable(after.resolve(&text.pointer()).ok()?)?;
    Some((text.text()?.into_owned(), new.text().into_cow().into_owned()))
}

/// A range that no arithmetic here can overflow.
fn span(range: JsonView<'_>) -> Option<UnitSpan> {
    const FARTHEST: i64 = 1 << 40;
    let number = |key| range.get_integer(key).filter(|number| (0..FARTHEST).contains(number));
    let span = UnitSpan { start: number("start")?, end: number("endExclusive")? };
    (span.start <= span.end).then_some(span)
}

fn units(text: &str) -> i64 {
    text.encode_utf16().count() as i64
}

fn slice(text: &str, span: UnitSpan) -> Option<String> {
    let units: Vec<u16> = text.encode_utf16().collect();
    let range = usize::try_from(span.start).ok()?..usize::try_from(span.end).ok()?;
    String::from_utf16(units.get(range)?).ok()
}

/// Returns line and column of an offset, both from 1, columns in UTF-16 units. `None` beyond the
/// text.
fn position(text: &str, offset: i64) -> Option<[i64; 2]> {
    let units: Vec<u16> = text.encode_utf16().collect();
    let before = units.get(..usize::try_from(offset).ok()?)?;
    let is_newline = |unit: &&u16| **unit == u16::from(b'\n');
    let line = before.iter().filter(is_newline).count();
    let column = before.iter().rev().take_while(|unit| !is_newline(unit)).count();
    Some([line as i64 + 1, column as i64 + 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_lines_and_utf16_units() {
        assert_eq!(position("a😀b\nc", 3), Some([1, 4]));
        assert_eq!(position("a😀b\nc", 6), Some([2, 2]));
        assert_eq!(position("a", 2), None);
        assert_eq!(slice("a😀b", UnitSpan { start: 1, end: 3 }).as_deref(), Some("😀"));
    }
}
