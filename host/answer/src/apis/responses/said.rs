//! Responses: what messages say, refusals, reasoning that has no encrypted copy, and what tools are
//! called with.
//!
//! A stream says each text in deltas, and then repeats it whole up to four times: as text, part,
//! item and response. Restored are all of them alike, so that it does not matter which of them a
//! client reads.

use std::collections::{BTreeMap, BTreeSet};

use leafgate_api::responses::{CUSTOM, CallItem, NAMELESS};
use leafgate_tree::{Document, NodeId};

use super::words::{BEGINS, CONTENT, ENDS, List, SPOKEN, SUMMARY, is_call, lists};
use crate::apis::UNKNOWN;
use crate::event::StreamEvent;
use crate::reading::{StrictReading, scalars};
use crate::said::{Arguments, CallSaid, Called, Form, Position, Said, Says, TextKind, TextPlace, Tool};

/// What an added delta repeats of the last one of its text, its number too: the next event has the
/// next number already.
const REPEATED: [&str; 5] = ["item_id", "output_index", "content_index", "summary_index", "sequence_number"];

/// Reads a response or its events.
#[derive(Default)]
pub(super) struct ResponseReader {
    /// Whether reasoning comes with an encrypted copy. A stream may show the copy only after the text.
    sealed: bool,
    /// Which item of a stream an id names.
    ids: BTreeMap<String, usize>,
    /// The items that were announced.
    added: BTreeSet<usize>,
    /// Those whose arguments came while they did, and the call that was announced last.
    pieces: BTreeSet<usize>,
    last_call: Option<usize>,
    /// The texts that were said, and which events say them first.
    said: BTreeSet<TextPlace>,
    way: Option<String>,
    /// Whether texts are those of a request, which a compacted conversation has.
    are_asked: Option<bool>,
}

/// Whether a text is all there is, is said, or said again.
#[derive(Clone, Copy, PartialEq)]
enum Saying {
    Whole,
    First,
    Again,
}

impl Says for ResponseReader {
    fn whole(&mut self, answer: &StrictReading<'_>) -> Vec<Said> {
        let mut said: Vec<_> = name(answer, Some(answer.root())).into_iter().collect();
        for (index, item) in answer.elements(answer.root(), "output").into_iter().enumerate() {
            // Whole, each item shows whether it has a copy.
            self.sealed = false;
            said.extend(self.in_item(answer, index, item, Saying::Whole));
        }
        said
    }

    fn event(&mut self, event: &StrictReading<'_>) -> Vec<Said> {
        let root = event.root();
        let Some(kind) = event.kind(root) else { return Vec::new() };
        let item = self.item(event);
        let response = event.member(root, "response");
        let said = match kind.as_str() {
            kind if BEGINS.contains(&kind) => {
                let texts = response.map(|response| self.in_response(event, response, Saying::First));
                name(event, response).into_iter().chain(texts.unwrap_or_default()).collect()
            }
            "response.output_item.added" => {
                // Announced twice, it is two items to some clients.
                if event.index(root, "output_index").is_some_and(|index| !self.added.insert(index)) {
                    event.is_read_differently();
                }
                self.in_item_event(event, item, Saying::First)
            }
            "response.output_item.done" => {
                let mut said = self.in_item_event(event, item, Saying::Again);
                said.push(Said::End(0, Position::end_of(item)));
                said
            }
            kind if ENDS.contains(&kind) => {
                let texts = response.map(|response| self.in_response(event, response, Saying::Again));
                texts.unwrap_or_default().into_iter().chain([Said::EndAll]).collect()
            }
            "error" => vec![Said::EndAll],
            kind => self.in_piece(event, item, kind),
        };
        self.in_one_way(event, &kind, &said);
        said
    }

    fn added(&self, last: &Document, place: TextPlace, held: &str) -> StreamEvent {
        let custom = last.member(last.root(), "type").and_then(|kind| last.leaf(kind));
        let custom = custom.is_some_and(|kind| kind.text().expose().contains("custom_tool_call"));
        let name = match place.text {
            TextKind::Call if custom => "response.custom_tool_call_input.delta",
            TextKind::Call => "response.function_call_arguments.delta",
            TextKind::Refusal => "response.refusal.delta",
            TextKind::Reasoning | TextKind::ReasoningContent | TextKind::ReasoningText => {
                "response.reasoning_text.delta"
            }
            TextKind::Summary => "response.reasoning_summary_text.delta",
            TextKind::Content => "response.output_text.delta",
        };
        let mut data = scalars(last, last.root(), &REPEATED);
        data["type"] = name.into();
        data["delta"] = held.into();
        if place.text == TextKind::Content {
            data["logprobs"] = serde_json::json!([]);
        }
        StreamEvent::typed(data)
    }

    fn is_call(&self, answer: &StrictReading<'_>, object: NodeId) -> bool {
        answer.kind(object).is_some_and(|kind| is_call(&kind))
    }

