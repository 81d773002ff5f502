//! OpenAI chat completions.

use leafgate_agents::ClientResult;
use leafgate_answer::Api;
use serde_json::{Value, json};

use super::super::live::PROGRESS;
use super::{Answered, Body, CallResult, Wire, joined, text};

pub(super) struct Chat;

impl Wire for Chat {
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
            let at = self.behind_system(messages);
            messages.insert(at, json!({ "role": "system", "content": prompt }));
        }
    }

    fn conversation(&self) -> &'static str {
        "messages"
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

    fn opening(&self, body: &Body) -> Vec<Value> {
        body.get("messages").and_then(Value::as_array).cloned().unwrap_or_default()
    }

    fn behind_system(&self, opening: &[Value]) -> usize {
        let is_system = |message: &&Value| matches!(message["role"].as_str(), Some("system" | "developer"));
        opening.iter().take_while(is_system).count()
    }

    fn said(&self, text: &str) -> Value {
        json!({ "role": "user", "content": text })
    }

    fn results(&self, results: &[CallResult<'_>], said: &[String]) -> Vec<Value> {
        let result = |result: &CallResult<'_>| json!({ "role": "tool", "tool_call_id": result.call.id.expose(), "content": result.text });
        results.iter().map(result).chain(said.iter().map(|text| self.said(text))).collect()
    }

    fn answered(&self, body: &Body) -> Answered {
        let messages = body.get("messages").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let after =
            messages.iter().rposition(|message| message["role"] == "assistant").map_or(0, |at| at + 1);
        let (mut results, mut said) = (Vec::new(), Vec::new());
        for message in &messages[after..] {
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
        Answered { results, said: joined(said) }
    }
}
