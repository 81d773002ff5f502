//! What one file, or what the environment, sets.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use leafgate_diagnostic::{Diagnostics, Severity, hint_for};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::keys::{KEYS, SettingKey, TABLE, UPSTREAM_KEYS, UPSTREAMS, variable};
use crate::resolve::SettingSource;
use crate::value::{Kind, Value};

/// How the names of all variables of this program begin.
const PREFIX: &str = "LEAFGATE_";

/// The flag that sets any key, and so names it.
const SET: &str = "--set";

/// Values of one source, by key. Those of upstreams have `upstreams.<name>.<key>`.
#[derive(Clone, Debug, Default)]
pub struct Layer {
    pub(crate) values: BTreeMap<String, (Value, SettingSource)>,
}

impl Layer {
    /// Reads a file. What is wrong with it is recorded, and the rest read all the same.
    pub fn of_file(path: &Path, text: String, diagnostics: &mut Diagnostics) -> Layer {
        let shown = path.display().to_string();
        let file = diagnostics.add_file(shown.clone(), text.clone());
        let folder = path.parent().unwrap_or(Path::new(""));
        let mut reader = ConfigReader { file, shown, folder, diagnostics, layer: Layer::default() };
        let (table, errors) = DeTable::parse_recoverable(&text);
        for error in &errors {
            // A value that does not parse may be a password: the parser quotes none.
            reader.error(error.span().unwrap_or_default(), error.message().to_owned(), None);
        }
        reader.file(table.get_ref());
        reader.layer
    }

    /// Reads variables of the environment.
    ///
    /// # Errors
    /// The first thing that is wrong: what a variable must be, or which one was meant.
    pub fn of_environment<'v>(variables: impl Iterator<Item = (&'v str, &'v str)>) -> Result<Layer, String> {
        let mut layer = Layer::default();
        let known: Vec<(String, &SettingKey)> = KEYS.iter().map(|key| (variable(&key.name), key)).collect();
        for (name, text) in variables.filter(|(_, text)| !text.is_empty()) {
            let Some((_, key)) = known.iter().find(|(variable, _)| variable == name) else {
                refuse_slip(name, &known)?;
                continue;
            };
            let value =
                key.kind().parse(text).map_err(|error| format!("the variable {name} is wrong: {error}"))?;
            layer.values.insert(key.name.clone(), (value, SettingSource::Variable(name.to_owned())));
        }
        Ok(layer)
    }

    /// Adds what a flag sets.
    ///
    /// # Errors
    /// What the flag must be.
    pub fn set_flag(&mut self, flag: &str, key: &str, text: &str) -> Result<(), String> {
        let names: Vec<&str> = KEYS.iter().map(|key| &*key.name).collect();
        let Some(known) = KEYS.iter().find(|known| known.name == key) else {
            return Err(format!("{flag}: there is no setting `{key}`; {}", hint_for(key, &names)));
        };
        let value = known.kind().parse(text).map_err(|error| match flag {
            SET => format!("{SET} {key} is wrong: {error}"),
            flag => format!("{flag} is wrong: {error}"),
        })?;
        self.values.insert(key.to_owned(), (value, SettingSource::Flag(flag.to_owned())));
        Ok(())
    }
}

/// A variable that can only be meant as a setting is not passed over: a gate with another policy than
/// was meant would serve.
fn refuse_slip(name: &str, known: &[(String, &SettingKey)]) -> Result<(), String> {
    let mut others = TABLE.variables_of_program.iter().chain(&TABLE.variables_of_tests);
    if !name.starts_with(PREFIX) || name.starts_with("LEAFGATE_TEST") || others.any(|other| other == name) {
        return Ok(());
    }
    if name.starts_with("LEAFGATE_UPSTREAMS_") {
        return Err(format!(
            "the variable {name} is no setting: upstreams have names in a configuration file alone, as \
             `[upstreams.name]`"
        ));
    }
    let settings = known.iter().map(|(name, _)| name);
    let names: Vec<&str> = settings.chain(&TABLE.variables_of_program).map(String::as_str).collect();
    Err(format!("the variable {name} is no setting; {}", hint_for(name, &names)))
}

