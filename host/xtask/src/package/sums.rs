//! What tells parcels apart and what they hold: SHA-256 sums, the bill of materials, the formula for Homebrew.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

use super::program::Target;
use super::{Package, parts, said};
use crate::paths;
use crate::run::{run, step};

/// The bill of materials (CycloneDX 1.5) of the program.
pub(super) fn bill_of_materials(package: &Package) -> Result<()> {
    step("writes the bill of materials");
    let mut command = package.command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.env("PATH", package.tools.path());
    command.args([
        "cyclonedx",
        "--quiet",
        "--format",
        "json",
        "--spec-version",
        "1.5",
        "--override-filename",
        "leafgate.cdx",
    ]);
    run(command.args(["--manifest-path", "host/cli/Cargo.toml"]))?;
    let written = paths::root().join("host/cli/leafgate.cdx.json");
    let text = fs::read_to_string(&written).context("cargo cyclonedx wrote no bill")?;
    // Each crate of the workspace gets one; those beside ours are of no use.
    for entry in fs::read_dir(paths::root().join("host"))?.chain(fs::read_dir(paths::root().join("plugins"))?)
    {
        _ = fs::remove_file(entry?.path().join("leafgate.cdx.json"));
    }
    _ = fs::remove_file(paths::root().join("tests/leafgate.cdx.json"));
    let root = paths::root();
    // A number that is drawn anew each time, and the path of this checkout.
    let kept = text.lines().filter(|line| !line.trim_start().starts_with("\"serialNumber\""));
    let text = kept.map(|line| line.replace(&*root.to_string_lossy(), "leafgate") + "\n").collect::<String>();
    fs::write(package.out.join(format!("leafgate-{}.cdx.json", package.version)), text)?;
    Ok(())
}

/// The formula for Homebrew on Linux, with the sums of the archives.
pub(super) fn formula(package: &Package) -> Result<()> {
    let mut text = fs::read_to_string(parts().join("leafgate.rb"))?;
    for target in Target::ALL.into_iter().filter(|target| target.is_static()) {
        let name = format!("leafgate-{}-{}.tar.gz", package.version, target.triple);
        if !package.out.join(&name).exists() {
            continue;
        }
        let sum = said(package.command("sha256sum").arg(package.out.join(&name)))?;
        let sum = sum.split_whitespace().next().unwrap_or_default();
        text = text.replace(&format!("@SHA256_{}@", target.debian), sum);
    }
    text = text.replace("@VERSION@", &package.version).replace("@URL@", &package.options.url);
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
    let sums = said(std::process::Command::new("sha256sum").args(&names).current_dir(folder))? + "\n";
    fs::write(folder.join("SHA256SUMS"), &sums)?;
    Ok(sums)
}
