//! Responses: what messages say, refusals, reasoning that has no encrypted copy, and what tools are
//! called with.
//!
//! A stream says each text in deltas, and then repeats it whole up to four times: as text, part,
//! item and response. Restored are all of them alike, so that it does not matter which of them a
//! client reads.

use leafgate_tree::{Document, NodeId};

use crate::restore::said::scalars;
use crate::restore::{Added, CallSaid, Position, Reader, Reading, Said, TextKind, TextPlace};

/// A text of a stream: how its events begin, the member that repeats it whole, the one that counts
/// its parts, and the list of its item that they are in.
struct SpokenText {
    text: TextKind,
    event: &'static str,
    whole: &'static str,
    index: &'static str,
    list: usize,
}

/// The lists of an item, in the order in which they are shown: its summaries, then its content.
const SUMMARY: usize = 0;
const CONTENT: usize = 1;

const SPOKEN: [SpokenText; 4] = [
    SpokenText {
        text: TextKind::Content,
        event: "response.output_text",
        whole: "text",
        index: "content_index",
        list: CONTENT,
    },
    SpokenText {
        text: TextKind::Refusal,
        event: "response.refusal",
        whole: "refusal",
        index: "content_index",
        list: CONTENT,
    },
    SpokenText {
        text: TextKind::Reasoning,
        event: "response.reasoning_text",
        whole: "text",
        index: "content_index",
        list: CONTENT,
    },
    SpokenText {
        text: TextKind::Summary,
        event: "response.reasoning_summary_text",
        whole: "text",
        index: "summary_index",
        list: SUMMARY,
    },
];

/// What an added delta repeats of the last one of its text, its number too: the next event has the
/// next number already.
const REPEATED: [&str; 5] = ["item_id", "output_index", "content_index", "summary_index", "sequence_number"];

/// Reads a response or its events.
pub(super) struct ResponseReader {
    /// Whether reasoning comes with an encrypted copy.
    sealed: bool,
}

/// Whether a text is said, or said again.
#[derive(Clone, Copy, PartialEq)]
enum Saying {
    First,
    Again,
}

impl ResponseReader {
    /// The answer to a request. Its stream may show the copy of its reasoning only after the text.
    pub(super) fn to(request: &Document) -> Self {
        let included = request.member(request.root(), "include");
        let mut included = included.into_iter().flat_map(|list| request.children(list));
        let asks = |leaf: leafgate_tree::Leaf<'_>| leaf.text().expose() == "reasoning.encrypted_content";
        ResponseReader { sealed: included.any(|node| request.leaf(node).is_some_and(asks)) }
    }
}

impl Reader for ResponseReader {
    fn whole(&mut self, answer: &Reading<'_>) -> Vec<Said> {
        let mut said: Vec<_> = name(answer, Some(answer.root())).into_iter().collect();
        for (index, item) in answer.elements(answer.root(), "output").into_iter().enumerate() {
            // Whole, each item shows whether it has a copy.
            self.sealed = false;
            said.extend(self.in_item(answer, index, item, Saying::First));
        }
        said
    }

