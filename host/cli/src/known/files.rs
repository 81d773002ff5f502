//! Patterns of paths: which files they name now.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use leafgate_glob::Glob;

use crate::home;

/// More than these are a mistake in a pattern.
const MOST: usize = 1000;

/// Returns the files that a pattern names, in order: `*` and `?` stand for characters within one
/// name. It begins at `folder`, unless it is absolute or begins with `~/`.
pub(super) fn named(pattern: &str, folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    ensure!(
        !pattern.split('/').any(|part| part == "**"),
        "`{pattern}` in `known.files` has `**`: name the folders between, or each with a pattern of its own"
    );
    let whole = match pattern.strip_prefix("~/") {
        Some(rest) => home::variable("HOME")
            .with_context(|| format!("`{pattern}` in `known.files` needs HOME, which is not set"))?
            .join(rest),
        None => folder.join(pattern),
    };
    let mut found = vec![PathBuf::new()];
    for part in whole.components() {
        let name = part.as_os_str().to_string_lossy();
        found = match name.contains(['*', '?']) {
            false => found.into_iter().map(|path| path.join(part)).collect(),
            true => found.iter().flat_map(|path| matching(path, &name)).collect(),
        };
        ensure!(found.len() <= MOST, "`{pattern}` in `known.files` names more than {MOST} files");
    }
    found.retain(|path| path.is_file());
    found.sort();
    Ok(found)
}

fn matching(folder: &Path, pattern: &str) -> Vec<PathBuf> {
    let pattern = Glob::new(pattern);
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter(|entry| pattern.matches(&entry.file_name().to_string_lossy()))
        .map(|entry| entry.path())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_names_files_and_no_folders() {
        let folder = tempfile::tempdir().unwrap();
        for name in [".env", ".env.local", "a/.env", "b/.env", "env"] {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        fs::create_dir(folder.path().join(".envs")).unwrap();
        let names = |pattern: &str| -> Vec<String> {
            let found = named(pattern, folder.path()).unwrap();
            let name = |path: PathBuf| path.strip_prefix(folder.path()).unwrap().display().to_string();
            found.into_iter().map(name).collect()
        };
        assert_eq!(names(".env*"), [".env", ".env.local"]);
        assert_eq!(names("*/.env"), ["a/.env", "b/.env"]);
        assert_eq!(names("?/.e*v"), ["a/.env", "b/.env"]);
        assert_eq!(names("gone"), [""; 0]);
        assert_eq!(names(&folder.path().join("env").display().to_string()), ["env"]);
        assert!(named("**/.env", folder.path()).unwrap_err().to_string().contains("`**`"));
    }
}
