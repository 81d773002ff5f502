//! Where recordings and labelled rows lie: outside this repository.

use std::path::{Path, PathBuf};

/// Gives the folder that `variable` names, else `../shared/<name>` beside the repository.
///
/// Where there is none the test has nothing to do and says so; in CI that is a failure.
pub(crate) fn folder(variable: &str, name: &str) -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared").join(name);
    let folder = std::env::var_os(variable).map_or(beside, PathBuf::from);
    if folder.is_dir() {
        return Some(folder);
    }
    assert!(std::env::var_os("CI").is_none(), "no folder {}: set {variable}", folder.display());
    println!("skipped: no folder {}; set {variable}", folder.display());
    None
}
