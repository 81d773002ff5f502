//! What the tests of this crate share.
#![allow(dead_code, unreachable_pub, reason = "each test binary uses a part of it")]

pub mod bundled;
pub mod guest;

use std::path::Path;
use std::sync::Arc;

use leafgate_policy::plugin::{
    DetectLeaf, LeafKind, LoadError, Plugin, PluginLoader as _, PluginSource, Role, ValueType,
};
use leafgate_wasm::WasmLoader;

/// Loads a file under the name `tested`.
pub fn load(loader: &WasmLoader, path: &Path, config: &str) -> Result<Arc<dyn Plugin>, LoadError> {
    let (name, path, config) = ("tested".to_owned(), path.to_owned(), config.to_owned());
    loader.load(&PluginSource { name, path, sha256: None, config })
}

/// Loads bytes as if they stood in a file.
pub fn load_bytes(loader: &WasmLoader, bytes: &[u8], config: &str) -> Result<Arc<dyn Plugin>, LoadError> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    load(loader, file.path(), config)
}

/// A text leaf of a user's message.
pub fn text(text: &str) -> DetectLeaf<'_> {
    let (kind, value, role) = (LeafKind::Text, ValueType::Text, Role::User);
    DetectLeaf { kind, value, role, tool: None, key: "content", text }
}
