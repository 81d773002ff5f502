//! One pass over one text: which rows run where, what their matches must pass, and what comes out.
//!
//! A match is judged by its beginning and kept to its end: a secret longer than what a pattern
//! counts, or than what is worth judging, must not leave its rest behind.

mod assigned;
mod digits;

use std::ops::Range;

use crate::beside;
use crate::block;
use crate::bounds::Bounds;
use crate::checksums::is_checked_token;
use crate::engine::Engine;
use crate::finding::{Finding, unite_from};
use crate::input::Input;
use crate::keyed::{self, Assignment};
use crate::names::opens_nothing;
use crate::numbers;
use crate::pack::Shape;
use crate::placeholder::{self, has_prefix, is_placeholder, is_written_over};
use crate::published::{is_example, is_published};
use crate::reads::Reads;
use crate::recur;
use crate::work::spend;

/// A value is judged by this much of it: secrets in use are shorter, and what begins like one is
/// masked to its end.
const LONGEST_JUDGED: usize = 2048;

/// From here on a match may have been cut by its own pattern's counts, the smallest of which is
/// this.
const MAY_BE_CUT: usize = 100;

/// A window never grows beyond this.
const WIDEST_WINDOW: usize = 64 << 10;

/// One pass over one text.
pub(crate) struct Scan<'a> {
    engine: &'a Engine,
    text: &'a str,
    key: &'a str,
    prefix_only: bool,
    /// The last word whose end was looked for, from where on: many matches may lie in one long
    /// word.
    word: Range<usize>,
    /// What regexes have read that could be asked to read it again.
    reads: Reads,
    hits: Vec<Match>,
    /// Nothing is turned away by a first look: what tests compare with, and nobody else.
    pub(crate) slowly: bool,
    /// A keyword calls its row whatever follows it, in tests too.
    pub(crate) unfollowed: bool,
}

/// A match that stands.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Match {
    row: usize,
    range: Range<usize>,
    published: bool,
}

impl Match {
    /// Masks more than was judged.
    fn cover(&mut self, range: &Range<usize>, text: &str) {
        self.range.start = text.floor_char_boundary(self.range.start.min(range.start));
        self.range.end = text.ceil_char_boundary(self.range.end.max(range.end));
    }
}

impl<'a> Scan<'a> {
    pub(crate) fn new(engine: &'a Engine, input: &Input<'a>) -> Self {
        Self {
            engine,
            text: input.text,
            key: input.key,
            prefix_only: input.prefix_only,
            word: 0..0,
            reads: Reads::default(),
            hits: Vec::new(),
            slowly: false,
            unfollowed: false,
        }
    }

    pub(crate) fn run(mut self, out: &mut Vec<Finding>) {
        self.known();
        self.leaf();
        self.keywords();
        if !self.prefix_only {
            self.walk();
        }
        self.finish(out);
    }

