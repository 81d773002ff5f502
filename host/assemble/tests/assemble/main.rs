//! Prompts that are put together from parts, for each API.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod common;
mod golden;
mod prefix;
mod properties;
mod rows;
