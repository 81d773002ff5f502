//! `[plugins.<name>]` tables: checked, resolved against the folder, loaded.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use leafgate_contract::{ConfigFinding, LoadError, PluginLimits, PluginLoader, PluginSource, Signer};
use leafgate_detect::DetectorId;
use leafgate_diagnostic::number::in_millis;
use leafgate_diagnostic::{Complaints, Severity, place_of};
use serde_json::Value;
use toml::Spanned;

use super::raw::{RawFile, RawPlugin, RawPluginLimits, said, text, words_of};
use crate::loaded::LoadedPlugin;

/// The plugins of a policy, and the names of those that could not be loaded.
#[derive(Debug, Default)]
pub(crate) struct Plugins {
    pub(crate) loaded: Vec<LoadedPlugin>,
    broken: BTreeSet<String>,
    /// Of whom one must have signed each plugin; `None` where no file asks for it.
    signers: Option<Arc<[Signer]>>,
}

impl Plugins {
    /// Whether it is declared, and what is wrong with it has been said.
    pub(crate) fn is_broken(&self, name: &str) -> bool {
        self.broken.contains(name)
    }

    pub(crate) fn names(&self) -> Vec<&str> {
        self.loaded.iter().map(|plugin| &*plugin.name).chain(self.broken.iter().map(String::as_str)).collect()
    }

    /// Adds the keys of one file: a plugin of any file must be signed by one of all files' keys. A
    /// key that cannot be read signs nothing, so that nothing is loaded unsigned because of it.
    pub(crate) fn require_signed(&mut self, raw: &RawFile, complaints: &mut Complaints<'_>) {
        if raw.require_signed.is_none() {
            return;
        }
        let mut signers = self.signers.take().map(|known| known.to_vec()).unwrap_or_default();
        for (word, span) in words_of(&raw.require_signed) {
            match word.parse::<Signer>() {
                Ok(signer) => signers.push(signer),
                Err(error) => complaints.error(
                    span,
                    format!("`require_signed` names no key: {error}"),
                    "`leafgate plugin key FILE` makes one and prints its public half",
                ),
            }
        }
        self.signers = Some(signers.into());
    }

    /// Loads one declared plugin; reports what is wrong with it.
    pub(crate) fn add(
        &mut self,
        name: &Spanned<String>,
        raw: &RawPlugin,
        folder: &Path,
        loader: &dyn PluginLoader,
        complaints: &mut Complaints<'_>,
    ) {
        match self.load(name, raw, folder, loader, complaints) {
            Some(plugin) => self.loaded.push(plugin),
            None => _ = self.broken.insert(name.get_ref().clone()),
        }
    }

    fn load(
        &self,
        name: &Spanned<String>,
        raw: &RawPlugin,
        folder: &Path,
        loader: &dyn PluginLoader,
        complaints: &mut Complaints<'_>,
    ) -> Option<LoadedPlugin> {
        self.check_name(name, complaints)?;
        let named_file = raw.file.as_ref()?;
        let sha256 = digest(raw.sha256.as_ref(), complaints);
        let config = raw.config.as_ref().map(|config| Value::Object(config.get_ref().clone()).to_string());
        let limits = raw.limits.as_ref().map(|raw| limits(raw.get_ref())).unwrap_or_default();
        let path = file(named_file, folder, complaints);
        let (name, signers) = (name.get_ref().clone(), self.signers.clone());
        let (sha256, config) = (sha256?, config.unwrap_or_else(|| "{}".to_owned()));
        raw.broken.is_empty().then_some(())?;
        let source = PluginSource { name, path: path?, sha256, signers, limits, config };
        let plugin = match loader.load(&source) {
            Ok(plugin) => plugin,
            Err(error) => {
                refused(&source.name, raw, &named_file.span(), error, complaints);
                return None;
            }
        };
        let detector = DetectorId::new(&format!("plugin:{}", source.name));
        let detector = detector.expect("a name in kebab-case fits into the id of a detector");
        let detectors = vec![detector; plugin.description().labels.len()];
        Some(LoadedPlugin { name: source.name.into(), path: source.path, plugin, detectors })
    }

