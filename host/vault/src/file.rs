//! Which file a name means.
//!
//! A model spells names, and clients, tools and systems read them, each in their own way: some trim
//! blanks, expand `~`, decode `%20`, take `file:` off or follow a link before `..`. What one of them
//! reads as another file than the next names no file here. So two names are the same file only where
//! it is the same for everybody, and names that any file system can tell apart are not.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use leafgate_glob::PathGlob;

/// Longer than any path that a system takes.
const MAX_NAME: usize = 4096;

/// The name of a file, where that has one reading.
#[derive(Clone, PartialEq, Eq)]
pub struct FileName {
    name: Arc<str>,
    begins: Begins,
}

/// Where the way to a file begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Begins {
    /// At the root, or at a drive.
    Root,
    /// Where the client works. All of its tools begin there.
    Client,
    /// In a folder that nobody knows.
    Somewhere,
}

impl FileName {
    /// Reads a name; `None` where it has several readings, or is none.
    pub fn parse(name: &str) -> Option<Self> {
        let (drive, rest) = name.split_at(if has_drive(name) { 2 } else { 0 });
        let edges = [' ', '\''];
        let is_odd = name.len() > MAX_NAME
            || rest.contains(has_other_readings)
            // On a system that has no drives it is a character of the name, unless a tool turns it.
            || drive.is_empty() && rest.contains('\\')
            || rest.starts_with('@')
            || rest.starts_with(edges)
            || rest.ends_with(edges)
            || rest.starts_with("//")
            || rest.split(SEPARATORS).any(|part| part == ".." || part.starts_with('~'))
            || matches!(rest.rsplit(SEPARATORS).next(), Some("" | "."));
        if is_odd {
            return None;
        }
        let parts: Vec<&str> = rest.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
        let root = if rest.starts_with('/') { "/" } else { "" };
        let begins = if drive.is_empty() && root.is_empty() { Begins::Client } else { Begins::Root };
        Some(FileName { name: format!("{drive}{root}{}", parts.join("/")).into(), begins })
    }

    /// Returns the file of this name in a folder, or in one that nobody knows. A name that begins at
    /// the root stays what it is.
    pub fn within(&self, folder: Option<&FileName>) -> Option<Self> {
        match folder {
            _ if self.begins == Begins::Root => Some(self.clone()),
            None => Some(FileName { begins: Begins::Somewhere, ..self.clone() }),
            Some(folder) if folder.is_of_windows() => None,
            Some(folder) => Some(FileName {
                name: format!("{}/{}", folder.name, self.name).into(),
                begins: folder.begins,
            }),
        }
    }

    /// Returns true if and only if another name is the same file to everybody.
    pub fn is_same(&self, other: &FileName) -> bool {
        self == other && self.begins != Begins::Somewhere
    }

    /// Whether it is a file only on Windows: elsewhere nothing of it but its spelling is known.
    pub(crate) fn is_of_windows(&self) -> bool {
        has_drive(&self.name)
    }
}

/// What separates the parts of a name that has a drive.
const SEPARATORS: [char; 2] = ['/', '\\'];

/// `C:\` and `C:/`.
fn has_drive(name: &str) -> bool {
    matches!(name.as_bytes(), [letter, b':', b'/' | b'\\', ..] if letter.is_ascii_alphabetic())
}

/// Characters that somebody expands, decodes, normalises, leaves out or takes for an end.
fn has_other_readings(c: char) -> bool {
    c.is_control()
        || c.is_whitespace() && c != ' '
        || matches!(c, '*' | '?' | '$' | '%' | ':' | '"' | '`' | '<' | '>' | '|' | '\u{fffd}')
        // What is not seen.
        || matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..)
        // What Unicode spells in another way, too: a letter and its accent, and old doubles.
        || matches!(c, '\u{300}'..='\u{36f}' | '\u{1100}'..='\u{11ff}' | '\u{1ab0}'..='\u{1aff}'
            | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}' | '\u{2126}' | '\u{212a}' | '\u{212b}'
            | '\u{3099}' | '\u{309a}' | '\u{f900}'..='\u{faff}' | '\u{fe20}'..='\u{fe2f}')
}

impl fmt::Debug for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileName").field("bytes", &self.name.len()).field("begins", &self.begins).finish()
    }
}

/// The files that a rule names: `.env*`, `config/**/*.toml`, `/etc/app/**`.
///
/// Without a slash a pattern names a file by its last part, with one by the end of its path, and with
/// one before it by all of it.
#[derive(Clone, Debug, PartialEq, Eq, derive_more::Display)]
#[display("{source}")]
pub(crate) struct FilePattern {
    source: Box<str>,
    glob: PathGlob,
}

impl FromStr for FilePattern {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        if text.trim().is_empty() || text != text.trim() || text.contains('(') {
            return Err(());
        }
        let parts: Vec<&str> = text.split('/').filter(|part| !part.is_empty()).collect();
        let anywhere = if text.starts_with('/') { "" } else { "**/" };
        Ok(FilePattern {
            source: text.into(),
            glob: PathGlob::new(&format!("{anywhere}{}", parts.join("/"))),
        })
    }
}

impl FilePattern {
    /// Returns true if and only if a file is one of these.
    pub(crate) fn names(&self, file: &FileName) -> bool {
        let is_whole = self.source.starts_with('/');
        let parts = file.name.split(SEPARATORS).filter(|part| !part.is_empty());
        (!is_whole || file.name.starts_with('/')) && self.glob.matches_parts(parts)
    }
}
