//! A turn: why it waits, and its sections.

use leafgate_admin::{SectionView, State, Turn};

use super::list::{then, time};
use super::{Look, Row, count};
use crate::outline::Entry;

/// Bytes of a leaf that a preview looks at.
const PREVIEW_BYTES: usize = 400;

/// Who asks, why it waits, how long it may, what was done.
#[must_use]
pub fn header_rows(turn: &Turn) -> Vec<Row> {
    let summary = &turn.summary;
    let mut rows = vec![
        Row::of(&summary.label, Look::Strong)
            .and(&format!("   {} left, {}", time(summary.left_ms), then(summary.on_timeout)), Look::Warning),
        Row::of(&format!("{} · {}", summary.format, summary.model), Look::Plain).and(
            &format!(
                " · {} · {} · policy {}",
                count(summary.edits, "edit"),
                count(summary.redactions, "redaction"),
                summary.generation
            ),
            Look::Dim,
        ),
    ];
    for hold in &summary.holds {
        let (verb, look) =
            if hold.blocks { ("Blocked by ", Look::Error) } else { ("Paused by ", Look::Warning) };
        let row = Row::of(verb, look)
            .and(&hold.rule, Look::Strong)
            .and(": ", Look::Plain)
            .and(&hold.reason, Look::Plain);
        rows.push(if hold.detail.is_empty() {
            row
        } else {
            row.and(&format!(" ({})", hold.detail), Look::Dim)
        });
    }
    if summary.state != State::Waiting {
        rows.push(Row::of(&format!("State: {}", crate::model::ended(summary.state)), Look::Warning));
    }
    if let Some(why) = &turn.invalid {
        rows.push(Row::of(&format!("The API would refuse it: {why}. Undo or reset."), Look::Error));
    }
    rows
}

/// A section: its label, its marks in words, and how its text begins.
#[must_use]
pub fn section_row(section: &SectionView, entry: &Entry) -> Row {
    let mut row = Row::of(&"  ".repeat(entry.depth), Look::Plain);
    row.0.extend(named(section, entry).0);
    match preview(section) {
        Some(text) => row.and("  ", Look::Plain).and(text, Look::Dim),
        None => row,
    }
}

/// A section above its leaves: its label, its marks in words, and its place.
#[must_use]
pub fn section_head(section: &SectionView, entry: &Entry) -> Row {
    named(section, entry).and("  ", Look::Plain).and(&section.path, Look::Dim)
}

fn named(section: &SectionView, entry: &Entry) -> Row {
    let look = if section.deleted { Look::Deleted } else { Look::Strong };
    marks(section, entry).into_iter().fold(Row::of(&section.label, look), |row, (mark, look)| {
        row.and(" ", Look::Plain).and(&format!("[{mark}]"), look)
    })
}

fn marks(section: &SectionView, entry: &Entry) -> Vec<(String, Look)> {
    let by =
        if entry.authors.is_empty() { String::new() } else { format!(" by {}", entry.authors.join(", ")) };
    let mut marks = Vec::new();
    if section.deleted {
        marks.push((format!("deleted{by}"), Look::Deleted));
    } else if entry.edited {
        marks.push((format!("edited{by}"), Look::Edited));
    } else if !entry.authors.is_empty() {
        marks.push((format!("restored{by}"), Look::Edited));
    }
    if section.pinned {
        marks.push(("pinned".to_owned(), Look::Dim));
    }
    if entry.redactions > 0 {
        marks.push((format!("{} redacted", entry.redactions), Look::Redacted));
    }
    if !section.editable {
        marks.push(("read only".to_owned(), Look::Dim));
    }
    marks
}

/// The first own leaf that is no mere name, else the first.
fn preview(section: &SectionView) -> Option<&str> {
    use leafgate_tree::LeafKind;
    let told = section
        .leaves
        .iter()
        .find(|leaf| leaf.kind != LeafKind::Metadata && !leaf.text.expose().is_empty())?;
    let text = told.text.expose();
    Some(&text[..text.floor_char_boundary(PREVIEW_BYTES)])
}
