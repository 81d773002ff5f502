//! Gemini's answers: the texts of each candidate's parts, and what functions are called with. A part with a signature comes back from the client as it was, so nothing is restored in it.

use leafgate_tree::{Document, NodeId};
use serde_json::json;

use crate::restore::said::scalars;
use crate::restore::{Added, CallSaid, Position, Reader, Reading, Said, TextKind, TextPlace};

/// What an added event repeats of the one that it goes on with.
const REPEATED: [&str; 3] = ["modelVersion", "responseId", "createTime"];

/// The same, of what Code Assist has beside an answer.
const TRACE: &str = "traceId";

/// The member in which Code Assist has an answer.
const RESPONSE: &str = "response";

/// Reads an answer, a list of them, or an event of a stream: all have the same form.
pub(super) struct ContentReader {
    /// Whether it is one of Code Assist.
    pub(super) wraps: bool,
}

impl ContentReader {
    fn says(&self, answer: &Reading<'_>, piece: NodeId) -> Vec<Said> {
        match self.wraps {
            true => answer.member(piece, RESPONSE).map(|piece| piece_says(answer, piece)).unwrap_or_default(),
            false => piece_says(answer, piece),
        }
    }
}

impl Reader for ContentReader {
    fn whole(&mut self, answer: &Reading<'_>) -> Vec<Said> {
        let root = answer.root();
        if answer.is_list(root) {
            return answer.elements_of(root).into_iter().flat_map(|piece| self.says(answer, piece)).collect();
        }
        self.says(answer, root)
    }

    fn event(&mut self, event: &Reading<'_>) -> Vec<Said> {
        self.says(event, event.root())
    }

    fn added(&self, last: &Document, place: TextPlace, held: &str) -> Added {
        let part = match place.text {
            TextKind::Reasoning => json!({ "text": held, "thought": true }),
            _ => json!({ "text": held }),
        };
        let root = last.root();
        let piece = last.member(root, RESPONSE).filter(|_| self.wraps).unwrap_or(root);
        let mut data = scalars(last, piece, &REPEATED);
        data["candidates"] =
            json!([{ "content": { "parts": [part], "role": "model" }, "index": place.choice }]);
        if self.wraps {
            let piece = std::mem::replace(&mut data, scalars(last, root, &[TRACE]));
            data[RESPONSE] = piece;
        }
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
