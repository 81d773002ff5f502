//! The received request against what would leave, as a unified diff over the leaves that differ.

use std::time::Duration;

use leafgate_admin::{Diff, LeafDiff};
use similar::{ChangeTag, TextDiff};

use super::{Row, RowStyle};

/// Longest time for one leaf. Beyond it the diff is coarser, and still right.
const TIMEOUT: Duration = Duration::from_millis(300);
/// Lines of context around a change.
const CONTEXT: usize = 2;

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
    if before.ends_with('\n') != after.ends_with('\n') {
        let which = if before.ends_with('\n') { "what leaves" } else { "what came" };
        rows.push(Row::of(&format!("\\ no newline at the end of {which}"), RowStyle::Dim));
    }
}

/// Returns the lines in which two texts differ, with some around them.
pub fn text_diff_rows(before: &str, after: &str) -> Vec<Row> {
    let mut rows = Vec::new();
    let changes = TextDiff::configure().timeout(TIMEOUT).diff_lines(before, after);
    for hunk in changes.unified_diff().context_radius(CONTEXT).iter_hunks() {
        if before.contains('\n') || after.contains('\n') {
            rows.push(Row::of(&hunk.header().to_string(), RowStyle::Dim));
        }
        for change in hunk.iter_changes() {
            let (sign, style) = match change.tag() {
                ChangeTag::Delete => ("-", RowStyle::Deleted),
                ChangeTag::Insert => ("+", RowStyle::Added),
                ChangeTag::Equal => (" ", RowStyle::Plain),
            };
            let line = change.value().strip_suffix('\n').unwrap_or(change.value());
            rows.push(Row::of(sign, style).and(line, style));
        }
    }
    rows
}