    fn begins_unspoken(&self, event: &StrictReading<'_>) -> bool {
        let item = event.member(event.root(), "item");
        item.is_some_and(|item| event.kind(item).is_none_or(|kind| lists(&kind).is_empty()))
    }
}

impl ResponseReader {
    pub(super) fn new(sealed: bool) -> Self {
        ResponseReader { sealed, ..ResponseReader::default() }
    }

    /// Notes as odd where one text comes first in pieces, say, and another one as a whole: some clients read the ones alone,
    /// and join those.
    fn in_one_way(&mut self, event: &StrictReading<'_>, kind: &str, said: &[Said]) {
        for one in said.iter().filter(|said| !event.is_empty(**said)) {
            let Some((place, _)) = one.text().filter(|(place, _)| !place.text.is_reasoning()) else {
                continue;
            };
            let is_more = matches!(one, Said::Text { again: false, .. });
            let way = kind.replace("refusal", "output_text");
            if (self.said.insert(place) || is_more) && *self.way.get_or_insert_with(|| way.clone()) != way {
                event.is_read_differently();
            }
        }
    }

    /// Notes as odd where the arguments of a call that was announced come at its end alone: LangChain, for one, takes what
    /// comes before that, and runs a tool without any. Some go on with the last call, whatever the index is.
    fn in_pieces(&mut self, event: &StrictReading<'_>, item: usize, calls: &[CallSaid], saying: Saying) {
        for call in calls {
            let (CallSaid::More(node) | CallSaid::Again(node) | CallSaid::Whole(_, Arguments { node, .. })) =
                call
            else {
                continue;
            };
            if event.is_blank(*node) || event.leaf_text(*node).is_none_or(|text| text == "{}") {
                continue;
            }
            let is_read_alike = match saying {
                Saying::Whole => true,
                Saying::First => {
                    self.pieces.insert(item);
                    self.last_call.is_none_or(|last| last == item)
                }
                Saying::Again => !self.added.contains(&item) || self.pieces.contains(&item),
            };
            if !is_read_alike {
                event.is_read_differently();
            }
        }
    }

    /// The item that an event is of. Some clients find it by its index and some by its id.
    fn item(&self, event: &StrictReading<'_>) -> usize {
        let index = event.index(event.root(), "output_index").unwrap_or(0);
        let id = event.word(event.root(), "item_id");
        if id.is_some_and(|id| self.ids.get(id.expose()).is_some_and(|own| *own != index)) {
            event.is_read_differently();
        }
        index
    }

    /// What the event of a part, a text or arguments says: more of it, or all of it.
    fn in_piece(&mut self, event: &StrictReading<'_>, item: usize, kind: &str) -> Vec<Said> {
        let root = event.root();
        let Some((begins, what)) = kind.rsplit_once('.') else { return Vec::new() };
        let at = |list: &List| {
            let part = event.index(root, list.index).unwrap_or(0);
            Position { item, list: list.order, part }
        };
        let saying = if what == "done" { Saying::Again } else { Saying::First };
        let mut said = Vec::new();
        if let Some(list) = [&SUMMARY, &CONTENT].into_iter().find(|list| list.part == begins) {
            let part = event.member(root, "part");
            said.extend(part.into_iter().flat_map(|part| self.in_part(event, at(list), part, saying)));
            said.extend((saying == Saying::Again).then(|| Said::End(0, at(list))));
        } else if let Some(spoken) = SPOKEN.iter().find(|spoken| spoken.event == begins) {
            let place = TextPlace { choice: 0, at: at(spoken.list), text: spoken.text };
            let key = if saying == Saying::Again { spoken.key } else { "delta" };
            said.extend(event.text(root, key).map(|leaf| self.says(place, leaf, saying)));
            said.extend((saying == Saying::Again).then_some(Said::End(0, place.at)));
        } else if let Some(asked) = CallItem::of_event(begins) {
            let calls = match saying {
                Saying::Again => {
                    let named = event.name(root, "name").map(Tool::Named);
                    let named = named
                        .map(|tool| CallSaid::Begins(Called { element: root, id: None, tool, form: None }));
                    let again = event.text(root, asked.arguments).map(CallSaid::Again);
                    named.into_iter().chain([CallSaid::End]).chain(again).collect()
                }
                Saying::First | Saying::Whole => {
                    Vec::from_iter(event.text(root, "delta").map(CallSaid::More))
                }
            };
            self.in_pieces(event, item, &calls, saying);
            said.extend(calls.into_iter().map(|call| Said::item_calls(item, call)));
        }
        said
    }

    fn in_response(&mut self, answer: &StrictReading<'_>, response: NodeId, saying: Saying) -> Vec<Said> {
        let items = answer.elements(response, "output");
        // Some servers leave the items out of the last event: those that came count.
        let all = (saying == Saying::Again && !items.is_empty()).then_some(Said::Items(items.len()));
        let said: Vec<Said> = items
            .into_iter()
            .enumerate()
            .flat_map(|(index, item)| self.in_item(answer, index, item, saying))
            .collect();
        said.into_iter().chain(all).collect()
    }

