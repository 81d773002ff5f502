//! Where a value may return to among the arguments of tools: by where it was first seen.
//!
//! A token in a tool's argument is a value that is carried somewhere. So it stays a token, unless a
//! rule says that what came from one place may go to another. Without rules, what came from a file
//! may go back into the same file, through a tool that is known to edit files ([`crate::tools`]).

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::file::{FileName, FilePattern};
use crate::tools;

/// Where a value was first seen in a session: in the result of a tool, of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// The tool; `None` where no tool gave it.
    pub tool: Option<Arc<str>>,
    /// The file that the tool was called with; `None` where that is not certain.
    pub file: Option<FileName>,
}

/// The rules of a policy about values in arguments of tools.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    /// `None` for what holds without rules.
    rules: Option<Vec<FlowRule>>,
}

/// What came from one of these places may return to one of those.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowRule {
    /// Where values were first seen.
    pub from: Vec<Place>,
    /// Where they may return.
    pub to: Vec<Place>,
}

/// A tool and the files that it is called with: `Read(.env*)`, `Edit`, `*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    tool: String,
    files: Option<FilePattern>,
}

/// What is no place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no place: write the name of a tool, as `Read`, or with files, as `Read(.env*)`")]
pub struct InvalidPlace(String);

impl Flow {
    /// Takes the rules of a policy: they say all, so an empty list lets nothing return.
    pub fn new(rules: Vec<FlowRule>) -> Self {
        Flow { rules: Some(rules) }
    }

    /// Returns whether a value may return into the content that a tool puts into these files.
    #[must_use]
    pub fn allows(&self, seen: &Seen, tool: &str, files: &[FileName]) -> bool {
        !files.is_empty() && files.iter().all(|file| self.allows_one(seen, tool, file))
    }

    fn allows_one(&self, seen: &Seen, tool: &str, target: &FileName) -> bool {
        let Some(rules) = &self.rules else {
            let read = seen.tool.as_deref().is_some_and(tools::is_reader);
            return read && seen.file.as_ref().is_some_and(|file| file.is_same(target));
        };
        // Only what was read on Windows can be written there.
        if target.is_of_windows() && !seen.file.as_ref().is_some_and(FileName::is_of_windows) {
            return false;
        }
        let came = |place: &Place| match &seen.tool {
            Some(tool) => place.is(tool, seen.file.as_ref()),
            None => place.tool == "*" && place.files.is_none(),
        };
        let goes = |place: &Place| place.is(tool, Some(target));
        rules.iter().any(|rule| rule.from.iter().any(came) && rule.to.iter().any(goes))
    }
}

impl Place {
    /// The tool that it names; `*` is any.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    fn is(&self, tool: &str, file: Option<&FileName>) -> bool {
        let named = |files: &FilePattern| file.is_some_and(|file| files.names(file));
        (self.tool == "*" || self.tool == tool) && self.files.as_ref().is_none_or(named)
    }
}

impl FromStr for Place {
    type Err = InvalidPlace;

