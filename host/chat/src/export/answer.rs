//! The answer of a request, joined from the parts into which the editor cut it.

use std::borrow::Cow;

use crate::node::JsonView;

use super::{response, uri};

/// The meaning of a part of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnswerPartKind {
    /// Words of the model, or an inline reference among them.
    Words,
    /// Reasoning.
    Thinking,
    /// A tool that ran.
    Tool,
    /// Changes of a file.
    Edit,
    /// Words of the client to the person.
    Note,
    /// State of the editor.
    Internal,
    /// Everything else.
    Other,
}

/// Returns the meaning of a part. Markdown has no `kind` in a real export.
pub(crate) fn kind(part: JsonView<'_>) -> AnswerPartKind {
    match part.get_text("kind").as_deref() {
        None if part.get("value").is_some() => AnswerPartKind::Words,
        Some("markdownContent" | "markdownVuln" | "inlineReference" | "reference") => AnswerPartKind::Words,
        Some("thinking") => AnswerPartKind::Thinking,
        Some("toolInvocation" | "toolInvocationSerialized") => AnswerPartKind::Tool,
        Some("textEditGroup" | "notebookEditGroup") => AnswerPartKind::Edit,
        Some(
            "warning"
            | "confirmation"
            | "elicitation2"
            | "elicitationSerialized"
            | "progressTask"
            | "progressTaskSerialized",
        ) => AnswerPartKind::Note,
        Some("progressMessage" | "codeblockUri" | "undoStop" | "prepareToolInvocation") => {
            AnswerPartKind::Internal
        }
        _ => AnswerPartKind::Other,
    }
}

/// Returns the words of an answer, joined without separators, references as Markdown links.
pub(crate) fn text(request: JsonView<'_>) -> String {
    response(request).filter_map(words).collect()
}

/// Returns the words of one part.
pub(crate) fn words(part: JsonView<'_>) -> Option<String> {
    match part.get_text("kind").as_deref() {
        Some("inlineReference") => uri::link(part, "inlineReference"),
        Some("reference") => uri::link(part, "reference"),
        _ => words_leaf(part)?.text().map(Cow::into_owned),
    }
}

/// Returns the string that spells the words of a part. A reference has none: its words are built.
pub(crate) fn words_leaf(part: JsonView<'_>) -> Option<JsonView<'_>> {
    if kind(part) != AnswerPartKind::Words {
        return None;
    }
    match part.get_text("kind").as_deref() {
        Some("inlineReference" | "reference") => None,
        Some(_) => markdown_leaf(part.get("content")?),
        None => part.get("value").filter(|value| value.text().is_some()),
    }
}

/// Returns a Markdown text.
pub(crate) fn markdown(node: JsonView<'_>) -> Option<String> {
    markdown_leaf(node)?.text().map(Cow::into_owned)
}

/// Returns the string of a Markdown text: the node itself, or its member `value`.
fn markdown_leaf(node: JsonView<'_>) -> Option<JsonView<'_>> {
    [Some(node), node.get("value")].into_iter().flatten().find(|node| node.text().is_some())
}

/// Returns the reasoning of one part; its value may be empty or cut into an array.
pub(crate) fn thinking(part: JsonView<'_>) -> Option<String> {
    let text: String = thinking_leaves(part).into_iter().filter_map(JsonView::text).collect();
    (!text.is_empty()).then_some(text)
}

/// Returns the strings that spell the reasoning of a part.
pub(crate) fn thinking_leaves(part: JsonView<'_>) -> Vec<JsonView<'_>> {
    match part.get("value").filter(|_| kind(part) == AnswerPartKind::Thinking) {
        Some(value) => pieces(value),
        None => Vec::new(),
    }
}

/// Returns the strings of a text that may be cut into an array.
pub(crate) fn pieces(text: JsonView<'_>) -> Vec<JsonView<'_>> {
    match text.text() {
        Some(_) => vec![text],
        None => text.items().filter(|piece| piece.text().is_some()).collect(),
    }
}
