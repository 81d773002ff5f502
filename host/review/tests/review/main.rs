//! What people see and what happens when they decide, over a desk in memory.

#![expect(clippy::unwrap_used, reason = "what cannot be set up fails its test")]

mod plain;
mod screen;
mod support;
