//! The types of the admin API: its requests and answers, as JSON in camelCase.
//!
//! The gate serves the API on a listener of its own. The approval prompt and the command line call
//! it. Nothing here does I/O. Every text in an answer is what would leave: findings are redacted
//! before anything is put into these types, and no field can hold a redacted value but the one of
//! [`Revealed`]. Texts still
//! hold control characters, which the printer must show as visible text.
//!
//! [`AdminCall`] declares the calls. Beside them the gate answers, without a token:
//!
//! | path | answer |
//! |---|---|
//! | `GET /healthz` | `ok` |
//! | `GET /readyz` | `ok`, or 503 and why no request should come |
//! | `GET /metrics` | metrics of Prometheus |
//!
//! [`schema`] says the calls as a JSON Schema and as an OpenAPI document, with a version.
//!
//! Every call has `Authorization: Bearer <token>`, the token of the [`RuntimeFile`]. A POST
//! or PUT has `content-type: application/json`. A failed call is answered with an [`ApiError`] and the
//! status of its [`ErrorCode`].

mod agents;
mod call;
mod error;
mod except;
mod mode;
mod outline;
mod plugins;
mod request;
mod reveal;
mod saved;
pub mod schema;
mod subagents;
mod turn;
mod url;

pub use agents::{
    AgentEvent, AgentEventKind, AgentsView, FrameState, FrameView, RunState, RunView, TeamStatus,
};
pub use call::{AdminCall, AdminCommand, AdminView, DeclaredCall};
pub use error::{ApiError, ErrorCode, read_answer};
pub use except::{AddException, Except, Excepted, ExceptedFinding, ExceptionList, ExceptionView};
pub use mode::{
    ActiveSession, AutoState, Follow, ModeView, Select, SessionList, SessionView, SetMode, SwitchOff,
    TurnClass, TurnMode,
};
pub use outline::{OutlineNode, OutlineType, OutlineView};
pub use plugins::{PluginStatus, QuarantineStatus, Release, Released};
pub use request::{EditableRequest, MetadataField, MetadataFields, RawJson, RequestMetadata};
pub use reveal::{Reveal, Revealed, RevealedValue};
pub use saved::{
    ArmCapture, CapturePreview, CaptureTurn, CapturedEdits, ClearSaved, LeftOutEdit, OnDrift, Resumed,
    SavedAction, SavedDiff, SavedEditView, SavedList, SavedScope, SavedStatus, SavedUse, SetSaved,
};
pub use subagents::{SubagentSection, SubagentVerdict, SubagentView, Subagents};
pub use turn::{
    Diff, EditCommand, EditView, HoldPlace, HoldState, HoldView, InsertedDiff, LeafDiff, LeafView, NoteView,
    OnTimeout, OptionDiff, Pins, RedactedSpan, SectionView, ShownText, State, TokenUse, ToolInvocation,
    TurnSummary, TurnView,
};
pub use url::shown_url;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// How a running gate is reached. Written with mode 0600 into the runtime directory of the user.
#[skip_serializing_none]
#[derive(Clone, Default, Serialize, Deserialize, JsonSchema, derive_more::Debug)]
#[debug("RuntimeFile {{ pid: {pid:?}, admin: {admin:?}, .. }}")]
#[serde(rename_all = "camelCase")]
pub struct RuntimeFile {
    /// Process id of the gate.
    pub pid: u32,
    /// Base URL of the admin API, `http://127.0.0.1:PORT`.
    pub admin: String,
    /// The token that every call must have.
    pub token: String,
    /// Base URL that clients send their requests to.
    pub listen: String,
    /// The client program that the gate was started for, and with which it ends.
    pub client: Option<String>,
    /// Whether it is the one gate of its user that stands at the same place for good.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub standing: bool,
    /// What that one was started with; `None` for others.
    pub started_with: Option<StartedWith>,
    /// A keyed digest of what the operator of the machine enforced when it began; `None` for nothing.
    pub enforced: Option<String>,
}

/// What a gate was started with: who would start it otherwise now can tell.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StartedWith {
    /// A keyed digest of the program.
    pub program: String,
    /// A keyed digest of all settings.
    pub settings: String,
}

