//! What tells parcels apart and what they hold: SHA-256 sums, the bill of materials, the formula for Homebrew.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};

use super::program::Target;
use super::{Package, fresh, said};
use crate::run::{run, step};

/// The bill of materials (CycloneDX 1.5) of the program.
pub(super) fn bill_of_materials(package: &Package) -> Result<()> {
    if !package.wants("sbom") {
        return Ok(());
    }
    step("writes the bill of materials");
    // In a clone: each crate of the workspace gets a file in its folder.
    let clone = package.stage.join("bill");
    fresh(&clone)?;
    run(Command::new("git").args(["clone", "--quiet", "--shared"]).arg(&package.root).arg(&clone))?;
    let mut command = package.command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["cyclonedx", "--quiet", "--format", "json", "--spec-version", "1.5"]);
    command.args(["--override-filename", "leafgate", "--manifest-path", "host/cli/Cargo.toml"]);
    run(command.current_dir(&clone))?;
    let text =
        fs::read_to_string(clone.join("host/cli/leafgate.json")).context("cargo cyclonedx wrote no bill")?;
    // A number that is drawn anew each time, and the path of the clone.
    let kept = text.lines().filter(|line| !line.trim_start().starts_with("\"serialNumber\""));
    let text =
        kept.map(|line| line.replace(&*clone.to_string_lossy(), "leafgate") + "\n").collect::<String>();
    fs::write(package.out.join(format!("leafgate-{}.cdx.json", package.version)), text)?;
    Ok(())
}

/// The formula for Homebrew on Linux, with the sums of the archives, where all of them were made.
pub(super) fn formula(package: &Package) -> Result<()> {
    let mut text = fs::read_to_string(package.parts().join("leafgate.rb"))?;
    for target in Target::ALL.into_iter().filter(|target| target.is_static()) {
        let archive = package.out.join(format!("leafgate-{}-{}.tar.gz", package.version, target.triple));
        if !archive.exists() {
            return Ok(());
        }
        let sum = said(package.command("sha256sum").arg(archive))?;
        let sum = sum.split_whitespace().next().unwrap_or_default();
        text = text.replace(&format!("@SHA256_{}@", target.debian), sum);
    }
    let url = package.options.url.as_deref().unwrap_or("file://#{__dir__}");
    text = text.replace("@VERSION@", &package.version).replace("@URL@", url);
    fs::write(package.out.join("leafgate.rb"), text)?;
    Ok(())
}

/// Writes the sum of each parcel, as `sha256sum --check` and `leafgate self verify` read them, and returns them.
pub(super) fn sums(folder: &Path) -> Result<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        names.push(entry?.file_name());
    }
    names.sort();
    let sums = said(Command::new("sha256sum").args(&names).current_dir(folder))? + "\n";
    fs::write(folder.join("SHA256SUMS"), &sums)?;
    Ok(sums)
}
