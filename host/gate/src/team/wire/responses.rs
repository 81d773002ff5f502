//! OpenAI Responses. What the model does is a row of items.

use leafgate_answer::{Api, CallKind};
use leafgate_api::responses::{CUSTOM, FUNCTION};
use serde_json::{Value, json};

use super::super::drive::ANSWER;
use super::{BETWEEN, TeamWire};

pub(super) static RESPONSES: TeamWire = TeamWire {
    answers: Api::Responses,
    conversation: "input",
    of_conversation: &["previous_response_id", "conversation", "prompt"],
    tool_name: |tool| {
        matches!(tool["type"].as_str(), Some("function" | "custom")).then(|| tool["name"].as_str()).flatten()
    },
    set_system: |body, prompt| {
        let own = body.get("instructions").and_then(Value::as_str).filter(|own| !own.is_empty());
        let system = own.map_or_else(|| prompt.to_owned(), |own| format!("{own}{BETWEEN}{prompt}"));
        body.insert("instructions".to_owned(), system.into());
    },
    refuses: |body| {
        let is_there = |key: &str| body.get(key).is_some_and(|value| !value.is_null());
        let own = || body["previous_response_id"].as_str().is_some_and(|id| id.starts_with(ANSWER));
        match () {
            () if body.get("background") == Some(&Value::Bool(true)) => Some(
                "a team answers while its client waits: leave `background` out, and ask for a stream where the \
                 answer takes long",
            ),
            () if is_there("conversation") => Some(
                "a team's agents have conversations of their own, which no provider keeps: send the items as \
                 `input`, without `conversation`",
            ),
            () if is_there("previous_response_id") && own() => Some(
                "a team's answers are kept by no provider, so nothing can go on from one by its name: send the \
                 whole conversation as `input`, without `previous_response_id`",
            ),
            () => None,
        }
    },
    said: |text| {
        let content = json!([{ "type": "input_text", "text": text }]);
        json!({ "type": "message", "role": "user", "content": content })
    },
    result: |call, outcome| {
        let kind = match call.kind {
            CallKind::Function => FUNCTION.result,
            CallKind::Custom => CUSTOM.result,
        };
        json!({ "type": kind, "call_id": call.id.expose(), "output": outcome.text.expose() })
    },
    has_blocks: false,
};
