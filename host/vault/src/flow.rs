//! Where a value may return to among the arguments of tools: by where it was first seen.
//!
//! A token in a tool's argument is a value that is carried somewhere. So it stays a token, unless a
//! rule says that what came from one place may go to another. Without rules, what came from a file
//! may go back into the same file, through a tool that is known to edit files ([`crate::editor`]).

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::editor;

/// Where a value was first seen in a session: in the result of a tool, of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// The tool; `None` where no tool gave it.
    pub tool: Option<Arc<str>>,
    /// The file that the tool was called with.
    pub path: Option<Arc<str>>,
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
    path: Option<String>,
}

/// What is no place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no place: write the name of a tool, as `Read`, or with files, as `Read(.env*)`")]
pub struct InvalidPlace(String);

impl Flow {
    /// Takes the rules of a policy: they say all, so an empty list lets nothing return.
    #[must_use]
    pub fn new(rules: Vec<FlowRule>) -> Self {
        Flow { rules: Some(rules) }
    }

    /// Returns whether a value may return into the content that a tool puts into a file.
    #[must_use]
    pub fn allows(&self, seen: &Seen, tool: &str, path: &str) -> bool {
        let Some(target) = normal(path) else { return false };
        let from = seen.path.as_deref().and_then(normal);
        match &self.rules {
            None => {
                let read = seen.tool.as_deref().is_some_and(editor::is_reader);
                read && from.is_some_and(|from| from == target)
            }
            Some(rules) => rules.iter().any(|rule| {
                let came = |place: &Place| match &seen.tool {
                    Some(tool) => place.is(tool, from.as_deref()),
                    None => place.tool == "*" && place.path.is_none(),
                };
                rule.from.iter().any(came) && rule.to.iter().any(|place| place.is(tool, Some(&target)))
            }),
        }
    }
}

impl Place {
    /// The tool that it names; `*` is any.
    #[must_use]
    pub fn tool(&self) -> &str {
        &self.tool
    }

    fn is(&self, tool: &str, path: Option<&str>) -> bool {
        (self.tool == "*" || self.tool == tool)
            && self.path.as_deref().is_none_or(|pattern| path.is_some_and(|path| names(pattern, path)))
    }
}

impl FromStr for Place {
    type Err = InvalidPlace;

    fn from_str(text: &str) -> Result<Self, InvalidPlace> {
        let invalid = || InvalidPlace(text.to_owned());
        let (tool, path) = match text.split_once('(') {
            None => (text, None),
            Some((tool, rest)) => (tool, Some(rest.strip_suffix(')').ok_or_else(invalid)?)),
        };
        let named = tool == "*"
            || !tool.is_empty() && tool.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c));
        let files =
            path.is_none_or(|path| !path.trim().is_empty() && path == path.trim() && !path.contains('('));
        if !named || !files {
            return Err(invalid());
        }
        Ok(Place { tool: tool.to_owned(), path: path.map(ToOwned::to_owned) })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.path {
            Some(path) => write!(f, "{}({path})", self.tool),
            None => f.write_str(&self.tool),
        }
    }
}

/// A path with one spelling; `None` where it is none that a file editor takes for a file.
fn normal(path: &str) -> Option<String> {
    let path = path.trim().replace('\\', "/");
    if path.is_empty() || path.contains("://") || path.contains(|c: char| c.is_control()) {
        return None;
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            // A path that leads above where it began may lead anywhere.
            ".." => _ = parts.pop()?,
            part => parts.push(part),
        }
    }
    let root = if path.starts_with('/') { "/" } else { "" };
    (!parts.is_empty()).then(|| format!("{root}{}", parts.join("/")))
}

