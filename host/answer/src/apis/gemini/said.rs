//! What Gemini's answers say: the texts of each candidate's parts, and what functions are called with. A part with a
//! signature comes back from the client as it was, so nothing is changed in it.

use std::collections::BTreeMap;

use leafgate_api::gemini::{CALL, SIGNATURE, Spelled};
use leafgate_tree::{Document, NodeId};
use serde_json::json;

use super::RESPONSE;
use crate::event::StreamEvent;
use crate::reading::{StrictReading, scalars};
use crate::said::{Arguments, Called, Form, Position, Said, Says, TextKind, TextPlace, Tool};

/// What an added event repeats of the one that it goes on with.
const REPEATED: [&str; 3] = ["modelVersion", "responseId", "createTime"];

/// The same, of what Code Assist has beside an answer.
const TRACE: &str = "traceId";

const FINISH_REASON: Spelled = ["finishReason", "finish_reason"];

/// Members of a call whose arguments come in pieces, which nobody reads here.
const IN_PIECES: [Spelled; 2] = [["partialArgs", "partial_args"], ["willContinue", "will_continue"]];

/// Reads an answer, a list of them, or an event of a stream: all have the same form.
pub(super) struct ContentReader {
    /// Whether it is one of Code Assist.
    wraps: bool,
    /// Calls of each candidate so far.
    calls: BTreeMap<usize, usize>,
}

impl Says for ContentReader {
    fn whole(&mut self, answer: &StrictReading<'_>) -> Vec<Said> {
        let root = answer.root();
        if answer.is_list(root) {
            return answer.elements_of(root).into_iter().flat_map(|piece| self.says(answer, piece)).collect();
        }
        self.says(answer, root)
    }

    fn event(&mut self, event: &StrictReading<'_>) -> Vec<Said> {
        self.says(event, event.root())
    }

    fn added(&self, last: &Document, place: TextPlace, held: &str) -> StreamEvent {
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
        StreamEvent::plain(data)
    }

    fn is_call(&self, answer: &StrictReading<'_>, object: NodeId) -> bool {
        answer.either(object, CALL).is_some()
    }
}

impl ContentReader {
    pub(super) fn new(wraps: bool) -> Self {
        ContentReader { wraps, calls: BTreeMap::new() }
    }

    fn says(&mut self, answer: &StrictReading<'_>, piece: NodeId) -> Vec<Said> {
        let inner = if self.wraps { answer.present(piece, RESPONSE) } else { Some(piece) };
        inner.map(|inner| self.piece_says(answer, inner)).unwrap_or_default()
    }

    /// What one answer says. A candidate that finishes has said all; it goes on with its text from
    /// event to event.
    fn piece_says(&mut self, answer: &StrictReading<'_>, piece: NodeId) -> Vec<Said> {
        let mut said = Vec::new();
        for (choice, candidate) in answer.numbered(piece, "candidates") {
            let content = answer.present(candidate, "content");
            let parts = content.map(|content| answer.elements(content, "parts")).unwrap_or_default();
            said.extend(parts.iter().filter_map(|&part| part_says(answer, choice, part)));
            for part in parts {
                if let Some(function) = answer.either(part, CALL) {
                    self.calls(answer, choice, (part, function), &mut said);
                }
            }
            if answer.either(candidate, FINISH_REASON).is_some() {
                said.push(Said::End(choice, Position::LAST));
            }
        }
        said
    }

    /// A function is always called with all of its arguments at once. Those that come in pieces, which a request may ask
    /// for, are not read.
    fn calls(
        &mut self,
        answer: &StrictReading<'_>,
        choice: usize,
        (element, function): (NodeId, NodeId),
        said: &mut Vec<Said>,
    ) {
        let number = self.calls.entry(choice).or_default();
        let at = Position { part: *number, ..Position::default() };
        *number += 1;
        let place = TextPlace { choice, at, text: TextKind::Call };
        if IN_PIECES.into_iter().any(|keys| answer.either(function, keys).is_some()) {
            answer.is_read_differently();
        }
        let tool = answer.name(function, "name").map_or(Tool::Unnamed, Tool::Named);
        let called = Called { element, id: answer.name(function, "id"), tool, form: Some(Form::Json) };
        let arguments = |node| Arguments { is_sealed: is_signed(answer, element), ..Arguments::json(node) };
        let calls = called.says(answer.present(function, "args").map(arguments));
        said.extend(calls.into_iter().map(|call| Said::Call(place, call)));
    }
}

fn is_signed(answer: &StrictReading<'_>, part: NodeId) -> bool {
    SIGNATURE.iter().any(|key| answer.member(part, key).is_some())
}

fn part_says(answer: &StrictReading<'_>, choice: usize, part: NodeId) -> Option<Said> {
    let leaf = answer.text(part, "text")?;
    let text = if answer.is_true(part, "thought") { TextKind::Reasoning } else { TextKind::Content };
    let place = TextPlace { choice, at: Position::default(), text };
    Some(Said::Text { place, leaf, again: false, sealed: is_signed(answer, part) })
}
