//! The container: the static program from scratch, for a user without rights, with a health check.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use super::program::Target;
use super::{Package, said};
use crate::run::{run, step};

/// Nobody's number, as other images without a system have it.
const USER: &str = "65532:65532";

/// Writes it as an archive that `podman load`, `docker load` and `skopeo` take.
pub(super) fn image(package: &Package, target: Target, stage: &Path) -> Result<()> {
    if !target.is_static() || !package.wants("image") {
        return Ok(());
    }
    step(&format!("writes the container image for {}", target.debian));
    let buildah = |arguments: &[&str]| {
        let mut command = package.command("buildah");
        command.args(arguments).env("STORAGE_DRIVER", "vfs").env("BUILDAH_ISOLATION", "chroot");
        command
    };
    let container = said(&mut buildah(&["from", "--arch", target.debian, "scratch"]))
        .context("the image needs buildah (Debian, Fedora: `buildah`)")?;
    let (system, own) = layers(package, stage)?;
    run(buildah(&["copy", "--quiet", "--chown", "0:0", &container]).arg(system).arg("/"))?;
    run(buildah(&["copy", "--quiet", "--chown", USER, &container]).arg(own).arg("/data"))?;
    // The gate listens on the loopback interface, of the network that its client shares. The health check is Docker's: OCI has none.
    let settings = [
        ["--user", USER],
        ["--entrypoint", "[\"/usr/bin/leafgate\"]"],
        ["--cmd", "run"],
        ["--workingdir", "/data"],
        ["--volume", "/data"],
        ["--env", "HOME=/data"],
        ["--env", "LEAFGATE_DATA_DIR=/data"],
        ["--env", "LEAFGATE_RUNTIME_DIR=/data/run"],
        ["--env", "SSL_CERT_FILE=/etc/ssl/cert.pem"],
        ["--healthcheck", "CMD /usr/bin/leafgate status"],
        ["--created-by", "cargo xtask package"],
    ];
    run(buildah(&["config"]).args(settings.concat()).arg(&container))?;
    let name = format!("leafgate-{}-image-{}.tar", package.version, target.debian);
    let archive = format!("docker-archive:{}:leafgate:{}", package.out.join(name).display(), package.version);
    let commit = [
        "commit",
        "--quiet",
        "--rm",
        "--format",
        "docker",
        "--timestamp",
        &package.epoch,
        &container,
        &archive,
    ];
    run(&mut buildah(&commit))
}

/// Lays out what is the system's, and what is its user's. What TLS trusts is that of Mozilla, from PyPI: another system has others.
fn layers(package: &Package, stage: &Path) -> Result<(PathBuf, PathBuf)> {
    let [system, own] = ["image", "image-data"].map(|name| stage.join(name));
    for folder in [system.join("usr/bin"), system.join("etc/ssl"), system.join("tmp"), own.join("run")] {
        super::fresh(&folder)?;
    }
    let authorities = said(package.command("python").args(["-m", "certifi"]))?;
    fs::copy(stage.join("leafgate"), system.join("usr/bin/leafgate"))?;
    fs::copy(authorities, system.join("etc/ssl/cert.pem"))?;
    super::readable(&system)?;
    run(Command::new("chmod").arg("1777").arg(system.join("tmp")))?;
    run(Command::new("chmod").args(["-R", "0700"]).arg(&own))?;
    Ok((system, own))
}
