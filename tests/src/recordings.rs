//! Recorded request bodies, which lie outside the repository.

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
    let Some(root) = leafgate_harness::recordings::fixtures() else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root.join(format)).into_iter().flatten() {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.ends_with(".request.json") {
            let body = std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
            found.push(Recording { name, path, body });
        }
    }
    found.sort_by(|left, right| left.name.cmp(&right.name));
    Ok(found)
}
