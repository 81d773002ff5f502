//! The exact difference of two bodies: by lines first, then within lines by words.
//!
//! A line ends where a reader sees it end: at a newline, or at the `\\n` of a JSON string. Where as many lines came as went, each is
//! compared word by word; where their number differs, they are one stretch.

use std::ops::Range;

use similar::{Algorithm, DiffOp, DiffTag, capture_diff_slices};

/// A stretch that differs: byte ranges in the first and in the second text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hunk {
    pub(crate) old: Range<usize>,
    pub(crate) new: Range<usize>,
}

/// All stretches in which two texts differ; everything between them is the same.
pub(crate) fn hunks(old: &str, new: &str) -> Vec<Hunk> {
    let whole = Hunk { old: 0..old.len(), new: 0..new.len() };
    let by_lines = split(old, new, &whole, lines);
    let by_words = by_lines.iter().flat_map(|lines_changed| within(old, new, lines_changed));
    by_words.map(|hunk| trimmed(old, new, hunk)).collect()
}

/// The first text with the hunks' second side in their places: the second text, or the difference is not exact.
pub(crate) fn rebuilt(old: &str, new: &str, hunks: &[Hunk]) -> String {
    let mut text = String::with_capacity(new.len());
    let mut done = 0;
    for hunk in hunks {
        text.push_str(&old[done..hunk.old.start]);
        text.push_str(&new[hunk.new.clone()]);
        done = hunk.old.end;
    }
    text.push_str(&old[done..]);
    text
}

/// Compares changed lines word by word, where each came from one.
fn within(old: &str, new: &str, hunk: &Hunk) -> Vec<Hunk> {
    let (old_lines, new_lines) = (lines(&old[hunk.old.clone()]), lines(&new[hunk.new.clone()]));
    if old_lines.len() != new_lines.len() {
        return vec![hunk.clone()];
    }
    let pairs = old_lines.iter().zip(&new_lines);
    pairs
        .flat_map(|(old_line, new_line)| {
            let old_line = old_line.start + hunk.old.start..old_line.end + hunk.old.start;
            let new_line = new_line.start + hunk.new.start..new_line.end + hunk.new.start;
            split(old, new, &Hunk { old: old_line, new: new_line }, words)
        })
        .collect()
}

/// Compares two stretches piece by piece.
fn split(old: &str, new: &str, hunk: &Hunk, pieces: fn(&str) -> Vec<Range<usize>>) -> Vec<Hunk> {
    let (old, new) = (&old[hunk.old.clone()], &new[hunk.new.clone()]);
    let (old_pieces, new_pieces) = (pieces(old), pieces(new));
    let texts = |text: &str, pieces: &[Range<usize>]| -> Vec<String> {
        pieces.iter().map(|piece| text[piece.clone()].to_owned()).collect()
    };
    let operations =
        capture_diff_slices(Algorithm::Myers, &texts(old, &old_pieces), &texts(new, &new_pieces));
    let changed = operations.iter().filter(|operation| operation.tag() != DiffTag::Equal);
    let place = |pieces: &[Range<usize>], range: Range<usize>, end: usize, offset: usize| {
        let start = |place: usize| pieces.get(place).map_or(end, |piece| piece.start) + offset;
        start(range.start)..start(range.end)
    };
    let hunk_of = |operation: &DiffOp| Hunk {
        old: place(&old_pieces, operation.old_range(), old.len(), hunk.old.start),
        new: place(&new_pieces, operation.new_range(), new.len(), hunk.new.start),
    };
    changed.map(hunk_of).collect()
}

/// Leaves out what both sides begin and end with, as far as no word is cut by it.
fn trimmed(old: &str, new: &str, hunk: Hunk) -> Hunk {
    let (left, right) = (&old[hunk.old.clone()], &new[hunk.new.clone()]);
    let same = |(left, right): &(char, char)| left == right;
    let length = |characters: Vec<char>| characters.into_iter().map(char::len_utf8).sum::<usize>();
    let head: Vec<char> = left.chars().zip(right.chars()).take_while(same).map(|(same, _)| same).collect();
    let head = head.iter().rposition(|&last| !in_word(last)).map_or(0, |last| length(head[..=last].to_vec()));
    let (left, right) = (&left[head..], &right[head..]);
    let tail: Vec<char> =
        left.chars().rev().zip(right.chars().rev()).take_while(same).map(|(same, _)| same).collect();
    let tail =
        tail.iter().rposition(|&first| !in_word(first)).map_or(0, |first| length(tail[..=first].to_vec()));
    Hunk { old: hunk.old.start + head..hunk.old.end - tail, new: hunk.new.start + head..hunk.new.end - tail }
}

/// Ends after each newline, escaped or not.
fn lines(text: &str) -> Vec<Range<usize>> {
    let mut lines = Vec::new();
    let mut start = 0;
    for (at, character) in text.char_indices() {
        if character == '\n' || (character == 'n' && text[..at].ends_with('\\')) {
            lines.push(start..at + 1);
            start = at + 1;
        }
    }
    if start < text.len() {
        lines.push(start..text.len());
    }
    lines
}

/// Words with their inner signs, as in addresses and paths; escapes; single signs.
fn words(text: &str) -> Vec<Range<usize>> {
    let belongs = |character: char| in_word(character) || matches!(character, '-' | '.' | '@' | '/' | '~');
    let mut words: Vec<Range<usize>> = Vec::new();
    let mut characters = text.char_indices().peekable();
    while let Some((start, character)) = characters.next() {
        let mut end = start + character.len_utf8();
        if character == '\\' {
            end = characters.next().map_or(end, |(at, escaped)| at + escaped.len_utf8());
        } else if belongs(character) {
            while let Some((at, next)) = characters.next_if(|(_, next)| belongs(*next)) {
                end = at + next.len_utf8();
            }
        }
        words.push(start..end);
    }
    words
}

fn in_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown<'t>(old: &'t str, new: &'t str) -> Vec<(&'t str, &'t str)> {
        let hunks = hunks(old, new);
        assert_eq!(rebuilt(old, new, &hunks), new);
        hunks.iter().map(|hunk| (&old[hunk.old.clone()], &new[hunk.new.clone()])).collect()
    }

    #[test]
    fn a_stretch_is_a_word_and_its_replacement() {
        let (old, new) = (r#"{"a":"to ann@x.org.\nnow"}"#, r#"{"a":"to EMAIL_g.\nnow"}"#);
        assert_eq!(shown(old, new), [("ann@x.org", "EMAIL_g")]);
    }

    #[test]
    fn a_path_differs_where_it_differs() {
        assert_eq!(shown("in \"/home/ann/src\"", "in \"~/src\""), [("/home/ann", "~")]);
    }

    #[test]
    fn lines_that_are_cut_out_are_one_stretch() {
        let (old, new) = (r"1 a\n2 a\n3 a\n4 a\n5 a", r"1 a\n[cut]\n5 a");
        assert_eq!(shown(old, new), [(r"2 a\n3 a\n4 a", "[cut]")]);
        assert_eq!(shown("a b c", "a"), [(" b c", "")]);
    }
}
