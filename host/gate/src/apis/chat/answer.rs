//! Chat completions: content, refusal and reasoning of each choice, as servers name them, and what
//! tools are called with.

use leafgate_tree::{Document, NodeId};
use serde_json::{Value, json};

use crate::restore::said::scalars;
use crate::restore::{Added, CallSaid, Position, Reader, Reading, Said, TextKind, TextPlace};

/// The members of a message, or of a stream's delta, that hold text for people, in the order in
/// which clients show them.
const FIELDS: [(TextKind, &str); 4] = [
    (TextKind::ReasoningContent, "reasoning_content"),
    // As OpenRouter and others name it.
    (TextKind::Reasoning, "reasoning"),
    (TextKind::Content, "content"),
    (TextKind::Refusal, "refusal"),
];

/// What of a chunk an added event repeats, so that clients take it for part of the same completion.
const REPEATED: [&str; 5] = ["id", "object", "created", "model", "system_fingerprint"];

/// Reads a completion or its chunks.
pub(super) struct CompletionReader;

impl Reader for CompletionReader {
    fn whole(&mut self, answer: &Reading<'_>) -> Vec<Said> {
        choices(answer)
            .flat_map(|(index, choice)| {
                let mut said = speaks(answer, index, choice, "message", "delta");
                for (place, function) in functions(answer, index, choice, "message") {
                    let tool = answer.leaf(function, "name");
                    let whole = tool.zip(answer.leaf(function, "arguments").map(|leaf| leaf.id()));
                    said.extend(whole.map(|(tool, arguments)| {
                        Said::Call(place, CallSaid::Whole { tool: tool.id(), arguments })
                    }));
                }
                said
            })
            .collect()
    }

    /// A choice that finishes has said all.
    fn event(&mut self, chunk: &Reading<'_>) -> Vec<Said> {
        let mut said = Vec::new();
        for (index, choice) in choices(chunk) {
            said.extend(speaks(chunk, index, choice, "delta", "message"));
            for (place, function) in functions(chunk, index, choice, "delta") {
                let tool = chunk.leaf(function, "name").map(|tool| CallSaid::Begins(tool.id()));
                let more = chunk.leaf(function, "arguments").map(|leaf| CallSaid::More(leaf.id()));
                said.extend(tool.into_iter().chain(more).map(|call| Said::Call(place, call)));
            }
            if chunk.word(choice, "finish_reason").is_some_and(|reason| !reason.expose().is_empty()) {
                said.push(Said::End(index, Position::LAST));
            }
        }
        said
    }

    fn added(&self, last: &Document, place: TextPlace, held: &str) -> Added {
        let field = FIELDS.iter().find(|(kind, _)| *kind == place.text).map_or("content", |(_, key)| key);
        let delta = match place.text {
            TextKind::Call => {
                json!({ "tool_calls": [{ "index": place.at.part, "function": { "arguments": held } }] })
            }
            _ => json!({ field: held }),
        };
        let mut chunk = scalars(last, last.root(), &REPEATED);
        chunk["choices"] = json!([{ "index": place.choice, "delta": delta, "finish_reason": Value::Null }]);
        Added { name: None, data: chunk }
    }
}

/// The texts of a choice. Where a message stands in a stream, or a delta in a whole answer, some
/// clients show it all the same.
fn speaks(answer: &Reading<'_>, index: usize, choice: NodeId, key: &str, other: &str) -> Vec<Said> {
    let texts = |key: &str| {
        let message = answer.member(choice, key);
        let texts = message.into_iter().flat_map(|message| {
            FIELDS.into_iter().filter_map(move |(kind, key)| Some((kind, answer.text(message, key)?)))
        });
        let place = |kind| TextPlace { choice: index, at: Position::default(), text: kind };
        texts.map(|(kind, leaf)| (place(kind), leaf)).collect::<Vec<_>>()
    };
    let more = texts(key).into_iter().map(|(place, leaf)| Said::More(place, leaf));
    more.chain(texts(other).into_iter().map(|(place, leaf)| Said::Shown(place, leaf))).collect()
}

/// What the functions of a choice are called with, by the place of each call.
fn functions(answer: &Reading<'_>, choice: usize, node: NodeId, key: &str) -> Vec<(TextPlace, NodeId)> {
    let calls = answer.member(node, key).map(|message| answer.elements(message, "tool_calls"));
    let calls = calls.unwrap_or_default().into_iter().enumerate();
    let functions = calls.filter_map(|(at, call)| {
        let part = answer.member(call, "index").map_or(Some(at), |_| answer.index(call, "index"))?;
        let at = Position { part, ..Position::default() };
        Some((TextPlace { choice, at, text: TextKind::Call }, answer.member(call, "function")?))
    });
    functions.collect()
}

/// The choices of an answer with their indexes.
fn choices<'r>(answer: &'r Reading<'_>) -> impl Iterator<Item = (usize, NodeId)> + 'r {
    let choices = answer.elements(answer.root(), "choices").into_iter().enumerate();
    choices.map(|(place, choice)| (answer.index(choice, "index").unwrap_or(place), choice))
}
