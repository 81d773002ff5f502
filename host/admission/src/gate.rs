//! The steps that a file passes before any of it is compiled: size, magic, digest, signature,
//! wrapping, imports, version, world.
//!
//! Nothing here runs guest code. An admitted component imports only what the contract offers, and
//! its exports name one world.

use std::path::Path;

use leafgate_contract::{PluginSource, Signer, World};
use leafgate_folder::ReadError;
use sha2::{Digest as _, Sha256};

use crate::anatomy::{self, Anatomy, FileLayer, read};
use crate::contract::{Contract, Interface, Version};
use crate::refusal::Refusal;
use crate::signature::Signatures;
use crate::wrap::wrap;

/// A file's bytes and their SHA-256.
#[derive(Clone)]
pub struct Binary {
    /// The whole file.
    pub bytes: Vec<u8>,
    /// SHA-256 of it.
    pub digest: [u8; 32],
}

/// A component that may be compiled.
pub struct Admitted {
    /// What the file was.
    pub layer: FileLayer,
    /// The file itself, or the component that its module was wrapped as.
    pub component: Vec<u8>,
    /// What is called of it.
    pub exports: Exports,
}

/// The world of a component, and the full names of the interfaces that are called.
#[derive(Clone, Debug)]
pub struct Exports {
    /// Detector or transformer.
    pub world: World,
    /// Full name of `lifecycle`.
    pub lifecycle: String,
    /// Full name of `detect` or `transform`.
    pub work: String,
}

impl Binary {
    /// Reads a regular file, but no more of it than allowed: a growing file must not fill the
    /// host's memory.
    ///
    /// # Errors
    /// What is no regular file, or larger than `limit` bytes.
    pub fn read(path: &Path, limit: usize) -> Result<Self, Refusal> {
        let bytes = leafgate_folder::read(path, limit).map_err(|error| match error {
            ReadError::TooLarge { limit } => Refusal::TooLarge { limit },
            error => Refusal::Unreadable { path: path.display().to_string(), error },
        })?;
        Ok(Binary::new(bytes))
    }

    /// Takes the bytes of a file.
    pub fn new(bytes: Vec<u8>) -> Self {
        let digest = Sha256::digest(&bytes).into();
        Binary { bytes, digest }
    }
}

/// Checks that the file is WebAssembly and the very one that the rule file pins.
///
/// # Errors
/// What is no WebAssembly, or not the file that is pinned.
pub fn identify(binary: &Binary, pinned: Option<[u8; 32]>) -> Result<FileLayer, Refusal> {
    let layer = anatomy::layer(&binary.bytes).ok_or(Refusal::NotWasm)?;
    check_pin(binary, pinned).map(|()| layer)
}

/// Checks that the file is the very one that the rule file pins.
///
/// # Errors
/// Another file than the one that is pinned.
pub fn check_pin(binary: &Binary, pinned: Option<[u8; 32]>) -> Result<(), Refusal> {
    match pinned {
        Some(expected) if expected != binary.digest => {
            let [expected, actual] =
                [expected, binary.digest].map(|digest| base16ct::lower::encode_string(&digest));
            Err(Refusal::WrongDigest { expected, actual })
        }
        _ => Ok(()),
    }
}

/// Checks that one of those who may sign has signed this very file, where that is asked for.
///
/// # Errors
/// Signatures that cannot be read, or none of theirs of this file.
pub fn check_signed(binary: &Binary, source: &PluginSource) -> Result<(), Refusal> {
    let Some(signers) = &source.signers else { return Ok(()) };
    let verified = Signatures::of(&source.path).map_err(Refusal::Signatures)?.verify(&binary.digest);
    let counts = |signer: &Signer| signers.contains(signer);
    if verified.signed.iter().any(counts) {
        return Ok(());
    }
    match verified.stale.into_iter().find(counts) {
        Some(signer) => Err(Refusal::SignedOther { signer }),
        None => Err(Refusal::Unsigned { by: verified.signed }),
    }
}

