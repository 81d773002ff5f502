//! The requests of a log as what people asked, each with all that answered it.

use std::collections::HashMap;

use leafgate_adapt::{TurnMessage, question};
use serde_json::Value;

use crate::lists::RequestLine;

/// What was asked so far.
#[derive(Default)]
pub(super) struct Questions {
    pub(super) all: Vec<ExportQuestion>,
    /// The client of the last request.
    pub(super) agent: String,
    /// Where the calls stand whose results have not come.
    open: HashMap<String, (usize, usize)>,
}

/// What a person asked.
pub(super) struct ExportQuestion {
    pub(super) text: String,
    pub(super) session: String,
    /// What the form of the export says of it; null where it is new.
    pub(super) head: Value,
    /// What followed from it, as the form has that.
    pub(super) parts: Vec<Value>,
}

impl Questions {
    /// Takes the messages of a request, and returns the question that it is about: the one before it, where it is a further
    /// round of that. `put` tells a call what it came to.
    pub(super) fn take(
        &mut self,
        line: &RequestLine,
        messages: &[TurnMessage],
        put: fn(&mut Value, String),
    ) -> &mut ExportQuestion {
        self.agent.clone_from(&line.agent);
        let results = messages.iter().filter_map(|said| Some((said.call_id.as_deref()?, said.text())));
        for (id, text) in results {
            if let Some((question, at)) = self.open.remove(id) {
                put(&mut self.all[question].parts[at], text);
            }
        }
        let (asked, is_round) = question(messages);
        let is_same = |last: &ExportQuestion| {
            last.session == line.session && asked.is_none_or(|asked| asked.text() == last.text)
        };
        if !is_round || !self.all.last().is_some_and(is_same) {
            let text = asked.map(TurnMessage::text).unwrap_or_default();
            self.all.push(ExportQuestion {
                text,
                session: line.session.clone(),
                head: Value::Null,
                parts: Vec::new(),
            });
        }
        let last = self.all.len() - 1;
        &mut self.all[last]
    }

    /// Adds a call to the last question. Its result comes with a later request.
    pub(super) fn call(&mut self, id: String, part: Value) {
        let Some(last) = self.all.len().checked_sub(1) else { return };
        let parts = &mut self.all[last].parts;
        self.open.insert(id, (last, parts.len()));
        parts.push(part);
    }
}