    fn event(&mut self, event: &Reading<'_>) -> Vec<Said> {
        let root = event.root();
        let Some(kind) = event.word(root, "type") else { return Vec::new() };
        let item = || event.index(root, "output_index").unwrap_or(0);
        let response = || event.member(root, "response");
        match kind.expose() {
            "response.created" | "response.in_progress" | "response.queued" => {
                let texts = response().map(|response| self.in_response(event, response, Saying::First));
                name(event, response()).into_iter().chain(texts.unwrap_or_default()).collect()
            }
            "response.content_part.added" => self.in_part_event(event, CONTENT, Saying::First),
            "response.content_part.done" => self.in_part_event(event, CONTENT, Saying::Again),
            "response.reasoning_summary_part.added" => self.in_part_event(event, SUMMARY, Saying::First),
            "response.reasoning_summary_part.done" => self.in_part_event(event, SUMMARY, Saying::Again),
            "response.output_item.added" => event
                .member(root, "item")
                .map(|node| self.in_item(event, item(), node, Saying::First))
                .unwrap_or_default(),
            "response.output_item.done" => {
                let node = event.member(root, "item");
                let mut said =
                    node.map(|node| self.in_item(event, item(), node, Saying::Again)).unwrap_or_default();
                said.push(Said::End(0, Position::end_of(item())));
                said
            }
            "response.completed" | "response.incomplete" | "response.failed" => {
                let texts = response().map(|response| self.in_response(event, response, Saying::Again));
                texts.unwrap_or_default().into_iter().chain([Said::EndAll]).collect()
            }
            "error" => vec![Said::EndAll],
            "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta" => {
                let more = event.text(root, "delta").map(CallSaid::More);
                more.map(|more| Said::Call(call(item()), more)).into_iter().collect()
            }
            "response.function_call_arguments.done" | "response.custom_tool_call_input.done" => {
                let whole = ["arguments", "input"].iter().find_map(|key| event.text(root, key));
                let said = std::iter::once(CallSaid::End).chain(whole.map(CallSaid::Again));
                said.map(|said| Said::Call(call(item()), said)).collect()
            }
            kind => self.spoken(event, item(), kind),
        }
    }

    fn added(&self, last: &Document, place: TextPlace, held: &str) -> Added {
        let custom = last.member(last.root(), "type").and_then(|kind| last.leaf(kind));
        let custom = custom.is_some_and(|kind| kind.text().expose().contains("custom_tool_call"));
        let name = match place.text {
            TextKind::Call if custom => "response.custom_tool_call_input.delta",
            TextKind::Call => "response.function_call_arguments.delta",
            TextKind::Refusal => "response.refusal.delta",
            TextKind::Reasoning | TextKind::ReasoningContent => "response.reasoning_text.delta",
            TextKind::Summary => "response.reasoning_summary_text.delta",
            TextKind::Content => "response.output_text.delta",
        };
        let mut data = scalars(last, last.root(), &REPEATED);
        data["type"] = name.into();
        data["delta"] = held.into();
        if place.text == TextKind::Content {
            data["logprobs"] = serde_json::json!([]);
        }
        Added { name: Some(name), data }
    }

    fn repeats(&self) -> bool {
        true
    }

    fn names_answers(&self) -> bool {
        true
    }
}

impl ResponseReader {
    /// What the event of a text says: more of it, or all of it.
    fn spoken(&self, event: &Reading<'_>, item: usize, kind: &str) -> Vec<Said> {
        let root = event.root();
        let Some((begins, what)) = kind.rsplit_once('.') else { return Vec::new() };
        let Some(spoken) = SPOKEN.iter().find(|spoken| spoken.event == begins) else { return Vec::new() };
        let part = event.index(root, spoken.index).unwrap_or(0);
        let place =
            TextPlace { choice: 0, at: Position { item, list: spoken.list, part }, text: spoken.text };
        match what {
            "delta" => event
                .text(root, "delta")
                .map(|leaf| self.says(place, leaf, Saying::First))
                .into_iter()
                .collect(),
            "done" => {
                let whole = event.text(root, spoken.whole).map(|leaf| self.says(place, leaf, Saying::Again));
                whole.into_iter().chain([Said::End(0, place.at)]).collect()
            }
            _ => Vec::new(),
        }
    }

    fn in_part_event(&self, event: &Reading<'_>, list: usize, saying: Saying) -> Vec<Said> {
        let root = event.root();
        let item = event.index(root, "output_index").unwrap_or(0);
        let index = if list == SUMMARY { "summary_index" } else { "content_index" };
        let at = Position { item, list, part: event.index(root, index).unwrap_or(0) };
        let part = event.member(root, "part");
        let mut said: Vec<_> =
            part.into_iter().flat_map(|part| self.in_part(event, at, part, saying)).collect();
        if saying == Saying::Again {
            said.push(Said::End(0, at));
        }
        said
    }