/// Whether a pattern names a path: without a slash its last part, else its end, part by part; with
/// a slash before it, all of it. `*` and `?` stand for characters of one part, `**` for any parts.
fn names(pattern: &str, path: &str) -> bool {
    let parts = |text: &str| text.split('/').filter(|part| !part.is_empty()).map(ToOwned::to_owned).collect();
    let (wanted, given): (Vec<String>, Vec<String>) = (parts(pattern), parts(path));
    if pattern.starts_with('/') {
        return path.starts_with('/') && are(&wanted, &given);
    }
    (0..given.len()).any(|from| are(&wanted, &given[from..]))
}

fn are(wanted: &[String], given: &[String]) -> bool {
    match wanted.split_first() {
        None => given.is_empty(),
        Some((first, rest)) if first == "**" => (0..=given.len()).any(|from| are(rest, &given[from..])),
        Some((first, rest)) => given
            .split_first()
            .is_some_and(|(part, behind)| is_part(first.as_bytes(), part.as_bytes()) && are(rest, behind)),
    }
}

fn is_part(pattern: &[u8], part: &[u8]) -> bool {
    match pattern.split_first() {
        None => part.is_empty(),
        Some((b'*', rest)) => (0..=part.len()).any(|from| is_part(rest, &part[from..])),
        Some((b'?', rest)) => !part.is_empty() && is_part(rest, &part[1..]),
        Some((byte, rest)) => part.first() == Some(byte) && is_part(rest, &part[1..]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(tool: &str, path: &str) -> Seen {
        Seen { tool: Some(tool.into()), path: Some(path.into()) }
    }

    fn rules(from: &[&str], to: &[&str]) -> Flow {
        let places = |all: &[&str]| all.iter().map(|place| place.parse().unwrap()).collect();
        Flow::new(vec![FlowRule { from: places(from), to: places(to) }])
    }

    #[test]
    fn without_rules_a_value_returns_to_the_file_that_it_came_from() {
        let flow = Flow::default();
        let from = seen("Read", "/w/app/.env");
        assert!(
            flow.allows(&from, "Edit", "/w/app/.env") && flow.allows(&from, "Write", "/w/./app/x/../.env")
        );
        for other in
            ["/w/app/.env.bak", "/w/.env", ".env", "/w/app/.env/../../.env", "", "https://x/w/app/.env"]
        {
            assert!(!flow.allows(&from, "Edit", other), "{other}");
        }
        assert!(!flow.allows(&seen("Bash", "/w/app/.env"), "Edit", "/w/app/.env"));
        assert!(!flow.allows(&Seen::default(), "Edit", "/w/app/.env"));
    }

    #[test]
    fn rules_say_all() {
        let flow = rules(&["Read(.env*)"], &["Edit(.env*)", "Write(config/*.toml)"]);
        let from = seen("Read", "/w/.env.local");
        assert!(flow.allows(&from, "Edit", "/w/.env") && flow.allows(&from, "Write", "config/a.toml"));
        assert!(flow.allows(&from, "Write", "/w/config/a.toml"));
        for (tool, path) in [("Write", "/w/.env"), ("Edit", "/w/env"), ("Write", "/w/config/b/a.toml")] {
            assert!(!flow.allows(&from, tool, path), "{tool} {path}");
        }
        assert!(!flow.allows(&seen("Read", "/w/notes"), "Edit", "/w/.env"));
        assert!(!flow.allows(&Seen::default(), "Edit", "/w/.env"));
        assert!(!Flow::new(Vec::new()).allows(&from, "Edit", "/w/.env.local"));
        assert!(rules(&["*"], &["Edit(/w/**)"]).allows(&Seen::default(), "Edit", "/w/a/b"));
        assert!(!rules(&["*"], &["Edit(/w/**)"]).allows(&Seen::default(), "Edit", "/w/../etc/b"));
    }

    #[test]
    fn what_is_no_place_is_refused() {
        for text in ["", "(x)", "Read(", "Read()", "Read( )", "a b", "Read(a)b"] {
            assert!(text.parse::<Place>().is_err(), "{text}");
        }
        assert_eq!("Read(.env*)".parse::<Place>().unwrap().to_string(), "Read(.env*)");
    }
}
