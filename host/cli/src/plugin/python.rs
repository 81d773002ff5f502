//! `plugin build` of a project in Python: has componentize-py build it.
//!
//! `[tool.leafgate]` of `pyproject.toml` says what is built. What `requirements.txt` lists is
//! installed below `target/` of the project, once, and again when the list changes.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail, ensure};
use leafgate_contract::World;
use serde::Deserialize;

use super::source;

/// The file that makes a folder a project in Python.
pub(super) const MANIFEST: &str = "pyproject.toml";
const REQUIREMENTS: &str = "requirements.txt";

/// The module of the plugin: `plugin.py`.
const MODULE: &str = "plugin";

/// As much of `pyproject.toml` as is read here; the rest is other tools'.
#[derive(Deserialize)]
struct Manifest {
    project: Option<Package>,
    #[serde(default)]
    tool: PythonTools,
}

#[derive(Deserialize)]
struct Package {
    name: String,
}

#[derive(Default, Deserialize)]
struct PythonTools {
    leafgate: Option<PythonSettings>,
}

/// `[tool.leafgate]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct PythonSettings {
    world: World,
    /// The folder of the contract.
    #[serde(default = "beside")]
    wit: PathBuf,
    /// Folders of modules outside the project.
    #[serde(default)]
    python_path: Vec<PathBuf>,
}

fn beside() -> PathBuf {
    "wit".into()
}

/// A project that can be built.
struct Project {
    /// Absolute.
    folder: PathBuf,
    name: String,
    settings: PythonSettings,
}

/// Builds a project. What the tools say goes to standard error.
pub(super) fn build(folder: &Path) -> anyhow::Result<PathBuf> {
    let project = Project::read(folder)?;
    project.install()?;
    let output = project.output();
    let said = said_by(&mut project.componentize(&output)).context("componentize-py cannot be run")?;
    ensure!(said, "{} does not build: componentize-py says why above", folder.display());
    Ok(output)
}

impl Project {
    fn read(folder: &Path) -> anyhow::Result<Self> {
        let shown = folder.join(MANIFEST);
        let text = fs::read_to_string(&shown).with_context(|| format!("cannot read {}", shown.display()))?;
        let manifest: Manifest =
            source::read_toml(&text).with_context(|| format!("cannot use {}", shown.display()))?;
        let Some(settings) = manifest.tool.leafgate else {
            bail!(
                "{} is no project of a plugin: it has no `[tool.leafgate]` with `world = \"detector\"` or \
                 `world = \"transformer\"`; `leafgate plugin new NAME --lang python` begins one",
                shown.display()
            );
        };
        let Some(Package { name }) = manifest.project.filter(|package| is_name(&package.name)) else {
            bail!(
                "{}: `name` of `[project]` must be there, in letters, digits, `-`, `_` and `.`: the plugin's file \
                 bears it",
                shown.display()
            );
        };
        let folder = folder.canonicalize().with_context(|| format!("cannot find {}", folder.display()))?;
        Ok(Project { folder, name, settings })
    }

    fn target(&self) -> PathBuf {
        self.folder.join("target")
    }

    fn output(&self) -> PathBuf {
        self.target().join(format!("{}.wasm", self.name))
    }

    fn environment(&self) -> PathBuf {
        self.target().join("venv")
    }

    fn tool(&self) -> PathBuf {
        self.environment().join("bin/componentize-py")
    }

