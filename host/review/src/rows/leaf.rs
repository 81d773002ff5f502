//! A leaf: on one line, and in full. Redactions stand in `‹›`, with their label if the text does
//! not begin with it; so does what a person released, and that it was.

use leafgate_admin::{LeafView, Payload, RedactedSpan, SectionView, ShownText};
use leafgate_tree::Access;

use super::{Row, RowStyle, StyledText};
use crate::printer;

/// Bytes of a leaf's text that one line shows at most.
const LINE_BYTES: usize = 2000;

/// Returns `path: value`, indented.
pub fn leaf_row(leaf: &LeafView, depth: usize, authors: &[String]) -> Row {
    let path = if leaf.path.is_empty() { "(value)" } else { &leaf.path };
    let mut row = Row::of(&"  ".repeat(depth), RowStyle::Plain).and(path, RowStyle::Dim);
    if !authors.is_empty() {
        row = row.and(&format!(" [edited by {}]", authors.join(", ")), RowStyle::Edited);
    }
    let access = match leaf.access {
        Access::Open => "",
        Access::Protected => " [protected]",
        // What a rule put in has no place of its own that an edit could name.
        Access::Frozen if leaf.pointer.is_empty() => " [read only]",
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
pub fn leaf_text(leaf: &LeafView, bytes: usize) -> Vec<Row> {
    let end = leaf.text.expose().floor_char_boundary(bytes);
    text_rows(stretches(leaf, end), leaf.text.expose().len() - end)
}

/// Returns the body that a resume sends up to so many bytes, and says what is left out.
pub fn payload_text(payload: &Payload, bytes: usize) -> Vec<Row> {
    let body = payload.body.expose();
    let end = body.floor_char_boundary(bytes);
    text_rows(vec![(body[..end].to_owned(), RowStyle::Plain)], body.len() - end)
}

/// Returns the call that a section is, or that it is the result of, with its exact arguments up to so
/// many bytes; nothing for other sections.
pub fn call_rows(section: &SectionView, bytes: usize) -> Vec<Row> {
    let Some(call) = &section.tool_invocation else { return Vec::new() };
    let name = call.name.as_deref().unwrap_or("a tool");
    let arguments = call.arguments.as_ref().map_or("(no arguments are shown)", ShownText::expose);
    let end = arguments.floor_char_boundary(bytes);
    let shown = (arguments[..end].to_owned(), RowStyle::Plain);
    text_rows(vec![(format!("{name} called with "), RowStyle::Dim), shown], arguments.len() - end)
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
                    row.0.push(StyledText::new(part, style));
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

/// Returns the redactions of a leaf that have a number, in a line each: what, by whom, and whether a
/// person may release it.
pub fn redaction_rows(leaf: &LeafView) -> Vec<Row> {
    let numbered = leaf.redacted.iter().filter_map(|span| Some((span.redaction?, span)));
    let row = |(number, span): (usize, &RedactedSpan)| {
        let row = Row::of(&format!("redaction {number}: {}", span.label), RowStyle::Redacted);
        row.and(&format!(", {}", terms(span)), RowStyle::Dim)
    };
    numbered.map(row).collect()
}

/// Returns whose redaction it is, and whether a person may release it.
fn terms(span: &RedactedSpan) -> String {
    let by = span.author.as_deref().unwrap_or("redaction");
    match (&span.kept_by, span.releasable) {
        (_, true) => format!("by {by}, which lets you release it"),
        (Some(keeper), false) if keeper != by => format!("by {by}; {keeper} keeps it"),
        (_, false) => format!("by {by}, which keeps it"),
    }
}

/// Returns the text up to `end`, cut at redactions and releases. A span that does not fit the text
/// would be the gate's fault and is left unmarked.
fn stretches(leaf: &LeafView, end: usize) -> Vec<(String, RowStyle)> {
    let text = &leaf.text.expose()[..end];
    let mut stretches = Vec::new();
    let mut at = 0;
    let released = leaf.released.iter().map(|span| (span, true));
    let mut spans: Vec<_> = leaf.redacted.iter().map(|span| (span, false)).chain(released).collect();
    spans.sort_by_key(|(span, _)| span.start);
    for (span, released) in spans {
        let (Some(before), Some(inside)) = (text.get(at..span.start), text.get(span.start..span.end)) else {
            continue;
        };
        stretches.push((before.to_owned(), RowStyle::Plain));
        let (shown, style) = match released {
            true => (format!("‹{} released: {inside}›", span.label), RowStyle::Warning),
            false if inside.starts_with(&span.label) => (format!("‹{inside}›"), RowStyle::Redacted),
            false => (format!("‹{}: {inside}›", span.label), RowStyle::Redacted),
        };
        stretches.push((shown, style));
        at = span.end;
    }
    stretches.push((text[at..].to_owned(), RowStyle::Plain));
    stretches
}
