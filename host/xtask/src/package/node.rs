//! Packages for npm: one per system with the program alone, and a wrapper that names them all. None runs anything when it is installed.
//!
//! Whoever publishes them publishes the wrapper last: it names the others in its own version.

use std::fs;
use std::path::Path;

use anyhow::Result;

use super::program::Target;
use super::{Package, fresh};
use crate::run::{run, step};

fn name(target: Target) -> String {
    format!("leafgate-linux-{}{}", target.node, if target.is_static() { "-musl" } else { "" })
}

/// Writes the package of a system.
pub(super) fn platform(package: &Package, target: Target, stage: &Path) -> Result<()> {
    if !package.wants("npm") {
        return Ok(());
    }
    let (name, version) = (name(target), &package.version);
    step(&format!("writes {name} for npm"));
    let folder = stage.join("npm");
    fresh(&folder.join("bin"))?;
    fs::copy(stage.join("leafgate"), folder.join("bin/leafgate"))?;
    let libc = if target.is_static() { "musl" } else { "glibc" };
    let described = format!(
        "{{\n  \"name\": \"{name}\",\n  \"version\": \"{version}\",\n  \"description\": \"Leafgate for Linux, {}, {libc}\",\n  \
         \"license\": \"Apache-2.0\",\n  \"os\": [\"linux\"],\n  \"cpu\": [\"{}\"],\n  \"libc\": [\"{libc}\"],\n  \
         \"files\": [\"bin/leafgate\"]\n}}\n",
        target.node, target.node
    );
    fs::write(folder.join("package.json"), described)?;
    packed(package, &folder)
}

/// Writes the package that people name.
pub(super) fn wrapper(package: &Package) -> Result<()> {
    if !package.wants("npm") {
        return Ok(());
    }
    step("writes leafgate for npm");
    let folder = package.stage.join("npm");
    fresh(&folder.join("bin"))?;
    fs::copy(package.parts().join("npm/leafgate.js"), folder.join("bin/leafgate.js"))?;
    fs::copy(package.root.join("README.md"), folder.join("README.md"))?;
    let version = &package.version;
    let all = Target::ALL.map(|target| format!("    \"{}\": \"{version}\"", name(target))).join(",\n");
    let described = format!(
        "{{\n  \"name\": \"leafgate\",\n  \"version\": \"{version}\",\n  \
         \"description\": \"Gate between programs and language models\",\n  \"license\": \"Apache-2.0\",\n  \
         \"bin\": {{ \"leafgate\": \"bin/leafgate.js\" }},\n  \"files\": [\"bin/leafgate.js\"],\n  \
         \"engines\": {{ \"node\": \">=18\" }},\n  \"optionalDependencies\": {{\n{all}\n  }}\n}}\n"
    );
    fs::write(folder.join("package.json"), described)?;
    packed(package, &folder)
}

/// npm sets every time in the archive to one and the same.
fn packed(package: &Package, folder: &Path) -> Result<()> {
    super::readable(folder)?;
    let mut pack = package.command("npm");
    pack.args(["pack", "--silent", "--ignore-scripts", "--pack-destination"]).arg(&package.out);
    run(pack.current_dir(folder))
}
