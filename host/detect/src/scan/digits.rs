//! Numbers, which no keyword announces: cards, telephones, accounts, devices.

use std::ops::Range;

use super::Scan;
use crate::beside;
use crate::cues::Cue;
use crate::numbers::{self, Accounts, Mark, Numbers};
use crate::pack::Shape;
use crate::phone;
use crate::work::spend;

impl Scan<'_> {
    /// Numbers, telephone and account numbers, in one walk over the runs of digits.
    pub(super) fn walk_digits(&mut self) {
        let (engine, bytes) = (self.engine, self.bytes());
        let walkers = &engine.walkers;
        let (mut numbers, mut accounts) = (Numbers::default(), Accounts::default());
        self.each_digit_run(|scan, run| {
            if let Some((range, digits)) = numbers.around(bytes, &run) {
                spend(range.len());
                scan.numbers(&[Shape::Number, Shape::Groups], &range, digits);
                scan.phone(range, digits);
            }
            if walkers.ask(&[Shape::Account])
                && let Some(start) = accounts.around(bytes, &run)
            {
                walkers.of(Shape::Account).iter().for_each(|&index| scan.account(index, start));
            }
        });
    }

    /// Asks rows for a number of so many digits. A word that must stand beside it is looked for once
    /// for all rows, and before any regex is asked.
    fn numbers(&mut self, shapes: &[Shape], range: &Range<usize>, digits: usize) {
        let engine = self.engine;
        let mut known: Option<(Cue, bool)> = None;
        for &index in shapes.iter().flat_map(|&shape| engine.walkers.of(shape)) {
            let row = &*engine.rows[index];
            // A number without signs is one match or none.
            let fits = range.len() > digits || row.lengths().allow(digits);
            let is_card = row.has_check("card");
            if digits < row.least_digits || !fits || (is_card && beside::is_of_table(self.bytes(), range)) {
                continue;
            }
            let has_word = row.beside.is_none_or(|cue| match known {
                Some((last, has)) if last == cue => has,
                _ => {
                    let has = self.has_word(cue, range);
                    known = Some((cue, has));
                    has
                }
            });
            if has_word {
                self.search_groups(index, range.clone());
            }
        }
    }

    /// A word stands beside a number, or is the key whose value it is.
    pub(super) fn has_word(&self, cue: Cue, range: &Range<usize>) -> bool {
        /// Quotes, blanks, what an exponent leaves.
        const LONGEST_BESIDE: usize = 8;
        let is_value = self.text.len() <= range.len() + LONGEST_BESIDE;
        cue.stands_beside(self.text, range) || is_value && cue.begins_word_of(self.key)
    }

    /// Numbers of which no group need have four digits, devices in dashes, and addresses of money.
    pub(super) fn walk_marks(&mut self) {
        let bytes = self.bytes();
        let mut numbers = Numbers::default();
        numbers::each_mark(bytes, |mark, place| match mark {
            Mark::Dashes => self.device(place.start),
            Mark::Digit => self.word(place.start),
            Mark::Groups => {
                if let Some((range, digits)) = numbers.around(bytes, &place) {
                    spend(range.len());
                    self.numbers(&[Shape::Groups], &range, digits);
                    self.phone(range, digits);
                }
            }
        });
    }

    fn word(&mut self, start: usize) {
        if self.engine.walkers.ask(&[Shape::Word])
            && let Some(range) = numbers::word(self.bytes(), start)
        {
            self.search_all(Shape::Word, &range);
        }
    }

    pub(super) fn device(&mut self, start: usize) {
        if self.engine.walkers.ask(&[Shape::Device])
            && let Some(range) = numbers::device(self.bytes(), start)
        {
            self.accept_all(Shape::Device, &range);
        }
    }

    fn phone(&mut self, number: Range<usize>, digits: usize) {
        if !self.engine.walkers.ask(&[Shape::Phone]) || !phone::DIGITS.contains(&digits) {
            return;
        }
        let Some(phone) = phone::read(self.bytes(), &number) else { return };
        if !phone.needs_word || self.has_word(Cue::Phone, &phone.range) {
            self.accept_all(Shape::Phone, &phone.range);
        }
    }

    fn each_digit_run(&mut self, mut f: impl FnMut(&mut Self, Range<usize>)) {
        #[cfg(test)]
        if self.slowly {
            return crate::reference::each_digit_run(self.bytes(), |run| f(self, run));
        }
        numbers::each_digit_run(self.bytes(), |run| f(self, run));
    }

    fn account(&mut self, index: usize, start: usize) {
        self.search(index, start, start, self.engine.rows[index].window);
    }

    /// Runs the row's regex over a number. Numbers stand in rows: what the regex takes may begin
    /// with a year or end with an expiry date, so a match that is refused is tried again without
    /// its last groups, and then from its next group on.
    fn search_groups(&mut self, index: usize, range: Range<usize>) {
        let row = &*self.engine.rows[index];
        let bytes = self.bytes();
        let mut from = range.start;
        while let Some(found) = row.find(&bytes[from..range.end]) {
            let (start, longest) = (from + found.whole.start, from + found.whole.end);
            let matches = |end: usize| {
                let allowed = end == longest || row.lengths().allow(end - start);
                allowed
                    && row.find(&bytes[start..end]).is_some_and(|found| found.whole == (0..end - start))
                    && row.bounds.ends(bytes, end)
            };
            let taken = row.bounds.begins(bytes, start).then(|| {
                group_ends(bytes, start, longest).find(|&end| matches(end) && self.takes(index, start..end))
            });
            from = taken.flatten().unwrap_or_else(|| next_group(bytes, start, range.end));
        }
    }
}

/// Where a match may end: where the regex ended it, and before that behind each of its groups of
/// digits, the longest first.
fn group_ends(bytes: &[u8], start: usize, longest: usize) -> impl Iterator<Item = usize> {
    let behind_group = move |&end: &usize| bytes[end - 1].is_ascii_digit() && !bytes[end].is_ascii_digit();
    std::iter::once(longest).chain((start + 1..longest).rev().filter(behind_group))
}

/// Where the next group of digits begins, at the latest at `end`.
fn next_group(bytes: &[u8], start: usize, end: usize) -> usize {
    let group = bytes[start..end].iter().take_while(|byte| byte.is_ascii_digit()).count().max(1);
    let gap = bytes[start + group..end].iter().take_while(|byte| !byte.is_ascii_digit()).count();
    start + group + gap
}
