//! What messages say: their text blocks, and what tools are called with. Thinking is signed.

use std::collections::BTreeSet;

use leafgate_tree::{Document, NodeId};
use serde_json::json;

use crate::event::StreamEvent;
use crate::reading::StrictReading;
use crate::said::{Arguments, CallSaid, Called, Form, Position, Said, Says, TextKind, TextPlace, Tool};

/// Blocks in which the model speaks itself.
const SPEAKS: [&str; 3] = ["text", "thinking", "redacted_thinking"];

/// How much of a block is there.
#[derive(Clone, Copy, PartialEq)]
enum BlockState {
    Whole,
    /// Its beginning, in a stream.
    Begins,
    /// More of it, in a stream.
    Delta,
}

/// Reads a message or its events.
#[derive(Default)]
pub(super) struct MessageReader {
    /// Blocks of a stream that have begun.
    begun: usize,
    /// Those of them that are calls. What the provider runs itself comes in such pieces too.
    calls: BTreeSet<usize>,
    /// Those of them that are no texts.
    others: BTreeSet<usize>,
}

impl Says for MessageReader {
    fn whole(&mut self, answer: &StrictReading<'_>) -> Vec<Said> {
        in_message(answer, answer.root())
    }

    fn event(&mut self, event: &StrictReading<'_>) -> Vec<Said> {
        let root = event.root();
        let Some(kind) = event.kind(root) else { return Vec::new() };
        let index = self.index(event, &kind);
        let block = |key, form| {
            event.member(root, key).map(|block| in_block(event, index, block, form)).unwrap_or_default()
        };
        // Some clients read pieces alone.
        let begins = |said: Vec<Said>| {
            if said
                .iter()
                .any(|said| matches!(said, Said::Text { sealed: false, .. }) && !event.is_empty(*said))
            {
                event.is_read_differently();
            }
            said
        };
        match kind.as_str() {
            "message_start" => {
                let message = event.member(root, "message");
                let content = message.map(|message| event.elements(message, "content")).unwrap_or_default();
                self.begun += content.len();
                begins(message.map(|message| in_message(event, message)).unwrap_or_default())
            }
            "content_block_start" => {
                let said = begins(block("content_block", BlockState::Begins));
                let begun = event.member(root, "content_block");
                let is_text = begun.is_some_and(|block| event.is(block, "type", "text"));
                self.others.extend((!is_text).then_some(index));
                self.calls.extend(said.iter().any(|said| matches!(said, Said::Call(..))).then_some(index));
                said
            }
            "content_block_delta" => {
                let mut said = block("delta", BlockState::Delta);
                // Some clients read pieces of texts whatever their block is.
                if self.others.contains(&index) {
                    said = begins(said);
                }
                let delta =
                    event.member(root, "delta").filter(|&delta| event.is(delta, "type", "input_json_delta"));
                let more = delta.and_then(|delta| event.text(delta, "partial_json"));
                // Some clients go on with the last block, whatever the index is.
                if index + 1 != self.begun && more.is_some_and(|more| !event.is_blank(more)) {
                    event.is_read_differently();
                }
                let more = more.filter(|_| self.calls.contains(&index));
                said.extend(more.map(|leaf| Said::item_calls(index, CallSaid::More(leaf))));
                said
            }
            "content_block_stop" => vec![Said::End(0, Position::end_of(index))],
            "message_delta" | "message_stop" | "error" => vec![Said::EndAll],
            _ => Vec::new(),
        }
    }

    fn added(&self, _: &Document, place: TextPlace, held: &str) -> StreamEvent {
        let delta = match place.text {
            TextKind::Call => json!({ "type": "input_json_delta", "partial_json": held }),
            _ => json!({ "type": "text_delta", "text": held }),
        };
        StreamEvent::typed(json!({ "type": "content_block_delta", "index": place.at.item, "delta": delta }))
    }

    fn is_call(&self, answer: &StrictReading<'_>, object: NodeId) -> bool {
        is_call(answer, object)
    }

    fn begins_unspoken(&self, event: &StrictReading<'_>) -> bool {
        let is_start = event.is(event.root(), "type", "content_block_start");
        let block = event.member(event.root(), "content_block").filter(|_| is_start);
        block.is_some_and(|block| !event.kind(block).is_some_and(|kind| SPEAKS.contains(&&*kind)))
    }
}

impl MessageReader {
    /// The block that an event is of. Blocks come in order: a gap, or a second beginning, is another block to some clients.
    /// Without an index it is the first one.
    fn index(&mut self, event: &StrictReading<'_>, kind: &str) -> usize {
        let is_start = kind == "content_block_start";
        let index = event.index(event.root(), "index").unwrap_or(0);
        if is_start {
            self.begun += 1;
        }
        if is_start && index + 1 != self.begun {
            event.is_read_differently();
        }
        index
    }
}

fn in_message(answer: &StrictReading<'_>, message: NodeId) -> Vec<Said> {
    let blocks = answer.elements(message, "content").into_iter().enumerate();
    blocks.flat_map(|(index, block)| in_block(answer, index, block, BlockState::Whole)).collect()
}

/// Whether a block is a call that the client runs; the provider runs its own tools and those of MCP servers.
fn is_call(answer: &StrictReading<'_>, block: NodeId) -> bool {
    let is_own =
        |kind: String| kind.ends_with("tool_use") && kind != "server_tool_use" && kind != "mcp_tool_use";
    answer.kind(block).is_some_and(is_own)
}

/// What a block or a delta says. Of other kinds than text, a client may show the text or the
/// thinking beside the other blocks; such a text is odd, since others join those before and behind it.
fn in_block(answer: &StrictReading<'_>, index: usize, block: NodeId, form: BlockState) -> Vec<Said> {
    let is_text = answer.is(block, "type", if form == BlockState::Delta { "text_delta" } else { "text" });
    let says = |text, key, sealed| {
        let leaf =
            if sealed { answer.leaf(block, key).map(|leaf| leaf.id()) } else { answer.text(block, key) };
        leaf.map(|leaf| Said::Text { place: TextPlace::of_item(index, text), leaf, again: false, sealed })
    };
    let text = says(TextKind::Content, "text", !is_text);
    if !is_text && text.is_some_and(|said| !answer.is_empty(said)) {
        answer.is_read_differently();
    }
    let mut said: Vec<Said> =
        [says(TextKind::Reasoning, "thinking", true), text].into_iter().flatten().collect();
    if is_call(answer, block) {
        let tool = answer.name(block, "name").map_or(Tool::Unnamed, Tool::Named);
        let called = Called { element: block, id: answer.name(block, "id"), tool, form: Some(Form::Json) };
        // The input of a block that begins is empty, and comes in pieces.
        let input = answer
            .present(block, "input")
            .filter(|&input| form == BlockState::Whole || !answer.is_blank(input));
        let calls = called.says(input.map(Arguments::json));
        said.extend(calls.into_iter().map(|call| Said::item_calls(index, call)));
    }
    said
}
