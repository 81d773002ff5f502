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
    for format in formats {
        step(&format!("writes the package for {format}, {}", target.debian));
        let described = described(package, target, stage, format)?;
        let file = stage.join(format!("{format}.yaml"));
        fs::write(&file, described)?;
        let nfpm = package.command("nfpm");
        let mut nfpm = with_tools(package, nfpm);
        run(nfpm
            .args(["package", "--packager", format, "--config"])
            .arg(&file)
            .arg("--target")
            .arg(&package.out))?;
    }
    archive(package, target, stage)
}

fn with_tools(package: &Package, mut command: std::process::Command) -> std::process::Command {
    command.env("PATH", package.tools.path());
    command
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
    let (stage, parts) = (stage.to_string_lossy(), super::parts());
    let parts = parts.to_string_lossy();
    let values = [
        ("${ARCH}", target.debian),
        ("${VERSION}", &package.version),
        ("${DEPENDS}", depends),
        ("${ZSH}", zsh),
        ("${STAGE}", &*stage),
        ("${PARTS}", &*parts),
    ];
    let mut text = fs::read_to_string(super::parts().join("nfpm.yaml"))?;
    for (name, value) in values {
        text = text.replace(name, value);
    }
    Ok(text)
}

/// The program, its pages and completions, for Homebrew and whoever unpacks things by hand.
fn archive(package: &Package, target: Target, stage: &Path) -> Result<()> {
    let name = format!("leafgate-{}-{}.tar.gz", package.version, target.triple);
    let tar = package.stage.join(format!("{}.tar", target.triple));
    let mut command = package.command("tar");
    command.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mode=u=rwX,go=rX"]);
    command.arg(format!("--mtime=@{}", package.epoch)).arg("-C").arg(stage).arg("-cf").arg(&tar);
    run(command.args(["leafgate", "man", "completions", "copyright"]))?;
    run(package.command("gzip").args(["-9", "--no-name", "--force"]).arg(&tar))?;
    fs::copy(tar.with_extension("tar.gz"), package.out.join(name))?;
    Ok(())
}
