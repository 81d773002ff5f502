//! The gate over real sockets, before an upstream of the test's own that records what it gets: requests and answers on their way
//! (`passage`), requests that wait for a person (`pauses`), teams (`agents`), answers that attack
//! (`hostile`).

#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]
#![allow(clippy::print_stdout, reason = "a test that skips says so")]

#[path = "../agents/mod.rs"]
mod agents;
#[path = "../hostile/mod.rs"]
mod hostile;
mod kit;
mod logs;
#[path = "../passage/mod.rs"]
mod passage;
#[path = "../pauses/mod.rs"]
mod pauses;
mod recorder;
