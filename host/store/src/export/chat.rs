//! A chat that VS Code imports, `chat.json`: the questions of a person, each with all that answered it.

use leafgate_adapt::{TurnMessage, question};
use serde_json::{Value, json};

use super::questions::{ExportQuestion, Questions};
use super::{is_answered, messages, with_ids};
use crate::lists::RequestLine;
use crate::log::RequestView;

/// `ResponseModelState` of VS Code.
#[derive(Clone, Copy)]
enum ModelState {
    Pending = 0,
    Complete = 1,
    Cancelled = 2,
    Failed = 3,
}

/// Adds a request: to the turn before it, where it is a further round of that. What no person asked
/// is left out.
pub(super) fn add(questions: &mut Questions, request: &RequestView) {
    let RequestView { line, answer, .. } = request;
    if line.class != "main" {
        return;
    }
    let messages = messages(request);
    let turn = questions.take(line, &messages, |call, result| call["result"] = result.into());
    if turn.head.is_null() {
        turn.head = asked(line, &turn.text, question(&messages).0);
    }
    end(&mut turn.head, request);
    let Some(answer) = answer else { return };
    if !answer.reasoning.is_empty() {
        turn.parts.push(json!({ "kind": "thinking", "value": answer.reasoning }));
    }
    if !answer.content.is_empty() {
        turn.parts.push(json!({ "kind": "markdownContent", "content": { "value": answer.content } }));
    }
    for call in with_ids(&answer.calls, &messages) {
        let part = json!({
            "kind": "toolInvocationSerialized", "toolId": call.name, "toolCallId": call.id,
            "invocationMessage": format!("{} {}", call.name, call.arguments).trim_end(),
        });
        questions.call(call.id, part);
    }
}

pub(super) fn json(questions: Questions) -> Value {
    let turns = questions.all.into_iter().map(|ExportQuestion { mut head, parts, .. }| {
        head["response"] = parts.into();
        head
    });
    json!({
        // Early versions want both names.
        "requesterUsername": "you", "responderUsername": questions.agent,
        "initialLocation": "panel", "requests": turns.collect::<Vec<_>>(),
    })
}

/// What is known of a turn when it is asked.
fn asked(line: &RequestLine, text: &str, asked: Option<&TurnMessage>) -> Value {
    let images = asked.into_iter().flat_map(TurnMessage::images).zip(1..).map(|(url, number)| {
        json!({ "kind": "image", "id": format!("image_{}_{number}", line.id),
            "name": format!("image {number}"), "value": url })
    });
    json!({
        "requestId": format!("request_{}", line.id),
        "message": { "text": text, "parts": [{ "kind": "text", "text": text,
            "range": { "start": 0, "endExclusive": text.encode_utf16().count() },
            "editorRange": editor_range(text) }] },
        "variableData": { "variables": images.collect::<Vec<_>>() },
        "responseId": format!("response_{}", line.id),
        "timestamp": line.at,
        "modelId": line.model,
    })
}

/// The lines and columns of a text, from 1, in UTF-16 units; the end lies behind its last one.
fn editor_range(text: &str) -> Value {
    let last = text.rsplit('\n').next().unwrap_or_default();
    json!({
        "startLineNumber": 1, "startColumn": 1,
        "endLineNumber": text.matches('\n').count() + 1, "endColumn": last.encode_utf16().count() + 1,
    })
}

/// Says of a turn how it ended.
fn end(turn: &mut Value, request: &RequestView) {
    let RequestView { line, answer, .. } = request;
    let state = state(line);
    let began = turn["timestamp"].as_i64().unwrap_or(line.at);
    let end = line.answer_ms.map(|millis| line.at + millis);
    let mut result = json!({
        "timings": { "firstProgress": line.head_ms, "totalElapsed": end.unwrap_or(line.at) - began },
    });
    let failure = answer.as_ref().and_then(|answer| answer.failure.clone());
    let error = match state {
        ModelState::Pending | ModelState::Complete => None,
        ModelState::Cancelled => Some(json!({ "message": line.verdict, "code": "canceled" })),
        ModelState::Failed => {
            let message = failure.unwrap_or_else(|| match line.status {
                Some(status) if !is_answered(line) => format!("the upstream answered with status {status}"),
                Some(_) => "the answer broke off".to_owned(),
                None => line.verdict.clone(),
            });
            Some(json!({ "message": message, "responseIsIncomplete": line.answer == "broken" }))
        }
    };
    if let Some(error) = error {
        result["errorDetails"] = error;
    }
    turn["modelState"] = json!({ "value": state as u8, "completedAt": end });
    turn["timeSpentWaiting"] = json!(line.waiting_ms);
    turn["result"] = result;
}

fn state(line: &RequestLine) -> ModelState {
    match (line.verdict.trim_start_matches("leafgate_"), &*line.answer) {
        ("cancelled" | "replaced" | "abandoned", _) => ModelState::Cancelled,
        (_, "open") => ModelState::Pending,
        (_, "complete" | "unread") if is_answered(line) => ModelState::Complete,
        _ if line.ruled.as_deref() == Some("abandoned") => ModelState::Cancelled,
        _ => ModelState::Failed,
    }
}
