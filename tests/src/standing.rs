//! The gate of a person that stands: commands start and end it, and find it by themselves.

use std::path::Path;
use std::process::Output;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::admin::Admin;
use crate::gate;
use crate::tmux::Terminal;

/// Where commands look for settings, below the folder of a person.
const SETTINGS: &str = "leafgate/config.toml";

/// A person with settings and data of their own. The gate that stands then ends with this value.
pub struct Standing {
    data: TempDir,
}

impl Standing {
    /// A person who has these settings beside a port that is free.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn of(settings: &str) -> Result<Self> {
        let data = tempfile::tempdir()?;
        let file = data.path().join(SETTINGS);
        std::fs::create_dir_all(file.parent().context("a file in no folder")?)?;
        std::fs::write(file, format!("listen = \"127.0.0.1:0\"\n{settings}"))?;
        Ok(Standing { data })
    }

    /// The variables by which this person's commands find their files, as an object.
    #[must_use]
    pub fn variables(&self) -> Value {
        let named = gate::variables(self.data.path());
        let named = named.iter().map(|(name, value)| ((*name).to_owned(), json!(value.to_string_lossy())));
        Value::Object(named.collect())
    }

    /// The folder of their data.
    #[must_use]
    pub fn data(&self) -> &Path {
        self.data.path()
    }

    /// Runs a command that must succeed; returns what it wrote.
    ///
    /// # Errors
    /// When it fails; the error holds what it said.
    pub fn run(&self, arguments: &[&str]) -> Result<String> {
        let Output { status, stdout, stderr } = gate::run_in(self.data(), arguments, b"")?;
        let said = String::from_utf8_lossy(&stderr);
        ensure!(status.success(), "`leafgate {}`: {status}: {said}", arguments.join(" "));
        Ok(String::from_utf8(stdout)?)
    }

    /// The admin API of the gate that stands now.
    ///
    /// # Errors
    /// When none stands.
    pub fn admin(&self) -> Result<Admin> {
        let entries = std::fs::read_dir(self.data().join(gate::RUNTIME)).context("no gate stands")?;
        let mut files = entries.flatten().map(|entry| entry.path());
        let is_gate = |path: &Path| path.extension().is_some_and(|extension| extension == "json");
        Admin::at(&files.find(|path| is_gate(path)).context("no gate stands")?)
    }

    /// Goes to the prompt, where a turn waits, puts a word in the place of another one with an editor, and lets it go.
    ///
    /// # Errors
    /// When the prompt does not show what it must.
    pub fn edits(&self, old: &str, new: &str) -> Result<()> {
        let editor = format!("sed -i s/{old}/{new}/").into();
        let mut variables = gate::variables(self.data()).to_vec();
        variables.push(("EDITOR", editor));
        let variables: Vec<_> = variables.iter().map(|(name, value)| (*name, value.as_os_str())).collect();
        let prompt = Terminal::start(&gate::binary()?, &["review"], &variables)?;
        // It opens at the newest words of the user, and there at the first leaf that may be changed.
        for (shown, key) in [
            ("Paused by", "Enter"),
            ("Enter open · e edit", "E"),
            ("[edited by person]", "s"),
            ("Send exactly what is shown?", "y"),
        ] {
            prompt.shows(shown)?;
            prompt.press(&[key])?;
        }
        prompt.shows("No turn waits.").map(drop)
    }
}

impl Drop for Standing {
    fn drop(&mut self) {
        // Where none stands, nothing is left to end.
        let _ = gate::run_in(self.data(), &["stop", "--force"], b"");
    }
}
