//! What both acts play on: the built-in upstream `echo:`, a tap before it that keeps every byte, and gates before the tap.

use std::ffi::OsStr;
use std::path::Path;

use anyhow::{Result, bail, ensure};
use leafgate_tests::gate::{self, Gate};
use leafgate_tests::upstream::Upstream;
use tempfile::TempDir;

/// Columns of a line on the stage.
const WIDTH: usize = 118;

/// The scenery, and the count of what was checked on it.
pub(crate) struct Stage {
    /// One installation: the gate and the single commands make the same tokens.
    data: TempDir,
    /// A gate without rules before the built-in upstream. It ends with this value.
    _echo: Gate,
    /// What leaves the gates is kept here.
    pub(crate) tap: Upstream,
    checks: usize,
    headings: usize,
}

impl Stage {
    pub(crate) fn set() -> Result<Self> {
        let data = tempfile::tempdir()?;
        let echo = Gate::start_in(data.path(), &["--policy", "none", "--upstream", "echo:"])?;
        let tap = Upstream::before(echo.address())?;
        Ok(Stage { data, _echo: echo, tap, checks: 0, headings: 0 })
    }

    /// A gate with this policy before the tap.
    pub(crate) fn gate(&self, policy: &Path) -> Result<Gate> {
        let upstream = self.tap.url();
        let arguments: [&OsStr; 4] =
            ["--policy".as_ref(), policy.as_os_str(), "--upstream".as_ref(), upstream.as_ref()];
        Gate::start_in(self.data.path(), &arguments)
    }

    /// What a single command of the binary writes; it must succeed.
    pub(crate) fn command(&self, arguments: &[&OsStr], input: &[u8]) -> Result<Vec<u8>> {
        let output = gate::run_in(self.data.path(), arguments, input)?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "`leafgate {}` failed: {said}", arguments[0].to_string_lossy());
        Ok(output.stdout)
    }

    /// Begins a scene.
    pub(crate) fn heading(&mut self, text: &str) {
        self.headings += 1;
        println!("\n{}. {text}\n", self.headings);
    }

    /// Checks what the story says; the first thing that is otherwise ends it.
    pub(crate) fn check(&mut self, holds: bool, what: &str) -> Result<()> {
        if !holds {
            bail!("step {}: this does not hold: {what}", self.headings);
        }
        self.checks += 1;
        Ok(())
    }

    pub(crate) fn checks(&self) -> usize {
        self.checks
    }
}

/// Prints one line, indented and cut to the stage's width.
pub(crate) fn line(text: &str) {
    match text.char_indices().nth(WIDTH) {
        Some((end, _)) => println!("   {}…", &text[..end]),
        None => println!("   {text}"),
    }
}
