//! A chat replay, as the chat debug view of VS Code exports it: prompts, each with its requests and calls.

use std::collections::HashMap;

use leafgate_adapt::{TurnMessage, TurnPart, named, question};
use leafgate_tree::Role;
use serde_json::{Value, json};

use super::{is_answered, messages, moment, results, with_ids};
use crate::log::RequestView;

/// The prompts so far.
#[derive(Default)]
pub(super) struct ReplayExport {
    prompts: Vec<Prompt>,
    /// Where the calls stand whose results have not come.
    open: HashMap<String, (usize, usize)>,
}

struct Prompt {
    text: String,
    session: String,
    logs: Vec<Value>,
}

impl ReplayExport {
    /// Adds a request: to the prompt before it, where it is a further round of that.
    pub(super) fn add(&mut self, request: &RequestView) {
        let messages = messages(request);
        for (id, text) in results(&messages) {
            if let Some((prompt, at)) = self.open.remove(id) {
                self.prompts[prompt].logs[at]["response"] = json!([text]);
            }
        }
        let (asked, is_round) = question(&messages);
        let is_same = |last: &Prompt| {
            last.session == request.line.session && asked.is_none_or(|asked| asked.text() == last.text)
        };
        if !is_round || !self.prompts.last().is_some_and(is_same) {
            let text = asked.map(TurnMessage::text).unwrap_or_default();
            self.prompts.push(Prompt { text, session: request.line.session.clone(), logs: Vec::new() });
        }
        let place = self.prompts.len() - 1;
        let logs = &mut self.prompts[place].logs;
        logs.push(log(request, &messages));
        let answer = request.answer.iter();
        for call in answer.flat_map(|answer| with_ids(&answer.calls, &messages)) {
            self.open.insert(call.id.clone(), (place, logs.len()));
            logs.push(json!({
                "id": call.id, "kind": "toolCall", "tool": call.name, "args": call.arguments,
                "time": moment(end(request)), "response": [],
            }));
        }
    }

    pub(super) fn json(self) -> Value {
        let entries: usize = self.prompts.iter().map(|prompt| prompt.logs.len()).sum();
        let prompts = self.prompts.into_iter().map(|Prompt { text, session, logs }| {
            json!({ "prompt": text, "session": session, "hasSeen": false, "logCount": logs.len(), "logs": logs })
        });
        let prompts: Vec<Value> = prompts.collect();
        json!({
            "exportedAt": moment(crate::schema::millis(std::time::SystemTime::now())),
            "totalPrompts": prompts.len(),
            "totalLogEntries": entries,
            "prompts": prompts,
        })
    }
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
