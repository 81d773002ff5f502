//! `plugin dev`: builds a project again whenever it is saved, asks it its cases, and publishes it.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use leafgate_folder::Stamp;
use leafgate_wasm::WasmLoader;
use walkdir::{DirEntry, WalkDir};

use super::args::DevArgs;
use super::source::{self, AuthorSource};
use super::{test, trial};
use crate::policy;
use crate::print::{Exit, Printer, Style};
use crate::private;

/// How often the project is looked at. A look is some dozen calls of the system.
const LOOK: Duration = Duration::from_millis(200);

/// What nobody writes by hand: a build would be the reason for the next one.
const BUILT: [&str; 3] = ["target", "Cargo.lock", "__pycache__"];

/// More files than this are no project of a plugin.
const MOST_FILES: usize = 5_000;

pub(super) fn run(args: &DevArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    // One engine for all rounds, as in a gate.
    let loader = policy::loader(Some(trial::log_to_standard_error()))?;
    loop {
        let seen = DevFiles::of(&args.folder)?;
        if let Err(error) = round(args, &loader, printer) {
            printer.text(Style::Error, &format!("{error:#}\n"))?;
        }
        printer.text(Style::Dim, "waiting for a change\n")?;
        printer.flush()?;
        // What changed during the round is the next change.
        while DevFiles::of(&args.folder)? == seen {
            std::thread::sleep(LOOK);
        }
    }
}

/// One build, its cases, and where all of them are fulfilled the file in its place.
fn round(args: &DevArgs, loader: &WasmLoader, printer: &mut Printer) -> anyhow::Result<()> {
    let source = AuthorSource::find(&args.folder)?;
    let fulfilled = match &source.cases {
        Some(file) => {
            let outcomes = test::ask(&source, file, loader)?;
            test::print(&outcomes, file, printer)?;
            test::failed(&outcomes) == 0
        }
        // Without cases nothing is known but that it loads.
        None => {
            loader.inspect(&source.file).map_err(source::with_hint)?;
            true
        }
    };
    if let Some(to) = args.to.as_ref().filter(|_| fulfilled) {
        publish(&source.file, to).with_context(|| format!("cannot write {}", to.display()))?;
        printer.line(&format!("published as {}", to.display()))?;
    }
    Ok(())
}

fn publish(built: &Path, to: &Path) -> io::Result<()> {
    private::replace(to, &fs::read(built)?)
}

/// The files of a project, as far as a change of them shows.
#[derive(Debug, PartialEq, Eq)]
struct DevFiles(BTreeMap<PathBuf, Stamp>);

impl DevFiles {
    fn of(folder: &Path) -> anyhow::Result<Self> {
        let cannot = || format!("cannot look at {}", folder.display());
        if folder.is_file() {
            return Ok(DevFiles::of_script(folder));
        }
        let mut files = BTreeMap::new();
        let is_written = |entry: &DirEntry| entry.depth() == 0 || !is_left_out(entry.file_name());
        for entry in WalkDir::new(folder).into_iter().filter_entry(is_written) {
            // What is gone since is no file.
            let is_gone = |error: &walkdir::Error| {
                error.depth() > 0
                    && error.io_error().is_some_and(|error| error.kind() == io::ErrorKind::NotFound)
            };
            if entry.as_ref().is_err_and(is_gone) {
                continue;
            }
            let entry = entry.with_context(cannot)?;
            let metadata = entry.metadata().ok().filter(Metadata::is_file);
            files.extend(metadata.map(|metadata| (entry.into_path(), Stamp::of(&metadata))));
            ensure!(files.len() <= MOST_FILES, "{}: it holds more than {MOST_FILES} files", cannot());
        }
        Ok(DevFiles(files))
    }

    /// A script that has no folder of its own, and its cases.
    fn of_script(script: &Path) -> Self {
        let beside = [script.with_extension("cases.toml"), script.with_file_name("cases.toml")];
        let files = [script.to_owned()].into_iter().chain(beside);
        DevFiles(files.filter_map(|path| Stamp::at(&path).map(|stamp| (path, stamp))).collect())
    }
}

fn is_left_out(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    BUILT.contains(&&*name) || name.starts_with('.') && name != ".cargo"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_shows_wherever_somebody_writes() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for inside in ["src/deep", "target/debug", ".git", ".cargo"] {
            fs::create_dir_all(path(inside)).unwrap();
        }
        fs::write(path("cases.toml"), "a").unwrap();
        let seen = || DevFiles::of(folder.path()).unwrap();
        let before = seen();
        assert_eq!(seen(), before);
        for (file, shows) in [
            ("src/deep/new.rs", true),
            (".cargo/config.toml", true),
            ("cases.toml", true),
            ("target/debug/x", false),
            (".git/index", false),
            ("Cargo.lock", false),
            ("src/.lib.rs.swp", false),
        ] {
            let before = seen();
            fs::write(path(file), "longer than before").unwrap();
            assert_eq!(seen() != before, shows, "{file}");
        }
        let before = seen();
        fs::remove_file(path("src/deep/new.rs")).unwrap();
        assert_ne!(seen(), before);
        // The same length at another time.
        let before = seen();
        let file = fs::File::options().write(true).open(path("cases.toml")).unwrap();
        file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
        assert_ne!(seen(), before);
    }

    #[test]
    fn of_a_script_without_a_folder_it_and_its_cases_are_looked_at() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("names.js"), "a").unwrap();
        let seen = || DevFiles::of(&path("names.js")).unwrap();
        for (file, shows) in
            [("other.js", false), ("names.cases.toml", true), ("cases.toml", true), ("names.js", true)]
        {
            let before = seen();
            fs::write(path(file), "longer than before").unwrap();
            assert_eq!(seen() != before, shows, "{file}");
        }
    }

    #[test]
    fn a_plugin_is_published_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let (built, to) = (folder.path().join("built.wasm"), folder.path().join("plugins.wasm"));
        fs::write(&to, "old").unwrap();
        assert!(publish(&built, &to).is_err());
        assert_eq!(fs::read_to_string(&to).unwrap(), "old");
        fs::write(&built, "new").unwrap();
        publish(&built, &to).unwrap();
        assert_eq!(fs::read_to_string(&to).unwrap(), "new");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "no draft is left");
    }
}
