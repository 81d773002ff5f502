//! Compiled code on disk, so that a gate that starts again compiles nothing.
//!
//! Compiled code is run as it is, so an entry counts only with a code of authentication that nobody
//! can make without this installation's secret, bound to the engine and to the very component. The
//! folder is the user's own (`0700`) all the same: the state of a configured plugin is in its code,
//! and with it what the rule file configures. A bad entry is compiled anew and replaced; a folder
//! that cannot be written is none.

use std::fs::{self, DirBuilder, File};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};
use wasmtime::Engine;

/// What an entry begins with; another form of entries has another number.
const MAGIC: &[u8; 8] = b"lgcode01";
/// Bytes of a code of authentication.
const TAG: usize = 32;
/// Bytes of all entries together. Compiled, a plugin in Rust takes some hundred KiB, one in Python
/// some 80 MiB.
const MOST: u64 = 512 << 20;
const EXTENSION: &str = "code";

/// A folder of compiled code.
#[derive(Debug)]
pub struct CodeCache {
    folder: PathBuf,
    secret: Secret,
    most: u64,
}

/// Never shown.
#[derive(derive_more::Debug)]
#[debug("Secret(..)")]
struct Secret([u8; 32]);

/// Why a folder cannot hold compiled code.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CacheError {
    /// It cannot be made or looked at.
    #[error("the folder for compiled plugins, `{}`, cannot be used: {error}", .folder.display())]
    Unusable {
        /// The folder.
        folder: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// Others could read or write it.
    #[error(
        "the folder for compiled plugins, `{}`, is not this user's own: it must be a folder of mode 700; remove it, or \
         choose another one",
        .0.display()
    )]
    NotOwn(PathBuf),
}

impl CodeCache {
    /// Opens a folder, and makes it where it is not there. `secret` must be this installation's own
    /// and the same on each start.
    ///
    /// # Errors
    /// A folder that cannot be made, or that is not this user's alone.
    pub fn open(folder: PathBuf, secret: [u8; 32]) -> Result<Self, CacheError> {
        CodeCache::open_with(folder, secret, MOST)
    }

    fn open_with(folder: PathBuf, secret: [u8; 32], most: u64) -> Result<Self, CacheError> {
        let unusable = |error| CacheError::Unusable { folder: folder.clone(), error };
        DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(unusable)?;
        // A link is not followed: where it leads may change.
        let metadata = fs::symlink_metadata(&folder).map_err(unusable)?;
        let own = metadata.uid() == rustix::process::geteuid().as_raw();
        if !metadata.is_dir() || !own || metadata.mode() & 0o077 != 0 {
            return Err(CacheError::NotOwn(folder));
        }
        Ok(CodeCache { folder, secret: Secret(secret), most })
    }

    /// Returns the code of a component, if it is there and nobody has changed it.
    pub(crate) fn get(&self, engine: &Engine, component: &[u8], largest: usize) -> Option<Vec<u8>> {
        let entry = CodeEntry::new(self, engine, component);
        let code = leafgate_folder::read(&entry.path, largest + MAGIC.len() + TAG)
            .ok()
            .and_then(|bytes| entry.code(bytes));
        if code.is_some() {
            // What is used stays. Where that cannot be noted, it goes earlier.
            let _ = File::open(&entry.path).and_then(|file| file.set_modified(SystemTime::now()));
        }
        code
    }

    /// Keeps the code of a component. A disk that is full or read-only is no error: the code is
    /// compiled again next time.
    pub(crate) fn put(&self, engine: &Engine, component: &[u8], code: &[u8]) {
        let entry = CodeEntry::new(self, engine, component);
        if let Err(error) = self.write(&entry, code) {
            tracing::debug!(%error, "compiled plugin is not kept on disk");
        }
        self.make_room(&entry.path);
    }

    fn write(&self, entry: &CodeEntry<'_>, code: &[u8]) -> io::Result<()> {
        // Its own user's alone, and gone where it is not kept. One that a killed process left counts as an entry.
        let suffix = format!(".{EXTENSION}");
        let mut draft = tempfile::Builder::new().suffix(&suffix).tempfile_in(&self.folder)?;
        draft.write_all(MAGIC)?;
        draft.write_all(&entry.tag(code))?;
        draft.write_all(code)?;
        draft.persist(&entry.path)?;
        Ok(())
    }

