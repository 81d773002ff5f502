//! The data folder of the installation, and the key in it that makes tokens.
//!
//! The folder is `LEAFGATE_DATA_DIR`, else `$XDG_DATA_HOME/leafgate`, else
//! `~/.local/share/leafgate`. What can be made anew lies in `LEAFGATE_CACHE_DIR`, else in `cache` of
//! a data folder that is named, else in `$XDG_CACHE_HOME/leafgate` or `~/.cache/leafgate`. Only its owner can read the key. A new key makes every token in the
//! clients' histories meaningless, so an unreadable key is an error and never replaced.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context;
use leafgate_gate::LOCAL_CLIENT;
use leafgate_vault::{ClientIdentity, InstallationKey, TokenKeys};
use sha2::{Digest as _, Sha256};

use crate::private;

/// The file in the user's configuration folder.
const CONFIGURATION: &str = "leafgate/config.toml";

const KEY_FILE: &str = "key";
const KEY_BYTES: usize = 32;

/// Returns the keys of this installation's local client, which `run` and `apply` share.
pub(crate) fn token_keys() -> anyhow::Result<TokenKeys> {
    Ok(TokenKeys::derive(&installation()?, &ClientIdentity::new(LOCAL_CLIENT)))
}

/// Returns the secret of this installation.
pub(crate) fn installation() -> anyhow::Result<InstallationKey> {
    installation_key(&data_folder()?)
}

/// Returns the folder of what can be made anew at any time.
pub(crate) fn cache_folder() -> Option<PathBuf> {
    let in_data = || Some(variable("LEAFGATE_DATA_DIR")?.join("cache"));
    let of_user = || Some(of_user(&variable, "XDG_CACHE_HOME", ".cache")?.join("leafgate"));
    variable("LEAFGATE_CACHE_DIR").or_else(in_data).or_else(of_user)
}

/// Returns the folder of everything that outlives a run.
pub(crate) fn data_folder() -> anyhow::Result<PathBuf> {
    if let Some(folder) = variable("LEAFGATE_DATA_DIR") {
        return Ok(folder);
    }
    let data = of_user(&variable, "XDG_DATA_HOME", ".local/share")
        .context("neither LEAFGATE_DATA_DIR nor XDG_DATA_HOME nor HOME is set: set one of them")?;
    Ok(data.join("leafgate"))
}

/// Returns where the user's file is, whether it is there or not.
pub(crate) fn own_file() -> Option<PathBuf> {
    Some(of_user(&variable, "XDG_CONFIG_HOME", ".config")?.join(CONFIGURATION))
}

/// Returns a digest that says nothing without this installation's key.
pub(crate) fn keyed(what: &str, of: &[u8]) -> anyhow::Result<String> {
    let digest = base16ct::lower::encode_string(&Sha256::digest(of));
    let secret = installation()?.secret_for(&format!("started with {what} {digest}"));
    Ok(base16ct::lower::encode_string(&secret))
}

/// Returns the folder of the user's that a variable of the XDG specification names, else this one in the
/// home folder. A relative path is ignored, as the specification says.
pub(crate) fn of_user(
    variable: &dyn Fn(&str) -> Option<PathBuf>,
    named: &str,
    in_home: &str,
) -> Option<PathBuf> {
    let folder = variable(named).filter(|folder| folder.is_absolute());
    folder.or_else(|| Some(variable("HOME")?.join(in_home)))
}

/// Returns a path that the environment names.
pub(crate) fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

fn installation_key(folder: &Path) -> anyhow::Result<InstallationKey> {
    let path = folder.join(KEY_FILE);
    let shown = path.display();
    if !path.try_exists().with_context(|| format!("cannot look for the installation's key {shown}"))? {
        create(folder, &path).with_context(|| format!("cannot create the installation's key {shown}"))?;
    }
    read(&path).with_context(|| format!("the installation's key {shown} cannot be used"))
}

fn read(path: &Path) -> anyhow::Result<InstallationKey> {
    let file = File::open(path)?;
    let to_do = "run `chmod 600` on it, or remove it if somebody may have";
    private::ensure_mode(&file.metadata()?, 0o077, "read it", to_do)?;
    let text = io::read_to_string(file)?;
    let bytes = leafgate_contract::of_hex(text.trim_end()).context(
        "it is not 64 hexadecimal digits: restore it, or remove it and lose what older tokens stand for",
    )?;
    Ok(InstallationKey::from_bytes(bytes))
}

/// Writes the key under another name and links it to its own: another process sees a whole key or
/// none, and of two that start at once the second takes the first one's.
fn create(folder: &Path, path: &Path) -> anyhow::Result<()> {
    private::make_folder(folder)?;
    let mut key = [0; KEY_BYTES];
    getrandom::fill(&mut key).context("the system gives no random bytes")?;
    let text = format!("{}\n", base16ct::lower::encode_string(&key));
    match private::draft(folder, KEY_FILE.as_ref(), 0o600, text.as_bytes())?.persist_noclobber(path) {
        Err(failed) if failed.error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        written => Ok(written.map(drop)?),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn token(folder: &Path) -> anyhow::Result<String> {
        let keys = TokenKeys::derive(&installation_key(folder)?, &ClientIdentity::new(LOCAL_CLIENT));
        Ok(keys.token("EMAIL", "ann@example.org").to_string())
    }

    #[test]
    fn the_key_is_made_once_and_private() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("a/b");
        let first = token(&data).unwrap();
        assert_eq!(token(&data).unwrap(), first);
        assert_eq!(fs::metadata(data.join(KEY_FILE)).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::metadata(&data).unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(fs::read_dir(&data).unwrap().count(), 1, "no draft is left");
        assert_ne!(token(&folder.path().join("c")).unwrap(), first);
    }

    #[test]
    fn a_key_that_others_may_read_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        token(folder.path()).unwrap();
        fs::set_permissions(folder.path().join(KEY_FILE), fs::Permissions::from_mode(0o640)).unwrap();
        let error = format!("{:#}", token(folder.path()).unwrap_err());
        assert!(error.contains("mode 640") && error.contains("chmod 600"), "{error}");
    }

    #[test]
    fn a_broken_key_is_an_error_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        token(folder.path()).unwrap();
        for broken in ["", "abc", &"é".repeat(32), &"+f".repeat(32)] {
            fs::write(folder.path().join(KEY_FILE), broken).unwrap();
            token(folder.path()).unwrap_err();
            assert_eq!(fs::read_to_string(folder.path().join(KEY_FILE)).unwrap(), broken);
        }
    }
}
