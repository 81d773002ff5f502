//! A model that has an agent of its client do the work, as Claude Code and Codex offer it.

use serde_json::{Value, json};

use super::{CALL, Call, DONE, Turn};

/// The word of a person at which the model delegates; what it asks of the agent does not hold it.
const ASKED: &str = "DELEGATE";

/// What it asks of the agent.
const WORK: &str = "Count the files";

/// The group of Codex's tools for agents.
const CODEX: &str = "multi_agent_v1";

/// Returns what the model does: it calls an agent, waits for it where that is a call too, and is done.
pub(super) fn turn(body: &Value) -> Turn {
    let said = format!("{}{}", body["messages"], body["input"]);
    let tools = || body["tools"].as_array().into_iter().flatten().filter_map(|tool| tool["name"].as_str());
    let offers = |names: &[&str]| tools().find(|tool| names.contains(tool)).map(str::to_owned);
    if !said.contains(ASKED) {
        return Turn::Says(DONE.to_owned());
    }
    if let Some(tool) = offers(&["Agent", "Task"]).filter(|_| !said.contains("tool_result")) {
        let asks =
            json!({ "description": "count files", "prompt": WORK, "subagent_type": "general-purpose" });
        return Turn::Calls(Call { id: CALL, group: None, tool, arguments: asks.to_string() });
    }
    let codex = |id, tool: &str, arguments: Value| {
        Turn::Calls(Call { id, group: Some(CODEX), tool: tool.to_owned(), arguments: arguments.to_string() })
    };
    match offers(&[CODEX]) {
        Some(_) if !said.contains("function_call") => codex(CALL, "spawn_agent", json!({ "message": WORK })),
        Some(_) if !said.contains("wait_agent") => {
            let waits = json!({ "targets": [agent(&said)], "timeout_ms": 10_000 });
            codex("call_kit_2", "wait_agent", waits)
        }
        _ => Turn::Says(DONE.to_owned()),
    }
}

/// The id of the agent that was started, as the result of the call says it.
fn agent(said: &str) -> &str {
    let behind = said.split_once("agent_id").map_or("", |(_, behind)| behind);
    let id = behind.trim_start_matches(|c: char| !c.is_ascii_hexdigit());
    id.split(|c: char| !c.is_ascii_hexdigit() && c != '-').next().unwrap_or_default()
}