    fn in_item_event(&mut self, event: &StrictReading<'_>, index: usize, saying: Saying) -> Vec<Said> {
        let item = event.member(event.root(), "item");
        let id = item.and_then(|item| event.word(item, "id")).filter(|id| !id.expose().is_empty());
        if id.is_some_and(|id| *self.ids.entry(id.expose().to_owned()).or_insert(index) != index) {
            event.is_read_differently();
        }
        item.map(|item| self.in_item(event, index, item, saying)).unwrap_or_default()
    }

    /// Messages and reasoning. What else an item may be, a tool is called with or answers.
    fn in_item(
        &mut self,
        answer: &StrictReading<'_>,
        index: usize,
        item: NodeId,
        saying: Saying,
    ) -> Vec<Said> {
        // In a stream, one item with a copy is taken for all.
        self.sealed |= answer.leaf(item, "encrypted_content").is_some();
        let kind = answer.kind(item).unwrap_or_default();
        let mut said: Vec<Said> =
            answer.leaf(item, "type").map(|leaf| Said::Item(index, leaf.id())).into_iter().collect();
        if is_call(&kind) {
            let calls = call_says(answer, item, &kind, saying);
            self.last_call = if saying == Saying::First { Some(index) } else { self.last_call };
            self.in_pieces(answer, index, &calls, saying);
            said.extend(calls.into_iter().map(|call| Said::item_calls(index, call)));
        }
        // Either kind may have either list.
        for list in [&SUMMARY, &CONTENT].into_iter().filter(|_| !lists(&kind).is_empty()) {
            for (part, node) in answer.elements(item, list.member).into_iter().enumerate() {
                said.extend(self.in_part(
                    answer,
                    Position { item: index, list: list.order, part },
                    node,
                    saying,
                ));
            }
        }
        said
    }

    fn in_part(
        &mut self,
        answer: &StrictReading<'_>,
        at: Position,
        part: NodeId,
        saying: Saying,
    ) -> Vec<Said> {
        let kind = if at.list == SUMMARY.order {
            TextKind::Summary
        } else if answer.is(part, "type", "reasoning_text") {
            TextKind::Reasoning
        } else {
            TextKind::Content
        };
        // Some clients show texts of any part, and some join those of the kinds that they know.
        if answer.text(part, "text").is_some_and(|text| !answer.is_blank(text)) {
            let kinds = ["output_text", "reasoning_text", "summary_text", "text", "input_text"];
            let kind = kinds.iter().position(|kind| answer.is(part, "type", kind));
            let is_asked = kind == Some(4);
            if kind.is_none() || *self.are_asked.get_or_insert(is_asked) != is_asked {
                answer.is_read_differently();
            }
        }
        let said = |text, key| {
            answer.text(part, key).map(|leaf| self.says(TextPlace { choice: 0, at, text }, leaf, saying))
        };
        [said(kind, "text"), said(TextKind::Refusal, "refusal")].into_iter().flatten().collect()
    }

    /// Reasoning with an encrypted copy comes back as it was, so nothing is changed in it.
    fn says(&self, place: TextPlace, leaf: NodeId, saying: Saying) -> Said {
        let sealed = self.sealed && place.text.is_reasoning();
        Said::Text { place, leaf, again: saying == Saying::Again, sealed }
    }
}

/// What a tool is called with. An item that begins has no arguments yet, or not all.
fn call_says(answer: &StrictReading<'_>, item: NodeId, kind: &str, saying: Saying) -> Vec<CallSaid> {
    let id = answer.name(item, "call_id");
    let is_whole = saying != Saying::First;
    let asked = CallItem::of_kind(kind);
    let run = NAMELESS.iter().find(|(own, _)| *own == kind);
    // A call that its kind names has no name; one that it has is the tool to some clients.
    let name = answer.name(item, "name").map(Tool::Named);
    if run.is_some() && name.is_some() {
        answer.is_read_differently();
    }
    let (tool, form, node) = match (asked, run) {
        (Some(asked), _) => {
            let form = if asked == CUSTOM { Form::Text } else { Form::JsonText };
            let node = answer.present(item, asked.arguments);
            let is_said = |node| saying == Saying::Again || !answer.is_blank(node);
            (name.unwrap_or(Tool::Unnamed), form, node.filter(|&node| is_said(node)))
        }
        (None, Some((kind, member))) => {
            (Tool::Kind(kind), Form::Json, answer.present(item, member).filter(|_| is_whole))
        }
        (None, None) => (name.unwrap_or(Tool::Kind(UNKNOWN)), Form::Json, is_whole.then_some(item)),
    };
    let called = Called { element: item, id, tool, form: Some(form) };
    // Some servers give the object itself.
    let form_of = |node| if answer.is_container(node) { Form::Json } else { form };
    called.says(node.map(|node| Arguments { form: form_of(node), ..Arguments::json(node) }))
}

/// The name of a response.
fn name(answer: &StrictReading<'_>, response: Option<NodeId>) -> Option<Said> {
    response.and_then(|response| answer.leaf(response, "id")).map(|leaf| Said::Id(leaf.id()))
}
