//! `plugin build`: has cargo or componentize-py build a project, and finds what it built.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};
use serde::Deserialize;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::args::BuildArgs;
use super::{python, source};
use crate::print::{Exit, Printer};

const TARGET: &str = "wasm32-unknown-unknown";

/// One line of what cargo says about a build.
#[derive(Deserialize)]
struct CargoMessage {
    reason: String,
    #[serde(default)]
    manifest_path: PathBuf,
    #[serde(default)]
    filenames: Vec<PathBuf>,
}

pub(super) fn run(args: &BuildArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    // A script is what it is built into.
    let file = match source::script_of(&args.folder)? {
        Some(script) => script,
        None => build(&args.folder, args.profile.as_deref())?,
    };
    let bytes = fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let file = file.display().to_string();
    let sha256 = base16ct::lower::encode_string(&Sha256::digest(&bytes));
    printer.show(&json!({ "file": file, "bytes": bytes.len(), "sha256": sha256 }), |_, printer| {
        printer.facts(&[
            ("file", file.clone()),
            ("size", format!("{} bytes", bytes.len())),
            ("sha256", sha256.clone()),
        ])
    })
}

/// Builds a project. What the compiler says goes to standard error.
pub(super) fn build(folder: &Path, profile: Option<&str>) -> anyhow::Result<PathBuf> {
    let shown = folder.display();
    let manifest = folder.join("Cargo.toml");
    if !manifest.is_file() && folder.join(python::MANIFEST).is_file() {
        if profile.is_some() {
            bail!("`--profile` is one of cargo, and {shown} is a project in Python");
        }
        return python::build(folder);
    }
    if !manifest.is_file() {
        bail!(
            "{shown} is no project of a plugin: it has neither Cargo.toml nor {}; `leafgate plugin new NAME` begins \
             one, and a plugin that another tool builds is named by its file",
            python::MANIFEST
        );
    }
    let manifest = manifest.canonicalize().with_context(|| format!("cannot find {shown}"))?;
    let profile = match profile {
        Some(profile) => profile.to_owned(),
        None => own_profile(&manifest)?,
    };
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let output = Command::new(cargo)
        .args([
            "build",
            "--profile",
            &profile,
            "--target",
            TARGET,
            "--message-format=json-render-diagnostics",
        ])
        .arg("--manifest-path")
        .arg(&manifest)
        // Its `.cargo/config.toml` counts where cargo runs, not where the manifest is.
        .current_dir(manifest.parent().unwrap_or(folder))
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .context("cargo cannot be run; https://rustup.rs installs it")?;
    if !output.status.success() {
        bail!(
            "{shown} does not build; `rustup target add {TARGET}` adds the target, if that is what is missing"
        );
    }
    built(&output.stdout, &manifest).with_context(|| {
        format!("{shown} builds no plugin: its `[lib]` needs `crate-type = [\"cdylib\", \"rlib\"]`")
    })
}

/// `plugin` where the project has it: optimised, and a panic is a trap.
fn own_profile(manifest: &Path) -> anyhow::Result<String> {
    let text = fs::read_to_string(manifest).with_context(|| format!("cannot read {}", manifest.display()))?;
    let manifest: toml::Table =
        source::read_toml(&text).with_context(|| format!("cannot read {}", manifest.display()))?;
    let has = manifest.get("profile").is_some_and(|profiles| profiles.get("plugin").is_some());
    Ok(if has { "plugin" } else { "release" }.to_owned())
}

/// The WebAssembly that cargo built of the package itself.
fn built(messages: &[u8], manifest: &Path) -> Option<PathBuf> {
    let lines = messages.split(|&byte| byte == b'\n');
    let messages = lines.filter_map(|line| serde_json::from_slice::<CargoMessage>(line).ok());
    let of_package =
        messages.filter(|message| message.reason == "compiler-artifact" && message.manifest_path == manifest);
    let mut files = of_package.flat_map(|message| message.filenames);
    files.find(|file| file.extension().is_some_and(|extension| extension == "wasm"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_package_itself_is_what_was_built() {
        let messages = br#"{"reason":"compiler-artifact","manifest_path":"/x/dep/Cargo.toml","filenames":["/t/dep.wasm"]}
{"reason":"compiler-message","manifest_path":"/x/Cargo.toml"}
no json
{"reason":"compiler-artifact","manifest_path":"/x/Cargo.toml","filenames":["/t/libx.rlib","/t/x.wasm"]}
{"reason":"build-finished","success":true}"#;
        assert_eq!(built(messages, Path::new("/x/Cargo.toml")), Some(PathBuf::from("/t/x.wasm")));
        assert_eq!(built(messages, Path::new("/y/Cargo.toml")), None);
    }
}
