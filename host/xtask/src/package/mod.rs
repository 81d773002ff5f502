//! `cargo xtask package`: what people install. One program for each target goes into all parcels of that target.
//!
//! Tools come from PyPI and crates.io in versions that stand in `tools`; `npm` and `buildah` come from the system. Nothing in a parcel depends
//! on the machine, the folder or the hour of the build: paths are spelled from the root, archives are sorted, owners are root, and times are
//! the commit's.

mod check;
mod image;
mod linux;
mod node;
mod program;
mod sums;
mod tools;
mod wheel;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};

use self::program::Target;
use crate::paths;
use crate::run::{run, step};

/// What parcels there are.
const KINDS: [&str; 9] = ["deb", "rpm", "archlinux", "apk", "tar", "npm", "wheel", "image", "sbom"];

/// What was asked for.
#[derive(Clone)]
struct Options {
    targets: Vec<Target>,
    /// Of [`KINDS`]; all where none is named.
    only: Vec<String>,
    /// Cargo's profile; `release`, but for tries of the parcels themselves.
    profile: String,
    /// Where the archives will be fetched from, for the formula; else they lie beside it.
    url: Option<String>,
    /// Built a second time in a clone, and compared.
    twice: bool,
    /// Installed and tried.
    check: bool,
}

/// What all parcels have in common.
struct Package {
    /// Where programs are looked for.
    path: OsString,
    options: Options,
    /// The checkout that is built, and where its builds go.
    root: PathBuf,
    target: PathBuf,
    version: String,
    commit: String,
    /// The commit's time, in seconds since 1970.
    epoch: String,
    /// Where parcels go.
    out: PathBuf,
    /// Where what they are made of lies.
    stage: PathBuf,
}

/// Builds the parcels.
pub(crate) fn package(arguments: &[&str]) -> Result<()> {
    all(options(arguments)?)
}

/// Builds the static parcels of this machine twice, and compares them: what `test --soak` asks.
pub(crate) fn twice() -> Result<()> {
    let target = format!("{}-unknown-linux-musl", std::env::consts::ARCH);
    let kinds = ["apk", "tar", "npm", "wheel", "sbom"].into_iter().flat_map(|kind| ["--only", kind]);
    let arguments = ["--target", &target, "--profile", "dev", "--twice"].into_iter().chain(kinds);
    package(&arguments.collect::<Vec<_>>())
}

fn all(options: Options) -> Result<()> {
    fs::create_dir_all(paths::target())?;
    // nfpm and the remapping of paths take no `..`.
    let [root, target] = [paths::root(), paths::target()].map(|path| path.canonicalize());
    let package = Package::new(options.clone(), root?, target?)?;
    let sums = package.parcels()?;
    if options.twice {
        again(&package, options.clone(), &sums)?;
    }
    if options.check {
        check::check(&package)?;
    }
    println!("\nxtask: {} parcels of {} in {}", sums.lines().count(), package.commit, package.out.display());
    Ok(())
}

/// Builds once more in a clone, with a target folder of its own, and compares.
fn again(first: &Package, options: Options, sums: &str) -> Result<()> {
    ensure!(!first.commit.contains('-'), "changes that are in no commit cannot be built twice: commit them");
    step("builds once more, in a clone with another path");
    let clone = first.stage.join("a clone in another place");
    fresh(&clone)?;
    run(Command::new("git").args(["clone", "--quiet", "--no-hardlinks"]).arg(&first.root).arg(&clone))?;
    let second = Package::new(options, clone, first.stage.join("again"))?;
    let others = second.parcels()?;
    // Of an image the layer is the same, and buildah writes the number of its container beside it.
    let [sums, others] = [sums, &*others]
        .map(|sums| sums.lines().filter(|line| !line.contains("-image-")).collect::<Vec<_>>());
    let differ: Vec<_> = sums.iter().copied().filter(|line| !others.contains(line)).collect();
    ensure!(
        differ.is_empty() && sums.len() == others.len(),
        "two builds of one commit differ ({} and {}):\n{}",
        first.out.display(),
        second.out.display(),
        differ.join("\n")
    );
    println!("xtask: two builds of one commit are byte-identical");
    Ok(())
}

