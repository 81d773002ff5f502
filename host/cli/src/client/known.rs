//! The clients that are known, a row for each: what they ask, and where they keep settings and
//! conversations, whether that is there or not.

use std::path::{Path, PathBuf};

use super::detour::{Setting, names};
use crate::home::variable;
use crate::providers::{ANTHROPIC, CODE_ASSIST, COPILOT, COPILOT_OWN, GEMINI, Provider};

/// A client program that is known.
#[derive(Clone, Copy)]
pub(crate) struct KnownClient {
    /// The name of its file.
    pub(crate) name: &'static str,
    /// What people call it.
    pub(crate) title: &'static str,
    /// What has it answer the question that follows, and end.
    pub(crate) once: &'static [&'static str],
    /// What it asks, but for Codex, whose login tells. The first is what most of its requests are for.
    pub(super) providers: &'static [Provider],
    /// Whether it asks models and little else.
    pub(super) asks_models: bool,
    /// Where it keeps conversations, in one of its folders.
    pub(crate) history: (PlaceBase, &'static [&'static str]),
    /// The files that it reads settings from: how each is read, and its names in a folder. A file counts by
    /// its first row.
    pub(super) settings: &'static [(PlaceForm, PlaceBase, &'static [&'static str])],
    /// What its own variables begin with.
    pub(super) families: &'static str,
    /// Settings that have a word for an address in them or below them, and lead no request to a model.
    pub(super) leads_nowhere: &'static str,
    /// Why another setting is refused.
    pub(super) refuses: fn(&Setting) -> Option<&'static str>,
}

