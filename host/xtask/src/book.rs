//! `cargo xtask book`: the documents as a book, with the chapters that the built program writes about itself.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::run::{cargo, run, step};
use crate::{kit, paths};

const MDBOOK: &str = "0.5.4";

/// Builds it below `target/book`, and follows each of its links.
pub(crate) fn book() -> Result<()> {
    kit::build()?;
    let folder = paths::target().join("book");
    match std::fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(error).context("the last book");
        }
        _ => step("writes the chapters that the program knows"),
    }
    run(kit::kit(&["book"]).arg(&folder))?;
    run(Command::new(mdbook()?).arg("build").arg(&folder))?;
    let html = folder.join("html");
    run(kit::kit(&["book-links"]).arg(&html))?;
    step(&format!("the book is {}", html.join("index.html").canonicalize()?.display()));
    Ok(())
}

/// Installs mdBook where this version of it is not there, without what serves a book, and unoptimised: it has few pages to write.
fn mdbook() -> Result<PathBuf> {
    let folder = paths::target().join("tools").join(format!("mdbook-{MDBOOK}"));
    let program = folder.join("bin/mdbook");
    if !program.is_file() {
        step("installing mdBook (two minutes on two cores)");
        let which = ["install", "mdbook", "--version", MDBOOK, "--locked", "--debug", "--quiet"];
        let features = ["--no-default-features", "--features", "search"];
        run(cargo()
            .args(which)
            .args(features)
            .arg("--root")
            .arg(&folder)
            .arg("--target-dir")
            .arg(folder.join("build")))?;
        // The program alone is used again.
        std::fs::remove_dir_all(folder.join("build")).context("the build of mdBook")?;
    }
    Ok(program)
}
