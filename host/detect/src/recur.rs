//! Values that were known by their place, wherever else they stand in the same text.
//!
//! Notes and logs give a password once by name and then as it is: `account: s3cret! pw: s3cret!`.
//! What is worth masking in one place is worth masking in all of them. Tokens that have a form of
//! their own need none of this.

use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};

use crate::value::Look;
use crate::work::spend;

/// Shorter values stand elsewhere by chance.
const LEAST: usize = 8;

/// Longer ones have a form of their own.
const LONGEST: usize = 512;

/// Of more values than these the first ones in order are looked for: a text is read once however
/// many there are, but the automaton grows with them.
const MOST: usize = 64;

/// Returns true if and only if a value is looked for again. A password that is a word may be meant
/// as one elsewhere.
pub(crate) fn is_worth(value: &str) -> bool {
    (LEAST..=LONGEST).contains(&value.len()) && {
        let look = Look::of(value);
        look.letters() < look.len && (!look.wordy() || is_dressed(value, &look)) && look.distinct >= 5
    }
}

/// `KornPr34Gg!`: letters as in words, but with digits and with a sign that names do not have.
fn is_dressed(value: &str, look: &Look) -> bool {
    let sign =
        |byte| matches!(byte, b'!' | b'@' | b'#' | b'$' | b'%' | b'^' | b'&' | b'*' | b'?' | b'+' | b'=');
    look.digits >= 2 && look.upper > 0 && value.bytes().any(sign)
}

/// Calls `f` with each place of each value that is no part of a longer word, and with the value's
/// own number.
pub(crate) fn each(text: &str, mut values: Vec<(&str, usize)>, mut f: impl FnMut(usize, Range<usize>)) {
    values.sort_unstable();
    values.dedup_by_key(|(value, _)| *value);
    values.truncate(MOST);
    // A value that is all of the text stands nowhere else.
    values.retain(|(value, _)| value.len() * 2 <= text.len());
    if values.is_empty() {
        return;
    }
    let automaton = AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostLongest)
        .build(values.iter().map(|(value, _)| value))
        .expect("a few short values stay far below the automaton's limits");
    spend(text.len());
    let bytes = text.as_bytes();
    let is_word = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_alphanumeric);
    for found in automaton.find_iter(text) {
        if !is_word(found.start().checked_sub(1)) && !is_word(Some(found.end())) {
            f(values[found.pattern().as_usize()].1, found.range());
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Engine, Input};

    #[test]
    fn a_password_is_masked_wherever_it_stands_and_a_word_is_not() {
        let engine = Engine::new(&["secrets"]).unwrap();
        let masked = |text: &str, value: &str| {
            let found = engine.scan(&Input::new(text));
            found.iter().filter(|finding| &text[finding.range.clone()] == value).count()
        };
        let value = ["Prl23", "Db#@"].concat();
        assert_eq!(masked(&format!("root/{value},root password: {value}"), &value), 2);
        assert_eq!(masked(&format!("password: {value}\n\n{value}\nx{value} {value}y"), &value), 2);
        let dressed = ["Kor", "nPr34Gg!"].concat();
        assert_eq!(masked(&format!("account:{dressed} pw:{dressed}"), &dressed), 2);
        let word = "password = \"sunshine\"\n// let there be sunshine";
        assert_eq!(masked(word, "sunshine"), 1);
        assert!(engine.scan(&Input::new(&format!("{value} alone"))).is_empty());
    }
}
