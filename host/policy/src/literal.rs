//! Literals that a text must hold before a rule can do anything with it.
//!
//! A condition such as `leaf.text.contains("prod-db")` and a pattern such as `INV-[0-9]+` need not
//! be looked at where `prod-db` and `INV-` do not stand. What is required is told as a list: a text
//! that holds none of its literals is none of the rule's. It is never more than a filter: what
//! passes it is decided by the condition or the pattern itself.
//!
//! A literal is cut to its longest stretch of plain bytes, those that JSON spells as they are
//! wherever it does not spell them `\u`. So it can be looked for in a body before any leaf is
//! decoded.

use regex_syntax::hir::literal::{ExtractKind, Extractor, Seq};
use regex_syntax::hir::{Hir, HirKind};

/// Shortest literal that is worth looking for: a single byte stands in most texts.
const LEAST: usize = 2;
/// Longer literals are hardly better filters than these.
const LONG: usize = 8;
/// A pattern with more literals than this is not filtered.
const MOST: usize = 250;
/// Parts of a pattern that are looked at for literals; a longer one has them near its ends.
const MAX_PARTS: usize = 32;

/// A stretch of plain bytes that a text must hold.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Literal {
    bytes: Box<[u8]>,
    /// Whether ASCII letters of either case will do; the bytes are lower case then.
    any_case: bool,
}

/// Literals of which a text must hold at least one; none at all where no text will do.
pub(crate) type Required = Vec<Literal>;

