//! The words of a text.

use std::ops::Range;

/// Returns where the words of a text are: runs of letters and digits.
pub(crate) fn words(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut from = 0;
    std::iter::from_fn(move || {
        let start = from + text[from..].find(char::is_alphanumeric)?;
        let end = text[start..].find(|c: char| !c.is_alphanumeric()).map_or(text.len(), |end| start + end);
        from = end;
        Some(start..end)
    })
}

/// Adds a word to a text, in lower case unless case counts.
pub(crate) fn push(into: &mut String, word: &str, case: bool) {
    if case {
        into.push_str(word);
    } else if word.is_ascii() {
        into.extend(word.chars().map(|c| c.to_ascii_lowercase()));
    } else {
        into.extend(word.chars().flat_map(char::to_lowercase));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_and_digits_are_words() {
        let text = "Zoë's 2-door, «x»";
        let found: Vec<&str> = words(text).map(|at| &text[at]).collect();
        assert_eq!(found, ["Zoë", "s", "2", "door", "x"]);
        assert_eq!(words("").count() + words("-- ").count(), 0);
    }
}
