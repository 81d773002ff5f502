//! What people see, and the effect of their decisions, over a gate in memory.

#![expect(clippy::unwrap_used, reason = "what cannot be set up fails its test")]

mod model;
mod plain;
mod player;
mod screen;
mod support;
