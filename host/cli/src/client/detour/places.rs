//! Which files a client reads its settings from, whether they are there or not.

use std::path::{Path, PathBuf};

use super::CommandReader;
use crate::home::variable;

/// How a file is read, and what may stand in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PlaceForm {
    /// Settings as JSON, with comments or without.
    Json,
    /// Settings as TOML.
    Toml,
    /// The user's settings of Codex, of which `exec` makes a copy with another provider.
    OwnToml,
    /// Variables by lines, for whatever program reads them.
    DotEnv,
}

/// Returns the files of a client that runs in this folder.
pub(super) fn of(reader: CommandReader) -> Vec<(PathBuf, PlaceForm)> {
    let files: Vec<(PathBuf, PlaceForm)> = match reader {
        CommandReader::Claude => with(PlaceForm::Json, claude()),
        CommandReader::Codex => codex(),
        CommandReader::Copilot => {
            let own = variable("COPILOT_HOME").or_else(|| in_home(".copilot"));
            let project =
                [".github/copilot/settings.json", ".github/copilot/settings.local.json"].map(PathBuf::from);
            with(PlaceForm::Json, own.map(|folder| folder.join("settings.json")).into_iter().chain(project))
        }
        CommandReader::Gemini => gemini(),
    };
    files
}

fn with(form: PlaceForm, paths: impl IntoIterator<Item = PathBuf>) -> Vec<(PathBuf, PlaceForm)> {
    paths.into_iter().map(|path| (path, form)).collect()
}

fn in_home(name: &str) -> Option<PathBuf> {
    Some(variable("HOME")?.join(name))
}

/// Returns a folder and those above it, from the inside.
fn upwards() -> Vec<PathBuf> {
    let here = std::env::current_dir().unwrap_or_default();
    here.ancestors().map(Path::to_owned).collect()
}

/// <https://code.claude.com/docs/en/settings>, and what version 2.1 reads beside.
fn claude() -> impl Iterator<Item = PathBuf> {
    const MANAGED: [&str; 2] = ["/etc/claude-code", "/Library/Application Support/ClaudeCode"];
    let managed = MANAGED.iter().map(Path::new).flat_map(|folder| {
        let dropped = std::fs::read_dir(folder.join("managed-settings.d")).into_iter().flatten().flatten();
        std::iter::once(folder.join("managed-settings.json")).chain(dropped.map(|entry| entry.path()))
    });
    let named = variable("CLAUDE_CONFIG_DIR");
    let state = named.clone().or_else(|| variable("HOME")).map(|folder| folder.join(".claude.json"));
    let own = named.or_else(|| in_home(".claude"));
    let own = own.into_iter().flat_map(|folder| {
        ["settings.json", "cowork_settings.json", "remote-settings.json"].map(|name| folder.join(name))
    });
    let project = [".claude/settings.json", ".claude/settings.local.json"].map(PathBuf::from);
    managed
        .filter(|path| path.extension().is_some_and(|end| end == "json"))
        .chain(own)
        .chain(state)
        .chain(project)
}

/// The layers of `codex-rs/config`: those of the system, of the user, and of each folder of a project.
fn codex() -> Vec<(PathBuf, PlaceForm)> {
    let own = variable("CODEX_HOME").or_else(|| in_home(".codex"));
    let system = ["/etc/codex/config.toml", "/etc/codex/managed_config.toml"].map(PathBuf::from);
    let projects = upwards().into_iter().map(|folder| folder.join(".codex"));
    // The user's own folder is no project's.
    let projects =
        projects.filter(|folder| Some(folder) != own.as_ref()).map(|folder| folder.join("config.toml"));
    let mut files = with(PlaceForm::Toml, system.into_iter().chain(projects));
    if let Some(own) = own {
        files.push((own.join("config.toml"), PlaceForm::OwnToml));
        files.push((own.join("managed_config.toml"), PlaceForm::Toml));
        files.push((own.join(".env"), PlaceForm::DotEnv));
    }
    files
}

/// `docs/reference/configuration.md` of Gemini CLI. A `.env` of any folder above may be the one that is read.
fn gemini() -> Vec<(PathBuf, PlaceForm)> {
    const SYSTEM: [(&str, &str); 2] = [
        ("GEMINI_CLI_SYSTEM_SETTINGS_PATH", "settings.json"),
        ("GEMINI_CLI_SYSTEM_DEFAULTS_PATH", "system-defaults.json"),
    ];
    const FOLDERS: [&str; 2] = ["/etc/gemini-cli", "/Library/Application Support/GeminiCli"];
    let system = SYSTEM.iter().flat_map(|(named, file)| {
        variable(named).into_iter().chain(FOLDERS.iter().map(move |folder| Path::new(folder).join(file)))
    });
    let home = variable("GEMINI_CLI_HOME").or_else(|| variable("HOME"));
    let settings =
        home.clone().into_iter().chain([PathBuf::new()]).map(|folder| folder.join(".gemini/settings.json"));
    let mut files = with(PlaceForm::Json, system.chain(settings));
    for folder in upwards().into_iter().chain(home) {
        files.extend(with(PlaceForm::DotEnv, [folder.join(".gemini/.env"), folder.join(".env")]));
    }
    files
}
