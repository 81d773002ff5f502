//! Which files count, and which look as if they were meant to.

use std::io;
use std::path::{Path, PathBuf};

/// Below a policy folder, deeper folders and more entries than this are no policy.
const MAX_DEPTH: usize = 6;
const MAX_ENTRIES: usize = 10_000;

/// The files of a policy folder, each list in name order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// Rule files: `*.toml` in the folder itself.
    pub rules: Vec<PathBuf>,
    /// Components and their signatures: `*.wasm` and `*.wasm.sig` in the folder or in a folder inside
    /// it.
    pub components: Vec<PathBuf>,
    /// Lists of words: `*.txt` in the folder or in a folder inside it.
    pub words: Vec<PathBuf>,
    /// Files that look like rule files and are none.
    pub passed_over: Vec<PassedOver>,
}

/// A file that looks like a rule file and is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassedOver {
    /// The file.
    pub path: PathBuf,
    /// Why it is none.
    pub reason: Reason,
}

/// The folder of a policy's own tests, which holds nothing that is loaded.
const TESTS: &str = "tests";

/// Why a file is passed over.
#[derive(Clone, Copy, Debug, derive_more::Display, PartialEq, Eq)]
pub enum Reason {
    /// Its name begins with a dot.
    #[display("its name begins with a dot")]
    Hidden,
    /// It ends in `.TOML`, `.yaml` or the like.
    #[display("rule files end in `.toml`")]
    Extension,
    /// It lies in a folder inside the policy folder.
    #[display("rule files lie in the policy folder itself")]
    Subfolder,
    /// It is named like a rule file and is a folder, a named pipe, a device or a link to nowhere.
    #[display("it is no regular file")]
    NotRegular,
}

/// Returns true where a path inside a policy folder is one that [`list`] can return: no part of it
/// is hidden, it is not deeper than the watch looks, and not among the tests.
pub fn is_inside(path: &Path) -> bool {
    let mut depth = 0;
    let mut parts = path.components().filter(|part| *part != std::path::Component::CurDir).peekable();
    while let Some(part) = parts.next() {
        match part {
            std::path::Component::Normal(name) if depth == 0 && name == TESTS && parts.peek().is_some() => {
                return false;
            }
            std::path::Component::Normal(name) if !is_hidden(name) => depth += 1,
            _ => return false,
        }
    }
    (1..=MAX_DEPTH).contains(&depth)
}

/// Returns whether a file lies in a folder, whatever links lead to it.
pub fn lies_in(folder: &Path, path: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    real(folder).is_some_and(|folder| real(path).is_some_and(|path| path.starts_with(folder)))
}

/// Lists a policy folder. Links are followed.
///
/// # Errors
/// A folder that cannot be read, or holds too much to be one: a rule file that is left out would be
/// a guard that is gone. A folder inside it that cannot be read is left out.
pub fn list(folder: &Path) -> io::Result<Listing> {
    list_up_to(folder, MAX_ENTRIES)
}

/// Lists the files of a folder of tests, in name order: tests and whatever they name, hidden files left
/// out. A folder that is not there holds none.
///
/// # Errors
/// A folder that cannot be read, or holds too much to be one.
pub fn list_tests(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut entries = 0;
    match list_files(folder, 1, &mut files, &mut entries) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        listed => listed?,
    }
    files.sort();
    Ok(files)
}

/// Returns the folder of the tests of a policy folder.
pub fn tests_of(folder: &Path) -> PathBuf {
    folder.join(TESTS)
}

fn list_files(folder: &Path, depth: usize, files: &mut Vec<PathBuf>, entries: &mut usize) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        *entries += 1;
        if *entries > MAX_ENTRIES {
            return Err(io::Error::other(format!("it holds more than {MAX_ENTRIES} files and folders")));
        }
        let path = entry?.path();
        if path.file_name().is_some_and(is_hidden) {
            continue;
        }
        match path.metadata() {
            Ok(metadata) if metadata.is_file() => files.push(path),
            Ok(metadata) if metadata.is_dir() && depth < MAX_DEPTH => {
                list_files(&path, depth + 1, files, entries)?;
            }
            _ => {}
        }
    }
    Ok(())
}

fn list_up_to(folder: &Path, max_entries: usize) -> io::Result<Listing> {
    let mut walk = FolderWalk { found: Listing::default(), entries: 0, max_entries };
    walk.folder(folder, 1)?;
    if walk.entries > max_entries {
        return Err(io::Error::other(format!("it holds more than {max_entries} files and folders")));
    }
    let mut found = walk.found;
    found.rules.sort();
    found.components.sort();
    found.words.sort();
    found.passed_over.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

struct FolderWalk {
    found: Listing,
    entries: usize,
    max_entries: usize,
}

impl FolderWalk {
    fn folder(&mut self, folder: &Path, depth: usize) -> io::Result<()> {
        for entry in std::fs::read_dir(folder)? {
            self.entries += 1;
            if self.entries > self.max_entries {
                return Ok(());
            }
            self.entry(entry?.path(), depth);
        }
        Ok(())
    }

    fn entry(&mut self, path: PathBuf, depth: usize) {
        let hidden = path.file_name().is_some_and(is_hidden);
        // A link to nowhere is neither.
        let (is_file, is_folder) =
            path.metadata().map_or((false, false), |metadata| (metadata.is_file(), metadata.is_dir()));
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        let reason = match extension {
            "toml" if hidden => Some(Reason::Hidden),
            "toml" if !is_file => Some(Reason::NotRegular),
            "toml" if depth > 1 => Some(Reason::Subfolder),
            "toml" => return self.found.rules.push(path),
            "wasm" | "js" if is_file && !hidden => return self.found.components.push(path),
            "sig" if is_file && !hidden && is_signature(&path) => return self.found.components.push(path),
            "txt" if is_file && !hidden => return self.found.words.push(path),
            other if is_file && !hidden && depth == 1 && looks_like_rules(other) => Some(Reason::Extension),
            _ => None,
        };
        if let Some(reason) = reason.filter(|_| !is_of_an_editor(&path)) {
            self.found.passed_over.push(PassedOver { path, reason });
        } else if is_folder && !hidden && depth < MAX_DEPTH && !(depth == 1 && path.ends_with(TESTS)) {
            let _ = self.folder(&path, depth + 1);
        }
    }
}

/// Returns true for the files that can be plugins, `x.wasm` and `x.js`.
pub fn is_plugin(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "wasm" || extension == "js")
}

