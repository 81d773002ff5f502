//! A text being edited: the text, a cursor, and how both lie in a box of so many cells.
//!
//! Its shown form passes the printer glyph by glyph, so that every cell belongs to one character of
//! the text. `Debug` prints the length.

use crate::printer::{self, GlyphShape};
use crate::rows;

/// A text and a cursor in it.
#[derive(Clone, Default, derive_more::Debug)]
#[debug("Editor({} bytes, at {})", self.text.len(), self.at)]
pub struct TextEditor {
    text: String,
    /// Byte offset, on a character boundary.
    at: usize,
}

/// A place beside the cursor. A mark goes with its letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CursorStep {
    /// Before the character before it.
    Left,
    /// Behind the character behind it.
    Right,
    /// The start of the word before it.
    WordLeft,
    /// The end of the word behind it.
    WordRight,
    /// The start of its line.
    LineStart,
    /// The end of its line.
    LineEnd,
}

/// One row of the box: a stretch of the text and its printed form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EditorLine {
    pub(super) start: usize,
    pub(super) shown: String,
    /// The byte offset of every character in it, and the column at which it is shown.
    columns: Vec<(usize, usize)>,
}

impl TextEditor {
    /// Creates an editor with the cursor at the end of the text.
    pub fn new(text: &str) -> TextEditor {
        TextEditor { text: text.to_owned(), at: text.len() }
    }

    /// Returns the present text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Inserts a text at the cursor.
    pub fn insert(&mut self, text: &str) {
        self.text.insert_str(self.at, text);
        self.at += text.len();
    }

    /// Deletes what stands between the cursor and another place.
    pub fn delete(&mut self, to: CursorStep) {
        let to = self.place(to);
        let (start, end) = (self.at.min(to), self.at.max(to));
        self.text.replace_range(start..end, "");
        self.at = start;
    }

    /// Deletes the rest of the line. At its end, deletes the newline.
    pub fn delete_to_end(&mut self) {
        let is_end = self.place(CursorStep::LineEnd) == self.at;
        self.delete(if is_end { CursorStep::Right } else { CursorStep::LineEnd });
    }

    /// Moves the cursor.
    pub fn go(&mut self, to: CursorStep) {
        self.at = self.place(to);
    }

    /// Moves so many rows down in a box of `cells`, up if negative, as near to the column as the
    /// row allows.
    pub fn rows_down(&mut self, rows: isize, cells: usize) {
        let lines = self.lines(cells);
        let (row, column) = self.cursor(&lines);
        let to = row.saturating_add_signed(rows).min(lines.len() - 1);
        if to != row {
            let line = &lines[to];
            let near = line.columns.iter().rfind(|&&(_, at)| at <= column);
            self.at = near.map_or(line.start, |&(at, _)| at);
        }
    }

    fn place(&self, step: CursorStep) -> usize {
        let (before, behind) = self.text.split_at(self.at);
        let marks = |c: &char| printer::is_mark(*c);
        let is_in_word = char::is_alphanumeric;
        match step {
            CursorStep::Left => {
                let marks: usize = before.chars().rev().take_while(marks).map(char::len_utf8).sum();
                let letter = before[..self.at - marks].chars().next_back();
                letter.map_or(0, |c| self.at - marks - c.len_utf8())
            }
            CursorStep::Right => {
                let mut rest = behind.chars();
                let letter = rest.next().map_or(0, char::len_utf8);
                self.at + letter + rest.take_while(marks).map(char::len_utf8).sum::<usize>()
            }
            CursorStep::WordLeft => {
                before.trim_end_matches(|c| !is_in_word(c)).trim_end_matches(is_in_word).len()
            }
            CursorStep::WordRight => {
                let rest = behind.trim_start_matches(|c| !is_in_word(c)).trim_start_matches(is_in_word);
                self.text.len() - rest.len()
            }
            CursorStep::LineStart => before.rfind('\n').map_or(0, |newline| newline + 1),
            CursorStep::LineEnd => behind.find('\n').map_or(self.text.len(), |newline| self.at + newline),
        }
    }

