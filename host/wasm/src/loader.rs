//! [`WasmLoader`]: from a declared file to a plugin that has answered `describe` and accepted its configuration.
//!
//! Code is shared by digest: two tables that name the same file, and a reload that leaves it alone, compile once. The canary runs each
//! time all the same, because the configuration may be new.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use leafgate_policy::plugin::{Description, Fault, LoadError, Plugin, PluginLoader, PluginSource};

use crate::bindings::lifecycle;
use crate::gate::{self, Binary};
use crate::instance::{Compiled, Running};
use crate::limits::Limits;
use crate::plugin::WasmPlugin;
use crate::refusal::Refusal;
use crate::runtime::{EngineError, LogSink, Runtime};

/// How a loader is set up.
#[derive(Clone, Default)]
pub struct LoaderConfig {
    /// What every plugin may use.
    pub limits: Limits,
    /// Where plugins' log messages go. Without one they are dropped: they may quote leaf text, so only an author's own runs have one.
    pub log: Option<LogSink>,
}

/// Loads WebAssembly plugins; one per process is enough. Implements [`PluginLoader`].
pub struct WasmLoader {
    runtime: Arc<Runtime>,
    /// Weak: code lives as long as a generation that uses it.
    compiled: Mutex<HashMap<[u8; 32], Weak<Compiled>>>,
}

impl WasmLoader {
    /// Starts the engine and its epoch ticker.
    ///
    /// # Errors
    /// Where the machine cannot run compiled WebAssembly, or gives no thread.
    pub fn new(config: LoaderConfig) -> Result<Self, EngineError> {
        Ok(WasmLoader { runtime: Arc::new(Runtime::new(config)?), compiled: Mutex::default() })
    }

    fn load_plugin(&self, source: &PluginSource) -> Result<WasmPlugin, Refusal> {
        let binary = Binary::read(&source.path, self.limits())?;
        gate::identify(&binary, source.sha256)?;
        let compiled = self.compiled(&binary)?;
        let name: Arc<str> = source.name.as_str().into();
        let description = self.described(&compiled, &name)?;
        self.configured(&compiled, &name, &source.config)?;
        let (runtime, config) = (Arc::clone(&self.runtime), source.config.clone());
        Ok(WasmPlugin { name, runtime, compiled, description, digest: binary.digest, config })
    }

    /// The compiled form of these bytes, from an earlier load if any plugin still uses it.
    pub(crate) fn compiled(&self, binary: &Binary) -> Result<Arc<Compiled>, Refusal> {
        let cached = self.cache().get(&binary.digest).and_then(Weak::upgrade);
        if let Some(compiled) = cached {
            return Ok(compiled);
        }
        // Compiled without the lock: seconds for a large plugin, and two loads of one file at once are rare and harmless.
        let admitted = gate::admit(binary)?;
        let compiled = Compiled::new(&self.runtime, &admitted.component, admitted.world)
            .map(Arc::new)
            .map_err(|error| Refusal::Compile(format!("{error:#}")))?;
        let mut cache = self.cache();
        cache.retain(|_, code| code.strong_count() > 0);
        cache.insert(binary.digest, Arc::downgrade(&compiled));
        Ok(compiled)
    }

    /// Asks an instance of its own for the description, so that `describe` leaves no traces in what is configured.
    pub(crate) fn described(&self, compiled: &Compiled, name: &Arc<str>) -> Result<Description, Refusal> {
        let canary = |fault| Refusal::Canary { call: "describe", fault };
        let mut running = Running::start(&self.runtime, compiled, name).map_err(canary)?;
        running.check_types().map_err(|error| {
            Refusal::Compile(format!("its exports are not those of the contract: {error:#}"))
        })?;
        description(running.describe().map_err(canary)?, self.limits())
    }

    fn configured(&self, compiled: &Compiled, name: &Arc<str>, config: &str) -> Result<(), Refusal> {
        let canary = |fault: Fault| Refusal::Canary { call: "configure", fault };
        let mut running = Running::start(&self.runtime, compiled, name).map_err(canary)?;
        running.configure(config).map_err(canary)?.map_err(Refusal::Configuration)
    }

    pub(crate) fn read(&self, path: &Path) -> Result<Binary, Refusal> {
        Binary::read(path, self.limits())
    }

    fn limits(&self) -> &Limits {
        &self.runtime.limits
    }

    fn cache(&self) -> std::sync::MutexGuard<'_, HashMap<[u8; 32], Weak<Compiled>>> {
        // A map of weak references is whole after any panic.
        self.compiled.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PluginLoader for WasmLoader {
    fn load(&self, source: &PluginSource) -> Result<Arc<dyn Plugin>, LoadError> {
        let plugin = self.load_plugin(source)?;
        tracing::debug!(
            plugin = source.name,
            digest = gate::hex(&plugin.digest),
            version = plugin.description.version,
            "plugin loaded"
        );
        Ok(Arc::new(plugin))
    }
}

impl std::fmt::Debug for WasmLoader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WasmLoader").field("limits", self.limits()).finish_non_exhaustive()
    }
}

/// What `describe` said, if the host can use it: labels become parts of tokens, so their form is fixed.
fn description(said: lifecycle::Description, limits: &Limits) -> Result<Description, Refusal> {
    if said.name.is_empty() {
        return Err(Refusal::Description("the name is empty".to_owned()));
    }
    if said.labels.len() > limits.labels {
        return Err(Refusal::Description(format!("more than {} labels", limits.labels)));
    }
    if let Some(wrong) = said.labels.iter().position(|label| !is_label(label)) {
        let message = format!("label {} of its list is not of the form [A-Z][A-Z0-9]{{1,15}}", wrong + 1);
        return Err(Refusal::Description(message));
    }
    let labels = said.labels.into_iter().map(Arc::from).collect();
    Ok(Description { name: said.name, version: said.version, summary: said.summary, labels })
}

fn is_label(text: &str) -> bool {
    let bytes = text.as_bytes();
    (2..=16).contains(&bytes.len())
        && bytes[0].is_ascii_uppercase()
        && bytes.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_short_words_of_capitals_and_digits() {
        for label in ["AB", "NAME", "A1", "ABCDEFGHIJKLMNOP"] {
            assert!(is_label(label), "{label}");
        }
        for label in ["", "A", "1A", "name", "NA_ME", "ABCDEFGHIJKLMNOPQ", "ÄB"] {
            assert!(!is_label(label), "{label}");
        }
    }
}
