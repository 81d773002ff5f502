//! `cargo xtask authors`: the example plugins in other languages, built by the tools of these
//! languages and asked their cases in the gate's sandbox; and plugins in Python from their first
//! command on.
//!
//! The tools are pinned beside each example and installed below a `target`: `leafgate plugin build`
//! installs those for Python. A language that is not there is skipped with a line that says so, and in
//! CI fails the run. It is no part of `test`: tools come from a network, and a component of a whole
//! interpreter takes minutes of a busy machine to build and to compile.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};

use crate::run::{run, step};
use crate::{kit, paths};

/// One example: what it is written in, its name, and how it is built.
struct Example {
    language: &'static str,
    name: &'static str,
    /// By which gate, from which folder, into which.
    build: fn(&Path, &Path, &Path) -> Result<PathBuf>,
}

const EXAMPLES: [Example; 2] = [
    Example { language: "Python", name: "internal-addresses", build: python },
    Example { language: "JavaScript", name: "shorten-stacks", build: javascript },
];

/// Builds all of them and asks each its cases.
pub(crate) fn authors() -> Result<()> {
    let gate = match std::env::var_os("LEAFGATE_BIN") {
        Some(gate) => PathBuf::from(gate),
        None => {
            kit::build()?;
            paths::target().join("debug/leafgate")
        }
    };
    let in_ci = std::env::var_os("CI").is_some_and(|ci| ci == "true");
    let mut built = Vec::new();
    for Example { language, name, build } in EXAMPLES {
        let example = paths::root().join("examples/plugins").join(name);
        let folder = paths::target().join("authors").join(name);
        match build(&gate, &example, &folder) {
            Ok(plugin) => {
                step(&format!("asks {name} its cases"));
                run(Command::new(&gate)
                    .args(["plugin", "test"])
                    .arg(plugin)
                    .arg("--cases")
                    .arg(example.join("cases.toml")))?;
                built.push(language);
            }
            Err(why) if in_ci => {
                return Err(why).context(format!("the plugin in {language} must be built in CI"));
            }
            Err(why) => step(&format!("skipped the plugin in {language}: {why:#}")),
        }
    }
    // Where the example cannot be built, this cannot be either, and why has been said.
    if built.contains(&"Python") {
        for world in ["detector", "transformer"] {
            begun(&gate, world)?;
        }
        unimportable(&gate)?;
    }
    let (built, all) = (built.len(), EXAMPLES.len());
    println!("\nxtask: {built} of {all} plugins in other languages fulfil their cases");
    Ok(())
}

/// By `leafgate plugin build`, as its author would. Its tests in plain Python come first.
fn python(gate: &Path, example: &Path, _: &Path) -> Result<PathBuf> {
    ensure!(answers(Command::new("python3").args(["-m", "venv", "--help"])), "there is no python3 with venv");
    unittest(example, &paths::root().join("plugins/python"))?;
    step("`leafgate plugin build` builds it");
    run(Command::new(gate).args(["plugin", "build"]).arg(example))?;
    Ok(example.join("target/internal-addresses.wasm"))
}

fn unittest(folder: &Path, helper: &Path) -> Result<()> {
    step("tests of the plugin in plain Python");
    run(Command::new("python3")
        .args(["-m", "unittest"])
        .env("PYTHONPATH", helper)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .current_dir(folder))
}

/// From nothing to a plugin in Python that fulfils its cases.
fn begun(gate: &Path, world: &str) -> Result<()> {
    step(&format!("begins a {world} in Python, and asks it its cases"));
    let folder = fresh(world)?;
    let name = format!("demo-{world}");
    run(Command::new(gate)
        .args(["plugin", "new", &name, "--lang", "python", "--world", world, "--dir"])
        .arg(&folder))?;
    unittest(&folder, &folder)?;
    run(Command::new(gate).args(["plugin", "test"]).arg(&folder))
}

