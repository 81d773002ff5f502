//! Everything a person sees passes here. A request may hold escape sequences that move the cursor, recolour or retitle the terminal,
//! and characters that reverse or hide text; they are shown as visible text (`\u{1b}`), so that what is on the screen is what is there.
//!
//! Bytes that are asked for as bytes (`apply`) are written as they are; JSON has the same characters as `\u001b`.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};

use serde::Serialize;

/// Writes to standard output and standard error.
pub(crate) struct Printer {
    out: io::BufWriter<io::Stdout>,
    colours: bool,
}

/// How a stretch of text stands out on a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Plain,
    Heading,
    Faint,
    Removed,
    Added,
}

impl Style {
    fn code(self) -> &'static str {
        match self {
            Style::Plain => "",
            Style::Heading => "\x1b[1m",
            Style::Faint => "\x1b[2m",
            Style::Removed => "\x1b[31m",
            Style::Added => "\x1b[32m",
        }
    }
}

impl Printer {
    /// Prints with colours where it may.
    pub(crate) fn for_terminal() -> Self {
        let out = io::stdout();
        let colours = may_colour(&out);
        Printer { out: io::BufWriter::new(out), colours }
    }

    /// A line of text.
    pub(crate) fn line(&mut self, text: &str) -> io::Result<()> {
        self.text(Style::Plain, text)?;
        self.out.write_all(b"\n")
    }

    /// Text without an end of line. Newlines and tabs in it stay.
    pub(crate) fn text(&mut self, style: Style, text: &str) -> io::Result<()> {
        let text = visible(text);
        let code = style.code();
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

    /// Text that stays on its line, newlines and all, filled up with spaces to so many characters.
    pub(crate) fn inline(&mut self, style: Style, text: &str, width: usize) -> io::Result<()> {
        self.text(style, &format!("{:width$}", visible_line(text)))
    }

    /// Bytes that were asked for as bytes.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)
    }

    /// JSON over several lines.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> io::Result<()> {
        let text = serde_json::to_string_pretty(value).map_err(io::Error::other)?;
        self.out.write_all(ascii_escapes(&text).as_bytes())?;
        self.out.write_all(b"\n")
    }

    /// JSON in one line.
    pub(crate) fn json_line(&mut self, value: &impl Serialize) -> io::Result<()> {
        let text = serde_json::to_string(value).map_err(io::Error::other)?;
        self.out.write_all(ascii_escapes(&text).as_bytes())?;
        self.out.write_all(b"\n")
    }

    /// Sends on what was written so far.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// A line to standard error, behind everything written so far.
    #[expect(clippy::print_stderr, reason = "the one place where the program speaks to standard error")]
    pub(crate) fn complain(&mut self, text: &str) {
        // Where standard output is gone, standard error may still be read.
        let _ = self.out.flush();
        eprintln!("{}", visible(text));
    }
}

impl Drop for Printer {
    fn drop(&mut self) {
        // Commands flush, and so learn of failures; this is for those that failed for another reason.
        let _ = self.out.flush();
    }
}

/// Colours only on a terminal, and never with `NO_COLOR` (<https://no-color.org>).
pub(crate) fn may_colour(out: &impl IsTerminal) -> bool {
    let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    out.is_terminal() && !no_colour
}

/// The text with control, escape, bidirectional and invisible characters spelled out. Newlines and tabs stay.
fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|c| misleads(c) && !matches!(c, '\n' | '\t')) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\n' | '\t' => shown.push(c),
            c if misleads(c) => shown.extend(c.escape_unicode()),
            c => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

/// Like [`visible`], on one line: newlines and tabs are spelled out too.
fn visible_line(text: &str) -> String {
    visible(text).replace('\n', "\\n").replace('\t', "\\t")
}

/// Whether a terminal would do something else with this character than show it.
fn misleads(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}'        // soft hyphen, Arabic letter mark, Mongolian vowel separator
            | '\u{200b}'..='\u{200f}'                // zero-width and direction marks
            | '\u{2028}'..='\u{202e}'                // separators, embeddings and overrides
            | '\u{2060}'..='\u{206f}'                // joiners, isolates, invisible operators
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}'   // byte order mark, interlinear annotation
            | '\u{e0000}'..='\u{e0fff}') // tags and variation selectors that can carry hidden text
}

/// JSON text whose strings hold no character that a terminal would act on. Outside strings JSON has only newlines of that kind.
fn ascii_escapes(json: &str) -> Cow<'_, str> {
    if !json.chars().any(|c| misleads(c) && c != '\n') {
        return Cow::Borrowed(json);
    }
    let mut escaped = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if c == '\n' || !misleads(c) {
            escaped.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            let _ = write!(escaped, "\\u{unit:04x}");
        }
    }
    Cow::Owned(escaped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_reaches_the_terminal_that_is_not_seen() {
        assert_eq!(visible("plain é 漢 😀\n\ttext"), "plain é 漢 😀\n\ttext");
        assert_eq!(visible("a\x1b[2Jb\r\u{7}\u{9b}"), "a\\u{1b}[2Jb\\u{d}\\u{7}\\u{9b}");
        assert_eq!(visible("\u{202e}txt.exe\u{200b}\u{e0041}"), "\\u{202e}txt.exe\\u{200b}\\u{e0041}");
        assert_eq!(visible_line("a\nb\tc"), "a\\nb\\tc");
    }

    #[test]
    fn json_stays_json() {
        let value = serde_json::json!({ "a\u{202e}": "x\u{9b}\u{e0041}\u{1b}\n" });
        let text = serde_json::to_string(&value).unwrap();
        let escaped = ascii_escapes(&text);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&escaped).unwrap(), value);
        assert!(escaped.is_ascii(), "{escaped}");
    }
}
