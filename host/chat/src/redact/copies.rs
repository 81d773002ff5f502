//! Literal copies of redacted values. A value that only its context reveals (`PASSWORD=…`) stands
//! bare elsewhere in an export, and one redaction would leave the others.
//!
//! The values are read from the draft: the received stretches that redaction took away. If one
//! redaction covers several of them, the value is not guessed but counted as untraced.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, MatchKind};
use leafgate_tree::{Draft, EditError, NodeId};

use super::encoded::{self, Encoded};
use super::seams::Finds;
use super::{StandIn, traced};

/// Shorter values occur in too many texts by chance.
const FEWEST_BYTES: usize = 8;

/// A value of letters alone may be a plain word, unless it is longer than most.
const LONGER_THAN_WORDS: usize = 16;

/// The values that a policy redacted. It has no `Debug`.
#[derive(Default)]
pub struct KnownCopies {
    values: BTreeMap<String, StandIn>,
    untraced: usize,
}

/// The result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Copies {
    /// How many leaves had further copies, now redacted.
    pub leaves: usize,
    /// Places of copies that cannot be redacted: in keys, in protected and frozen leaves, in
    /// numbers.
    pub stuck: Vec<NodeId>,
}

impl KnownCopies {
    /// Learns the values that were redacted in a draft.
    pub fn learn(&mut self, draft: &Draft) {
        let mut nodes: Vec<NodeId> = draft.redactions().map(|record| record.node).collect();
        nodes.sort_unstable();
        nodes.dedup();
        for node in nodes {
            let original = draft.document().settable(node).map(|leaf| leaf.text().into_cow());
            match original.zip(traced(draft, node)) {
                Some((original, traced)) => traced
                    .into_iter()
                    .for_each(|(received, stand_in)| self.add(original[received].to_owned(), stand_in)),
                None => self.untraced += 1,
            }
        }
    }

    /// Learns the values that stand over seams.
    pub fn learn_seams(&mut self, finds: &Finds) {
        finds.values.iter().for_each(|found| self.add(found.value.clone(), found.stand_in.clone()));
    }

    fn add(&mut self, value: String, stand_in: StandIn) {
        if is_telling(&value) {
            self.values.entry(value).or_insert(stand_in);
        }
    }

    /// Returns how many leaves had redactions that could not be traced to their values.
    pub fn untraced(&self) -> usize {
        self.untraced
    }

    /// Redacts every copy of every known value, literal and in hexadecimal, in the name of the rule
    /// that redacted the first.
    pub fn redact(&self, draft: &mut Draft, encoded: &[Encoded]) -> Copies {
        let mut copies = Copies::default();
        if self.values.is_empty() {
            return copies;
        }
        let finder = Finder::of(self);
        let document = Arc::clone(draft.document());
        for leaf in document.leaves() {
            copies.count(leaf.id(), finder.redact_leaf(draft, leaf.id()));
        }
        for one in encoded {
            copies.count(one.node, finder.redact_encoded(draft, one));
        }
        let holds_value = |text: &str| finder.automaton.is_match(text);
        copies.stuck.extend(document.keys().filter(|key| holds_value(key.text.expose())).map(|key| key.node));
        copies
    }
}

/// All known values in one automaton, so that a text is read once for any number of values.
struct Finder<'k> {
    automaton: AhoCorasick,
    stand_ins: Vec<&'k StandIn>,
}

impl<'k> Finder<'k> {
    fn of(known: &'k KnownCopies) -> Self {
        let automaton =
            AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(known.values.keys());
        Finder {
            automaton: automaton
                .expect("the values of a file that was parsed have fewer bytes than states fit"),
            stand_ins: known.values.values().collect(),
        }
    }

    /// Redacts the copies in one leaf. Returns whether there were any.
    fn redact_leaf(&self, draft: &mut Draft, node: NodeId) -> Result<bool, EditError> {
        let found = self.occurrences(draft.text(node).expose(), &draft.redacted(node));
        // One call for each author, from the end, so that earlier offsets stay valid.
        for run in found.chunk_by(|(_, one), (_, next)| one.author == next.author).rev() {
            let redactions: Vec<_> = run.iter().map(|(at, one)| one.redaction(at.clone())).collect();
            draft.redact(node, &redactions, &run[0].1.author)?;
        }
        Ok(!found.is_empty())
    }

    fn redact_encoded(&self, draft: &mut Draft, one: &Encoded) -> Result<bool, EditError> {
        let Some(first) = self.automaton.find(&one.text) else { return Ok(false) };
        let first = self.stand_ins[first.pattern().as_usize()].clone();
        let mut replacement = String::with_capacity(one.text.len());
        self.automaton.replace_all_with(&one.text, &mut replacement, |found, _, text| {
            text.push_str(&self.stand_ins[found.pattern().as_usize()].replacement);
            true
        });
        match encoded::write(draft, one, &StandIn { replacement, ..first }) {
            // The digits were removed by another redaction.
            Err(EditError::BadRange) => Ok(false),
            written => written.map(|()| true),
        }
    }

    /// Returns the places of values in a text, in order, outside of redacted stretches. Of two that
    /// overlap the first is returned.
    fn occurrences(
        &self,
        text: &str,
        redacted: &[(Range<usize>, Arc<str>)],
    ) -> Vec<(Range<usize>, &'k StandIn)> {
        let ends = redacted.iter().map(|(taken, _)| taken.start).chain([text.len()]);
        let starts = std::iter::once(0).chain(redacted.iter().map(|(taken, _)| taken.end));
        let mut found = Vec::new();
        for (start, end) in starts.zip(ends) {
            let hits = self.automaton.find_iter(&text[start..end]);
            found.extend(hits.map(|hit| {
                (start + hit.start()..start + hit.end(), self.stand_ins[hit.pattern().as_usize()])
            }));
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_words_and_short_values_are_no_copies() {
        assert!(!is_telling("password") && !is_telling("a1b2c3"));
        assert!(is_telling("hunter22") && is_telling("correcthorsebatterystaple"));
    }
}