impl Literal {
    /// Cuts a literal to what can be looked for; `None` where that is too short.
    pub(crate) fn new(text: &[u8], any_case: bool) -> Option<Self> {
        let run = text.split(|&byte| !is_plain(byte)).max_by_key(|run| run.len())?;
        let bytes = if any_case { run.to_ascii_lowercase() } else { run.to_vec() };
        (run.len() >= LEAST).then(|| Literal { bytes: bytes.into(), any_case })
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether a text begins with it.
    pub(crate) fn begins(&self, text: &[u8]) -> bool {
        text.get(..self.bytes.len()).is_some_and(|start| match self.any_case {
            true => start.eq_ignore_ascii_case(&self.bytes),
            false => *start == *self.bytes,
        })
    }
}

/// Whether JSON spells a byte of a text as itself, unless it spells it `\u`: not `"`, `\`, `/` and
/// control characters.
fn is_plain(byte: u8) -> bool {
    byte >= b' ' && !matches!(byte, b'"' | b'\\' | b'/')
}

/// Returns the better filter of two: longer literals before shorter ones, fewer before more.
pub(crate) fn better(one: Option<Required>, other: Option<Required>) -> Option<Required> {
    // Each further byte makes a literal rarer by more than a second literal makes the list
    // commoner.
    let worth = |required: &Required| {
        let shortest = required.iter().map(|literal| literal.bytes.len()).min().unwrap_or(LONG);
        let doublings = required.len().checked_ilog2().unwrap_or_default() as usize;
        (2 * shortest.min(LONG)).saturating_sub(doublings)
    };
    match (one, other) {
        (Some(one), Some(other)) => Some(if worth(&other) > worth(&one) { other } else { one }),
        (one, other) => one.or(other),
    }
}

/// Returns what a text must hold for a regular expression to match anywhere in it; `None` where
/// that is no short list. `any_case`: the text is searched in another case than it has.
pub(crate) fn of_pattern(pattern: &str, any_case: bool) -> Option<Required> {
    let hir = regex_syntax::parse(pattern).ok()?;
    let mut best = of_ends(&hir, any_case);
    of_parts(&hir, any_case, &mut best);
    best
}

/// Looks at what must stand inside a match.
fn of_parts(hir: &Hir, any_case: bool, best: &mut Option<Required>) {
    match hir.kind() {
        HirKind::Concat(parts) => {
            for (at, part) in parts.iter().enumerate().take(MAX_PARTS) {
                let rest = Hir::concat(parts[at..].to_vec());
                for inside in [part, &rest] {
                    *best = better(best.take(), of_ends(inside, any_case));
                }
                of_parts(part, any_case, best);
            }
        }
        HirKind::Capture(capture) => {
            *best = better(best.take(), of_ends(&capture.sub, any_case));
            of_parts(&capture.sub, any_case, best);
        }
        HirKind::Repetition(repetition) if repetition.min > 0 => {
            *best = better(best.take(), of_ends(&repetition.sub, any_case));
            of_parts(&repetition.sub, any_case, best);
        }
        HirKind::Empty
        | HirKind::Literal(_)
        | HirKind::Class(_)
        | HirKind::Look(_)
        | HirKind::Repetition(_)
        | HirKind::Alternation(_) => {}
    }
}

/// Looks at what a match must begin and end with.
fn of_ends(hir: &Hir, any_case: bool) -> Option<Required> {
    let of = |kind| of_sequence(&Extractor::new().kind(kind).extract(hir), any_case);
    better(of(ExtractKind::Prefix), of(ExtractKind::Suffix))
}

fn of_sequence(sequence: &Seq, any_case: bool) -> Option<Required> {
    let literals = sequence.literals().filter(|literals| literals.len() <= MOST)?;
    let read = |any_case| -> Option<Required> {
        let mut required: Required = literals
            .iter()
            .map(|literal| Literal::new(literal.as_bytes(), any_case))
            .collect::<Option<_>>()?;
        required.sort_unstable();
        required.dedup();
        Some(required)
    };
    let (exact, folded) = (read(any_case)?, read(true)?);
    // A pattern of any case spells each of its literals in every case.
    Some(if 2 * folded.len() < exact.len() { folded } else { exact })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use regex::Regex;

    use super::*;

    fn shown(required: Option<Required>) -> Option<Vec<String>> {
        let show = |literal: &Literal| String::from_utf8(literal.bytes.to_vec()).unwrap();
        required.map(|required| required.iter().map(show).collect())
    }

    #[test]
    fn a_literal_is_its_longest_stretch_of_plain_bytes() {
        for (text, plain) in [
            ("prod-db", Some("prod-db")),
            ("a\"prod\"b", Some("prod")),
            ("path/to/it", Some("path")),
            ("line\nnext one", Some("next one")),
            ("Größe", Some("Größe")),
            ("a\nb", None),
            ("", None),
        ] {
            let literal = Literal::new(text.as_bytes(), false);
            assert_eq!(literal.map(|it| it.bytes.to_vec()), plain.map(|it| it.as_bytes().to_vec()), "{text}");
        }
    }

    #[test]
    fn patterns_tell_what_they_cannot_match_without() {
        for (pattern, expected) in [
            ("INV-[0-9]+", Some(vec!["INV-"])),
            (r"[a-z]+@corp\.example", Some(vec!["@corp.example"])),
            (r"[0-9]+ of the order [0-9]+", Some(vec![" of the order "])),
            (r"\b(?:customer|client)-id\b", Some(vec!["client-id", "customer-id"])),
            ("(?i)ssn", Some(vec!["ssn", "\u{17f}n"])),
            (r"(?:x-secret: )+\w+", Some(vec!["x-secret: "])),
            (r"\d{3}-\d{4}", None),
            ("(?:prod)?", None),
            ("", None),
        ] {
            let found = shown(of_pattern(pattern, false));
            let expected =
                expected.map(|literals| literals.into_iter().map(String::from).collect::<Vec<_>>());
            match pattern {
                // Unicode has a long s; what matters is that few literals are left.
                "(?i)ssn" => assert!(found.is_some_and(|it| it.len() < 8), "{pattern}"),
                _ => assert_eq!(found, expected, "{pattern}"),
            }
        }
    }

    fn pattern() -> impl Strategy<Value = String> {
        let atom = prop_oneof![
            4 => "[abAB]{1,4}".prop_map(String::from),
            1 => Just("[a-z]".to_owned()),
            1 => Just(".".to_owned()),
            1 => Just(r"\n".to_owned()),
            1 => Just(r"\b".to_owned()),
            1 => Just("é".to_owned()),
        ];
        let pattern = atom.prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 1..4).prop_map(|parts| parts.concat()),
                prop::collection::vec(inner.clone(), 2..4)
                    .prop_map(|parts| format!("(?:{})", parts.join("|"))),
                (inner.clone(), prop::sample::select(vec!["?", "*", "+", "{2}"]))
                    .prop_map(|(inner, count)| format!("({inner}){count}")),
                inner.prop_map(|inner| format!("(?i:{inner})")),
            ]
        });
        pattern.prop_filter("a pattern", |pattern| Regex::new(pattern).is_ok())
    }

    fn holds(text: &str, required: &Required) -> bool {
        (0..text.len()).any(|at| required.iter().any(|literal| literal.begins(&text.as_bytes()[at..])))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1024))]

        #[test]
        fn a_text_without_the_literals_of_a_pattern_does_not_match(
            pattern in pattern(), text in "[abABxé\nk ]{0,12}"
        ) {
            let regex = Regex::new(&pattern).unwrap();
            if let Some(required) = of_pattern(&pattern, false) {
                prop_assert!(!regex.is_match(&text) || holds(&text, &required), "{:?}", required);
            }
            if let Some(required) = of_pattern(&pattern, true) {
                let folded = text.to_ascii_lowercase();
                prop_assert!(!regex.is_match(&folded) || holds(&text, &required), "{:?}", required);
            }
        }
    }
}
