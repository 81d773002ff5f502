//! What completions say: content, refusal and reasoning of each choice, as servers name them, and what tools are called
//! with.

use std::collections::{BTreeMap, BTreeSet};

use leafgate_tree::{Document, NodeId};
use serde_json::{Value, json};

use super::{CUSTOM, FUNCTION, REASONING};
use crate::apis::UNKNOWN;
use crate::beside;
use crate::event::StreamEvent;
use crate::reading::{StrictReading, scalars};
use crate::said::{Arguments, CallSaid, Called, Form, Position, Said, Says, TextKind, TextPlace, Tool};

/// The members of a message, or of a stream's delta, that hold text for people, in the order in
/// which clients show them.
const FIELDS: [(TextKind, &str); 6] = [
    (TextKind::ReasoningContent, REASONING[0]),
    // As OpenRouter and others name it.
    (TextKind::Reasoning, REASONING[1]),
    (TextKind::ReasoningText, REASONING[2]),
    (TextKind::Summary, REASONING[3]),
    (TextKind::Content, "content"),
    (TextKind::Refusal, "refusal"),
];

/// Members of a message that are read as they come, or come as a whole.
const IN_PIECES: [&str; 8] = [
    "annotations",
    "content",
    "function_call",
    "reasoning",
    "reasoning_content",
    "refusal",
    "role",
    "tool_calls",
];

/// What of a chunk an added event repeats, so that clients take it for part of the same completion.
const REPEATED: [&str; 5] = ["id", "object", "created", "model", "system_fingerprint"];

/// The list of a choice that its calls are in, and the one before it of calls in their old form.
const TOOL_CALLS: usize = 1;
const FUNCTION_CALL: usize = 0;

/// Reads a completion or its chunks.
#[derive(Default)]
pub(super) struct CompletionReader {
    /// The ids of the calls of each choice that have begun in a stream, in order.
    begun: BTreeMap<usize, Vec<String>>,
    /// The calls of a stream that have their name.
    named: BTreeSet<TextPlace>,
}

/// In which member of a choice a message stands.
#[derive(Clone, Copy, PartialEq)]
enum MessageMember {
    /// All of it, in a whole answer.
    Whole,
    /// More of it, in a stream.
    Delta,
    /// All of it again, in a stream.
    Again,
}

impl Says for CompletionReader {
    fn whole(&mut self, answer: &StrictReading<'_>) -> Vec<Said> {
        let mut said = Vec::new();
        for (index, choice) in choices(answer) {
            self.message(answer, index, choice, MessageMember::Whole, &mut said);
            // Some clients show a delta all the same.
            let mut shown = Vec::new();
            self.message(answer, index, choice, MessageMember::Delta, &mut shown);
            if shown.iter().any(|said| !answer.is_empty(*said)) {
                answer.is_read_differently();
            }
        }
        said
    }

    /// A choice that finishes has said all.
    fn event(&mut self, chunk: &StrictReading<'_>) -> Vec<Said> {
        let mut said = Vec::new();
        for (index, choice) in choices(chunk) {
            self.message(chunk, index, choice, MessageMember::Delta, &mut said);
            self.message(chunk, index, choice, MessageMember::Again, &mut said);
            if chunk.word(choice, "finish_reason").is_some_and(|reason| !reason.expose().is_empty()) {
                said.push(Said::End(index, Position::LAST));
            }
        }
        said
    }

    fn added(&self, last: &Document, place: TextPlace, held: &str) -> StreamEvent {
        let field = FIELDS.iter().find(|(kind, _)| *kind == place.text).map_or("content", |(_, key)| key);
        let delta = match (place.text, place.at.list) {
            (TextKind::Call, FUNCTION_CALL) => json!({ "function_call": { "arguments": held } }),
            (TextKind::Call, _) => {
                let (kind, arguments) = if is_custom(last) { CUSTOM } else { FUNCTION };
                json!({ "tool_calls": [{ "index": place.at.part, kind: { arguments: held } }] })
            }
            _ => json!({ field: held }),
        };
        let mut chunk = scalars(last, last.root(), &REPEATED);
        chunk["choices"] = json!([{ "index": place.choice, "delta": delta, "finish_reason": Value::Null }]);
        StreamEvent::plain(chunk)
    }

    fn is_call(&self, answer: &StrictReading<'_>, object: NodeId) -> bool {
        VARIANTS
            .iter()
            .any(|(key, ..)| answer.present(object, key).is_some_and(|node| answer.is_object(node)))
    }

