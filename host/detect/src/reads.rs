//! What regexes have read of a text, so that none reads the same bytes again and again.
//!
//! Keywords may stand close together, and what each of them calls reads far behind it. Two rules
//! keep what a row reads within a small multiple of the text:
//!
//! - **Windows of one row unite.** A row that looks around its keyword reads of a window only what
//!   its last one did not answer for.
//! - **A byte is read so often and no more.** Where matches of one row lie over one another many
//!   times, what would be read once more is taken for a secret without being judged. Tokens never
//!   stand so; a text that was made to cost much is redacted.

use std::ops::Range;

use rustc_hash::FxHashMap;

/// How often a row's matches may cover the same bytes.
const TIMES: usize = 16;

/// What each row has read. Empty until a row asks, so that most texts allocate nothing.
#[derive(Debug, Default)]
pub(crate) struct Reads {
    pub(crate) windows: FxHashMap<usize, Windows>,
    pub(crate) matches: FxHashMap<usize, Matches>,
}

/// The last window of a row that was searched, and its first match.
#[derive(Debug, Default)]
pub(crate) struct Windows {
    searched: Range<usize>,
    found: Option<Range<usize>>,
}

impl Windows {
    /// Returns from where on a window has to be searched; `None` where its first match is known, or
    /// it is known that there is none.
    ///
    /// A match ends less than `reach` bytes behind its beginning. So one that is not known begins
    /// close to the end of the last window, or behind it.
    pub(crate) fn unread(&self, window: Range<usize>, reach: usize) -> Option<usize> {
        let start = window.start;
        let passed = self.found.as_ref().is_some_and(|found| found.start < start);
        if start < self.searched.start || passed {
            return Some(start);
        }
        if window.end <= self.searched.end {
            return None;
        }
        let unanswered = start.max(self.searched.end.saturating_sub(reach));
        let earlier = self.found.as_ref().is_none_or(|found| unanswered < found.start);
        earlier.then_some(unanswered)
    }

    pub(crate) fn add(&mut self, searched: Range<usize>, found: Option<Range<usize>>) {
        (self.searched, self.found) = (searched, found);
    }
}

/// Matches of a row that lie over one another.
#[derive(Debug, Default)]
pub(crate) struct Matches {
    covered: Range<usize>,
    /// All of their lengths.
    read: usize,
    /// Up to here everything is taken.
    taken: usize,
}

impl Matches {
    pub(crate) fn is_taken(&self, start: usize) -> bool {
        start < self.taken
    }

    /// Returns to where the matches reach that a further one would lie over, where that is one too
    /// many.
    pub(crate) fn spent_at(&self, start: usize) -> Option<usize> {
        let spent = self.covered.contains(&start) && self.read > TIMES * self.covered.len();
        spent.then_some(self.covered.end)
    }

    pub(crate) fn add(&mut self, whole: Range<usize>) {
        if whole.start >= self.covered.end {
            (self.covered, self.read) = (whole.clone(), 0);
        }
        self.covered.end = self.covered.end.max(whole.end);
        self.read += whole.len();
    }

    pub(crate) fn take(&mut self, end: usize) {
        (self.taken, self.covered, self.read) = (end, end..end, 0);
    }
}