/// What a module raises behind its function, while it is imported, is told with its line.
fn unimportable(gate: &Path) -> Result<()> {
    step("breaks a plugin in Python, and looks for the line");
    let folder = paths::target().join("authors/demo-detector");
    let module = folder.join("plugin.py");
    let text = fs::read_to_string(&module)? + "\n\nraise LookupError(\"on purpose\")\n";
    fs::write(&module, &text)?;
    let built = Command::new(gate).args(["plugin", "build"]).arg(&folder).stdin(Stdio::null()).output()?;
    let told = String::from_utf8_lossy(&built.stderr);
    let line = format!("plugin.py\", line {}", text.lines().count());
    ensure!(!built.status.success(), "a plugin that cannot be imported is built");
    ensure!(told.contains(&line) && told.contains("on purpose"), "what is wrong is not told:\n{told}");
    Ok(())
}

/// An empty folder for a new project.
fn fresh(world: &str) -> Result<PathBuf> {
    let folder = paths::target().join("authors").join(format!("demo-{world}"));
    match fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(folder),
    }
}

/// By jco, beside its packages: Node looks for them where the source is.
fn javascript(_: &Path, example: &Path, folder: &Path) -> Result<PathBuf> {
    ensure!(answers(Command::new("npm").arg("--version")), "there is no npm");
    let lockfile = example.join("package-lock.json");
    let fresh = changed(&lockfile, folder)?;
    for entry in fs::read_dir(example)? {
        let path = entry?.path();
        if path.is_file() {
            fs::copy(&path, folder.join(path.file_name().unwrap_or_default()))?;
        }
    }
    fs::create_dir_all(folder.join("wit"))?;
    fs::copy(paths::root().join("wit/plugin.wit"), folder.join("wit/plugin.wit"))?;
    if fresh {
        step("installing jco");
        // What packages do on installation is not needed, and so not run. Not `ci`: it asks for the packages of all other systems, which
        // are optional and which npm does not write into the lockfile.
        let install = ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
        run(Command::new("npm").args(install).current_dir(folder))?;
        installed(&lockfile, folder)?;
    }
    step("jco builds it");
    run(Command::new("npm").args(["run", "--silent", "build"]).current_dir(folder))?;
    Ok(folder.join("shorten-stacks.wasm"))
}

/// Whether a program runs and succeeds.
fn answers(command: &mut Command) -> bool {
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// Whether what is pinned differs from what is installed in a folder, which is made where it is not
/// there.
fn changed(pins: &Path, folder: &Path) -> Result<bool> {
    fs::create_dir_all(folder)?;
    let wanted = fs::read(pins).with_context(|| format!("cannot read {}", pins.display()))?;
    Ok(fs::read(marker(folder)).map_or(true, |known| known != wanted))
}

fn installed(pins: &Path, folder: &Path) -> Result<()> {
    match fs::copy(pins, marker(folder)) {
        Ok(_) => Ok(()),
        Err(error) => bail!("cannot write {}: {error}", marker(folder).display()),
    }
}

fn marker(folder: &Path) -> PathBuf {
    folder.join("installed")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_example_has_cases_and_pins() {
        for Example { name, .. } in EXAMPLES {
            let example = paths::root().join("examples/plugins").join(name);
            let pins = ["requirements.txt", "package-lock.json"];
            assert!(example.join("cases.toml").is_file(), "{name}");
            assert!(pins.iter().any(|pins| example.join(pins).is_file()), "{name}");
        }
    }

    #[test]
    fn what_is_pinned_is_installed_once() {
        let root = std::env::temp_dir().join(format!("leafgate-authors-{}", std::process::id()));
        let (pins, folder) = (root.join("pins"), root.join("installed-here"));
        fs::create_dir_all(&root).unwrap();
        fs::write(&pins, "a==1").unwrap();
        assert!(changed(&pins, &folder).unwrap());
        installed(&pins, &folder).unwrap();
        assert!(!changed(&pins, &folder).unwrap());
        fs::write(&pins, "a==2").unwrap();
        assert!(changed(&pins, &folder).unwrap());
        fs::remove_dir_all(&root).unwrap();
    }
}
