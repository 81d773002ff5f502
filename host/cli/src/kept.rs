//! Records of JSON in the data folder, which outlive a run, and the first of them: the mode that was
//! chosen last.
//!
//! That lies in `mode.json`, for all gates of the installation: the next one that starts begins with it.
//! A single pause (`interceptOnce`) is for the run in which it was asked for.

use std::fs;
use std::io;
use std::path::Path;

use anyhow::Context as _;
use leafgate_admin::TurnMode;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::private;

/// A record of JSON, the default where none was ever written.
pub(crate) trait KeptRecord: Default + Serialize + DeserializeOwned {
    /// Its file in the data folder.
    const FILE: &'static str;
    /// What is to be done with one that cannot be used.
    const MEND: &'static str;

    /// Reads it.
    ///
    /// # Errors
    /// When there is a file that cannot be read: what somebody decided would be forgotten without a word.
    fn read(data: &Path) -> anyhow::Result<Self> {
        let path = data.join(Self::FILE);
        let unusable = || format!("{} cannot be used: {}", path.display(), Self::MEND);
        match private::if_there(fs::read(&path)).with_context(unusable)? {
            None => Ok(Self::default()),
            Some(text) => serde_json::from_slice(&text).with_context(unusable),
        }
    }

    /// Writes it. Once this returns, it is found again whatever happens to process and machine; until
    /// then the one before it is.
    fn write(&self, data: &Path) -> io::Result<()> {
        let mut text = serde_json::to_vec_pretty(self)?;
        text.push(b'\n');
        private::write(data, Self::FILE, &text).map_err(|error| {
            let path = data.join(Self::FILE);
            io::Error::new(error.kind(), format!("{} cannot be written: {error}", path.display()))
        })
    }
}

/// The mode that was chosen last; `off` where none ever was.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct KeptMode {
    pub(crate) mode: TurnMode,
}

impl KeptRecord for KeptMode {
    const FILE: &'static str = "mode.json";
    const MEND: &'static str = "remove the file of the last run's mode, and turns are sent normally";
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_last_mode_is_found_again_and_no_draft_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        assert_eq!(KeptMode::read(&data).unwrap().mode, TurnMode::Off);
        for &mode in TurnMode::ALL {
            KeptMode { mode }.write(&data).unwrap();
            assert_eq!(KeptMode::read(&data).unwrap().mode, mode);
        }
        let files: Vec<_> = fs::read_dir(&data).unwrap().map(|file| file.unwrap().path()).collect();
        assert_eq!(files, [data.join(KeptMode::FILE)]);
        assert_eq!(fs::metadata(&files[0]).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_draft_of_a_killed_process_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path();
        KeptMode { mode: TurnMode::InterceptAlways }.write(data).unwrap();
        let draft = data.join(format!(".{}.{}", KeptMode::FILE, std::process::id()));
        fs::write(&draft, "{\"mode\":\"of").unwrap();
        assert_eq!(KeptMode::read(data).unwrap().mode, TurnMode::InterceptAlways);
        KeptMode { mode: TurnMode::AutoOverride }.write(data).unwrap();
        assert_eq!(KeptMode::read(data).unwrap().mode, TurnMode::AutoOverride);
        assert!(!draft.exists());
    }

    #[test]
    fn what_is_no_mode_is_an_error_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path();
        for broken in ["", "{}", "{\"mode\":\"sometimes\"}", "off"] {
            fs::write(data.join(KeptMode::FILE), broken).unwrap();
            let error = format!("{:#}", KeptMode::read(data).map(drop).unwrap_err());
            assert!(error.contains("remove the file"), "{error}");
        }
    }
}
