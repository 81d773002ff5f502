//! What the table calls a test.

use std::fmt;

use anyhow::{Result, bail};

/// The name of a test.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Named {
    /// `desk modes::each` within a crate, `gate passage bounds::each` in a target of its own. The crate is called as its folder is.
    Rust { folder: String, target: Option<String>, path: String },
    /// `clients python test_held.py::test_each`. What a script puts together (`${api.name}`) stands for any text.
    Client { language: String, file: String, name: String },
}

impl Named {
    /// Reads a name as the table spells it.
    pub(crate) fn read(text: &str) -> Result<Self> {
        if let Some(client) = text.strip_prefix("clients ")
            && let Some((language, place)) = client.split_once(' ')
            && let Some((file, name)) = place.split_once("::")
        {
            return Ok(Self::Client { language: language.into(), file: file.into(), name: name.into() });
        }
        let words: Vec<&str> = text.split(' ').collect();
        let (folder, target, path) = match words[..] {
            [folder, path] => (folder, None, path),
            [folder, target, path] => (folder, Some(target.to_owned()), path),
            _ => bail!(
                "`{text}` is no test: write `crate path::to::test`, `crate target path::to::test` or `clients language file::test`"
            ),
        };
        Ok(Self::Rust { folder: folder.into(), target, path: path.into() })
    }

    /// Returns the language of a client test, as its folder is called.
    pub(crate) fn language(&self) -> Option<&str> {
        match self {
            Self::Rust { .. } => None,
            Self::Client { language, .. } => Some(language),
        }
    }
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rust { folder, target: None, path } => write!(f, "{folder} {path}"),
            Self::Rust { folder, target: Some(target), path } => write!(f, "{folder} {target} {path}"),
            Self::Client { language, file, name } => write!(f, "clients {language} {file}::{name}"),
        }
    }
}

/// Returns whether a name is one that a script makes of a template.
pub(crate) fn is_made_of(name: &str, template: &str) -> bool {
    let Some((first, rest)) = template.split_once("${") else { return name == template };
    let Some(mut left) = name.strip_prefix(first) else { return false };
    let mut fixed: Vec<&str> =
        rest.split("${").map(|part| part.split_once('}').map_or("", |(_, text)| text)).collect();
    let last = fixed.pop().unwrap_or_default();
    for text in fixed {
        let Some((_, behind)) = left.split_once(text) else { return false };
        left = behind;
    }
    left.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_shown_as_they_are_read() {
        for text in [
            "desk modes::tests::each",
            "gate passage bounds::each",
            "clients python test_held.py::test_each",
            "clients node held.test.mjs::each of them: ${api.name}",
        ] {
            assert_eq!(Named::read(text).unwrap().to_string(), text);
        }
        for text in ["each", "gate passage bounds::each twice", ""] {
            Named::read(text).unwrap_err();
        }
    }

    #[test]
    fn a_template_stands_for_every_name_that_is_made_of_it() {
        assert!(is_made_of("a cancel: chat of openai", "a cancel: ${api.name}"));
        assert!(is_made_of("the upstream's 429 is told", "the upstream's ${status} is ${what}"));
        assert!(is_made_of("echo", "echo"));
        for (name, template) in [("echoes", "echo"), ("an echo: a", "a cancel: ${b}"), ("a 1 c", "a ${x} b")]
        {
            assert!(!is_made_of(name, template), "{name}");
        }
    }
}
