//! The clients that are known: what `clients.toml` says of them, a table for each.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use serde::Deserialize;

use super::detour::{NameWords, RefusedSetting};
use crate::home::variable;
use crate::providers::{self, Provider};

/// The clients whose own words count in the code.
pub(super) const CLAUDE: &str = "claude";
pub(super) const CODEX: &str = "codex";

static TABLE: LazyLock<ClientTable> =
    LazyLock::new(|| toml::from_str(include_str!("clients.toml")).expect("tests read it"));

#[derive(Deserialize)]
#[serde(deny_unknown_fields, bound(deserialize = "'de: 'static"))]
struct ClientTable {
    client: Vec<KnownClient>,
    names: NameWords,
}

/// A client program that is known.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct KnownClient {
    /// The name of its file.
    pub(crate) name: &'static str,
    /// What people call it.
    pub(crate) title: &'static str,
    /// What has it answer the question that follows, and end.
    pub(crate) once: Vec<&'static str>,
    /// What it asks, but for Codex, whose login tells. The first is what most of its requests are for.
    providers: Vec<&'static str>,
    /// Whether it asks models and little else.
    pub(super) asks_models: bool,
    /// Where it keeps what is the user's.
    pub(crate) home: PlaceBase,
    /// Where it keeps conversations there.
    pub(crate) history: Vec<&'static str>,
    /// The files that it reads settings from: how each is read, and its names in a folder. A file counts by
    /// its first row.
    settings: Vec<(PlaceForm, PlaceBase, Vec<&'static str>)>,
    /// What its own variables begin with.
    pub(super) families: &'static str,
    /// Settings that have a word for an address in them or below them, and lead no request to a model.
    pub(super) leads_nowhere: &'static str,
    /// Further settings that are refused.
    pub(super) refuses: Vec<RefusedSetting>,
    /// Settings of the user's own that the gate takes the place of.
    #[serde(default)]
    pub(super) replaced: &'static str,
}

/// How a file is read, and what may stand in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum PlaceForm {
    /// Settings as JSON, with comments or without.
    Json,
    /// Settings as TOML.
    Toml,
    /// The user's settings of Codex, of which `exec` makes a copy with another provider.
    OwnToml,
    /// Variables by lines, for whatever program reads them. Those of the environment win.
    DotEnv,
    /// The same where they win themselves.
    StrongDotEnv,
}

/// From where on a file is named.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum PlaceBase {
    /// A folder of the system.
    System(&'static str),
    /// The folder that a variable names, else this one in the home folder.
    Own(&'static str, &'static str),
    /// The file that a variable names.
    Named(&'static str),
    /// The present folder.
    Here,
    /// That, and those above it, from the inside.
    Above,
}

impl PlaceBase {
    pub(crate) fn folders(self) -> Vec<PathBuf> {
        match self {
            PlaceBase::System(folder) => vec![folder.into()],
            PlaceBase::Own(named, folder) => {
                let own = || Some(variable("HOME")?.join(folder));
                variable(named).or_else(own).into_iter().collect()
            }
            PlaceBase::Named(file) => variable(file).into_iter().collect(),
            PlaceBase::Here => vec![PathBuf::new()],
            PlaceBase::Above => {
                std::env::current_dir().unwrap_or_default().ancestors().map(Path::to_owned).collect()
            }
        }
    }
}

/// Returns all of them.
pub(crate) fn clients() -> &'static [KnownClient] {
    &TABLE.client
}

/// Returns the client of a name.
pub(crate) fn client(name: &str) -> Option<&'static KnownClient> {
    clients().iter().find(|client| client.name == name)
}

/// Returns which names say something of where requests go.
pub(super) fn names() -> &'static NameWords {
    &TABLE.names
}

impl KnownClient {
    /// Returns what it asks.
    pub(super) fn providers(&self) -> Vec<Provider> {
        let provider =
            |name: &&str| providers::named(name).expect("clients.toml names providers of the table");
        self.providers.iter().map(provider).collect()
    }

    /// Returns the files that it may read settings from where it runs in this folder.
    pub(super) fn files(&self) -> Vec<(PathBuf, PlaceForm)> {
        let mut files: Vec<(PathBuf, PlaceForm)> = Vec::new();
        for (form, base, names) in &self.settings {
            let folders = base.folders();
            let paths = match names[..] {
                [] => folders,
                _ => folders
                    .iter()
                    .flat_map(|folder| names.iter().flat_map(|name| named(folder, name)))
                    .collect(),
            };
            for path in paths {
                if files.iter().all(|(known, _)| *known != path) {
                    files.push((path, *form));
                }
            }
        }
        files
    }
}

/// Returns the file of this name in a folder, or those of a name like `parts/*.json`.
fn named(folder: &Path, name: &str) -> Vec<PathBuf> {
    let Some((parts, end)) = name.split_once("/*") else { return vec![folder.join(name)] };
    let there = std::fs::read_dir(folder.join(parts)).into_iter().flatten().flatten();
    there.map(|entry| entry.path()).filter(|path| path.to_string_lossy().ends_with(end)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_names_providers() {
        for client in clients() {
            assert_eq!(client.providers().len(), client.providers.len(), "{}", client.name);
        }
    }
}
