//! The container: the static program from scratch, for a user without rights, with a health check.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};

use super::program::Target;
use super::{Package, said};
use crate::run::{run, step};

/// What TLS trusts, as the building system has it.
const AUTHORITIES: &str = "/etc/ssl/certs/ca-certificates.crt";

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
    let layer = stage.join("image");
    super::fresh(&layer)?;
    laid_out(&layer, stage)?;
    run(buildah(&["copy", "--quiet", "--chown", USER, &container]).arg(&layer).arg("/"))?;
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
        ["--env", "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"],
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

fn laid_out(layer: &Path, stage: &Path) -> Result<()> {
    let copies = [
        (stage.join("leafgate"), "usr/bin/leafgate"),
        (AUTHORITIES.into(), "etc/ssl/certs/ca-certificates.crt"),
    ];
    for (from, to) in copies {
        let to = layer.join(to);
        std::fs::create_dir_all(to.parent().context("a path in the image has a folder")?)?;
        std::fs::copy(&from, &to).with_context(|| format!("cannot copy {}", from.display()))?;
    }
    for folder in ["data/run", "tmp"] {
        std::fs::create_dir_all(layer.join(folder))?;
    }
    run(Command::new("chmod").args(["0700"]).arg(layer.join("data/run")))
}