    fn in_response(&mut self, answer: &Reading<'_>, response: NodeId, saying: Saying) -> Vec<Said> {
        let items = answer.elements(response, "output").into_iter().enumerate();
        items.flat_map(|(index, item)| self.in_item(answer, index, item, saying)).collect()
    }

    /// Messages and reasoning. What else an item may be, a tool is called with or answers.
    fn in_item(&mut self, answer: &Reading<'_>, index: usize, item: NodeId, saying: Saying) -> Vec<Said> {
        let reasons = answer.is(item, "type", "reasoning");
        // In a stream, one item with a copy is taken for all.
        self.sealed |= answer.leaf(item, "encrypted_content").is_some();
        if !reasons && !answer.is(item, "type", "message") {
            return in_call(answer, index, item, saying);
        }
        let parts = |list, key| {
            answer
                .elements(item, key)
                .into_iter()
                .enumerate()
                .map(move |(part, node)| (Position { item: index, list, part }, node))
        };
        let parts = parts(SUMMARY, "summary").chain(parts(CONTENT, "content"));
        parts.flat_map(|(at, part)| self.in_part(answer, at, part, saying)).collect()
    }

    fn in_part(&self, answer: &Reading<'_>, at: Position, part: NodeId, saying: Saying) -> Vec<Said> {
        let kind = if at.list == SUMMARY {
            TextKind::Summary
        } else if answer.is(part, "type", "reasoning_text") {
            TextKind::Reasoning
        } else {
            TextKind::Content
        };
        let said = |text, key| {
            answer.text(part, key).map(|leaf| self.says(TextPlace { choice: 0, at, text }, leaf, saying))
        };
        [said(kind, "text"), said(TextKind::Refusal, "refusal")].into_iter().flatten().collect()
    }

    /// Reasoning with an encrypted copy comes back as it was, so nothing is restored in it.
    fn says(&self, place: TextPlace, leaf: NodeId, saying: Saying) -> Said {
        let reasons = match place.text {
            TextKind::Reasoning | TextKind::ReasoningContent | TextKind::Summary => true,
            TextKind::Content | TextKind::Refusal | TextKind::Call => false,
        };
        match (saying, reasons && self.sealed) {
            (Saying::First, false) => Said::More(place, leaf),
            (Saying::First, true) => Said::Shown(place, leaf),
            (Saying::Again, false) => Said::Repeat(place, leaf),
            (Saying::Again, true) => Said::ShownAgain(place, leaf),
        }
    }
}

/// The place of the call that an item is.
fn call(item: usize) -> TextPlace {
    let at = Position { item, ..Position::default() };
    TextPlace { choice: 0, at, text: TextKind::Call }
}

/// What a tool is called with. An item that begins has no arguments yet.
fn in_call(answer: &Reading<'_>, index: usize, item: NodeId, saying: Saying) -> Vec<Said> {
    let key = match () {
        () if answer.is(item, "type", "function_call") => "arguments",
        () if answer.is(item, "type", "custom_tool_call") => "input",
        () => return Vec::new(),
    };
    let Some(tool) = answer.leaf(item, "name").map(|leaf| leaf.id()) else { return Vec::new() };
    let begins = (saying == Saying::First).then_some(CallSaid::Begins(tool));
    let whole = answer.text(item, key).map(|arguments| CallSaid::Whole { tool, arguments });
    begins.into_iter().chain(whole).map(|said| Said::Call(call(index), said)).collect()
}

/// The name of a response.
fn name(answer: &Reading<'_>, response: Option<NodeId>) -> Option<Said> {
    response.and_then(|response| answer.leaf(response, "id")).map(|leaf| Said::Id(leaf.id()))
}