impl PartialEq for KnownClient {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// How a file is read, and what may stand in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
#[derive(Clone, Copy)]
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

use PlaceBase::{Above, Here, Named, Own, System};
use PlaceForm::{DotEnv, Json, OwnToml, StrongDotEnv, Toml};

impl PlaceBase {
    pub(crate) fn folders(self) -> Vec<PathBuf> {
        match self {
            System(folder) => vec![folder.into()],
            Own(named, folder) => {
                let own = || Some(variable("HOME")?.join(folder));
                variable(named).or_else(own).into_iter().collect()
            }
            Named(file) => variable(file).into_iter().collect(),
            Here => vec![PathBuf::new()],
            Above => std::env::current_dir().unwrap_or_default().ancestors().map(Path::to_owned).collect(),
        }
    }
}

/// Where each of them keeps what is the user's.
const OF_CLAUDE: PlaceBase = Own("CLAUDE_CONFIG_DIR", ".claude");
pub(super) const OF_CODEX: PlaceBase = Own("CODEX_HOME", ".codex");
const OF_COPILOT: PlaceBase = Own("COPILOT_HOME", ".copilot");
const OF_GEMINI: PlaceBase = Own("GEMINI_CLI_HOME", "");

const MANAGED_CLAUDE: &[&str] = &["managed-settings.json", "managed-settings.d/*.json"];
const SYSTEM_GEMINI: &[&str] = &["settings.json", "system-defaults.json"];

/// <https://code.claude.com/docs/en/settings>, and what version 2.1 reads beside.
pub(super) const CLAUDE: KnownClient = KnownClient {
    name: "claude",
    title: "Claude Code",
    once: &["-p"],
    providers: &[ANTHROPIC],
    asks_models: true,
    history: (OF_CLAUDE, &["projects"]),
    settings: &[
        (Json, System("/etc/claude-code"), MANAGED_CLAUDE),
        (Json, System("/Library/Application Support/ClaudeCode"), MANAGED_CLAUDE),
        (Json, OF_CLAUDE, &["settings.json", "cowork_settings.json", "remote-settings.json"]),
        (Json, Own("CLAUDE_CONFIG_DIR", ""), &[".claude.json"]),
        (Json, Here, &[".claude/settings.json", ".claude/settings.local.json"]),
    ],
    families: "ANTHROPIC CLAUDE",
    leads_nowhere: "
        allowedHttpHookUrls allowedMcpServers blockedMarketplaces deniedMcpServers enabledPlugins
        extraKnownMarketplaces footerLinksRegexes mcpServers modelOverrides permissions pluginConfigs
        prUrlTemplate sandbox skillOverrides sshConfigs strictKnownMarketplaces",
    refuses: names::of_claude,
};

/// The layers of `codex-rs/config`: those of the user, of the system, and of each folder of a project. The user's own folder is no
/// project's.
pub(super) const CODEX: KnownClient = KnownClient {
    name: "codex",
    title: "Codex",
    once: &["exec", "--skip-git-repo-check", "--sandbox", "read-only"],
    providers: &[],
    asks_models: true,
    history: (OF_CODEX, &["sessions"]),
    settings: &[
        (OwnToml, OF_CODEX, &["config.toml"]),
        (Toml, OF_CODEX, &["managed_config.toml"]),
        (StrongDotEnv, OF_CODEX, &[".env"]),
        (Toml, System("/etc/codex"), &["config.toml", "managed_config.toml"]),
        (Toml, Above, &[".codex/config.toml"]),
    ],
    families: "OPENAI CODEX CHATGPT",
    leads_nowhere: "
        apps features ghost_snapshot hooks marketplaces mcp_oauth_callback_url mcp_servers permissions
        plugins projects shell_environment_policy skills tui",
    refuses: names::of_codex,
};

pub(super) const COPILOT_CLI: KnownClient = KnownClient {
    name: "copilot",
    title: "Copilot CLI",
    once: &["-p"],
    providers: &[COPILOT_OWN, COPILOT],
    asks_models: false,
    history: (OF_COPILOT, &["session-state", "history-session-state", "logs"]),
    settings: &[
        (Json, OF_COPILOT, &["settings.json"]),
        (Json, Here, &[".github/copilot/settings.json", ".github/copilot/settings.local.json"]),
    ],
    families: "COPILOT",
    leads_nowhere: "
        allowedUrls allowed_urls deniedUrls denied_urls enabledPlugins extraKnownMarketplaces mcpServers
        sandbox trustedUrls",
    refuses: |_| None,
};

/// `docs/reference/configuration.md` of Gemini CLI. A `.env` of any folder above may be the one that is read.
pub(super) const GEMINI_CLI: KnownClient = KnownClient {
    name: "gemini",
    title: "Gemini CLI",
    once: &["-p"],
    providers: &[GEMINI, CODE_ASSIST],
    asks_models: false,
    history: (OF_GEMINI, &[".gemini/tmp"]),
    settings: &[
        (Json, Named("GEMINI_CLI_SYSTEM_SETTINGS_PATH"), &[]),
        (Json, Named("GEMINI_CLI_SYSTEM_DEFAULTS_PATH"), &[]),
        (Json, System("/etc/gemini-cli"), SYSTEM_GEMINI),
        (Json, System("/Library/Application Support/GeminiCli"), SYSTEM_GEMINI),
        (Json, OF_GEMINI, &[".gemini/settings.json"]),
        (Json, Here, &[".gemini/settings.json"]),
        (DotEnv, Above, &[".gemini/.env", ".env"]),
        (DotEnv, OF_GEMINI, &[".gemini/.env", ".env"]),
    ],
    families: "GEMINI GOOGLE CODE_ASSIST VERTEX",
    leads_nowhere: "admin extensions mcp mcpServers ui",
    refuses: names::of_gemini,
};

pub(crate) const CLIENTS: &[KnownClient] = &[CLAUDE, CODEX, COPILOT_CLI, GEMINI_CLI];

impl KnownClient {
    /// Returns the files that it may read settings from where it runs in this folder.
    pub(super) fn files(self) -> Vec<(PathBuf, PlaceForm)> {
        let mut files: Vec<(PathBuf, PlaceForm)> = Vec::new();
        for &(form, base, names) in self.settings {
            let folders = base.folders();
            let paths = match names {
                [] => folders,
                names => folders
                    .iter()
                    .flat_map(|folder| names.iter().flat_map(|name| named(folder, name)))
                    .collect(),
            };
            for path in paths {
                if files.iter().all(|(known, _)| *known != path) {
                    files.push((path, form));
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
