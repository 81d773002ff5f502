//! The program for each target, with its pages and completions.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use super::{Package, fresh};
use crate::paths;
use crate::run::{run, step};

/// What programs are built for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Target {
    /// Its name in Rust.
    pub(super) triple: &'static str,
    /// The oldest C library that it runs on; `None` where it needs none.
    glibc: Option<&'static str>,
    /// What Debian calls the machine; nfpm knows what others call it.
    pub(super) debian: &'static str,
    /// What Node calls it.
    pub(super) node: &'static str,
    /// What Python calls it (PEP 600, PEP 656).
    pub(super) python: &'static str,
}

const GLIBC: Option<&str> = Some("2.28");

impl Target {
    pub(super) const ALL: [Target; 4] = [
        Target {
            triple: "x86_64-unknown-linux-gnu",
            glibc: GLIBC,
            debian: "amd64",
            node: "x64",
            python: "manylinux_2_28_x86_64",
        },
        Target {
            triple: "aarch64-unknown-linux-gnu",
            glibc: GLIBC,
            debian: "arm64",
            node: "arm64",
            python: "manylinux_2_28_aarch64",
        },
        Target {
            triple: "x86_64-unknown-linux-musl",
            glibc: None,
            debian: "amd64",
            node: "x64",
            python: "musllinux_1_2_x86_64",
        },
        Target {
            triple: "aarch64-unknown-linux-musl",
            glibc: None,
            debian: "arm64",
            node: "arm64",
            python: "musllinux_1_2_aarch64",
        },
    ];

    pub(super) fn named(triple: &str) -> Result<Target> {
        let all = Target::ALL.map(|target| target.triple).join(", ");
        let found = Target::ALL.into_iter().find(|target| target.triple == triple);
        found.with_context(|| format!("no parcels are made for `{triple}`; there are: {all}"))
    }

    /// Whether it needs nothing of the system.
    pub(super) fn is_static(self) -> bool {
        self.glibc.is_none()
    }
}

/// Builds the program and lays it where parcels are made from, with man pages, completions, licence and changes.
pub(super) fn stage(package: &Package, target: Target) -> Result<PathBuf> {
    let program = build(package, target)?;
    let stage = package.stage.join(target.triple);
    fresh(&stage)?;
    fs::copy(&program, stage.join("leafgate"))?;
    let here = here(package)?;
    let written = |arguments: &[&str]| -> Result<Vec<u8>> {
        let output = Command::new(&here).args(arguments).env_clear().output()?;
        anyhow::ensure!(output.status.success(), "`leafgate {}` failed", arguments.join(" "));
        Ok(output.stdout)
    };
    fs::create_dir_all(stage.join("man"))?;
    zipped(package, &written(&["man"])?, &stage.join("man/leafgate.1.gz"))?;
    fs::create_dir_all(stage.join("completions"))?;
    for (shell, file) in [("bash", "leafgate.bash"), ("zsh", "_leafgate"), ("fish", "leafgate.fish")] {
        fs::write(stage.join("completions").join(file), written(&["shell-completions", shell])?)?;
    }
    let licence = fs::read_to_string(paths::root().join("LICENSE"))?;
    fs::write(
        stage.join("copyright"),
        format!("Leafgate is licensed under the Apache License, version 2.0.\n\n{licence}"),
    )?;
    zipped(package, &fs::read(paths::root().join("CHANGELOG.md"))?, &stage.join("changelog.gz"))?;
    Ok(stage)
}

/// Builds it against an old C library, or none, with the list of its crates inside.
fn build(package: &Package, target: Target) -> Result<PathBuf> {
    step(&format!("builds the program for {} (a release takes some 12 minutes on two cores)", target.triple));
    run(Command::new("rustup").args(["target", "add", target.triple]))?;
    let name =
        target.glibc.map_or_else(|| target.triple.to_owned(), |glibc| format!("{}.{glibc}", target.triple));
    // Paths of this machine stand neither in panics nor in asserts of C.
    let (root, home) = (paths::root(), cargo_home()?);
    let (root, home) = (root.display(), home.display());
    let mut build = package.command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    build
        .args(["auditable", "zigbuild", "--locked", "--package", "leafgate", "--bin", "leafgate"])
        .args(["--profile", &package.options.profile, "--target", &name])
        .env("PATH", package.tools.path())
        .env("CARGO_INCREMENTAL", "0")
        .env("RUSTFLAGS", format!("--remap-path-prefix={root}=leafgate --remap-path-prefix={home}=cargo"))
        .env("CFLAGS", format!("-ffile-prefix-map={root}=leafgate -ffile-prefix-map={home}=cargo"));
    run(&mut build)?;
    let folder = match &*package.options.profile {
        "dev" => "debug",
        profile => profile,
    };
    Ok(paths::target().join(target.triple).join(folder).join("leafgate"))
}

/// The program that runs on this machine: what it says of itself is the same for all.
fn here(package: &Package) -> Result<PathBuf> {
    let target = Target::ALL.into_iter().find(|target| {
        target.triple.starts_with(std::env::consts::ARCH) && package.options.targets.contains(target)
    });
    let target = target.context("parcels need the program for this machine too: name it with --target")?;
    build(package, target)
}

fn cargo_home() -> Result<PathBuf> {
    match std::env::var_os("CARGO_HOME") {
        Some(home) => Ok(home.into()),
        None => Ok(PathBuf::from(std::env::var_os("HOME").context("neither CARGO_HOME nor HOME is set")?)
            .join(".cargo")),
    }
}

/// Writes a text compressed, without name and time.
fn zipped(package: &Package, text: &[u8], path: &Path) -> Result<()> {
    let plain = path.with_extension("");
    fs::write(&plain, text)?;
    run(package.command("gzip").args(["-9", "--no-name", "--force"]).arg(&plain))
}
