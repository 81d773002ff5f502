//! Answers of all APIs: read, told apart from what clients read in two ways, changed while they wait, and written again.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod calls;
mod live;
mod odd;
mod recordings;
mod streams;
mod written;