/// Wraps a core module, checks imports and version, and reads the world from the exports.
///
/// # Errors
/// The first thing that keeps a file from being a plugin.
pub fn admit(binary: &Binary, contract: Contract) -> Result<Admitted, Refusal> {
    let outer = read(&binary.bytes)?;
    check_imports(&outer, contract)?;
    let component = match outer.layer {
        FileLayer::Component => binary.bytes.clone(),
        FileLayer::CoreModule if !outer.typed => return Err(Refusal::NoTypeInfo),
        FileLayer::CoreModule => wrap(&binary.bytes)?,
    };
    // The wrapped module is checked like any other component: its names come from the module's own
    // metadata.
    let inner = read(&component)?;
    check_imports(&inner, contract)?;
    Ok(Admitted { layer: outer.layer, exports: exports(&inner, contract)?, component })
}

/// Allows the one interface that plugins can call, and the one that holds nothing but types.
fn check_imports(anatomy: &Anatomy, contract: Contract) -> Result<(), Refusal> {
    let mut foreign = Vec::new();
    for import in &anatomy.imports {
        let interface = match anatomy.layer {
            FileLayer::Component => import.as_str(),
            // `module.field`: a module's name contains dots where it has a version, a field of the
            // contract has none.
            FileLayer::CoreModule => import.rsplit_once('.').map_or(import.as_str(), |(module, _)| module),
        };
        match Interface::parse(interface) {
            Some(Interface { name: "host" | "types", version }) => {
                contract.speaks(version).map_err(|why| Refusal::version(interface, contract, why))?;
            }
            _ => foreign.push(import.clone()),
        }
    }
    if foreign.is_empty() { Ok(()) } else { Err(Refusal::ForeignImports(foreign)) }
}

/// Reads the world from the exports. Other exports do no harm, since they are never called. Where
/// an interface is exported in several versions, the newest one that the host speaks is called.
///
/// # Errors
/// Exports that are no world of the contract, or of two.
pub fn exports(anatomy: &Anatomy, contract: Contract) -> Result<Exports, Refusal> {
    let detect = newest("detect", anatomy, contract)?;
    let transform = newest("transform", anatomy, contract)?;
    let lifecycle = newest("lifecycle", anatomy, contract)?;
    let (world, work) = match (detect, transform) {
        (Some(_), Some(_)) => return Err(Refusal::BothWorlds),
        (None, None) => return Err(Refusal::NoWorld),
        (Some(detect), None) => (World::Detector, detect),
        (None, Some(transform)) => (World::Transformer, transform),
    };
    let lifecycle = lifecycle.ok_or(Refusal::NoLifecycle)?;
    Ok(Exports { world, lifecycle, work })
}

/// Returns the full name of an exported interface, `None` where no version of it is exported.
fn newest(name: &str, anatomy: &Anatomy, contract: Contract) -> Result<Option<String>, Refusal> {
    let mut spoken: Option<(Version, &String)> = None;
    let mut unspoken = None;
    for export in &anatomy.exports {
        let Some(interface) = Interface::parse(export).filter(|interface| interface.name == name) else {
            continue;
        };
        match contract.speaks(interface.version) {
            Ok(version) if spoken.is_none_or(|(newest, _)| version > newest) => {
                spoken = Some((version, export))
            }
            Ok(_) => {}
            Err(why) => unspoken = Some(Refusal::version(export, contract, why)),
        }
    }
    match (spoken, unspoken) {
        (Some((_, export)), _) => Ok(Some(export.clone())),
        (None, Some(refusal)) => Err(refusal),
        (None, None) => Ok(None),
    }
}

/// Returns the version of the contract that exports or imports name first.
pub fn contract(anatomy: &Anatomy) -> Option<String> {
    let names = anatomy.exports.iter().chain(&anatomy.imports);
    let versions = names.filter_map(|name| Interface::parse(name.split('#').next().unwrap_or(name)));
    versions.map(|interface| interface.version.to_owned()).find(|version| !version.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::CONTRACT;

    #[test]
    fn a_core_import_keeps_its_version_when_the_field_is_cut_off() {
        let import = "leafgate:plugin/host@0.1.0.log".to_owned();
        let anatomy =
            Anatomy { layer: FileLayer::CoreModule, imports: vec![import], exports: vec![], typed: true };
        assert!(check_imports(&anatomy, CONTRACT).is_ok());
    }
}
