//! The approval prompt: shows a paused turn to a person and does what they decide.
//!
//! - [`AdminApi`]: what it asks of the gate, whose only words are those of `leafgate-admin`.
//! - [`Model`]: one state machine, no I/O, no clock.
//! - [`screen`]: pages, a cursor, an editor and questions over it, drawn with ratatui.
//! - [`plain`]: line by line, for pipes and screen readers.
//! - [`printer`]: the one way of any text to a terminal. [`rows`] arranges what passed it.
//!
//! What it promises: nothing that a terminal would obey reaches one; a resume carries the digest of what was shown; meaning never
//! hangs on colour; what was typed is not lost when the gate refuses it; leaving decides nothing. What it must not know: HTTP, the
//! policy, values that were redacted.

mod api;
mod change;
mod model;
mod outline;
pub mod plain;
pub mod printer;
pub mod rows;
pub mod screen;

pub use api::{AdminApi, ApiAnswer, ApiCall};
pub use change::describe;
pub use model::{Action, Effect, Input, Level, Model, Notice, ended};
pub use outline::{Entry, Outline, leaf_authors};