    /// Removes the entries that nobody has used for longest, until the rest fits. The newest one
    /// stays, however large it is.
    fn make_room(&self, newest: &Path) {
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        let mut entries: Vec<(SystemTime, u64, PathBuf)> = entries
            .filter_map(|entry| {
                let path = entry.ok()?.path();
                let metadata = path.symlink_metadata().ok()?;
                let is_entry = path.extension().is_some_and(|extension| extension == EXTENSION);
                is_entry.then_some((metadata.modified().ok()?, metadata.len(), path))
            })
            .collect();
        entries.sort();
        let mut total: u64 = entries.iter().map(|(_, bytes, _)| bytes).sum();
        for (_, bytes, path) in entries.into_iter().filter(|(_, _, path)| path != newest) {
            if total <= self.most {
                break;
            }
            if fs::remove_file(path).is_ok() {
                total -= bytes;
            }
        }
    }
}

/// The place of one component's code for one engine.
struct CodeEntry<'c> {
    secret: &'c Secret,
    /// Of the engine's settings and the component.
    subject: [u8; 40],
    path: PathBuf,
}

impl<'c> CodeEntry<'c> {
    fn new(cache: &'c CodeCache, engine: &Engine, component: &[u8]) -> Self {
        // Only as good as the compiler that made this program: another one misses, no more.
        let mut settings = DefaultHasher::new();
        engine.precompile_compatibility_hash().hash(&mut settings);
        let mut subject = [0; 40];
        subject[..8].copy_from_slice(&settings.finish().to_le_bytes());
        subject[8..].copy_from_slice(&Sha256::digest(component));
        // Keyed, since a component's digest tells whether somebody has guessed its configuration.
        let name = mac(&cache.secret, b"name", &[&subject]).finalize().into_bytes();
        let name = base16ct::lower::encode_string(&name[..20]);
        let path = cache.folder.join(format!("{name}.{EXTENSION}"));
        CodeEntry { secret: &cache.secret, subject, path }
    }

    fn tag(&self, code: &[u8]) -> [u8; TAG] {
        mac(self.secret, b"code", &[&self.subject, code]).finalize().into_bytes().into()
    }

    /// The code of a file that bears the right tag.
    fn code(&self, mut bytes: Vec<u8>) -> Option<Vec<u8>> {
        let (head, code) = bytes.split_at_checked(MAGIC.len() + TAG)?;
        let (magic, tag) = head.split_at(MAGIC.len());
        let authentic = mac(self.secret, b"code", &[&self.subject, code]).verify_slice(tag).is_ok();
        if magic != MAGIC || !authentic {
            return None;
        }
        bytes.drain(..MAGIC.len() + TAG);
        Some(bytes)
    }
}

