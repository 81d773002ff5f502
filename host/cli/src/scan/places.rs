//! Lines and columns of ranges, in one pass over the text however many ranges there are.

use std::ops::Range;

use serde::Serialize;

/// Where a range lies: lines and columns count from 1, columns in characters; the end is the first
/// place behind the range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ScanPlace {
    pub(super) line: usize,
    pub(super) column: usize,
    pub(super) end_line: usize,
    pub(super) end_column: usize,
}

/// Returns the places of ranges on character boundaries, in their order. The text begins at a line and column.
pub(super) fn places(
    text: &str,
    begins: (usize, usize),
    ranges: impl Iterator<Item = Range<usize>>,
) -> Vec<ScanPlace> {
    let mut offsets: Vec<(usize, usize, bool)> = Vec::new();
    for (index, range) in ranges.enumerate() {
        offsets.extend([(range.start, index, false), (range.end, index, true)]);
    }
    let mut places = vec![ScanPlace::default(); offsets.len() / 2];
    offsets.sort_unstable();
    let (mut at, mut here) = (0, begins);
    for (offset, index, is_end) in offsets {
        here = behind(here, &text[at..offset]);
        at = offset;
        let (line, column) = here;
        let place = &mut places[index];
        match is_end {
            false => (place.line, place.column) = (line, column),
            true => (place.end_line, place.end_column) = (line, column),
        }
    }
    places
}

/// Returns the line and column behind a text that begins at these.
pub(super) fn behind(begins: (usize, usize), text: &str) -> (usize, usize) {
    text.chars().fold(begins, |(line, column), c| if c == '\n' { (line + 1, 1) } else { (line, column + 1) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_and_ranges_may_lie_over_one_another() {
        let text = "é a\nbc\nd";
        let of = |range: Range<usize>| (range.start, range.end);
        let ranges = [0..2, 3..7, 5..6, 8..9];
        let found = places(text, (1, 1), ranges.iter().cloned());
        let seen: Vec<_> = found.iter().map(|p| (p.line, p.column, p.end_line, p.end_column)).collect();
        assert_eq!(seen, [(1, 1, 1, 2), (1, 3, 2, 3), (2, 1, 2, 2), (3, 1, 3, 2)], "{:?}", ranges.map(of));
    }
}
