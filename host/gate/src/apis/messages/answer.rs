//! Messages: the text blocks of a message. Thinking is signed, and what tools are called with is theirs.

use leafgate_tree::{Document, NodeId};
use serde_json::json;

use crate::restore::said::{elements, is, number, text, text_leaf};
use crate::restore::{Added, Place, Reader, Said, Text};

/// Reads a message or its events.
pub(super) struct Message;

impl Reader for Message {
    fn whole(&mut self, answer: &Document) -> Vec<Said> {
        in_message(answer, answer.root()).into_iter().map(Said::Whole).collect()
    }

    fn event(&mut self, event: &Document) -> Vec<Said> {
        said(event)
    }

    fn added(&self, _: &Document, place: Place, held: &str) -> Added {
        let delta = json!({ "type": "text_delta", "text": held });
        Added {
            name: Some("content_block_delta"),
            data: json!({ "type": "content_block_delta", "index": place.item, "delta": delta }),
        }
    }
}

/// What an event says.
fn said(event: &Document) -> Vec<Said> {
    let root = event.root();
    let Some(kind) = text_leaf(event, root, "type") else { return Vec::new() };
    let place = || Place { item: number(event, root, "index").unwrap_or(0), part: 0, text: Text::Content };
    let begun = |block| event.member(root, block).and_then(|block| block_text(event, block, "text"));
    let more = match kind.text().expose() {
        "message_start" => {
            let message = event.member(root, "message");
            return message
                .map(|message| in_message(event, message).into_iter().map(Said::Whole).collect())
                .unwrap_or_default();
        }
        "content_block_start" => begun("content_block"),
        "content_block_delta" => {
            event.member(root, "delta").and_then(|delta| block_text(event, delta, "text_delta"))
        }
        "content_block_stop" => return vec![Said::End(place())],
        "message_delta" | "message_stop" | "error" => return vec![Said::EndAll],
        _ => None,
    };
    more.map(|leaf| Said::More(place(), leaf)).into_iter().collect()
}

fn in_message(document: &Document, message: NodeId) -> Vec<NodeId> {
    elements(document, message, "content").filter_map(|block| block_text(document, block, "text")).collect()
}

fn block_text(document: &Document, block: NodeId, kind: &str) -> Option<NodeId> {
    is(document, block, "type", kind).then(|| text(document, block, "text")).flatten()
}
