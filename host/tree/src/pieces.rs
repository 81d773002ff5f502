//! The text of one leaf, as stretches of what was received and of what was written since.
//!
//! Keeping the received stretches by range, not by text, is what lets an edit change its own bytes and no other: whatever spelling
//! they had in the body (escapes, lone surrogates), they keep it.

use std::ops::Range;
use std::sync::Arc;

use crate::escape::{Splice, room};

/// One stretch of a leaf's text.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    /// Received: a byte range of the original text.
    Kept(Range<usize>),
    /// Written by a rule, a plugin or a person.
    Written(Box<str>),
    /// Written by redaction in place of what must not leave.
    Redacted { label: Arc<str>, text: Box<str> },
}

impl Piece {
    fn len(&self) -> usize {
        match self {
            Piece::Kept(range) => range.len(),
            Piece::Written(text) | Piece::Redacted { text, .. } => text.len(),
        }
    }

    fn text<'a>(&'a self, original: &'a str) -> &'a str {
        match self {
            Piece::Kept(range) => &original[range.clone()],
            Piece::Written(text) | Piece::Redacted { text, .. } => text,
        }
    }

    /// The part of it that a range within it covers. A part of a token is no token any more, so it counts as written.
    fn part(&self, range: Range<usize>) -> Piece {
        match self {
            Piece::Kept(kept) => Piece::Kept(kept.start + range.start..kept.start + range.end),
            whole if range == (0..whole.len()) => whole.clone(),
            Piece::Written(text) | Piece::Redacted { text, .. } => Piece::Written(text[range].into()),
        }
    }
}

/// The text of one leaf in one version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pieces(Vec<Piece>);

/// What to put in a place of a text.
pub(crate) enum New {
    Written(String),
    Redacted { label: Arc<str>, text: String },
}

/// A received stretch of a leaf that some redaction took away. No later view of the leaf shows it, not even as an old value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hidden {
    /// Byte range of the original text.
    pub(crate) at: Range<usize>,
    pub(crate) label: Arc<str>,
}

/// Adds stretches to those that are hidden already, uniting overlaps under the label of the first.
pub(crate) fn hide(hidden: &mut Vec<Hidden>, ranges: Vec<Range<usize>>, label: &Arc<str>) {
    hidden.extend(ranges.into_iter().map(|at| Hidden { at, label: label.clone() }));
    hidden.sort_by_key(|stretch| (stretch.at.start, stretch.at.end));
    let mut united: Vec<Hidden> = Vec::with_capacity(hidden.len());
    for stretch in hidden.drain(..) {
        match united.last_mut() {
            Some(last) if stretch.at.start < last.at.end => last.at.end = last.at.end.max(stretch.at.end),
            _ => united.push(stretch),
        }
    }
    *hidden = united;
}

impl Pieces {
    /// The text as received.
    pub(crate) fn untouched(length: usize) -> Self {
        Pieces(vec![Piece::Kept(0..length)])
    }

    pub(crate) fn is_untouched(&self, length: usize) -> bool {
        length == 0 && self.0.iter().all(|piece| piece.len() == 0)
            || self.0.len() == 1 && self.0[0] == Piece::Kept(0..length)
    }

    /// Whether somebody other than redaction wrote in it.
    pub(crate) fn is_written(&self) -> bool {
        self.0.iter().any(|piece| matches!(piece, Piece::Written(_)))
    }

    pub(crate) fn text(&self, original: &str) -> String {
        // A leaf may be as large as the body: growing by doubling would take twice as much.
        let mut text = String::with_capacity(room(self.len()));
        self.0.iter().for_each(|piece| text.push_str(piece.text(original)));
        text
    }

    /// Bytes of the present text.
    pub(crate) fn len(&self) -> usize {
        self.0.iter().map(Piece::len).sum()
    }

    /// Where redaction wrote, in the present text.
    pub(crate) fn redacted(&self) -> Vec<(Range<usize>, Arc<str>)> {
        let mut at = 0;
        let mut found = Vec::new();
        for piece in &self.0 {
            if let Piece::Redacted { label, text } = piece {
                found.push((at..at + text.len(), label.clone()));
            }
            at += piece.len();
        }
        found
    }

