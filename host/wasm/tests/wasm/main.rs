//! Plugins in the sandbox: sound ones, hostile ones, and what is kept of them.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod bytes;
mod cache;
mod configuring;
mod hostile;
mod plugins;
mod quarantine;
mod refusals;
mod scripts;
mod support;
