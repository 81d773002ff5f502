//! The approval prompt: shows a paused turn to a person and does what they decide.
//!
//! - [`AdminApi`]: the calls to the gate, those of `leafgate-admin`.
//! - [`Model`]: one state machine, no I/O, no clock.
//! - [`screen`]: pages, a cursor, an editor and questions over it, drawn with ratatui.
//! - [`plain`]: line by line, for pipes and screen readers.
//! - [`printer`]: the one way of any text to a terminal. [`rows`] arranges printed text.
//!
//! What it promises: no control sequence of a text reaches a terminal. A resume carries the digest
//! of what was shown. Meaning never depends on colour. Typed text is not lost when the gate refuses
//! it. Leaving decides nothing. What it must not know: HTTP, the policy, values that were redacted.

mod api;
mod change;
mod choice;
mod model;
mod outline;
pub mod plain;
pub mod printer;
pub mod rows;
pub mod screen;

pub use api::{AdminApi, ApiAnswer, ApiCall};
pub use change::describe;
pub use choice::left_out_by;
pub use model::{Level, Model, ModelEffect, Notice, captured_notice};
pub use outline::{HoldCause, Outline, OutlineRow, SectionFacts, SectionGroup, leaf_authors};
