//! `--check`: each parcel is installed where nothing else is, and used: `host/xtask/package/check` has a script for each.
//!
//! Needs root, and from Debian: mmdebstrap, systemd-container, lintian, rpm, rpmlint, curl. Only what was built is looked at.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use super::program::Target;
use super::{Package, fresh};
use crate::run::{run, step};

/// What a Debian has that the package is installed into: no Rust.
const DEBIAN: &str = "--include=python3,ca-certificates,systemd";

/// Looks at all that was built.
pub(super) fn check(package: &Package) -> Result<()> {
    let builds = |target: fn(Target) -> bool| package.options.targets.iter().any(|built| target(*built));
    if builds(|target| !target.is_static()) && package.wants("deb") {
        linted(package, "lintian", &["--fail-on", "error"], "deb")?;
        debian(package)?;
    }
    if builds(|target| !target.is_static()) && package.wants("rpm") {
        linted(package, "rpmlint", &["--config", "host/xtask/package/rpmlint.toml"], "rpm")?;
    }
    if package.wants("wheel") {
        script(package, "wheel")?;
    }
    // npm takes the static program only where the C library is musl.
    if builds(|target| !target.is_static()) && package.wants("npm") {
        script(package, "npm")?;
    }
    if builds(Target::is_static) && package.wants("image") {
        script(package, "image")?;
    }
    Ok(())
}

/// What the scripts of a check are given: where parcels are, and where they are themselves.
fn script(package: &Package, kind: &str) -> Result<()> {
    step(&format!("installs and uses: {kind}"));
    let scripts = package.parts().join("check");
    let mut command = Command::new("sh");
    run(command.arg(scripts.join(format!("{kind}.sh"))).arg(&package.out).arg(scripts))
}

/// The package in a Debian of its own, which boots with systemd; it is kept for the next time as it was at first.
fn debian(package: &Package) -> Result<()> {
    step("installs, upgrades and removes the package in a Debian of its own");
    let (kept, root) = (package.stage.join("debian.tar"), package.stage.join("debian"));
    if !kept.exists() {
        let mut make = Command::new("mmdebstrap");
        run(make.args(["--quiet", "--variant=minbase", DEBIAN, "bookworm"]).arg(&kept))?;
    }
    fresh(&root)?;
    run(Command::new("tar").arg("-xf").arg(&kept).arg("-C").arg(&root))?;
    copied(&package.out, &root.join("parcels"))?;
    copied(&package.parts().join("check"), &root.join("check"))?;
    let units = root.join("etc/systemd/system");
    fs::copy(root.join("check/check.service"), units.join("check.service"))?;
    symlink("../check.service", units.join("multi-user.target.wants/check.service"))?;
    let mut boot = Command::new("timeout");
    boot.args(["300", "systemd-nspawn", "--quiet", "--boot", "--register=no", "--keep-unit"]);
    boot.args(["--private-network", "--directory"]).arg(&root);
    // It speaks of each of its units, and cannot always take its mounts back.
    boot.output().context("cannot run `systemd-nspawn` (Debian: systemd-container)")?;
    let written = |name: &str| fs::read_to_string(root.join("check").join(name)).unwrap_or_default();
    println!("{}", written("said"));
    ensure!(written("code").trim() == "0", "the package does not hold: see above");
    Ok(())
}

/// Copies the files of a folder.
fn copied(from: &Path, to: &Path) -> Result<()> {
    fresh(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        fs::copy(entry.path(), to.join(entry.file_name()))?;
    }
    Ok(())
}

fn linted(package: &Package, linter: &str, arguments: &[&str], ending: &str) -> Result<()> {
    step(&format!("{linter} looks at the packages"));
    let mut files = Vec::new();
    for entry in fs::read_dir(&package.out)? {
        files.push(entry?.path());
    }
    files.retain(|file| file.extension().is_some_and(|found| found == ending));
    ensure!(!files.is_empty(), "there is no {ending} in {}", package.out.display());
    run(package.command(linter).args(arguments).args(files))
}
