//! What people see, as rows of printed pieces: the same for the screen and for the line mode.
//!
//! A [`Piece`] can only be made by passing the printer, so nothing that a terminal would obey gets further. A look only adds to what
//! the words say: without colour the same rows mean the same.

mod diff;
mod help;
mod leaf;
mod list;
mod turn;

pub use diff::diff_rows;
pub use help::help_rows;
pub use leaf::{leaf_row, leaf_text};
pub use list::{list_row, time};
pub use turn::{header_rows, section_head, section_row};

use ratatui::text::Span;

use crate::printer::{self, Printed};

/// How a piece looks where there is colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RowStyle {
    /// As the terminal writes.
    #[default]
    Plain,
    /// What a row is about.
    Strong,
    /// What helps to find one's way.
    Dim,
    /// Written by redaction.
    Redacted,
    /// Edited by somebody.
    Edited,
    /// Left out.
    Deleted,
    /// Added in a diff.
    Added,
    /// Wants attention.
    Warning,
    /// Failed or refused.
    Error,
}

/// A printed text and its look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    text: Printed,
    /// How it looks.
    pub look: RowStyle,
}

impl Piece {
    /// Prints a text on one line.
    #[must_use]
    pub fn new(text: &str, look: RowStyle) -> Piece {
        Piece { text: printer::line(text), look }
    }

    /// The printed text.
    #[must_use]
    pub fn text(&self) -> &str {
        self.text.as_str()
    }

    /// Cells that it takes.
    #[must_use]
    pub fn width(&self) -> usize {
        width(self.text())
    }
}

/// One line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row(pub Vec<Piece>);

impl Row {
    /// A row of one piece.
    #[must_use]
    pub fn of(text: &str, look: RowStyle) -> Row {
        Row(vec![Piece::new(text, look)])
    }

    /// Adds a piece.
    #[must_use]
    pub fn and(mut self, text: &str, look: RowStyle) -> Row {
        self.0.push(Piece::new(text, look));
        self
    }

    /// The whole text.
    #[must_use]
    pub fn text(&self) -> String {
        self.0.iter().map(Piece::text).collect()
    }

    /// Cells that it takes.
    #[must_use]
    pub fn width(&self) -> usize {
        self.0.iter().map(Piece::width).sum()
    }

    /// Cut to a width, with `…` where something is missing.
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
            row.0.push(Piece { text: piece.text.slice(0..kept), look: piece.look });
            if cut {
                break;
            }
        }
        if cells > 0 {
            row.0.push(Piece::new("…", RowStyle::Dim));
        }
        row
    }

    /// Broken into rows of at most `cells`, the later ones indented by two.
    #[must_use]
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
                    row.0.push(Piece { text: piece.text.slice(at..at + kept), look: piece.look });
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

/// Bytes of a printed text to put into a row of so many cells: up to a space in its second half, where there is one.
fn breaking(text: &str, cells: usize) -> usize {
    let kept = fitting(text, cells);
    if kept == text.len() {
        return kept;
    }
    text[..kept].rfind(' ').map(|space| space + 1).filter(|&after| after > kept / 2).unwrap_or(kept)
}

/// Bytes of a printed text that fit into so many cells.
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

/// Cells of a printed text.
pub(crate) fn width(text: &str) -> usize {
    text.chars().map(char_width).sum()
}

/// Cells of a printed character, counted alone: terminals disagree about clusters, and a cell too many hides nothing.
pub(crate) fn char_width(c: char) -> usize {
    if matches!(c, ' '..='~') { 1 } else { Span::raw(c.encode_utf8(&mut [0; 4]) as &str).width() }
}

/// `1 edit`, `2 edits`.
pub(crate) fn count(number: usize, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}
