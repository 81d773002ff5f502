//! A plugin that is a file of JavaScript: the engine runs it, and the source is its configuration.
//!
//! The engine is a component like any other, built in this repository (`plugins/javascript`) and
//! part of this program. So a script has the sandbox, the limits and the faults of every plugin; only
//! what is wrong with it is told by line and column.

use std::path::Path;

use leafgate_policy::plugin::{ConfigFinding, Description, Fault, PluginWords, World};
use serde::Serialize;

use crate::admission::Exports;
use crate::bindings::{lifecycle, types};
use crate::contract::Version;
use crate::refusal::Refusal;

/// The engine, started and without a source.
pub(crate) const ENGINE: &[u8] = include_bytes!("../../../plugins/javascript/engine.wasm");

/// Largest source, in bytes. It is read anew for each call.
pub(crate) const LARGEST: usize = 256 << 10;

/// The attribute by which the engine says what a source exports.
const WORLD: &str = "world";

/// Returns true for the files that are run by the engine.
pub(crate) fn is_script(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "js")
}

/// The engine's exports of one world. It has both.
pub(crate) fn exports(world: World) -> Exports {
    let version = Version { major: 0, minor: 1 };
    let work = match world {
        World::Detector => "detect",
        World::Transformer => "transform",
    };
    Exports { world, lifecycle: version.interface("lifecycle"), work: version.interface(work) }
}

/// One source, as far as its faults need it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Script {
    /// The file's name, as authors are told it.
    pub(crate) name: String,
    source: String,
}

/// What the engine is configured with.
#[derive(Serialize)]
struct Envelope<'a> {
    name: &'a str,
    source: &'a str,
    /// JSON text, or nothing where the source is only looked at.
    config: &'a str,
}

impl Script {
    /// Takes the text of a file.
    pub(crate) fn new(path: &Path, bytes: &[u8]) -> Result<Self, Refusal> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if bytes.len() > LARGEST {
            return Err(Refusal::ScriptTooLarge { limit: LARGEST });
        }
        let source = std::str::from_utf8(bytes).map_err(|_| Refusal::ScriptText("is not UTF-8"))?;
        if source.contains('\0') {
            return Err(Refusal::ScriptText("holds a NUL character"));
        }
        Ok(Script { name, source: source.to_owned() })
    }

    /// Returns the engine's configuration for this source and its own configuration.
    pub(crate) fn envelope(&self, config: &str) -> String {
        let envelope = Envelope { name: &self.name, source: &self.source, config };
        // Texts alone always have a form in JSON.
        serde_json::to_string(&envelope).unwrap_or_default()
    }

    /// Returns why the engine refuses a source or its configuration.
    pub(crate) fn refused(&self, findings: Vec<String>, config: &str) -> Refusal {
        let mut findings = findings.into_iter();
        let whose = findings.next();
        let said = findings.next().unwrap_or_default();
        match whose.as_deref() {
            Some("config") => {
                // Thrown on purpose: where that was helps nobody who configures it.
                let rest = self.place(&said).map_or(&*said, |(_, _, rest)| rest);
                let told = rest.strip_prefix("Error: ").map(str::to_owned);
                let told = told.unwrap_or_else(|| self.told(&said));
                Refusal::Configuration(vec![ConfigFinding::said(told, config)])
            }
            _ => Refusal::Script(self.told(&said)),
        }
    }

    /// What was thrown, with file, line and column.
    fn told(&self, said: &str) -> String {
        match self.place(said) {
            Some((line, column, rest)) => format!("{}:{line}:{column}: {rest}", self.name),
            None => format!("{}: {said}", self.name),
        }
    }

    /// Returns what a source exports, by what the engine says of it.
    pub(crate) fn world(&self, said: &lifecycle::Description) -> Result<World, Refusal> {
        let world = said.attributes.iter().find(|attribute| attribute.name == WORLD);
        match world.map(|attribute| &*attribute.value) {
            Some("detector") => Ok(World::Detector),
            Some("transformer") => Ok(World::Transformer),
            Some("both") => Err(Refusal::BothWorlds),
            _ => Err(Refusal::Script(format!("{}: it exports neither `detect` nor `transform`", self.name))),
        }
    }

    /// Returns the fault of a source that threw.
    pub(crate) fn threw(&self, failure: types::Failure) -> Fault {
        let (unsupported, said) = match failure {
            types::Failure::Unsupported(said) => (true, said),
            types::Failure::Internal(said) => (false, said),
        };
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

/// A description without its version says that of the source: scripts are named by their digest.
pub(crate) fn completed(description: Description) -> Description {
    let or = |text: String, other: &str| if text.is_empty() { other.to_owned() } else { text };
    Description {
        version: or(description.version, "script"),
        summary: or(description.summary, "A script without a `summary`."),
        ..description
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
        let fault = script().threw(types::Failure::Internal("2:1: TypeError: secret".to_owned()));
        assert_eq!(fault.to_string(), "threw at names.js:2:1");
        assert!(!format!("{fault:?}").contains("secret"));
    }

    #[test]
    fn what_is_no_text_is_refused() {
        for bytes in [&b"\xff"[..], b"a\0b"] {
            assert!(Script::new(Path::new("x.js"), bytes).is_err());
        }
        assert!(Script::new(Path::new("x.js"), &vec![b' '; LARGEST + 1]).is_err());
    }
}
