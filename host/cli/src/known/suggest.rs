//! `known suggest`: files of the workspace that git ignores or that are `.env` files all the same, and
//! files of the home folder, which hold secrets and are not known yet. They are offered and never taken: their owner decides.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use leafgate_detect::named_values;
use serde::Serialize;
use zeroize::Zeroizing;

use super::{files, user_settings};
use crate::home;
use crate::options::ConfigArgs;
use crate::print::{Exit, Printer};

/// Files of programs that keep credentials, from the home folder.
const OF_PROGRAMS: &str = ".aws/credentials .netrc .npmrc .pypirc .git-credentials .docker/config.json \
    .config/gh/hosts.yml .cargo/credentials.toml";

/// What names of files of settings end in.
const ENDS: &str = "env toml yaml yml json ini cfg conf properties pem key local tfvars";

/// Ignored files that are looked at: a workspace may ignore very many.
const MOST: usize = 5_000;

/// A longer file is no file of settings.
const LONGEST: u64 = 64 << 10;

#[derive(Serialize)]
struct Suggested {
    /// As `known.files` takes it.
    path: String,
    values: usize,
    /// Whether it is a file of the workspace that git would take.
    not_ignored: bool,
}

pub(super) fn run(config: &ConfigArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let settings = user_settings(config)?;
    let folder = Path::new(settings.text("workspace").unwrap_or("."));
    let mut known: Vec<PathBuf> = Vec::new();
    for pattern in settings.texts("known.files") {
        known.extend(files::named(pattern, folder)?);
    }
    let home = home::variable("HOME");
    let of_programs = |home| OF_PROGRAMS.split(' ').map(move |name| (home, name));
    let of_home = home.iter().flat_map(of_programs);
    let of_home = of_home.map(|(home, name)| (home.join(name), format!("~/{name}"), false));
    let of_folder = |ignored: bool| {
        let names = files_of(folder, ignored).into_iter();
        names.map(move |name| (folder.join(&name), name, !ignored))
    };
    let suggested: Vec<Suggested> = of_folder(false)
        .chain(of_folder(true))
        .chain(of_home)
        .filter(|(path, ..)| !known.contains(path))
        .filter_map(|(path, name, not_ignored)| {
            Some(Suggested { path: name, values: secrets(&path)?, not_ignored })
        })
        .collect();
    printer.show(&suggested, |suggested, printer| {
        let row = |file: &Suggested| {
            let mark = if file.not_ignored { "  (git does not ignore it)" } else { "" };
            [file.values.into(), format!("{}{mark}", file.path).into()]
        };
        printer.table(["values", "file"], suggested.iter().map(row))?;
        let quoted: Vec<String> = suggested.iter().map(|file| format!("{:?}", file.path)).collect();
        printer.error_line(&match quoted.is_empty() {
            true => "no `.env` file, and none that git ignores, holds a secret that is not known".to_owned(),
            false => format!(
                "to have them found, write into the configuration:\n[known]\nfiles = [{}]",
                quoted.join(", ")
            ),
        });
        std::io::Result::Ok(())
    })
}

/// How many secrets a file holds; `None` where there are none.
fn secrets(path: &Path) -> Option<usize> {
    let about = fs::metadata(path).ok()?;
    if !about.is_file() || about.len() > LONGEST {
        return None;
    }
    let text = Zeroizing::new(fs::read_to_string(path).ok()?);
    Some(named_values(&text).into_iter().filter(|named| named.secret).count()).filter(|count| *count > 0)
}

/// The files of a folder that git ignores, tracked or not; or its `.env` files that git does not
/// ignore. Outside of a repository there are none.
///
/// A repository's configuration may name programs that git runs. So git is given an empty one of
/// ours: of the project it reads what is to be ignored, and nothing else.
fn files_of(folder: &Path, ignored: bool) -> Vec<String> {
    let Some((ours, project)) = repository(folder) else { return Vec::new() };
    let mut git = Command::new("git");
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.as_encoded_bytes().starts_with(b"GIT_")) {
        git.env_remove(name);
    }
    let listed = git
        .arg("--git-dir")
        .arg(ours.path())
        .arg("--work-tree")
        .arg(&project)
        // The user's own may be on for all repositories, and would stay behind.
        .args(["-c", "core.fsmonitor=false"])
        .args(["ls-files", "--others", "--exclude-standard", "-z"])
        .args(ignored.then_some("--ignored"))
        .current_dir(folder)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output();
    let Ok(listed) = listed else { return Vec::new() };
    let names = listed.stdout.split(|&byte| byte == 0).filter(|name| !name.is_empty());
    let is_settings = |name: &&str| {
        let last = name.rsplit('/').next().unwrap_or(name);
        let is_code = ["node_modules/", "target/", ".venv/", "vendor/", "dist/", "build/"];
        let is_of_settings = |(_, end): (&str, &str)| ENDS.split(' ').any(|known| known == end);
        let is_named = ignored || last.starts_with(".env") || last.ends_with(".env");
        !is_code.iter().any(|folder| name.contains(folder))
            && is_named
            && (last.starts_with('.') || last.rsplit_once('.').is_none_or(is_of_settings))
    };
    names
        .filter_map(|name| std::str::from_utf8(name).ok())
        .filter(is_settings)
        .take(MOST)
        .map(ToOwned::to_owned)
        .collect()
}

/// Returns an empty repository that ignores what a folder's own does, and where that one begins.
fn repository(folder: &Path) -> Option<(tempfile::TempDir, PathBuf)> {
    let folder = folder.canonicalize().ok()?;
    let project = folder.ancestors().find(|above| above.join(".git").exists())?;
    let ours = tempfile::tempdir().ok()?;
    ["objects", "refs", "info"].iter().try_for_each(|name| fs::create_dir(ours.path().join(name))).ok()?;
    fs::write(ours.path().join("HEAD"), "ref: refs/heads/none\n").ok()?;
    if let Ok(own) = leafgate_folder::read(&project.join(".git/info/exclude"), LONGEST as usize) {
        fs::write(ours.path().join("info/exclude"), own).ok()?;
    }
    Some((ours, project.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes a repository by hand, whose configuration names a program.
    fn repository_of(git: &Path, traces: &Path) {
        for name in ["objects", "refs", "info"] {
            fs::create_dir_all(git.join(name)).unwrap();
        }
        fs::write(git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(git.join("info/exclude"), "*.local\n").unwrap();
        let run = format!("touch {}", traces.display());
        fs::write(git.join("config"), format!("[core]\nfsmonitor = {run}\nbare = false\n")).unwrap();
    }

    #[test]
    fn git_runs_no_program_that_a_project_names() {
        let folder = tempfile::tempdir().unwrap();
        let (project, traces) = (folder.path().join("project"), folder.path().join("traces"));
        fs::create_dir_all(project.join("below")).unwrap();
        repository_of(&project.join(".git"), &traces);
        fs::write(project.join(".gitignore"), ".env\n").unwrap();
        for name in [".env", "a.local", "seen.toml", "below/.env"] {
            fs::write(project.join(name), "x").unwrap();
        }
        let mut names = files_of(&project, true);
        names.sort();
        assert_eq!(names, [".env", "a.local", "below/.env"]);
        assert_eq!(files_of(&project.join("below"), true), [".env"]);
        // An unpacked or bare repository is a folder like any other.
        let bare = folder.path().join("bare");
        repository_of(&bare, &traces);
        assert_eq!(files_of(&bare, true), Vec::<String>::new());
        assert!(!traces.exists());
    }
}
