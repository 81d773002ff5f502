//! Saved edits on disk: one private file for all, one for each workspace, in `saved` of the data
//! folder, and the file of a project that somebody trusts.
//!
//! Several gates and commands use the same files. A change is made under a lock, on what is there
//! at that moment, and is there whole or not at all. A gate looks for each request whether anything
//! has changed, by what the system says about the files.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, bail};
use leafgate_admin::SavedScope;
use leafgate_folder::Stamp;
use leafgate_gate::{PREVIEW_LIMITS, SavedFiles, SavedSettings, SavedStore, guard_key};
use leafgate_saved::{GuardKey, SavedEdit, SavedFile, SavedFileError, ScopeEdits};
use sha2::{Digest, Sha256};

use super::trust;
use crate::{home, private};

const GLOBAL_FILE: &str = "global.toml";
const SETTINGS_FILE: &str = "settings.toml";
const LOCK_FILE: &str = "lock";

/// Bytes of the largest file: far more than people write by hand.
pub(super) const MAX_FILE: usize = 8 * 1024 * 1024;

/// The saved edits of one workspace, and those for all.
pub(crate) struct SavedFolder {
    data: PathBuf,
    folder: PathBuf,
    workspace: PathBuf,
    key: GuardKey,
    seen: Mutex<SeenFiles>,
}

/// What was there the last time.
#[derive(Default)]
struct SeenFiles {
    stamps: Vec<Option<Stamp>>,
    files: Arc<SavedFiles>,
}

/// The name of a workspace's file: two folders of one name have two.
fn file_of_workspace(workspace: &Path) -> String {
    let digest = Sha256::digest(workspace.as_os_str().as_encoded_bytes());
    format!("workspace-{}.toml", base16ct::lower::encode_string(&digest[..8]))
}

impl SavedFolder {
    /// Opens the files for a workspace.
    ///
    /// # Errors
    /// When one of the user's own files cannot be used. To begin without edits that somebody saved
    /// would let leave what they took out.
    pub(crate) fn open(workspace: &Path) -> anyhow::Result<SavedFolder> {
        let data = home::data_folder()?;
        let workspace = fs::canonicalize(workspace)
            .with_context(|| format!("the workspace {} is no folder", workspace.display()))?;
        let key = guard_key(&home::token_keys()?);
        let folder = SavedFolder {
            folder: data.join("saved"),
            data,
            workspace,
            key,
            seen: Mutex::new(SeenFiles::default()),
        };
        let (files, errors) = folder.load(&SavedFiles::default());
        if let Some(error) = errors.into_iter().next() {
            bail!("{error}");
        }
        *folder.seen() = SeenFiles { stamps: folder.stamps(), files: Arc::new(files) };
        Ok(folder)
    }

    /// Returns whether there are edits for a workspace alone, trusted or not.
    pub(crate) fn has_edits(workspace: &Path) -> anyhow::Result<bool> {
        let workspace = fs::canonicalize(workspace)?;
        let saved = home::data_folder()?.join("saved").join(file_of_workspace(&workspace));
        Ok(saved.try_exists()? || trust::project_file(&workspace).try_exists()?)
    }

    fn workspace_file(&self) -> String {
        file_of_workspace(&self.workspace)
    }

    fn file_of(&self, scope: SavedScope) -> io::Result<String> {
        match scope {
            SavedScope::Workspace => Ok(self.workspace_file()),
            SavedScope::Global => Ok(GLOBAL_FILE.to_owned()),
            SavedScope::Session => Err(io::Error::other("what is saved for a session is in no file")),
            SavedScope::Project => Err(io::Error::other("the file of a project is never written")),
        }
    }

    fn stamps(&self) -> Vec<Option<Stamp>> {
        let own = [&self.workspace_file(), GLOBAL_FILE, SETTINGS_FILE].map(|name| self.folder.join(name));
        let trusted = [trust::file(&self.data), trust::project_file(&self.workspace)];
        own.iter().chain(&trusted).map(|path| Stamp::at(path)).collect()
    }

    /// Reads all files. What cannot be used is as it was before, and told.
    fn load(&self, before: &SavedFiles) -> (SavedFiles, Vec<String>) {
        let mut files = SavedFiles {
            settings: before.settings,
            workspace: Some(self.workspace.display().to_string()),
            ..SavedFiles::default()
        };
        let mut errors = Vec::new();
        let known = |scope| before.layers.iter().find(|layer: &&ScopeEdits| layer.scope == scope).cloned();
        for scope in [SavedScope::Workspace, SavedScope::Project, SavedScope::Global] {
            let layer = match scope {
                SavedScope::Project => Ok(self.project(&mut files.problems)),
                scope => self.own(scope),
            };
            files.layers.extend(layer.unwrap_or_else(|error| {
                errors.push(error);
                known(scope)
            }));
        }
        match self.settings() {
            Ok(settings) => files.settings = settings,
            Err(error) => errors.push(error),
        }
        files
            .problems
            .extend(errors.iter().map(|error| format!("{error}; what was read before is in force")));
        (files, errors)
    }

