//! Globs for names: models, tools, agents. `*` stands for any run of characters, `?` for one;
//! nothing else is special.

use std::fmt;

/// A glob over a whole name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Glob(Box<str>);

impl Glob {
    pub(crate) fn new(source: &str) -> Self {
        Glob(source.into())
    }

    /// Returns the one name that it matches; `None` where it has a wildcard.
    pub(crate) fn name(&self) -> Option<&str> {
        (!self.0.contains(['*', '?'])).then_some(&self.0)
    }

    /// Returns true if and only if it matches the whole of a name.
    ///
    /// A mismatch goes back to the last star alone: what an earlier one could take, that one can
    /// take too. So the work is at most the product of both lengths.
    pub(crate) fn matches(&self, name: &str) -> bool {
        let (mut glob, mut rest) = (self.0.chars(), name.chars());
        let mut star = None;
        loop {
            match (glob.next(), rest.clone().next()) {
                (Some('*'), _) => star = Some((glob.clone(), rest.clone())),
                (None, None) => return true,
                (Some(wanted), Some(found)) if wanted == '?' || wanted == found => _ = rest.next(),
                _ => {
                    let Some((after, from)) = &mut star else { return false };
                    if from.next().is_none() {
                        return false;
                    }
                    (glob, rest) = (after.clone(), from.clone());
                }
            }
        }
    }
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

    use super::Glob;

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
    fn a_glob_without_wildcards_is_a_name() {
        assert_eq!(Glob::new("run_sql").name(), Some("run_sql"));
        assert_eq!(Glob::new("run_*").name(), None);
        assert_eq!(Glob::new("run_?").name(), None);
    }

    proptest! {
        #[test]
        fn a_glob_matches_what_its_regular_expression_does(glob in "[ab?*é]{0,8}", name in "[abé\n]{0,8}") {
            let body = regex::escape(&glob).replace(r"\*", ".*").replace(r"\?", ".");
            let expected = Regex::new(&format!("^(?s:{body})$")).unwrap();
            prop_assert_eq!(Glob::new(&glob).matches(&name), expected.is_match(&name));
        }
    }
}
