//! A pattern that a policy folder brings, and whether a text is more work for it than one request may
//! be.
//!
//! A search is linear in the text, but for each character it may follow as many places as the pattern
//! has. Most texts keep to few of them, and then an automaton that is built while it reads takes one
//! step a character. Where it gives up, each character would cost all places: such a search is not
//! begun on a long text, since nobody could end it.

use std::sync::OnceLock;
use std::time::Instant;

use leafgate_diagnostic::Complaints;
use regex::{Regex, RegexBuilder};
use regex_automata::hybrid::dfa::DFA;
use regex_automata::nfa::thompson::NFA;
use regex_automata::{Input, MatchErrorKind};
use toml::Spanned;

/// Steps that any search may take: about a second at the slowest.
const STEPS: usize = 1 << 28;

/// And where the automaton cannot tell: few of a pattern's places are followed at once as a rule.
const MOST_STEPS: usize = STEPS * 4;

/// A shorter text is searched whatever the pattern.
const SHORT: usize = 1 << 10;

/// Before it gives up, the automaton has filled its memory so often, and read so few bytes for each
/// state that it built.
const CLEARED: usize = 3;
const BYTES_A_STATE: usize = 10;

/// A compiled pattern.
#[derive(derive_more::Debug, derive_more::Deref)]
#[debug("{regex:?}")]
pub(crate) struct Pattern {
    #[deref]
    regex: Regex,
    /// Built for the first long text: most patterns meet none.
    lazy: OnceLock<Option<DFA>>,
}

impl Pattern {
    /// Compiles a pattern that may take so many bytes.
    pub(crate) fn new(source: &str, size: usize) -> Result<Self, regex::Error> {
        let regex = RegexBuilder::new(source).size_limit(size).build()?;
        Ok(Pattern { regex, lazy: OnceLock::new() })
    }

    /// Returns true if and only if a text can be searched for all matches by a time.
    pub(crate) fn affords(&self, text: &str, until: Instant) -> bool {
        if text.len() <= SHORT {
            return true;
        }
        let lazy = self.lazy.get_or_init(|| lazy(self.regex.as_str()));
        lazy.as_ref().is_some_and(|lazy| {
            let steps = text.len().saturating_mul(lazy.get_nfa().states().len());
            steps <= STEPS || reads(lazy, text, until).unwrap_or(steps <= MOST_STEPS)
        })
    }
}

fn lazy(source: &str) -> Option<DFA> {
    let nfa = NFA::compiler().build(source).ok()?;
    let config = DFA::config()
        .unicode_word_boundary(true)
        .skip_cache_capacity_check(true)
        .minimum_cache_clear_count(Some(CLEARED))
        .minimum_bytes_per_state(Some(BYTES_A_STATE));
    DFA::builder().configure(config).build_from_nfa(nfa).ok()
}

/// Whether the automaton reads a text to its end without giving up; `None` where it meets a letter
/// beyond ASCII, beside which it cannot tell where a word begins.
fn reads(lazy: &DFA, text: &str, until: Instant) -> Option<bool> {
    let (mut cache, mut input) = (lazy.create_cache(), Input::new(text));
    while Instant::now() < until {
        match lazy.try_search_fwd(&mut cache, &input) {
            Ok(None) => return Some(true),
            Ok(Some(end)) if end.offset() >= text.len() => return Some(true),
            Ok(Some(end)) => input.set_start(end.offset().max(input.start() + 1)),
            Err(error) if matches!(error.kind(), MatchErrorKind::Quit { .. }) => return None,
            Err(_) => return Some(false),
        }
    }
    Some(false)
}

/// Returns what is wrong with a regular expression, on one line.
pub(crate) fn bad_regex(error: &regex::Error) -> String {
    // The last line says why; those above draw the pattern again.
    let why = error.to_string();
    format!(
        "bad regular expression: {}",
        why.lines().last().unwrap_or_default().trim_start_matches("error: ")
    )
}

/// Takes what a file's pattern compiles to, or says why it is no pattern.
pub(crate) fn compiled<T>(
    source: &Spanned<String>,
    built: Result<T, regex::Error>,
    hint: &str,
    complaints: &mut Complaints<'_>,
) -> Option<T> {
    built.map_err(|error| complaints.error(source.span(), bad_regex(&error), hint)).ok()
}

/// What to do about a pattern that is none.
pub(crate) const SYNTAX: &str =
    "the syntax is that of Rust's `regex`; a literal string '…' needs no doubled backslashes";

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn affords(pattern: &str, text: &str) -> bool {
        Pattern::new(pattern, 10 << 20).unwrap().affords(text, Instant::now() + Duration::from_secs(60))
    }

    /// Letters that follow no rule that an automaton could know.
    fn letters(count: usize) -> String {
        let mut state = 7_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            if state >> 62 == 0 { 'b' } else { 'a' }
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn a_slow_pattern_affords_short_texts_and_those_that_are_no_work() {
        const SLOW: &str = "b[ab]{2000}c";
        assert!(affords(SLOW, &letters(4 << 10)));
        assert!(affords(SLOW, &"a ".repeat(1 << 20)));
        assert!(!affords(SLOW, &letters(1 << 20)));
    }

    #[test]
    fn ordinary_patterns_afford_any_text() {
        for pattern in [r"\bkey_[a-z0-9]{32}\b", "(?i)[a-z.-]{0,50}?token.{0,20}=[a-z0-9]{40}", "é+|ä"] {
            for text in [letters(2 << 20), "key_1234 token = é\n".repeat(100_000)] {
                assert!(affords(pattern, &text), "{pattern}");
            }
        }
    }
}
