//! A whole export as a conversation.

use leafgate_tree::Document;
use serde::Serialize;
use serde_with::skip_serializing_none;

use super::turn::ExportTurn;
use crate::node::JsonView;

/// The conversation of an export. It has no `Debug`, because its texts are the user's.
#[skip_serializing_none]
#[derive(Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExportedConversation {
    /// The responder.
    pub responder: Option<String>,
    /// The requester. Newer exports do not name one.
    pub requester: Option<String>,
    /// The location of the chat: `panel`, `chat`, `terminal`, …
    pub location: Option<String>,
    /// The requests, oldest first.
    pub turns: Vec<ExportTurn>,
    /// Elements of `requests` that are no objects.
    #[serde(skip_serializing_if = "is_zero")]
    pub unreadable: usize,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// Reads a conversation. It never fails: members that a file lacks are missing here too.
pub fn conversation(document: &Document) -> ExportedConversation {
    let root = JsonView::root(document);
    let requests = || root.list("requests");
    ExportedConversation {
        responder: root.get_text("responderUsername"),
        requester: root.get_text("requesterUsername"),
        location: root.get_text("initialLocation").map(location),
        turns: requests().filter(|request| request.is_object()).map(ExportTurn::of).collect(),
        unreadable: requests().filter(|request| !request.is_object()).count(),
    }
}

/// The editing sessions of older versions became ordinary chats.
fn location(name: String) -> String {
    if name == "editing-session" { "chat".to_owned() } else { name }
}

impl ExportedConversation {
    /// Returns every text that came from the file, so that a caller can mask them.
    pub fn texts_mut(&mut self) -> impl Iterator<Item = &mut String> {
        let root = self.responder.iter_mut().chain(&mut self.requester).chain(&mut self.location);
        root.chain(self.turns.iter_mut().flat_map(ExportTurn::texts_mut))
    }
}