/// Returns true for `x.wasm.sig`.
fn is_signature(path: &Path) -> bool {
    path.file_stem().is_some_and(|plugin| is_plugin(Path::new(plugin)))
}

fn is_hidden(name: &std::ffi::OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

/// Returns true for the links that editors put beside an open file.
fn is_of_an_editor(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b".#"))
}

fn looks_like_rules(extension: &str) -> bool {
    ["toml", "yaml", "yml"].iter().any(|known| known.eq_ignore_ascii_case(extension))
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn what_counts_and_what_is_passed_over() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path();
        for inside in ["plugins", "more", ".git", "tests"] {
            fs::create_dir(folder.join(inside)).unwrap();
        }
        for file in [
            "b.toml",
            "a.toml",
            "plugins/x.wasm",
            "y.wasm",
            "y.wasm.sig",
            "z.js",
            "z.js.sig",
            "other.sig",
            ".hidden.wasm",
            ".hidden.wasm.sig",
            ".hidden.toml",
            ".git/config.toml",
            "more/c.toml",
            "tests/case.toml",
            "SHOUT.TOML",
            "other.yaml",
            "notes.md",
            "more/names.txt",
            ".names.txt",
        ] {
            fs::write(folder.join(file), "").unwrap();
        }
        symlink("a.toml", folder.join("link.toml")).unwrap();
        symlink("nowhere", folder.join("dangling.toml")).unwrap();
        symlink("ada@host.1", folder.join(".#a.toml")).unwrap();
        symlink("/dev/zero", folder.join("zero.wasm")).unwrap();
        let listing = list(folder).unwrap();
        let shown = |paths: &[PathBuf]| -> Vec<String> {
            paths.iter().map(|path| path.strip_prefix(folder).unwrap().display().to_string()).collect()
        };
        assert_eq!(shown(&listing.rules), ["a.toml", "b.toml", "link.toml"]);
        assert_eq!(
            shown(&listing.components),
            ["plugins/x.wasm", "y.wasm", "y.wasm.sig", "z.js", "z.js.sig"]
        );
        assert_eq!(shown(&listing.words), ["more/names.txt"]);
        let passed: Vec<(String, Reason)> = listing
            .passed_over
            .iter()
            .map(|passed| (shown(std::slice::from_ref(&passed.path)).remove(0), passed.reason))
            .collect();
        let expected = [
            (".hidden.toml", Reason::Hidden),
            ("SHOUT.TOML", Reason::Extension),
            ("dangling.toml", Reason::NotRegular),
            ("more/c.toml", Reason::Subfolder),
            ("other.yaml", Reason::Extension),
        ];
        assert_eq!(passed, expected.map(|(name, reason)| (name.to_owned(), reason)));
    }

    #[test]
    fn tests_and_what_they_name_are_listed_and_a_missing_folder_holds_none() {
        let root = tempfile::tempdir().unwrap();
        let tests = tests_of(root.path());
        assert_eq!(list_tests(&tests).unwrap(), Vec::<PathBuf>::new());
        fs::create_dir_all(tests.join("requests")).unwrap();
        for file in ["b.toml", "a.toml", "requests/chat.json", ".hidden.toml"] {
            fs::write(tests.join(file), "").unwrap();
        }
        let shown: Vec<_> = list_tests(&tests)
            .unwrap()
            .iter()
            .map(|path| path.strip_prefix(&tests).unwrap().to_owned())
            .collect();
        assert_eq!(shown, ["a.toml", "b.toml", "requests/chat.json"].map(PathBuf::from));
    }

    #[test]
    fn a_folder_with_too_many_entries_is_refused_and_not_cut_short() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("inside")).unwrap();
        for file in ["a.toml", "inside/b", "inside/c"] {
            fs::write(root.path().join(file), "").unwrap();
        }
        assert!(list_up_to(root.path(), 4).is_ok());
        assert!(list_up_to(root.path(), 3).unwrap_err().to_string().contains("more than 3"));
    }

    #[test]
    fn a_path_is_inside_where_the_walk_would_find_it() {
        for inside in ["x.wasm", "plugins/x.wasm", "./x.wasm"] {
            assert!(is_inside(Path::new(inside)), "{inside}");
        }
        for outside in [
            "tests/x.wasm",
            "./tests/x.wasm",
            "../x.wasm",
            "/x.wasm",
            ".x.wasm",
            ".git/x.wasm",
            "a/b/c/d/e/f/x.wasm",
            "",
        ] {
            assert!(!is_inside(Path::new(outside)), "{outside}");
        }
    }
}
