//! Lists and facts, as every command shows them to people.

use std::io;

use leafgate_review::rows::StyledText;

use super::{Printer, Row, Style};

/// Cells of the widest column but the last, which is as wide as it is. What is longer is cut.
const WIDEST: usize = 48;

/// Cells between two columns.
const GAP: usize = 2;

/// Fewest cells that names of facts take, so that those of most commands stand alike.
const NAMES: usize = 8;

/// A value in a list. Numbers stand at the right of their column.
pub(crate) struct Cell {
    text: String,
    style: Style,
    is_number: bool,
}

impl Cell {
    pub(crate) fn new(style: Style, text: impl Into<String>) -> Cell {
        Cell { text: text.into(), style, is_number: false }
    }

    /// Stands at the right of its column.
    pub(crate) fn number(text: impl Into<String>) -> Cell {
        Cell { is_number: true, ..Cell::new(Style::Plain, text) }
    }

    fn row(&self) -> Row {
        Row::of(&self.text, self.style)
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell::new(Style::Plain, text)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        Cell::new(Style::Plain, text)
    }
}

impl From<i64> for Cell {
    fn from(number: i64) -> Cell {
        Cell::number(number.to_string())
    }
}

impl From<usize> for Cell {
    fn from(number: usize) -> Cell {
        Cell::number(number.to_string())
    }
}

/// A list with a line of headings, which may come in parts: its columns grow where they must.
pub(crate) struct TextTable<const N: usize> {
    heads: [&'static str; N],
    widths: [usize; N],
    is_begun: bool,
}

impl<const N: usize> TextTable<N> {
    pub(crate) fn new(heads: [&'static str; N]) -> Self {
        TextTable { heads, widths: heads.map(|head| Cell::from(head).row().width()), is_begun: false }
    }

    /// Returns the next rows, behind the headings where they are the first.
    fn rows(&mut self, rows: &[[Cell; N]]) -> Vec<Row> {
        for row in rows {
            for (width, cell) in self.widths.iter_mut().zip(row) {
                *width = (*width).max(cell.row().width().min(WIDEST));
            }
        }
        let mut written = Vec::with_capacity(rows.len() + 1);
        if let (Some(first), false) = (rows.first(), self.is_begun) {
            let mut heads = self.heads.map(Cell::from);
            heads.iter_mut().zip(first).for_each(|(head, cell)| head.is_number = cell.is_number);
            written.push(Row::of(&self.row(&heads).text(), Style::Dim));
            self.is_begun = true;
        }
        written.extend(rows.iter().map(|row| self.row(row)));
        written
    }

    fn row(&self, cells: &[Cell; N]) -> Row {
        let mut row = Row::default();
        let last = cells.iter().rposition(|cell| !cell.text.is_empty()).unwrap_or(0);
        for (place, (cell, &width)) in cells.iter().zip(&self.widths).enumerate().take(last + 1) {
            if place + 1 == N {
                row.0.extend(cell.row().0);
                break;
            }
            let shown = cell.row().cut(width);
            let blank = width - shown.width();
            let (before, behind) = if cell.is_number { (blank, 0) } else { (0, blank) };
            row.0.push(blanks(before));
            row.0.extend(shown.0);
            row.0.push(blanks(if place == last { 0 } else { behind + GAP }));
        }
        row
    }
}

fn blanks(cells: usize) -> StyledText {
    StyledText::new(&" ".repeat(cells), Style::Plain)
}

impl Printer {
    /// Writes a list.
    pub(crate) fn table<const N: usize>(
        &mut self,
        heads: [&'static str; N],
        rows: impl IntoIterator<Item = [Cell; N]>,
    ) -> io::Result<()> {
        self.more(&mut TextTable::new(heads), rows)
    }

    /// Writes the next rows of a list.
    pub(crate) fn more<const N: usize>(
        &mut self,
        table: &mut TextTable<N>,
        rows: impl IntoIterator<Item = [Cell; N]>,
    ) -> io::Result<()> {
        let rows: Vec<_> = rows.into_iter().collect();
        self.rows(&table.rows(&rows))
    }

    /// Writes facts, one below the other behind their names. Lines of one stand below its first.
    pub(crate) fn facts(&mut self, facts: &[(&str, String)]) -> io::Result<()> {
        let width = facts.iter().map(|(name, _)| name.len()).max().unwrap_or(0).max(NAMES) + GAP;
        for (name, text) in facts {
            self.text(Style::Dim, &format!("{name:width$}"))?;
            self.line(&text.replace('\n', &format!("\n{:width$}", "")))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown<const N: usize>(table: &mut TextTable<N>, rows: &[[Cell; N]]) -> Vec<String> {
        table.rows(rows).iter().map(Row::text).collect()
    }

    #[test]
    fn columns_hold_what_is_long_and_what_is_wide() {
        let mut table = TextTable::new(["id", "name", "what"]);
        let long = "x".repeat(60);
        let rows = [
            [7_i64.into(), "お誕生日".into(), "a".into()],
            [123_i64.into(), "b\nc".into(), long.as_str().into()],
            [1_i64.into(), "b".into(), "".into()],
        ];
        assert_eq!(
            shown(&mut table, &rows),
            [" id  name      what", "  7  お誕生日  a", &format!("123  b↵c       {long}"), "  1  b"]
        );
        // What comes later is aligned with what stands there, without headings.
        assert_eq!(
            shown(&mut table, &[[2_i64.into(), long.as_str().into(), "z".into()]]),
            [format!("  2  {}…  z", &long[..WIDEST - 1])]
        );
        assert!(shown(&mut TextTable::new(["a"]), &[]).is_empty());
    }
}
