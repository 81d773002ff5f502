//! Recorded requests: those that every clone has, and those outside the repository where they are.

use bytes::Bytes;
use leafgate_harness::recordings;

/// The recorded requests of a format.
pub(crate) fn requests(format: &str) -> Vec<(String, Bytes)> {
    let files = recordings::read(format, ".request.json");
    assert!(!files.is_empty(), "every clone has recordings of {format}");
    files.into_iter().map(|file| (file.name, file.body.into())).collect()
}
