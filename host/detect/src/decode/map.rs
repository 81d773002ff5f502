//! Ranges of a decoded text, back to the text that it was decoded from.

use std::ops::Range;

/// How a decoded text lies in the text that it was decoded from.
#[derive(Debug)]
pub(super) enum Map {
    /// Character for character: what no unit names stands there unchanged.
    Units(Units),
    /// All of a stretch spells all of the text: no part of one is a part of the other.
    Block(Range<usize>),
}

/// A window of a text, and each of its spellings that means another character or none.
#[derive(Debug)]
pub(super) struct Units {
    start: usize,
    units: Vec<Unit>,
}

/// One spelling. Offsets are `u32`: no body comes near four gigabytes, and a text may consist of
/// spellings alone.
#[derive(Clone, Copy, Debug)]
struct Unit {
    view: u32,
    view_len: u32,
    source: u32,
    source_len: u32,
}

impl Unit {
    fn view_end(&self) -> usize {
        (self.view + self.view_len) as usize
    }

    fn source_end(&self) -> usize {
        (self.source + self.source_len) as usize
    }
}

impl Map {
    /// Returns the range that spells a range of the decoded text, and no character more.
    pub(super) fn source(&self, range: &Range<usize>) -> Range<usize> {
        match self {
            Map::Block(stretch) => stretch.clone(),
            Map::Units(units) => units.start_of(range.start)..units.end_of(range.end),
        }
    }
}

/// A window of a text as far as it is decoded.
pub(super) struct Window<'t> {
    source: &'t str,
    /// How far it is decoded.
    pub(super) at: usize,
    pub(super) text: String,
    pub(super) units: Units,
}

impl<'t> Window<'t> {
    pub(super) fn new(source: &'t str, start: usize) -> Self {
        Window { source, at: start, text: String::new(), units: Units::new(start) }
    }

    /// Takes what stands before `end` as it is.
    pub(super) fn plain_to(&mut self, end: usize) {
        self.text.push_str(&self.source[self.at..end]);
        self.at = end;
    }

    /// Takes what stands before `end` as a spelling of other characters, or of none.
    pub(super) fn spelled_to(&mut self, end: usize, means: impl IntoIterator<Item = char>) {
        let view = self.text.len();
        self.text.extend(means);
        self.units.push(view..self.text.len(), self.at..end);
        self.at = end;
    }
}

impl Units {
    /// Begins the map of a window that starts at `start`.
    fn new(start: usize) -> Self {
        Units { start, units: Vec::new() }
    }

    /// Adds the next unit: where it lies in both texts.
    fn push(&mut self, view: Range<usize>, source: Range<usize>) {
        let short = |n: usize| u32::try_from(n).expect("bodies are far smaller than four gigabytes");
        self.units.push(Unit {
            view: short(view.start),
            view_len: short(view.len()),
            source: short(source.start),
            source_len: short(source.len()),
        });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.units.is_empty()
    }

    /// Returns true if and only if a unit lies in a range of the decoded text or directly beside
    /// it.
    pub(super) fn touch(&self, range: &Range<usize>) -> bool {
        let first = self.units.partition_point(|unit| unit.view_end() < range.start);
        self.units.get(first).is_some_and(|unit| unit.view as usize <= range.end)
    }

    /// What was left out before `at` stays before it.
    fn start_of(&self, at: usize) -> usize {
        let next = self.units.partition_point(|unit| unit.view_end() <= at);
        match self.units.get(next) {
            Some(unit) if (unit.view as usize) < at => unit.source as usize,
            _ => self.behind(next, at),
        }
    }

    /// What was left out behind `at` stays behind it.
    fn end_of(&self, at: usize) -> usize {
        let next = self.units.partition_point(|unit| (unit.view as usize) < at);
        match next.checked_sub(1).map(|last| &self.units[last]) {
            Some(unit) if at < unit.view_end() => unit.source_end(),
            _ => self.behind(next, at),
        }
    }

    /// The place of an unchanged character, `next` units before it.
    fn behind(&self, next: usize, at: usize) -> usize {
        match next.checked_sub(1).map(|last| &self.units[last]) {
            Some(unit) => unit.source_end() + (at - unit.view_end()),
            None => self.start + at,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_given_back_without_what_was_left_out_around_it() {
        // Source: `..a%41<zw>b<zw>c`, view: `aAbc`.
        let mut units = Units::new(2);
        units.push(1..2, 3..6);
        units.push(2..2, 6..9);
        units.push(3..3, 10..13);
        let map = Map::Units(units);
        for (view, source) in
            [(0..1, 2..3), (1..2, 3..6), (2..3, 9..10), (1..3, 3..10), (2..4, 9..14), (3..4, 13..14)]
        {
            assert_eq!(map.source(&view), source, "{view:?}");
        }
    }
}
