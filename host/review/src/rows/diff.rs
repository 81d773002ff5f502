//! What came against what would leave, as a unified diff over the leaves that differ.

use std::time::Duration;

use leafgate_admin::{Diff, LeafDiff};
use similar::{ChangeTag, TextDiff};

use super::{Look, Row};

/// How long one leaf may take; beyond it the diff is coarser, and still right.
const PATIENCE: Duration = Duration::from_millis(300);
/// Lines of context around a change.
const CONTEXT: usize = 2;

/// The diff, leaf by leaf. What was redacted stands as `‹LABEL›` on the side of what came.
#[must_use]
pub fn diff_rows(diff: &Diff) -> Vec<Row> {
    let mut rows = Vec::new();
    for path in &diff.deleted {
        rows.push(Row::of("deleted: ", Look::Deleted).and(path, Look::Strong));
    }
    for message in &diff.inserted {
        let place = format!("put in before {}", message.before);
        rows.push(Row::of(&place, Look::Strong).and(&format!("  by {}", message.author), Look::Edited));
        rows.extend(
            message.text.expose().lines().map(|line| Row::of("+", Look::Added).and(line, Look::Added)),
        );
    }
    for leaf in &diff.leaves {
        if !rows.is_empty() {
            rows.push(Row::default());
        }
        leaf_rows(leaf, &mut rows);
    }
    if rows.is_empty() {
        rows.push(Row::of("No difference: what leaves is what came, byte for byte.", Look::Plain));
    }
    rows
}

fn leaf_rows(leaf: &LeafDiff, rows: &mut Vec<Row>) {
    let (before, after) = (leaf.before.expose(), leaf.after.expose());
    rows.push(
        Row::of(&leaf.path, Look::Strong).and(&format!("  by {}", leaf.authors.join(", ")), Look::Edited),
    );
    let changes = TextDiff::configure().timeout(PATIENCE).diff_lines(before, after);
    for hunk in changes.unified_diff().context_radius(CONTEXT).iter_hunks() {
        rows.push(Row::of(&hunk.header().to_string(), Look::Dim));
        for change in hunk.iter_changes() {
            let (sign, look) = match change.tag() {
                ChangeTag::Delete => ("-", Look::Deleted),
                ChangeTag::Insert => ("+", Look::Added),
                ChangeTag::Equal => (" ", Look::Plain),
            };
            let line = change.value().strip_suffix('\n').unwrap_or(change.value());
            rows.push(Row::of(sign, look).and(line, look));
        }
    }
    if before.ends_with('\n') != after.ends_with('\n') {
        let which = if before.ends_with('\n') { "what leaves" } else { "what came" };
        rows.push(Row::of(&format!("\\ no newline at the end of {which}"), Look::Dim));
    }
}