    fn from_str(text: &str) -> Result<Self, InvalidPlace> {
        let invalid = || InvalidPlace(text.to_owned());
        let (tool, files) = match text.split_once('(') {
            None => (text, None),
            Some((tool, rest)) => {
                let files = rest.strip_suffix(')').ok_or_else(invalid)?;
                (tool, Some(files.parse().map_err(|()| invalid())?))
            }
        };
        let is_name =
            !tool.is_empty() && tool.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c));
        if tool != "*" && !is_name {
            return Err(invalid());
        }
        Ok(Place { tool: tool.to_owned(), files })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.files {
            Some(files) => write!(f, "{}({files})", self.tool),
            None => f.write_str(&self.tool),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(tool: &str, path: &str) -> Seen {
        Seen { tool: Some(tool.into()), file: FileName::parse(path) }
    }

    fn rules(from: &[&str], to: &[&str]) -> Flow {
        let places = |all: &[&str]| all.iter().map(|place| place.parse().unwrap()).collect();
        Flow::new(vec![FlowRule { from: places(from), to: places(to) }])
    }

    fn allows(flow: &Flow, seen: &Seen, tool: &str, path: &str) -> bool {
        FileName::parse(path).is_some_and(|file| flow.allows(seen, tool, &[file]))
    }

    #[test]
    fn without_rules_a_value_returns_to_the_file_that_it_came_from() {
        let flow = Flow::default();
        let from = seen("Read", "/w/app/.env");
        for same in ["/w/app/.env", "/w/./app//.env"] {
            assert!(allows(&flow, &from, "Edit", same), "{same}");
        }
        for other in [
            "/w/app/.env.bak",
            "/w/.env",
            ".env",
            "/w/app/.env/../../.env",
            "/w/app/x/../.env",
            "",
            "https://x/w/app/.env",
        ] {
            assert!(!allows(&flow, &from, "Edit", other), "{other}");
        }
        assert!(!allows(&flow, &seen("Bash", "/w/app/.env"), "Edit", "/w/app/.env"));
        assert!(!allows(&flow, &Seen::default(), "Edit", "/w/app/.env"));
        let file = FileName::parse("/w/app/.env").unwrap();
        let other = FileName::parse("/w/app/b").unwrap();
        assert!(!flow.allows(&from, "Edit", &[]) && !flow.allows(&from, "Edit", &[file, other]));
    }

    #[test]
    fn rules_say_all() {
        let flow = rules(&["Read(.env*)"], &["Edit(.env*)", "Write(config/*.toml)"]);
        let from = seen("Read", "/w/.env.local");
        assert!(allows(&flow, &from, "Edit", "/w/.env") && allows(&flow, &from, "Write", "config/a.toml"));
        assert!(allows(&flow, &from, "Write", "/w/config/a.toml"));
        for (tool, path) in [("Write", "/w/.env"), ("Edit", "/w/env"), ("Write", "/w/config/b/a.toml")] {
            assert!(!allows(&flow, &from, tool, path), "{tool} {path}");
        }
        assert!(!allows(&flow, &seen("Read", "/w/notes"), "Edit", "/w/.env"));
        assert!(!allows(&flow, &Seen::default(), "Edit", "/w/.env"));
        assert!(!allows(&Flow::new(Vec::new()), &from, "Edit", "/w/.env.local"));
        assert!(allows(&rules(&["*"], &["Edit(/w/**)"]), &Seen::default(), "Edit", "/w/a/b"));
        for other in ["/w/../etc/b", "w/a", "/x/w/a"] {
            assert!(!allows(&rules(&["*"], &["Edit(/w/**)"]), &Seen::default(), "Edit", other), "{other}");
        }
    }

    /// On other systems a backslash is a character: `x\.env` is no `.env`.
    #[test]
    fn a_backslash_separates_only_where_a_value_came_from_windows() {
        let flow = rules(&["Read(.env*)", "Read(conf/*)"], &["Edit(.env*)"]);
        for (from, to, returns) in [
            (r"C:\w\.env", r"C:\w\.env.local", true),
            ("C:/w/.env", r"d:\.env", true),
            (r"C:\conf\a", r"C:\w\.env", true),
            ("/w/.env", r"C:\w\.env", false),
            ("/w/.env", r"x\.env", false),
            ("/w/.env", r"/w/x\.env", false),
            (r"C:\w\a", r"C:\w\.env", false),
        ] {
            assert_eq!(allows(&flow, &seen("Read", from), "Edit", to), returns, "{from} {to}");
        }
        assert!(!allows(&rules(&["*"], &["Edit(.env*)"]), &Seen::default(), "Edit", r"C:\w\.env"));
    }

    /// A rule has a few stars, and the name is the model's.
    #[test]
    fn a_name_of_many_parts_costs_no_more_than_its_length() {
        let flow = rules(&["*"], &["Edit(**/*a*a*a*a*/**/*b*b*b*b*/**/x)"]);
        let long = format!("/{}{}c", "a".repeat(2_000), "/b".repeat(1_000));
        let begun = std::time::Instant::now();
        assert!(!allows(&flow, &Seen::default(), "Edit", &long));
        assert!(begun.elapsed() < std::time::Duration::from_secs(5));
    }

    #[test]
    fn what_is_no_place_is_refused() {
        for text in ["", "(x)", "Read(", "Read()", "Read( )", "a b", "Read(a)b"] {
            assert!(text.parse::<Place>().is_err(), "{text}");
        }
        assert_eq!("Read(.env*)".parse::<Place>().unwrap().to_string(), "Read(.env*)");
    }
}
