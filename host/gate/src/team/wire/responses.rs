//! OpenAI Responses. What the model does is a row of items.

use leafgate_agents::ClientResult;
use leafgate_answer::{Api, CallKind};
use leafgate_api::responses::{CUSTOM, FUNCTION, is_call, is_result};
use serde_json::{Value, json};

use super::super::drive::ANSWER;
use super::super::live::PROGRESS;
use super::{BETWEEN, Body, CallResult, TeamWire, leave_out, text};

pub(super) struct ResponsesTeam;

impl TeamWire for ResponsesTeam {
    fn answers(&self) -> Api {
        Api::Responses
    }

    fn tool_name<'t>(&self, tool: &'t Value) -> Option<&'t str> {
        matches!(tool["type"].as_str(), Some("function" | "custom")).then(|| tool["name"].as_str()).flatten()
    }

    fn tool(&self, name: &str, description: &str, schema: Value) -> Value {
        json!({
            "type": "function",
            "name": name,
            "description": description,
            "parameters": schema,
            "strict": false,
        })
    }

    fn set_system(&self, body: &mut Body, prompt: &str) {
        let own = body.get("instructions").and_then(Value::as_str).filter(|own| !own.is_empty());
        let system = own.map_or_else(|| prompt.to_owned(), |own| format!("{own}{BETWEEN}{prompt}"));
        body.insert("instructions".to_owned(), system.into());
    }

    fn conversation(&self) -> &'static str {
        "input"
    }

    fn forget_progress(&self, body: &mut Body) -> bool {
        // Some clients send reasoning without its id.
        let is_told = |item: &Value| {
            let text = item.pointer("/summary/0/text").and_then(Value::as_str);
            let of_agents = text.is_some_and(|text| text.starts_with(PROGRESS));
            let id = item["id"].as_str().and_then(|id| id.strip_prefix("rs_"));
            item["type"] == "reasoning" && (of_agents || id.is_some_and(|id| id.starts_with(ANSWER)))
        };
        leave_out(body.get_mut("input").and_then(Value::as_array_mut), is_told)
    }

    fn said(&self, text: &str) -> Value {
        let content = json!([{ "type": "input_text", "text": text }]);
        json!({ "type": "message", "role": "user", "content": content })
    }

    fn results(&self, results: &[CallResult<'_>], said: &[String]) -> Vec<Value> {
        let result = |result: &CallResult<'_>| {
            let kind = match result.call.kind {
                CallKind::Function => FUNCTION.result,
                CallKind::Custom => CUSTOM.result,
            };
            json!({ "type": kind, "call_id": result.call.id.expose(), "output": result.text })
        };
        results.iter().map(result).chain(said.iter().map(|text| self.said(text))).collect()
    }

    fn is_of_model(&self, item: &Value) -> bool {
        let kind = item["type"].as_str().unwrap_or("message");
        item["role"] == "assistant" || kind == "reasoning" || is_call(kind)
    }

    fn add_answered(&self, item: &Value, results: &mut Vec<ClientResult>, said: &mut Vec<String>) {
        match item["type"].as_str() {
            Some(kind) if is_result(kind) => results.push(ClientResult {
                id: item["call_id"].as_str().unwrap_or_default().to_owned(),
                text: text(&item["output"]).into(),
                is_error: false,
            }),
            _ if item["role"] == "user" => said.push(text(&item["content"])),
            _ => {}
        }
    }

    fn refuses(&self, body: &Body) -> Option<&'static str> {
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
    }

    fn of_conversation(&self) -> &'static [&'static str] {
        &["previous_response_id", "conversation", "prompt"]
    }
}
