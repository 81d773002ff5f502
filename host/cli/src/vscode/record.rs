//! What was changed in which files of settings.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Context;
use serde::{Deserialize, Serialize};

use super::led::SettingChanges;
use crate::{home, private};

const FILE: &str = "vscode.json";

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Record {
    /// The gate that the files lead to.
    pub(super) gate: String,
    pub(super) files: BTreeMap<PathBuf, SettingChanges>,
}

impl Record {
    pub(super) fn read() -> anyhow::Result<Record> {
        let path = home::data_folder()?.join(FILE);
        let wrong = || {
            format!(
                "{} says what settings of VS Code were before, and cannot be used: restore it, or remove it and mend the settings by hand",
                path.display()
            )
        };
        private::read_json(&path, wrong)
    }

    pub(super) fn write(&self) -> anyhow::Result<()> {
        let data = home::data_folder()?;
        private::write_json(&data, FILE, self)
            .with_context(|| format!("{} cannot be written", data.join(FILE).display()))
    }
}
