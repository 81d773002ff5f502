//! Anthropic Messages. Results of calls are blocks of a user's message, and roles alternate.

use leafgate_answer::Api;
use serde_json::{Value, json};

use super::{BETWEEN, TeamWire};

/// How the types of tools begin that the provider runs itself.
const OF_PROVIDER: [&str; 5] = ["web_search_", "web_fetch_", "code_execution_", "tool_search_", "mcp_"];

pub(super) static MESSAGES: TeamWire = TeamWire {
    answers: Api::Messages,
    conversation: "messages",
    // They are refused without the tools that use them.
    of_conversation: &["container", "mcp_servers"],
    tool_name: |tool| {
        let kind = tool["type"].as_str().unwrap_or_default();
        if OF_PROVIDER.iter().any(|start| kind.starts_with(start)) { None } else { tool["name"].as_str() }
    },
    set_system: |body, prompt| {
        let system = match body.remove("system") {
            Some(Value::Array(mut blocks)) => {
                blocks.push(json!({ "type": "text", "text": prompt }));
                blocks.into()
            }
            Some(Value::String(own)) if !own.is_empty() => format!("{own}{BETWEEN}{prompt}").into(),
            _ => prompt.into(),
        };
        body.insert("system".to_owned(), system);
    },
    refuses: |_| None,
    said: |text| json!({ "type": "text", "text": text }),
    result: |call, outcome| {
        json!({
            "type": "tool_result",
            "tool_use_id": call.id.expose(),
            "content": outcome.text.expose(),
            "is_error": outcome.is_error,
        })
    },
    has_blocks: true,
};
