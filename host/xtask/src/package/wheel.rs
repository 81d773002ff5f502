//! The wheel for pip (PyPA, binary distribution format): the program as a script, and nothing that is imported.

use std::fs;
use std::path::Path;

use anyhow::Result;

use super::program::Target;
use super::{Package, fresh};
use crate::run::{run, step};

/// Writes it.
pub(super) fn wheel(package: &Package, target: Target, stage: &Path) -> Result<()> {
    if !package.wants("wheel") {
        return Ok(());
    }
    step(&format!("writes the wheel for {}", target.python));
    let version = &package.version;
    let folder = stage.join("wheel");
    let (scripts, info) = (
        folder.join(format!("leafgate-{version}.data/scripts")),
        folder.join(format!("leafgate-{version}.dist-info")),
    );
    fresh(&scripts)?;
    fresh(&info)?;
    fs::copy(stage.join("leafgate"), scripts.join("leafgate"))?;
    let metadata = format!(
        "Metadata-Version: 2.1\nName: leafgate\nVersion: {version}\nSummary: Gate between programs and language models\n\
         License: Apache-2.0\nRequires-Python: >=3.8\n"
    );
    fs::write(info.join("METADATA"), metadata)?;
    let tags: String = target.python.split('.').map(|tag| format!("Tag: py3-none-{tag}\n")).collect();
    let wheel = format!("Wheel-Version: 1.0\nGenerator: leafgate\nRoot-Is-Purelib: false\n{tags}");
    fs::write(info.join("WHEEL"), wheel)?;
    super::readable(&folder)?;
    let mut pack = package.command("python");
    pack.args(["-m", "wheel", "pack", "--dest-dir"]).arg(&package.out).arg(&folder);
    run(&mut pack)
}
