//! `[plugins.<name>]` tables: checked, resolved against the folder, loaded.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use leafgate_contract::{
    ConfigFinding, LoadError, PluginLimits, PluginLoader, PluginSource, Signer, World, config_json,
};
use leafgate_detect::{DetectorId, Label};
use leafgate_diagnostic::{Complaints, OneOrMany, place_of};
use toml::Spanned;

use super::raw::{RawPlugin, RawPluginLimits};
use crate::index::PluginIndex;
use crate::loaded::LoadedPlugin;

/// The plugins of a policy, and the names of those that could not be loaded.
#[derive(Debug, Default)]
pub(crate) struct Plugins {
    pub(crate) loaded: Vec<LoadedPlugin>,
    broken: BTreeSet<String>,
    /// Of whom one must have signed each plugin; `None` where no file asks for it.
    signers: Option<Arc<[Signer]>>,
}

/// The result of looking up a plugin's name.
pub(crate) enum Lookup {
    Found(PluginIndex),
    /// It is declared, and what is wrong with it has been said.
    Broken,
    Unknown,
    WrongWorld,
}

impl Plugins {
    pub(crate) fn find(&self, name: &str, world: World) -> Lookup {
        match self.loaded.iter().position(|plugin| &*plugin.name == name) {
            Some(at) if self.loaded[at].plugin.world() == world => Lookup::Found(PluginIndex::new(at)),
            Some(_) => Lookup::WrongWorld,
            None if self.broken.contains(name) => Lookup::Broken,
            None => Lookup::Unknown,
        }
    }

    pub(crate) fn names(&self) -> Vec<&str> {
        self.loaded.iter().map(|plugin| &*plugin.name).chain(self.broken.iter().map(String::as_str)).collect()
    }

    /// Notes a name whose table could not be read.
    pub(crate) fn mark_broken(&mut self, name: &str) {
        self.broken.insert(name.to_owned());
    }

    /// Adds the keys of one file: a plugin of any file must be signed by one of all files' keys. A
    /// key that cannot be read signs nothing, so that nothing is loaded unsigned because of it.
    pub(crate) fn require_signed(&mut self, keys: &Spanned<OneOrMany>, complaints: &mut Complaints<'_>) {
        let mut signers = self.signers.take().map(|known| known.to_vec()).unwrap_or_default();
        let words = keys.get_ref().words(keys.span());
        if words.is_empty() {
            complaints.error(
                keys.span(),
                "`require_signed` names no key",
                "`leafgate plugin key FILE` makes one",
            );
        }
        for (word, span) in words {
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
            None => self.mark_broken(name.get_ref()),
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
        let Some(named_file) = &raw.file else {
            let hint = "`file = \"….wasm\"`, the component that it is, or a script `….js`";
            complaints.error(name.span(), format!("the plugin `{}` has no `file`", name.get_ref()), hint);
            return None;
        };
        let sha256 = digest(raw.sha256.as_ref(), complaints);
        let config = config(raw.config.as_ref(), complaints);
        let limits = limits(raw.limits.as_ref().map(Spanned::get_ref), complaints);
        let path = file(named_file, folder, complaints);
        let (name, signers) = (name.get_ref().clone(), self.signers.clone());
        let (sha256, config, limits) = (sha256?, config?, limits?);
        let source = PluginSource { name, path: path?, sha256, signers, limits, config };
        let plugin = match loader.load(&source) {
            Ok(plugin) => plugin,
            Err(error) => {
                refused(&source.name, raw, &named_file.span(), error, complaints);
                return None;
            }
        };
        let labels =
            plugin.description().labels.iter().map(|label| Label::new(label)).collect::<Result<Vec<_>, _>>();
        match (labels, DetectorId::new(&format!("plugin:{}", source.name))) {
            (Ok(labels), Ok(detector)) => {
                let detectors = vec![detector; labels.len()];
                Some(LoadedPlugin { name: source.name.into(), path: source.path, plugin, labels, detectors })
            }
            (Err(error), _) | (_, Err(error)) => {
                let message = format!("plugin `{}`: {error}", source.name);
                complaints.error(named_file.span(), message, "mend its `describe`");
                None
            }
        }
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
        return complaints.diagnostics.error(complaints.file, at, message, error.hint);
    }
    for ConfigFinding { pointer, message, hint } in error.config {
        let text = &complaints.diagnostics.text(complaints.file);
        let inside = of_config.as_ref().filter(|_| !pointer.is_empty());
        let at = inside.and_then(|_| place_of(text, &format!("/plugins/{name}/config{pointer}")));
        let message = format!("plugin `{name}`: its configuration is not accepted: {message}");
        complaints.diagnostics.error(complaints.file, at.unwrap_or(all.clone()), message, hint);
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

/// The configuration as JSON text. TOML's dates and its infinite numbers have no counterpart there.
fn config(raw: Option<&Spanned<toml::Table>>, complaints: &mut Complaints<'_>) -> Option<String> {
    let Some(raw) = raw else { return Some("{}".to_owned()) };
    let config = config_json(raw.get_ref());
    if config.is_none() {
        complaints.error(
            raw.span(),
            "dates and infinite numbers cannot be handed to a plugin",
            "write them as strings",
        );
    }
    config
}

/// Reads the limits; `None` where one of them is none.
fn limits(raw: Option<&RawPluginLimits>, complaints: &mut Complaints<'_>) -> Option<PluginLimits> {
    let Some(raw) = raw else { return Some(PluginLimits::default()) };
    let mut sound = true;
    let mut time = |raw: &Option<Spanned<toml::Value>>| {
        let raw = raw.as_ref()?;
        let text = raw.get_ref().as_str();
        // Calls take milliseconds, which other durations of rule files never do.
        let time = text.and_then(|text| super::duration(text, &[("ms", 1), ("s", 1000)]));
        if time.is_none() {
            sound = false;
            let written = text.map_or_else(|| raw.get_ref().to_string(), str::to_owned);
            complaints.error(
                raw.span(),
                format!("`{written}` is no time for a plugin"),
                "a number and a unit, above zero: `800ms`, `5s`",
            );
        }
        time
    };
    let start_deadline = time(&raw.start_deadline);
    let call_deadline = time(&raw.call_deadline);
    let request_time = time(&raw.request_time);
    let mut count = |raw: &Option<Spanned<toml::Value>>| {
        let raw = raw.as_ref()?;
        let number = raw.get_ref().as_integer();
        let count = number.and_then(|number| usize::try_from(number).ok()).filter(|count| *count > 0);
        if count.is_none() {
            sound = false;
            let (message, hint) = match number {
                Some(_) => ("a limit must be above zero", "leave it out, and the usual limit holds"),
                None => ("this limit must be a whole number", "without a unit: 64 MiB are `67108864` bytes"),
            };
            complaints.error(raw.span(), message, hint);
        }
        count
    };
    let memory_bytes = count(&raw.memory_bytes);
    let answer_bytes = count(&raw.answer_bytes);
    let (findings, edits) = (count(&raw.findings), count(&raw.edits));
    let limits = PluginLimits {
        start_deadline,
        call_deadline,
        request_time,
        memory_bytes,
        answer_bytes,
        findings,
        edits,
    };
    sound.then_some(limits)
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
