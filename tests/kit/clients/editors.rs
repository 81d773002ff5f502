//! Real VS Code: code-server, which ships Microsoft's Copilot Chat, and a Chromium that shows it.
//!
//! npm has code-server, and its Node beside it; Debian has Chromium. Nothing else is fetched: what packages would do on installation
//! (fetch and build) is left out, and the parts of VS Code that are missing then are none that a chat needs.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};
use leafgate_tests::{gate, paths};

use super::node;
use crate::run::{run, step};

/// The names that Chromium is installed by.
const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// Where the editor itself is below code-server, with packages of its own.
const EDITOR: &str = "node_modules/code-server/lib/vscode";

/// The editor, and where its pictures go.
pub(super) fn tests() -> Result<Command> {
    ensure!(
        cfg!(all(target_os = "linux", target_arch = "x86_64")),
        "npm has the editor's Node for Linux on x86-64 alone"
    );
    let (mut tests, folder) = node::tests_in("editors", |folder| {
        // Its lockfile lacks one package, which `npm ci` would not take.
        node::install(&folder.join(EDITOR), &["install", "--omit=dev"])
    })?;
    // Where everything stands is said as it is to the libraries.
    std::fs::copy(paths::root().join("tests/clients/node/stage.mjs"), folder.join("stage.mjs"))?;
    tests.env("LEAFGATE_EDITOR", &folder);
    tests.env("LEAFGATE_PICTURES", folder.join("pictures"));
    tests.env("LEAFGATE_BROWSER", browser()?);
    tests.env("LEAFGATE_BIN", gate::binary()?);
    Ok(tests)
}

/// Chromium, installed where it is missing and this is root.
fn browser() -> Result<PathBuf> {
    if let Some(found) = installed() {
        return Ok(found);
    }
    let user = Command::new("id").arg("-u").output().context("there is no Chromium")?;
    if user.stdout.trim_ascii() != b"0" {
        bail!("there is no Chromium, and only root can install it: `sudo apt-get install chromium`");
    }
    step("installing Chromium (apt-get)");
    for arguments in [&["update", "-qq"][..], &["install", "-y", "-qq", "chromium"]] {
        run(Command::new("apt-get")
            .args(arguments)
            .env("DEBIAN_FRONTEND", "noninteractive")
            .stdout(Stdio::null()))?;
    }
    installed().context("apt-get has installed no Chromium")
}

fn installed() -> Option<PathBuf> {
    let folders: Vec<PathBuf> = std::env::split_paths(&std::env::var_os("PATH")?).collect();
    let places = BROWSERS.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    places.into_iter().find(|place| Path::is_file(place))
}
