//! The text of one leaf, as stretches of what was received and of what was written since.
//!
//! Keeping the received stretches by range, not by text, is what lets an edit change its own bytes and no other: whatever spelling
//! they had in the body (escapes, lone surrogates), they keep it. Texts that were written are shared by all states and drafts that hold
//! them. Every operation walks the pieces once, however many edits it is given.

use std::ops::Range;
use std::sync::Arc;

use bytestring::ByteString;

use crate::escape::Splice;

/// One stretch of a leaf's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LeafPiece {
    /// Received: a byte range of the original text.
    Kept(Range<usize>),
    /// Written by a rule, a plugin or a person.
    Written(ByteString),
    /// Written by redaction in place of what must not leave. `record`: the number of the redaction, where one was made here.
    Redacted { label: Arc<str>, text: ByteString, record: Option<usize> },
    /// Received, redacted, and shown again by a person who released that redaction.
    Released { at: Range<usize>, label: Arc<str>, record: usize },
}

impl LeafPiece {
    fn len(&self) -> usize {
        match self {
            LeafPiece::Kept(range) | LeafPiece::Released { at: range, .. } => range.len(),
            LeafPiece::Written(text) | LeafPiece::Redacted { text, .. } => text.len(),
        }
    }

    fn text<'a>(&'a self, original: &'a str) -> &'a str {
        match self {
            LeafPiece::Kept(range) | LeafPiece::Released { at: range, .. } => &original[range.clone()],
            LeafPiece::Written(text) | LeafPiece::Redacted { text, .. } => text,
        }
    }

    /// The received stretch that it shows, whoever let it leave.
    fn received(&self) -> Option<Range<usize>> {
        match self {
            LeafPiece::Kept(at) | LeafPiece::Released { at, .. } => Some(at.clone()),
            LeafPiece::Written(_) | LeafPiece::Redacted { .. } => None,
        }
    }

    /// The part of it that a range within it covers. A part of a token is no token any more, so it counts as written; a part of a
    /// released value is another value, which nobody has released.
    fn part(&self, range: Range<usize>) -> LeafPiece {
        match self {
            LeafPiece::Kept(kept) => LeafPiece::Kept(kept.start + range.start..kept.start + range.end),
            whole if range == (0..whole.len()) => whole.clone(),
            LeafPiece::Released { at, .. } => LeafPiece::Kept(at.start + range.start..at.start + range.end),
            LeafPiece::Written(text) | LeafPiece::Redacted { text, .. } => {
                LeafPiece::Written(text.slice_ref(&text[range]))
            }
        }
    }
}

/// The text of one leaf in one version. A clone shares everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LeafPieces(Arc<[LeafPiece]>);

/// Turns a replacement in a text into an edit of it.
pub(crate) fn edit(splice: Splice) -> (Range<usize>, LeafPiece) {
    let text = splice.with.into();
    match splice.label {
        Some(label) => (splice.at, LeafPiece::Redacted { label, text, record: None }),
        None => (splice.at, LeafPiece::Written(text)),
    }
}

/// A stretch of a text, and what redaction recognised there. Of a received text: what redaction took away, and no later view of the
/// leaf shows, not even as an old value.
pub(crate) type Labelled = (Range<usize>, Arc<str>);

/// Adds stretches to those that are hidden already, uniting overlaps under the label of the first.
pub(crate) fn hide(hidden: &mut Vec<Labelled>, more: Vec<Labelled>) {
    hidden.extend(more);
    hidden.sort_by_key(|(at, _)| (at.start, at.end));
    hidden.dedup_by(|(next, _), (last, _)| {
        let overlaps = next.start < last.end;
        if overlaps {
            last.end = last.end.max(next.end);
        }
        overlaps
    });
}

/// The received stretches that a range of a text covers.
pub(crate) struct CoveredStretches {
    pub(crate) stretches: Vec<Range<usize>>,
    /// Whether nothing else is in it, a mark of what was taken away among them.
    alone: bool,
}

impl CoveredStretches {
    /// Returns the one stretch that these are; `None` where there are several, or anything else is among them.
    pub(crate) fn whole(&self) -> Option<Range<usize>> {
        let joined = self.stretches.windows(2).all(|pair| pair[0].end == pair[1].start);
        let whole = self.stretches.first()?.start..self.stretches.last()?.end;
        (self.alone && joined).then_some(whole)
    }
}

/// A walk over the pieces from the beginning of the text to its end, at most once.
struct PieceWalk<'p> {
    pieces: &'p [LeafPiece],
    /// The piece that the walk is in, and where that piece begins in the text.
    piece: usize,
    begins: usize,
    /// How much of the text was walked.
    at: usize,
}