    /// Replaces ranges of the present text; they are sorted and do not overlap.
    pub(crate) fn replace(&self, edits: Vec<(Range<usize>, New)>) -> Pieces {
        let mut pieces = Vec::with_capacity(self.0.len() + 2 * edits.len());
        let mut at = 0;
        for (range, new) in edits {
            self.copy(at..range.start, &mut pieces);
            pieces.push(match new {
                New::Written(text) => Piece::Written(text.into()),
                New::Redacted { label, text } => Piece::Redacted { label, text: text.into() },
            });
            at = range.end;
        }
        self.copy(at..usize::MAX, &mut pieces);
        Pieces(pieces)
    }

    /// Appends the pieces that a range of the present text covers, joining received neighbours.
    fn copy(&self, range: Range<usize>, into: &mut Vec<Piece>) {
        let mut at = 0;
        for piece in &self.0 {
            let (start, end) = (range.start.max(at), range.end.min(at + piece.len()));
            if start < end {
                match (into.last_mut(), piece.part(start - at..end - at)) {
                    (Some(Piece::Kept(last)), Piece::Kept(next)) if last.end == next.start => {
                        last.end = next.end
                    }
                    (_, part) => into.push(part),
                }
            }
            at += piece.len();
        }
    }

    /// The received stretches that ranges of the present text cover: what a redaction there takes away.
    pub(crate) fn received(&self, range: &Range<usize>) -> Vec<Range<usize>> {
        let mut covered = Vec::new();
        self.copy(range.clone(), &mut covered);
        covered
            .into_iter()
            .filter_map(|piece| if let Piece::Kept(kept) = piece { Some(kept) } else { None })
            .collect()
    }

    /// The text, with received stretches that were ever redacted shown as masks. `hidden` is sorted and does not overlap.
    pub(crate) fn masked(&self, original: &str, hidden: &[Hidden], mask: impl Fn(&str) -> String) -> String {
        let mut text = String::new();
        for piece in &self.0 {
            let Piece::Kept(kept) = piece else {
                text.push_str(piece.text(original));
                continue;
            };
            let mut at = kept.start;
            for stretch in
                hidden.iter().filter(|stretch| stretch.at.start < kept.end && kept.start < stretch.at.end)
            {
                text.push_str(&original[at..stretch.at.start.max(at)]);
                text.push_str(&mask(&stretch.label));
                at = stretch.at.end.min(kept.end);
            }
            text.push_str(&original[at..kept.end]);
        }
        text
    }

    /// The changes as replacements in the original text: sorted, not overlapping, and as short as the pieces allow.
    pub(crate) fn splices(&self, length: usize) -> Vec<Splice> {
        let mut splices = Vec::new();
        let mut at = 0;
        let mut with = String::new();
        let mut changed = false;
        for piece in &self.0 {
            match piece {
                Piece::Kept(range) => {
                    if changed || range.start > at {
                        splices.push(Splice { at: at..range.start, with: std::mem::take(&mut with) });
                    }
                    (at, changed) = (range.end, false);
                }
                Piece::Written(text) | Piece::Redacted { text, .. } => {
                    with.push_str(text);
                    changed = true;
                }
            }
        }
        if changed || at < length {
            splices.push(Splice { at: at..length, with });
        }
        splices
    }
}

/// The one stretch in which two texts differ, on character boundaries: a range of the old text and what stands there in the new.
pub(crate) fn difference(old: &str, new: &str) -> (Range<usize>, String) {
    let prefix: usize = old
        .chars()
        .zip(new.chars())
        .take_while(|(a, b)| a == b)
        .map(|(character, _)| character.len_utf8())
        .sum();
    let (old_rest, new_rest) = (&old[prefix..], &new[prefix..]);
    let suffix: usize = old_rest
        .chars()
        .rev()
        .zip(new_rest.chars().rev())
        .take_while(|(a, b)| a == b)
        .map(|(character, _)| character.len_utf8())
        .sum();
    (prefix..old.len() - suffix, new_rest[..new_rest.len() - suffix].to_owned())
}
