//! The plugins of this repository, built once per test run.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The packages of all plugins of this repository.
pub(crate) const PLUGINS: [&str; 8] = [
    "company-terms",
    "detect-injection",
    "normalise-timestamps",
    "redact-names",
    "rewrite-home-paths",
    "shorten-json",
    "strip-ansi",
    "trim-tool-results",
];

/// The file of a bundled plugin, named as its package.
pub(crate) fn bundled(package: &str) -> PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let folder = FOLDER.get_or_init(build);
    folder.join(format!("{}.wasm", package.replace('-', "_")))
}

/// Builds into a target folder of its own: the one of the running tests is locked by whoever runs
/// them.
fn build() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let target = root.join("target/plugins");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args([
        "build",
        "--quiet",
        "--locked",
        "--profile",
        "plugin",
        "--target",
        "wasm32-unknown-unknown",
    ]);
    for package in PLUGINS {
        command.args(["-p", package]);
    }
    // Coverage and sanitizer flags of the tests are not for plugins.
    command.current_dir(&root).env("CARGO_TARGET_DIR", &target).env_remove("RUSTFLAGS");
    let status = command.status().expect("cargo can be run");
    assert!(status.success(), "the bundled plugins do not build");
    target.join("wasm32-unknown-unknown/plugin")
}
