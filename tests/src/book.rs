//! The pages of the book, as `docs/SUMMARY.md` lists them, and what of a page a reader can follow or copy.
//!
//! `cargo xtask book` makes the book of them, and the end-to-end tests hold each page against the binary.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Component, Path};

use anyhow::{Context as _, Result};
use markdown::mdast::Node;
use markdown::{ParseOptions, to_mdast};

use crate::paths;

/// The table of contents, from the root of the repository.
pub const SUMMARY: &str = "docs/SUMMARY.md";

/// Where the table of contents has the chapters that are written from the built program, which nobody checks in.
pub const GENERATED: &str = "docs/generated";

/// One page of Markdown.
pub struct Page {
    /// Its file, from the root of the repository: `docs/log.md`.
    pub path: String,
    /// Its text.
    pub text: String,
    tree: Node,
}

/// A link or a picture of a page.
#[derive(Debug, PartialEq, Eq)]
pub struct Link {
    /// Where it stands in the text, brackets included.
    pub place: Range<usize>,
    /// What stands between its brackets.
    pub words: Range<usize>,
    /// The file or folder that it leads to, from the root of the repository; nothing where it leaves the repository.
    pub file: Option<String>,
    /// What stands behind `#`.
    pub anchor: Option<String>,
}

/// A fenced block.
#[derive(Debug, PartialEq, Eq)]
pub struct Block {
    /// What follows the fence: `sh`, `toml`; empty where nothing does.
    pub language: String,
    /// Its lines.
    pub text: String,
}

/// Returns the pages of the table of contents that are files of the repository, in its order.
///
/// # Errors
/// When a file is not there or is no Markdown.
pub fn pages() -> Result<Vec<Page>> {
    let summary = Page::read(SUMMARY)?;
    let files = summary.links().into_iter().filter_map(|link| link.file);
    files.filter(|file| !file.starts_with(GENERATED)).map(|file| Page::read(&file)).collect()
}

impl Page {
    /// Reads a page by its place in the repository.
    ///
    /// # Errors
    /// When it is not there or is no Markdown.
    pub fn read(path: &str) -> Result<Page> {
        let text = std::fs::read_to_string(paths::root().join(path)).with_context(|| path.to_owned())?;
        Page::of(path, text)
    }

    /// Reads a page that is in no file.
    ///
    /// # Errors
    /// When it is no Markdown.
    pub fn of(path: &str, text: String) -> Result<Page> {
        let tree = to_mdast(&text, &ParseOptions::gfm());
        let tree = tree.map_err(|message| anyhow::anyhow!("{path}: {message}"))?;
        Ok(Page { path: path.to_owned(), text, tree })
    }

    /// Returns its links and pictures, in their order.
    #[must_use]
    pub fn links(&self) -> Vec<Link> {
        let mut links = Vec::new();
        walk(&self.tree, &mut |node| {
            let (url, image) = match node {
                Node::Link(link) => (&link.url, false),
                Node::Image(image) => (&image.url, true),
                _ => return,
            };
            let Some(position) = node.position() else { return };
            let place = position.start.offset..position.end.offset;
            let source = &self.text[place.clone()];
            // An address that is a link as it stands (`https://…`) has no brackets.
            let Some(end) = source.rfind("](") else { return };
            let start = if image { 2 } else { 1 };
            let words = place.start + start..place.start + end;
            let (path, anchor) =
                url.split_once('#').map_or((url.as_str(), None), |(path, anchor)| (path, Some(anchor)));
            let file =
                if path.contains("://") || path.starts_with("mailto:") { None } else { self.beside(path) };
            links.push(Link { place, words, file, anchor: anchor.map(str::to_owned) });
        });
        links
    }

    /// Returns its fenced blocks, in their order.
    #[must_use]
    pub fn blocks(&self) -> Vec<Block> {
        let mut blocks = Vec::new();
        walk(&self.tree, &mut |node| {
            if let Node::Code(code) = node {
                blocks.push(Block {
                    language: code.lang.clone().unwrap_or_default(),
                    text: format!("{}\n", code.value),
                });
            }
        });
        blocks
    }

    /// Returns the names by which links lead to its headings, as mdBook and GitHub make them.
    #[must_use]
    pub fn anchors(&self) -> BTreeSet<String> {
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        let mut anchors = BTreeSet::new();
        walk(&self.tree, &mut |node| {
            if let Node::Heading(_) = node {
                let name = anchor(&node.to_string());
                let before = seen.entry(name.clone()).or_default();
                anchors.insert(if *before == 0 { name } else { format!("{name}-{before}") });
                *before += 1;
            }
        });
        anchors
    }

    /// The place in the repository that a path beside this page is; of the empty one, this page itself.
    fn beside(&self, path: &str) -> Option<String> {
        if path.is_empty() {
            return Some(self.path.clone());
        }
        let mut place = Path::new(&self.path).parent()?.to_owned();
        for component in Path::new(path).components() {
            match component {
                Component::ParentDir => {
                    if !place.pop() {
                        return None;
                    }
                }
                component => place.push(component),
            }
        }
        Some(place.to_string_lossy().into_owned())
    }
}

fn walk<'n>(node: &'n Node, visit: &mut impl FnMut(&'n Node)) {
    visit(node);
    for child in node.children().into_iter().flatten() {
        walk(child, visit);
    }
}

/// The name of a heading: letters, digits, `-` and `_`, in small letters, and `-` for blanks.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().chars().filter_map(|letter| match letter {
        letter if letter.is_whitespace() => Some('-'),
        letter if letter.is_alphanumeric() || letter == '-' || letter == '_' => Some(letter),
        _ => None,
    });
    kept.flat_map(char::to_lowercase).collect()
}

/// Writes a file and the folders above it.
///
/// # Errors
/// When that is not possible.
pub fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::create_dir_all(path.parent().context("a file in no folder")?)?;
    std::fs::write(path, text).with_context(|| path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_anchors_and_blocks_are_read() {
        let text = "# A `b <c>`\n\n[x](../README.md#start), `[no](no.md)`, [y](#a-b-c), [z](https://a.example)\n\n```sh\n[no](x)\n```\n\n# A `b <c>`\n";
        let page = Page::of("docs/a.md", text.to_owned()).unwrap();
        let links: Vec<_> = page.links().into_iter().map(|link| (link.file, link.anchor)).collect();
        let leads = |file: &str, anchor: &str| (Some(file.to_owned()), Some(anchor.to_owned()));
        assert_eq!(links, [leads("README.md", "start"), leads("docs/a.md", "a-b-c"), (None, None)]);
        assert_eq!(page.blocks(), [Block { language: "sh".into(), text: "[no](x)\n".into() }]);
        assert_eq!(page.anchors(), BTreeSet::from(["a-b-c".to_owned(), "a-b-c-1".to_owned()]));
    }
}
