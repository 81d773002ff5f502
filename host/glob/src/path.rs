//! Globs over paths of files, whose parts are separated by slashes.

use crate::{Glob, takes};

/// A glob over a whole path: `config/**/*.toml`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathGlob {
    parts: Box<[Glob]>,
    hides: bool,
}

impl PathGlob {
    /// Takes a pattern. Every text is one.
    pub fn new(pattern: &str) -> Self {
        PathGlob { parts: pattern.split('/').map(Glob::new).collect(), hides: false }
    }

    /// Lets no wildcard match a name that begins with a dot, as in a shell.
    #[must_use]
    pub fn hiding_dots(self) -> Self {
        PathGlob { hides: true, ..self }
    }

    /// Returns true if and only if it matches the whole of a path.
    pub fn matches(&self, path: &str) -> bool {
        self.matches_parts(path.split('/'))
    }

    /// Returns true if and only if it matches the whole of a path that is cut into its parts.
    pub fn matches_parts<'p>(&self, parts: impl Iterator<Item = &'p str> + Clone) -> bool {
        let shows = |name: &str| !self.hides || !name.starts_with('.');
        takes(
            self.parts.iter(),
            parts,
            |glob| &*glob.0 == "**",
            |glob, name| (shows(name) || glob.0.starts_with('.')) && glob.matches(name),
            shows,
        )
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_star_stays_within_a_part() {
        for (pattern, path) in [
            ("notes/*.md", "notes/a.md"),
            ("**/*.md", "a/b/c.md"),
            ("**", "a/b"),
            ("a?c", "abc"),
            ("**/*.md", "c.md"),
            ("*a*b*", "xaxxbx"),
            (".env", ".env"),
            (".*/a", ".b/a"),
            ("**/a/*/**/b", "x/a/a/c/b"),
        ] {
            assert!(PathGlob::new(pattern).matches(path), "{pattern} {path}");
            assert!(PathGlob::new(pattern).hiding_dots().matches(path), "{pattern} {path}");
        }
        for (pattern, path) in [
            ("notes/*.md", "notes/a/b.md"),
            ("*", "a/b"),
            ("a", "ab"),
            ("*.md", "md"),
            ("a*b", "a"),
            ("**/a/**/b", "a/c"),
        ] {
            assert!(!PathGlob::new(pattern).matches(path), "{pattern} {path}");
        }
    }

    #[test]
    fn dots_are_hidden_where_somebody_asks() {
        for (pattern, path) in
            [("*", ".env"), ("?env", ".env"), ("**", ".git/x"), ("**/*", "a/.git/x"), ("a/**", "a/b/.env")]
        {
            assert!(PathGlob::new(pattern).matches(path), "{pattern} {path}");
            assert!(!PathGlob::new(pattern).hiding_dots().matches(path), "{pattern} {path}");
        }
    }

    /// The longest path that a system takes has 4 KiB; an argument may have a thousand times as many.
    #[test]
    fn the_work_is_linear_in_the_path() {
        let begun = Instant::now();
        let stars = PathGlob::new(&format!("{}c", "*a".repeat(40)));
        assert!(!stars.matches(&"a".repeat(400_000)));
        let parts = PathGlob::new(&format!("{}c", "**/a/".repeat(40)));
        assert!(!parts.matches(&"a/".repeat(200_000)));
        assert!(begun.elapsed() < Duration::from_secs(20), "backtracking takes longer than the universe");
    }

    /// What a pattern means, written down and slow.
    fn means(pattern: &[&str], path: &[&str], hides: bool) -> bool {
        let shows = |name: &str| !hides || !name.starts_with('.');
        match (pattern.split_first(), path.split_first()) {
            (None, None) => true,
            (Some((&"**", rest)), None) => means(rest, &[], hides),
            (Some((&"**", rest)), Some((name, left))) => {
                means(rest, path, hides) || shows(name) && means(pattern, left, hides)
            }
            (Some((part, rest)), Some((name, left))) => {
                let fits = (shows(name) || part.starts_with('.')) && Glob::new(part).matches(name);
                fits && means(rest, left, hides)
            }
            _ => false,
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]

        #[test]
        fn it_matches_what_it_means(
            pattern in proptest::collection::vec("\\*\\*|[.]?[ab*?]{1,2}", 1..6),
            path in proptest::collection::vec("[.]?[ab]{1,2}", 1..7),
            hides in any::<bool>(),
        ) {
            let wanted: Vec<&str> = pattern.iter().map(String::as_str).collect();
            let given: Vec<&str> = path.iter().map(String::as_str).collect();
            let glob = PathGlob { hides, ..PathGlob::new(&pattern.join("/")) };
            prop_assert_eq!(glob.matches(&path.join("/")), means(&wanted, &given, hides));
        }
    }
}
