//! Compiled code from disk: it is used where nobody changed it, and otherwise compiled anew.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::support::guest::{Guest, finding};
use crate::support::{load_bytes, text};
use leafgate_contract::{LoadError, Plugin, Spent};
use leafgate_wasm::{CodeCache, Compiler, LoaderConfig, WasmLoader};

/// A compiler that compiles nothing: what loads with it was on disk.
fn no_compiler() -> Compiler {
    Compiler::Process { program: "/bin/false".into(), arguments: vec![] }
}

fn loaded(folder: &Path, compiler: Compiler, config: &str) -> Result<Arc<dyn Plugin>, LoadError> {
    let cache = CodeCache::open(folder.to_owned(), [7; 32]).ok().map(Arc::new);
    let loader = WasmLoader::new(LoaderConfig { compiler, cache, ..LoaderConfig::default() }).unwrap();
    let plugin = load_bytes(&loader, &Guest::detector().call(finding(0, 0, 4, 0)).module(), config)?;
    let findings = plugin.detect(&[text("good")], &Spent::default()).unwrap().into_vec();
    assert_eq!(findings[0].at, 0..4);
    Ok(plugin)
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn a_plugin_that_was_compiled_once_is_not_compiled_again() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("code");
    assert!(loaded(&folder, no_compiler(), "{}").is_err(), "nothing is there yet");
    loaded(&folder, Compiler::InPlace, "{}").unwrap();
    loaded(&folder, no_compiler(), "{}").unwrap();
    // The code as it came, and configured.
    assert_eq!(entries(&folder).len(), 2);
}

#[test]
fn code_that_was_changed_on_disk_is_never_run() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("code");
    loaded(&folder, Compiler::InPlace, "{}").unwrap();
    for entry in entries(&folder) {
        let mut bytes = fs::read(&entry).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(&entry, bytes).unwrap();
    }
    let refused = loaded(&folder, no_compiler(), "{}").unwrap_err();
    assert!(refused.message.contains("does not compile"), "{refused}");
    loaded(&folder, Compiler::InPlace, "{}").unwrap();
    loaded(&folder, no_compiler(), "{}").expect("what was bad is replaced");
}

#[test]
fn a_folder_that_takes_no_file_is_no_reason_not_to_load() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("code");
    let cache = Arc::new(CodeCache::open(folder.clone(), [7; 32]).unwrap());
    fs::remove_dir(&folder).unwrap();
    let config = LoaderConfig { cache: Some(cache), ..LoaderConfig::default() };
    let loader = WasmLoader::new(config).unwrap();
    load_bytes(&loader, &Guest::detector().module(), "{}").unwrap();
    assert!(!folder.exists());
}
