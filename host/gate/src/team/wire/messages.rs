//! Anthropic Messages. Results of calls are blocks of a user's message, and roles alternate.

use leafgate_answer::Api;
use serde_json::{Value, json};

use super::{BETWEEN, Body, CallResult, TeamWire};

/// How the types of tools begin that the provider runs itself.
const OF_PROVIDER: [&str; 5] = ["web_search_", "web_fetch_", "code_execution_", "tool_search_", "mcp_"];

pub(super) struct MessagesTeam;

impl TeamWire for MessagesTeam {
    fn answers(&self) -> Api {
        Api::Messages
    }

    fn tool_name<'t>(&self, tool: &'t Value) -> Option<&'t str> {
        let kind = tool["type"].as_str().unwrap_or_default();
        if OF_PROVIDER.iter().any(|start| kind.starts_with(start)) { None } else { tool["name"].as_str() }
    }

    fn set_system(&self, body: &mut Body, prompt: &str) {
        let system = match body.remove("system") {
            Some(Value::Array(mut blocks)) => {
                blocks.push(json!({ "type": "text", "text": prompt }));
                blocks.into()
            }
            Some(Value::String(own)) if !own.is_empty() => format!("{own}{BETWEEN}{prompt}").into(),
            _ => prompt.into(),
        };
        body.insert("system".to_owned(), system);
    }

    fn said(&self, text: &str) -> Value {
        json!({ "role": "user", "content": [{ "type": "text", "text": text }] })
    }

    fn results(&self, results: &[CallResult<'_>], said: &[String]) -> Vec<Value> {
        let result = |(call, outcome): &CallResult<'_>| {
            json!({
                "type": "tool_result",
                "tool_use_id": call.id.expose(),
                "content": outcome.text.expose(),
                "is_error": outcome.is_error,
            })
        };
        let texts = said.iter().map(|text| json!({ "type": "text", "text": text }));
        let blocks: Vec<Value> = results.iter().map(result).chain(texts).collect();
        vec![json!({ "role": "user", "content": blocks })]
    }

    /// They are refused without the tools that use them.
    fn of_conversation(&self) -> &'static [&'static str] {
        &["container", "mcp_servers"]
    }
}
