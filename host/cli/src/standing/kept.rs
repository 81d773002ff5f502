//! What is kept of the standing gate from one start to the next.

use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::{Deserialize, Serialize};

use crate::private;
use crate::vscode::{self, Names};

const FILE: &str = "standing.json";

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct StandingRecord {
    /// Where it stood last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) url: Option<String>,
    /// Its runtime file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) file: Option<PathBuf>,
    /// Upstreams beside the usual ones.
    pub(super) upstreams: Names,
    /// Whether it is to stand until somebody ends it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) stays: bool,
    /// What starts it anew, where a service keeps it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) service: Option<String>,
}

impl StandingRecord {
    /// Reads it; nothing is kept before the first start.
    pub(super) fn read(data: &Path) -> anyhow::Result<StandingRecord> {
        let path = data.join(FILE);
        let wrong = || {
            format!("{} cannot be used: remove it, and `leafgate vscode on` writes it anew", path.display())
        };
        private::read_json(&path, wrong)
    }

    /// Keeps it otherwise.
    pub(super) fn change(
        data: &Path,
        change: impl FnOnce(StandingRecord) -> StandingRecord,
    ) -> anyhow::Result<()> {
        let before = StandingRecord::read(data)?;
        let kept = change(before.clone());
        if kept == before {
            return Ok(());
        }
        private::write_json(data, FILE, &kept)
            .with_context(|| format!("{} cannot be written", data.join(FILE).display()))
    }

    /// Returns whether settings of editors lead to where it stood last.
    pub(super) fn is_led(&self) -> bool {
        self.url.as_deref().is_some_and(vscode::is_led)
    }

    /// Returns the port where it stood last.
    pub(super) fn port(&self) -> anyhow::Result<Option<u16>> {
        self.url.as_deref().map(port_of).transpose()
    }
}

/// Returns the port of a gate's URL.
pub(super) fn port_of(url: &str) -> anyhow::Result<u16> {
    let port = url.rsplit(':').next().and_then(|port| port.parse().ok());
    port.with_context(|| format!("{url} names no port"))
}
