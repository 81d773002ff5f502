//! Arguments of a client that stand for settings.

use std::ffi::OsString;
use std::path::Path;

use super::places::PlaceForm;
use super::{CommandReader, Detour, DetourPlace, names, read};

/// Returns the detours among a program's arguments.
pub(super) fn detours(command: &[OsString], readers: &[CommandReader]) -> Vec<Detour> {
    let words: Vec<&str> = command.iter().skip(1).filter_map(|word| word.to_str()).collect();
    let mut detours = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let (option, value) = match word.split_once('=') {
            Some((option, value)) if option.starts_with("--") => (option, value),
            _ => (*word, words.get(at + 1).copied().unwrap_or_default()),
        };
        match option {
            "--settings" | "--managed-settings" if readers.contains(&CommandReader::Claude) => {
                detours.extend(claude(value, readers));
            }
            "-c" | "--config" if readers == [CommandReader::Codex] => detours.extend(codex(value)),
            "--oss" | "--local-provider" if readers == [CommandReader::Codex] => {
                detours.push(of_argument(option, ""))
            }
            _ => {}
        }
    }
    detours
}

fn of_argument(name: &str, hint: &'static str) -> Detour {
    Detour { place: DetourPlace::Arguments, name: name.to_owned(), hint }
}

/// Reads the name of a file, or settings themselves. Other programs have other settings.
fn claude(value: &str, readers: &[CommandReader]) -> Vec<Detour> {
    let (place, settings) = match value.trim_start().starts_with('{') {
        true => (None, read::json(value)),
        false => (Some(Path::new(value)), read::settings(Path::new(value), PlaceForm::Json)),
    };
    let settings = settings.unwrap_or_else(|why| vec![read::Setting::unread(why)]);
    let detour = |setting: &read::Setting| {
        let unread = setting.unread.filter(|_| readers == [CommandReader::Claude]);
        let hint = unread.or_else(|| names::of_setting(setting, CommandReader::Claude))?;
        let place =
            place.map_or(DetourPlace::Arguments, |path| DetourPlace::File(path.to_owned(), setting.line));
        Some(Detour { place, name: setting.name(), hint })
    };
    settings.iter().filter_map(detour).collect()
}

/// Reads `NAME=VALUE`, where a value may be no TOML and is then a text.
fn codex(pair: &str) -> Vec<Detour> {
    let Some((name, value)) = pair.split_once('=') else { return Vec::new() };
    let settings = read::toml(pair).unwrap_or_else(|_| {
        let path = name.split('.').map(|name| name.trim().trim_matches('"').to_owned()).collect();
        vec![read::Setting { path, value: value.to_owned(), line: 1, unread: None }]
    });
    let hint = |setting: &read::Setting| names::of_setting(setting, CommandReader::Codex);
    settings.iter().filter_map(|setting| Some(of_argument(&setting.name(), hint(setting)?))).collect()
}