    fn bytes(&self) -> &'a [u8] {
        self.text.as_bytes()
    }

    /// The values that somebody named, before any pattern. What is known needs no check.
    fn known(&mut self) {
        let Some((row, known)) = &self.engine.known else { return };
        let text = self.text;
        known.each(text, |range| {
            let range = text.floor_char_boundary(range.start)..text.ceil_char_boundary(range.end);
            self.hits.push(Match { row: *row, range, published: false });
        });
    }

    /// The whole leaf as the value of its key.
    fn leaf(&mut self) {
        let key = self.key;
        let value = self.text.trim();
        if key.is_empty() || self.prefix_only || value.len() < 4 {
            return;
        }
        let start = self.text.len() - self.text.trim_start().len();
        let range = start..start + value.len();
        let engine = self.engine;
        self.each_call(key.as_bytes(), |scan, index, _| {
            let row = &engine.rows[index];
            if row.shape == Shape::Assigned && row.names.takes(key) && !opens_nothing(key) {
                scan.value(index, ("", key), range.clone(), range.len().min(LONGEST_JUDGED), true);
            }
        });
    }

    /// Everything that a keyword calls.
    fn keywords(&mut self) {
        let engine = self.engine;
        let mut block_end = 0;
        let mut parsed: Option<(usize, Option<Assignment>)> = None;
        self.each_call(self.bytes(), |scan, index, hit| {
            let row = &*engine.rows[index];
            if scan.prefix_only && !row.prefix {
                return;
            }
            match row.shape {
                Shape::Token => scan.token(index, hit),
                Shape::Near => scan.near(index, hit),
                Shape::Block if hit.start >= block_end => {
                    block_end = scan.block(index, hit).unwrap_or(block_end);
                }
                Shape::Assigned => {
                    // Several rows share a keyword: the text is parsed once for all of them.
                    if parsed.as_ref().is_none_or(|(end, _)| *end != hit.end) {
                        let end = hit.end;
                        let assignment = keyed::assignment(scan.text, hit);
                        spend(assignment.as_ref().map_or(0, |found| found.value.len()));
                        parsed = Some((end, assignment));
                    }
                    if let Some((_, Some(assignment))) = &parsed {
                        scan.assigned(index, &row.names, assignment);
                    }
                }
                _ => {}
            }
        });
    }

    /// Calls `f` with each row and place that a keyword of a text calls.
    fn each_call(&mut self, text: &[u8], mut f: impl FnMut(&mut Self, usize, Range<usize>)) {
        #[cfg(test)]
        if self.slowly {
            return crate::reference::each_call(&self.engine.rows, text, |index, hit| f(self, index, hit));
        }
        self.engine.prefilter.each(text, |index, hit| f(self, index, hit));
    }

    fn token(&mut self, index: usize, hit: Range<usize>) {
        let row = &*self.engine.rows[index];
        let slowly = cfg!(test) && self.slowly;
        // The lead is made once it is asked for, and most hits are within words.
        let may_match = || slowly || row.lead().fits(&self.bytes()[hit.start..], hit.len());
        if !row.bounds.begins(self.bytes(), hit.start) || !may_match() {
            return;
        }
        // What is as long as this is read again and again where keywords stand close together.
        const LONG: usize = 64;
        if slowly || row.reach() <= LONG {
            let window = if slowly { row.window } else { row.window.min(row.reach()) };
            self.search(index, hit.start, hit.start, window);
            return;
        }
        let matches = self.reads.matches.entry(index).or_default();
        if matches.is_taken(hit.start) {
            return;
        }
        if let Some(end) = matches.spent_at(hit.start) {
            return self.take_unjudged(index, hit.start..end);
        }
        if let Some(whole) = self.search(index, hit.start, hit.start, row.window.min(row.reach())) {
            self.reads.matches.entry(index).or_default().add(whole);
        }
    }

    /// Takes what would cost too much to judge, to the end of its word.
    fn take_unjudged(&mut self, index: usize, range: Range<usize>) {
        let end = self.word_end(range.end);
        self.reads.matches.entry(index).or_default().take(end);
        let range = self.text.floor_char_boundary(range.start)..self.text.ceil_char_boundary(end);
        self.hits.push(Match { row: index, range, published: false });
    }

    fn near(&mut self, index: usize, hit: Range<usize>) {
        let row = &*self.engine.rows[index];
        let before = row.before.unwrap_or_default();
        if !(cfg!(test) && self.unfollowed || row.behind.fits(&self.bytes()[hit.end..], 0)) {
            return;
        }
        let start = hit.start.saturating_sub(before);
        let mut end = start + before + row.window;
        if row.lengths().most.is_none() {
            // Matches of any length: the same end for many windows, so that one search answers all.
            end = end.next_multiple_of(row.window);
        }
        let unread = match cfg!(test) && self.slowly {
            true => Some(start),
            false => self.reads.windows.entry(index).or_default().unread(start..end, row.reach()),
        };
        if let Some(from) = unread {
            self.search(index, start, from, end - start);
        }
    }

    /// Runs the row's regex in the window from `start` on, for a match that begins at `from` or
    /// behind it; a match that touches the window's end is tried again in a wider one. Gives the
    /// match, whether or not it stands.
    fn search(&mut self, index: usize, start: usize, from: usize, window: usize) -> Option<Range<usize>> {
        let row = &*self.engine.rows[index];
        let bytes = self.bytes();
        let mut width = window;
        let (found, end) = loop {
            let end = bytes.len().min(start.saturating_add(width));
            let found = row.find_at(&bytes[start..end], from - start);
            let touches = found.as_ref().is_some_and(|found| start + found.whole.end == end);
            if !touches || end == bytes.len() || width >= WIDEST_WINDOW {
                break (found, end);
            }
            width *= 4;
        };
        let whole = found.as_ref().map(|found| start + found.whole.start..start + found.whole.end);
        if row.shape == Shape::Near {
            self.reads.windows.entry(index).or_default().add(start..end, whole.clone());
        }
        let (found, whole) = (found?, whole?);
        let touches = whole.end == end && end < bytes.len();
        let mut secret = start + found.secret.start..start + found.secret.end;
        if row.bounds.begins(bytes, whole.start) && (touches || row.bounds.ends(bytes, whole.end)) {
            let open_ended = touches || matches!(row.bounds, Bounds::Left | Bounds::Any);
            let judged = secret.end - secret.start;
            if open_ended && secret.end == whole.end && judged >= MAY_BE_CUT {
                secret.end = self.word_end(secret.end);
            }
            let before = self.hits.len();
            self.accept(index, secret, judged, true);
            let cover = start + found.cover.start..start + found.cover.end;
            self.hits[before..].iter_mut().for_each(|hit| hit.cover(&cover, self.text));
        }
        Some(whole)
    }

    /// Gives where the block ends, whether or not it holds a key: its text is not looked at twice.
    fn block(&mut self, index: usize, hit: Range<usize>) -> Option<usize> {
        let row = &*self.engine.rows[index];
        let reach = self.bytes().len().min(hit.start + row.window);
        let header = row.find(&self.bytes()[hit.start..reach])?.whole.end;
        let end = block::end(self.bytes(), hit.start + header)?;
        spend(end - hit.start);
        self.hits.push(Match { row: index, range: hit.start..end, published: false });
        Some(end)
    }

    /// Where the word ends that `at` stands in. Looks at no byte of a word twice.
    fn word_end(&mut self, at: usize) -> usize {
        if !(self.word.start..=self.word.end).contains(&at) {
            self.word = at..keyed::bare_end(self.bytes(), at);
            spend(self.word.len());
        }
        self.word.end
    }

    /// What no keyword announces.
    fn walk(&mut self) {
        let (engine, bytes) = (self.engine, self.bytes());
        let walkers = &engine.walkers;
        if walkers.ask(&[Shape::Number, Shape::Groups, Shape::Account, Shape::Phone]) {
            self.walk_digits();
        }
        if walkers.ask(&[Shape::Groups, Shape::Phone, Shape::Device, Shape::Word]) {
            self.walk_marks();
        }
        if walkers.ask(&[Shape::Address, Shape::Device]) {
            numbers::each_address(bytes, |range| {
                if !beside::is_network(bytes, range.start) {
                    self.search_all(Shape::Address, &range);
                }
                self.device(range.start);
            });
        }
        if walkers.ask(&[Shape::Dots]) {
            numbers::each_dotted(bytes, |range| self.search_all(Shape::Dots, &range));
        }
        if walkers.ask(&[Shape::At]) {
            numbers::each_at(bytes, |range| {
                if !beside::is_userinfo(bytes, &range) {
                    self.search_all(Shape::At, &range);
                }
            });
        }
    }

    /// Runs the regex of each row of a shape over a candidate, again behind each match.
    fn search_all(&mut self, shape: Shape, range: &Range<usize>) {
        let (engine, bytes) = (self.engine, self.bytes());
        for &index in engine.walkers.of(shape) {
            let row = &*engine.rows[index];
            let mut from = range.start;
            while let Some(found) = row.find(&bytes[from..range.end]) {
                let whole = from + found.whole.start..from + found.whole.end;
                if row.bounds.begins(bytes, whole.start) && row.bounds.ends(bytes, whole.end) {
                    let secret = from + found.secret.start..from + found.secret.end;
                    self.accept(index, secret.clone(), secret.len(), true);
                }
                from = whole.end.max(from + 1);
                if from >= range.end {
                    break;
                }
            }
        }
    }

    /// Accepts what code alone has found, for each row of a shape.
    fn accept_all(&mut self, shape: Shape, range: &Range<usize>) {
        let engine = self.engine;
        for &index in engine.walkers.of(shape) {
            self.accept(index, range.clone(), range.len(), true);
        }
    }

    /// Accepts a match, and says whether it stands.
    fn takes(&mut self, index: usize, range: Range<usize>) -> bool {
        let before = self.hits.len();
        self.accept(index, range.clone(), range.len(), true);
        self.hits.len() > before
    }

    /// Applies placeholders and checks to the first `judged` bytes of a match, and keeps what
    /// stands.
    fn accept(&mut self, index: usize, range: Range<usize>, judged: usize, sure: bool) {
        let start = self.text.floor_char_boundary(range.start);
        let cut = range.start + judged < range.end;
        let mut end = match cut {
            true => self.text.floor_char_boundary(range.start + judged),
            false => self.text.ceil_char_boundary(range.end),
        };
        let beside = self.engine.rows[index].beside;
        if start >= end || beside.is_some_and(|cue| !self.has_word(cue, &(start..end))) {
            return;
        }
        let published = match self.judge(index, start..end, sure) {
            Some(kept) => {
                end = start + kept;
                is_published(&self.text[start..end])
            }
            // Most examples look like placeholders, or fail a check on purpose.
            None if !cut && is_example(&self.text[start..end]) => true,
            None => return,
        };
        let end = if cut { self.text.ceil_char_boundary(range.end) } else { end };
        self.hits.push(Match { row: index, range: start..end, published });
    }

    /// Applies a row's checks; gives how much of a match stands.
    fn judge(&self, index: usize, range: Range<usize>, sure: bool) -> Option<usize> {
        let row = &*self.engine.rows[index];
        let text = &self.text[range];
        spend(text.len());
        let mut kept = text.len();
        if row.checksum && is_checked_token(text) {
            return Some(kept);
        }
        for check in &row.checks {
            kept = check.keep(&text[..kept], sure)?;
        }
        // Last, because this is the dearest test and the checks refuse most words.
        let value = &text[..kept];
        let token = row.asks_for_token();
        let stands = row.placeholders
            || !(is_placeholder(value)
                || (token && placeholder::is_made_up(value))
                || ((row.is_issued() || (token && has_prefix(value))) && is_written_over(value)));
        stands.then_some(kept)
    }

    /// Masks values that were known by their place wherever else they stand.
    fn recur(&mut self) {
        let (engine, text) = (self.engine, self.text);
        let by_place = |hit: &&Match| engine.rows[hit.row].shape == Shape::Assigned;
        let live = self.hits.iter().filter(by_place).filter(|hit| !hit.published);
        // What stood between a name and its value may not stand elsewhere.
        let own = |value: &'a str| value.strip_prefix(['-', '_']).unwrap_or(value);
        let values = live.map(|hit| (own(&text[hit.range.clone()]), hit.row));
        let values: Vec<_> = values.filter(|(value, _)| recur::is_worth(value)).collect();
        if !values.is_empty() {
            recur::each(text, values, |row, range| self.hits.push(Match { row, range, published: false }));
        }
    }

    /// A part of a published example (`my_key-26785a09-…`, read as a name and its value) is as published
    /// as the whole.
    fn drop_parts_of_published(&mut self) {
        let whole: Vec<_> =
            self.hits.iter().filter(|hit| hit.published).map(|hit| hit.range.clone()).collect();
        if !whole.is_empty() {
            let is_part = |hit: &Match| {
                whole.iter().any(|whole| whole.start <= hit.range.start && hit.range.end <= whole.end)
            };
            self.hits.retain(|hit| hit.published || !is_part(hit));
        }
    }

    /// Turns hits into findings: in the order of the rows, so that of equals the earlier one names
    /// the whole.
    fn finish(mut self, out: &mut Vec<Finding>) {
        if self.hits.is_empty() {
            return;
        }
        if !self.prefix_only {
            self.recur();
        }
        self.drop_parts_of_published();
        let first = out.len();
        self.hits.sort_by_key(|hit| (hit.row, hit.range.start));
        self.hits.dedup();
        for Match { row, range, published } in self.hits {
            let row = &self.engine.rows[row];
            out.push(Finding {
                range,
                label: row.label.clone(),
                detector: row.id.clone(),
                confidence: row.confidence,
                published,
            });
        }
        unite_from(out, first);
    }
}
