//! Recorded requests, read from where they lie: they are not part of this repository.

use std::path::PathBuf;

use bytes::Bytes;

/// The recorded requests of a format, or `None` with a word where there are none. In CI they must be there.
pub(crate) fn requests(format: &str) -> Option<Vec<(String, Bytes)>> {
    let folder = leafgate_harness::recordings::fixtures()?.join(format);
    let entries = std::fs::read_dir(folder).unwrap();
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.to_string_lossy().ends_with(".request.json"));
    files.sort();
    assert!(!files.is_empty(), "there are recordings of {format}");
    let read = |path: PathBuf| (path.display().to_string(), std::fs::read(&path).unwrap().into());
    Some(files.into_iter().map(read).collect())
}
