//! The sources of the book: the pages of the repository, and the chapters that the built program writes about itself.

mod commands;
mod links;
mod metrics;
mod schemas;
mod stage;

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use leafgate_tests::{book, gate, paths};

/// A chapter that is written from the built program: its file below `docs/generated`, and what writes it.
type Chapter = (&'static str, fn() -> Result<String>);

const CHAPTERS: [Chapter; 4] = [
    ("commands.md", commands::chapter),
    ("settings.md", schemas::settings),
    ("admin-api.md", schemas::admin),
    ("metrics.md", metrics::chapter),
];

/// Writes what mdBook reads into a folder.
pub(crate) fn stage(folder: &Path) -> Result<()> {
    let sources = folder.join("src");
    stage::stage(&sources)?;
    std::fs::copy(paths::root().join("docs/book.toml"), folder.join("book.toml"))?;
    let links = book::Page::read(book::SUMMARY)?.links();
    let listed: BTreeSet<String> = links
        .into_iter()
        .filter_map(|link| link.file)
        .filter(|file| file.starts_with(book::GENERATED))
        .collect();
    let place = |name: &str| format!("{}/{name}", book::GENERATED);
    let written: BTreeSet<String> = CHAPTERS.iter().map(|(name, _)| place(name)).collect();
    ensure!(listed == written, "{} lists {listed:?}, and {written:?} are written", book::SUMMARY);
    for (name, chapter) in CHAPTERS {
        book::write(&sources.join(place(name)), &chapter().with_context(|| name)?)?;
    }
    Ok(())
}

/// Fails where the built book leads nowhere.
pub(crate) fn check(folder: &Path) -> Result<()> {
    println!("kit: all {} links of the book lead somewhere", links::check(folder)?);
    Ok(())
}

/// What a command of the gate writes.
fn written(arguments: &[&str]) -> Result<String> {
    let output = gate::run(arguments, b"")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`leafgate {}`: {said}", arguments.join(" "));
    Ok(String::from_utf8(output.stdout)?)
}

/// A text as it may stand in a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;").split_whitespace().collect::<Vec<_>>().join(" ")
}
