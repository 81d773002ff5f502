//! What outlives a run besides the installation's key: the mode that was chosen last.
//!
//! It lies in `mode.json` of the data folder, for all gates of the installation: the next one that
//! starts begins with it. A single pause (`interceptOnce`) is for the run in which it was asked for.

use std::io;
use std::path::PathBuf;

use leafgate_admin::TurnMode;
use serde::{Deserialize, Serialize};

use crate::private;

const MODE_FILE: &str = "mode.json";

#[derive(Default, Serialize, Deserialize)]
struct ModeRecord {
    mode: TurnMode,
}

/// The kept mode of one data folder.
#[derive(Clone)]
pub(crate) struct KeptMode(PathBuf);

impl KeptMode {
    pub(crate) fn in_folder(folder: PathBuf) -> KeptMode {
        KeptMode(folder)
    }

    /// The mode to begin with: `off` where none was ever chosen.
    ///
    /// # Errors
    /// When there is a file that cannot be read. To begin without a pause that somebody asked for
    /// would let requests leave unseen.
    pub(crate) fn read(&self) -> anyhow::Result<TurnMode> {
        let path = self.0.join(MODE_FILE);
        let unusable = || {
            format!(
                "the mode of the last run, {}, cannot be used: remove the file, and turns are sent normally",
                path.display()
            )
        };
        private::read_json(&path, unusable).map(|ModeRecord { mode }| mode)
    }

    /// Keeps a mode. Once this returns, it is found again whatever happens to process and machine;
    /// until then the one before it is.
    pub(crate) fn write(&self, mode: TurnMode) -> io::Result<()> {
        private::write_json(&self.0, MODE_FILE, &ModeRecord { mode })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_last_mode_is_found_again_and_no_draft_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let kept = KeptMode::in_folder(folder.path().join("data"));
        assert_eq!(kept.read().unwrap(), TurnMode::Off);
        for &mode in TurnMode::ALL {
            kept.write(mode).unwrap();
            assert_eq!(kept.read().unwrap(), mode);
        }
        let files: Vec<_> = fs::read_dir(&kept.0).unwrap().map(|file| file.unwrap().path()).collect();
        assert_eq!(files, [kept.0.join(MODE_FILE)]);
        assert_eq!(fs::metadata(&files[0]).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_draft_of_a_killed_process_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let kept = KeptMode::in_folder(folder.path().to_owned());
        kept.write(TurnMode::InterceptAlways).unwrap();
        let draft = folder.path().join(format!(".{MODE_FILE}.{}", std::process::id()));
        fs::write(&draft, "{\"mode\":\"of").unwrap();
        assert_eq!(kept.read().unwrap(), TurnMode::InterceptAlways);
        kept.write(TurnMode::AutoOverride).unwrap();
        assert_eq!(kept.read().unwrap(), TurnMode::AutoOverride);
        assert!(!draft.exists());
    }

    #[test]
    fn what_is_no_mode_is_an_error_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        let kept = KeptMode::in_folder(folder.path().to_owned());
        for broken in ["", "{}", "{\"mode\":\"sometimes\"}", "off"] {
            fs::write(folder.path().join(MODE_FILE), broken).unwrap();
            let error = format!("{:#}", kept.read().unwrap_err());
            assert!(error.contains("remove the file"), "{error}");
        }
    }
}
