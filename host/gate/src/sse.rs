//! Event streams: how they are cut into lines, and how the gate writes events.

use std::fmt::Write as _;

use serde_json::Value;

pub use leafgate_answer::{Field, Lines, Piece, field};

/// Appends an event. Its data is one line, whatever it was on: a line end would end it.
pub(crate) fn event(stream: &mut String, name: Option<&str>, data: &Value) {
    if let Some(name) = name {
        let _ = writeln!(stream, "event: {name}");
    }
    let _ = write!(stream, "data: {data}\n\n");
}
