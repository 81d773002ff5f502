//! The team of a gate and its runs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::request::RawJson;

/// The team and its latest runs.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentsView {
    /// The agent that requests begin at; nothing in a gate without a team.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
    /// The agents, in the order of their file.
    pub agents: Vec<String>,
    /// What is wrong with the file, or hardly meant.
    pub warnings: Vec<String>,
    /// The latest runs, newest first, without what they came to.
    pub runs: Vec<RunView>,
}

/// The team of a gate in a few words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TeamStatus {
    /// The agent that requests begin at; nothing in a team without agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
    /// How many agents there are.
    pub agents: usize,
    /// What is wrong with the file, or hardly meant.
    pub warnings: Vec<String>,
}

/// A run.
#[skip_serializing_none]
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunView {
    /// Its id.
    pub id: String,
    /// When it began, in milliseconds of Unix time.
    pub at: u64,
    /// Where it is.
    pub state: RunState,
    /// With what it makes do, where it does: `direct-chat`, `single-agent`.
    pub degraded: Option<String>,
    /// Its frames, in the order in which they began.
    pub frames: Vec<FrameView>,
    /// What the entry came to so far, all findings masked; known where the run waits or is over.
    pub result: Option<RawJson>,
}

/// Where a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum RunState {
    /// Models are asked.
    Running,
    /// The client runs tools.
    Waiting,
    /// It is over.
    Finished,
    /// Its client went away.
    Gone,
    /// Its client did not come back in time, or there was no room for it any more.
    Forgotten,
}

/// One agent's part in a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FrameView {
    /// The agent.
    pub agent: String,
    /// The agents from the entry to this one.
    pub chain: Vec<String>,
    /// The number of the frame that delegated to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<u32>,
    /// Where it is.
    pub state: FrameState,
    /// How often a model was asked for it.
    pub iterations: u32,
}

/// Where a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum FrameState {
    /// It will ask, as soon as fewer others do.
    Queued,
    /// A model is asked.
    Asking,
    /// Calls of its last answer have no results yet.
    Waiting,
    /// It is over.
    Ended,
}

/// Something that happened in a run. It has names of the team and of tools, and no text.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentEvent {
    /// The run.
    pub run: String,
    /// What.
    pub kind: AgentEventKind,
    /// The agent that it happened to.
    pub agent: Option<String>,
    /// To whom work was delegated, or with what the run makes do.
    pub to: Option<String>,
    /// The kind of an error, in the words of the team's document.
    pub error: Option<String>,
    /// The tools that were withheld, the first of them, or the one whose call was refused, where the client or the gate
    /// offers it; masked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
}

/// What happened in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum AgentEventKind {
    /// Work was delegated.
    Delegated,
    /// An agent reported.
    Reported,
    /// A call was answered with an error and nothing was run.
    Refused,
    /// An agent did not come to its end.
    Failed,
    /// Tools of the client were withheld from an agent.
    Withheld,
    /// The run goes on with less.
    Degraded,
}
