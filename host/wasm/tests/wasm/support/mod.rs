//! What the tests of this crate share.

pub(crate) mod bundled;
pub(crate) mod guest;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use leafgate_admission::FileLayer;
use leafgate_contract::{
    CheckedEdits, CheckedFindings, Description, DetectLeaf, Fault, LeafKind, LoadError, Plugin, PluginLoader,
    PluginSource, Role, Spent, TransformRequest, ValueType, World,
};
use leafgate_wasm::{CodeCache, LoaderConfig, LoaderLimits, LogSink, WasmLoader};

/// A loader that loads a module as the component too that it becomes, which is configured for each call. What it
/// loads is asked both ways, and must answer both ways alike.
pub(crate) struct BothWays(pub(crate) WasmLoader);

impl BothWays {
    pub(crate) fn new(config: LoaderConfig) -> Self {
        BothWays(WasmLoader::new(config).unwrap())
    }
}

/// The component that a file becomes; `None` where it is no module of a plugin.
pub(crate) fn component_of(file: &Path) -> Option<Vec<u8>> {
    let module = leafgate_folder::read(file, LoaderLimits::default().file_bytes).ok()?;
    let anatomy = leafgate_admission::read(&module).ok()?;
    let is_module = anatomy.layer == FileLayer::CoreModule && anatomy.typed;
    is_module.then(|| leafgate_admission::wrap(&module).ok()).flatten()
}

impl PluginLoader for BothWays {
    fn load(&self, source: &PluginSource) -> Result<Arc<dyn Plugin>, LoadError> {
        let words = |error: &LoadError| (error.message.clone(), error.hint.clone());
        let on_load = self.0.load(source);
        // A pin is of the very file.
        let component = component_of(&source.path).filter(|_| source.sha256.is_none());
        let Some(component) = component else { return on_load };
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), component).unwrap();
        let each_call = self.0.load(&PluginSource { path: file.path().to_owned(), ..source.clone() });
        match (on_load, each_call) {
            (Ok(on_load), Ok(each_call)) => Ok(Arc::new(AskedBothWays([on_load, each_call]))),
            (Err(error), Err(other)) => {
                assert_eq!(words(&error), words(&other));
                Err(error)
            }
            (on_load, each_call) => panic!("loads one way only: {on_load:?}, {each_call:?}"),
        }
    }
}

#[derive(Debug)]
struct AskedBothWays([Arc<dyn Plugin>; 2]);

impl AskedBothWays {
    fn ask<T: PartialEq + std::fmt::Debug>(
        &self,
        spent: &Spent,
        ask: impl Fn(&dyn Plugin, &Spent) -> T,
    ) -> T {
        // The second one has the budget that the first one had.
        let again = Spent::default();
        again.charge(spent.so_far());
        let [on_load, each_call] = &self.0;
        let answer = ask(&**on_load, spent);
        assert_eq!(answer, ask(&**each_call, &again), "the answers differ");
        answer
    }
}

impl Plugin for AskedBothWays {
    fn description(&self) -> &Description {
        self.0[0].description()
    }

    fn world(&self) -> World {
        assert_eq!(self.0[0].world(), self.0[1].world());
        self.0[0].world()
    }

    fn digest(&self) -> [u8; 32] {
        self.0[0].digest()
    }

    fn detect(&self, leaves: &[DetectLeaf<'_>], spent: &Spent) -> Result<CheckedFindings, Fault> {
        self.ask(spent, |plugin, spent| plugin.detect(leaves, spent))
    }

    fn transform(&self, request: &TransformRequest<'_>, spent: &Spent) -> Result<CheckedEdits, Fault> {
        self.ask(spent, |plugin, spent| plugin.transform(request, spent))
    }
}

/// A loader that gives scripts all the time that a machine under load needs. Its code is kept from
/// process to process, since every test has one of its own: the engine is compiled once.
pub(crate) fn patient_loader(log: Option<LogSink>) -> WasmLoader {
    let long = Duration::from_secs(60);
    let limits = LoaderLimits {
        start_deadline: long,
        call_deadline: long,
        request_time: long,
        ..LoaderLimits::default()
    };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("scripts");
    let cache = CodeCache::open(folder, [7; 32]).map(Arc::new).ok();
    WasmLoader::new(LoaderConfig { limits, log, cache, quarantine: true, ..LoaderConfig::default() }).unwrap()
}

/// Loads a file under the name `tested`.
pub(crate) fn load(
    loader: &dyn PluginLoader,
    path: &Path,
    config: &str,
) -> Result<Arc<dyn Plugin>, LoadError> {
    loader.load(&PluginSource::new("tested", path.to_owned(), config))
}

/// Loads bytes as if they stood in a file.
pub(crate) fn load_bytes(
    loader: &dyn PluginLoader,
    bytes: &[u8],
    config: &str,
) -> Result<Arc<dyn Plugin>, LoadError> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    load(loader, file.path(), config)
}

/// A text leaf of a user's message.
pub(crate) fn text(text: &str) -> DetectLeaf<'_> {
    let (kind, value, role) = (LeafKind::Text, ValueType::Text, Role::User);
    DetectLeaf { kind, value, role, tool: None, key: "content", text }
}
