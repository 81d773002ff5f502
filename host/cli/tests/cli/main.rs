//! The built binary: what it prints, and what it exits with.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod agents;
mod apply;
mod chat;
mod compose;
mod config;
mod detectors;
mod doctor;
mod except;
mod explain;
mod extract;
#[path = "../../../wasm/tests/wasm/support/guest.rs"]
#[allow(dead_code, unreachable_pub, reason = "shared with the tests of leafgate-wasm")]
mod guest;
mod known;
mod live;
mod live_plugins;
mod log;
mod managed;
mod mistakes;
mod own;
mod plan;
mod plugin;
mod redact;
mod replay;
mod rule_tests;
mod running;
mod same;
mod saved;
mod scan;
mod serve;
mod support;
mod tutorial;
mod verify;
mod views;
mod vscode;