    /// A choice may say something in members that come in pieces nobody reads, as a transcript of what is spoken. Some
    /// servers give the content in parts.
    fn begins_unspoken(&self, event: &StrictReading<'_>) -> bool {
        let messages = choices(event).into_iter().flat_map(|(_, choice)| {
            ["delta", "message"].into_iter().filter_map(move |key| event.present(choice, key))
        });
        let mut members = messages.flat_map(|message| event.members(message));
        members.any(|(key, member)| {
            let is_read = IN_PIECES.contains(&&*key) && !(key == "content" && event.is_list(member));
            !is_read && beside::says(self, event, &key, member)
        })
    }
}

impl CompletionReader {
    fn message(
        &mut self,
        answer: &StrictReading<'_>,
        choice: usize,
        node: NodeId,
        form: MessageMember,
        said: &mut Vec<Said>,
    ) {
        let key = if form == MessageMember::Delta { "delta" } else { "message" };
        let Some(message) = answer.present(node, key) else { return };
        for (text, key) in FIELDS {
            let place = TextPlace { choice, at: Position::default(), text };
            if let Some(parts) = answer.present(message, key).filter(|&node| answer.is_list(node)) {
                said.extend(parts_say(answer, place, parts, form));
            } else if let Some(leaf) = answer.text(message, key) {
                let sealed = matches!(text, TextKind::ReasoningText | TextKind::Summary);
                said.push(Said::Text { place, leaf, again: form == MessageMember::Again, sealed });
            }
        }
        let place = |list, part| TextPlace {
            choice,
            at: Position { list, part, ..Position::default() },
            text: TextKind::Call,
        };
        if let Some(function) = answer.present(message, "function_call") {
            let said_of =
                function_says(answer, (function, None), function, ("arguments", Form::JsonText), form);
            said.extend(self.calls(answer, place(FUNCTION_CALL, 0), said_of, form));
        }
        for (at, call) in answer.elements(message, "tool_calls").into_iter().enumerate() {
            if !answer.is_object(call) {
                answer.is_read_differently();
                continue;
            }
            let number =
                if form == MessageMember::Delta { self.number(answer, choice, (at, call)) } else { at };
            let said_of = call_says(answer, call, form);
            // Some clients go on with the last call, whatever the index is.
            let is_last = form != MessageMember::Delta
                || self.begun.get(&choice).is_none_or(|begun| number + 1 == begun.len());
            let says = |call: &CallSaid| match call {
                CallSaid::More(_) => !answer.is_empty(Said::Call(place(TOOL_CALLS, number), *call)),
                CallSaid::Whole(..) => true,
                CallSaid::Begins(_) | CallSaid::Again(_) | CallSaid::End => false,
            };
            if !is_last && said_of.iter().any(says) {
                answer.is_read_differently();
            }
            said.extend(self.calls(answer, place(TOOL_CALLS, number), said_of, form));
        }
    }

    /// What is said of a call. Of a name that comes in two pieces, some clients take the first, and some both: OpenAI's own
    /// libraries join names, also the same one again, which older servers repeat in each chunk.
    fn calls(
        &mut self,
        answer: &StrictReading<'_>,
        place: TextPlace,
        said: Vec<CallSaid>,
        form: MessageMember,
    ) -> impl Iterator<Item = Said> + use<> {
        let is_named = |said: &CallSaid| match said {
            CallSaid::Begins(called) | CallSaid::Whole(called, _) => matches!(called.tool, Tool::Named(_)),
            CallSaid::More(_) | CallSaid::Again(_) | CallSaid::End => false,
        };
        if form == MessageMember::Delta && said.iter().any(is_named) && !self.named.insert(place) {
            answer.is_read_differently();
        }
        said.into_iter().map(move |call| Said::Call(place, call))
    }

    /// Which call of its choice a piece goes on with: the one of its index, without one that of its id, without that the
    /// last one. Some clients take its place in the list for its index, and some a call without an id for the last one.
    fn number(&mut self, chunk: &StrictReading<'_>, choice: usize, (at, call): (usize, NodeId)) -> usize {
        let id = chunk.word(call, "id").map(|id| id.expose().to_owned()).unwrap_or_default();
        let begun = self.begun.entry(choice).or_default();
        let by_id = || begun.iter().position(|own| !id.is_empty() && *own == id);
        let next = if id.is_empty() { begun.len().saturating_sub(1) } else { begun.len() };
        let index = chunk.index(call, "index");
        let number = index.or_else(by_id).unwrap_or(next);
        let goes_on = id.is_empty() && number > 0 && number == begun.len();
        // A gap would be calls without names.
        if number > begun.len() || goes_on || index.is_none() && number != at {
            chunk.is_read_differently();
        }
        if number == begun.len() {
            begun.push(id);
        }
        number
    }
}

