//! OpenAI chat completions.

use leafgate_answer::Api;
use serde_json::{Value, json};

use super::{Body, CallResult, TeamWire, behind_system};

pub(super) struct ChatTeam;

impl TeamWire for ChatTeam {
    fn answers(&self) -> Api {
        Api::Chat
    }

    fn tool_name<'t>(&self, tool: &'t Value) -> Option<&'t str> {
        ["function", "custom"].iter().find_map(|kind| tool[kind]["name"].as_str())
    }

    fn set_system(&self, body: &mut Body, prompt: &str) {
        if let Some(messages) = body.get_mut("messages").and_then(Value::as_array_mut) {
            let at = behind_system(messages);
            messages.insert(at, json!({ "role": "system", "content": prompt }));
        }
    }

    fn refuses(&self, body: &Body) -> Option<&'static str> {
        let several = body.get("n").and_then(Value::as_f64).is_some_and(|number| number > 1.0);
        several.then_some("a team gives one answer: leave `n` out, or ask as often as you want answers")
    }

    fn said(&self, text: &str) -> Value {
        json!({ "role": "user", "content": text })
    }

    fn results(&self, results: &[CallResult<'_>], said: &[String]) -> Vec<Value> {
        let result = |(call, outcome): &CallResult<'_>| json!({ "role": "tool", "tool_call_id": call.id.expose(), "content": outcome.text.expose() });
        results.iter().map(result).chain(said.iter().map(|text| self.said(text))).collect()
    }
}
