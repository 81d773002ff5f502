//! A chat replay, as the chat debug view of VS Code exports it: prompts, each with its requests and calls.

use leafgate_adapt::{TurnMessage, TurnPart, named};
use leafgate_tree::Role;
use serde_json::{Value, json};

use super::questions::{ExportQuestion, Questions};
use super::{is_answered, messages, moment, with_ids};
use crate::log::RequestView;

/// Adds a request: to the prompt before it, where it is a further round of that.
pub(super) fn add(questions: &mut Questions, request: &RequestView) {
    let messages = messages(request);
    let prompt = questions.take(&request.line, &messages, |call, result| call["response"] = json!([result]));
    prompt.parts.push(log(request, &messages));
    let calls = request.answer.iter().flat_map(|answer| with_ids(&answer.calls, &messages));
    for call in calls {
        let part = json!({
            "id": call.id, "kind": "toolCall", "tool": call.name, "args": call.arguments,
            "time": moment(end(request)), "response": [],
        });
        questions.call(call.id, part);
    }
}

pub(super) fn json(questions: Questions) -> Value {
    let entries: usize = questions.all.iter().map(|prompt| prompt.parts.len()).sum();
    let prompts = questions.all.into_iter().map(|ExportQuestion { text, session, parts, .. }| {
        json!({ "prompt": text, "session": session, "hasSeen": false, "logCount": parts.len(), "logs": parts })
    });
    let prompts: Vec<Value> = prompts.collect();
    json!({
        "exportedAt": moment(crate::schema::millis(std::time::SystemTime::now())),
        "totalPrompts": prompts.len(),
        "totalLogEntries": entries,
        "prompts": prompts,
    })
}

/// When its answer ended, in milliseconds of Unix time.
fn end(request: &RequestView) -> i64 {
    request.line.at + request.line.answer_ms.unwrap_or(0)
}

fn log(request: &RequestView, messages: &[TurnMessage]) -> Value {
    let RequestView { line, answer, .. } = request;
    let is_answered = is_answered(line);
    let failure = answer.as_ref().and_then(|answer| answer.failure.as_deref());
    json!({
        "id": line.id.to_string(),
        "kind": "request",
        "type": if is_answered { "ChatMLSuccess" } else { "ChatMLFailure" },
        "name": format!("{}/{}", line.agent, line.class),
        "metadata": {
            "requestType": line.api, "model": line.model, "startTime": moment(line.at),
            "endTime": moment(end(request)), "duration": line.answer_ms, "timeToFirstToken": line.head_ms,
            "ourRequestId": line.id.to_string(),
            "usage": {
                "prompt_tokens": line.input_tokens, "completion_tokens": line.output_tokens,
                "prompt_tokens_details": { "cached_tokens": line.cached_tokens },
            },
        },
        "requestMessages": { "messages": messages.iter().map(raw).collect::<Vec<_>>() },
        "response": {
            "type": if is_answered { "success" } else { "failed" },
            "reason": failure.filter(|_| !is_answered),
            "message": answer.iter().map(|answer| answer.content.as_str()).collect::<Vec<_>>(),
        },
    })
}

/// Returns a message as `Raw.ChatMessage` (`rawTypes.ts` of prompt-tsx).
fn raw(message: &TurnMessage) -> Value {
    let role = match message.role {
        Role::System => 0,
        Role::User | Role::Other => 1,
        Role::Assistant => 2,
        Role::Tool => 3,
    };
    let content: Vec<Value> = message.parts.iter().map(part).collect();
    let mut raw = json!({ "role": role, "content": content });
    if !message.calls.is_empty() {
        raw["toolCalls"] = message.calls.iter().map(|call| call.to_chat()).collect();
    }
    if let Some(id) = &message.call_id {
        raw["toolCallId"] = json!(id);
    }
    raw
}

fn part(part: &TurnPart) -> Value {
    match part {
        TurnPart::Text(text) => json!({ "type": 1, "text": text }),
        TurnPart::Other(kind) => json!({ "type": 1, "text": named(*kind) }),
        TurnPart::Thought(text) => {
            json!({ "type": 2, "value": { "type": "thinking", "thinking": { "text": text } } })
        }
        TurnPart::Image { url, detail: Some(detail) } => {
            json!({ "type": 0, "imageUrl": { "url": url, "detail": detail } })
        }
        TurnPart::Image { url, detail: None } => json!({ "type": 0, "imageUrl": { "url": url } }),
    }
}
