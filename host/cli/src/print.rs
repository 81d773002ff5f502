//! Prints text for people through the printer of `leafgate-review`. A request may hold characters
//! that move the cursor, retitle the terminal, reverse or hide text: all of them are shown as
//! visible text (`\u{1b}`).
//!
//! Bytes that are requested as bytes (`apply`) are written as they are. JSON has the same
//! characters as `\u001b`.

mod table;

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};

use anyhow::bail;
use leafgate_review::printer::{self, GlyphShape};
pub(crate) use leafgate_review::rows::{Row, RowStyle as Style, count as counted};
use serde::Serialize;

pub(crate) use self::table::{Cell, TextTable};
pub(crate) use crate::exit::Exit;

/// Writes to standard output and standard error.
pub(crate) struct Printer {
    out: io::BufWriter<io::Stdout>,
    colours: bool,
    /// Whether what commands find is written as JSON.
    pub(crate) is_json: bool,
}

/// Returns how a stretch of text is emphasised on a terminal.
fn code(style: Style) -> &'static str {
    match style {
        Style::Plain => "",
        Style::Strong | Style::Warning => "\x1b[1m",
        Style::Dim => "\x1b[2m",
        Style::Deleted | Style::Struck | Style::Error => "\x1b[31m",
        Style::Added => "\x1b[32m",
        Style::Redacted | Style::Edited => "\x1b[36m",
    }
}

impl Printer {
    /// Creates a printer with colours where they are allowed.
    pub(crate) fn for_terminal() -> Self {
        let out = io::stdout();
        let colours = may_colour(&out);
        Printer { out: io::BufWriter::new(out), colours, is_json: false }
    }

    /// Writes what a command has found: as JSON where that was asked for, else as `print` shows it to
    /// people. This is how a command ends that has nothing else to say.
    pub(crate) fn show<T: Serialize + ?Sized, E: Into<anyhow::Error>>(
        &mut self,
        found: &T,
        print: impl FnOnce(&T, &mut Self) -> Result<(), E>,
    ) -> anyhow::Result<Exit> {
        match self.is_json {
            true => self.json(found)?,
            false => print(found, self).map_err(Into::into)?,
        }
        Ok(Exit::Done)
    }

    /// Writes what was done in one line, or as JSON where that was asked for.
    pub(crate) fn tell(&mut self, done: &serde_json::Value, line: &str) -> anyhow::Result<Exit> {
        self.show(done, |_, printer| printer.line(line))
    }

    /// Writes the lists of things that there are none of: why, on standard error.
    pub(crate) fn none(&mut self, things: usize, why: &str) {
        if things == 0 {
            self.error_line(why);
        }
    }

    /// Asks for a yes before something goes that cannot be brought back, unless `--yes` was given.
    ///
    /// # Errors
    /// Nobody says yes: the answer is another one, or there is no terminal to ask at.
    pub(crate) fn ask_for_yes(&mut self, question: &str, yes: bool) -> anyhow::Result<()> {
        if yes {
            return Ok(());
        }
        if !io::stdin().is_terminal() {
            bail!("nothing was removed: nobody can be asked here, and `--yes` was not given");
        }
        self.text(Style::Plain, &format!("{question} yes, no: "))?;
        self.flush()?;
        let mut line = String::new();
        io::stdin().read_line(&mut line)?;
        match line.trim().to_ascii_lowercase().as_str() {
            "y" | "yes" => Ok(()),
            _ => bail!("nothing was removed"),
        }
    }

    /// Writes a line of text.
    pub(crate) fn line(&mut self, text: &str) -> io::Result<()> {
        self.text(Style::Plain, text)?;
        self.out.write_all(b"\n")
    }

    /// Writes text without an end of line. Newlines in it stay.
    pub(crate) fn text(&mut self, style: Style, text: &str) -> io::Result<()> {
        self.printed(style, printer::block(text).as_str())
    }

    /// Writes rows as the prompt shows them.
    pub(crate) fn rows(&mut self, rows: &[Row]) -> io::Result<()> {
        for row in rows {
            row.0.iter().try_for_each(|piece| self.printed(piece.style, piece.text()))?;
            self.out.write_all(b"\n")?;
        }
        Ok(())
    }

    /// Writes printed text, in which a newline is the only control character.
    fn printed(&mut self, style: Style, text: &str) -> io::Result<()> {
        let code = code(style);
        if !self.colours || code.is_empty() {
            return self.out.write_all(text.as_bytes());
        }
        // Around each line by itself, as pagers expect it.
        for line in text.split_inclusive('\n') {
            let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
            write!(self.out, "{code}{line}\x1b[0m{end}")?;
        }
        Ok(())
    }

    /// Writes bytes that were requested as bytes.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)
    }

    /// Writes JSON over several lines.
    pub(crate) fn json<T: Serialize + ?Sized>(&mut self, value: &T) -> io::Result<()> {
        self.json_text(&(serde_json::to_string_pretty(value)? + "\n"))
    }

    /// Writes JSON in one line.
    pub(crate) fn json_line(&mut self, value: &impl Serialize) -> io::Result<()> {
        self.json_text(&(serde_json::to_string(value)? + "\n"))
    }

    /// Writes JSON text that must keep its spelling.
    pub(crate) fn json_text(&mut self, json: &str) -> io::Result<()> {
        // A carriage return is white space in JSON, but a terminal writes over the line.
        self.out.write_all(ascii_escapes(&json.replace('\r', "")).as_bytes())
    }

    /// Flushes the output.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Writes a line to standard error, after everything written so far.
    #[expect(clippy::print_stderr, reason = "the one place where the program speaks to standard error")]
    pub(crate) fn error_line(&mut self, text: &str) {
        // If standard output is gone, standard error may still be read.
        let _ = self.out.flush();
        eprintln!("{}", printer::block(text));
    }
}

impl Drop for Printer {
    fn drop(&mut self) {
        // What ended well was flushed, and a failure of that seen. This is for what failed for another reason.
        let _ = self.out.flush();
    }
}

/// Returns whether colours are allowed: on a terminal, and never with `NO_COLOR`
/// (<https://no-color.org>).
pub(crate) fn may_colour(out: &impl IsTerminal) -> bool {
    let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    out.is_terminal() && !no_colour
}

/// Escapes the characters of JSON strings that the printer would not show as they are. Outside
/// strings JSON has only newlines of that kind.
pub(crate) fn ascii_escapes(json: &str) -> Cow<'_, str> {
    if json.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n')) {
        return Cow::Borrowed(json);
    }
    let mut escaped = String::with_capacity(json.len() + 16);
    for glyph in printer::glyphs(json) {
        match glyph.shape {
            // The printer shows a backslash that looks like one of its numbers as a number. In JSON
            // it only begins an escape.
            GlyphShape::Number('\\') => escaped.push('\\'),
            GlyphShape::Number(c) => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let _ = write!(escaped, "\\u{unit:04x}");
                }
            }
            GlyphShape::Plain(c) | GlyphShape::Mark(c) => escaped.push(c),
            GlyphShape::Newline => escaped.push('\n'),
            GlyphShape::Tab => escaped.push('\t'),
        }
    }
    Cow::Owned(escaped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_stays_json() {
        let value = serde_json::json!({ "a\u{202e}": "x\u{9b}\u{e0041}\u{1b}\n\u{7f}", "\\u{1b}": "↵\t\\" });
        let text = serde_json::to_string(&value).unwrap();
        let escaped = ascii_escapes(&text);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&escaped).unwrap(), value);
        assert!(escaped.is_ascii(), "{escaped}");
    }
}
