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
    #[must_use]
    pub fn new(text: &str) -> TextEditor {
        TextEditor { text: text.to_owned(), at: text.len() }
    }

    /// Returns the present text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Inserts a text at the cursor.
    pub fn insert(&mut self, text: &str) {
        self.text.insert_str(self.at, text);
        self.at += text.len();
    }

    /// Deletes the character before the cursor.
    pub fn backspace(&mut self) {
        self.cut_to(self.before(self.at));
    }

    /// Deletes the character at the cursor.
    pub fn delete(&mut self) {
        self.cut_to(self.behind(self.at));
    }

    /// Deletes the word before the cursor.
    pub fn delete_word(&mut self) {
        self.cut_to(self.word_before());
    }

    /// Deletes the word behind the cursor.
    pub fn delete_word_behind(&mut self) {
        self.cut_to(self.word_behind());
    }

    /// Deletes the rest of the line. At its end, deletes the newline.
    pub fn delete_to_end(&mut self) {
        let end = self.line_end();
        self.cut_to(if end == self.at { self.behind(end) } else { end });
    }

    /// Deletes the line up to the cursor.
    pub fn delete_to_start(&mut self) {
        self.cut_to(self.line_start());
    }

    fn cut_to(&mut self, to: usize) {
        let (start, end) = (self.at.min(to), self.at.max(to));
        self.text.replace_range(start..end, "");
        self.at = start;
    }

    /// Moves one character to the left.
    pub fn left(&mut self) {
        self.at = self.before(self.at);
    }

    /// Moves one character to the right.
    pub fn right(&mut self) {
        self.at = self.behind(self.at);
    }

    /// Moves to the start of the word before the cursor.
    pub fn word_left(&mut self) {
        self.at = self.word_before();
    }

    /// Moves to the end of the word behind the cursor.
    pub fn word_right(&mut self) {
        self.at = self.word_behind();
    }

    /// Moves to the start of the line.
    pub fn home(&mut self) {
        self.at = self.line_start();
    }

    /// Moves to the end of the line.
    pub fn end(&mut self) {
        self.at = self.line_end();
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

    fn before(&self, at: usize) -> usize {
        let marks = |c: &char| printer::is_mark(*c);
        let skipped = self.text[..at].chars().rev().take_while(marks).map(char::len_utf8).sum::<usize>();
        self.text[..at - skipped].chars().next_back().map_or(0, |c| at - skipped - c.len_utf8())
    }

    fn behind(&self, at: usize) -> usize {
        let mut rest = self.text[at..].chars();
        let Some(c) = rest.next() else { return at };
        at + c.len_utf8() + rest.take_while(|&c| printer::is_mark(c)).map(char::len_utf8).sum::<usize>()
    }

    fn word_before(&self) -> usize {
        let text = self.text[..self.at].trim_end_matches(|c: char| !c.is_alphanumeric());
        text.trim_end_matches(char::is_alphanumeric).len()
    }

    fn word_behind(&self) -> usize {
        let rest = self.text[self.at..].trim_start_matches(|c: char| !c.is_alphanumeric());
        self.text.len() - rest.trim_start_matches(char::is_alphanumeric).len()
    }

    fn line_start(&self) -> usize {
        self.text[..self.at].rfind('\n').map_or(0, |newline| newline + 1)
    }

    fn line_end(&self) -> usize {
        self.text[self.at..].find('\n').map_or(self.text.len(), |newline| self.at + newline)
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

    use super::*;

    #[test]
    fn words_and_lines() {
        let mut editor = TextEditor::new("one two\nthree, four");
        editor.word_left();
        editor.word_left();
        editor.delete_to_end();
        assert_eq!(editor.text(), "one two\n");
        editor.backspace();
        editor.delete_word();
        editor.insert("2\n");
        editor.rows_down(-1, 40);
        editor.insert("zero ");
        assert_eq!(editor.text(), "zero one 2\n");
        editor.end();
        editor.delete();
        assert_eq!(editor.text(), "zero one 2");
    }

    #[test]
    fn a_mark_goes_with_its_letter() {
        let mut editor = TextEditor::new("ae\u{301}");
        editor.backspace();
        assert_eq!(editor.text(), "a");
    }

    proptest! {
        /// After any step the cursor stands in the box and on a character, and the rows hold the
        /// whole text.
        #[test]
        fn the_cursor_stays_in_the_text(text in "(a|é|日|\u{301}|\u{1b}|\n| |\t|👍){0,40}", steps in prop::collection::vec(0..14u8, 0..40)) {
            let mut editor = TextEditor::new(&text);
            for step in steps {
                match step {
                    0 => editor.left(), 1 => editor.right(), 2 => editor.word_left(), 3 => editor.word_right(),
                    4 => editor.home(), 5 => editor.end(), 6 => editor.rows_down(-1, 14), 7 => editor.rows_down(1, 14),
                    8 => editor.insert("日\n"), 9 => editor.backspace(), 10 => editor.delete(), 11 => editor.delete_word(),
                    12 => editor.delete_to_end(), _ => editor.delete_to_start(),
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
