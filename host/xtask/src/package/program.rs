//! The program for each target, and what is said of it on all systems.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use super::{Package, fresh};
use crate::run::{self, run, step};

/// What programs are built for: a machine, and a C library.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) triple: &'static str,
    /// What Debian calls the machine; nfpm knows what others call it.
    pub(super) debian: &'static str,
    /// What Node calls it.
    pub(super) node: &'static str,
    /// What Python calls machine and library (PEP 600, PEP 656); the static one runs beside any.
    pub(super) python: &'static str,
}

const fn target(triple: &'static str, names: [&'static str; 3]) -> Target {
    let [debian, node, python] = names;
    Target { triple, debian, node, python }
}

impl Target {
    pub(super) const ALL: [Target; 4] = [
        target("x86_64-unknown-linux-gnu", ["amd64", "x64", "manylinux_2_28_x86_64"]),
        target("aarch64-unknown-linux-gnu", ["arm64", "arm64", "manylinux_2_28_aarch64"]),
        target("x86_64-unknown-linux-musl", ["amd64", "x64", "manylinux_2_17_x86_64.musllinux_1_2_x86_64"]),
        target(
            "aarch64-unknown-linux-musl",
            ["arm64", "arm64", "manylinux_2_17_aarch64.musllinux_1_2_aarch64"],
        ),
    ];

    pub(super) fn named(triple: &str) -> Result<Target> {
        let all = Target::ALL.map(|target| target.triple).join(", ");
        let found = Target::ALL.into_iter().find(|target| target.triple == triple);
        found.with_context(|| format!("no parcels are made for `{triple}`; there are: {all}"))
    }

    /// Whether it needs nothing of the system.
    pub(super) fn is_static(self) -> bool {
        self.triple.ends_with("musl")
    }

    /// What cargo-zigbuild calls it: with the oldest C library that it runs on.
    fn zig(self) -> String {
        if self.is_static() { self.triple.to_owned() } else { format!("{}.2.28", self.triple) }
    }
}

/// Writes man page, completions, licence and changes, as a program that runs here says them: they are the same for all.
pub(super) fn documents(package: &Package) -> Result<()> {
    let is_here = |target: &&Target| target.triple.starts_with(std::env::consts::ARCH);
    let here = package.options.targets.iter().find(is_here);
    let here = here.context("parcels need the program for this machine too: name it with --target")?;
    let program = build(package, *here)?;
    let written = |arguments: &[&str]| -> Result<Vec<u8>> {
        let output = Command::new(&program).args(arguments).env_clear().output()?;
        ensure!(output.status.success(), "`leafgate {}` failed", arguments.join(" "));
        Ok(output.stdout)
    };
    let folder = package.stage.join("documents");
    fresh(&folder)?;
    for part in ["man", "completions", "units"] {
        fs::create_dir(folder.join(part))?;
    }
    zipped(package, &written(&["man"])?, &folder.join("man/leafgate.1.gz"))?;
    for (shell, file) in [("bash", "leafgate.bash"), ("zsh", "_leafgate"), ("fish", "leafgate.fish")] {
        fs::write(folder.join("completions").join(file), written(&["completions", shell])?)?;
    }
    let unit = fs::read_to_string(package.root.join("host/cli/src/service/user.service"))?;
    let unit = unit.replace("@PROGRAM@", "/usr/bin/leafgate").replace("@ENVIRONMENT@", "");
    fs::write(folder.join("units/user.service"), unit)?;
    fs::copy(package.root.join("LICENSE"), folder.join("LICENSE"))?;
    // apk packages have the time of the file.
    let mut touch = package.command("touch");
    touch.arg(format!("--date=@{}", package.epoch));
    for script in ["installed.sh", "removing.sh", "removed.sh"] {
        fs::copy(package.parts().join(script), folder.join(script))?;
        touch.arg(folder.join(script));
    }
    run(&mut touch)?;
    let who = "Leafgate maintainers <maintainers@leafgate.invalid>";
    let changes = format!(
        "- semver: {}\n  date: {}\n  packager: {who}\n  deb: {{urgency: medium, distributions: [unstable]}}\n  \
         changes: [{{note: CHANGELOG.md has what changed}}]\n",
        package.version,
        package.time()?
    );
    fs::write(folder.join("changes.yaml"), changes)?;
    zipped(package, &fs::read(package.root.join("CHANGELOG.md"))?, &folder.join("changelog.gz"))
}

/// Builds the program and returns the folder that has it alone.
pub(super) fn stage(package: &Package, target: Target) -> Result<PathBuf> {
    let program = build(package, target)?;
    let stage = package.stage.join(target.triple);
    fresh(&stage)?;
    fs::copy(&program, stage.join("leafgate"))?;
    Ok(stage)
}

/// Builds it against an old C library, or none, with the list of its crates inside.
fn build(package: &Package, target: Target) -> Result<PathBuf> {
    let Package { root, target: folder, options, .. } = package;
    step(&format!("builds the program for {} (a release takes some 12 minutes on two cores)", target.triple));
    run(Command::new("rustup").args(["target", "add", target.triple]).current_dir(root))?;
    let mut build = package.command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    build
        .args(["auditable", "zigbuild", "--locked", "--package", "leafgate", "--bin", "leafgate"])
        .args(["--profile", &options.profile, "--target", &target.zig()])
        .env("BUILD_COMMIT", &package.commit)
        .env("CARGO_TARGET_DIR", folder)
        .env("CARGO_INCREMENTAL", "0")
        .env(format!("CARGO_PROFILE_{}_STRIP", options.profile.to_uppercase()), "symbols");
    // Paths of this machine stand neither in panics nor in asserts of C; the last that fits counts.
    let home = cargo_home()?;
    let places = [(&**root, "leafgate"), (&*home, "cargo"), (&**folder, "target")];
    let rust = places.map(|(path, name)| format!("--remap-path-prefix={}={name}", path.display()));
    let c = places.map(|(path, name)| format!("'-ffile-prefix-map={}={name}'", path.display()));
    build.env("CARGO_ENCODED_RUSTFLAGS", rust.join("\x1f"));
    build.env("CFLAGS", c.join(" ")).env("CC_SHELL_ESCAPED_FLAGS", "1");
    if target.is_static() {
        // zig links static programs to fixed addresses; with Rust's own linker that for x86-64 has them anew at each start.
        let triple = target.triple.to_uppercase().replace('-', "_");
        build.env(format!("CARGO_TARGET_{triple}_LINKER"), "rust-lld");
    }
    run::build(&mut build)?;
    let profile = if options.profile == "dev" { "debug" } else { &options.profile };
    Ok(folder.join(target.triple).join(profile).join("leafgate"))
}

fn cargo_home() -> Result<PathBuf> {
    let home = || std::env::home_dir().map(|home| home.join(".cargo"));
    std::env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(home)
        .context("neither CARGO_HOME nor HOME is set")
}

/// Writes a text compressed, without name and time.
fn zipped(package: &Package, text: &[u8], path: &Path) -> Result<()> {
    let plain = path.with_extension("");
    fs::write(&plain, text)?;
    run(package.command("gzip").args(["-9", "--no-name", "--force"]).arg(&plain))
}