impl<'p> PieceWalk<'p> {
    fn new(pieces: &'p LeafPieces) -> Self {
        PieceWalk { pieces: &pieces.0, piece: 0, begins: 0, at: 0 }
    }

    /// Gives every piece up to a place of the text, the last one cut there. An empty piece, which says that something was taken away,
    /// is given with what stands before it.
    fn up_to(&mut self, end: usize, mut each: impl FnMut(LeafPiece)) {
        self.covered(end, &mut each);
        while let Some(mark) = self.pieces.get(self.piece).filter(|piece| self.at == end && piece.len() == 0)
        {
            each(mark.clone());
            self.piece += 1;
        }
    }

    /// The same without the empty pieces that stand at the place itself.
    fn covered(&mut self, end: usize, mut each: impl FnMut(LeafPiece)) {
        while let Some(piece) = self.pieces.get(self.piece) {
            #[cfg(test)]
            tests::count();
            let stop = end.min(self.begins + piece.len());
            if self.at == end {
                break;
            }
            each(piece.part(self.at - self.begins..stop - self.begins));
            self.at = stop;
            if stop < self.begins + piece.len() {
                break;
            }
            (self.piece, self.begins) = (self.piece + 1, stop);
        }
    }
}

impl LeafPieces {
    /// The text as received.
    pub(crate) fn untouched(length: usize) -> Self {
        LeafPieces([LeafPiece::Kept(0..length)].into())
    }

    /// Whether it reads as received; with every redaction released, it does.
    pub(crate) fn is_untouched(&self, length: usize) -> bool {
        if length == 0 {
            return self.0.iter().all(|piece| piece.len() == 0);
        }
        let mut end = 0;
        let goes_on = |piece: &LeafPiece| {
            let goes_on = piece.received().is_some_and(|at| at.start == end);
            end += piece.len();
            goes_on
        };
        self.0.iter().all(goes_on) && end == length
    }

    /// Whether somebody other than redaction wrote in it.
    pub(crate) fn is_written(&self) -> bool {
        self.0.iter().any(|piece| matches!(piece, LeafPiece::Written(_)))
    }

    pub(crate) fn text(&self, original: &str) -> String {
        // A leaf may be as large as the body: growing by doubling would take twice as much.
        let mut text = String::with_capacity(self.len());
        self.0.iter().for_each(|piece| text.push_str(piece.text(original)));
        text
    }

    /// Bytes of memory, about.
    pub(crate) fn memory(&self) -> usize {
        let written = |piece: &LeafPiece| match piece {
            LeafPiece::Kept(_) | LeafPiece::Released { .. } => 0,
            LeafPiece::Written(text) | LeafPiece::Redacted { text, .. } => text.len(),
        };
        self.0.iter().map(|piece| size_of::<LeafPiece>() + written(piece)).sum()
    }

    /// Bytes of the present text.
    pub(crate) fn len(&self) -> usize {
        self.0.iter().map(LeafPiece::len).sum()
    }

    /// Where redaction wrote, in the present text.
    pub(crate) fn redacted(&self) -> Vec<Labelled> {
        self.redactions().map(|(at, label, _)| (at, Arc::clone(label))).collect()
    }

    /// The same with the numbers of the redactions.
    pub(crate) fn redactions(&self) -> impl Iterator<Item = (Range<usize>, &Arc<str>, Option<usize>)> {
        self.placed().filter_map(|(at, piece)| match piece {
            LeafPiece::Redacted { label, record, .. } => Some((at, label, *record)),
            LeafPiece::Kept(_) | LeafPiece::Written(_) | LeafPiece::Released { .. } => None,
        })
    }

    /// The stretches of the present text that somebody released, with the numbers of the redactions.
    pub(crate) fn released(&self) -> impl Iterator<Item = (Range<usize>, &Arc<str>, usize)> {
        self.placed().filter_map(|(at, piece)| match piece {
            LeafPiece::Released { label, record, .. } => Some((at, label, *record)),
            LeafPiece::Kept(_) | LeafPiece::Written(_) | LeafPiece::Redacted { .. } => None,
        })
    }

    fn placed(&self) -> impl Iterator<Item = (Range<usize>, &LeafPiece)> {
        self.0.iter().scan(0, |end, piece| {
            let start = *end;
            *end += piece.len();
            Some((start..*end, piece))
        })
    }

    /// Shows the received stretch of a redaction again; `None` where that does not stand here.
    pub(crate) fn release(&self, number: usize, received: &Range<usize>) -> Option<LeafPieces> {
        let mut pieces = self.0.to_vec();
        let place = pieces.iter_mut().find_map(|piece| match piece {
            LeafPiece::Redacted { label, record: Some(record), .. } if *record == number => {
                Some((Arc::clone(label), piece))
            }
            _ => None,
        });
        let (label, place) = place?;
        *place = LeafPiece::Released { at: received.clone(), label, record: number };
        Some(LeafPieces(pieces.into()))
    }

