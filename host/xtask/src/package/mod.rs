//! `cargo xtask package`: what people install. One program per target goes into all parcels of that target.
//!
//! Tools come from PyPI and crates.io in versions that stand here, below `target/packages/tools`; `buildah` for the image comes from the system.
//! Nothing in a parcel depends on the machine, the folder or the hour of the build: paths are spelled from the root, and times are the commit's.

mod image;
mod linux;
mod node;
mod program;
mod sums;
mod tools;
mod wheel;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};

use self::program::Target;
use self::tools::Tools;
use crate::paths;
use crate::run::step;

/// What was asked for.
struct Options {
    targets: Vec<Target>,
    /// Cargo's profile; `release`, but for tries of the parcels themselves.
    profile: String,
    /// Where parcels will be fetched from, for what names an address (Homebrew).
    url: String,
    /// Built a second time in a clone, and compared.
    twice: bool,
}

/// What all parcels have in common.
struct Package {
    tools: Tools,
    options: Options,
    version: String,
    /// The commit's time, in seconds since 1970.
    epoch: String,
    /// Where parcels go.
    out: PathBuf,
    /// Where what they are made of lies.
    stage: PathBuf,
}

/// Builds the parcels.
pub(crate) fn package(arguments: &[&str]) -> Result<()> {
    let options = options(arguments)?;
    let twice = options.twice.then(|| arguments.iter().copied().filter(|argument| *argument != "--twice"));
    let package = Package::new(options)?;
    for target in &package.options.targets {
        let stage = program::stage(&package, *target)?;
        linux::parcels(&package, *target, &stage)?;
        wheel::wheel(&package, *target, &stage)?;
        node::platform(&package, *target, &stage)?;
        image::image(&package, *target, &stage)?;
    }
    node::wrapper(&package)?;
    sums::bill_of_materials(&package)?;
    sums::formula(&package)?;
    let sums = sums::sums(&package.out)?;
    if let Some(arguments) = twice {
        again(&package, &arguments.collect::<Vec<_>>(), &sums)?;
    }
    println!("\nxtask: {} parcels in {}", sums.lines().count(), package.out.display());
    Ok(())
}

/// Builds once more in a clone, with a target folder of its own, and compares.
fn again(package: &Package, arguments: &[&str], sums: &str) -> Result<()> {
    let clone = package.stage.join("a clone in another place");
    fresh(&clone)?;
    step("builds once more, in a clone with another path");
    crate::run::run(
        Command::new("git").args(["clone", "--quiet", "--no-hardlinks"]).arg(paths::root()).arg(&clone),
    )?;
    let target = package.stage.join("again");
    let mut build = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    build.args(["xtask", "package"]).args(arguments).current_dir(&clone).env("CARGO_TARGET_DIR", &target);
    crate::run::run(&mut build)?;
    let others = fs::read_to_string(target.join("packages/SHA256SUMS"))?;
    let differ: Vec<_> = sums.lines().filter(|line| !others.lines().any(|other| other == *line)).collect();
    ensure!(differ.is_empty(), "two builds of one commit differ:\n{}", differ.join("\n"));
    println!("xtask: two builds of one commit are byte-identical");
    Ok(())
}

fn options(arguments: &[&str]) -> Result<Options> {
    let mut options = Options {
        targets: Vec::new(),
        profile: "release".to_owned(),
        url: format!("file://{}", paths::target().join("packages").display()),
        twice: false,
    };
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().with_context(|| format!("{argument} needs a value"));
        match *argument {
            "--target" => options.targets.push(Target::named(value()?)?),
            "--profile" => options.profile = (*value()?).to_owned(),
            "--url" => options.url = value()?.trim_end_matches('/').to_owned(),
            "--twice" => options.twice = true,
            other => bail!(
                "unknown option `{other}` of package: --target NAME, --profile NAME, --url URL, --twice"
            ),
        }
    }
    if options.targets.is_empty() {
        options.targets = Target::ALL.to_vec();
    }
    Ok(options)
}

impl Package {
    fn new(options: Options) -> Result<Self> {
        let out = paths::target().join("packages");
        let stage = paths::target().join("packages-stage");
        fs::create_dir_all(&stage)?;
        fresh(&out)?;
        let tools = Tools::install(&stage.join("tools"))?;
        let epoch = said(Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(paths::root()))?;
        let version = said(crate::run::cargo().args(["pkgid", "--package", "leafgate"]))?;
        let version = version.rsplit(['#', '@']).next().unwrap_or_default().to_owned();
        Ok(Package { tools, options, version, epoch, out, stage })
    }

    /// Returns a command that knows the hour of the commit, and no other.
    fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env("SOURCE_DATE_EPOCH", &self.epoch).env("TZ", "UTC").env("LC_ALL", "C");
        command.current_dir(paths::root());
        command
    }
}

/// Where the parts of parcels lie that are no program.
fn parts() -> PathBuf {
    paths::root().join("host/xtask/package")
}

/// Makes a folder that is empty.
fn fresh(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))
}

/// Returns what a command writes, without blanks around it.
fn said(command: &mut Command) -> Result<String> {
    let shown = crate::run::shown(command);
    let output = command.output().with_context(|| format!("`{shown}` cannot be run"))?;
    ensure!(output.status.success(), "`{shown}` failed: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}
