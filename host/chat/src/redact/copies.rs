//! Literal copies of what was redacted. A value that only its surroundings gave away (`PASSWORD=…`) stands bare elsewhere in an export, and
//! one redaction would leave the others.
//!
//! Which values these were is read from the draft: the received text beside the same text with its redactions masked. Where two values
//! and what stands between them could be cut in more than one way, the value is not guessed; it is counted as untraced.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use leafgate_tree::{Author, Draft, EditError, NodeId, Redaction};

use super::encoded::{self, Encoded};

/// Shorter values stand in too many texts by chance.
const FEWEST_BYTES: usize = 8;

/// A value of letters alone may be a plain word, unless it is longer than most.
const LONGER_THAN_WORDS: usize = 16;

/// The values that a policy redacted. It has no `Debug`.
#[derive(Default)]
pub struct Known {
    values: BTreeMap<String, StandIn>,
    untraced: usize,
}

/// What stands for a value.
struct StandIn {
    label: Arc<str>,
    replacement: String,
    author: Author,
}

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Copies {
    /// How many leaves had further copies, now redacted.
    pub leaves: usize,
    /// Where copies stand that cannot be redacted: in keys, in protected and frozen leaves, in numbers.
    pub stuck: Vec<NodeId>,
}

impl Known {
    /// Learns the values that were redacted in a draft.
    pub fn learn(&mut self, draft: &Draft) {
        let mut nodes: Vec<NodeId> = draft.redactions().map(|record| record.node).collect();
        nodes.sort_unstable();
        nodes.dedup();
        for node in nodes {
            match values(draft, node) {
                Some(values) => {
                    for (value, stand_in) in values.into_iter().filter(|(value, _)| is_telling(value)) {
                        self.values.entry(value).or_insert(stand_in);
                    }
                }
                None => self.untraced += 1,
            }
        }
    }

    /// How many leaves had redactions that could not be traced to their values.
    #[must_use]
    pub fn untraced(&self) -> usize {
        self.untraced
    }

    /// Redacts every copy of every known value, literal and in hexadecimal, as the rule did that redacted the first.
    pub fn redact(&self, draft: &mut Draft, encoded: &[Encoded]) -> Copies {
        let mut copies = Copies::default();
        if self.values.is_empty() {
            return copies;
        }
        let document = Arc::clone(draft.document());
        for leaf in document.leaves() {
            copies.count(leaf.id(), self.redact_leaf(draft, leaf.id()));
        }
        for one in encoded {
            copies.count(one.node, self.redact_encoded(draft, one));
        }
        let holds_value = |text: &str| self.values.keys().any(|value| text.contains(value.as_str()));
        copies.stuck.extend(document.keys().filter(|key| holds_value(key.text.expose())).map(|key| key.node));
        copies
    }

    /// Says whether there was anything to redact.
    fn redact_leaf(&self, draft: &mut Draft, node: NodeId) -> Result<bool, EditError> {
        let found = self.occurrences(draft.text(node).expose(), &draft.redacted(node));
        let redactions: Vec<_> = found
            .iter()
            .map(|(at, one)| {
                (
                    one,
                    Redaction {
                        at: at.clone(),
                        label: one.label.clone(),
                        replacement: one.replacement.clone(),
                    },
                )
            })
            .collect();
        // From the end, so that the places before stay where they are.
        for (one, redaction) in redactions.into_iter().rev() {
            draft.redact(node, &[redaction], &one.author)?;
        }
        Ok(!found.is_empty())
    }

    fn redact_encoded(&self, draft: &mut Draft, one: &Encoded) -> Result<bool, EditError> {
        let found = self.occurrences(&one.text, &[]);
        let Some((_, first)) = found.first() else { return Ok(false) };
        let mut text = one.text.clone();
        for (at, known) in found.iter().rev() {
            text.replace_range(at.clone(), &known.replacement);
        }
        match encoded::write(draft, one, &text, &first.label, &first.author) {
            // The digits have gone with something else that was redacted.
            Err(EditError::BadRange) => Ok(false),
            written => written.map(|()| true),
        }
    }

    /// Where values stand in a text, apart from what redaction wrote; of two that overlap the first.
    fn occurrences(
        &self,
        text: &str,
        redacted: &[(Range<usize>, Arc<str>)],
    ) -> Vec<(Range<usize>, &StandIn)> {
        let places =
            |value: &str| text.match_indices(value).map(|(at, hit)| at..at + hit.len()).collect::<Vec<_>>();
        let mut found: Vec<_> = self
            .values
            .iter()
            .flat_map(|(value, one)| places(value).into_iter().map(move |at| (at, one)))
            .filter(|(at, _)| {
                redacted.iter().all(|(taken, _)| at.end <= taken.start || taken.end <= at.start)
            })
            .collect();
        found.sort_by_key(|(at, _)| (at.start, std::cmp::Reverse(at.end)));
        let mut end = 0;
        found.retain(|(at, _)| {
            let is_apart = at.start >= end;
            end = if is_apart { at.end } else { end };
            is_apart
        });
        found
    }
}

