//! Chat completions: content, refusal and reasoning of each choice, as servers name them.

use leafgate_tree::{Document, NodeId};
use serde_json::{Value, json};

use crate::restore::said::{elements, number, scalars, text, text_leaf};
use crate::restore::{Added, Place, Reader, Said, Text};

/// The members of a message, or of a stream's delta, that hold text for people.
const FIELDS: [(Text, &str); 4] = [
    (Text::Content, "content"),
    (Text::Refusal, "refusal"),
    (Text::ReasoningContent, "reasoning_content"),
    // As OpenRouter and others name it.
    (Text::Reasoning, "reasoning"),
];

/// What of a chunk an added event repeats, so that clients take it for part of the same completion.
const REPEATED: [&str; 5] = ["id", "object", "created", "model", "system_fingerprint"];

/// Reads a completion or its chunks.
pub(super) struct Completion;

impl Reader for Completion {
    fn whole(&mut self, answer: &Document) -> Vec<Said> {
        let messages = choices(answer).filter_map(|(_, choice)| answer.member(choice, "message"));
        let texts =
            messages.flat_map(|message| FIELDS.iter().filter_map(move |(_, key)| text(answer, message, key)));
        texts.map(Said::Whole).collect()
    }

    /// A choice that finishes has said all.
    fn event(&mut self, chunk: &Document) -> Vec<Said> {
        let mut said = Vec::new();
        for (index, choice) in choices(chunk) {
            let delta = chunk.member(choice, "delta");
            for (kind, key) in FIELDS {
                let place = Place { item: index, part: 0, text: kind };
                said.extend(
                    delta.and_then(|delta| text(chunk, delta, key)).map(|leaf| Said::More(place, leaf)),
                );
                if text_leaf(chunk, choice, "finish_reason").is_some() {
                    said.push(Said::End(place));
                }
            }
        }
        said
    }

    fn added(&self, last: &Document, place: Place, held: &str) -> Added {
        let field = FIELDS.iter().find(|(kind, _)| *kind == place.text).map_or("content", |(_, key)| key);
        let mut chunk = scalars(last, &REPEATED);
        chunk["choices"] =
            json!([{ "index": place.item, "delta": { field: held }, "finish_reason": Value::Null }]);
        Added { name: None, data: chunk }
    }
}

/// The choices of an answer with their indexes.
fn choices(answer: &Document) -> impl Iterator<Item = (usize, NodeId)> {
    let choices = elements(answer, answer.root(), "choices").enumerate();
    choices.map(|(place, choice)| (number(answer, choice, "index").unwrap_or(place), choice))
}
