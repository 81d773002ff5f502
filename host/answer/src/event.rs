//! The events of streams that are written.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

/// An event of a stream. Its `Display` is the framed event, on one line for each field.
#[derive(Clone, PartialEq, Eq, derive_more::Debug)]
#[debug("StreamEvent of {} bytes", self.to_string().len())]
pub struct StreamEvent {
    /// Whether it bears its type as its name too.
    is_named: bool,
    /// What it carries; `None` for the word that ends a stream of chat completions. A copy of the event shares it.
    pub(crate) data: Option<Arc<Value>>,
}

impl StreamEvent {
    /// The word that ends a stream of chat completions.
    pub const DONE: StreamEvent = StreamEvent { is_named: false, data: None };

    /// An event that bears its type in its data alone.
    pub fn plain(data: Value) -> StreamEvent {
        StreamEvent { is_named: false, data: Some(Arc::new(data)) }
    }

    /// An event that bears its type twice: as its name, and in its data.
    pub fn typed(data: Value) -> StreamEvent {
        StreamEvent { is_named: true, data: Some(Arc::new(data)) }
    }

    /// What it carries, to be changed in this event alone: it is copied only where another event has it still.
    pub fn data_mut(&mut self) -> Option<&mut Value> {
        self.data.as_mut().map(Arc::make_mut)
    }
}

impl fmt::Display for StreamEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(data) = &self.data else { return f.write_str("data: [DONE]\n\n") };
        if let (true, Some(name)) = (self.is_named, data["type"].as_str()) {
            writeln!(f, "event: {name}")?;
        }
        write!(f, "data: {data}\n\n")
    }
}