impl Copies {
    fn count(&mut self, node: NodeId, redacted: Result<bool, EditError>) {
        match redacted {
            Ok(any) => self.leaves += usize::from(any),
            Err(_) => self.stuck.push(node),
        }
    }
}

fn is_telling(value: &str) -> bool {
    value.len() >= FEWEST_BYTES
        && (value.len() >= LONGER_THAN_WORDS
            || value.chars().any(|c| !c.is_alphabetic() && !c.is_whitespace()))
}

/// The values that were redacted in one leaf; `None` where they cannot be told for sure.
fn values(draft: &Draft, node: NodeId) -> Option<Vec<(String, StandIn)>> {
    let leaf = draft.document().settable(node)?;
    let original = leaf.text();
    let mark = unused(original.expose())?;
    let labels = RefCell::new(Vec::new());
    let masked = draft.masked_original(node, |label| {
        labels.borrow_mut().push(label.to_owned());
        mark.to_string()
    });
    let gaps: Vec<&str> = masked.expose().split(mark).collect();
    let hidden = hidden(original.expose(), &gaps)?;
    let present = draft.text(node);
    let written = draft.redacted(node);
    if hidden.len() != written.len() || hidden.len() != labels.borrow().len() {
        return None;
    }
    let mut found = Vec::new();
    for (hidden, (at, label)) in hidden.into_iter().zip(written) {
        let replacement = present.expose()[at].to_owned();
        let author =
            draft.redactions().find(|record| record.node == node && record.label == label)?.author.clone();
        found.push((original.expose()[hidden].to_owned(), StandIn { label, replacement, author }));
    }
    Some(found)
}

/// A character that a text does not hold, from those that no standard assigns.
fn unused(text: &str) -> Option<char> {
    ('\u{e000}'..='\u{e0ff}').find(|mark| !text.contains(*mark))
}

/// The stretches of a text that lie between the gaps; `None` where the gaps fit in more than one way.
fn hidden(text: &str, gaps: &[&str]) -> Option<Vec<Range<usize>>> {
    let (first, rest) = gaps.split_first()?;
    let (last, middle) = rest.split_last()?;
    let end = text.len().checked_sub(last.len())?;
    if !text.starts_with(first) || !text.ends_with(last) || end < first.len() {
        return None;
    }
    let mut starts = Vec::new();
    let mut at = first.len();
    for gap in middle {
        let inside = text.get(at..end)?;
        // A value is at least one character long, and so the gap begins behind it.
        let skip = inside.chars().next()?.len_utf8();
        let found = at + skip + inside.get(skip..)?.find(gap)?;
        starts.push((found, gap.len()));
        at = found + gap.len();
    }
    is_only_way(text, first.len(), end, middle, &starts).then(|| between(first.len(), end, &starts))
}

/// Cutting from the end gives the same cuts.
fn is_only_way(text: &str, begin: usize, end: usize, gaps: &[&str], starts: &[(usize, usize)]) -> bool {
    let mut to = end;
    gaps.iter().zip(starts).rev().all(|(gap, (start, _))| {
        let found = text.get(begin..to).and_then(|inside| {
            let last = inside.char_indices().next_back()?.0;
            inside.get(..last)?.rfind(gap)
        });
        to = begin + found.unwrap_or(0);
        found.is_some_and(|found| begin + found == *start)
    })
}

fn between(begin: usize, end: usize, gaps: &[(usize, usize)]) -> Vec<Range<usize>> {
    let mut ranges = Vec::with_capacity(gaps.len() + 1);
    let mut at = begin;
    for &(start, length) in gaps {
        ranges.push(at..start);
        at = start + length;
    }
    ranges.push(at..end);
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut<'t>(text: &'t str, gaps: &[&str]) -> Option<Vec<&'t str>> {
        Some(hidden(text, gaps)?.into_iter().map(|range| &text[range]).collect())
    }

    #[test]
    fn values_are_read_from_the_gaps_between_masks() {
        assert_eq!(cut("key=abc;", &["key=", ";"]), Some(vec!["abc"]));
        assert_eq!(cut("a=11 b=22", &["a=", " b=", ""]), Some(vec!["11", "22"]));
        assert_eq!(cut("abc", &["", ""]), Some(vec!["abc"]));
    }

    #[test]
    fn what_could_be_cut_in_two_ways_is_not_guessed() {
        assert_eq!(cut("x y z", &["", " ", ""]), None);
        assert_eq!(cut("abc", &["b", ""]), None);
    }

    #[test]
    fn plain_words_and_short_values_are_no_copies() {
        assert!(!is_telling("password") && !is_telling("a1b2c3"));
        assert!(is_telling("hunter22") && is_telling("correcthorsebatterystaple"));
    }
}
