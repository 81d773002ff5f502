//! OpenAI Responses.
//!
//! A stream says each text in deltas, and then repeats it whole up to three more times: as text, item
//! and response. The last word counts; what differs from the deltas is noted.

mod events;
mod said;
mod stream;
mod words;

use leafgate_api::responses::{CUSTOM, FUNCTION};
use serde_json::{Value, json};

use events::item_events;

use super::{AnswerWire, Count, LiveTerms, call_id, if_any};
use crate::event::StreamEvent;
use crate::json::{Object, member, text};
use crate::reply::{CallKind, Finish, Head, Reply};

pub(super) const WIRE: AnswerWire = AnswerWire {
    put: stream::put,
    settle: stream::fill,
    finish,
    turn: |whole| whole.get("output").and_then(Value::as_array).cloned().unwrap_or_default(),
    write,
    append,
    events,
    wrapped_in: None,
    says: |sealed| Box::new(said::ResponseReader::new(sealed)),
    answer: &["output", "error"],
    lists: false,
    names_events: false,
    repeats: true,
    names_answers: true,
    beside: &["/output", "/annotation", "/part/annotations", "/item", "/response/output"],
    list: "output",
    probabilities: Some("logprobs"),
    live: Some(LiveTerms {
        around: (2, 1),
        costs_apart: false,
        has_parts: true,
        index: "/output_index",
        content: "/delta",
        reasoning: "/delta",
    }),
    head: ["id", "model", "created_at"],
    reasons: &[("max_output_tokens", Finish::Length), ("content_filter", Finish::Filtered)],
    usage: "usage",
    counts: &[
        ("/input_tokens", Count::Input, |usage| Some(usage.input)),
        ("/input_tokens_details/cached_tokens", Count::Cached, |usage| Some(usage.cached)),
        ("/input_tokens_details/cache_write_tokens", Count::Written, |usage| if_any(usage.written)),
        ("/output_tokens", Count::Output, |usage| Some(usage.output)),
        ("/output_tokens_details/reasoning_tokens", Count::Reasoning, |usage| Some(usage.reasoning)),
        ("/total_tokens", Count::Sum, |usage| Some(usage.input.saturating_add(usage.output))),
    ],
};

fn finish(root: &Object) -> Option<Finish> {
    let why = member(root, "incomplete_details").and_then(|details| details.get("reason"));
    match text(root, "status") {
        "queued" | "in_progress" => None,
        "failed" => Some(Finish::Failed),
        "cancelled" => Some(Finish::Cancelled),
        "incomplete" => Some(WIRE.reason(why).unwrap_or(Finish::Other)),
        _ => Some(Finish::Stop),
    }
}

fn write(reply: &Reply, head: &Head) -> Value {
    let id = |kind: &str, at: usize| format!("{kind}_{}_{at}", head.id.expose());
    let mut output = Vec::new();
    if !reply.reasoning.is_empty() {
        let summary = json!([{ "type": "summary_text", "text": reply.reasoning.expose() }]);
        output.push(json!({ "id": id("rs", 0), "type": "reasoning", "summary": summary }));
    }
    if !reply.content.is_empty() {
        let said = reply.content.expose();
        let part = match reply.finish {
            Some(Finish::Refusal) => json!({ "type": "refusal", "refusal": said }),
            _ => json!({ "type": "output_text", "text": said, "annotations": [], "logprobs": [] }),
        };
        output.push(json!({
            "id": id("msg", output.len()), "type": "message", "role": "assistant", "status": "completed", "content": [part],
        }));
    }
    for (at, call) in reply.calls.iter().enumerate() {
        let (item, prefix) = match call.kind {
            CallKind::Function => (FUNCTION, "fc"),
            CallKind::Custom => (CUSTOM, "ctc"),
        };
        output.push(json!({
            "id": id(prefix, output.len()),
            "type": item.kind,
            "status": "completed",
            "call_id": call_id(call.id.expose(), at),
            "name": call.name.expose(),
            item.arguments: call.arguments.expose(),
        }));
    }
    response(reply, head, output)
}

fn append(whole: &mut Value, text: &str) -> Option<()> {
    let output = whole.get_mut("output")?.as_array_mut()?;
    let message = output.iter_mut().rev().find(|item| item["type"] == "message")?;
    let mut parts = message.get_mut("content")?.as_array_mut()?.iter_mut().rev();
    let part = parts.find(|part| part["type"] == "output_text")?;
    let said = part["text"].as_str()?;
    part["text"] = format!("{said}{text}").into();
    Some(())
}

fn events(whole: &Object, _: bool) -> Option<Vec<StreamEvent>> {
    let output = whole.get("output")?.as_array()?;
    let mut begun = whole.clone();
    for (key, value) in [("status", json!("in_progress")), ("output", json!([])), ("usage", Value::Null)] {
        begun.insert(key.to_owned(), value);
    }
    for key in ["error", "incomplete_details", "completed_at"] {
        if let Some(value) = begun.get_mut(key) {
            *value = Value::Null;
        }
    }
    let mut events = vec![
        json!({ "type": "response.created", "response": begun }),
        json!({ "type": "response.in_progress", "response": begun }),
    ];
    for (at, item) in output.iter().enumerate() {
        item_events(at, item.as_object()?, &mut events);
    }
    let end = match text(whole, "status") {
        "incomplete" => "response.incomplete",
        "failed" | "cancelled" => "response.failed",
        _ => "response.completed",
    };
    events.push(json!({ "type": end, "response": whole }));
    for (at, event) in events.iter_mut().enumerate() {
        event["sequence_number"] = at.into();
    }
    Some(events.into_iter().map(StreamEvent::typed).collect())
}

/// A response around its items, with what SDKs demand of one.
fn response(reply: &Reply, head: &Head, output: Vec<Value>) -> Value {
    let (status, why) = match reply.finish {
        Some(Finish::Length) => ("incomplete", json!({ "reason": "max_output_tokens" })),
        Some(Finish::Filtered) => ("incomplete", json!({ "reason": "content_filter" })),
        Some(Finish::Failed) => ("failed", Value::Null),
        Some(Finish::Cancelled) => ("cancelled", Value::Null),
        Some(Finish::Stop | Finish::Calls | Finish::Refusal | Finish::Paused | Finish::Other) => {
            ("completed", Value::Null)
        }
        None => ("in_progress", Value::Null),
    };
    json!({
        "id": head.id.expose(),
        "object": "response",
        "created_at": head.created,
        "status": status,
        "error": null,
        "incomplete_details": why,
        "instructions": null,
        "max_output_tokens": null,
        "metadata": {},
        "model": head.model.expose(),
        "output": output,
        "parallel_tool_calls": true,
        "previous_response_id": null,
        "store": false,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "usage": reply.usage.map(|usage| WIRE.write_usage(usage)),
    })
}