/// The state of the gate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// Version of the program.
    pub version: String,
    /// Base URL that clients send their requests to.
    pub listen: String,
    /// Where requests go.
    pub upstream: String,
    /// Whose endpoints are there, where those are more than the models' APIs have: `copilot`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upstream_kind: Option<String>,
    /// Whether requests are looked at. Without it the gate is a plain proxy.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// Upstreams that a path names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub upstreams: Vec<UpstreamStatus>,
    /// The policy that serves, and whether the files on disk are newer.
    pub policy: PolicyStatus,
    /// Turns that wait for a person.
    pub pending: usize,
    /// Requests that are not completely answered, pending ones included.
    #[serde(default)]
    pub in_flight: usize,
    /// Memory that they take.
    #[serde(default)]
    pub pending_memory: Memory,
    /// Requests so far.
    pub requests: Counts,
    /// The upstreams' answers so far, by status.
    #[serde(default)]
    pub statuses: Vec<StatusCount>,
    /// How many requests each rule matched, by the rule's id.
    #[serde(default)]
    pub rules: Vec<RuleCount>,
    /// Which turns wait although no rule asks. `None` from a gate that knows no modes.
    pub mode: Option<ModeView>,
    /// The conversation that a person looks at.
    pub active: Option<ActiveSession>,
    /// Whether the newest conversation becomes that one.
    #[serde(default)]
    pub follow: bool,
    /// The team behind `/agents/v1`; nothing in a gate without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agents: Option<TeamStatus>,
    /// The log of requests. `None` where none is kept.
    pub store: Option<StoreStatus>,
}

/// How the log of requests is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StoreStatus {
    /// Where it lies.
    pub path: String,
    /// Whether requests stop while it cannot be written.
    pub required: bool,
    /// Why it cannot be written at the moment; `None` while it can.
    pub failing: Option<String>,
    /// Requests that this gate has written.
    pub written: u64,
    /// Requests, and parts of answers, that are not in it: they came faster than it is written, or
    /// it could not be.
    pub missed: u64,
    /// Requests whose sent bytes are not those that a person agreed to. Never more than 0, or
    /// something is wrong with this gate.
    pub mismatches: u64,
    /// Bytes on disk.
    pub bytes: u64,
    /// The bound on them. Beyond it the oldest requests are removed.
    pub limit: u64,
    /// Tokens, as the answers say them that this gate has written.
    #[serde(default)]
    pub tokens: TokenCounts,
}

/// What the log has of what it was told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LogState {
    /// Whether all is written that was told before the call, or was missed. `false` where no log is kept, and where
    /// writing takes longer than two seconds.
    pub written: bool,
}

/// Tokens, as answers say them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenCounts {
    /// All that was read, cached or not.
    pub input: u64,
    /// How much of it came from a cache of the provider.
    pub cached: u64,
    /// All that was written.
    pub output: u64,
}

/// What an older gate means that says nothing.
fn yes() -> bool {
    true
}

/// How often upstreams answered with a status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StatusCount {
    /// The status.
    pub status: u16,
    /// The answers.
    pub answers: u64,
}

/// What a rule did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RuleCount {
    /// Its id.
    pub rule: String,
    /// The requests that it matched.
    pub requests: u64,
}

/// An upstream that a path names.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpstreamStatus {
    /// Its name.
    pub name: String,
    /// Where its requests go.
    pub url: String,
    /// What stands before the path of its requests: `/u/<name>`.
    pub prefix: String,
    /// Whose endpoints are there, where those are more than the models' APIs have: `copilot`.
    pub kind: Option<String>,
    /// Its own policy; `None` where it has the gate's.
    pub policy: Option<PolicyStatus>,
}

/// The used part of a bound, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Memory {
    /// The bytes in use.
    pub used: usize,
    /// The bound. Beyond it, requests that need a person are refused.
    pub limit: usize,
}

/// Which policy serves.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicyStatus {
    /// `default`, `none` or the folder.
    pub source: String,
    /// Name of the generation that serves.
    pub generation: String,
    /// How many loads have succeeded since the start, the first included.
    pub loads: u64,
    /// How many loads have failed since.
    pub failed_loads: u64,
    /// The diagnostics of the files on disk, if they do not serve. `None` while the newest files
    /// serve.
    pub refused: Option<String>,
    /// What the last load changed, one line a rule: `−gone`, `+new`, `watched: only counts now`.
    #[serde(default)]
    pub changes: Vec<String>,
    /// Warnings about the policy that serves, a line each: it is valid, but hardly meant so.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// The rules that pause, whatever the mode is.
    #[serde(default)]
    pub pauses: Vec<String>,
    /// How many seconds the gate has been reading or compiling the files on disk. `None` while it
    /// is not.
    pub loading_seconds: Option<u64>,
    /// How its plugins fare.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plugins: Vec<PluginStatus>,
    /// The generation that is tried on live requests beside the one that serves; `None` where none is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<TrialStatus>,
}

