//! The plugin that a command is about, and its configuration.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use leafgate_contract::{LoadError, PluginSource, config_json};
use serde::de::DeserializeOwned;
use toml::Table;

use super::args::PluginConfigArgs;
use super::{build, python};

/// A plugin to be loaded.
pub(super) struct AuthorSource {
    pub(super) file: PathBuf,
    /// Where its cases stand, if anywhere.
    pub(super) cases: Option<PathBuf>,
}

impl AuthorSource {
    /// Takes a file as it is, and of a folder its script, or what is built there.
    pub(super) fn find(path: &Path) -> anyhow::Result<Self> {
        if path.is_dir() {
            let file = match script_of(path)? {
                Some(script) => script,
                None => build::build(path, None)?,
            };
            let cases = Some(path.join("cases.toml")).filter(|cases| cases.is_file());
            return Ok(AuthorSource { file, cases });
        }
        // A relative path would be looked for in a policy folder.
        let file = path.canonicalize().with_context(|| format!("cannot find {}", path.display()))?;
        let beside = [file.with_extension("cases.toml"), file.with_file_name("cases.toml")];
        let cases = beside.into_iter().find(|cases| cases.is_file());
        Ok(AuthorSource { file, cases })
    }

    /// The source as a rule file would declare it.
    pub(super) fn declared(&self, config: &str) -> PluginSource {
        let name = self.file.file_stem().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        PluginSource::new(name, self.file.clone(), config)
    }
}

/// Returns the script of a project that nothing builds: the one file of JavaScript in its folder.
pub(super) fn script_of(folder: &Path) -> anyhow::Result<Option<PathBuf>> {
    if ["Cargo.toml", python::MANIFEST].iter().any(|manifest| folder.join(manifest).is_file()) {
        return Ok(None);
    }
    let shown = folder.display();
    let mut scripts = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot look into {shown}"))? {
        let path = entry.with_context(|| format!("cannot look into {shown}"))?.path();
        if path.extension().is_some_and(|extension| extension == "js") && path.is_file() {
            scripts.push(path);
        }
    }
    match scripts.as_slice() {
        [] => Ok(None),
        [script] => {
            Ok(Some(script.canonicalize().with_context(|| format!("cannot find {}", script.display()))?))
        }
        _ => bail!("{shown} holds several scripts: name the one that is meant"),
    }
}

impl PluginConfigArgs {
    /// The configuration as a table.
    pub(super) fn table(&self) -> anyhow::Result<Table> {
        let (text, name) = match (&self.config, &self.config_file) {
            (Some(text), _) => (text.clone(), "--config".to_owned()),
            (None, Some(file)) => {
                let text =
                    fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
                (text, file.display().to_string())
            }
            (None, None) => return Ok(Table::new()),
        };
        read_toml(&text).with_context(|| format!("{name} is no configuration"))
    }

    /// The configuration as a plugin is handed it.
    pub(super) fn json(&self) -> anyhow::Result<String> {
        match config_json(&self.table()?) {
            Some(json) => Ok(json),
            None => bail!("dates and infinite numbers cannot be handed to a plugin: write them as strings"),
        }
    }
}

/// Reads TOML; the error is one line.
pub(super) fn read_toml<T: DeserializeOwned>(text: &str) -> anyhow::Result<T> {
    toml::from_str(text).map_err(|error| {
        let line = error.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1);
        anyhow::anyhow!("line {line}: {}", error.message())
    })
}

/// An error with what to do about it.
pub(super) fn with_hint(error: LoadError) -> anyhow::Error {
    match hint(&error) {
        Some(hint) => anyhow::anyhow!("{error}; {hint}"),
        None => error.into(),
    }
}

/// What an author can do about a plugin that does not load.
pub(super) fn hint(error: &LoadError) -> Option<&str> {
    let configured = || (!error.config.is_empty()).then_some("`--config` and `--config-file` configure it");
    error.hint.as_deref().or_else(configured)
}
