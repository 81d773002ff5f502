//! `cargo xtask book`: the documents as a book, with the chapters that the built program writes about itself.

use std::process::Command;

use anyhow::{Context as _, Result};

use crate::run::{installed, run, step};
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
    // Without what serves a book.
    let mdbook = installed("mdbook", MDBOOK, &["--no-default-features", "--features", "search"])?;
    run(Command::new(mdbook.join("mdbook")).arg("build").arg(&folder))?;
    let html = folder.join("html");
    run(kit::kit(&["book-links"]).arg(&html))?;
    step(&format!("the book is {}", html.join("index.html").canonicalize()?.display()));
    Ok(())
}
