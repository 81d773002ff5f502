//! `leafgate plugin inspect`: describes a plugin file, and the reason for which it would be
//! refused.

use std::path::Path;

use leafgate_admission::{
    self as admission, Anatomy, BadSignatures, Binary, Described, FileLayer, Script, Signatures,
    VerifiedSignature,
};
use leafgate_contract::{Description, LoadError, World};

use crate::loader::WasmLoader;
use crate::refusal::LoadRefusal;

/// One file, looked at from outside and, if it passes the gate, asked for its description.
#[derive(Clone, Debug)]
pub struct Inspection {
    /// Core module or component; `None` for a script.
    pub layer: Option<FileLayer>,
    /// Size of the file in bytes.
    pub size: usize,
    /// SHA-256 of the file, as `sha256` in a rule file pins it.
    pub digest: [u8; 32],
    /// Who has signed it, and whose signature is of another file; or why that cannot be told.
    pub signatures: Result<VerifiedSignature, BadSignatures>,
    /// Imports by name; of a core module `module.field`.
    pub imports: Vec<String>,
    /// Exports by name.
    pub exports: Vec<String>,
    /// Which world it implements, if exactly one.
    pub world: Option<World>,
    /// Version of `leafgate:plugin` that it was built for, if it names one.
    pub contract: Option<String>,
    /// Why it is configured for each call, which is slower than once on load; `None` where it is
    /// not, or does not load.
    pub configured_each_call: Option<String>,
    /// JSON Schema of its configuration, as it wrote it, if it wrote any.
    pub config_schema: Option<String>,
    /// What it says about itself, or why it does not load. It is not configured here.
    pub description: Result<Description, LoadError>,
}

impl WasmLoader {
    /// Looks at a file without configuring it. A file that would be refused is described with the
    /// reason.
    ///
    /// # Errors
    /// Where the file cannot be read, is too large, or is no WebAssembly binary.
    pub fn inspect(&self, path: &Path) -> Result<Inspection, LoadError> {
        let binary = self.read(path)?;
        let (anatomy, loaded) = match self.script(path, &binary)? {
            Some(script) => (None, self.evaluated(&script)),
            None => {
                admission::identify(&binary, None).map_err(LoadRefusal::File)?;
                let anatomy = admission::read(&binary.bytes).map_err(LoadRefusal::File)?;
                (Some(anatomy), self.loaded(&binary))
            }
        };
        let known = loaded.as_ref().ok();
        let world = || self.world_of(anatomy.as_ref()?);
        Ok(Inspection {
            layer: anatomy.as_ref().map(|anatomy| anatomy.layer),
            size: binary.bytes.len(),
            digest: binary.digest,
            signatures: Signatures::of(path).map(|signatures| signatures.verify(&binary.digest)),
            world: known.map(|loaded| loaded.world).or_else(world),
            contract: anatomy.as_ref().and_then(admission::contract),
            configured_each_call: known.and_then(|loaded| loaded.each_call.clone()),
            config_schema: known.and_then(|loaded| loaded.described.config_schema.clone()),
            description: loaded.map(|loaded| loaded.described.description).map_err(LoadError::from),
            imports: anatomy.as_ref().map(|anatomy| anatomy.imports.clone()).unwrap_or_default(),
            exports: anatomy.map(|anatomy| anatomy.exports).unwrap_or_default(),
        })
    }

    /// A script is evaluated, and not configured.
    fn evaluated(&self, script: &Script) -> Result<InspectedCode, LoadRefusal> {
        let (world, described) =
            self.described_script(script, &"inspected".into(), self.limits(), "", &|| false)?;
        Ok(InspectedCode {
            world,
            described,
            each_call: Some("a script is evaluated for each call".to_owned()),
        })
    }

    fn world_of(&self, anatomy: &Anatomy) -> Option<World> {
        admission::exports(anatomy, self.contract()).ok().map(|exports| exports.world)
    }

    fn loaded(&self, binary: &Binary) -> Result<InspectedCode, LoadRefusal> {
        let admitted = self.admitted(binary)?;
        let unconfigured = self.unconfigured(binary, &admitted, &|| false)?;
        let described = self.described(&unconfigured.compiled, &"inspected".into(), self.limits())?;
        let each_call = unconfigured.telling.err().map(|reason| reason.to_string());
        Ok(InspectedCode { world: admitted.exports.world, described, each_call })
    }
}

/// What a file that passes the gate says.
struct InspectedCode {
    world: World,
    described: Described,
    each_call: Option<String>,
}
