//! Teams of agents behind one conversation.
//!
//! - [`Team::read`]: a file with agents → a compiled [`Team`] and its [`Warning`]s.
//! - [`Run`]: one request to a team, as a state machine. It takes events (a model answered, the
//!   client's tools answered, time passed, the client is gone) and returns [`RunEffect`]s (ask a model,
//!   give calls to the client, finish). The gate carries them out.
//! - [`Runs`]: the runs that wait for their clients, bounded in number, bytes and time.
//! - [`CallKey`]: ids of calls that only their own client can answer.
//!
//! ```text
//!  start ─► entry frame: ask ─► reply without calls ─────────────────────────────► finish
//!                         ▲        │ with calls
//!                         │        ├─ delegateWork ─► delegated frame: ask ─► … ─► reportOut
//!                         │        ├─ reportOut of a delegated frame: its report is the result
//!                         │        └─ a tool of the client ─► the client, once no model is asked
//!                         └── every call has its result, in call order
//! ```
//!
//! ```
//! use std::sync::Arc;
//! use leafgate_agents::{CallKey, ModelTurn, Opening, Run, RunEffect, RunId, RunLimits, Team, Tick};
//! use leafgate_answer::Reply;
//!
//! let file = r#"{ "entryAgent": "lead", "agents": [{
//!     "name": "lead", "systemPrompt": "Lead.", "description": "", "useFor": "All",
//!     "delegationPermissions": { "type": "all" }, "toolPermissions": { "type": "all" } }] }"#;
//! let (team, _warnings) = Team::read(file)?;
//!
//! let opening = Opening { id: RunId(1), model: None, tools: Arc::from([]), bytes: 0 };
//! let key = CallKey::from_bytes([0; 32]).client(b"session");
//! let now = Tick::from_millis(0);
//! let (mut run, effects) = Run::start(Arc::new(team), None, opening, key, RunLimits::default(), now)?;
//! let RunEffect::Ask { request, .. } = effects[0] else { unreachable!() };
//!
//! let reply = Reply { content: "Done.".into(), ..Reply::default() };
//! let effects = run.replied(request, ModelTurn { reply, turn: Arc::from([]) }, now)?;
//! assert_eq!(effects, [RunEffect::Finish]);
//! assert_eq!(run.result().final_response.expose(), "Done.");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What it promises:
//!
//! - **A run ends**, within [`RunLimits`] and the team's own caps, whatever models answer.
//! - **No name stands twice in a chain.** Who delegates to somebody above is told so.
//! - **Each call is answered exactly once**, in call order, by a result or an error in words.
//! - **Nothing runs after `reportOut`** of its frame.
//! - **A client reaches only its own frames**: ids of calls are authenticated and bound to it.
//! - **Configuration puts no words into a prompt** but those of its own line.
//! - No error, event or `Debug` holds a text of a conversation.
//!
//! What it must not do: I/O, read a clock, wait, know HTTP or the bodies of an API. Time comes with
//! each event, the key of the ids from outside.
//!
//! A client gets one answer to a request, so it is answered only when no model is asked: then the calls
//! of all frames leave together. While it runs them, no deadline of the run goes on.

mod error;
mod file;
mod limits;
mod mark;
mod name;
mod prompt;
mod run;
mod runs;
mod team;
mod tools;

pub use leafgate_admin::AgentEventKind;

/// A moment: how long after a start that the caller chooses. It must not run backwards.
pub type Tick = std::time::Duration;

pub use error::{AgentError, ErrorKind};
pub use file::{FileError, Problem, Warning, as_vscode_writes};
pub use limits::RunLimits;
pub use mark::{CallKey, CallMark, ClientKey, DELEGATED, RunId, is_delegated};
pub use name::{AgentName, BadAgentName};
pub use prompt::{DelegationTarget, escaped, section};
pub use run::{
    AgentLoopResult, CallOutcome, ClientCall, ClientResult, Degraded, Frame, FrameId, FrameState, Happened,
    Message, ModelTurn, Opening, RequestId, Run, RunEffect, RunEffects, RunError, Why,
};
pub use runs::{Runs, RunsLimits};
pub use team::{Agent, Permission, SystemAs, Team, TeamSettings};
pub use tools::{DELEGATE_WORK, REPORT_OUT, ToolNames, delegate_work, report_out};
