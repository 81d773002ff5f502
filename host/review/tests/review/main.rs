//! What people see and what happens when they decide, over a desk in memory.

#![expect(clippy::unwrap_used, reason = "what cannot be set up fails its test")]

mod model;
mod plain;
mod player;
mod screen;
mod support;
