//! The difference of two texts, word by word: `[-gone-]{+new+}`, with long unchanged stretches left out.

use std::time::Duration;

use similar::{ChangeTag, TextDiff};

use crate::print::{Printer, Style};

/// Unchanged text around a change, in characters.
const CONTEXT: usize = 40;

/// After so long the difference gets coarser instead of exact; only texts of megabytes with nothing in common take it.
const TIME_LIMIT: Duration = Duration::from_secs(2);

/// Prints a difference, indented.
pub(crate) fn print(before: &str, after: &str, printer: &mut Printer) -> std::io::Result<()> {
    let mut stretches = stretches(before, after);
    let last = stretches.len().saturating_sub(1);
    for (place, (tag, text)) in stretches.iter_mut().enumerate() {
        if *tag == ChangeTag::Equal {
            *text = abridged(text, place == 0, place == last);
        }
    }
    printer.text(Style::Plain, "  ")?;
    for (tag, text) in stretches {
        let (style, text) = match tag {
            ChangeTag::Equal => (Style::Plain, text),
            ChangeTag::Delete => (Style::Removed, format!("[-{text}-]")),
            ChangeTag::Insert => (Style::Added, format!("{{+{text}+}}")),
        };
        printer.text(style, &text.replace('\n', "\n  "))?;
    }
    printer.line("")
}

/// The texts as stretches that are the same, gone or new; neighbours of one kind are joined.
fn stretches(before: &str, after: &str) -> Vec<(ChangeTag, String)> {
    let diff = TextDiff::configure().timeout(TIME_LIMIT).diff_words(before, after);
    let mut stretches: Vec<(ChangeTag, String)> = Vec::new();
    for change in diff.iter_all_changes() {
        match stretches.last_mut() {
            Some((tag, text)) if *tag == change.tag() => text.push_str(change.value()),
            _ => stretches.push((change.tag(), change.value().to_owned())),
        }
    }
    stretches
}

/// An unchanged stretch, with its middle left out, or its beginning or end where no change is there.
fn abridged(text: &str, is_first: bool, is_last: bool) -> String {
    let length = text.chars().count();
    let head = if is_first { 0 } else { CONTEXT };
    let tail = if is_last { 0 } else { CONTEXT };
    if length <= head + tail + CONTEXT {
        return text.to_owned();
    }
    let start: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(length - tail).collect();
    format!("{start} … {end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(before: &str, after: &str) -> Vec<(ChangeTag, String)> {
        stretches(before, after)
    }

    #[test]
    fn words_are_the_unit() {
        use ChangeTag::{Delete, Equal, Insert};
        let expected = [(Equal, "write to "), (Delete, "‹EMAIL›"), (Insert, "EMAIL_x"), (Equal, " now")]
            .map(|(tag, text)| (tag, text.to_owned()));
        assert_eq!(shown("write to ‹EMAIL› now", "write to EMAIL_x now"), expected);
    }

    #[test]
    fn long_unchanged_stretches_are_left_out() {
        let long = "é".repeat(500);
        assert_eq!(abridged(&long, true, false).chars().count(), CONTEXT + 3);
        assert_eq!(abridged(&long, false, false).chars().count(), 2 * CONTEXT + 3);
        assert_eq!(abridged("short", true, true), "short");
    }
}
