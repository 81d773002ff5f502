//! Where things lie.

use std::path::{Path, PathBuf};

/// Returns the root of the repository.
pub(crate) fn root() -> PathBuf {
    // Without `..` in it: programs that are started by this path tell it as they see it.
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap_or(Path::new("/")).to_owned()
}

/// Returns where builds of this checkout go.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}
