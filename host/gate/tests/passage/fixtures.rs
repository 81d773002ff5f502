//! Recorded requests, read from where they lie: they are not part of this repository.

use std::path::PathBuf;

use bytes::Bytes;

/// The recorded requests of a format, or `None` with a word where there are none. In CI they must be there.
pub(crate) fn requests(format: &str) -> Option<Vec<(String, Bytes)>> {
    let root = std::env::var_os("LEAFGATE_FIXTURES").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/fixtures")),
        PathBuf::from,
    );
    let Ok(entries) = std::fs::read_dir(root.join(format)) else {
        assert_ne!(
            std::env::var("CI").as_deref(),
            Ok("true"),
            "the recordings are missing: set LEAFGATE_FIXTURES"
        );
        println!("skipped: no recordings in {}; set LEAFGATE_FIXTURES", root.display());
        return None;
    };
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.to_string_lossy().ends_with(".request.json"));
    files.sort();
    assert!(!files.is_empty(), "there are recordings of {format}");
    let read = |path: PathBuf| (path.display().to_string(), std::fs::read(&path).unwrap().into());
    Some(files.into_iter().map(read).collect())
}
