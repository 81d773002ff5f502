//! The tools of an agent: those of the client that it may use, and those that the gate runs.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::prompt::DelegationTarget;
use crate::team::Agent;

/// The names of tools, in the order in which a client offers them.
pub type ToolNames = Arc<[Arc<str>]>;

/// Gives work to another agent.
pub const DELEGATE_WORK: &str = "delegateWork";

/// Ends delegated work.
pub const REPORT_OUT: &str = "reportOut";

/// Returns the JSON Schema of the arguments of [`DELEGATE_WORK`], and what the tool does.
pub fn delegate_work(targets: &[DelegationTarget]) -> (&'static str, Value) {
    let names: Vec<&str> = targets.iter().map(|target| target.name.as_str()).collect();
    let text = |description: &str| json!({ "type": "string", "description": description });
    let schema = json!({
        "type": "object",
        "properties": {
            "agentName": { "type": "string", "enum": names, "description": "The agent that gets the work" },
            "workDescription": text("What is to be done, with all that the agent must know"),
            "reportExpectations": text("What the report must say"),
        },
        "required": ["agentName", "workDescription", "reportExpectations"],
        "additionalProperties": false,
    });
    ("Delegates work to another agent and returns its report.", schema)
}

/// Returns the JSON Schema of the arguments of [`REPORT_OUT`], and what the tool does.
pub fn report_out() -> (&'static str, Value) {
    let schema = json!({
        "type": "object",
        "properties": { "report": { "type": "string", "description": "What you did and found" } },
        "required": ["report"],
        "additionalProperties": false,
    });
    ("Ends your work and gives your report to the agent that delegated it.", schema)
}

impl Agent {
    /// Returns the tools that it has among those that a client offers, in their order. The client's tools that
    /// are named like the gate's own are nobody's: a model could not tell them apart.
    pub fn tools_among(&self, offered: &ToolNames) -> ToolNames {
        let own = |tool: &str| tool == DELEGATE_WORK || tool == REPORT_OUT;
        offered.iter().filter(|tool| !own(tool) && self.tools.allows(tool)).cloned().collect()
    }
}
