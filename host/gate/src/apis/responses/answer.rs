//! Responses: what messages say, refusals, and reasoning that has no encrypted copy.
//!
//! A stream says each text in deltas, and then repeats it whole up to four times: as text, part, item and response. Restored are all of
//! them, so that it does not matter which of them a client reads.

use leafgate_tree::{Document, NodeId};

use crate::restore::said::{elements, is, number, scalars, text, text_leaf};
use crate::restore::{Added, Place, Reader, Said, Text};

/// A text of a stream: how its events begin, the member that repeats it whole, and the one that counts its parts.
struct Spoken {
    text: Text,
    event: &'static str,
    whole: &'static str,
    index: &'static str,
}

const SPOKEN: [Spoken; 4] = [
    Spoken { text: Text::Content, event: "response.output_text", whole: "text", index: "content_index" },
    Spoken { text: Text::Refusal, event: "response.refusal", whole: "refusal", index: "content_index" },
    Spoken { text: Text::Reasoning, event: "response.reasoning_text", whole: "text", index: "content_index" },
    Spoken {
        text: Text::Summary,
        event: "response.reasoning_summary_text",
        whole: "text",
        index: "summary_index",
    },
];

/// What an added delta repeats of the last one of its text, its number too: the next event has the next number already.
const REPEATED: [&str; 5] = ["item_id", "output_index", "content_index", "summary_index", "sequence_number"];

/// Reads a response or its events.
pub(super) struct Response {
    /// Whether reasoning comes with an encrypted copy.
    sealed: bool,
}

impl Response {
    /// The answer to a request. Its stream may show the copy of its reasoning only after the text.
    pub(super) fn to(request: &Document) -> Self {
        let mut included = elements(request, request.root(), "include").filter_map(|node| request.leaf(node));
        Response { sealed: included.any(|leaf| leaf.text().expose() == "reasoning.encrypted_content") }
    }
}

impl Reader for Response {
    fn whole(&mut self, answer: &Document) -> Vec<Said> {
        let texts = in_response(answer, answer.root()).into_iter().map(Said::Whole);
        id(answer, Some(answer.root())).into_iter().chain(texts).collect()
    }

    fn event(&mut self, event: &Document) -> Vec<Said> {
        let mut said = said(event, &mut self.sealed);
        if is(event, event.root(), "type", "response.created") {
            said.extend(id(event, event.member(event.root(), "response")));
        }
        said
    }

    fn added(&self, last: &Document, place: Place, held: &str) -> Added {
        let name = match place.text {
            Text::Refusal => "response.refusal.delta",
            Text::Reasoning | Text::ReasoningContent => "response.reasoning_text.delta",
            Text::Summary => "response.reasoning_summary_text.delta",
            Text::Content => "response.output_text.delta",
        };
        let mut data = scalars(last, &REPEATED);
        data["type"] = name.into();
        data["delta"] = held.into();
        if place.text == Text::Content {
            data["logprobs"] = serde_json::json!([]);
        }
        Added { name: Some(name), data }
    }
}

/// The name of a response.
fn id(document: &Document, response: Option<NodeId>) -> Option<Said> {
    response.and_then(|response| text_leaf(document, response, "id")).map(|leaf| Said::Id(leaf.id()))
}

/// What an event says. `sealed` is whether reasoning has an encrypted copy, and learns it where an item shows one.
fn said(event: &Document, sealed: &mut bool) -> Vec<Said> {
    let root = event.root();
    let Some(kind) = text_leaf(event, root, "type") else { return Vec::new() };
    let item = number(event, root, "output_index").unwrap_or(0);
    let all = |leaves: Vec<NodeId>| leaves.into_iter().map(Said::Whole);
    match kind.text().expose() {
        "response.content_part.added" | "response.reasoning_summary_part.added" => {
            all(in_part(event, *sealed)).collect()
        }
        "response.content_part.done" | "response.reasoning_summary_part.done" => {
            let ends = SPOKEN.iter().filter_map(|spoken| {
                Some(Said::End(Place { item, part: number(event, root, spoken.index)?, text: spoken.text }))
            });
            ends.chain(all(in_part(event, *sealed))).collect()
        }
        "response.output_item.added" | "response.output_item.done" => {
            let Some(node) = event.member(root, "item") else { return Vec::new() };
            *sealed |= is_sealed(event, node);
            let end = kind.text().expose().ends_with("done").then_some(Said::EndItem(item));
            end.into_iter().chain(all(in_item(event, node))).collect()
        }
        "response.completed" | "response.incomplete" | "response.failed" => {
            let response = event.member(root, "response").map(|response| in_response(event, response));
            [Said::EndAll].into_iter().chain(all(response.unwrap_or_default())).collect()
        }
        "error" => vec![Said::EndAll],
        kind => spoken(event, item, kind, *sealed),
    }
}

/// What the event of a text says: more of it, or all of it.
fn spoken(event: &Document, item: usize, kind: &str, sealed: bool) -> Vec<Said> {
    let root = event.root();
    let begins = |spoken: &&Spoken| kind.rsplit_once('.').is_some_and(|(begins, _)| begins == spoken.event);
    let Some(spoken) = SPOKEN.iter().find(begins) else { return Vec::new() };
    if sealed && matches!(spoken.text, Text::Reasoning | Text::Summary) {
        return Vec::new();
    }
    let place = Place { item, part: number(event, root, spoken.index).unwrap_or(0), text: spoken.text };
    if kind.ends_with(".delta") {
        return text(event, root, "delta").map(|leaf| Said::More(place, leaf)).into_iter().collect();
    }
    let whole = text(event, root, spoken.whole).map(Said::Whole);
    [Said::End(place)].into_iter().chain(whole).collect()
}

fn in_response(document: &Document, response: NodeId) -> Vec<NodeId> {
    elements(document, response, "output").flat_map(|item| in_item(document, item)).collect()
}

/// Messages and reasoning. What else an item may be, a tool is called with or answers.
fn in_item(document: &Document, item: NodeId) -> Vec<NodeId> {
    let speaks = is(document, item, "type", "message")
        || is(document, item, "type", "reasoning") && !is_sealed(document, item);
    if !speaks {
        return Vec::new();
    }
    let parts = elements(document, item, "content").chain(elements(document, item, "summary"));
    parts.filter_map(|part| part_text(document, part)).collect()
}

fn in_part(event: &Document, sealed: bool) -> Vec<NodeId> {
    let Some(part) = event.member(event.root(), "part") else { return Vec::new() };
    let reasons = ["reasoning_text", "summary_text"].iter().any(|kind| is(event, part, "type", kind));
    if sealed && reasons { Vec::new() } else { part_text(event, part).into_iter().collect() }
}

fn part_text(document: &Document, part: NodeId) -> Option<NodeId> {
    text(document, part, "text").or_else(|| text(document, part, "refusal"))
}

fn is_sealed(document: &Document, item: NodeId) -> bool {
    text_leaf(document, item, "encrypted_content").is_some()
}
