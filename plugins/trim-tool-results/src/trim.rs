//! Head, tail and the line between them.

/// Least bytes for a result: the line between head and tail takes up to [`MARKER`] of them.
const LEAST_BYTES: usize = 256;

/// Room for the line between head and tail, with the line breaks around it and two numbers of
/// twenty digits.
const MARKER: usize = 96;

/// How long a result may be after trimming.
pub(crate) struct TrimBudget {
    lines: usize,
    bytes: usize,
}

impl TrimBudget {
    pub(crate) fn new(lines: usize, bytes: usize) -> Result<Self, String> {
        if lines < 3 {
            return Err(
                "`max_lines` is below 3: a first line, a last one and what was cut between them".to_owned()
            );
        }
        if bytes < LEAST_BYTES {
            return Err(format!("`max_bytes` is below {LEAST_BYTES}"));
        }
        Ok(TrimBudget { lines, bytes })
    }

    /// The text with its middle cut out, or none where it is short enough.
    pub(crate) fn trim(&self, text: &str) -> Option<String> {
        if text.len() <= self.bytes && lines(text) <= self.lines {
            return None;
        }
        let head = self.head(text);
        let tail = self.tail(text);
        let cut = &text[head.len()..text.len() - tail.len()];
        let break_before = if head.is_empty() || head.ends_with('\n') { "" } else { "\n" };
        let marker = format!("[{} lines, {} bytes cut]", lines(cut), cut.len());
        Some(format!("{head}{break_before}{marker}\n{tail}"))
    }

    /// Two thirds of what is kept: an error is often at the end, what was asked for mostly at the
    /// beginning.
    fn head<'t>(&self, text: &'t str) -> &'t str {
        let kept_lines = self.lines - 1 - self.tail_lines();
        let by_lines = text.match_indices('\n').nth(kept_lines - 1).map_or(text.len(), |(at, _)| at + 1);
        let bytes = self.bytes - MARKER - self.tail_bytes();
        if by_lines <= bytes {
            return &text[..by_lines];
        }
        // Cut at the end of a line, unless a long line would take most of the head with it.
        let head = &text[..text.floor_char_boundary(bytes)];
        let whole = head.rfind('\n').map_or(0, |at| at + 1);
        if whole * 2 >= head.len() { &head[..whole] } else { head }
    }

    fn tail<'t>(&self, text: &'t str) -> &'t str {
        // The line break that ends the text begins no line.
        let body = text.strip_suffix('\n').unwrap_or(text);
        let by_lines = body.rmatch_indices('\n').nth(self.tail_lines() - 1).map_or(0, |(at, _)| at + 1);
        let bytes = self.tail_bytes();
        if text.len() - by_lines <= bytes {
            return &text[by_lines..];
        }
        let tail = &text[text.ceil_char_boundary(text.len() - bytes)..];
        let whole = tail.strip_suffix('\n').unwrap_or(tail).find('\n').map_or(tail.len(), |at| at + 1);
        if (tail.len() - whole) * 2 >= tail.len() { &tail[whole..] } else { tail }
    }

    /// At least one: no fewer than three lines are allowed.
    fn tail_lines(&self) -> usize {
        ((self.lines - 1) / 3).max(1)
    }

    fn tail_bytes(&self) -> usize {
        (self.bytes - MARKER) / 3
    }
}

/// Lines, the last one with or without its line break.
fn lines(text: &str) -> usize {
    let breaks = memchr::memchr_iter(b'\n', text.as_bytes()).count();
    breaks + usize::from(!text.is_empty() && !text.ends_with('\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(count: usize) -> String {
        (1..=count).map(|line| format!("line {line}\n")).collect()
    }

    #[test]
    fn head_and_tail_stay_around_one_line_that_says_what_was_cut() {
        let trimmed = TrimBudget::new(7, 1000).unwrap().trim(&numbered(100)).unwrap();
        let expected = "line 1\nline 2\nline 3\nline 4\n[94 lines, 747 bytes cut]\nline 99\nline 100\n";
        assert_eq!(trimmed, expected);
    }

    #[test]
    fn what_fits_exactly_stays() {
        let budget = TrimBudget::new(7, 1000).unwrap();
        assert_eq!(budget.trim(&numbered(7)), None);
        assert!(budget.trim(&numbered(8)).is_some());
        assert_eq!(budget.trim(&"x".repeat(1000)), None);
        assert!(budget.trim(&"x".repeat(1001)).is_some());
    }

    #[test]
    fn lines_are_those_of_the_standard_library() {
        for text in ["", "\n", "a", "a\n", "a\nb", "\n\n", "a\r\nb\r\n", "é\n\né"] {
            assert_eq!(super::lines(text), text.lines().count(), "{text:?}");
        }
    }

    #[test]
    fn one_endless_line_is_cut_between_characters() {
        let trimmed = TrimBudget::new(10, 300).unwrap().trim(&"é".repeat(5000)).unwrap();
        let mut parts = trimmed.lines();
        assert!(parts.next().unwrap().chars().all(|letter| letter == 'é'));
        assert!(parts.next().unwrap().ends_with("bytes cut]"));
        assert!(parts.next().unwrap().chars().all(|letter| letter == 'é'));
    }

    proptest::proptest! {
        #[test]
        fn a_trimmed_text_is_within_its_budget_and_stays_as_it_is(
            text in "(\\PC{0,60}\n?){0,60}",
            lines in 3_usize..20,
            bytes in LEAST_BYTES..800_usize,
        ) {
            let budget = TrimBudget::new(lines, bytes).unwrap();
            if let Some(trimmed) = budget.trim(&text) {
                proptest::prop_assert!(trimmed.len() <= bytes, "{} bytes", trimmed.len());
                proptest::prop_assert!(super::lines(&trimmed) <= lines, "{} lines", super::lines(&trimmed));
                proptest::prop_assert_eq!(budget.trim(&trimmed), None);
            }
        }
    }
}