fn options(arguments: &[&str]) -> Result<Options> {
    let mut options = Options {
        targets: Vec::new(),
        only: Vec::new(),
        profile: "release".to_owned(),
        url: None,
        twice: false,
        check: false,
    };
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().with_context(|| format!("{argument} needs a value"));
        match *argument {
            "--target" => options.targets.push(Target::named(value()?)?),
            "--profile" => options.profile = (*value()?).to_owned(),
            "--only" => {
                let kind = *value()?;
                ensure!(
                    KINDS.contains(&kind),
                    "there is no parcel `{kind}`; there are: {}",
                    KINDS.join(", ")
                );
                options.only.push(kind.to_owned());
            }
            "--url" => options.url = Some(value()?.trim_end_matches('/').to_owned()),
            "--twice" => options.twice = true,
            "--check" => options.check = true,
            other => bail!("unknown option `{other}` of package; `cargo xtask` shows them"),
        }
    }
    if options.targets.is_empty() {
        options.targets = Target::ALL.to_vec();
    }
    Ok(options)
}

impl Package {
    fn new(options: Options, root: PathBuf, target: PathBuf) -> Result<Self> {
        let git = |arguments: &[&str]| said(Command::new("git").args(arguments).current_dir(&root));
        let commit = git(&["rev-parse", "HEAD"])?;
        let changed = if git(&["status", "--porcelain"])?.is_empty() { "" } else { "-changed" };
        let version = said(crate::run::cargo().args(["pkgid", "--package", "leafgate"]))?;
        Ok(Package {
            path: tools::installed_path()?,
            options,
            version: version.rsplit(['#', '@']).next().unwrap_or_default().to_owned(),
            commit: commit + changed,
            epoch: git(&["log", "-1", "--format=%ct"])?,
            out: target.join("packages"),
            stage: target.join("packages-stage"),
            root,
            target,
        })
    }

    /// Writes all that was asked for, and returns the sums.
    fn parcels(&self) -> Result<String> {
        fresh(&self.out)?;
        fs::create_dir_all(&self.stage)?;
        program::documents(self)?;
        for target in &self.options.targets {
            let stage = program::stage(self, *target)?;
            linux::parcels(self, *target, &stage)?;
            wheel::wheel(self, *target, &stage)?;
            node::platform(self, *target, &stage)?;
            image::image(self, *target, &stage)?;
        }
        node::wrapper(self)?;
        sums::bill_of_materials(self)?;
        sums::formula(self)?;
        sums::sums(&self.out)
    }

    fn wants(&self, kind: &str) -> bool {
        self.options.only.is_empty() || self.options.only.iter().any(|only| only == kind)
    }

    /// Returns a command in the checkout that knows the hour of the commit, and no other.
    fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env("SOURCE_DATE_EPOCH", &self.epoch).env("TZ", "UTC").env("LC_ALL", "C");
        command.env("PATH", &self.path).current_dir(&self.root);
        command
    }

    /// Returns the time of the commit as RFC 3339 has it.
    fn time(&self) -> Result<String> {
        said(self.command("date").args(["-u", "+%Y-%m-%dT%H:%M:%SZ", "-d"]).arg(format!("@{}", self.epoch)))
    }

    /// Where the parts of parcels lie that are no program.
    fn parts(&self) -> PathBuf {
        self.root.join("host/xtask/package")
    }
}

/// Makes a folder that is empty.
fn fresh(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))
}

/// Has everybody read what lies in a folder, whatever this person's files are like.
fn readable(folder: &Path) -> Result<()> {
    run(Command::new("chmod").args(["-R", "u=rwX,go=rX"]).arg(folder))
}

/// Returns what a command writes, without blanks around it.
fn said(command: &mut Command) -> Result<String> {
    let shown = crate::run::shown(command);
    let output = command.output().with_context(|| format!("`{shown}` cannot be run"))?;
    ensure!(output.status.success(), "`{shown}` failed: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}
