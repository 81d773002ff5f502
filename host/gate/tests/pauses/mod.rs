//! Requests that wait for a person, as clients and reviewers meet them: over sockets, before an upstream in this process.
//!
//! Nothing here waits by sleeping. A test waits for an event of the admin API, for an answer, or for the end of a connection; deadlines
//! are set so short or so long that they come at once or not at all.

mod admin;
mod answering;
mod answers;
mod beside;
mod crossing;
mod except;
pub(crate) mod house;
mod modes;
mod odd;
mod pause;
mod profiles;
mod queue;
mod release;
mod reload;
mod reveal;
mod ruled;
mod saved;
mod side;
mod stream;
mod veiled;
