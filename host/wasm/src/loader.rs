//! [`WasmLoader`]: from a declared file to a plugin that has answered `describe` and accepted its
//! configuration.
//!
//! A file is compiled, described and configured, and what it then is becomes a component of its
//! own, which is compiled again: an instance of it starts configured. Code is shared by digest, and
//! configured code by digest and configuration, so a reload that changes neither compiles and calls
//! nothing.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use leafgate_admission::{
    self as admission, Admitted, Binary, CONTRACT, Contract, NoSnapshot, Script, Telling,
};
use leafgate_contract::{
    Description, Fault, LoadError, Plugin, PluginLimits, PluginLoader, PluginSource, World, check_config,
};
use sha2::{Digest as _, Sha256};
use wasmtime::component::Component;

use crate::bindings::lifecycle;
use crate::compile;
use crate::instance::{Compiled, RunningInstance};
use crate::limits::LoaderLimits;
use crate::plugin::{Configured, WasmPlugin};
use crate::refusal::LoadRefusal;
use crate::runtime::{EngineError, LoaderConfig, Runtime};
use crate::script;
use crate::snapshot::snapshot;
use crate::ward::Ward;

/// A component up to this many bytes stays compiled as it came, so that a new configuration of it
/// compiles once and not twice. Native code is some five times as large.
const KEPT: usize = 1 << 20;

/// Loads WebAssembly plugins; one per process is enough. Implements [`PluginLoader`].
#[derive(derive_more::Debug)]
#[debug("WasmLoader")]
pub struct WasmLoader {
    pub(crate) runtime: Arc<Runtime>,
    quarantine: bool,
    cache: Mutex<Cache>,
}

/// Weak: code lives as long as a generation that uses it.
#[derive(Default)]
struct Cache {
    compiled: HashMap<[u8; 32], Weak<Compiled>>,
    configured: HashMap<Configuration, Weak<Configured>>,
    /// What counts the faults of each plugin. One that is changed in any way begins anew.
    wards: HashMap<(Arc<str>, Configuration), Weak<Ward>>,
    /// What runs scripts, once there has been one: a script that is saved then compiles nothing.
    engine: Option<Component>,
}

/// What a configured plugin is: digests of its file and of its configuration, and the limits under
/// which it was configured.
type Configuration = ([u8; 32], [u8; 32], PluginLimits);

/// What a file is loaded for.
#[derive(Clone, Copy)]
pub(crate) struct PluginLoad<'a> {
    pub(crate) name: &'a Arc<str>,
    pub(crate) limits: &'a LoaderLimits,
    pub(crate) config: &'a str,
    /// Whether nobody wants it any more.
    pub(crate) abandoned: &'a dyn Fn() -> bool,
}

