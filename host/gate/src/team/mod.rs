//! Teams of agents behind a base URL: `/agents/v1`, or `/agents/<name>/v1` to begin at another one.
//!
//! The client stays plain. Its request begins a [`leafgate_agents::Run`] at the team's entry, a state machine that
//! says what is to be done; this module does it: it asks the model for each frame, hands calls of
//! the client's tools to the client, and finds the run again by the marked ids of their results.
//!
//! - Every body that leaves for a frame is judged by the same policy, in the session's vault. So a
//!   secret is one token in every frame, and comes back only in what the client reads.
//! - Who asked for a stream sees what the entry says as it says it ([`live`]).
//! - A client that is gone takes its run along: what the run does lives in the client's answer.

mod ask;
mod begin;
mod drive;
mod give;
mod live;
mod plain;
mod progress;
mod wire;

pub(crate) use self::begin::ForTeam;