/// A generation that is tried before it serves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrialStatus {
    /// Its name.
    pub generation: String,
    /// On how many requests it was tried.
    pub tried: usize,
    /// On how many it must be.
    pub requests: usize,
}

/// Requests by their outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    /// Forwarded, edited or not.
    pub forwarded: u64,
    /// Blocked by a rule, or by a guard that could not run.
    pub blocked: u64,
    /// Held for a person.
    pub paused: u64,
    /// Cancelled by a person, a deadline or the client.
    pub cancelled: u64,
    /// Refused before any rule ran.
    pub refused: u64,
    /// The upstream's answers to forwarded requests.
    #[serde(default)]
    pub answers: Answers,
    /// How often a rule could not run to its end, whatever its `on_error` decided. The log names
    /// the rule and the cause.
    #[serde(default)]
    pub faults: u64,
    /// Packed files in requests (PDF, office documents, archives) whose text was read.
    #[serde(default)]
    pub files_read: u64,
    /// Files in requests that could not be looked into, refused or let through as `on-unread` says.
    #[serde(default)]
    pub unread: u64,
    /// What rules about answers and tool calls, and people, made of answers.
    #[serde(default)]
    pub ruled: Ruled,
}

/// Answers by what rules and people made of them. One in which no rule matched is not among them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Ruled {
    /// A rule matched, and the answer left as it came.
    pub passed: u64,
    /// Rules changed it.
    pub changed: u64,
    /// Its tool calls had to wait for a person. What became of it then is counted besides.
    pub held: u64,
    /// A person let its tool calls go.
    pub approved: u64,
    /// A person changed its tool calls.
    pub edited: u64,
    /// A person let some of its tool calls go and refused the others.
    #[serde(default)]
    pub partly_refused: u64,
    /// Its tool calls were refused.
    pub refused: u64,
    /// Its client left while its tool calls waited for a person.
    #[serde(default)]
    pub abandoned: u64,
    /// Its client got an error in its place.
    pub blocked: u64,
}

/// Answers of the upstream by the class of their status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Answers {
    /// 2xx.
    pub succeeded: u64,
    /// 3xx, which clients do not get as an answer to a request with a body.
    pub redirected: u64,
    /// 4xx, as for a wrong key (401) or too many requests (429).
    pub client_errors: u64,
    /// 5xx.
    pub server_errors: u64,
    /// No answer: the upstream could not be reached, was silent, or broke off.
    pub none: u64,
}

/// The turns that wait, oldest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pending {
    /// The turns, one line each.
    pub turns: Vec<TurnSummary>,
}

/// The body that would leave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Payload {
    /// The body, with tokens in the places of redacted values, and masks for values that hold the turn because they cannot be
    /// redacted.
    pub body: ShownText,
    /// Digest of method, upstream, path and the bytes that would leave: what [`Resume`] must carry.
    pub digest: String,
}

/// Resumes a turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Resume {
    /// The digest of what the person saw. Any other digest is refused: shown is sent.
    pub digest: String,
}

/// Cancels a turn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Cancel {}

/// A published event. The name of the server-sent event is the tag.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "event")]
pub enum Event {
    /// A turn began to wait.
    Paused {
        /// The turn.
        turn: TurnSummary,
    },
    /// A waiting turn changed.
    Changed {
        /// The turn.
        turn: TurnSummary,
    },
    /// A turn is over. Its state says how.
    Resolved {
        /// The turn.
        turn: TurnSummary,
    },
    /// Another mode is in force, or another state of it.
    Mode {
        /// The mode after it.
        mode: ModeView,
    },
    /// Another conversation is active, one is gone, or others are followed.
    Sessions {
        /// The conversation that a person looks at.
        active: Option<ActiveSession>,
        /// Whether the newest one becomes that one.
        follow: bool,
    },
    /// An agent that another one started has asked.
    Subagent {
        /// What is known of its request.
        request: SubagentView,
    },
    /// Something happened in a run of a team.
    Agent {
        /// What.
        told: AgentEvent,
    },
    /// Another policy serves, or newer files were refused.
    Policy {
        /// The state after it.
        policy: PolicyStatus,
    },
}
