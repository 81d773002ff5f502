//! [`WasmLoader`]: from a declared file to a plugin that has answered `describe` and accepted its
//! configuration.
//!
//! Code is shared by digest: two tables that name the same file, and a reload that leaves it alone,
//! compile once. The canary runs each time all the same, because the configuration may be new.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use leafgate_policy::plugin::{Description, Fault, LoadError, Plugin, PluginLoader, PluginSource};

use crate::admission::{self, Binary};
use crate::bindings::lifecycle;
use crate::compile::{self, Compiler};
use crate::contract::{CONTRACT, Contract};
use crate::instance::{Compiled, Running};
use crate::limits::Limits;
use crate::plugin::WasmPlugin;
use crate::refusal::Refusal;
use crate::runtime::{EngineError, LogSink, Runtime};

/// How a loader is set up.
#[derive(Clone, Default)]
pub struct LoaderConfig {
    /// The limits of every plugin.
    pub limits: Limits,
    /// Takes plugins' log messages. Without it they are dropped: they may quote leaf text, so only
    /// an author's own runs have one.
    pub log: Option<LogSink>,
    /// The place where plugins are compiled.
    pub compiler: Compiler,
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
        WasmLoader::of_contract(config, CONTRACT)
    }

    /// Makes a loader that speaks other versions of the contract.
    pub(crate) fn of_contract(config: LoaderConfig, contract: Contract) -> Result<Self, EngineError> {
        Ok(WasmLoader { runtime: Arc::new(Runtime::new(config, contract)?), compiled: Mutex::default() })
    }

    /// Loads a plugin as [`PluginLoader::load`] does, and stops compiling it once `abandoned`
    /// returns true.
    ///
    /// # Errors
    /// Those of [`PluginLoader::load`].
    pub fn load_unless(
        &self,
        source: &PluginSource,
        abandoned: &dyn Fn() -> bool,
    ) -> Result<Arc<dyn Plugin>, LoadError> {
        let plugin = self.load_plugin(source, abandoned)?;
        tracing::debug!(
            plugin = source.name,
            digest = base16ct::lower::encode_string(&plugin.digest),
            version = plugin.description.version,
            "plugin loaded"
        );
        Ok(Arc::new(plugin))
    }

    fn load_plugin(
        &self,
        source: &PluginSource,
        abandoned: &dyn Fn() -> bool,
    ) -> Result<WasmPlugin, Refusal> {
        let binary = Binary::read(&source.path, self.limits())?;
        admission::identify(&binary, source.sha256)?;
        let compiled = self.compiled(&binary, abandoned)?;
        let name: Arc<str> = source.name.as_str().into();
        let description = self.described(&compiled, &name)?;
        self.configured(&compiled, &name, &source.config)?;
        let (runtime, config) = (Arc::clone(&self.runtime), source.config.clone());
        Ok(WasmPlugin { name, runtime, compiled, description, digest: binary.digest, config })
    }

    /// The compiled form of these bytes, from an earlier load if any plugin still uses it.
    pub(crate) fn compiled(
        &self,
        binary: &Binary,
        abandoned: &dyn Fn() -> bool,
    ) -> Result<Arc<Compiled>, Refusal> {
        let cached = self.cache().get(&binary.digest).and_then(Weak::upgrade);
        if let Some(compiled) = cached {
            return Ok(compiled);
        }
        // Compiled without the lock: seconds for a large plugin, and two loads of one file at once
        // are rare and harmless.
        let admitted = admission::admit(binary, self.runtime.contract)?;
        let component = compile::compile(&self.runtime, &admitted.component, abandoned)?;
        let compiled = Compiled::new(&self.runtime, &component, &admitted.exports)
            .map(Arc::new)
            .map_err(|error| Refusal::Compile(format!("{error:#}")))?;
        let mut cache = self.cache();
        cache.retain(|_, code| code.strong_count() > 0);
        cache.insert(binary.digest, Arc::downgrade(&compiled));
        Ok(compiled)
    }

    /// Asks an instance of its own for the description, so that `describe` leaves no traces in what
    /// is configured.
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

    pub(crate) fn contract(&self) -> Contract {
        self.runtime.contract
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
        self.load_unless(source, &|| false)
    }
}

impl std::fmt::Debug for WasmLoader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WasmLoader").field("limits", self.limits()).finish_non_exhaustive()
    }
}

/// Checks the answer of `describe`. Labels become parts of tokens, so their form is fixed.
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
    use std::sync::Mutex;

    use leafgate_policy::plugin::{DetectLeaf, LeafKind, Role, Spent, ValueType};

    use super::*;
    use crate::contract::Version;
    use crate::guest::{Guest, finding};

    /// The contract of a host that is one minor version further.
    const NEXT: Contract = Contract(&[Version { major: 0, minor: 1 }, Version { major: 0, minor: 2 }]);

    /// A detector of some version that logs and finds one thing.
    fn detector_of(version: &str) -> Vec<u8> {
        let import =
            format!(r#"(import "leafgate:plugin/host@{version}" "log" (func $log (param i32 i32 i32)))"#);
        let body = finding(0, 0, 1, 0);
        let body = format!("(call $log (i32.const 1) (i32.const 16) (i32.const 6)) {body}");
        Guest::detector().with(import).call(body).module_of_version(version)
    }

    fn load(loader: &WasmLoader, bytes: &[u8]) -> Result<Arc<dyn Plugin>, LoadError> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        let (name, path, config) = ("tested".to_owned(), file.path().to_owned(), "{}".to_owned());
        loader.load(&PluginSource { name, path, sha256: None, config })
    }

    #[test]
    fn a_host_of_a_later_minor_version_runs_components_of_an_earlier_one() {
        let logged = Arc::new(Mutex::new(Vec::new()));
        let record = Arc::clone(&logged);
        let log: LogSink = Arc::new(move |_, _, message| record.lock().unwrap().push(message.to_owned()));
        let config = LoaderConfig { log: Some(log), ..LoaderConfig::default() };
        let loader = WasmLoader::of_contract(config, NEXT).unwrap();
        let (kind, value, role) = (LeafKind::Text, ValueType::Text, Role::User);
        let leaf = DetectLeaf { kind, value, role, tool: None, key: "", text: "text" };
        for version in ["0.1.0", "0.1.9", "0.2.0"] {
            let module = detector_of(version);
            let component =
                wit_component::ComponentEncoder::default().module(&module).unwrap().encode().unwrap();
            let plugin = load(&loader, &component).unwrap_or_else(|error| panic!("{version}: {error}"));
            let findings = plugin.detect(&[leaf], &Spent::default()).unwrap().into_vec();
            assert_eq!(findings.len(), 1, "{version}");
        }
        assert_eq!(*logged.lock().unwrap(), ["tested"; 3]);
    }

    #[test]
    fn a_component_of_an_unspoken_version_is_refused_with_the_side_to_upgrade() {
        let loader = WasmLoader::of_contract(LoaderConfig::default(), NEXT).unwrap();
        for (version, hint) in [
            ("0.3.0", "upgrade leafgate"),
            ("1.0.0", "upgrade leafgate"),
            ("0.0.7", "build the plugin against"),
            ("0.1.0-rc.1", "build the plugin against"),
        ] {
            let error = load(&loader, &detector_of(version)).unwrap_err();
            assert!(error.message.contains("speaks leafgate:plugin 0.1 to 0.2"), "{version}: {error}");
            assert!(error.hint.unwrap().starts_with(hint), "{version}");
        }
    }

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
