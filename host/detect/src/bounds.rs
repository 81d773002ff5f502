//! What may stand beside a match.
//!
//! A token inside a longer word is no token: `task_live_…` holds no Stripe key. But texts quote
//! texts, so the last letter of an escape (`\n`, `\u0026`, `%20`) in front of a match belongs to
//! the escape, not to a word.

use leafgate_words::words;
use serde::Deserialize;

words! {
    /// What a row asks of the bytes beside its match.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub(crate) enum Bounds {
        /// No letter or digit on either side.
        #[default]
        Word = "no letter or digit on either side",
        /// Nothing of a token's alphabet (letters, digits, `_ - . / +`) before, no letter or digit
        /// after.
        Strict = "no letter, digit, or one of _ - . / + before; no letter or digit after",
        /// No letter or digit before, anything after.
        Left = "no letter or digit before",
        /// Anything.
        Any = "anything",
    }
    /// Returns it for people.
    pub(crate) fn said = 0;
}

impl Bounds {
    /// True where a match may begin at `at`.
    pub(crate) fn begins(self, bytes: &[u8], at: usize) -> bool {
        let Some(&before) = at.checked_sub(1).and_then(|i| bytes.get(i)) else { return true };
        let joined = match self {
            Self::Any => false,
            Self::Word | Self::Left => before.is_ascii_alphanumeric(),
            Self::Strict => {
                before.is_ascii_alphanumeric() || matches!(before, b'_' | b'-' | b'.' | b'/' | b'+')
            }
        };
        !joined || ends_an_escape(&bytes[..at])
    }

    /// True where a match may end at `at`.
    pub(crate) fn ends(self, bytes: &[u8], at: usize) -> bool {
        match self {
            Self::Any | Self::Left => true,
            Self::Word | Self::Strict => !bytes.get(at).is_some_and(u8::is_ascii_alphanumeric),
        }
    }
}

fn ends_an_escape(before: &[u8]) -> bool {
    let hex = |part: &[u8]| part.iter().all(u8::is_ascii_hexdigit);
    match before {
        [.., b'\\', b'n' | b'r' | b't' | b'b' | b'f'] => true,
        [.., b'\\', b'x', a, b] | [.., b'%', a, b] => hex(&[*a, *b]),
        [.., b'\\', b'u', _, _, _, _] => hex(&before[before.len() - 4..]),
        // ANSI colour: ESC [ … m
        [.., b'm'] => {
            let sequence =
                before[..before.len() - 1].iter().rposition(|&b| !(b.is_ascii_digit() || b == b';'));
            sequence.is_some_and(|i| i > 0 && before[i] == b'[' && before[i - 1] == 0x1b)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_escape_before_a_match_is_no_word() {
        for text in [r"\n", r"x\u0026", "a%20", r"\x3d", "\u{1b}[94m", " ", "=", "_"] {
            assert!(Bounds::Word.begins(text.as_bytes(), text.len()), "{text:?}");
        }
        for text in ["n", "u0026", "20", "3d", "m", "[94m"] {
            assert!(!Bounds::Word.begins(text.as_bytes(), text.len()), "{text:?}");
        }
        assert!(!Bounds::Strict.begins(b"a_", 2) && Bounds::Word.begins(b"a_", 2));
    }
}
