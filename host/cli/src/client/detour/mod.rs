//! Detours: settings, variables and arguments by which a client would ask past the gate.
//!
//! `exec` says that a program is behind a gate. What its settings may change is therefore listed
//! ([`names`]), for every client and whatever the started program is called: a shell, `env` or
//! `npx` may start any of them. All else is refused before the start, all of it at once, with its
//! file and line. Who knows better says so with `--allow NAME`.

mod arguments;
mod names;
mod places;
mod read;

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::bail;

use self::places::PlaceForm;
use self::read::Setting;

/// A client whose settings are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CommandReader {
    Claude,
    Codex,
    Copilot,
    Gemini,
}

const READERS: [CommandReader; 4] =
    [CommandReader::Claude, CommandReader::Codex, CommandReader::Copilot, CommandReader::Gemini];

impl CommandReader {
    /// Returns the clients that a program may be, or start. Another name tells nothing.
    fn of(program: &OsStr) -> &'static [CommandReader] {
        match Path::new(program).file_name().and_then(OsStr::to_str) {
            Some("claude") => &[CommandReader::Claude],
            Some("codex") => &[CommandReader::Codex],
            Some("copilot") => &[CommandReader::Copilot],
            Some("gemini") => &[CommandReader::Gemini],
            _ => &READERS,
        }
    }
}

/// Where a detour stands.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum DetourPlace {
    File(PathBuf, usize),
    Environment,
    Arguments,
}

/// Something that leads a client past the gate, or may.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Detour {
    place: DetourPlace,
    /// What `--allow` calls it.
    name: String,
    hint: &'static str,
}

impl fmt::Display for Detour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            DetourPlace::File(path, line) => write!(f, "{}, line {line}: ", path.display())?,
            DetourPlace::Environment => f.write_str("the environment: ")?,
            DetourPlace::Arguments => f.write_str("its arguments: ")?,
        }
        f.write_str(&self.name)?;
        if self.hint.is_empty() { Ok(()) } else { write!(f, " ({})", self.hint) }
    }
}

/// What is looked through before a program starts.
pub(super) struct DetourSearch<'s> {
    /// The program and its arguments.
    pub(super) command: &'s [OsString],
    /// Variables that the program is started with, whatever the environment or a `.env` says.
    pub(super) set: Vec<&'s str>,
    /// Names of detours that a person allows.
    pub(super) allowed: &'s [String],
    /// The URL of the gate: what names it leads to it.
    pub(super) gate: &'s str,
}

impl DetourSearch<'_> {
    /// Refuses to start what would ask past the gate.
    pub(super) fn refuse(&self) -> anyhow::Result<()> {
        let detours = self.detours();
        if detours.is_empty() {
            return Ok(());
        }
        let lines: String = detours.iter().map(|detour| format!("\n  {detour}")).collect();
        bail!(
            "{} is not started, for this leads past the gate, or is not known not to:{lines}\n\
             remove it there, or name it with `--allow NAME` if it leads nowhere else",
            self.command[0].to_string_lossy()
        )
    }

    /// Returns all detours, by their places.
    pub(super) fn detours(&self) -> BTreeSet<Detour> {
        let mut detours = BTreeSet::new();
        for &reader in self.readers() {
            for (path, form) in places::of(reader) {
                detours.extend(self.in_file(&path, form, reader));
            }
        }
        detours.extend(self.in_environment());
        detours.extend(arguments::detours(self.command, self.readers()));
        detours.retain(|detour| !self.allowed.contains(&detour.name));
        detours
    }

    fn readers(&self) -> &'static [CommandReader] {
        self.command.first().map_or(&READERS, |program| CommandReader::of(program))
    }

    fn in_file(&self, path: &Path, form: PlaceForm, reader: CommandReader) -> Vec<Detour> {
        let settings = match read::settings(path, form) {
            Ok(settings) => settings,
            Err(hint) => vec![Setting::unread(hint)],
        };
        let objection = |setting: &Setting| match form {
            // Codex's wins against the environment, others' do not.
            PlaceForm::DotEnv
                if reader != CommandReader::Codex && self.set.contains(&setting.name().as_str()) =>
            {
                None
            }
            PlaceForm::DotEnv => names::of_dot_env(&setting.name(), &setting.value, self.readers()),
            PlaceForm::Json | PlaceForm::Toml => names::of_setting(setting, reader),
            PlaceForm::OwnToml => names::of_own_setting(setting),
        };
        let detour = |setting: &Setting| {
            let hint = setting.unread.or_else(|| objection(setting))?;
            Some(Detour {
                place: DetourPlace::File(path.to_owned(), setting.line),
                name: setting.name(),
                hint,
            })
        };
        settings.iter().filter_map(detour).collect()
    }

    fn in_environment(&self) -> impl Iterator<Item = Detour> {
        std::env::vars_os().filter_map(|(name, value)| {
            let name = name.into_string().ok().filter(|name| !self.set.contains(&name.as_str()))?;
            let value = value.to_string_lossy();
            let leads_here =
                value.strip_prefix(self.gate).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
            let hint = names::of_variable(&name, &value, self.readers()).filter(|_| !leads_here)?;
            Some(Detour { place: DetourPlace::Environment, name, hint })
        })
    }
}