    /// Replaces ranges of the present text; they are sorted and do not overlap.
    pub(crate) fn replace(&self, edits: impl IntoIterator<Item = (Range<usize>, LeafPiece)>) -> LeafPieces {
        let mut pieces = Vec::with_capacity(self.0.len());
        let mut walk = PieceWalk::new(self);
        for (range, new) in edits {
            walk.up_to(range.start, |piece| join(&mut pieces, piece));
            walk.covered(range.end, drop);
            pieces.push(new);
        }
        walk.up_to(usize::MAX, |piece| join(&mut pieces, piece));
        LeafPieces(pieces.into())
    }

    /// The received stretches that each range of the present text covers: what a redaction there takes away. The ranges are sorted and
    /// do not overlap.
    pub(crate) fn received<'r>(
        &self,
        ranges: impl Iterator<Item = &'r Range<usize>>,
    ) -> Vec<CoveredStretches> {
        let mut walk = PieceWalk::new(self);
        let covered = |range: &Range<usize>| {
            let mut covered = CoveredStretches { stretches: Vec::new(), alone: true };
            walk.covered(range.start, drop);
            walk.covered(range.end, |piece| match piece.received() {
                Some(at) => covered.stretches.push(at),
                None => covered.alone = false,
            });
            covered
        };
        ranges.map(covered).collect()
    }

    /// The text, with received stretches that were ever redacted shown as masks. `hidden` is sorted and does not overlap.
    pub(crate) fn masked(
        &self,
        original: &str,
        hidden: &[Labelled],
        mask: impl Fn(&str) -> String,
    ) -> String {
        let mut text = String::new();
        for piece in self.0.iter() {
            let Some(kept) = piece.received() else {
                text.push_str(piece.text(original));
                continue;
            };
            let mut at = kept.start;
            let first = hidden.partition_point(|(gone, _)| gone.end <= kept.start);
            for (gone, label) in hidden[first..].iter().take_while(|(gone, _)| gone.start < kept.end) {
                text.push_str(&original[at..gone.start.max(at)]);
                text.push_str(&mask(label));
                at = gone.end.min(kept.end);
            }
            text.push_str(&original[at..kept.end]);
        }
        text
    }

    /// The changes as replacements in the original text: sorted, not overlapping, and as short as the pieces allow. What redaction
    /// wrote bears its label.
    pub(crate) fn splices(&self, length: usize) -> Vec<Splice> {
        let mut splices: Vec<Splice> = Vec::new();
        // From `at` on the original text is gone unless a later piece keeps it; `changed` splices stand there already.
        let (mut at, mut changed) = (0, false);
        for piece in self.0.iter() {
            match piece {
                LeafPiece::Kept(range) | LeafPiece::Released { at: range, .. } => {
                    gone(&mut splices, at..range.start, changed);
                    (at, changed) = (range.end, false);
                }
                LeafPiece::Written(text) => {
                    splices.push(Splice { at: at..at, with: text.to_string(), label: None });
                    changed = true;
                }
                LeafPiece::Redacted { label, text, .. } => {
                    splices.push(Splice { at: at..at, with: text.to_string(), label: Some(label.clone()) });
                    changed = true;
                }
            }
        }
        gone(&mut splices, at..length, changed);
        splices
    }
}

/// Appends a piece; received neighbours become one.
fn join(pieces: &mut Vec<LeafPiece>, piece: LeafPiece) {
    match (pieces.last_mut(), piece) {
        (_, LeafPiece::Kept(nothing)) if nothing.is_empty() => {}
        (Some(LeafPiece::Kept(last)), LeafPiece::Kept(next)) if last.end == next.start => last.end = next.end,
        (_, piece) => pieces.push(piece),
    }
}

/// Notes that a stretch of the original text is gone: it went with the last replacement where that stands directly before it.
fn gone(splices: &mut Vec<Splice>, stretch: Range<usize>, replaced: bool) {
    match splices.last_mut().filter(|_| replaced) {
        Some(last) => last.at.end = stretch.end,
        None if stretch.is_empty() => {}
        None => splices.push(Splice { at: stretch, with: String::new(), label: None }),
    }
}