    /// Installs what the project is built with, where that is not done yet.
    fn install(&self) -> anyhow::Result<()> {
        let list = self.folder.join(REQUIREMENTS);
        let listed = fs::read(&list)
            .with_context(|| format!("cannot read {}, which lists componentize-py", list.display()))?;
        let environment = self.environment();
        // An environment knows where it is: that of a project that has moved is made anew.
        let wanted = [listed.as_slice(), b"\n", environment.as_os_str().as_encoded_bytes()].concat();
        // Written once all is installed: a broken installation is begun anew.
        let installed = self.target().join("installed");
        if self.tool().is_file() && fs::read(&installed).is_ok_and(|known| known == wanted) {
            return Ok(());
        }
        fs::create_dir_all(self.target())
            .with_context(|| format!("cannot write into {}", self.folder.display()))?;
        let made = Command::new("python3")
            // Not from the folder that this is called in, which may have modules of these names.
            .args(["-I", "-m", "venv", "--clear"])
            .arg(&environment)
            .stdin(Stdio::null())
            .output();
        match made {
            Ok(output) if output.status.success() => {}
            Ok(_) => bail!(
                "`python3 -m venv` makes no environment in {}: the module is missing (Debian: `apt-get install \
                 python3-venv`), or the folder cannot be written",
                environment.display()
            ),
            Err(_) => bail!(
                "`python3` cannot be run: a plugin in Python is built by Python 3.10 or newer; \
                 https://www.python.org/downloads has it"
            ),
        }
        let mut pip = Command::new(environment.join("bin/python"));
        pip.args(["-I", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"]).arg(&list);
        let done = said_by(&mut pip).context("pip cannot be run")?;
        ensure!(
            done,
            "cannot install what {} lists: pip says why above; it needs Python 3.10 or newer, and the network once",
            list.display()
        );
        ensure!(
            self.tool().is_file(),
            "{} must list componentize-py, which builds the plugin",
            list.display()
        );
        fs::write(&installed, wanted).with_context(|| format!("cannot write {}", installed.display()))
    }

    fn componentize(&self, output: &Path) -> Command {
        let mut command = Command::new(self.tool());
        command.args(["--quiet", "--wit-path"]).arg(self.folder.join(&self.settings.wit));
        command.args(["--world", self.settings.world.name(), "componentize", "--stub-wasi", MODULE]);
        command.arg("--python-path").arg(&self.folder);
        for path in &self.settings.python_path {
            command.arg("--python-path").arg(self.folder.join(path));
        }
        command.arg("--output").arg(output);
        // Its errors are told without the way to them.
        command.env_remove("RUST_BACKTRACE").env_remove("RUST_LIB_BACKTRACE");
        // Libraries are those of the list, whatever else is installed.
        command.env("VIRTUAL_ENV", self.environment()).env_remove("PYTHONHOME").env_remove("PYTHONPATH");
        command.current_dir(&self.folder);
        command
    }
}

/// Runs a tool whose words are for people; standard output belongs to the command's own answer.
/// Returns whether it succeeded.
fn said_by(command: &mut Command) -> io::Result<bool> {
    let status = command.stdin(Stdio::null()).stdout(io::stderr()).stderr(Stdio::inherit()).status()?;
    Ok(status.success())
}

/// Whether a name is one of a package, and so that of a file and no path.
fn is_name(name: &str) -> bool {
    let inside = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    name.bytes().all(inside) && name.starts_with(|first: char| first.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project(manifest: &str) -> (tempfile::TempDir, anyhow::Result<Project>) {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(MANIFEST), manifest).unwrap();
        let project = Project::read(folder.path());
        (folder, project)
    }

    #[test]
    fn a_project_says_what_is_built_of_what() {
        let (folder, read) = project(
            "[project]\nname = \"my-names\"\n[tool.ruff]\nline-length = 99\n[tool.leafgate]\nworld = \"detector\"\n\
             wit = \"../wit\"\npython-path = [\"../lib\"]\n",
        );
        let project = read.unwrap();
        let command = project.componentize(&project.output());
        let folder = folder.path().canonicalize().unwrap();
        let words = [command.get_program()].into_iter().chain(command.get_args());
        let words: Vec<_> =
            words.map(|word| word.to_string_lossy().replace(&*folder.to_string_lossy(), ".")).collect();
        let expected = "./target/venv/bin/componentize-py --quiet --wit-path ./../wit --world detector componentize \
            --stub-wasi plugin --python-path . --python-path ./../lib --output ./target/my-names.wasm";
        assert_eq!(words.join(" "), expected);
    }

    #[test]
    fn what_is_wrong_with_a_manifest_is_told() {
        for (manifest, told) in [
            ("[project]\nname = 1\n", "line 2: "),
            ("[project]\nname = \"a\"\n", "no `[tool.leafgate]`"),
            ("[tool.leafgate]\nworld = \"detector\"\n", "`name` of `[project]`"),
            ("[project]\nname = \"../a\"\n[tool.leafgate]\nworld = \"detector\"\n", "`name` of `[project]`"),
            ("[project]\nname = \"a\"\n[tool.leafgate]\nworld = \"both\"\n", "line 4: "),
            ("[project]\nname = \"a\"\n[tool.leafgate]\nwurld = \"detector\"\n", "`wurld`"),
        ] {
            let error = format!("{:#}", project(manifest).1.err().expect(manifest));
            assert!(error.contains(told), "{manifest}: {error}");
        }
    }

    #[test]
    fn what_is_installed_is_installed_once_for_each_list() {
        let manifest = "[project]\nname = \"a\"\n[tool.leafgate]\nworld = \"detector\"\n";
        let (folder, project) = project(manifest);
        let project = project.unwrap();
        let path = |name: &str| folder.path().join(name);
        assert!(project.install().unwrap_err().to_string().contains("requirements.txt"));
        fs::write(path(REQUIREMENTS), "componentize-py==1").unwrap();
        fs::create_dir_all(path("target/venv/bin")).unwrap();
        fs::write(project.tool(), "there already").unwrap();
        let environment = project.environment().display().to_string();
        fs::write(path("target/installed"), format!("componentize-py==1\n{environment}")).unwrap();
        project.install().unwrap();
        assert_eq!(fs::read_to_string(project.tool()).unwrap(), "there already");
    }
}
