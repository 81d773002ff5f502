//! OpenAI chat completions, as OpenAI, Azure, Copilot, OpenRouter, DeepSeek and others speak them.

mod said;
mod stream;

use serde_json::{Value, json};

use super::{AnswerAssembly, AnswerWire, Count, LiveTerms, call_id, if_any};
use crate::event::StreamEvent;
use crate::json::{Object, elements, is_nothing, member};
use crate::reply::{Call, CallKind, Finish, Head, Reply};

/// Where providers put reasoning: DeepSeek and most local servers, OpenRouter, Copilot.
const REASONING: [&str; 4] = ["reasoning_content", "reasoning", "reasoning_text", "cot_summary"];

/// The member that says what is called, which is the kind of the call too, and the one in it with the arguments.
const FUNCTION: (&str, &str) = ("function", "arguments");
const CUSTOM: (&str, &str) = ("custom", "input");

/// Members that every chunk has.
const IN_EACH_CHUNK: [&str; 6] = ["id", "object", "created", "model", "service_tier", "system_fingerprint"];

pub(super) const WIRE: AnswerWire = AnswerWire {
    put: stream::put,
    settle,
    finish,
    turn,
    write,
    append,
    events,
    wrapped_in: None,
    says: |_| Box::new(said::CompletionReader::default()),
    answer: &["choices", "error"],
    lists: false,
    names_events: false,
    repeats: true,
    names_answers: false,
    beside: &["/choices"],
    list: "choices",
    probabilities: Some("logprobs"),
    live: Some(LiveTerms {
        around: (1, 2),
        costs_apart: true,
        has_parts: false,
        index: "/choices/0/delta/tool_calls/0/index",
        content: "/choices/0/delta/content",
        reasoning: "/choices/0/delta/reasoning_content",
    }),
    head: ["id", "model", "created"],
    reasons: &[
        ("stop", Finish::Stop),
        ("length", Finish::Length),
        ("tool_calls", Finish::Calls),
        ("function_call", Finish::Calls),
        ("content_filter", Finish::Filtered),
        // OpenRouter's word for an upstream that broke off.
        ("error", Finish::Failed),
    ],
    usage: "usage",
    counts: &[
        ("/prompt_tokens", Count::Input, |usage| Some(usage.input)),
        ("/prompt_tokens_details/cached_tokens", Count::Cached, |usage| Some(usage.cached)),
        // A member of OpenRouter.
        ("/prompt_tokens_details/cache_write_tokens", Count::Written, |usage| if_any(usage.written)),
        ("/completion_tokens", Count::Output, |usage| Some(usage.output)),
        ("/completion_tokens_details/reasoning_tokens", Count::Reasoning, |usage| Some(usage.reasoning)),
        ("/total_tokens", Count::Sum, |usage| Some(usage.input.saturating_add(usage.output))),
    ],
};

fn settle(assembly: &mut AnswerAssembly) {
    if assembly.root.contains_key("object") {
        assembly.root.insert("object".to_owned(), "chat.completion".into());
    }
}

fn finish(root: &Object) -> Option<Finish> {
    WIRE.reason(elements(root, "choices").first()?.get("finish_reason"))
}

fn turn(whole: &Value) -> Vec<Value> {
    let message = whole.pointer("/choices/0/message").and_then(Value::as_object);
    let Some(message) = message else { return Vec::new() };
    // What has no value is left out: not every server takes it back.
    let mut turn: Object =
        message.iter().filter(|(_, value)| !is_nothing(value)).map(|(k, v)| (k.clone(), v.clone())).collect();
    turn.remove("annotations");
    turn.insert("role".to_owned(), "assistant".into());
    turn.entry("content").or_insert(Value::Null);
    vec![Value::Object(turn)]
}

fn write(reply: &Reply, head: &Head) -> Value {
    let refuses = reply.finish == Some(Finish::Refusal);
    let said = reply.content.expose();
    let content = if refuses || (said.is_empty() && !reply.calls.is_empty()) { None } else { Some(said) };
    let mut message = json!({
        "role": "assistant",
        "content": content,
        "refusal": refuses.then_some(said),
    });
    if !reply.reasoning.is_empty() {
        message[REASONING[0]] = reply.reasoning.expose().into();
    }
    if !reply.calls.is_empty() {
        message["tool_calls"] =
            reply.calls.iter().enumerate().map(|(at, call)| named(at, call).to_chat()).collect();
    }
    let finish = reply.finish.map(|finish| WIRE.word(finish));
    let mut whole = json!({
        "id": head.id.expose(),
        "object": "chat.completion",
        "created": head.created,
        "model": head.model.expose(),
        "choices": [{ "index": 0, "message": message, "logprobs": null, "finish_reason": finish }],
    });
    if let Some(usage) = reply.usage {
        whole["usage"] = WIRE.write_usage(usage);
    }
    whole
}