/// Returns what may stand where an unknown key does: keys of its table, or at the top keys and tables.
fn known_beside<'k>(name: &str, keys: &'k [SettingKey]) -> Vec<&'k str> {
    let names = keys.iter().map(|key| (&*key.name, key.name.split_once('.').map(|(group, _)| group)));
    let mut known: Vec<&str> = match name.split_once('.') {
        Some((table, _)) => names.filter(|(_, group)| *group == Some(table)).map(|(name, _)| name).collect(),
        None => names.map(|(name, group)| group.unwrap_or(name)).chain([UPSTREAMS]).collect(),
    };
    known.dedup();
    known
}

struct ConfigReader<'r> {
    file: usize,
    shown: String,
    folder: &'r Path,
    diagnostics: &'r mut Diagnostics,
    layer: Layer,
}

impl ConfigReader<'_> {
    fn file(&mut self, table: &DeTable<'_>) {
        for (key, value) in table {
            match (key.get_ref().as_ref(), value.get_ref()) {
                (UPSTREAMS, DeValue::Table(upstreams)) => self.upstreams(upstreams),
                (UPSTREAMS, _) => {
                    let hint = "write `[upstreams.name]` above each upstream".to_owned();
                    self.error(value.span(), "`upstreams` must hold tables", hint);
                }
                (name, _) => self.take(&KEYS, "", name, key.span(), value),
            }
        }
    }

    fn upstreams(&mut self, upstreams: &DeTable<'_>) {
        for (upstream, table) in upstreams {
            let name = upstream.get_ref();
            let DeValue::Table(inner) = table.get_ref() else {
                let hint = format!("write `[upstreams.{name}]` and its keys below");
                self.error(table.span(), format!("the upstream `{name}` must be a table"), hint);
                continue;
            };
            if !inner.keys().any(|key| key.get_ref() == "url") {
                let message = format!("the upstream `{name}` has no `url`");
                self.error(upstream.span(), message, "url = \"https://host\"".to_owned());
            }
            let prefix = format!("{UPSTREAMS}.{name}.");
            for (key, value) in inner {
                self.take(&UPSTREAM_KEYS, &prefix, key.get_ref(), key.span(), value);
            }
        }
    }

    /// Takes a value over under its key, or those of a table of keys.
    fn take(
        &mut self,
        keys: &[SettingKey],
        prefix: &str,
        name: &str,
        at: Range<usize>,
        value: &Spanned<DeValue<'_>>,
    ) {
        if keys.iter().any(|key| key.name.split_once('.').is_some_and(|(group, _)| group == name)) {
            let DeValue::Table(inner) = value.get_ref() else {
                let hint = format!("write `[{name}]` and its keys below");
                return self.error(value.span(), format!("`{name}` must be a table"), hint);
            };
            for (key, value) in inner {
                self.take(keys, prefix, &format!("{name}.{}", key.get_ref()), key.span(), value);
            }
            return;
        }
        let Some(key) = keys.iter().find(|key| key.name == name) else {
            return self.error(
                at,
                format!("unknown key `{name}`"),
                hint_for(name, &known_beside(name, keys)),
            );
        };
        match key.kind().read(value.get_ref()) {
            Ok(value) => {
                let line = self.diagnostics.line(self.file, &at);
                let source = SettingSource::File { file: self.shown.clone(), line };
                let value = self.in_folder(key.kind(), value);
                self.layer.values.insert(format!("{prefix}{name}"), (value, source));
            }
            Err(error) => self.error(value.span(), format!("`{name}`: {error}"), format!("{}.", key.about)),
        }
    }

    /// Paths of a file are relative to it, wherever the gate is started.
    fn in_folder(&self, kind: &Kind, value: Value) -> Value {
        let beside = |path: String| self.folder.join(path).display().to_string();
        match (kind, value) {
            (Kind::Policy, Value::Text(word)) if matches!(&*word, "default" | "none" | "own") => {
                Value::Text(word)
            }
            (Kind::Path | Kind::Policy, Value::Text(path)) => Value::Text(beside(path)),
            (Kind::Paths, Value::Texts(paths)) => Value::Texts(paths.into_iter().map(beside).collect()),
            (_, value) => value,
        }
    }

    fn error(&mut self, span: Range<usize>, message: impl Into<String>, hint: impl Into<Option<String>>) {
        self.diagnostics.at_place(Severity::Error, self.file, span, message, hint);
    }
}
