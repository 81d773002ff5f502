//! The tools of an agent: those of the client that it may use, and those that the gate runs.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::name::AgentName;
use crate::prompt::DelegationTarget;
use crate::team::Agent;

/// The names of tools, in the order in which a client offers them.
pub type ToolNames = Arc<[Arc<str>]>;

/// Gives work to another agent.
pub const DELEGATE_WORK: &str = "delegateWork";

/// Ends delegated work.
pub const REPORT_OUT: &str = "reportOut";

/// Lists of tools that are remembered. A client hardly ever changes its own.
const REMEMBERED: usize = 256;

/// Returns the JSON Schema of the arguments of [`DELEGATE_WORK`], and what the tool does.
#[must_use]
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
#[must_use]
pub fn report_out() -> (&'static str, Value) {
    let schema = json!({
        "type": "object",
        "properties": { "report": { "type": "string", "description": "What you did and found" } },
        "required": ["report"],
        "additionalProperties": false,
    });
    ("Ends your work and gives your report to the agent that delegated it.", schema)
}

/// The client's tools that an agent has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filtered {
    /// Those that it has, in the client's order.
    pub allowed: ToolNames,
    /// How many it has not.
    pub denied: usize,
}

/// Says which tools an agent has, and remembers it for each agent and list of tools.
#[derive(Debug, Default)]
pub struct ToolFilter {
    known: HashMap<(AgentName, ToolNames), Filtered>,
    asked: u64,
    computed: u64,
}

impl ToolFilter {
    /// Returns the tools of an agent among those that the client offers. The client's tools that are
    /// named like the gate's own are nobody's: a model could not tell them apart.
    ///
    /// One filter serves one team: another team may mean another agent by the same name.
    pub fn filter(&mut self, agent: &Agent, offered: &ToolNames) -> Filtered {
        self.asked += 1;
        let key = (agent.name.clone(), offered.clone());
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        self.computed += 1;
        let own = |tool: &str| tool == DELEGATE_WORK || tool == REPORT_OUT;
        let allowed: ToolNames =
            offered.iter().filter(|tool| !own(tool) && agent.tools.allows(tool)).cloned().collect();
        let filtered = Filtered { denied: offered.len() - allowed.len(), allowed };
        if self.known.len() >= REMEMBERED {
            self.known.clear();
        }
        self.known.insert(key, filtered.clone());
        filtered
    }

    /// How often it was asked, and how often it had to look.
    #[must_use]
    pub fn counts(&self) -> (u64, u64) {
        (self.asked, self.computed)
    }
}
