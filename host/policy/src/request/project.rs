//! The folder that a client works in, where its client says so.
//!
//! Claude Code has a line about it in its system prompt, Codex a message of its own that begins with a
//! tag. Nothing else is taken for it: what a tool answers, or a person pastes, may hold the same words.

use leafgate_tree::{Document, Leaf, LeafKind, Role};

/// How Claude Code names the folder, behind blanks and a dash.
const LINES: [&str; 2] = ["Working directory: ", "Primary working directory: "];

/// How the message of Codex begins that says where it works.
const ENVIRONMENT: &str = "<environment_context>";

/// Returns the folder. Codex tells it again where it changes, so the last one counts.
pub(super) fn project(document: &Document) -> Option<String> {
    let texts = || document.leaves().filter(|leaf| leaf.kind() == LeafKind::Text);
    let of_codex = texts().filter(|leaf| leaf.role() == Role::User).filter_map(|leaf| cwd(&leaf)).last();
    of_codex.or_else(|| texts().filter(|leaf| leaf.role() == Role::System).find_map(|leaf| line(&leaf)))
}

fn cwd(leaf: &Leaf<'_>) -> Option<String> {
    let text = leaf.text();
    let text = text.expose().trim_start().strip_prefix(ENVIRONMENT)?;
    let (cwd, _) = text.split_once("<cwd>")?.1.split_once("</cwd>")?;
    Some(cwd.trim().to_owned())
}

fn line(leaf: &Leaf<'_>) -> Option<String> {
    let text = leaf.text();
    let lines = text.expose().lines().map(|line| line.trim_start_matches([' ', '-', '*', '\t']));
    let mut named = lines.filter_map(|line| LINES.iter().find_map(|begin| line.strip_prefix(begin)));
    named.next().map(|folder| folder.trim().to_owned())
}