    fn own(&self, scope: SavedScope) -> Result<Option<ScopeEdits>, String> {
        let name = self.file_of(scope).map_err(|error| error.to_string())?;
        let file = read_own(&self.folder.join(name))?;
        Ok(file.map(|file| self.layer(scope, file)))
    }

    fn layer(&self, scope: SavedScope, file: SavedFile) -> ScopeEdits {
        let key = file.key.map_or_else(|| self.key.clone(), |key| GuardKey::derive(key.as_bytes()));
        ScopeEdits { scope, key, edits: file.edits }
    }

    /// The edits of the workspace's own file, where it is trusted as it is.
    fn project(&self, problems: &mut Vec<String>) -> Option<ScopeEdits> {
        let edits = trust::trusted_edits(&self.data, &self.workspace).unwrap_or_else(|error| {
            problems.push(format!("{error:#}"));
            None
        });
        edits.map(|file| self.layer(SavedScope::Project, file))
    }

    fn settings(&self) -> Result<SavedSettings, String> {
        let path = self.folder.join(SETTINGS_FILE);
        let unusable = |what: &str| format!("the settings of saved edits, {}, {what}", path.display());
        let Some(text) = read_private(&path)? else { return Ok(SavedSettings::default()) };
        let settings: SavedSettings =
            toml::from_str(&text).map_err(|_| unusable("cannot be used: remove the file"))?;
        if matches!(settings.scope, SavedScope::Project) {
            return Err(unusable("name the scope `project`, which is never written: remove the file"));
        }
        let preview_limit = settings.preview_limit.clamp(*PREVIEW_LIMITS.start(), *PREVIEW_LIMITS.end());
        Ok(SavedSettings { preview_limit, ..settings })
    }

    /// Changes a file under the lock that all who write have. Returns what `change` returns.
    fn change<R>(
        &self,
        scope: SavedScope,
        change: impl FnOnce(&mut SavedFile) -> Result<R, SavedFileError>,
    ) -> io::Result<R> {
        let name = self.file_of(scope)?;
        let _lock = self.lock()?;
        let path = self.folder.join(&name);
        let mut file = read_own(&path).map_err(io::Error::other)?.unwrap_or_default();
        let before = file.clone();
        let result = change(&mut file).map_err(io::Error::other)?;
        if file.edits.is_empty() {
            private::remove(&self.folder, &name)?;
        } else if file != before {
            file.workspace = (scope == SavedScope::Workspace).then(|| self.workspace.display().to_string());
            let text = file.spell();
            if text.len() > MAX_FILE {
                let most = MAX_FILE >> 20;
                return Err(io::Error::other(format!("saved edits take {most} MiB at most: remove some")));
            }
            private::write(&self.folder, &name, text.as_bytes())?;
        }
        Ok(result)
    }

    fn lock(&self) -> io::Result<File> {
        let lock = private::lock_file(&self.folder, LOCK_FILE)?;
        lock.lock()?;
        Ok(lock)
    }

