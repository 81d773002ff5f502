//! VS Code chat exports (`chat.json`): a session's requests with their answers.
//!
//! An export has the members that some version of an editor happened to write, and a file may hold
//! requests that no editor would understand. Readers here never fail: a missing member is missing
//! in their result too, and [`check`] names the parts that look useless.

mod answer;
mod check;
mod conversation;
mod messages;
mod notes;
mod pieces;
mod status;
mod tsx;
mod turn;
mod uri;

pub use check::{Import, ImportCheck, ImportTest, check};
pub use conversation::{ExportedConversation, conversation};
pub(crate) use messages::messages;
pub use notes::{NoteKind, TurnNote};
pub(crate) use pieces::pieces;
pub use status::{RequestFailure, RequestStatus};
pub use turn::{Attachment, ChangeDecision, Confirmation, ExportTurn, FileEdit, FileEditKind, ToolUse, Vote};

use leafgate_tree::Document;

use crate::node::JsonView;

/// Returns the person's question: `message.text`, else the texts of its parts, else the message
/// itself if it is a string.
pub(crate) fn question(request: JsonView<'_>) -> Option<String> {
    Some(question_leaves(request)?.into_iter().filter_map(JsonView::text).collect())
}

/// Returns the strings that spell the question, in order.
pub(crate) fn question_leaves(request: JsonView<'_>) -> Option<Vec<JsonView<'_>>> {
    let message = request.get("message")?;
    let mut whole = [Some(message), message.get("text")].into_iter().flatten();
    if let Some(text) = whole.find(|node| node.text().is_some()) {
        return Some(vec![text]);
    }
    let parts = message.get("parts").filter(|parts| parts.is_array())?;
    Some(parts.items().filter_map(|part| part.get("text")).collect())
}

/// Returns whether a file is an export: an object with `requests`, an array.
pub fn is_export(document: &Document) -> bool {
    JsonView::root(document).get("requests").is_some_and(JsonView::is_array)
}

/// Returns the parts of the answer.
pub(crate) fn response(request: JsonView<'_>) -> impl Iterator<Item = JsonView<'_>> {
    request.list("response")
}

/// Returns the attachments of the question.
pub(crate) fn variables(request: JsonView<'_>) -> impl Iterator<Item = JsonView<'_>> {
    request.path(&["variableData", "variables"]).into_iter().flat_map(JsonView::items)
}

/// Returns whether the editor hides the request and does not send it with the next one.
pub(crate) fn is_hidden(request: JsonView<'_>) -> bool {
    request.is_true("isHidden")
        || request.get_some("shouldBeRemovedOnSend").is_some_and(|removal| removal.boolean() != Some(false))
}
