//! OpenAI chat completions.

use leafgate_agents::ClientResult;
use leafgate_answer::Api;
use serde_json::{Value, json};

use super::super::live::PROGRESS;
use super::{Body, CallResult, TeamWire, behind_system, text};

pub(super) struct ChatTeam;

impl TeamWire for ChatTeam {
    fn answers(&self) -> Api {
        Api::Chat
    }

    fn tool_name<'t>(&self, tool: &'t Value) -> Option<&'t str> {
        ["function", "custom"].iter().find_map(|kind| tool[kind]["name"].as_str())
    }

    fn tool(&self, name: &str, description: &str, schema: Value) -> Value {
        let function = json!({ "name": name, "description": description, "parameters": schema });
        json!({ "type": "function", "function": function })
    }

    fn set_system(&self, body: &mut Body, prompt: &str) {
        if let Some(messages) = body.get_mut("messages").and_then(Value::as_array_mut) {
            let at = behind_system(messages);
            messages.insert(at, json!({ "role": "system", "content": prompt }));
        }
    }

    fn forget_progress(&self, body: &mut Body) -> bool {
        let messages = body.get_mut("messages").and_then(Value::as_array_mut).into_iter().flatten();
        let mut has_any = false;
        for message in messages.filter_map(Value::as_object_mut) {
            let of_agents = message.get("reasoning_content").and_then(Value::as_str);
            if of_agents.is_some_and(|text| text.starts_with(PROGRESS)) {
                message.remove("reasoning_content");
                has_any = true;
            }
        }
        has_any
    }

    fn refuses(&self, body: &Body) -> Option<&'static str> {
        let several = body.get("n").and_then(Value::as_f64).is_some_and(|number| number > 1.0);
        several.then_some("a team gives one answer: leave `n` out, or ask as often as you want answers")
    }

    fn said(&self, text: &str) -> Value {
        json!({ "role": "user", "content": text })
    }

    fn results(&self, results: &[CallResult<'_>], said: &[String]) -> Vec<Value> {
        let result = |result: &CallResult<'_>| json!({ "role": "tool", "tool_call_id": result.call.id.expose(), "content": result.text });
        results.iter().map(result).chain(said.iter().map(|text| self.said(text))).collect()
    }

    fn add_answered(&self, message: &Value, results: &mut Vec<ClientResult>, said: &mut Vec<String>) {
        match message["role"].as_str() {
            Some("tool") => results.push(ClientResult {
                id: message["tool_call_id"].as_str().unwrap_or_default().to_owned(),
                text: text(&message["content"]).into(),
                is_error: false,
            }),
            Some("user") => said.push(text(&message["content"])),
            _ => {}
        }
    }
}
