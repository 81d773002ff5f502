//! The desk: turns that wait, what people do with them, and what becomes of each.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod beside;
mod changes;
mod common;
mod modes;
mod properties;
mod transitions;
