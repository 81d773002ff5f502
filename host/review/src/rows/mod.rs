//! What people see, as rows of printed pieces: the same for the screen and for the line mode.
//!
//! A [`StyledText`] can only be made by the printer, so no control sequence gets further. A style only
//! repeats what the words say: without colour the same rows mean the same.

mod agents;
mod diff;
mod help;
mod leaf;
mod list;
mod metadata;
mod mode;
mod turn;

pub use agents::subagent_rows;
pub use diff::{diff_rows, text_diff_rows};
pub use help::help_rows;
pub use leaf::{call_rows, leaf_row, leaf_text, payload_text, redaction_rows};
pub use list::{list_row, time};
pub use metadata::{NO_METADATA, budget_text, metadata_rows};
pub use mode::{follow_row, mode_choice, mode_row, saved_edit_row, saved_head, saved_row, session_row};
pub use turn::{group_row, head_rows, header_rows, section_head, section_row, why_rows};

use ratatui::text::Span;

use crate::printer::{self, Printed};

/// How a piece looks where there is colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RowStyle {
    /// As the terminal writes.
    #[default]
    Plain,
    /// The subject of a row.
    Strong,
    /// Orientation.
    Dim,
    /// Written by redaction.
    Redacted,
    /// Edited.
    Edited,
    /// Left out.
    Deleted,
    /// What is left out itself: struck through where the terminal can.
    Struck,
    /// Added in a diff.
    Added,
    /// Needs attention.
    Warning,
    /// Failed or refused.
    Error,
}

/// A printed text and its style.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StyledText {
    text: Printed,
    /// Its style.
    pub style: RowStyle,
}

impl StyledText {
    /// Prints a text on one line.
    pub fn new(text: &str, style: RowStyle) -> StyledText {
        StyledText { text: printer::line(text), style }
    }

    /// Returns the printed text.
    pub fn text(&self) -> &str {
        self.text.as_str()
    }

    /// Returns its width in cells.
    pub fn width(&self) -> usize {
        width(self.text())
    }
}

/// One line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row(pub Vec<StyledText>);

impl Row {
    /// Creates a row of one piece.
    pub fn of(text: &str, style: RowStyle) -> Row {
        Row(vec![StyledText::new(text, style)])
    }

    /// Adds a piece.
    #[must_use]
    pub fn and(mut self, text: &str, style: RowStyle) -> Row {
        self.0.push(StyledText::new(text, style));
        self
    }

    /// Adds a piece where there is one.
    #[must_use]
    pub fn and_some(self, text: Option<String>, style: RowStyle) -> Row {
        text.into_iter().fold(self, |row, text| row.and(&text, style))
    }

    /// Adds the pieces of another row.
    #[must_use]
    pub fn followed_by(mut self, other: Row) -> Row {
        self.0.extend(other.0);
        self
    }

    /// Returns the whole text.
    pub fn text(&self) -> String {
        self.0.iter().map(StyledText::text).collect()
    }

    /// Returns its width in cells.
    pub fn width(&self) -> usize {
        self.0.iter().map(StyledText::width).sum()
    }

    /// Cuts the row to a width, with `…` if something is missing.
    #[must_use]
    pub fn cut(self, cells: usize) -> Row {
        if self.width() <= cells {
            return self;
        }
        let mut left = cells.saturating_sub(1);
        let mut row = Row::default();
        for piece in self.0 {
            let kept = fitting(piece.text(), left);
            let cut = kept < piece.text().len();
            left -= width(&piece.text()[..kept]);
            row.0.push(StyledText { text: piece.text.slice(0..kept), style: piece.style });
            if cut {
                break;
            }
        }
        if cells > 0 {
            row.0.push(StyledText::new("…", RowStyle::Dim));
        }
        row
    }

    /// Breaks the row into rows of at most `cells`, the later ones indented by two.
    pub fn wrap(self, cells: usize) -> Vec<Row> {
        let cells = cells.max(8);
        let mut rows = Vec::new();
        let (mut row, mut left) = (Row::default(), cells);
        for piece in self.0 {
            let mut at = 0;
            loop {
                let rest = &piece.text()[at..];
                let kept = breaking(rest, left);
                left -= width(&rest[..kept]);
                if kept > 0 {
                    row.0.push(StyledText { text: piece.text.slice(at..at + kept), style: piece.style });
                }
                at += kept;
                if at == piece.text().len() {
                    break;
                }
                rows.push(std::mem::replace(&mut row, Row::of("  ", RowStyle::Plain)));
                left = cells - 2;
            }
        }
        rows.push(row);
        rows
    }
}

/// Returns the bytes of a printed text for a row of so many cells: up to a space in its second
/// half, if there is one.
fn breaking(text: &str, cells: usize) -> usize {
    let kept = fitting(text, cells);
    if kept == text.len() {
        return kept;
    }
    text[..kept].rfind(' ').map(|space| space + 1).filter(|&after| after > kept / 2).unwrap_or(kept)
}

/// Returns the bytes of a printed text that fit into so many cells.
fn fitting(text: &str, cells: usize) -> usize {
    let mut left = cells;
    for (at, c) in text.char_indices() {
        match left.checked_sub(char_width(c)) {
            Some(rest) => left = rest,
            None => return at,
        }
    }
    text.len()
}

/// Returns the cells of a printed text.
pub(crate) fn width(text: &str) -> usize {
    text.chars().map(char_width).sum()
}

/// Returns the cells of a printed character, counted alone: terminals disagree about clusters, and
/// a cell too many hides nothing.
pub(crate) fn char_width(c: char) -> usize {
    if matches!(c, ' '..='~') { 1 } else { Span::raw(c.encode_utf8(&mut [0; 4]) as &str).width() }
}

/// Returns `1 edit`, `2 edits`; `None` for none.
pub(crate) fn count_some(number: usize, thing: &str) -> Option<String> {
    (number > 0).then(|| count(number, thing))
}

/// Returns `1 edit`, `2 edits`.
pub fn count(number: usize, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}