    /// Returns the rows of a box of `cells`, at least one. A newline is shown, because a row may
    /// also end where the box does.
    pub(super) fn lines(&self, cells: usize) -> Vec<EditorLine> {
        // A number such as `\u{10ffff}` takes ten cells, and the cursor behind the text one more.
        let cells = cells.max(12) - 1;
        let mut lines = vec![EditorLine::at(0)];
        let mut column = 0;
        for glyph in printer::glyphs(&self.text) {
            let mut shown = String::new();
            glyph.shape.write(&mut shown);
            let width = rows::width(&shown);
            if column + width > cells {
                lines.push(EditorLine::at(glyph.at));
                column = 0;
            }
            let line = lines.last_mut().expect("the list starts with a line");
            if !matches!(glyph.shape, GlyphShape::Mark(_)) {
                line.columns.push((glyph.at, column));
            }
            line.shown.push_str(&shown);
            column += width;
            if glyph.shape == GlyphShape::Newline {
                lines.push(EditorLine::at(glyph.at + 1));
                column = 0;
            }
        }
        let line = lines.last_mut().expect("the list starts with a line");
        line.columns.push((self.text.len(), column));
        lines
    }

    /// Returns row and column of the cursor.
    pub(super) fn cursor(&self, lines: &[EditorLine]) -> (usize, usize) {
        let row = lines.partition_point(|line| line.start <= self.at).saturating_sub(1);
        let column =
            lines[row].columns.iter().rfind(|&&(at, _)| at <= self.at).map_or(0, |&(_, column)| column);
        (row, column)
    }
}

impl EditorLine {
    fn at(start: usize) -> EditorLine {
        EditorLine { start, shown: String::new(), columns: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::CursorStep::{Left, LineEnd, LineStart, Right, WordLeft, WordRight};
    use super::*;

    const STEPS: [CursorStep; 6] = [Left, Right, WordLeft, WordRight, LineStart, LineEnd];

    #[test]
    fn words_and_lines() {
        let mut editor = TextEditor::new("one two\nthree, four");
        editor.go(WordLeft);
        editor.go(WordLeft);
        editor.delete_to_end();
        assert_eq!(editor.text(), "one two\n");
        editor.delete(Left);
        editor.delete(WordLeft);
        editor.insert("2\n");
        editor.rows_down(-1, 40);
        editor.insert("zero ");
        assert_eq!(editor.text(), "zero one 2\n");
        editor.go(LineEnd);
        editor.delete(Right);
        assert_eq!(editor.text(), "zero one 2");
    }

    #[test]
    fn a_mark_goes_with_its_letter() {
        let mut editor = TextEditor::new("ae\u{301}");
        editor.delete(Left);
        assert_eq!(editor.text(), "a");
    }

    proptest! {
        /// After any step the cursor stands in the box and on a character, and the rows hold the
        /// whole text.
        #[test]
        fn the_cursor_stays_in_the_text(text in "(a|é|日|\u{301}|\u{1b}|\n| |\t|👍){0,40}", steps in prop::collection::vec(0..16u8, 0..40)) {
            let mut editor = TextEditor::new(&text);
            for step in steps {
                match step {
                    0..6 => editor.go(STEPS[usize::from(step)]),
                    6 => editor.rows_down(-1, 14), 7 => editor.rows_down(1, 14),
                    8 => editor.insert("日\n"), 9 => editor.delete_to_end(),
                    _ => editor.delete(STEPS[usize::from(step) - 10]),
                }
                prop_assert!(editor.text.is_char_boundary(editor.at));
                let lines = editor.lines(14);
                let (row, column) = editor.cursor(&lines);
                prop_assert!(row < lines.len() && column < 14);
                let shown: String = lines.iter().map(|line| line.shown.as_str()).collect();
                let whole = printer::line(editor.text());
                prop_assert_eq!(shown.as_str(), whole.as_str());
            }
        }
    }
}
