//! What the standing gate was started with, to be compared with what it would be started with now.

use std::time::UNIX_EPOCH;

use leafgate_admin::StartedWith;

use crate::home::keyed;
use crate::settings;

/// Returns it for this program, as it lies on disk, and the user's settings.
pub(super) fn now() -> anyhow::Result<StartedWith> {
    Ok(StartedWith {
        program: keyed("program", program().as_bytes())?,
        settings: keyed("settings", &settings::of_user()?.identity())?,
    })
}

/// Builds of one version are told from each other by their files.
fn program() -> String {
    let file = std::env::current_exe().and_then(std::fs::metadata).ok();
    let size = file.as_ref().map(std::fs::Metadata::len);
    let time = file.and_then(|file| file.modified().ok()?.duration_since(UNIX_EPOCH).ok());
    format!("{} {size:?} {time:?}", env!("CARGO_PKG_VERSION"))
}
