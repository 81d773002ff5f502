//! Requests that wait for a person, as clients and reviewers meet them: over sockets, before an upstream in this process.
//!
//! Nothing here waits by sleeping. A test waits for an event of the admin API, for an answer, or for the end of a connection; deadlines
//! are set so short or so long that they come at once or not at all.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod admin;
mod answering;
mod answers;
mod beside;
mod crossing;
mod except;
#[allow(dead_code, reason = "each suite uses a part of what they share")]
#[path = "../passage/support.rs"]
mod kit;
mod logs;
mod modes;
mod odd;
mod pause;
mod profiles;
mod queue;
mod release;
mod reload;
mod reveal;
mod ruled;
mod saved;
mod side;
mod stream;
mod support;
mod veiled;
