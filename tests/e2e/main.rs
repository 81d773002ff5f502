//! What the built gate promises, seen from outside: processes, sockets and bytes, no crate of ours in between.
//!
//! Each module is named after what it shows. `cargo xtask test` passes the binary in `LEAFGATE_BIN`; without it cargo builds one.

#![allow(clippy::unwrap_used, reason = "what a test cannot do without fails it")]

mod book;
mod example;
mod examples;
mod exec;
mod files;
mod hostile;
mod kill;
mod language;
mod memory;
mod notify;
mod pauses;
mod pictures;
mod planted;
mod policies;
mod prompt;
mod reload;
mod schema;
mod service;
mod setup;
mod shared;
mod unseen;
mod ways;
