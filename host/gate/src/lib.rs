//! The HTTP side of Leafgate: listens, has each request judged by the policy, sends what may leave to its upstream, and puts the real
//! values back into the answer.
//!
//! ```text
//! connection ─► guard ─► route ─► body ─► judge (coding ─► tree ─► policy ─► render) ─► upstream ─► answer (restore, stream)
//!                  └────────┴────────┴───────┼──► refusal, in the API's dialect            ▲
//!                                            ▼ pause                                       │ resume: the bytes that were shown
//!                                      pending (desk) ◄──► admin (a person)  ──► hold ─────┘
//! ```
//!
//! What it promises:
//!
//! - A request that the policy does not change leaves byte for byte as it came, compressed or not.
//! - A body is walked or refused; nothing is waved through. A guard that failed refuses.
//! - One request, one generation: replacing the policy does not touch requests in flight.
//! - A paused request waits with its connection held open, and leaves only as the bytes whose digest a person agreed to.
//! - No header value and no text of a leaf is logged, or stands in an error.
//!
//! What it must not know: detectors, rules, how a plugin runs. It opens no socket but its listeners' and the upstream's, and reads no
//! file but the system's certificates.
//!
//! Where things are:
//!
//! - `gate` is the way of a request, `stages` what it is on that way, `exchange` what goes with it, `shared` what all
//!   requests share. `judge` judges one body without I/O. An API is a file in `apis`, and no driver knows an API by name.
//! - `pending` owns the desk, `admin` serves what people and scripts ask. `session` names conversations.
//! - `ruled` judges answers, `restore` puts values back, `team` runs agents and `teams` keeps their runs,
//!   `flow` sends what a profile made, `adapter` stands before an upstream that speaks another API.
//! - Every bound has a name, by which settings set it (`limits.<name>`) and refusals cite it; defaults and reasons stand in `config`.

mod adapter;
mod admin;
mod agent;
mod answer;
mod apis;
mod arriving;
mod asked;
mod assembly;
mod base;
mod begun;
mod blocked;
mod config;
mod events;
mod except;
mod exchange;
mod files;
mod flow;
mod gate;
mod hold;
mod intercept;
mod judge;
mod lock;
mod log;
mod metrics;
mod multipart;
mod off;
mod outgoing;
mod outside;
mod path;
mod pending;
mod plain;
mod plugins;
mod reach;
mod recording;
mod restore;
mod route;
mod routed;
mod ruled;
mod saved;
mod sending;
mod serving;
mod session;
mod shared;
mod stages;
mod subject;
mod tally;
mod target;
mod team;
mod teams;
mod trial;
mod upstream;
mod upstreams;
mod watched;

pub use admin::{AdminToken, AdminTokenError, request_diff};
pub use asked::{AskedPath, AskedPathError, recorded_format};
pub use config::{
    FirstUpstream, GateConfig, GateLimits, Limit, NamedUpstream, OnUnread, OwnPolicy, TrialConfig,
    UpstreamConfig,
};
pub use except::{NotExcepted, PolicyFiles};
pub use gate::Gate;
pub use intercept::{InterceptPattern, InterceptPatternError};
pub use leafgate_desk::DeskLimits;
pub use path::{PathPattern, PathPatternError};
pub use reach::{Identity, Proxy, Reach, ReachError};
pub use recording::recorded_edits;
pub use saved::{PREVIEW_LIMITS, SavedFiles, SavedSettings, SavedStore, guard_key, saved_holds, saved_views};
pub use session::{LOCAL_CLIENT, session_key};
pub use target::{
    BaseUrl, UpstreamKind, UpstreamName, UpstreamNameError, UpstreamTarget, UpstreamTargetError,
};
pub use teams::{ServingTeam, TeamSource};
