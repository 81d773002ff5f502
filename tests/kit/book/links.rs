//! The links of a book that is built.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

/// Fails where a page of a built book leads nowhere, or asks another machine for a part of itself. Returns how many links there are.
pub(super) fn check(book: &Path) -> Result<usize> {
    let mut pages = BTreeMap::new();
    collect(book, &mut pages)?;
    let (mut links, mut wrong) = (0, Vec::new());
    for (page, html) in &pages {
        for (attribute, url) in
            ["href", "src"].iter().flat_map(|name| values(html, name).map(move |url| (*name, url)))
        {
            links += 1;
            let shown = || format!("{}: {url}", page.strip_prefix(book).unwrap_or(page).display());
            if url.contains("://") {
                // A reader may follow an address; a page must not.
                if attribute == "src" || html.contains(&format!("<link rel=\"stylesheet\" href=\"{url}")) {
                    wrong.push(format!("{} is on another machine", shown()));
                }
                continue;
            }
            let (path, anchor) = url.split_once('#').unwrap_or((url, ""));
            let file = if path.is_empty() { page.clone() } else { lexical(&page.with_file_name(path)) };
            let there = match pages.get(&file) {
                Some(html) => anchor.is_empty() || values(html, "id").any(|id| id == anchor),
                None => file.is_file(),
            };
            if !there {
                wrong.push(shown());
            }
        }
    }
    ensure!(wrong.is_empty(), "links of the book that lead nowhere:\n  {}", wrong.join("\n  "));
    Ok(links)
}

/// All pages below a folder.
fn collect(folder: &Path, pages: &mut BTreeMap<PathBuf, String>) -> Result<()> {
    for entry in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, pages)?;
        } else if path.extension().is_some_and(|extension| extension == "html") {
            let html = std::fs::read_to_string(&path)?;
            pages.insert(path, html);
        }
    }
    Ok(())
}

/// The values of an attribute.
fn values<'h>(html: &'h str, name: &str) -> impl Iterator<Item = &'h str> {
    let begin = format!(" {name}=\"");
    html.match_indices(&begin)
        .filter_map(|(at, begin)| html[at + begin.len()..].split('"').next())
        .filter(|value| !value.is_empty() && !value.starts_with("data:") && !value.starts_with("javascript:"))
        .collect::<Vec<_>>()
        .into_iter()
}

/// A path without `..`.
fn lexical(path: &Path) -> PathBuf {
    let mut lexical = PathBuf::new();
    for component in path.components() {
        if component == Component::ParentDir {
            lexical.pop();
        } else {
            lexical.push(component);
        }
    }
    lexical
}

#[cfg(test)]
mod tests {
    use leafgate_tests::book::write;

    use super::*;

    #[test]
    fn a_link_that_leads_nowhere_fails_the_book() {
        let book = tempfile::tempdir().unwrap();
        let page = |name: &str, text: &str| write(&book.path().join(name), text).unwrap();
        page("index.html", r#"<a href="a/b.html#c"> <a href="https://a.example"> <img src="x.svg">"#);
        page("x.svg", "");
        page("a/b.html", r##"<h1 id="c"> <a href="../index.html"> <a href="#c">"##);
        assert_eq!(check(book.path()).unwrap(), 5);
        page("a/b.html", r#"<h1 id="d"> <a href="none.html"> <img src="https://a.example/b.png">"#);
        let error = check(book.path()).unwrap_err().to_string();
        for wrong in ["index.html: a/b.html#c", "a/b.html: none.html", "b.png is on another machine"] {
            assert!(error.contains(wrong), "{error}");
        }
    }
}
