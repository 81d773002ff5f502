//! Arguments of a client that stand for settings.

use std::ffi::OsString;
use std::path::Path;

use super::{Detour, DetourPlace, Setting, among, names, read};
use crate::client::known::{CLAUDE, CODEX, KnownClient, PlaceForm};

/// Returns the detours among a program's arguments.
pub(super) fn detours(command: &[OsString], clients: &[KnownClient]) -> Vec<Detour> {
    let words: Vec<&str> = command.iter().skip(1).filter_map(|word| word.to_str()).collect();
    let claude = clients.iter().find(|client| client.name == CLAUDE);
    // Other programs have options of the same names.
    let codex = clients.first().filter(|client| client.name == CODEX && clients.len() == 1);
    let mut detours = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let (option, value) = match word.split_once('=') {
            Some((option, value)) if option.starts_with("--") => (option, value),
            _ => (*word, words.get(at + 1).copied().unwrap_or_default()),
        };
        match (option, claude, codex) {
            ("--settings" | "--managed-settings", Some(claude), _) => {
                detours.extend(of_claude(value, claude, clients.len() == 1));
            }
            ("-c" | "--config", _, Some(codex)) => detours.extend(of_codex(value, codex)),
            ("--oss" | "--local-provider", _, Some(_)) => {
                let (name, hint) = (option.to_owned(), String::new());
                detours.push(Detour { place: DetourPlace::Arguments, name, hint });
            }
            _ => {}
        }
    }
    detours
}

/// Reads the name of a file, or settings themselves. Other programs have other settings.
fn of_claude(value: &str, claude: &KnownClient, is_itself: bool) -> Vec<Detour> {
    let (place, settings) = match value.trim_start().starts_with('{') {
        true => (None, read::json(value)),
        false => (Some(Path::new(value)), read::settings(Path::new(value), PlaceForm::Json)),
    };
    let settings = settings.or_else(|why| if is_itself { Err(why) } else { Ok(Vec::new()) });
    among(settings, place, |setting| names::of_setting(setting, claude))
}

/// Reads `NAME=VALUE`, where a value may be no TOML and is then a text.
fn of_codex(pair: &str, codex: &KnownClient) -> Vec<Detour> {
    let Some((name, value)) = pair.split_once('=') else { return Vec::new() };
    let settings = read::toml(pair).or_else(|_| {
        let path = name.split('.').map(|name| name.trim().trim_matches('"').to_owned()).collect();
        Ok(vec![Setting { path, value: value.to_owned(), line: 1 }])
    });
    among(settings, None, |setting| names::of_setting(setting, codex))
}
