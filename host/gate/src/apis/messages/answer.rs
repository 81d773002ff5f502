//! Messages: the text blocks of a message, and what tools are called with. Thinking is signed.

use leafgate_tree::{Document, NodeId};
use serde_json::json;

use crate::restore::{Added, CallSaid, Position, Reader, Reading, Said, TextKind, TextPlace};

/// Reads a message or its events.
pub(super) struct MessageReader;

impl Reader for MessageReader {
    fn whole(&mut self, answer: &Reading<'_>) -> Vec<Said> {
        in_message(answer, answer.root())
    }

    fn event(&mut self, event: &Reading<'_>) -> Vec<Said> {
        let root = event.root();
        let Some(kind) = event.word(root, "type") else { return Vec::new() };
        let index = || event.index(root, "index").unwrap_or(0);
        let block = |key, kind| event.member(root, key).map(|block| in_block(event, index(), block, kind));
        match kind.expose() {
            "message_start" => {
                event.member(root, "message").map(|message| in_message(event, message)).unwrap_or_default()
            }
            "content_block_start" => {
                let mut said = block("content_block", "text").unwrap_or_default();
                let begun = event.member(root, "content_block").filter(|&block| is_call(event, block));
                let tool = begun.and_then(|block| event.leaf(block, "name"));
                said.extend(tool.map(|tool| Said::Call(call(index()), CallSaid::Begins(tool.id()))));
                said
            }
            "content_block_delta" => {
                let mut said = block("delta", "text_delta").unwrap_or_default();
                let delta =
                    event.member(root, "delta").filter(|&delta| event.is(delta, "type", "input_json_delta"));
                let more = delta.and_then(|delta| event.leaf(delta, "partial_json").map(|leaf| leaf.id()));
                said.extend(more.map(|leaf| Said::Call(call(index()), CallSaid::More(leaf))));
                said
            }
            "content_block_stop" => vec![Said::End(0, Position::end_of(index()))],
            "message_delta" | "message_stop" | "error" => vec![Said::EndAll],
            _ => Vec::new(),
        }
    }

    fn names_events(&self) -> bool {
        true
    }

    fn added(&self, _: &Document, place: TextPlace, held: &str) -> Added {
        let delta = match place.text {
            TextKind::Call => json!({ "type": "input_json_delta", "partial_json": held }),
            _ => json!({ "type": "text_delta", "text": held }),
        };
        Added {
            name: Some("content_block_delta"),
            data: json!({ "type": "content_block_delta", "index": place.at.item, "delta": delta }),
        }
    }
}

fn in_message(answer: &Reading<'_>, message: NodeId) -> Vec<Said> {
    let blocks = answer.elements(message, "content").into_iter().enumerate();
    blocks.flat_map(|(index, block)| in_block(answer, index, block, "text")).collect()
}

/// The place of the call that a block is.
fn call(index: usize) -> TextPlace {
    let at = Position { item: index, ..Position::default() };
    TextPlace { choice: 0, at, text: TextKind::Call }
}

fn is_call(answer: &Reading<'_>, block: NodeId) -> bool {
    answer.is(block, "type", "tool_use")
}

/// What a block or a delta says. Of other kinds than text, a client may show the text or the
/// thinking beside the other blocks.
fn in_block(answer: &Reading<'_>, index: usize, block: NodeId, kind: &str) -> Vec<Said> {
    let place = |text| TextPlace { choice: 0, at: Position { item: index, ..Position::default() }, text };
    let is_text = answer.is(block, "type", kind);
    let shown = |text, key| answer.leaf(block, key).map(|leaf| Said::Shown(place(text), leaf.id()));
    let text = if is_text {
        answer.text(block, "text").map(|leaf| Said::More(place(TextKind::Content), leaf))
    } else {
        shown(TextKind::Content, "text")
    };
    // The input of a block that begins is empty, and comes in pieces.
    let tool = answer.leaf(block, "name").filter(|_| is_call(answer, block));
    let calls = tool
        .zip(answer.member(block, "input"))
        .map(|(tool, arguments)| Said::Call(call(index), CallSaid::Object { tool: tool.id(), arguments }));
    [shown(TextKind::Reasoning, "thinking"), text, calls].into_iter().flatten().collect()
}
