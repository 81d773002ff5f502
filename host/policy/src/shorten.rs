//! `max_lines` and `max_chars`: a text without its middle.
//!
//! The beginning of an output says what it is and the end how it went, so the middle goes. A line
//! says how much is missing. It counts towards the limit, so a text that was shortened is short
//! enough for the same rule.

use std::ops::Range;

/// How long a text may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shorten {
    pub(crate) lines: Option<usize>,
    pub(crate) chars: Option<usize>,
}

/// Fewest lines and characters that a limit may allow: a line of the beginning, one of the end and
/// the one between, and room for that one.
pub(crate) const LEAST_LINES: usize = 3;
pub(crate) const LEAST_CHARS: usize = 80;

impl Shorten {
    /// Returns the stretch that goes and what stands there; `None` where the text is short enough.
    /// No range of `whole` is cut in two.
    pub(crate) fn cut(self, text: &str, whole: &[Range<usize>]) -> Option<(Range<usize>, String)> {
        let by_lines = self.lines.and_then(|most| cut_lines(text, most));
        let gone = match self.chars {
            Some(most) => cut_chars(text, most, by_lines.clone()).or(by_lines),
            None => by_lines,
        }?;
        let gone = around(gone, whole);
        let lines = text[gone.clone()].lines().count();
        let at_line_ends = text[..gone.start].ends_with('\n') && self.lines.is_some();
        let said = match at_line_ends {
            true => format!("[{} left out]\n", counted(lines, "line")),
            false => format!("\n[{} left out]\n", counted(text[gone.clone()].chars().count(), "character")),
        };
        Some((gone, said))
    }
}

fn counted(count: usize, of: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {of}{plural}")
}

/// The lines between the first and the last ones that may stay, whole.
fn cut_lines(text: &str, most: usize) -> Option<Range<usize>> {
    let starts: Vec<usize> = line_starts(text);
    if starts.len() <= most {
        return None;
    }
    let stay = most - 1;
    let (first, last) = (stay.div_ceil(2), stay / 2);
    Some(starts[first]..starts[starts.len() - last])
}

fn line_starts(text: &str) -> Vec<usize> {
    let after = text.match_indices('\n').map(|(at, _)| at + 1).filter(|&at| at < text.len());
    std::iter::once(0).chain(after).collect()
}

/// Room for the line between.
const SAID: usize = 48;

/// The characters between the first and the last ones that may stay, and at least what goes
/// already.
fn cut_chars(text: &str, most: usize, gone: Option<Range<usize>>) -> Option<Range<usize>> {
    let chars_of_gone = gone.as_ref().map_or(0, |gone| text[gone.clone()].chars().count());
    let all = text.chars().count();
    if all - chars_of_gone + if gone.is_some() { SAID } else { 0 } <= most {
        return None;
    }
    let stay = most - SAID;
    let (first, last) = (stay.div_ceil(2), stay / 2);
    let start = text.char_indices().nth(first).map_or(text.len(), |(at, _)| at);
    let end = text.char_indices().nth(all - last).map_or(text.len(), |(at, _)| at);
    Some(match gone {
        Some(gone) => start.min(gone.start)..end.max(gone.end),
        None => start..end,
    })
}

/// Widens a stretch over each range that it would cut in two.
fn around(gone: Range<usize>, whole: &[Range<usize>]) -> Range<usize> {
    let cut = |at: usize| whole.iter().find(|range| range.start < at && at < range.end);
    let start = cut(gone.start).map_or(gone.start, |range| range.start);
    let end = cut(gone.end).map_or(gone.end, |range| range.end);
    start..end
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shortened(text: &str, shorten: Shorten) -> String {
        match shorten.cut(text, &[]) {
            Some((gone, said)) => format!("{}{said}{}", &text[..gone.start], &text[gone.end..]),
            None => text.to_owned(),
        }
    }

    #[test]
    fn the_middle_goes_and_a_line_says_how_much() {
        let text: String = (1..=10).map(|line| format!("line {line}\n")).collect();
        let short = shortened(&text, Shorten { lines: Some(5), chars: None });
        assert_eq!(short, "line 1\nline 2\n[6 lines left out]\nline 9\nline 10\n");
        assert_eq!(shortened(&text, Shorten { lines: Some(10), chars: None }), text);
        let short = shortened(&"é".repeat(200), Shorten { lines: None, chars: Some(100) });
        assert_eq!(short, format!("{0}\n[148 characters left out]\n{0}", "é".repeat(26)));
    }

    #[test]
    fn a_token_is_left_out_as_a_whole() {
        let text = format!("{}TOKEN{}", "a".repeat(48), "b".repeat(100));
        let (gone, _) =
            Shorten { lines: None, chars: Some(148) }.cut(&text, std::slice::from_ref(&(48..53))).unwrap();
        assert_eq!(gone.start, 48);
    }

    proptest! {
        #[test]
        fn what_is_shortened_is_short_enough(
            text in "([a-é]{0,9}\n?){0,60}", lines in proptest::option::of(LEAST_LINES..20),
            chars in proptest::option::of(LEAST_CHARS..200)
        ) {
            let shorten = Shorten { lines, chars };
            let short = shortened(&text, shorten);
            prop_assert!(lines.is_none_or(|most| short.lines().count() <= most), "{short:?}");
            prop_assert!(chars.is_none_or(|most| short.chars().count() <= most), "{short:?}");
            prop_assert_eq!(shortened(&short, shorten), short);
        }
    }
}
