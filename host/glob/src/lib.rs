//! Globs: patterns of names ([`Glob`]) and of paths of files ([`PathGlob`]). `*` stands for any run of
//! characters, `?` for one; in paths they stay within a part, and `**` is any parts. Nothing else is
//! special.
//!
//! Models and clients write the texts that rules match, so no matcher goes back further than its last
//! star: what an earlier one could take, that one can take too. The work is at most the product of
//! both lengths, and the pattern is a rule's.

mod path;

use std::fmt;

pub use path::PathGlob;

/// A glob over a whole name: a model, a tool, an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob(Box<str>);

impl Glob {
    /// Takes a pattern. Every text is one.
    pub fn new(source: &str) -> Self {
        Glob(source.into())
    }

    /// Returns the one name that it matches; `None` where it has a wildcard.
    pub fn name(&self) -> Option<&str> {
        (!self.0.contains(['*', '?'])).then_some(&self.0)
    }

    /// Returns true if and only if it matches the whole of a name.
    pub fn matches(&self, name: &str) -> bool {
        self.matches_as(name, |wanted, found| wanted == found)
    }

    /// Returns true if and only if it matches the whole of a name in some case: `bash` matches `Bash`.
    pub fn matches_any_case(&self, name: &str) -> bool {
        self.matches_as(name, |wanted, found| {
            wanted.eq_ignore_ascii_case(&found)
                || !(wanted.is_ascii() && found.is_ascii()) && wanted.to_lowercase().eq(found.to_lowercase())
        })
    }

    fn matches_as(&self, name: &str, same: impl Fn(char, char) -> bool) -> bool {
        takes(
            self.0.chars(),
            name.chars(),
            |sign| sign == '*',
            |sign, found| sign == '?' || same(sign, found),
            |_| true,
        )
    }

    /// Returns true where it matches every name that another glob does: its own signs take those of the
    /// other one, whose star stands for any text, which a star alone can take. It may be so and not be
    /// seen: `?*` does not see that it covers `*a`.
    pub fn covers(&self, other: &Glob) -> bool {
        let by_one = |sign, found| sign == found || sign == '?' && found != '*';
        takes(self.0.chars(), other.0.chars(), |sign| sign == '*', by_one, |_| true)
    }
}

/// Whether a pattern takes the whole of a sequence: each of its elements `one` item, a star any that
/// `passes`.
fn takes<P: Copy, I: Copy>(
    pattern: impl Iterator<Item = P> + Clone,
    items: impl Iterator<Item = I> + Clone,
    is_star: impl Fn(P) -> bool,
    one: impl Fn(P, I) -> bool,
    passes: impl Fn(I) -> bool,
) -> bool {
    let (mut pattern, mut rest) = (pattern, items);
    let mut star = None;
    loop {
        match (pattern.next(), rest.clone().next()) {
            (Some(wanted), _) if is_star(wanted) => star = Some((pattern.clone(), rest.clone())),
            (None, None) => return true,
            (Some(wanted), Some(found)) if one(wanted, found) => _ = rest.next(),
            _ => {
                let Some((after, from)) = &mut star else { return false };
                if !from.next().is_some_and(&passes) {
                    return false;
                }
                (pattern, rest) = (after.clone(), from.clone());
            }
        }
    }
}

/// Whether some globs let through every name that others do; none at all let through everything.
pub fn cover(these: &[Glob], others: &[Glob]) -> bool {
    let covered = |other: &Glob| these.iter().any(|glob| glob.covers(other));
    these.is_empty() || !others.is_empty() && others.iter().all(covered)
}

impl fmt::Display for Glob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use regex::Regex;

    use super::*;

    #[test]
    fn stars_and_question_marks_are_all_that_is_special() {
        let fits = |glob: &str, name: &str| Glob::new(glob).matches(name);
        assert!(fits("gpt-4*", "gpt-4o-mini"));
        assert!(!fits("gpt-4*", "my-gpt-4"));
        assert!(fits("mcp__?__run", "mcp__a__run"));
        assert!(!fits("a.c", "abc"));
        assert!(fits("[0]", "[0]"));
    }

    #[test]
    fn in_any_case_letters_are_one() {
        let fits = |glob: &str, name: &str| Glob::new(glob).matches_any_case(name);
        assert!(fits("bash", "BASH") && fits("*Delete*", "filedelete") && fits("gpt-?", "GPT-5"));
        assert!(fits("É*", "éa") && !fits("bash", "bash ") && !fits("a_b", "a-b"));
        assert!(!Glob::new("bash").matches("Bash"));
    }

    #[test]
    fn a_glob_without_wildcards_is_a_name() {
        assert_eq!(Glob::new("run_sql").name(), Some("run_sql"));
        assert_eq!(Glob::new("run_*").name(), None);
        assert_eq!(Glob::new("run_?").name(), None);
    }

    #[test]
    fn a_wider_glob_covers_a_narrower_one() {
        let globs = |words: &[&str]| words.iter().map(|word| Glob::new(word)).collect::<Vec<_>>();
        for (wide, narrow) in [
            (&["gpt-*"][..], &["gpt-4"][..]),
            (&["gpt-*"], &["gpt-4*", "gpt-?"]),
            (&["*"], &["*"]),
            (&["*"], &[""]),
            (&["*-mini*"], &["gpt-*-mini"]),
            (&["claude-*", "gpt-4?"], &["gpt-4o"]),
            (&[], &["gpt-4"]),
        ] {
            assert!(cover(&globs(wide), &globs(narrow)), "{wide:?} covers {narrow:?}");
        }
        for (narrow, wide) in [
            (&["gpt-4"][..], &["gpt-*"][..]),
            (&["gpt-?"], &["gpt-*"]),
            (&["gpt-*"], &[]),
            (&["gpt-*"], &["gpt-4", "o3"]),
            (&["a*b"], &["a*"]),
        ] {
            assert!(!cover(&globs(narrow), &globs(wide)), "{narrow:?} does not cover {wide:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        /// Stars and question marks may stand in names, too.
        #[test]
        fn what_a_covered_glob_matches_its_cover_does(
            wide in "[ab?*]{0,5}",
            narrow in "[ab?*]{0,4}",
            runs in proptest::collection::vec("[abc?*]{0,2}", 4),
            ones in "[abc?*]{4}",
        ) {
            let (wide, narrow) = (Glob::new(&wide), Glob::new(&narrow));
            // A name that the narrow one matches: each of its signs is filled in.
            let name: String = narrow.to_string().chars().enumerate().map(|(at, sign)| match sign {
                '*' => runs[at].clone(),
                '?' => ones[at..=at].to_owned(),
                sign => sign.to_string(),
            }).collect();
            prop_assert!(narrow.matches(&name), "{narrow} matches {name:?}");
            prop_assert!(!wide.covers(&narrow) || wide.matches(&name), "{wide} covers {narrow}, and not {name:?}");
            prop_assert!(wide.covers(&wide));
        }

        #[test]
        fn a_glob_matches_what_its_regular_expression_does(glob in "[ab?*é]{0,8}", name in "[abé\n]{0,8}") {
            let body = regex::escape(&glob).replace(r"\*", ".*").replace(r"\?", ".");
            let expected = Regex::new(&format!("^(?s:{body})$")).unwrap();
            prop_assert_eq!(Glob::new(&glob).matches(&name), expected.is_match(&name));
        }
    }
}
