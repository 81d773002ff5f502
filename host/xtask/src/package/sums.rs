//! What tells parcels apart and what they hold: SHA-256 sums, the bill of materials, the formula for Homebrew.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};

use super::program::Target;
use super::{Package, said};
use crate::run::step;

/// The bill of materials of the program (CycloneDX 1.5): the crates of all targets, without what builds them. cargo-cyclonedx says no more of
/// them, and takes as long to build as a third of the gate.
pub(super) fn bill_of_materials(package: &Package) -> Result<()> {
    if !package.wants("sbom") {
        return Ok(());
    }
    step("writes the bill of materials");
    let mut crates = BTreeSet::new();
    for target in &package.options.targets {
        let mut tree = package.command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        tree.args(["tree", "--locked", "--package", "leafgate", "--edges", "normal,no-proc-macro"]);
        tree.args(["--prefix", "none", "--format", "{p}|{l}|", "--target", target.triple]);
        crates.extend(said(&mut tree)?.lines().map(|line| line.trim_end_matches(" (*)").to_owned()));
    }
    let lock = fs::read_to_string(package.root.join("Cargo.lock"))?;
    let components: Result<Vec<_>> = crates.iter().map(|line| component(line, &lock)).collect();
    let bill = format!(
        "{{\n  \"bomFormat\": \"CycloneDX\",\n  \"specVersion\": \"1.5\",\n  \"version\": 1,\n  \
         \"metadata\": {{\"timestamp\": \"{}\", \"component\": {{\"type\": \"application\", \"name\": \"leafgate\", \
         \"version\": \"{}\"}}}},\n  \"components\": [\n    {}\n  ]\n}}\n",
        package.time()?,
        package.version,
        components?.join(",\n    ")
    );
    fs::write(package.out.join(format!("leafgate-{}.cdx.json", package.version)), bill)?;
    Ok(())
}

/// Returns a crate as the bill has it: `NAME vVERSION (WHERE)|LICENCE|`, with its sum from the lockfile where it is not ours.
fn component(line: &str, lock: &str) -> Result<String> {
    let mut fields = line.split('|');
    let mut words = fields.next().unwrap_or_default().split(' ');
    let (name, version) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let version = version.strip_prefix('v').with_context(|| format!("cargo tree wrote `{line}`"))?;
    // Older crates write a stroke.
    let licence = fields.next().unwrap_or_default().replace(" / ", " OR ").replace('/', " OR ");
    let entry = lock
        .split("\n\n")
        .find(|entry| entry.contains(&format!("name = \"{name}\"\nversion = \"{version}\"\n")));
    let sum = entry.and_then(|entry| entry.split("checksum = \"").nth(1)?.split('"').next());
    let sum = sum.map_or_else(String::new, |sum| {
        format!(", \"hashes\": [{{\"alg\": \"SHA-256\", \"content\": \"{sum}\"}}]")
    });
    let place = format!("pkg:cargo/{name}@{}", version.replace('+', "%2B"));
    Ok(format!(
        "{{\"type\": \"library\", \"bom-ref\": \"{place}\", \"name\": \"{name}\", \"version\": \"{version}\", \
         \"purl\": \"{place}\", \"licenses\": [{{\"expression\": \"{licence}\"}}]{sum}}}"
    ))
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
