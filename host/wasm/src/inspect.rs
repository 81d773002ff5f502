//! `leafgate plugin inspect`: describes a plugin file, and the reason for which it would be
//! refused.

use std::path::Path;

use leafgate_admission::{self as admission, Binary, FileLayer, Signatures};
use leafgate_contract::{Description, LoadError, World};
use serde::Serialize;

use crate::loader::{PluginLoad, WasmLoader};
use crate::refusal::LoadRefusal;

/// One file, looked at from outside and, if it passes the gate, asked for its description.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Inspection {
    /// What kind of a file it is.
    pub layer: &'static str,
    /// Size of the file.
    pub bytes: usize,
    /// Digest of the file, as `sha256` in a rule file pins it.
    pub sha256: String,
    /// Version of `leafgate:plugin` that it was built for, if it names one.
    pub contract: Option<String>,
    /// Which world it implements, if exactly one.
    pub world: Option<World>,
    /// Who has signed it.
    pub signed: Vec<String>,
    /// Imports by name; of a core module `module.field`.
    pub imports: Vec<String>,
    /// Exports by name.
    pub exports: Vec<String>,
    /// Why it is configured for each call, which is slower than once on load; `None` where it is
    /// not, or does not load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub configured_each_call: Option<String>,
    /// What it says about itself, or why it does not load. It is not configured here.
    #[serde(skip)]
    pub description: Result<Description, LoadError>,
}

/// What a file that passes the gate says: its world, itself, and why it is configured for each call.
type InspectedCode = (World, Description, Option<String>);

impl WasmLoader {
    /// Looks at a file without configuring it. A file that would be refused is described with the
    /// reason.
    ///
    /// # Errors
    /// Where the file cannot be read, is too large, or is no WebAssembly binary.
    pub fn inspect(&self, path: &Path) -> Result<Inspection, LoadError> {
        let binary = self.read(path)?;
        let name = "inspected".into();
        let load = PluginLoad { name: &name, limits: self.limits(), config: "", abandoned: &|| false };
        let (anatomy, loaded) = match self.script(path, &binary)? {
            // A script is evaluated, and not configured.
            Some(script) => (None, self.described_script(&script, load).map(of_script)),
            None => {
                admission::identify(&binary, None).map_err(LoadRefusal::File)?;
                let anatomy = admission::read(&binary.bytes).map_err(LoadRefusal::File)?;
                (Some(anatomy), self.loaded(&binary, load))
            }
        };
        let layer = anatomy.as_ref().map_or("script", |anatomy| match anatomy.layer {
            FileLayer::CoreModule => "core module",
            FileLayer::Component => "component",
        });
        let world_of = |anatomy| Some(admission::exports(anatomy, self.contract()).ok()?.world);
        let (world, description, configured_each_call) = match loaded {
            Ok((world, description, each_call)) => (Some(world), Ok(description), each_call),
            Err(refusal) => (anatomy.as_ref().and_then(world_of), Err(refusal.into()), None),
        };
        let contract = anatomy.as_ref().and_then(admission::contract);
        let (imports, exports) =
            anatomy.map(|anatomy| (anatomy.imports, anatomy.exports)).unwrap_or_default();
        let signed = Signatures::of(path).map(|signatures| signatures.verify(&binary.digest).signed);
        Ok(Inspection {
            layer,
            bytes: binary.bytes.len(),
            sha256: base16ct::lower::encode_string(&binary.digest),
            contract,
            world,
            signed: signed.unwrap_or_default().iter().map(ToString::to_string).collect(),
            imports,
            exports,
            configured_each_call,
            description,
        })
    }

    fn loaded(&self, binary: &Binary, load: PluginLoad<'_>) -> Result<InspectedCode, LoadRefusal> {
        let admitted = self.admitted(binary)?;
        let unconfigured = self.unconfigured(binary, &admitted, load.abandoned)?;
        let described = self.described(&unconfigured.compiled, load)?;
        let each_call = unconfigured.telling.err().map(|reason| reason.to_string());
        Ok((admitted.exports.world, described, each_call))
    }
}

fn of_script((world, described): (World, Description)) -> InspectedCode {
    (world, described, Some("a script is evaluated for each call".to_owned()))
}
