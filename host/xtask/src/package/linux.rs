//! Packages of distributions: deb, rpm and Arch with the old C library, apk without any; and archives of both.

use std::fs;
use std::path::Path;

use anyhow::Result;

use super::Package;
use super::program::Target;
use crate::run::{run, step};

/// Writes them.
pub(super) fn parcels(package: &Package, target: Target, stage: &Path) -> Result<()> {
    let formats: &[&str] = if target.is_static() { &["apk"] } else { &["deb", "rpm", "archlinux"] };
    for format in formats.iter().filter(|format| package.wants(format)) {
        step(&format!("writes the package for {format}, {}", target.debian));
        let file = stage.join(format!("{format}.yaml"));
        fs::write(&file, described(package, target, stage, format)?)?;
        let mut nfpm = package.command("nfpm");
        nfpm.args(["package", "--packager", format, "--config"]).arg(&file);
        run(nfpm.arg("--target").arg(&package.out))?;
    }
    if package.wants("tar") { archive(package, target, stage) } else { Ok(()) }
}

/// Fills in the description.
fn described(package: &Package, target: Target, stage: &Path, format: &str) -> Result<String> {
    let depends = match format {
        "deb" => "\"libc6 (>= 2.28)\"",
        "rpm" | "archlinux" => "\"glibc >= 2.28\"",
        _ => "",
    };
    // Debian's own folder is another one than that of all others.
    let zsh =
        if format == "deb" { "/usr/share/zsh/vendor-completions" } else { "/usr/share/zsh/site-functions" };
    let (parts, documents) = (package.parts(), package.stage.join("documents"));
    let values = [
        ("${ARCH}", target.debian),
        ("${VERSION}", &package.version),
        ("${TIME}", &package.time()?),
        ("${DEPENDS}", depends),
        ("${ZSH}", zsh),
        ("${DOC}", if format == "rpm" { "type: doc, " } else { "" }),
        ("${LICENCE}", if format == "rpm" { "type: license, " } else { "" }),
        ("${STAGE}", &stage.to_string_lossy()),
        ("${PARTS}", &parts.to_string_lossy()),
        ("${DOCUMENTS}", &documents.to_string_lossy()),
    ];
    let mut text = fs::read_to_string(parts.join("nfpm.yaml"))?;
    for (name, value) in values {
        text = text.replace(name, value);
    }
    Ok(text)
}

/// The program, its pages and completions, for Homebrew and whoever unpacks things by hand.
fn archive(package: &Package, target: Target, stage: &Path) -> Result<()> {
    let tar = package.out.join(format!("leafgate-{}-{}.tar", package.version, target.triple));
    let mut command = package.command("tar");
    command.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mode=u=rwX,go=rX"]);
    command.arg(format!("--mtime=@{}", package.epoch)).arg("-cf").arg(&tar);
    command.arg("-C").arg(stage).arg("leafgate");
    run(command.arg("-C").arg(package.stage.join("documents")).args(["man", "completions", "LICENSE"]))?;
    run(package.command("gzip").args(["-9", "--no-name", "--force"]).arg(&tar))
}
