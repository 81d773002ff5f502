//! A stream of chunks, put together.

use serde_json::{Value, json};

use super::{REASONING, function, read_call, read_finish, read_usage};
use crate::apis::{Assembly, failure};
use crate::json::{Again, Object, index, is_nothing, member, merge, text};
use crate::loss::{Losses, Lost};
use crate::reply::{CallKind, Delta, Finish};
use crate::text::AnswerText;

/// Choices that are kept; OpenAI gives no more.
const MAX_CHOICES: usize = 128;

/// Calls of one message that are kept.
const MAX_CALLS: usize = 512;

/// A stream of chunks.
#[derive(Clone, Default)]
pub(super) struct Chunks {
    root: Object,
    /// Each choice as the whole answer has it, by its index.
    choices: Vec<Object>,
    /// Calls of the first choice that have begun.
    begun: usize,
    /// Where the first choice has its reasoning.
    reasoning: Option<&'static str>,
    came: bool,
}

impl Assembly for Chunks {
    fn take(&mut self, event: Value, losses: &mut Losses) -> Vec<Delta> {
        let Value::Object(mut chunk) = event else { return Vec::new() };
        let mut deltas = Vec::new();
        let choices = chunk.remove("choices");
        if choices.is_none() && !chunk.contains_key("error") {
            losses.add(Lost::Event, "");
            return deltas;
        }
        self.came = true;
        // Padding against eavesdroppers who count bytes.
        chunk.remove("obfuscation");
        if let Some(usage) = member(&chunk, "usage") {
            deltas.push(Delta::Usage(read_usage(usage, &mut Losses::default())));
        }
        let failed = failure(&chunk).is_some();
        for (key, value) in chunk {
            if !is_nothing(&value) {
                self.root.insert(key, value);
            }
        }
        for choice in choices.and_then(|choices| choices.as_array().cloned()).unwrap_or_default() {
            let Value::Object(choice) = choice else { continue };
            self.choice(choice, &mut deltas, losses);
        }
        deltas.extend(failed.then_some(Delta::Finish(Finish::Failed)));
        deltas
    }

    fn so_far(&self) -> Option<Value> {
        Box::new(self.clone()).whole()
    }

    fn whole(self: Box<Self>) -> Option<Value> {
        if !self.came {
            return None;
        }
        let mut root = self.root;
        if !self.choices.is_empty() || !root.contains_key("error") {
            let choices = self.choices.into_iter().filter(|choice| !choice.is_empty());
            root.insert("choices".to_owned(), choices.map(Value::Object).collect());
            root.insert("object".to_owned(), "chat.completion".into());
        }
        Some(Value::Object(root))
    }
}

impl Chunks {
    fn choice(&mut self, mut piece: Object, deltas: &mut Vec<Delta>, losses: &mut Losses) {
        let at = index(&piece, "index").unwrap_or(0);
        if at >= MAX_CHOICES {
            return losses.add(Lost::Choice, "/choices");
        }
        if self.choices.len() <= at {
            self.choices.resize_with(at + 1, Object::new);
        }
        let delta = piece.remove("delta");
        let choice = &mut self.choices[at];
        choice.insert("index".to_owned(), at.into());
        if let Some(logprobs) = piece.remove("logprobs") {
            merge(choice.entry("logprobs").or_insert(Value::Null), logprobs, Again::Join);
        }
        let finish = piece.get("finish_reason").and_then(Value::as_str).map(read_finish);
        for (key, value) in piece {
            merge(choice.entry(key).or_insert(Value::Null), value, Again::Replace);
        }
        // The last piece of a choice has an empty one.
        if let Some(Value::Object(delta)) = delta
            && !delta.is_empty()
        {
            self.delta(at, delta, deltas, losses);
        }
        let refused = self.choices[at].get("message").is_some_and(|message| !is_nothing(&message["refusal"]));
        if let Some(finish) = finish.filter(|_| at == 0) {
            deltas.push(Delta::Finish(if refused { Finish::Refusal } else { finish }));
        }
    }

