//! Conversations of agents and their sub-agents.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod common;
mod files;
mod properties;
mod scenarios;
