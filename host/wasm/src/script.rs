//! What runs a file of JavaScript: the engine, whose configuration the source is.
//!
//! The engine is a component like any other, built in this repository (`plugins/javascript`) and
//! part of this program. So a script has the sandbox, the limits and the faults of every plugin; only
//! what is wrong with it is told by line and column (`leafgate_admission::Script`).

use std::path::Path;

use leafgate_admission::{Exports, Version};
use leafgate_contract::World;

use crate::bindings::lifecycle;

/// The engine, started and without a source.
pub(crate) const ENGINE: &[u8] = include_bytes!("../../../plugins/javascript/engine.wasm");

/// The attribute by which the engine says what a source exports.
const WORLD: &str = "world";

/// Returns true for the files that are run by the engine.
pub(crate) fn is_script(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "js")
}

/// The engine's exports of one world. It has both.
pub(crate) fn exports(world: World) -> Exports {
    let version = Version { major: 0, minor: 1 };
    Exports { world, lifecycle: version.interface("lifecycle"), work: version.interface(world.function()) }
}

/// The engine's word for what a source exports.
pub(crate) fn world(said: &lifecycle::Description) -> Option<&str> {
    said.attributes.iter().find(|attribute| attribute.name == WORLD).map(|attribute| &*attribute.value)
}
