//! Globs for names: models, tools, agents. `*` stands for any run of characters, `?` for one;
//! nothing else is special.

use std::fmt;

use regex::Regex;

/// A compiled glob over a whole name.
#[derive(Clone, Debug)]
pub(crate) struct Glob {
    source: String,
    regex: Regex,
}

impl Glob {
    /// Compiles a glob; `None` where it is too long to be a name.
    pub(crate) fn new(source: &str) -> Option<Self> {
        let body = regex::escape(source).replace(r"\*", ".*").replace(r"\?", ".");
        Regex::new(&format!("^(?s:{body})$")).ok().map(|regex| Glob { source: source.to_owned(), regex })
    }

    pub(crate) fn matches(&self, name: &str) -> bool {
        self.regex.is_match(name)
    }
}

impl fmt::Display for Glob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source)
    }
}

#[cfg(test)]
mod tests {
    use super::Glob;

    #[test]
    fn stars_and_question_marks_are_all_that_is_special() {
        let fits = |glob: &str, name: &str| Glob::new(glob).unwrap().matches(name);
        assert!(fits("gpt-4*", "gpt-4o-mini"));
        assert!(!fits("gpt-4*", "my-gpt-4"));
        assert!(fits("mcp__?__run", "mcp__a__run"));
        assert!(!fits("a.c", "abc"));
        assert!(fits("[0]", "[0]"));
    }
}
