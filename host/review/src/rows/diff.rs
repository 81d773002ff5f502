//! The received request against what would leave, as a unified diff over the leaves that differ.

use std::borrow::Cow;
use std::time::Duration;

use leafgate_admin::{Diff, LeafDiff};
use similar::{ChangeTag, TextDiff};

use super::{Row, RowStyle};

/// Longest time for one leaf. Beyond it the diff is coarser, and still right.
const TIMEOUT: Duration = Duration::from_millis(300);
/// Lines of context around a change.
const CONTEXT: usize = 2;
/// Bytes of a line that is shown whole. Of a longer one that differs from another, so much is shown on each side of where it does.
const LONG: usize = 400;

/// Returns the diff, leaf by leaf. Redacted values are `‹LABEL›` on the received side.
pub fn diff_rows(diff: &Diff) -> Vec<Row> {
    let mut rows = Vec::new();
    for path in &diff.deleted {
        rows.push(Row::of("deleted: ", RowStyle::Deleted).and(path, RowStyle::Strong));
    }
    for message in &diff.inserted {
        let place = format!("put in before {}", message.before);
        rows.push(
            Row::of(&place, RowStyle::Strong).and(&format!("  by {}", message.author), RowStyle::Edited),
        );
        rows.extend(
            message
                .text
                .expose()
                .lines()
                .map(|line| Row::of("+", RowStyle::Added).and(line, RowStyle::Added)),
        );
    }
    for option in &diff.options {
        rows.push(
            Row::of(&option.key, RowStyle::Strong)
                .and(&format!("  put in by {}", option.author), RowStyle::Edited),
        );
        rows.push(Row::of("+", RowStyle::Added).and(option.json.expose(), RowStyle::Added));
    }
    for leaf in &diff.leaves {
        if !rows.is_empty() {
            rows.push(Row::default());
        }
        leaf_rows(leaf, &mut rows);
    }
    if rows.is_empty() {
        rows.push(Row::of("No difference: what leaves is what came, byte for byte.", RowStyle::Plain));
    }
    rows
}

fn leaf_rows(leaf: &LeafDiff, rows: &mut Vec<Row>) {
    let (before, after) = (leaf.before.expose(), leaf.after.expose());
    rows.push(
        Row::of(&leaf.path, RowStyle::Strong)
            .and(&format!("  by {}", leaf.authors.join(", ")), RowStyle::Edited),
    );
    rows.extend(text_diff_rows(before, after));
}

/// Returns the lines in which two texts differ, with some around them.
pub fn text_diff_rows(before: &str, after: &str) -> Vec<Row> {
    let mut rows = Vec::new();
    let changes = TextDiff::configure().timeout(TIMEOUT).diff_lines(before, after);
    for hunk in changes.unified_diff().context_radius(CONTEXT).iter_hunks() {
        if before.contains('\n') || after.contains('\n') {
            rows.push(Row::of(&hunk.header().to_string(), RowStyle::Dim));
        }
        let changes: Vec<_> =
            hunk.iter_changes().map(|change| (change.tag(), bare(change.value()))).collect();
        for (place, &(tag, line)) in changes.iter().enumerate() {
            let (sign, style, beside) = match tag {
                ChangeTag::Delete => ("-", RowStyle::Deleted, changes.get(place + 1)),
                ChangeTag::Insert => {
                    ("+", RowStyle::Added, place.checked_sub(1).map(|place| &changes[place]))
                }
                ChangeTag::Equal => (" ", RowStyle::Plain, None),
            };
            let other = beside.filter(|(other, _)| *other != ChangeTag::Equal && *other != tag);
            let shown = other.map_or(line.into(), |(_, other)| around_change(line, other));
            rows.push(Row::of(sign, style).and(&shown, style));
        }
    }
    if !before.is_empty() && !after.is_empty() && before.ends_with('\n') != after.ends_with('\n') {
        let which = if before.ends_with('\n') { "+" } else { "-" };
        rows.push(Row::of(&format!("\\ no newline at the end of `{which}`"), RowStyle::Dim));
    }
    rows
}

fn bare(line: &str) -> &str {
    line.strip_suffix('\n').unwrap_or(line)
}

/// Returns a line; of a long one what differs from another line, with some text around.
fn around_change<'t>(line: &'t str, other: &str) -> Cow<'t, str> {
    let head = line.bytes().zip(other.bytes()).take_while(|(one, other)| one == other).count();
    let tails = line.as_bytes()[head..].iter().rev().zip(other.as_bytes()[head..].iter().rev());
    let tail = tails.take_while(|(one, other)| one == other).count();
    let start = line.floor_char_boundary(head.saturating_sub(LONG));
    let end = line.ceil_char_boundary(line.len() - tail.saturating_sub(LONG));
    if end - start == line.len() {
        return line.into();
    }
    let gone = |is_gone: bool| if is_gone { "…" } else { "" };
    format!("{}{}{}", gone(start > 0), &line[start..end], gone(end < line.len())).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(before: &str, after: &str) -> Vec<String> {
        text_diff_rows(before, after).iter().map(Row::text).collect()
    }

    #[test]
    fn of_long_lines_the_part_that_differs_is_shown() {
        let line = |word: &str| format!("{}é {word} é{}", "x ".repeat(20_000), " y".repeat(20_000));
        let rows = shown(&line("ann@example.org"), &line("EMAIL"));
        assert!(
            rows.len() == 2 && rows.iter().all(|row| row.len() < 3 * LONG && row.contains("x é ")),
            "{rows:?}"
        );
        assert!(rows[0].starts_with("-…") && rows[0].contains(" ann@example.org é y"), "{}", rows[0]);
        assert!(rows[1].ends_with("…") && rows[1].contains(" EMAIL é y"), "{}", rows[1]);
        assert_eq!(shown("aé", "aè"), ["-aé", "+aè"]);
    }

    #[test]
    fn a_newline_that_one_text_alone_ends_with_is_told() {
        assert_eq!(shown("a", "a\n").last().unwrap(), r"\ no newline at the end of `-`");
        assert_eq!(shown("a\n", "a").last().unwrap(), r"\ no newline at the end of `+`");
        assert_eq!(shown("", "a\n").last().unwrap(), "+a");
    }
}