/// A component that is compiled and not configured.
pub(crate) struct Unconfigured<'b> {
    pub(crate) compiled: Arc<Compiled>,
    /// What tells its state, if that can be told.
    pub(crate) telling: Result<Telling<'b>, NoSnapshot>,
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
        let quarantine = config.quarantine;
        let runtime = Arc::new(Runtime::new(config, contract)?);
        Ok(WasmLoader { runtime, quarantine, cache: Mutex::default() })
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
            version = plugin.configured.description.version,
            pre_initialised = plugin.configured.pre_initialised,
            "plugin loaded"
        );
        Ok(Arc::new(plugin))
    }

    fn load_plugin(
        &self,
        source: &PluginSource,
        abandoned: &dyn Fn() -> bool,
    ) -> Result<WasmPlugin, LoadRefusal> {
        let binary = self.read(&source.path)?;
        let script = self.script(&source.path, &binary)?.map(Arc::new);
        match script {
            Some(_) => admission::check_pin(&binary, source.sha256)?,
            None => drop(admission::identify(&binary, source.sha256)?),
        }
        admission::check_signed(&binary, source)?;
        let name: Arc<str> = source.name.as_str().into();
        let limits = Arc::new(self.limits().with(&source.limits));
        let config = match &script {
            Some(script) => script.envelope(&source.config),
            None => source.config.clone(),
        };
        let key = (binary.digest, Sha256::digest(&config).into(), source.limits);
        let known = self.cache().configured.get(&key).and_then(Weak::upgrade);
        let load = PluginLoad { name: &name, limits: &limits, config: &source.config, abandoned };
        let configured = match (known, &script) {
            (Some(configured), _) => configured,
            (None, Some(script)) => self.keep(key, self.configured_script(script, load)?),
            (None, None) => self.keep(key, self.configured(&binary, load)?),
        };
        let ward = self.quarantine.then(|| self.ward(&name, key));
        let runtime = Arc::clone(&self.runtime);
        Ok(WasmPlugin { name, runtime, limits, configured, digest: binary.digest, config, script, ward })
    }

    /// The script that a file is, if it is one.
    pub(crate) fn script(&self, path: &Path, binary: &Binary) -> Result<Option<Script>, LoadRefusal> {
        Ok(script::is_script(path).then(|| Script::new(path, &binary.bytes)).transpose()?)
    }

    fn keep(&self, key: Configuration, configured: Configured) -> Arc<Configured> {
        let configured = Arc::new(configured);
        let mut cache = self.cache();
        cache.configured.retain(|_, code| code.strong_count() > 0);
        cache.configured.insert(key, Arc::downgrade(&configured));
        configured
    }

    /// The count of this plugin's faults, that of an earlier generation if it is still there.
    fn ward(&self, name: &Arc<str>, key: Configuration) -> Arc<Ward> {
        let mut cache = self.cache();
        cache.wards.retain(|_, ward| ward.strong_count() > 0);
        let key = (Arc::clone(name), key);
        if let Some(known) = cache.wards.get(&key).and_then(Weak::upgrade) {
            return known;
        }
        let ward = Arc::new(Ward::default());
        cache.wards.insert(key, Arc::downgrade(&ward));
        ward
    }

    /// Has the engine take a script and its configuration. Every instance takes them anew.
    fn configured_script(&self, script: &Script, load: PluginLoad<'_>) -> Result<Configured, LoadRefusal> {
        let taken = self.described_script(script, load);
        if let Err(LoadRefusal::Configuration(_)) = taken {
            // Its schema names the key, where what it throws may not.
            let (_, described) = self.described_script(script, PluginLoad { config: "", ..load })?;
            check_schema(&described, load.config)?;
        }
        let (world, description) = taken?;
        check_schema(&description, load.config)?;
        let compiled = Arc::new(self.compiled_engine(world, load.abandoned)?);
        Ok(Configured { compiled, kept: None, description, pre_initialised: false })
    }

    /// Asks the engine what a script exports and says about itself. Without a text for `config` it is
    /// not configured.
    pub(crate) fn described_script(
        &self,
        script: &Script,
        load: PluginLoad<'_>,
    ) -> Result<(World, Description), LoadRefusal> {
        // Either world will do: what is called is in both.
        let engine = self.compiled_engine(World::Detector, load.abandoned)?;
        let canary = |call| move |fault: Fault| LoadRefusal::Canary { call, fault };
        let mut running = RunningInstance::start(&self.runtime, &engine, load.name, load.limits, None)
            .map_err(canary("configure"))?;
        let taken = running.configure(&script.envelope(load.config)).map_err(canary("configure"))?;
        if let Err(findings) = taken {
            return Err(LoadRefusal::Configuration(vec![script.refused(findings, load.config)?]));
        }
        let said = running.describe().map_err(canary("describe"))?;
        let world = script.world(script::world(&said))?;
        let description = description(said, load.limits)?;
        if world == World::Detector && description.labels.is_empty() {
            let message = "a detector names what it finds: `export const labels = [\"NAME\"]`".to_owned();
            return Err(admission::Refusal::Description(message).into());
        }
        Ok((world, description))
    }

    /// The engine, ready for one world.
    fn compiled_engine(&self, world: World, abandoned: &dyn Fn() -> bool) -> Result<Compiled, LoadRefusal> {
        let known = self.cache().engine.clone();
        let engine = match known {
            Some(engine) => engine,
            None => {
                let engine = compile::compile(&self.runtime, script::ENGINE, abandoned)?;
                self.cache().engine = Some(engine.clone());
                engine
            }
        };
        Compiled::new(&self.runtime, &engine, &script::exports(world))
    }

    /// Compiles a file, asks it for its description, and configures it.
    fn configured(&self, binary: &Binary, load: PluginLoad<'_>) -> Result<Configured, LoadRefusal> {
        let admitted = self.admitted(binary)?;
        let unconfigured = self.unconfigured(binary, &admitted, load.abandoned)?;
        let description = self.described(&unconfigured.compiled, load)?;
        check_schema(&description, load.config)?;
        let base = unconfigured.compiled;
        let mut running = self.accepts(&base, load)?;
        let limit = self.limits().file_bytes;
        let starting = unconfigured.telling.and_then(|telling| snapshot(&telling, &mut running, limit));
        drop(running);
        let starting = match starting {
            Ok(component) => self.compile(&component, &admitted, load.abandoned)?,
            Err(reason) => {
                tracing::debug!(plugin = &**load.name, %reason, "plugin is configured for each call");
                return Ok(Configured { compiled: base, kept: None, description, pre_initialised: false });
            }
        };
        let kept = (admitted.component.len() <= KEPT).then_some(base);
        Ok(Configured { compiled: Arc::new(starting), kept, description, pre_initialised: true })
    }

    pub(crate) fn admitted(&self, binary: &Binary) -> Result<Admitted, LoadRefusal> {
        Ok(admission::admit(binary, self.runtime.contract)?)
    }

    /// The compiled form of a component as it came, from an earlier load if any plugin still uses
    /// it.
    pub(crate) fn unconfigured<'b>(
        &self,
        binary: &'b Binary,
        admitted: &Admitted,
        abandoned: &dyn Fn() -> bool,
    ) -> Result<Unconfigured<'b>, LoadRefusal> {
        let telling = Telling::new(binary, admitted);
        let known = self.cache().compiled.get(&binary.digest).and_then(Weak::upgrade);
        if let Some(compiled) = known {
            return Ok(Unconfigured { compiled, telling });
        }
        // Compiled without the lock: seconds for a large plugin, and two loads of one file at once
        // are rare and harmless.
        let (compiled, telling) = match telling {
            Err(reason) => (self.compile(&admitted.component, admitted, abandoned)?, Err(reason)),
            Ok(it) => match self.compile(&it.component, admitted, abandoned) {
                Ok(compiled) => (compiled, Ok(it)),
                // What is wrong with it is said of the component as it came.
                Err(LoadRefusal::Compile(reason)) => {
                    let compiled = self.compile(&admitted.component, admitted, abandoned)?;
                    (compiled, Err(NoSnapshot::Untold(reason)))
                }
                Err(refusal) => return Err(refusal),
            },
        };
        let compiled = Arc::new(compiled);
        let mut cache = self.cache();
        cache.compiled.retain(|_, code| code.strong_count() > 0);
        cache.compiled.insert(binary.digest, Arc::downgrade(&compiled));
        Ok(Unconfigured { compiled, telling })
    }

    fn compile(
        &self,
        component: &[u8],
        admitted: &Admitted,
        abandoned: &dyn Fn() -> bool,
    ) -> Result<Compiled, LoadRefusal> {
        let component = compile::compile(&self.runtime, component, abandoned)?;
        Compiled::new(&self.runtime, &component, &admitted.exports)
    }

    /// Asks an instance of its own for the description, so that `describe` leaves no traces in what
    /// is configured.
    pub(crate) fn described(
        &self,
        compiled: &Compiled,
        load: PluginLoad<'_>,
    ) -> Result<Description, LoadRefusal> {
        let canary = |fault| LoadRefusal::Canary { call: "describe", fault };
        let mut running =
            RunningInstance::start(&self.runtime, compiled, load.name, load.limits, None).map_err(canary)?;
        running.check_types().map_err(|error| LoadRefusal::Exports(format!("{error:#}")))?;
        description(running.describe().map_err(canary)?, load.limits)
    }

    /// Returns an instance that has accepted the configuration.
    fn accepts<'a>(
        &'a self,
        compiled: &'a Compiled,
        load: PluginLoad<'a>,
    ) -> Result<RunningInstance<'a>, LoadRefusal> {
        let canary = |fault: Fault| LoadRefusal::Canary { call: "configure", fault };
        let mut running =
            RunningInstance::start(&self.runtime, compiled, load.name, load.limits, None).map_err(canary)?;
        let taken = running.configure(load.config).map_err(canary)?;
        taken.map_err(|said| LoadRefusal::configuration(said, load.config))?;
        Ok(running)
    }

    pub(crate) fn read(&self, path: &Path) -> Result<Binary, LoadRefusal> {
        Ok(Binary::read(path, self.limits().file_bytes)?)
    }

    pub(crate) fn contract(&self) -> Contract {
        self.runtime.contract
    }

    pub(crate) fn limits(&self) -> &LoaderLimits {
        &self.runtime.limits
    }

    fn cache(&self) -> MutexGuard<'_, Cache> {
        // Maps of weak references are whole after any panic.
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PluginLoader for WasmLoader {
    fn load(&self, source: &PluginSource) -> Result<Arc<dyn Plugin>, LoadError> {
        self.load_unless(source, &|| false)
    }
}

/// Checks a configuration before the plugin is asked about it: its schema names keys, and a rule file
/// has lines. A plugin without a schema is asked alone.
fn check_schema(of: &Description, config: &str) -> Result<(), LoadRefusal> {
    let schema = of.config_schema.as_ref();
    let found = schema.map(|schema| check_config(schema, config)).unwrap_or_default();
    if found.is_empty() { Ok(()) } else { Err(LoadRefusal::Configuration(found)) }
}

/// Checks the answer of `describe`.
fn description(said: lifecycle::Description, limits: &LoaderLimits) -> Result<Description, LoadRefusal> {
    let lifecycle::Description { name, version, summary, labels, config_schema, .. } = said;
    let said = Description { name, version, summary, config_schema, labels: Vec::new() };
    Ok(admission::described(said, &labels, limits.labels)?)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use leafgate_admission::Version;
    use leafgate_contract::{DetectLeaf, LeafKind, Role, Spent, ValueType};

    use super::*;
    use crate::guest::{Guest, finding};
    use crate::store::LogSink;

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
        loader.load(&PluginSource::new("tested", file.path().to_owned(), "{}"))
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
}
