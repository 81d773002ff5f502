//! The pages of the repository as mdBook reads them.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use leafgate_tests::book::{Link, Page, SUMMARY, pages, write};
use leafgate_tests::paths;

/// Writes the sources of the book below a folder: the pages at their places in the repository, what they show beside them, and the table
/// of contents. A link to something that is no page and no file (a folder) becomes its words.
pub(super) fn stage(to: &Path) -> Result<()> {
    let pages = pages()?;
    let is_page: BTreeSet<&str> = pages.iter().map(|page| page.path.as_str()).collect();
    for page in &pages {
        let text = rewritten(page, |link| match &link.file {
            None => Ok(None),
            Some(file) if is_page.contains(file.as_str()) => {
                Ok(Some(as_index(&page.text[link.place.clone()])))
            }
            Some(file) if paths::root().join(file).is_file() && !file.ends_with(".md") => {
                copy(&paths::root().join(file), &to.join(file))?;
                Ok(None)
            }
            Some(_) => Ok(Some(page.text[link.words.clone()].to_owned())),
        })?;
        write(&to.join(as_index(&page.path)), &text)?;
    }
    // mdBook wants paths from the folder of its sources on.
    let summary = Page::read(SUMMARY)?;
    let text = rewritten(&summary, |link| {
        let Some(file) = &link.file else { bail!("{SUMMARY} leads out of the repository") };
        Ok(Some(format!("[{}]({})", &summary.text[link.words.clone()], as_index(file))))
    })?;
    write(&to.join("SUMMARY.md"), &text)
}

/// mdBook writes a README as `index.html`, and follows no link to the other name.
fn as_index(text: &str) -> String {
    text.replace("README.md", "index.md")
}

/// The text of a page with another one in the place of each link for which there is one.
fn rewritten(page: &Page, other: impl Fn(&Link) -> Result<Option<String>>) -> Result<String> {
    let mut text = page.text.clone();
    for link in page.links().iter().rev() {
        if let Some(other) = other(link)? {
            text.replace_range(link.place.clone(), &other);
        }
    }
    Ok(text)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to.parent().context("a file in no folder")?)?;
    std::fs::copy(from, to).with_context(|| from.display().to_string())?;
    Ok(())
}
