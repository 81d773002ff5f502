//! A prompt-tsx tree as text (`jsonTypes.ts` of `@vscode/prompt-tsx`): the form of a tool's result
//! in an export.
//!
//! A tree has pieces (`type` 1, with `children`) and texts (`type` 2, with `lineBreakBefore`).
//! Pieces that are no text, such as images, are left out and noted.

use crate::loss::Losses;
use crate::node::JsonView;

/// `PieceCtorKind.ImageChatMessage`.
const IMAGE: i64 = 3;

/// Returns the text of a tree.
pub(crate) fn flatten(element: JsonView<'_>, losses: &mut Losses) -> String {
    let mut text = String::new();
    for run in runs(element, losses) {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.extend(run.into_iter().filter_map(|piece| losses.text(Some(piece))));
    }
    text
}

/// Returns the texts of a tree, cut where one begins on a line of its own.
pub(crate) fn runs<'d>(element: JsonView<'d>, losses: &mut Losses) -> Vec<Vec<JsonView<'d>>> {
    let mut runs = vec![Vec::new()];
    if let Some(node) = element.get("node") {
        // The depth of a document is bounded, and so is this recursion.
        collect(node, &mut runs, false, losses);
    }
    runs
}

/// Adds the texts of a node. Returns whether it was a text.
fn collect<'d>(
    node: JsonView<'d>,
    runs: &mut Vec<Vec<JsonView<'d>>>,
    is_behind_text: bool,
    losses: &mut Losses,
) -> bool {
    match node.get_integer("type") {
        Some(2) => {
            if breaks_line(node, is_behind_text) {
                runs.push(Vec::new());
            }
            if let (Some(text), Some(run)) = (node.get("text"), runs.last_mut()) {
                run.push(text);
            }
            true
        }
        Some(1) => {
            if node.get_integer("ctor") == Some(IMAGE) {
                losses.note(node.pointer(), "an image in a tool's result is left out");
            }
            let mut was_text = false;
            for child in node.list("children") {
                was_text = collect(child, runs, was_text, losses);
            }
            false
        }
        _ => {
            losses.note(node.pointer(), "a piece of a tool's result that is no text is left out");
            false
        }
    }
}

/// `lineBreakBefore` was first a boolean, and then 1 for always and 2 for the start of a text.
fn breaks_line(node: JsonView<'_>, is_behind_text: bool) -> bool {
    let Some(rule) = node.get("lineBreakBefore") else { return false };
    match rule.boolean() {
        Some(always) => always,
        None => match rule.integer() {
            Some(1) => true,
            Some(2) => !is_behind_text,
            _ => false,
        },
    }
}
