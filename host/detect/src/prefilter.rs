//! The one automaton that decides which rows run at all, and where.
//!
//! Every keyword of every row stands in one Aho-Corasick automaton, so a text is read once however many rows there are. The kind is
//! fixed to DFA: the automatic choice takes an NFA for this many keywords and measured three times slower. Matching folds case; a
//! row that minds case compares the bytes again, which few texts ever make it do. Overlapping matches are asked for, because one
//! keyword may begin inside another (`sk-` in `task-`).

use std::collections::BTreeMap;
use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use crate::pack::Row;

/// One row that a keyword calls.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) row: usize,
    /// The keyword as it must be spelled; `None` where case does not matter.
    exact: Option<Box<[u8]>>,
}

/// Keywords of the rows in use.
#[derive(Debug)]
pub(crate) struct Prefilter {
    automaton: Option<AhoCorasick>,
    /// By pattern of the automaton.
    calls: Vec<Vec<Call>>,
}

impl Prefilter {
    pub(crate) fn new<'a>(rows: impl Iterator<Item = (usize, &'a Row)>) -> Self {
        let mut by_keyword: BTreeMap<String, Vec<Call>> = BTreeMap::new();
        for (index, row) in rows {
            for keyword in &row.keywords {
                let exact = (!row.ignore_case).then(|| keyword.as_bytes().into());
                by_keyword.entry(keyword.to_ascii_lowercase()).or_default().push(Call { row: index, exact });
            }
        }
        let automaton = (!by_keyword.is_empty()).then(|| {
            AhoCorasick::builder()
                .kind(Some(AhoCorasickKind::DFA))
                .match_kind(MatchKind::Standard)
                .ascii_case_insensitive(true)
                .build(by_keyword.keys())
                .expect("some hundred short keywords stay far below the automaton's limits")
        });
        Self { automaton, calls: by_keyword.into_values().collect() }
    }

    /// Calls `f` with each row and place that a keyword of `text` calls, in the order of the keywords' ends.
    pub(crate) fn each(&self, text: &[u8], mut f: impl FnMut(usize, Range<usize>)) {
        let Some(automaton) = &self.automaton else { return };
        for hit in automaton.find_overlapping_iter(text) {
            for call in &self.calls[hit.pattern().as_usize()] {
                if call.exact.as_deref().is_none_or(|exact| *exact == text[hit.range()]) {
                    f(call.row, hit.range());
                }
            }
        }
    }
}
