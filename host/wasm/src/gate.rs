//! The steps that a file passes before any of it is compiled: size, magic, digest, wrapping, imports, version, world.
//!
//! Nothing here runs guest code. What comes out is a component whose imports are those of the contract and whose exports name one world.

use std::io::Read as _;
use std::path::Path;

use leafgate_policy::plugin::World;
use sha2::{Digest as _, Sha256};

use crate::anatomy::{self, Anatomy, Layer};
use crate::limits::Limits;
use crate::refusal::{CONTRACT, Refusal};

const PACKAGE: &str = "leafgate:plugin/";

/// A file's bytes and their SHA-256.
#[derive(Clone)]
pub(crate) struct Binary {
    pub(crate) bytes: Vec<u8>,
    pub(crate) digest: [u8; 32],
}

/// A component that may be compiled.
pub(crate) struct Admitted {
    pub(crate) component: Vec<u8>,
    pub(crate) world: World,
}

impl Binary {
    /// Reads a file, but no more of it than allowed: a device or a growing file must not fill the host's memory.
    pub(crate) fn read(path: &Path, limits: &Limits) -> Result<Self, Refusal> {
        let unreadable = |error| Refusal::Unreadable { path: path.display().to_string(), error };
        let file = std::fs::File::open(path).map_err(unreadable)?;
        let mut bytes = Vec::new();
        file.take(limits.file_bytes as u64 + 1).read_to_end(&mut bytes).map_err(unreadable)?;
        if bytes.len() > limits.file_bytes {
            return Err(Refusal::TooLarge { limit: limits.file_bytes });
        }
        let digest = Sha256::digest(&bytes).into();
        Ok(Binary { bytes, digest })
    }
}

/// Checks that the file is WebAssembly and the very one that the rule file pins.
pub(crate) fn identify(binary: &Binary, pinned: Option<[u8; 32]>) -> Result<Layer, Refusal> {
    let layer = anatomy::layer(&binary.bytes).ok_or(Refusal::NotWasm)?;
    match pinned {
        Some(expected) if expected != binary.digest => {
            Err(Refusal::WrongDigest { expected: hex(&expected), actual: hex(&binary.digest) })
        }
        _ => Ok(layer),
    }
}

/// Wraps a core module, checks imports and version, and reads the world from the exports.
pub(crate) fn admit(binary: &Binary) -> Result<Admitted, Refusal> {
    let outer = read(&binary.bytes)?;
    check_imports(&outer)?;
    let component = match outer.layer {
        Layer::Component => binary.bytes.clone(),
        Layer::CoreModule => wrap(&binary.bytes, &outer)?,
    };
    // What wrapping made is checked like any other component: its names come from the module's own metadata.
    let inner = read(&component)?;
    check_imports(&inner)?;
    Ok(Admitted { world: world(&inner)?, component })
}

pub(crate) fn read(bytes: &[u8]) -> Result<Anatomy, Refusal> {
    anatomy::read(bytes).map_err(|error| Refusal::Damaged(error.to_string()))
}

fn wrap(module: &[u8], outer: &Anatomy) -> Result<Vec<u8>, Refusal> {
    if !outer.typed {
        return Err(Refusal::NoTypeInfo);
    }
    let failed = |error| Refusal::Wrap(format!("{error:#}"));
    wit_component::ComponentEncoder::default()
        .validate(true)
        .module(module)
        .map_err(failed)?
        .encode()
        .map_err(failed)
}

/// Allows the one interface that plugins can call, and the one that holds nothing but types.
fn check_imports(anatomy: &Anatomy) -> Result<(), Refusal> {
    let mut foreign = Vec::new();
    for import in &anatomy.imports {
        let interface = match anatomy.layer {
            Layer::Component => import.as_str(),
            // `module.field`: a module's name contains dots where it has a version, a field of the contract has none.
            Layer::CoreModule => import.rsplit_once('.').map_or(import.as_str(), |(module, _)| module),
        };
        match Interface::parse(interface) {
            Some(Interface { name: "host" | "types", version }) if speaks(version) => {}
            Some(Interface { name: "host" | "types", .. }) => {
                return Err(Refusal::WrongVersion(interface.to_owned()));
            }
            _ => foreign.push(import.clone()),
        }
    }
    if foreign.is_empty() { Ok(()) } else { Err(Refusal::ForeignImports(foreign)) }
}

/// Decides by exports what a component is. Exports beside the contract's do no harm: nobody calls them.
pub(crate) fn world(anatomy: &Anatomy) -> Result<World, Refusal> {
    let (mut lifecycle, mut detect, mut transform) = (false, false, false);
    for export in &anatomy.exports {
        let Some(interface) = Interface::parse(export) else { continue };
        if !speaks(interface.version) {
            return Err(Refusal::WrongVersion(export.clone()));
        }
        lifecycle |= interface.name == "lifecycle";
        detect |= interface.name == "detect";
        transform |= interface.name == "transform";
    }
    match (detect, transform, lifecycle) {
        (true, true, _) => Err(Refusal::BothWorlds),
        (false, false, _) => Err(Refusal::NoWorld),
        (_, _, false) => Err(Refusal::NoLifecycle),
        (true, false, true) => Ok(World::Detector),
        (false, true, true) => Ok(World::Transformer),
    }
}

/// The version of the contract that exports or imports name first.
pub(crate) fn contract(anatomy: &Anatomy) -> Option<String> {
    let names = anatomy.exports.iter().chain(&anatomy.imports);
    let versions = names.filter_map(|name| Interface::parse(name.split('#').next().unwrap_or(name)));
    versions.map(|interface| interface.version.to_owned()).find(|version| !version.is_empty())
}

/// `leafgate:plugin/<name>@<version>`.
struct Interface<'a> {
    name: &'a str,
    version: &'a str,
}

impl<'a> Interface<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let rest = text.strip_prefix(PACKAGE)?;
        let (name, version) = rest.split_once('@').unwrap_or((rest, ""));
        Some(Interface { name, version })
    }
}

/// Patches of one minor version change no types, so any of them will do.
fn speaks(version: &str) -> bool {
    let patch = version.strip_prefix(CONTRACT).and_then(|rest| rest.strip_prefix('.'));
    patch.is_some_and(|patch| !patch.is_empty() && patch.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Lower-case hexadecimal, as `sha256sum` prints it.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_patches_of_the_contract_are_spoken() {
        for version in ["0.1.0", "0.1.17"] {
            assert!(speaks(version), "{version}");
        }
        for version in ["", "0.1", "0.1.", "0.10.0", "0.2.0", "1.1.0", "0.1.0-rc.1"] {
            assert!(!speaks(version), "{version}");
        }
    }

    #[test]
    fn a_core_import_keeps_its_version_when_the_field_is_cut_off() {
        let import = "leafgate:plugin/host@0.1.0.log".to_owned();
        let anatomy =
            Anatomy { layer: Layer::CoreModule, imports: vec![import], exports: vec![], typed: true };
        assert!(check_imports(&anatomy).is_ok());
    }

    #[test]
    fn a_digest_is_printed_as_sha256sum_does() {
        assert_eq!(hex(&[0x00, 0x0f, 0xa0]), "000fa0");
    }
}
