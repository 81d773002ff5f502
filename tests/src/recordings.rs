//! Recorded request bodies, which lie outside the repository: `LEAFGATE_FIXTURES`, or `../shared/fixtures` beside it.

use std::path::PathBuf;

use anyhow::{Context as _, Result};

/// One recorded request.
pub struct Recording {
    /// Its file name.
    pub name: String,
    /// Where it lies.
    pub path: PathBuf,
    /// Its body, byte for byte.
    pub body: Vec<u8>,
}

/// The recorded requests of one format, in name order. Empty, and said so, where there are none; in CI that is a failure.
///
/// # Errors
/// When a recording cannot be read.
///
/// # Panics
/// With `CI=true` and no recordings.
pub fn requests(format: &str) -> Result<Vec<Recording>> {
    let root = std::env::var_os("LEAFGATE_FIXTURES")
        .map_or_else(|| crate::paths::root().join("../shared/fixtures"), PathBuf::from);
    let folder = root.join(format);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(&folder).into_iter().flatten() {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.ends_with(".request.json") {
            let body = std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
            found.push(Recording { name, path, body });
        }
    }
    found.sort_by(|left, right| left.name.cmp(&right.name));
    if found.is_empty() {
        crate::skip(&format!("no recorded requests at {}; set LEAFGATE_FIXTURES", folder.display()));
    }
    Ok(found)
}