    fn seen(&self) -> std::sync::MutexGuard<'_, SeenFiles> {
        // A panic leaves what was seen before.
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SavedStore for SavedFolder {
    fn read(&self) -> Arc<SavedFiles> {
        let mut seen = self.seen();
        // Taken before the files are read: what changes meanwhile is read again the next time.
        let stamps = self.stamps();
        if stamps != seen.stamps {
            let (files, _) = self.load(&seen.files);
            *seen = SeenFiles { stamps, files: Arc::new(files) };
        }
        Arc::clone(&seen.files)
    }

    fn put(&self, scope: SavedScope, edits: &[SavedEdit]) -> io::Result<()> {
        self.change(scope, |file| file.put(edits))
    }

    fn remove(&self, id: &str) -> io::Result<bool> {
        let own = self.change(SavedScope::Workspace, |file| Ok(file.remove(id)))?;
        let global = self.change(SavedScope::Global, |file| Ok(file.remove(id)))?;
        Ok(own || global)
    }

    fn clear(&self, scope: SavedScope) -> io::Result<()> {
        self.change(scope, |file| {
            file.edits.clear();
            Ok(())
        })
    }

    fn set(&self, settings: SavedSettings) -> io::Result<()> {
        let text = toml::to_string(&settings).map_err(io::Error::other)?;
        let _lock = self.lock()?;
        private::write(&self.folder, SETTINGS_FILE, text.as_bytes())
    }
}

/// Reads one of the user's own files; `None` where there is none.
fn read_own(path: &Path) -> Result<Option<SavedFile>, String> {
    let Some(text) = read_private(path)? else { return Ok(None) };
    let unusable = |error: SavedFileError| {
        format!("the saved edits in {} cannot be used: {error}; mend the file or remove it", path.display())
    };
    SavedFile::parse(&text).map(Some).map_err(unusable)
}

/// Reads a file that only its owner may touch.
fn read_private(path: &Path) -> Result<Option<String>, String> {
    let shown = path.display();
    let found =
        private::if_there(fs::metadata(path)).map_err(|error| format!("cannot look at {shown}: {error}"))?;
    let Some(mode) = found.map(|found| found.permissions().mode() & 0o777) else { return Ok(None) };
    if mode & 0o077 != 0 {
        return Err(format!("others may touch {shown} (mode {mode:03o}): run `chmod 600` on it"));
    }
    read_text(path).map(Some)
}

/// Reads a regular file of bounded size.
pub(super) fn read_text(path: &Path) -> Result<String, String> {
    let read = leafgate_folder::read_text(path, MAX_FILE);
    read.map_err(|why| format!("cannot read {}: {why}", path.display()))
}

#[cfg(test)]
mod tests {
    use leafgate_vault::{ClientIdentity, InstallationKey, TokenKeys};

    use super::*;

    fn edit(text: &str) -> SavedEdit {
        let file = SavedFile::parse(&format!(
            "version = 1\n[[edit]]\nid = \"one\"\naction = \"set\"\npath = \"p\"\nformat = \"openai-chat\"\n\
             pointer = \"/messages/0/content\"\nrole = \"user\"\nsection = \"user\"\nleaf = \"text\"\n\
             replaces = \"{}\"\nupdated-at = 2026-11-22T14:00:00Z\ntext = \"\"\n",
            "0".repeat(32)
        ));
        let edit = file.unwrap().edits.remove(0);
        SavedEdit { text: Some(text.to_owned()), ..edit }
    }

    fn folder(data: &Path) -> SavedFolder {
        let keys = TokenKeys::derive(&InstallationKey::from_bytes([1; 32]), &ClientIdentity::new("test"));
        SavedFolder {
            data: data.to_owned(),
            folder: data.join("saved"),
            workspace: data.to_owned(),
            key: guard_key(&keys),
            seen: Mutex::default(),
        }
    }

    #[test]
    fn what_has_not_changed_is_not_read_again() {
        let data = tempfile::tempdir().unwrap();
        let (one, other) = (folder(data.path()), folder(data.path()));
        let before = one.read();
        assert!(Arc::ptr_eq(&before, &one.read()));
        other.put(SavedScope::Global, &[edit("a")]).unwrap();
        let after = one.read();
        assert_eq!(after.layers[0].edits, [edit("a")]);
        assert!(Arc::ptr_eq(&after, &one.read()));
        assert!(one.remove("one").unwrap() && !other.remove("one").unwrap());
        assert!(other.read().layers.is_empty());
    }

    #[test]
    fn two_who_write_at_once_lose_nothing() {
        let data = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let folder = folder(data.path());
                scope.spawn(move || {
                    for number in 0..8 {
                        let id = leafgate_saved::SavedId::new(&format!("{writer}-{number}")).unwrap();
                        folder.put(SavedScope::Workspace, &[SavedEdit { id, ..edit("a") }]).unwrap();
                    }
                });
            }
        });
        assert_eq!(folder(data.path()).read().layers[0].edits.len(), 32);
    }

    #[test]
    fn a_file_that_could_not_be_read_again_is_not_written() {
        let data = tempfile::tempdir().unwrap();
        let folder = folder(data.path());
        folder.put(SavedScope::Global, &[edit("small")]).unwrap();
        let error = folder.put(SavedScope::Global, &[edit(&"x".repeat(MAX_FILE))]).unwrap_err();
        assert!(error.to_string().contains("8 MiB at most"), "{error}");
        assert_eq!(folder.read().layers[0].edits, [edit("small")]);
        for scope in [SavedScope::Session, SavedScope::Project] {
            folder.put(scope, &[edit("a")]).unwrap_err();
        }
    }
}
