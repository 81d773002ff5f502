//! A chat that VS Code imports, `chat.json`: the questions of a person, each with all that answered it.

use std::collections::HashMap;

use leafgate_adapt::{TurnMessage, question};
use serde_json::{Value, json};

use super::{is_answered, messages, results, with_ids};
use crate::log::{RequestLine, RequestView};

/// `ResponseModelState` of VS Code.
#[derive(Clone, Copy)]
enum ModelState {
    Pending = 0,
    Complete = 1,
    Cancelled = 2,
    Failed = 3,
}

/// The turns so far.
#[derive(Default)]
pub(super) struct ChatExport {
    agent: String,
    turns: Vec<ChatTurn>,
    /// Where the calls stand whose results have not come.
    open: HashMap<String, (usize, usize)>,
}

struct ChatTurn {
    text: String,
    /// What is known when it is asked.
    asked: Value,
    parts: Vec<Value>,
    /// How it ended, by its last request.
    ended: Value,
}

impl ChatExport {
    /// Adds a request: to the turn before it, where it is a further round of that. What no person asked
    /// is left out.
    pub(super) fn add(&mut self, request: &RequestView) {
        let RequestView { line, answer, .. } = request;
        if line.class != "main" {
            return;
        }
        self.agent.clone_from(&line.agent);
        let messages = messages(request);
        for (id, text) in results(&messages) {
            if let Some((turn, at)) = self.open.remove(id) {
                self.turns[turn].parts[at]["result"] = json!(text);
            }
        }
        let (asked, is_round) = question(&messages);
        let is_same = |last: &ChatTurn| asked.is_none_or(|asked| asked.text() == last.text);
        if !is_round || !self.turns.last().is_some_and(is_same) {
            self.turns.push(ChatTurn::new(line, asked));
        }
        let place = self.turns.len() - 1;
        let turn = &mut self.turns[place];
        if let Some(answer) = answer {
            let said =
                |kind: &str, text: &str| (!text.is_empty()).then(|| json!({ "kind": kind, "value": text }));
            turn.parts.extend(said("thinking", &answer.reasoning));
            let content = (!answer.content.is_empty()).then_some(&answer.content);
            turn.parts.extend(
                content.map(|text| json!({ "kind": "markdownContent", "content": { "value": text } })),
            );
            for call in with_ids(&answer.calls, &messages) {
                self.open.insert(call.id.clone(), (place, turn.parts.len()));
                turn.parts.push(json!({
                    "kind": "toolInvocationSerialized", "toolId": call.name, "toolCallId": call.id,
                    "invocationMessage": format!("{} {}", call.name, call.arguments).trim_end(),
                }));
            }
        }
        turn.ended = ended(request, turn.asked["timestamp"].as_i64().unwrap_or(line.at));
    }

    pub(super) fn json(self) -> Value {
        let turns = self.turns.into_iter().map(|ChatTurn { asked, parts, ended, .. }| {
            let mut turn = asked;
            turn["response"] = Value::Array(parts);
            for (key, value) in ended.as_object().into_iter().flatten() {
                turn[key] = value.clone();
            }
            turn
        });
        json!({
            // Early versions want both names.
            "requesterUsername": "you", "responderUsername": self.agent,
            "initialLocation": "panel", "requests": turns.collect::<Vec<_>>(),
        })
    }
}

impl ChatTurn {
    fn new(line: &RequestLine, asked: Option<&TurnMessage>) -> Self {
        let text = asked.map(TurnMessage::text).unwrap_or_default();
        let images = asked.into_iter().flat_map(TurnMessage::images).zip(1..).map(|(url, number)| {
            json!({ "kind": "image", "id": format!("image_{}_{number}", line.id),
                "name": format!("image {number}"), "value": url })
        });
        let asked = json!({
            "requestId": format!("request_{}", line.id),
            "message": { "text": text, "parts": [{ "kind": "text", "text": text,
                "range": { "start": 0, "endExclusive": text.encode_utf16().count() },
                "editorRange": editor_range(&text) }] },
            "variableData": { "variables": images.collect::<Vec<_>>() },
            "responseId": format!("response_{}", line.id),
            "timestamp": line.at,
            "modelId": line.model,
        });
        ChatTurn { text, asked, parts: Vec::new(), ended: json!({}) }
    }
}

/// The lines and columns of a text, from 1, in UTF-16 units; the end lies behind its last one.
fn editor_range(text: &str) -> Value {
    let last = text.rsplit('\n').next().unwrap_or_default();
    json!({
        "startLineNumber": 1, "startColumn": 1,
        "endLineNumber": text.matches('\n').count() + 1, "endColumn": last.encode_utf16().count() + 1,
    })
}

/// How a turn ended that began then.
fn ended(request: &RequestView, began: i64) -> Value {
    let RequestView { line, answer, .. } = request;
    let state = state(line);
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
    json!({
        "modelState": { "value": state as u8, "completedAt": end },
        "timeSpentWaiting": line.waiting_ms,
        "result": result,
    })
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