/// The stretches in which two texts differ. `around` are stretches of the old text, sorted and apart, that are not part of a difference
/// where the new text has them in the same order: a released value must not turn into a text that somebody wrote.
pub(crate) fn difference_around(
    old: &str,
    new: &str,
    around: &[Range<usize>],
) -> Vec<(Range<usize>, String)> {
    let mut differences = Vec::with_capacity(around.len() + 1);
    let (mut at, mut at_new) = (0, 0);
    let mut differ = |old_range: Range<usize>, new_range: Range<usize>| {
        let (range, with) = difference(&old[old_range.clone()], &new[new_range]);
        differences.push((old_range.start + range.start..old_range.start + range.end, with));
    };
    for kept in around {
        if let Some(found) = new[at_new..].find(&old[kept.clone()]) {
            differ(at..kept.start, at_new..at_new + found);
            (at, at_new) = (kept.end, at_new + found + kept.len());
        }
    }
    differ(at..old.len(), at_new..new.len());
    differences
}

/// The one stretch in which two texts differ, on character boundaries: a range of the old text and what stands there in the new.
pub(crate) fn difference(old: &str, new: &str) -> (Range<usize>, String) {
    // What is the same in both ends between characters in both.
    let same = |(one, other): &(u8, u8)| one == other;
    let prefix = old.floor_char_boundary(old.bytes().zip(new.bytes()).take_while(same).count());
    let (old_rest, new_rest) = (&old[prefix..], &new[prefix..]);
    let suffix = old_rest.bytes().rev().zip(new_rest.bytes().rev()).take_while(same).count();
    let end = old_rest.ceil_char_boundary(old_rest.len() - suffix);
    (prefix..prefix + end, new_rest[..new_rest.len() - (old_rest.len() - end)].to_owned())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    thread_local! { static STEPS: Cell<usize> = const { Cell::new(0) }; }

    /// Counts a step of a walk.
    pub(super) fn count() {
        STEPS.set(STEPS.get() + 1);
    }

    fn steps(act: impl FnOnce()) -> usize {
        STEPS.set(0);
        act();
        STEPS.get()
    }

    /// Every tenth character of a text of so many redactions.
    fn spots(count: usize) -> Vec<Range<usize>> {
        (0..count).map(|at| at * 10 + 3..at * 10 + 7).collect()
    }

    fn redacted(spots: &[Range<usize>]) -> impl Iterator<Item = (Range<usize>, LeafPiece)> + '_ {
        let label: Arc<str> = "X".into();
        let token = move || LeafPiece::Redacted { label: label.clone(), text: "TOKEN".into(), record: None };
        spots.iter().map(move |at| (at.clone(), token()))
    }

    #[test]
    fn work_grows_as_the_number_of_redactions_does() {
        let work = |count: usize| {
            let spots = spots(count);
            let untouched = LeafPieces::untouched(count * 10);
            let once = steps(|| drop(untouched.replace(redacted(&spots))));
            let pieces = untouched.replace(redacted(&spots));
            // The tokens are one byte longer: the text is redacted again where they stand.
            let again: Vec<_> = (0..count).map(|at| at * 11 + 3..at * 11 + 8).collect();
            let twice = steps(|| drop(pieces.replace(redacted(&again))));
            let received = steps(|| drop(untouched.received(spots.iter())));
            once + twice + received
        };
        let (few, many) = (work(8_000), work(32_000));
        assert!(many <= 4 * few + 16, "{few} steps for 8,000, {many} for 32,000");
        assert!(few <= 12 * 8_000, "{few} steps");
    }

    #[test]
    fn a_text_that_was_written_is_shared() {
        let written: ByteString = "a text of some length".into();
        let pieces = LeafPieces::untouched(10).replace([(2..5, LeafPiece::Written(written.clone()))]);
        let later = pieces.clone().replace([(4..6, LeafPiece::Written("x".into()))]);
        let share = |pieces: &LeafPieces| {
            let LeafPiece::Written(text) = &pieces.0[1] else {
                panic!("the second piece is the written one")
            };
            text.as_bytes().as_ptr()
        };
        assert_eq!(share(&pieces), written.as_bytes().as_ptr());
        assert_eq!(share(&later), written.as_bytes().as_ptr());
    }

    #[test]
    fn what_was_taken_away_stays_known() {
        let drop = |label: &str| LeafPiece::Redacted { label: label.into(), text: "".into(), record: None };
        let pieces = LeafPieces::untouched(10).replace([(2..4, drop("A")), (6..8, drop("B"))]);
        let later = pieces.replace([(2..3, LeafPiece::Written("x".into()))]);
        let labels = |pieces: &LeafPieces| {
            pieces.redacted().into_iter().map(|(_, label)| label.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(labels(&pieces), ["A", "B"]);
        assert_eq!(labels(&later), ["A", "B"]);
        assert_eq!(later.text("0123456789"), "01x589");
        let spliced: Vec<_> = later.splices(10).into_iter().map(|splice| (splice.at, splice.with)).collect();
        assert_eq!(spliced, [(2..2, String::new()), (2..5, "x".to_owned()), (6..8, String::new())]);
    }
}
