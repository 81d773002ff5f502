//! A leaf: on one line, and in full. Redactions stand in `‹›`, with their label if the text does
//! not begin with it.

use leafgate_admin::{LeafView, Payload};
use leafgate_tree::Access;

use super::{Piece, Row, RowStyle};
use crate::printer;

/// Bytes of a leaf's text that one line shows at most.
const LINE_BYTES: usize = 2000;

/// Returns `path: value`, indented.
#[must_use]
pub fn leaf_row(leaf: &LeafView, depth: usize, authors: &[String]) -> Row {
    let path = if leaf.path.is_empty() { "(value)" } else { &leaf.path };
    let mut row = Row::of(&"  ".repeat(depth), RowStyle::Plain).and(path, RowStyle::Dim);
    if !authors.is_empty() {
        row = row.and(&format!(" [edited by {}]", authors.join(", ")), RowStyle::Edited);
    }
    let access = match leaf.access {
        Access::Open => "",
        Access::Protected => " [protected]",
        Access::Frozen => " [signed]",
        Access::Opaque => " [media]",
    };
    let pinned = if leaf.pinned { " [pinned]" } else { "" };
    row = row.and(access, RowStyle::Dim).and(pinned, RowStyle::Dim).and(": ", RowStyle::Dim);
    let end = leaf.text.expose().floor_char_boundary(LINE_BYTES);
    for (text, style) in stretches(leaf, end) {
        row = row.and(&text, style);
    }
    row
}

/// Returns the text of a leaf up to so many bytes, one row per line, and says what is left out.
#[must_use]
pub fn leaf_text(leaf: &LeafView, bytes: usize) -> Vec<Row> {
    let end = leaf.text.expose().floor_char_boundary(bytes);
    text_rows(stretches(leaf, end), leaf.text.expose().len() - end)
}

/// Returns the body that a resume sends up to so many bytes, and says what is left out.
#[must_use]
pub fn payload_text(payload: &Payload, bytes: usize) -> Vec<Row> {
    let body = payload.body.expose();
    let end = body.floor_char_boundary(bytes);
    text_rows(vec![(body[..end].to_owned(), RowStyle::Plain)], body.len() - end)
}

fn text_rows(stretches: Vec<(String, RowStyle)>, left_out: usize) -> Vec<Row> {
    let mut rows = vec![Row::default()];
    for (text, style) in stretches {
        for (at, line) in text.split('\n').enumerate() {
            if at > 0 {
                rows.push(Row::default());
            }
            // The printer bounds a line. A longer one is printed in parts, so that all of it can be
            // scrolled to.
            for part in parts(line) {
                if let Some(row) = rows.last_mut() {
                    row.0.push(Piece::new(part, style));
                }
            }
        }
    }
    if left_out > 0 {
        rows.push(Row::of(&format!("… ({left_out} bytes more)"), RowStyle::Warning));
    }
    rows
}

fn parts(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        let (part, behind) = rest.split_at_checked(rest.floor_char_boundary(printer::LINE_BYTES))?;
        rest = behind;
        (!part.is_empty()).then_some(part)
    })
}

/// Returns the text up to `end`, cut at redactions. A span that does not fit the text would be the
/// gate's fault and is left unmarked.
fn stretches(leaf: &LeafView, end: usize) -> Vec<(String, RowStyle)> {
    let text = &leaf.text.expose()[..end];
    let mut stretches = Vec::new();
    let mut at = 0;
    for span in &leaf.redacted {
        let (Some(before), Some(inside)) = (text.get(at..span.start), text.get(span.start..span.end)) else {
            continue;
        };
        stretches.push((before.to_owned(), RowStyle::Plain));
        let shown = if inside.starts_with(&span.label) {
            format!("‹{inside}›")
        } else {
            format!("‹{}: {inside}›", span.label)
        };
        stretches.push((shown, RowStyle::Redacted));
        at = span.end;
    }
    stretches.push((text[at..].to_owned(), RowStyle::Plain));
    stretches
}
