//! The answer of a request, put together again from the parts that the editor cut it into.

use crate::node::Node;

use super::{response, uri};

/// What a part of an answer is to whoever reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PartKind {
    /// Words of the model, an inline reference among them.
    Words,
    /// Reasoning.
    Thinking,
    /// A tool that ran.
    Tool,
    /// Changes of a file.
    Edit,
    /// What the editor needs for itself.
    Internal,
    /// Everything else.
    Other,
}

/// What a part is. Markdown has no `kind` in a real export.
pub(crate) fn kind(part: Node<'_>) -> PartKind {
    match part.get_text("kind").as_deref() {
        None if part.get("value").is_some() => PartKind::Words,
        Some("markdownContent" | "markdownVuln" | "inlineReference" | "reference") => PartKind::Words,
        Some("thinking") => PartKind::Thinking,
        Some("toolInvocation" | "toolInvocationSerialized") => PartKind::Tool,
        Some("textEditGroup" | "notebookEditGroup") => PartKind::Edit,
        Some("progressMessage" | "codeblockUri" | "undoStop" | "prepareToolInvocation") => PartKind::Internal,
        _ => PartKind::Other,
    }
}

/// The words of an answer, joined without separators, references as Markdown links.
pub(crate) fn text(request: Node<'_>) -> String {
    response(request).filter_map(words).collect()
}

/// The words of one part.
pub(crate) fn words(part: Node<'_>) -> Option<String> {
    if kind(part) != PartKind::Words {
        return None;
    }
    match part.get_text("kind").as_deref() {
        Some("inlineReference") => uri::link(part, "inlineReference"),
        Some("reference") => uri::link(part, "reference"),
        Some(_) => markdown(part.get("content")?),
        None => part.get_text("value"),
    }
}

/// A Markdown text: a string, or an object with the string as `value`.
pub(crate) fn markdown(node: Node<'_>) -> Option<String> {
    node.text().map(std::borrow::Cow::into_owned).or_else(|| node.get_text("value"))
}

/// The reasoning of one part; its value may be empty or cut into an array.
pub(crate) fn thinking(part: Node<'_>) -> Option<String> {
    let value = part.get("value").filter(|_| kind(part) == PartKind::Thinking)?;
    let text = match value.text() {
        Some(text) => text.into_owned(),
        None => value.items().filter_map(Node::text).collect(),
    };
    (!text.is_empty()).then_some(text)
}