/// How a call is spelled: the member that says what is called, the one of its arguments, and their form.
const VARIANTS: [(&str, &str, Form); 2] =
    [(FUNCTION.0, FUNCTION.1, Form::JsonText), (CUSTOM.0, CUSTOM.1, Form::Text)];

/// What an element of `tool_calls` says. Clients tell functions from custom tools by their type, or by the member that is
/// there.
fn call_says(answer: &StrictReading<'_>, call: NodeId, form: MessageMember) -> Vec<CallSaid> {
    let id = answer.name(call, "id");
    let kind = answer.kind(call).filter(|kind| !kind.is_empty());
    let found =
        VARIANTS.map(|(key, arguments, form)| Some((key, answer.present(call, key)?, arguments, form)));
    let of_kind = |key: &str| kind.as_deref().is_none_or(|kind| kind == key);
    match found {
        [Some((key, function, arguments, spelled)), None]
        | [None, Some((key, function, arguments, spelled))] => {
            // In a stream the type comes with the first piece.
            if !of_kind(key) {
                answer.is_read_differently();
            }
            function_says(answer, (call, id), function, (arguments, spelled), form)
        }
        [None, None] if kind.is_some() && !of_kind("function") && !of_kind("custom") => {
            let called = Called { element: call, id, tool: Tool::Kind(UNKNOWN), form: Some(Form::Json) };
            vec![CallSaid::Whole(called, Arguments::json(call))]
        }
        [None, None] => vec![CallSaid::Begins(Called { element: call, id, tool: Tool::Unnamed, form: None })],
        [Some(_), Some(_)] => {
            answer.is_read_differently();
            Vec::new()
        }
    }
}

fn function_says(
    answer: &StrictReading<'_>,
    (element, id): (NodeId, Option<NodeId>),
    function: NodeId,
    (key, spelled): (&str, Form),
    form: MessageMember,
) -> Vec<CallSaid> {
    let tool = answer.name(function, "name").map_or(Tool::Unnamed, Tool::Named);
    let called = Called { element, id, tool, form: Some(spelled) };
    let arguments = answer.present(function, key);
    // Some servers give the object itself.
    let form_of = |node| if answer.is_container(node) { Form::Json } else { spelled };
    match arguments.map(|node| Arguments { form: form_of(node), ..Arguments::json(node) }) {
        None => vec![CallSaid::Begins(called)],
        Some(Arguments { node, form: Form::Text | Form::JsonText, .. }) if form == MessageMember::Delta => {
            let more = answer.text(function, key).filter(|&leaf| leaf == node).map(CallSaid::More);
            std::iter::once(CallSaid::Begins(called)).chain(more).collect()
        }
        Some(arguments) => vec![CallSaid::Whole(called, arguments)],
    }
}

/// The texts of a content that is a list of parts. Some clients show texts of any part, and some join those of its kind.
fn parts_say(answer: &StrictReading<'_>, place: TextPlace, parts: NodeId, form: MessageMember) -> Vec<Said> {
    let said = answer.elements_of(parts).into_iter().enumerate().filter_map(|(at, part)| {
        if !answer.is_object(part) {
            answer.is_read_differently();
        }
        let leaf = answer.text(part, "text")?;
        let at = Position { part: at, ..Position::default() };
        let is_text = answer.kind(part).is_some_and(|kind| kind == "text");
        if !is_text && !answer.is_blank(leaf) {
            answer.is_read_differently();
        }
        let (place, sealed) = match form {
            MessageMember::Whole => (TextPlace { at, ..place }, !is_text),
            MessageMember::Delta | MessageMember::Again => (place, true),
        };
        Some(Said::Text { place, leaf, again: form == MessageMember::Again, sealed })
    });
    said.collect()
}

/// Whether an event goes on with a call of a custom tool.
fn is_custom(event: &Document) -> bool {
    let event = StrictReading::new(event);
    let calls = choices(&event).into_iter().filter_map(|(_, choice)| event.present(choice, "delta"));
    let mut calls = calls.flat_map(|delta| event.elements(delta, "tool_calls"));
    calls.any(|call| event.present(call, "custom").is_some())
}

/// The choices of an answer with their indexes.
fn choices(answer: &StrictReading<'_>) -> Vec<(usize, NodeId)> {
    answer.numbered(answer.root(), "choices")
}
