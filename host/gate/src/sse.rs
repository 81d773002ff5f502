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

/// Returns an event that bears its type twice: as its name, and in its data.
pub(crate) fn typed_event(data: &Value) -> String {
    let mut out = String::new();
    event(&mut out, data["type"].as_str(), data);
    out
}
