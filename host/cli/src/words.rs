//! The difference of two texts, word by word: `[-gone-]{+new+}`, with the middle of long stretches
//! left out. A replaced text is shown above the new one.

use std::time::Duration;

use similar::{ChangeTag, TextDiff};

use crate::print::{Printer, Style};

/// Unchanged text around a change, in characters.
const CONTEXT: usize = 40;

/// After this time the difference gets coarser instead of exact. Only texts of megabytes with
/// nothing in common take so long.
const TIME_LIMIT: Duration = Duration::from_secs(2);

/// Most lines of a removed or added stretch that are shown whole, and how many of a longer one at
/// either end.
const WHOLE_LINES: usize = 8;
const HEAD_LINES: usize = 4;
const TAIL_LINES: usize = 2;

/// Most characters of such a stretch that are shown whole, and how many of a longer one at either
/// end.
const WHOLE: usize = 600;
const ENDS: usize = 200;

/// If the texts have less than this share (one in so many) in common, and this many changes or
/// more, words in between do not help a reader: the texts are shown one below the other.
const COMMON_SHARE: usize = 3;
const INTERLEAVED: usize = 6;

/// Prints a difference, indented.
pub(crate) fn print(before: &str, after: &str, printer: &mut Printer) -> std::io::Result<()> {
    print_under(before, after, "  ", printer)
}

/// Prints a difference, each line behind an indentation.
pub(crate) fn print_under(
    before: &str,
    after: &str,
    indent: &str,
    printer: &mut Printer,
) -> std::io::Result<()> {
    let mut stretches = stretches(before, after);
    let in_blocks = has_little_in_common(&stretches, before, after);
    if in_blocks {
        stretches = vec![(ChangeTag::Delete, before.to_owned()), (ChangeTag::Insert, after.to_owned())];
    }
    let last = stretches.len().saturating_sub(1);
    let line = format!("\n{indent}");
    printer.text(Style::Plain, indent)?;
    for (place, (tag, text)) in stretches.into_iter().enumerate() {
        let (style, text) = match tag {
            ChangeTag::Equal => (Style::Plain, abridged(&text, place == 0, place == last)),
            ChangeTag::Delete => (Style::Deleted, format!("[-{}-]", shortened(&text))),
            ChangeTag::Insert => (Style::Added, format!("{{+{}+}}", shortened(&text))),
        };
        printer.text(style, &text.replace('\n', &line))?;
        if in_blocks && place < last {
            printer.text(Style::Plain, &line)?;
        }
    }
    printer.line("")
}

/// Returns whether a text was replaced by another one, rather than changed in a few words.
fn has_little_in_common(stretches: &[(ChangeTag, String)], before: &str, after: &str) -> bool {
    let visible = |text: &str| text.chars().filter(|c| !c.is_whitespace()).count();
    let same = stretches.iter().filter(|(tag, _)| *tag == ChangeTag::Equal).map(|(_, text)| visible(text));
    let changes = stretches.iter().filter(|(tag, _)| *tag != ChangeTag::Equal).count();
    changes >= INTERLEAVED && same.sum::<usize>() * COMMON_SHARE < visible(before).max(visible(after))
}

/// Returns the texts as stretches that are the same, gone or new. Neighbours of one kind are
/// joined.
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

/// Returns an unchanged stretch with its middle left out, or its beginning or end where no change
/// is there.
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

/// Returns a removed or added stretch, with its middle left out if it is long.
fn shortened(text: &str) -> String {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let text = if lines.len() > WHOLE_LINES {
        let left_out = lines.len() - HEAD_LINES - TAIL_LINES;
        let (head, tail) = (&lines[..HEAD_LINES], &lines[lines.len() - TAIL_LINES..]);
        format!("{}… {left_out} more lines …\n{}", head.concat(), tail.concat())
    } else {
        text.to_owned()
    };
    let length = text.chars().count();
    if length <= WHOLE {
        return text;
    }
    let start: String = text.chars().take(ENDS).collect();
    let end: String = text.chars().skip(length - ENDS).collect();
    format!("{start} … {} more characters … {end}", length - 2 * ENDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(before: &str, after: &str) -> Vec<(ChangeTag, String)> {
        stretches(before, after)
    }

    // S0-79
    #[test]
    fn words_are_the_unit() {
        use ChangeTag::{Delete, Equal, Insert};
        let expected = [(Equal, "write to "), (Delete, "‹EMAIL›"), (Insert, "EMAIL_x"), (Equal, " now")]
            .map(|(tag, text)| (tag, text.to_owned()));
        assert_eq!(shown("write to ‹EMAIL› now", "write to EMAIL_x now"), expected);
    }

    #[test]
    fn texts_with_little_in_common_are_told_apart_from_edited_ones() {
        let replaced =
            |before: &str, after: &str| has_little_in_common(&stretches(before, after), before, after);
        let prose =
            "We met the board on Monday and they want the report to be shorter by half before spring.";
        let other = "No secrets: the gate replaces what rules name, and the report of it shows that it did.";
        assert!(replaced(prose, other));
        assert!(
            !replaced(prose, &format!("{prose} Please."))
                && !replaced(prose, &prose.replace("Monday", "Friday"))
        );
        assert!(!replaced("a", "b") && !replaced("", prose));
    }

    #[test]
    fn long_changes_are_shown_by_their_ends() {
        let lines: String = (0..40).map(|number| format!("line {number}\n")).collect();
        let shown = shortened(&lines);
        assert_eq!(shown, "line 0\nline 1\nline 2\nline 3\n… 34 more lines …\nline 38\nline 39\n");
        let long = shortened(&"é".repeat(5000));
        assert!(long.contains("4600 more characters") && long.chars().count() < WHOLE, "{long}");
        assert_eq!(shortened("a\nb"), "a\nb");
    }

    #[test]
    fn long_unchanged_stretches_are_left_out() {
        let long = "é".repeat(500);
        assert_eq!(abridged(&long, true, false).chars().count(), CONTEXT + 3);
        assert_eq!(abridged(&long, false, false).chars().count(), 2 * CONTEXT + 3);
        assert_eq!(abridged("short", true, true), "short");
    }
}