fn append(whole: &mut Value, text: &str) -> Option<()> {
    let message = whole.pointer_mut("/choices/0/message")?;
    let said = message["content"].as_str().unwrap_or_default();
    message["content"] = format!("{said}{text}").into();
    Some(())
}

fn events(whole: &Object, usage: bool) -> Option<Vec<StreamEvent>> {
    let choices = whole.get("choices")?.as_array()?;
    let mut base = Object::new();
    for (key, value) in whole.iter().filter(|(key, _)| IN_EACH_CHUNK.contains(&key.as_str())) {
        base.insert(key.clone(), value.clone());
    }
    base.insert("object".to_owned(), "chat.completion.chunk".into());
    let mut rest = whole.clone();
    rest.retain(|key, _| !base.contains_key(key) && key != "choices" && key != "usage");
    let mut chunk = |choices: Value, costs: Option<&Value>| {
        let mut chunk = base.clone();
        // What else there is comes once.
        chunk.append(&mut rest);
        chunk.insert("choices".to_owned(), choices);
        if usage {
            chunk.insert("usage".to_owned(), costs.cloned().unwrap_or_default());
        }
        StreamEvent::plain(Value::Object(chunk))
    };
    let mut events = Vec::new();
    for (at, choice) in choices.iter().enumerate() {
        let pieces = pieces(choice.as_object()?, at);
        events.extend(pieces.into_iter().map(|piece| chunk(json!([piece]), None)));
    }
    if usage {
        events.push(chunk(json!([]), whole.get("usage")));
    }
    events.push(StreamEvent::DONE);
    Some(events)
}

/// A call with a name that tells it from others.
fn named(at: usize, call: &Call) -> Call {
    Call { id: call_id(call.id.expose(), at).into(), ..call.clone() }
}

/// The pieces of a choice: who speaks, each text and call by itself, and why it ends.
fn pieces(choice: &Object, at: usize) -> Vec<Value> {
    let index = choice.get("index").cloned().unwrap_or_else(|| at.into());
    let piece =
        |delta: Value| json!({ "index": index, "delta": delta, "logprobs": null, "finish_reason": null });
    let empty = Object::new();
    let message = member(choice, "message").unwrap_or(&empty);
    let (mut begin, mut texts) = (Object::new(), Vec::new());
    for (key, value) in message {
        let is_text = REASONING.contains(&key.as_str()) || key == "content" || key == "refusal";
        match value {
            Value::String(text) if is_text && !text.is_empty() => texts.push((key, value)),
            _ if key == "tool_calls" => {}
            _ => drop(begin.insert(key.clone(), value.clone())),
        }
    }
    // Reasoning comes before what follows from it.
    texts.sort_by_key(|(key, _)| !REASONING.contains(&key.as_str()));
    let mut pieces = Vec::new();
    // A choice that was filtered away has no message.
    if choice.contains_key("message") {
        begin.insert("role".to_owned(), "assistant".into());
        pieces.push(piece(Value::Object(begin)));
    }
    pieces.extend(texts.into_iter().map(|(key, text)| piece(json!({ key: text }))));
    let calls = elements(message, "tool_calls").iter().filter_map(Value::as_object);
    for (at, mut call) in calls.cloned().enumerate() {
        call.insert("index".to_owned(), at.into());
        pieces.push(piece(json!({ "tool_calls": [call] })));
    }
    let mut end: Object = choice.clone();
    end.remove("message");
    end.insert("index".to_owned(), index);
    end.insert("delta".to_owned(), json!({}));
    pieces.push(Value::Object(end));
    pieces
}

impl Call {
    /// Returns the call as chat completions spell it.
    pub fn to_chat(&self) -> Value {
        let (kind, arguments) = if self.kind == CallKind::Function { FUNCTION } else { CUSTOM };
        let called = json!({ "name": self.name.expose(), arguments: self.arguments.expose() });
        json!({ "id": self.id.expose(), "type": kind, kind: called })
    }

    /// Reads what [`Call::to_chat`] spells; `None` for any other form.
    pub fn of_chat(call: &Value) -> Option<Call> {
        let is_custom = call.get(CUSTOM.0).is_some();
        let ((member, arguments), kind) =
            if is_custom { (CUSTOM, CallKind::Custom) } else { (FUNCTION, CallKind::Function) };
        let text = |value: &Value| value.as_str().map(Into::into);
        let called = &call[member];
        Some(Call {
            id: text(&call["id"])?,
            name: text(&called["name"])?,
            arguments: text(&called[arguments])?,
            kind,
        })
    }
}
