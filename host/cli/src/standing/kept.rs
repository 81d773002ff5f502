//! What is kept of the standing gate from one start to the next.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::home;
use crate::kept::KeptRecord;
use crate::runtime;
use crate::vscode::{self, Names};

#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct StandingRecord {
    /// Where it stands, or stood last.
    pub(crate) url: Option<String>,
    /// Its runtime file.
    pub(super) file: Option<PathBuf>,
    /// Upstreams beside the usual ones.
    pub(crate) upstreams: Names,
    /// Whether it is to stand until somebody ends it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) stays: bool,
    /// What starts it anew, where a service keeps it.
    pub(crate) service: Option<String>,
}

impl KeptRecord for StandingRecord {
    const FILE: &'static str = "standing.json";
    const MEND: &'static str = "remove it, and `leafgate vscode on` writes it anew";
}

impl StandingRecord {
    /// Returns what is kept for this user.
    pub(crate) fn of_user() -> anyhow::Result<StandingRecord> {
        StandingRecord::read(&home::data_folder()?)
    }

    /// Keeps it otherwise.
    pub(super) fn change(
        data: &Path,
        change: impl FnOnce(StandingRecord) -> StandingRecord,
    ) -> anyhow::Result<()> {
        let before = StandingRecord::read(data)?;
        let kept = change(before.clone());
        if kept != before {
            kept.write(data)?;
        }
        Ok(())
    }

    /// Returns whether settings of editors lead to where it stood last.
    pub(super) fn is_led(&self) -> bool {
        self.url.as_deref().is_some_and(vscode::is_led)
    }

    /// Returns the port where it stood last.
    pub(super) fn port(&self) -> anyhow::Result<Option<u16>> {
        let address = self.url.as_deref().map(runtime::address_of).transpose()?;
        Ok(address.map(|address| address.port()))
    }
}
