//! Makes the engine of scripts from the module that its sources compile to (`plugins/javascript`).
//!
//! This is a step of building this program, not of running it: `cargo xtask javascript` calls it.

use leafgate_admission::{Admitted, Binary, FileLayer, NoSnapshot, Telling, wrap};
use leafgate_contract::{LoadError, World};

use crate::compile;
use crate::instance::{Compiled, RunningInstance};
use crate::loader::WasmLoader;
use crate::refusal::LoadRefusal;
use crate::script;
use crate::snapshot::snapshot;

impl WasmLoader {
    /// Makes a component of the engine's module that begins where the module has started up: its
    /// context is there, and the prelude has run.
    ///
    /// # Errors
    /// A module that is none, or whose state cannot be told.
    pub fn started_engine(&self, module: Vec<u8>) -> Result<Vec<u8>, LoadError> {
        Ok(self.started(module)?)
    }

    fn started(&self, module: Vec<u8>) -> Result<Vec<u8>, LoadRefusal> {
        let untold = |reason: NoSnapshot| leafgate_admission::Refusal::Wrap(reason.to_string());
        let binary = Binary::new(module);
        let component = wrap(&binary.bytes)?;
        let exports = script::exports(World::Detector);
        let admitted = Admitted { layer: FileLayer::CoreModule, component, exports: exports.clone() };
        let telling = Telling::new(&binary, &admitted).map_err(untold)?;
        let component = compile::compile(&self.runtime, &telling.component, &|| false)?;
        let compiled = Compiled::new(&self.runtime, &component, &exports)?;
        let canary = |fault| LoadRefusal::Canary { call: "configure", fault };
        let name = "engine".into();
        let mut running =
            RunningInstance::start(&self.runtime, &compiled, &name, self.limits(), None).map_err(canary)?;
        running.configure("").map_err(canary)?.map_err(|said| LoadRefusal::configuration(said, ""))?;
        Ok(snapshot(&telling, &mut running, self.limits().file_bytes).map_err(untold)?)
    }
}