    fn delta(&mut self, at: usize, mut delta: Object, deltas: &mut Vec<Delta>, losses: &mut Losses) {
        if at == 0 {
            self.tell(&delta, deltas);
        }
        let message = self.choices[at].entry("message").or_insert_with(|| json!({}));
        let Value::Object(message) = message else { return };
        message.insert("role".to_owned(), "assistant".into());
        delta.remove("role");
        let calls = delta.remove("tool_calls");
        for (key, value) in delta {
            merge(message.entry(key).or_insert(Value::Null), value, Again::Join);
        }
        for piece in
            calls.as_ref().and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object)
        {
            let list = message.entry("tool_calls").or_insert_with(|| json!([]));
            let Value::Array(list) = list else { return };
            if let Some(more) = call_piece(list, piece, losses)
                && at == 0
            {
                tell_call(list, more, &mut self.begun, deltas);
            }
        }
    }

    /// What the texts of a delta add to the reply.
    fn tell(&mut self, delta: &Object, deltas: &mut Vec<Delta>) {
        let told = |text: &str| (!text.is_empty()).then(|| AnswerText::from(text));
        self.reasoning =
            self.reasoning.or_else(|| REASONING.into_iter().find(|key| !text(delta, key).is_empty()));
        let reasoning = self.reasoning.and_then(|key| told(text(delta, key)));
        deltas.extend(reasoning.map(Delta::Reasoning));
        deltas.extend(
            ["content", "refusal"].iter().filter_map(|key| told(text(delta, key)).map(Delta::Content)),
        );
        if let Some(call) = member(delta, "function_call") {
            let begun = self
                .choices
                .first()
                .and_then(|choice| choice.get("message"))
                .is_some_and(|m| !m["function_call"].is_null());
            deltas.push(if begun {
                Delta::Arguments { call: 0, text: text(call, "arguments").into() }
            } else {
                self.begun += 1;
                Delta::Call(function(call, "", CallKind::Function))
            });
        }
    }
}

/// What a piece adds to a call.
struct More {
    call: usize,
    arguments: String,
}

/// Adds a piece to its call. It is found by its index, without one by its id, without that it goes
/// on with the last one.
fn call_piece(list: &mut Vec<Value>, piece: &Object, losses: &mut Losses) -> Option<More> {
    let id = text(piece, "id");
    let by_id = || list.iter().position(|call| !id.is_empty() && call["id"] == id);
    let next = if id.is_empty() { list.len().saturating_sub(1) } else { list.len() };
    let at = index(piece, "index").or_else(by_id).unwrap_or(next);
    // A gap would be calls without names.
    if at > list.len() || at >= MAX_CALLS {
        losses.add(Lost::Unread, "/choices/0/message/tool_calls");
        return None;
    }
    if at == list.len() {
        list.push(json!({}));
    }
    let call = list[at].as_object_mut()?;
    // Some servers repeat id and name with each piece.
    let repeats = !id.is_empty() && text(call, "id") == id;
    let mut arguments = String::new();
    for (key, value) in piece {
        match (key.as_str(), value) {
            ("index", _) => {}
            ("id" | "type", value) => {
                let held = call.entry(key).or_insert(Value::Null);
                if is_nothing(held) {
                    *held = value.clone();
                }
            }
            ("function" | "custom", Value::Object(function)) => {
                let mut function = function.clone();
                if has_name(call) {
                    let again = function.remove("name").filter(|name| !is_nothing(name));
                    if again.is_some() && !repeats {
                        losses.add(Lost::Contradiction, "/choices/0/message/tool_calls");
                    }
                }
                arguments.push_str(text(&function, "arguments"));
                arguments.push_str(text(&function, "input"));
                merge(call.entry(key).or_insert_with(|| json!({})), Value::Object(function), Again::Join);
            }
            (_, value) => merge(call.entry(key).or_insert(Value::Null), value.clone(), Again::Replace),
        }
    }
    Some(More { call: at, arguments })
}

/// What a piece of a call adds to the reply. A call begins once it has a name and those before it
/// have begun.
fn tell_call(list: &[Value], more: More, begun: &mut usize, deltas: &mut Vec<Delta>) {
    if more.call < *begun {
        if !more.arguments.is_empty() {
            deltas.push(Delta::Arguments { call: more.call, text: more.arguments.into() });
        }
        return;
    }
    let named = list.iter().skip(*begun).filter_map(Value::as_object).take_while(|call| has_name(call));
    for call in named {
        *begun += 1;
        deltas.push(Delta::Call(read_call(call, "", &mut Losses::default())));
    }
}

/// Whether a call has its name. It is asked for each piece, so nothing is copied.
fn has_name(call: &Object) -> bool {
    let named = |key| member(call, key).is_some_and(|function| !text(function, "name").is_empty());
    named("function") || named("custom")
}
