//! Gemini's answers: the texts of each candidate's parts, and what functions are called with. A part with a signature comes back from the client as it was, so nothing is restored in it.

use leafgate_tree::{Document, NodeId};
use serde_json::json;

use crate::restore::said::scalars;
use crate::restore::{Added, CallSaid, Position, Reader, Reading, Said, TextKind, TextPlace};

/// What an added event repeats of the one that it goes on with.
const REPEATED: [&str; 3] = ["modelVersion", "responseId", "createTime"];

/// Reads an answer, a list of them, or an event of a stream: all have the same form.
pub(super) struct ContentReader;

impl Reader for ContentReader {
    fn whole(&mut self, answer: &Reading<'_>) -> Vec<Said> {
        let root = answer.root();
        if answer.is_list(root) {
            return answer
                .elements_of(root)
                .into_iter()
                .flat_map(|piece| piece_says(answer, piece))
                .collect();
        }
        piece_says(answer, root)
    }

    fn event(&mut self, event: &Reading<'_>) -> Vec<Said> {
        piece_says(event, event.root())
    }

    fn added(&self, last: &Document, place: TextPlace, held: &str) -> Added {
        let part = match place.text {
            TextKind::Reasoning => json!({ "text": held, "thought": true }),
            _ => json!({ "text": held }),
        };
        let mut data = scalars(last, &REPEATED);
        data["candidates"] =
            json!([{ "content": { "parts": [part], "role": "model" }, "index": place.choice }]);
        Added { name: None, data }
    }
}

/// What one answer says. A candidate that finishes has said all; it goes on with its text from
/// event to event.
fn piece_says(answer: &Reading<'_>, piece: NodeId) -> Vec<Said> {
    let mut said = Vec::new();
    for (at, candidate) in answer.elements(piece, "candidates").into_iter().enumerate() {
        let choice = answer.index(candidate, "index").unwrap_or(at);
        let content = answer.member(candidate, "content");
        let parts = content.map(|content| answer.elements(content, "parts")).unwrap_or_default();
        said.extend(parts.iter().filter_map(|&part| part_says(answer, choice, part)));
        said.extend(parts.into_iter().filter_map(|part| part_calls(answer, choice, part)));
        if answer.leaf(candidate, "finishReason").is_some() {
            said.push(Said::End(choice, Position::LAST));
        }
    }
    said
}

/// A function is always called with all of its arguments at once.
fn part_calls(answer: &Reading<'_>, choice: usize, part: NodeId) -> Option<Said> {
    let function = answer.member(part, "functionCall").filter(|_| !is_signed(answer, part))?;
    let (tool, arguments) = (answer.leaf(function, "name")?.id(), answer.member(function, "args")?);
    let place = TextPlace { choice, at: Position::default(), text: TextKind::Call };
    Some(Said::Call(place, CallSaid::Object { tool, arguments }))
}

fn is_signed(answer: &Reading<'_>, part: NodeId) -> bool {
    answer.member(part, "thoughtSignature").is_some() || answer.member(part, "thought_signature").is_some()
}

fn part_says(answer: &Reading<'_>, choice: usize, part: NodeId) -> Option<Said> {
    let leaf = answer.text(part, "text")?;
    let text = if answer.is_true(part, "thought") { TextKind::Reasoning } else { TextKind::Content };
    let place = TextPlace { choice, at: Position::default(), text };
    Some(if is_signed(answer, part) { Said::Shown(place, leaf) } else { Said::More(place, leaf) })
}