    fn check_name(&self, name: &Spanned<String>, complaints: &mut Complaints<'_>) -> Option<()> {
        let word = &complaints.kebab(name, "trim-results")?;
        if self.names().contains(&word.as_str()) {
            complaints.error(
                name.span(),
                format!("plugin `{word}` is declared twice"),
                "give one of them another name",
            );
            return None;
        }
        Some(())
    }
}

/// Reports why a plugin is not loaded: what is wrong with its configuration at each key.
fn refused(
    name: &str,
    raw: &RawPlugin,
    named_file: &Range<usize>,
    error: LoadError,
    complaints: &mut Complaints<'_>,
) {
    let of_config = raw.config.as_ref().map(Spanned::span);
    let all = of_config.clone().unwrap_or_else(|| named_file.clone());
    if error.config.is_empty() {
        let text = &complaints.diagnostics.text(complaints.file);
        let key = error.key.and_then(|key| place_of(text, &format!("/plugins/{name}{key}")));
        let message = format!("plugin `{name}`: {}", error.message);
        let at = key.unwrap_or(named_file.clone());
        return complaints.diagnostics.at_place(Severity::Error, complaints.file, at, message, error.hint);
    }
    for ConfigFinding { pointer, message, hint } in error.config {
        let text = &complaints.diagnostics.text(complaints.file);
        let inside = of_config.as_ref().filter(|_| !pointer.is_empty());
        let at = inside.and_then(|_| place_of(text, &format!("/plugins/{name}/config{pointer}")));
        let message = format!("plugin `{name}`: its configuration is not accepted: {message}");
        let at = at.unwrap_or(all.clone());
        complaints.diagnostics.at_place(Severity::Error, complaints.file, at, message, hint);
    }
}

/// The pinned digest. The outer `None`: there is one, and it is bad.
fn digest(raw: Option<&Spanned<String>>, complaints: &mut Complaints<'_>) -> Option<Option<[u8; 32]>> {
    let Some(raw) = raw else { return Some(None) };
    let digest = leafgate_contract::of_hex(raw.get_ref());
    if digest.is_none() {
        complaints.error(
            raw.span(),
            "`sha256` is not 64 hexadecimal digits",
            "`leafgate plugin inspect FILE` prints it",
        );
    }
    digest.map(Some)
}

fn limits(raw: &RawPluginLimits) -> PluginLimits {
    let time = |raw| text(raw).and_then(in_millis).map(Duration::from_millis);
    PluginLimits {
        start_deadline: time(&raw.start_deadline),
        call_deadline: time(&raw.call_deadline),
        request_time: time(&raw.request_time),
        memory_bytes: said(&raw.memory_bytes),
        answer_bytes: said(&raw.answer_bytes),
        findings: said(&raw.findings),
        edits: said(&raw.edits),
    }
}

/// Finds the file: beside the rules, or, for a bare name, in `plugins/`.
fn file(raw: &Spanned<String>, folder: &Path, complaints: &mut Complaints<'_>) -> Option<PathBuf> {
    let name = Path::new(raw.get_ref());
    let beside = folder.join(name);
    let inside = folder.join("plugins").join(name);
    let bare = name.components().count() == 1;
    let watched = leafgate_folder::is_inside(name) && leafgate_folder::is_plugin(name);
    if !watched && beside.is_file() {
        let hint = "put it into the policy folder as `….wasm` or `….js`, without a dot in front of any name";
        let message = "a running gate does not see when this file changes";
        complaints.warning(raw.span(), message, hint);
    }
    if beside.is_file() {
        return Some(beside);
    }
    if bare && inside.is_file() {
        return Some(inside);
    }
    let hint = "paths are relative to the policy folder; a bare name is looked for in its `plugins/` too";
    let message = match beside.symlink_metadata().or_else(|_| inside.symlink_metadata()) {
        Ok(_) => format!("`{}` is no regular file", raw.get_ref()),
        Err(_) => format!("there is no plugin file `{}`", raw.get_ref()),
    };
    complaints.error(raw.span(), message, hint);
    None
}
