//! Which rows run at all, and where: one look over a text for the keywords of all of them.
//!
//! Every keyword of every row is looked for at once, so a text is read once however many rows there
//! are. Looking folds case; a row that minds case compares the bytes again, which few texts ever
//! make it do. Every place of every keyword counts, because one keyword may begin inside another
//! (`sk-` in `task-`).

use std::collections::BTreeMap;
use std::ops::Range;

use crate::literals::{Behind, Literals};
use crate::pack::{Row, Shape};

/// One row that a keyword calls.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) row: usize,
    /// The keyword as it must be spelled; `None` where case does not matter.
    exact: Option<Box<[u8]>>,
    /// Small letters behind the keyword with which it calls the row for nothing.
    in_vain: Letters,
}

/// Some of the letters, a bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Letters(u32);

impl Letters {
    const ALL: Self = Self((1 << 26) - 1);

    fn remove(&mut self, letter: u8) {
        self.0 &= !Self::bit(letter.to_ascii_lowercase());
    }

    fn contains(self, byte: Option<&u8>) -> bool {
        byte.is_some_and(|&byte| self.0 & Self::bit(byte) != 0)
    }

    fn bit(byte: u8) -> u32 {
        if byte.is_ascii_lowercase() { 1 << (byte - b'a') } else { 0 }
    }
}

/// Keywords of the rows in use.
#[derive(Debug)]
pub(crate) struct Prefilter {
    literals: Literals,
    /// By keyword.
    calls: Vec<Vec<Call>>,
    /// By keyword, the letters behind it with which it calls no row.
    in_vain: Vec<Letters>,
}

impl Prefilter {
    pub(crate) fn new<'a>(rows: impl Iterator<Item = (usize, &'a Row)>) -> Self {
        let mut by_keyword: BTreeMap<String, (Vec<Call>, Vec<&Row>)> = BTreeMap::new();
        for (index, row) in rows {
            for keyword in &row.keywords {
                let exact = (!row.ignore_case).then(|| keyword.as_bytes().into());
                let (calls, called) = by_keyword.entry(keyword.to_ascii_lowercase()).or_default();
                calls.push(Call { row: index, exact, in_vain: in_vain(row, keyword) });
                called.push(row);
            }
        }
        let behind: Vec<_> = by_keyword.values().map(|(_, rows)| |byte| follows(rows, byte)).collect();
        let keywords =
            by_keyword.keys().zip(&behind).map(|(keyword, behind)| (&**keyword, behind as Behind<'_>));
        let literals = Literals::new(keywords);
        drop(behind);
        let calls: Vec<Vec<Call>> = by_keyword.into_values().map(|(calls, _)| calls).collect();
        let of_all =
            |calls: &Vec<Call>| calls.iter().fold(Letters::ALL, |all, call| Letters(all.0 & call.in_vain.0));
        let in_vain = calls.iter().map(of_all).collect();
        Self { literals, calls, in_vain }
    }

    /// Calls `f` with each row and place that a keyword of `text` calls, in the order of the
    /// keywords' ends.
    pub(crate) fn each(&self, text: &[u8], mut f: impl FnMut(usize, Range<usize>)) {
        let is_wanted = |word: usize, next: Option<&u8>| !self.in_vain[word].contains(next);
        self.literals.each(text, is_wanted, |hit| {
            let next = text.get(hit.range.end);
            for call in &self.calls[hit.word] {
                if call.in_vain.contains(next) {
                    continue;
                }
                if call.exact.as_deref().is_none_or(|exact| *exact == text[hit.range.clone()]) {
                    f(call.row, hit.range.clone());
                }
            }
        });
    }
}

/// Returns whether `byte` may follow a keyword of two bytes in a match of one of its rows.
fn follows(rows: &[&Row], byte: u8) -> bool {
    rows.iter().any(|row| !matches!(row.shape, Shape::Token) || row.lead().allows(2, byte))
}

/// Returns the letters with which a keyword goes on to a word that no name of the row ends with:
/// `pat` in `path`, `token` in `tokens`.
///
/// A name counts by its last word. Where every last word that a row takes holds a keyword of that
/// row, that keyword calls the row too, and all others in the name need not. So a keyword calls
/// where its word ends, or goes on as a last word does; but for one that a longer keyword begins
/// with it, which calls by itself: `token` beside `tok`.
fn in_vain(row: &Row, keyword: &str) -> Letters {
    if row.shape != Shape::Assigned {
        return Letters::default();
    }
    let names = &row.names;
    let last = || names.last.iter().map(|word| word.trim_start_matches('*').to_ascii_lowercase());
    let holds_one =
        |word: String| row.keywords.iter().any(|known| word.contains(&known.to_ascii_lowercase()));
    let lower = keyword.to_ascii_lowercase();
    let is_word = lower.bytes().all(|byte| byte.is_ascii_lowercase());
    if !is_word || names.last.is_empty() || !last().all(holds_one) {
        return Letters::default();
    }
    let mut letters = Letters::ALL;
    for word in last() {
        let longer = |rest: &str| {
            row.keywords
                .iter()
                .any(|known| known.len() > lower.len() && rest.starts_with(&*known.to_ascii_lowercase()))
        };
        let places = (0..word.len()).filter(|&at| word[at..].starts_with(&*lower) && !longer(&word[at..]));
        let next = places.filter_map(|at| word.as_bytes().get(at + lower.len()));
        next.for_each(|&letter| letters.remove(letter));
    }
    letters
}
