//! The words of a text, in lower case, with the line in which each stands.

/// A word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TextWord {
    pub(crate) text: String,
    /// From 1.
    pub(crate) line: usize,
}

/// Returns runs of letters, digits and apostrophes. What stands between them does not count, so that
/// emphasis, quotes and line breaks hide nothing.
pub(crate) fn words(text: &str) -> Vec<TextWord> {
    let mut words = Vec::new();
    for (line, text) in text.lines().enumerate() {
        for word in text.split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '’') {
            let word = word.trim_matches(['\'', '’']);
            if !word.is_empty() {
                let text =
                    word.chars().filter(|c| !matches!(c, '\'' | '’')).flat_map(char::to_lowercase).collect();
                words.push(TextWord { text, line: line + 1 });
            }
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_plain_and_know_their_line() {
        let found: Vec<(String, usize)> =
            words("**Don't** stop,\n\n'Ignore' É_x").into_iter().map(|word| (word.text, word.line)).collect();
        let expected = [("dont", 1), ("stop", 1), ("ignore", 3), ("é", 3), ("x", 3)];
        assert_eq!(found, expected.map(|(word, line)| (word.to_owned(), line)));
    }
}
