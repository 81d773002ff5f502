//! Detours: settings, variables and arguments by which a client would ask past the gate.
//!
//! `exec` says that a program is behind a gate. What its settings may change is therefore listed
//! ([`names`]), for every client and whatever the started program is called: a shell, `env` or
//! `npx` may start any of them. All else is refused before the start, all of it at once, with its
//! file and line. Who knows better says so with `--allow NAME`.

mod arguments;
mod names;
mod read;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::bail;

pub(super) use self::names::{NameWords, RefusedSetting};
pub(super) use self::read::Setting;
use super::choice::leads;
use super::known::{KnownClient, PlaceForm};

/// Where a detour stands.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, derive_more::Display)]
enum DetourPlace {
    #[display("{}, line {_1}", _0.display())]
    File(PathBuf, usize),
    #[display("the environment")]
    Environment,
    #[display("its arguments")]
    Arguments,
}

/// Something that leads a client past the gate, or may.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, derive_more::Display)]
#[display("{place}: {name}{}", if hint.is_empty() { String::new() } else { format!(" ({hint})") })]
pub(super) struct Detour {
    place: DetourPlace,
    /// What `--allow` calls it.
    name: String,
    hint: String,
}

/// What is looked through before a program starts.
pub(super) struct DetourSearch<'s> {
    /// The program and its arguments.
    pub(super) command: &'s [OsString],
    /// The clients that it may be, or start: a name that is not known tells nothing.
    pub(super) clients: &'s [KnownClient],
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
        for client in self.clients {
            for (path, form) in client.files() {
                detours.extend(self.in_file(&path, form, client));
            }
        }
        detours.extend(self.in_environment());
        detours.extend(arguments::detours(self.command, self.clients));
        detours.retain(|detour| !self.allowed.contains(&detour.name));
        detours
    }

    fn in_file(&self, path: &Path, form: PlaceForm, client: &KnownClient) -> Vec<Detour> {
        among(read::settings(path, form), Some(path), |setting| match form {
            PlaceForm::DotEnv if self.set.contains(&setting.name().as_str()) => None,
            PlaceForm::DotEnv | PlaceForm::StrongDotEnv => {
                names::of_dot_env(&setting.name(), &setting.value, self.clients)
            }
            PlaceForm::Json | PlaceForm::Toml => names::of_setting(setting, client),
            PlaceForm::OwnToml => names::of_own_setting(setting, client),
        })
    }

    fn in_environment(&self) -> impl Iterator<Item = Detour> {
        std::env::vars_os().filter_map(|(name, value)| {
            let name = name.into_string().ok().filter(|name| !self.set.contains(&name.as_str()))?;
            let value = value.to_string_lossy();
            let leads_here = leads(&value, self.gate);
            let hint = names::of_variable(&name, &value, self.clients).filter(|_| !leads_here)?;
            Some(Detour { place: DetourPlace::Environment, name, hint: hint.to_owned() })
        })
    }
}

/// Returns those of some settings that are objected to; settings that cannot be read are such a one.
fn among(
    settings: Result<Vec<Setting>, String>,
    file: Option<&Path>,
    objection: impl Fn(&Setting) -> Option<&'static str>,
) -> Vec<Detour> {
    let place = |line| file.map_or(DetourPlace::Arguments, |path| DetourPlace::File(path.to_owned(), line));
    match settings {
        Err(hint) => vec![Detour { place: place(1), name: "settings".to_owned(), hint }],
        Ok(settings) => settings
            .iter()
            .filter_map(|setting| {
                let hint = objection(setting)?.to_owned();
                Some(Detour { place: place(setting.line), name: setting.name(), hint })
            })
            .collect(),
    }
}
