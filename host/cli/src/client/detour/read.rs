//! What stands in a file of settings: each value with its path and its line.

use std::io;
use std::path::Path;

use jsonc_parser::ast::Value as Json;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use leafgate_folder::{ReadError, read_text};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::client::known::PlaceForm;

/// Largest file: settings are a few kilobytes, the state that Claude Code keeps among them some megabytes.
const LARGEST: usize = 64 << 20;

/// A value of a file.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::client) struct Setting {
    /// The names that lead to it, without places in lists.
    pub(super) path: Vec<String>,
    /// As text, for comparisons; never shown.
    pub(super) value: String,
    pub(super) line: usize,
}

impl Setting {
    /// Returns its names, joined by dots; a variable's own name.
    pub(super) fn name(&self) -> String {
        match &self.path[..] {
            [env, name] if env == "env" => name.clone(),
            path => path.join("."),
        }
    }
}

/// Returns all values of a file; none where there is no file.
pub(super) fn settings(path: &Path, form: PlaceForm) -> Result<Vec<Setting>, String> {
    let text = match read_text(path, LARGEST) {
        Err(ReadError::Io(error))
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            return Ok(Vec::new());
        }
        read => read.map_err(|error| format!("it cannot be read: {error}"))?,
    };
    let text = text.trim_start_matches('\u{feff}');
    match form {
        PlaceForm::Json => json(text),
        PlaceForm::Toml | PlaceForm::OwnToml => toml(text),
        PlaceForm::DotEnv | PlaceForm::StrongDotEnv => Ok(dot_env(text)),
    }
}

/// Returns the values of a JSON text with or without comments.
pub(super) fn json(text: &str) -> Result<Vec<Setting>, String> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let parsed = parse_to_ast(text, &CollectOptions::default(), &ParseOptions::default());
    let parsed = parsed.map_err(|_| "the file is no JSON")?;
    let mut found = CommandWalk { text, path: Vec::new(), settings: Vec::new() };
    parsed.value.iter().for_each(|value| found.json(value, 0));
    Ok(found.settings)
}

/// Returns the values of a TOML text.
pub(super) fn toml(text: &str) -> Result<Vec<Setting>, String> {
    let table = DeTable::parse(text).map_err(|_| "the file is no TOML")?;
    let mut found = CommandWalk { text, path: Vec::new(), settings: Vec::new() };
    found.table(table.get_ref());
    Ok(found.settings)
}

/// Returns each line that begins like a variable, as readers of `.env` differ in all else.
fn dot_env(text: &str) -> Vec<Setting> {
    let variable = |(at, line): (usize, &str)| {
        let (name, value) = line.split_once(['=', ':'])?;
        let name = name.trim();
        let name =
            name.strip_prefix("export").filter(|rest| rest.starts_with(char::is_whitespace)).unwrap_or(name);
        let value = value.trim().trim_matches(['"', '\'', '`']).to_owned();
        Some(Setting { path: vec![name.trim().to_owned()], value, line: at + 1 })
    };
    let lines = text.split('\n').enumerate();
    lines.flat_map(|(at, line)| line.split('\r').map(move |part| (at, part))).filter_map(variable).collect()
}

struct CommandWalk<'t> {
    text: &'t str,
    path: Vec<String>,
    settings: Vec<Setting>,
}

impl CommandWalk<'_> {
    fn push(&mut self, at: usize, value: &str) {
        let line = 1 + self.text.as_bytes()[..at].iter().filter(|&&byte| byte == b'\n').count();
        self.settings.push(Setting { path: self.path.clone(), value: value.to_owned(), line });
    }

    fn json(&mut self, value: &Json<'_>, key: usize) {
        match value {
            Json::StringLit(text) => self.push(key, &text.value),
            Json::NumberLit(number) => self.push(key, number.value),
            Json::BooleanLit(word) => self.push(key, if word.value { "true" } else { "false" }),
            Json::NullKeyword(_) => self.push(key, "null"),
            Json::Object(object) => {
                for property in &object.properties {
                    self.path.push(property.name.as_str().to_owned());
                    self.json(&property.value, property.range.start);
                    self.path.pop();
                }
            }
            Json::Array(array) => array.elements.iter().for_each(|element| self.json(element, key)),
        }
    }

    fn table(&mut self, table: &DeTable<'_>) {
        for (name, value) in table {
            self.path.push(name.get_ref().to_string());
            self.toml(value, name.span().start);
            self.path.pop();
        }
    }

    fn toml(&mut self, value: &Spanned<DeValue<'_>>, key: usize) {
        match value.get_ref() {
            DeValue::Table(table) => self.table(table),
            DeValue::Array(array) => array.iter().for_each(|element| self.toml(element, key)),
            DeValue::String(text) => self.push(key, text),
            DeValue::Boolean(word) => self.push(key, if *word { "true" } else { "false" }),
            DeValue::Integer(_) | DeValue::Float(_) | DeValue::Datetime(_) => self.push(key, "a number"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(settings: Vec<Setting>) -> Vec<(String, usize)> {
        settings.iter().map(|setting| (setting.name(), setting.line)).collect()
    }

    #[test]
    fn each_value_has_its_name_and_its_line() {
        let text = "{ // a comment\n \"env\": {\"A\": \"1\",\n \"\\u0042\": 2},\n \"env\": {\"C\": true,}, \"x\": [{\"y\": null}]}";
        let wanted = [("A", 2), ("B", 3), ("C", 4), ("x.y", 4)].map(|(name, line)| (name.to_owned(), line));
        assert_eq!(shown(json(text).unwrap()), wanted, "a name twice is read twice");
        assert_eq!(json("{\"a\" \"b\"").unwrap_err(), "the file is no JSON");
        let text = "a = 1\n[b.c]\nd = [\n  { e = 'f' },\n]\n";
        let wanted = [("a", 1), ("b.c.d.e", 4)].map(|(name, line)| (name.to_owned(), line));
        assert_eq!(shown(toml(text).unwrap()), wanted);
        let text = "# A=1\nexport B = 'x'\r\nC:2\nexported=3\nnothing\n";
        let wanted =
            [("# A", 1), ("B", 2), ("C", 3), ("exported", 4)].map(|(name, line)| (name.to_owned(), line));
        assert_eq!(shown(dot_env(text)), wanted);
    }

    #[test]
    fn a_file_that_is_none_is_no_settings_and_one_that_cannot_be_read_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("settings.json");
        assert_eq!(settings(&file, PlaceForm::Json), Ok(Vec::new()));
        std::fs::create_dir(&file).unwrap();
        assert_eq!(
            settings(&file, PlaceForm::Json),
            Err("it cannot be read: it is no regular file".to_owned())
        );
        assert_eq!(settings(&folder.path().join("none/x"), PlaceForm::Json), Ok(Vec::new()));
    }
}
