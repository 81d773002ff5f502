//! [`Script`]: the source of a plugin that is a file of JavaScript, and what the engine says of it.
//!
//! What is wrong with it is told by line and column, and these lie inside the source, whatever the
//! source says.

use std::path::Path;

use leafgate_contract::{ConfigFinding, Fault, PluginWords, World, one_line};
use serde::Serialize;

use crate::refusal::Refusal;

/// Largest source, in bytes. It is read anew for each call.
pub const LARGEST: usize = 256 << 10;

/// One source, as far as its faults need it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// The file's name, as authors are told it.
    pub name: String,
    source: String,
}

/// What the engine is configured with.
#[derive(Serialize)]
struct ScriptEnvelope<'a> {
    name: &'a str,
    source: &'a str,
    /// JSON text, or nothing where the source is only looked at.
    config: &'a str,
}

impl Script {
    /// Takes the text of a file.
    ///
    /// # Errors
    /// What is no text, or larger than [`LARGEST`].
    pub fn new(path: &Path, bytes: &[u8]) -> Result<Self, Refusal> {
        let name = one_line(&path.file_name().unwrap_or_default().to_string_lossy());
        if bytes.len() > LARGEST {
            return Err(Refusal::ScriptTooLarge { limit: LARGEST });
        }
        let source = std::str::from_utf8(bytes).map_err(|_| Refusal::ScriptText("is not UTF-8"))?;
        if source.contains('\0') {
            return Err(Refusal::ScriptText("holds a NUL character"));
        }
        Ok(Script { name, source: source.to_owned() })
    }

    /// Returns the engine's configuration, as JSON text, for this source and its own configuration.
    pub fn envelope(&self, config: &str) -> String {
        let envelope = ScriptEnvelope { name: &self.name, source: &self.source, config };
        // Texts alone always have a form in JSON.
        serde_json::to_string(&envelope).unwrap_or_default()
    }

    /// Returns why the engine refuses a source, or what is wrong with its configuration: the engine
    /// says first which of the two, then what was thrown.
    ///
    /// # Errors
    /// The refusal of the source itself.
    pub fn refused(&self, findings: Vec<String>, config: &str) -> Result<ConfigFinding, Refusal> {
        let mut findings = findings.into_iter();
        let whose = findings.next();
        let said = findings.next().unwrap_or_default();
        match whose.as_deref() {
            Some("config") => {
                // Thrown on purpose: where that was helps nobody who configures it.
                let rest = self.place(&said).map_or(&*said, |(_, _, rest)| rest);
                let told = rest.strip_prefix("Error: ").map(str::to_owned);
                Ok(ConfigFinding::said(&told.unwrap_or_else(|| self.told(&said)), config))
            }
            _ => Err(Refusal::Script(self.told(&said))),
        }
    }

    /// What was thrown, with file, line and column.
    fn told(&self, said: &str) -> String {
        match self.place(said) {
            Some((line, column, rest)) => format!("{}:{line}:{column}: {rest}", self.name),
            None => format!("{}: {said}", self.name),
        }
    }

    /// Returns what a source exports, by the engine's word for it.
    ///
    /// # Errors
    /// A source that exports neither function, or both.
    pub fn world(&self, said: Option<&str>) -> Result<World, Refusal> {
        match said {
            Some("detector") => Ok(World::Detector),
            Some("transformer") => Ok(World::Transformer),
            Some("both") => Err(Refusal::BothWorlds),
            _ => Err(Refusal::Script(format!("{}: it exports neither `detect` nor `transform`", self.name))),
        }
    }

    /// Returns the fault of a source that threw, by what the engine says.
    pub fn threw(&self, unsupported: bool, said: String) -> Fault {
        match self.place(&said) {
            Some((line, column, rest)) => {
                let message = PluginWords::new(rest);
                Fault::Threw { file: self.name.clone(), line, column, message }
            }
            None => Fault::GaveUp { unsupported, message: PluginWords::new(said) },
        }
    }

    /// Reads `line:column: what`. A place outside the source is none: it would be something that the
    /// source made up, and operators read it unredacted.
    fn place<'s>(&self, said: &'s str) -> Option<(usize, usize, &'s str)> {
        let (line, rest) = said.split_once(':')?;
        let (column, rest) = rest.split_once(": ")?;
        let (line, column): (usize, usize) = (line.parse().ok()?, column.parse().ok()?);
        let text = self.source.split('\n').nth(line.checked_sub(1)?)?;
        let inside = (1..=text.chars().count() + 1).contains(&column);
        inside.then_some((line, column, rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script() -> Script {
        Script::new(Path::new("/policy/names.js"), "const a = 1;\nthrow a;\n".as_bytes()).unwrap()
    }

    #[test]
    fn a_place_counts_only_inside_the_source() {
        let place = |said: &str| script().place(said).map(|(line, column, _)| (line, column));
        assert_eq!(place("2:7: Error: x"), Some((2, 7)));
        assert_eq!(place("2:9: Error: x"), Some((2, 9)), "behind the last character");
        for made_up in ["2:10: x", "9:1: x", "0:1: x", "1:0: x", "4111:1111: x", "x", "a:b: c", "1:1 x"] {
            assert_eq!(place(made_up), None, "{made_up}");
        }
    }

    #[test]
    fn a_fault_names_file_line_and_column_and_not_what_was_thrown() {
        let fault = script().threw(false, "2:1: TypeError: secret".to_owned());
        assert_eq!(fault.to_string(), "threw at names.js:2:1");
        assert!(!format!("{fault:?}").contains("secret"));
    }

    #[test]
    fn the_name_of_a_file_begins_no_line_of_the_log() {
        let script = Script::new(Path::new("a\nerror: forged.js"), b"1").unwrap();
        assert_eq!(script.threw(false, "1:1: x".to_owned()).to_string(), r"threw at a\nerror: forged.js:1:1");
    }

    #[test]
    fn what_is_no_text_is_refused() {
        for bytes in [&b"\xff"[..], b"a\0b"] {
            assert!(Script::new(Path::new("x.js"), bytes).is_err());
        }
        assert!(Script::new(Path::new("x.js"), &vec![b' '; LARGEST + 1]).is_err());
    }
}