/// The subject has a fixed length, so what follows needs no mark between.
fn mac(secret: &Secret, purpose: &[u8; 4], parts: &[&[u8]]) -> Hmac<Sha256> {
    let mut mac = Hmac::<Sha256>::new_from_slice(&secret.0).expect("HMAC takes keys of any length");
    mac.update(MAGIC);
    mac.update(purpose);
    parts.iter().for_each(|part| mac.update(part));
    mac
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    fn cache(folder: &Path, secret: u8) -> CodeCache {
        CodeCache::open(folder.join("code"), [secret; 32]).unwrap()
    }

    fn get(cache: &CodeCache, component: &[u8]) -> Option<Vec<u8>> {
        cache.get(&Engine::default(), component, 100)
    }

    fn only_entry(cache: &CodeCache) -> PathBuf {
        let entries: Vec<_> =
            fs::read_dir(&cache.folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        let [entry] = entries.as_slice() else { panic!("{entries:?}") };
        entry.clone()
    }

    #[test]
    fn code_is_found_again_by_its_component_alone() {
        let folder = tempfile::tempdir().unwrap();
        let first = cache(folder.path(), 1);
        assert_eq!(get(&first, b"component"), None);
        first.put(&Engine::default(), b"component", b"code");
        assert_eq!(get(&cache(folder.path(), 1), b"component").as_deref(), Some(&b"code"[..]));
        assert_eq!(get(&first, b"another"), None);
        let entry = fs::metadata(only_entry(&first)).unwrap();
        assert_eq!(
            (entry.mode() & 0o777, fs::metadata(&first.folder).unwrap().mode() & 0o777),
            (0o600, 0o700)
        );
    }

    #[test]
    fn code_that_somebody_else_wrote_or_changed_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let own = cache(folder.path(), 1);
        own.put(&Engine::default(), b"component", b"code");
        let path = only_entry(&own);
        let whole = fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 1;
            fs::write(&path, changed).unwrap();
            assert_eq!(get(&own, b"component"), None, "byte {at}");
            fs::write(&path, &whole[..at]).unwrap();
            assert_eq!(get(&own, b"component"), None, "{at} bytes");
        }
        fs::write(&path, [&whole[..], b"!"].concat()).unwrap();
        assert_eq!(get(&own, b"component"), None, "something behind it");
        // Another installation's entry under this one's name.
        let other = cache(&folder.path().join("other"), 2);
        other.put(&Engine::default(), b"component", b"evil");
        fs::copy(only_entry(&other), &path).unwrap();
        assert_eq!(get(&own, b"component"), None);
        // This installation's entry of another component.
        let third = cache(&folder.path().join("third"), 1);
        third.put(&Engine::default(), b"another", b"code");
        fs::copy(only_entry(&third), &path).unwrap();
        assert_eq!(get(&own, b"component"), None);
        own.put(&Engine::default(), b"component", b"code");
        assert_eq!(get(&own, b"component").as_deref(), Some(&b"code"[..]), "it is replaced");
    }

    #[test]
    fn an_entry_that_is_larger_than_code_can_be_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let cache = cache(folder.path(), 1);
        cache.put(&Engine::default(), b"component", &[0; 101]);
        assert_eq!(get(&cache, b"component"), None);
    }

    #[test]
    fn a_folder_that_others_can_use_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let open = |path: &Path| CodeCache::open(path.to_owned(), [1; 32]);
        let shared = folder.path().join("shared");
        fs::create_dir(&shared).unwrap();
        for mode in [0o770, 0o705, 0o701] {
            fs::set_permissions(&shared, fs::Permissions::from_mode(mode)).unwrap();
            assert!(matches!(open(&shared), Err(CacheError::NotOwn(_))), "{mode:o}");
        }
        fs::set_permissions(&shared, fs::Permissions::from_mode(0o700)).unwrap();
        assert!(open(&shared).is_ok());
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&shared, &link).unwrap();
        assert!(matches!(open(&link), Err(CacheError::NotOwn(_))));
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(matches!(open(&file), Err(CacheError::Unusable { .. })));
        assert!(matches!(open(&file.join("beneath")), Err(CacheError::Unusable { .. })));
    }

    #[test]
    fn what_was_used_last_stays() {
        let folder = tempfile::tempdir().unwrap();
        // Room for two entries of ten bytes of code.
        let entry = (MAGIC.len() + TAG + 10) as u64;
        let cache = CodeCache::open_with(folder.path().join("code"), [1; 32], 2 * entry).unwrap();
        let engine = Engine::default();
        let aged = |component: &[u8], seconds: u64| {
            let file = File::open(CodeEntry::new(&cache, &engine, component).path).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(seconds)).unwrap();
        };
        cache.put(&engine, b"a", &[0; 10]);
        aged(b"a", 1);
        cache.put(&engine, b"b", &[0; 10]);
        aged(b"b", 2);
        assert!(get(&cache, b"a").is_some(), "and so it is newer than b");
        cache.put(&engine, b"c", &[0; 10]);
        assert_eq!([b"a", b"b", b"c"].map(|name| get(&cache, name).is_some()), [true, false, true]);
        cache.put(&engine, b"large", &[0; 90]);
        assert!(get(&cache, b"large").is_some());
    }

    #[test]
    fn the_secret_is_never_shown() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!format!("{:?}", cache(folder.path(), 77)).contains("77"));
    }
}
