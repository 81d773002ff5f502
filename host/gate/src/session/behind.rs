//! What is known of a response, for the request that goes on from it: a conversation that the server
//! keeps has neither the tools that were offered nor the calls of a result in its next request.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use leafgate_policy::Offered;
use leafgate_tree::Document;

/// Calls that are remembered of one response.
const MOST_CALLS: usize = 512;

/// Longer ids and names are none that an API gives.
const LONGEST: usize = 256;

/// What is known of one response.
#[derive(Default)]
pub(crate) struct Behind {
    offered: Offered,
    /// The tools of its calls, by their ids; `None` where two have one id.
    calls: Mutex<BTreeMap<String, Option<Arc<str>>>>,
}

impl Behind {
    /// Of the response to a request, which goes on from what is known of another one.
    pub(super) fn to(request: &Document, before: Option<&Behind>) -> Self {
        let mut offered = Offered::of(request);
        if let Some(before) = before {
            offered.extend(&before.offered);
        }
        Behind { offered, calls: Mutex::default() }
    }

    /// The tools that its request offered, or those before it did.
    pub(crate) fn offered(&self) -> &Offered {
        &self.offered
    }

    /// A call of it has this id.
    pub(super) fn called(&self, id: &str, tool: &str) {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let has_room = calls.len() < MOST_CALLS && id.len().max(tool.len()) <= LONGEST;
        match calls.get_mut(id) {
            Some(known) if known.as_deref() != Some(tool) => *known = None,
            None if has_room => _ = calls.insert(id.to_owned(), Some(tool.into())),
            Some(_) | None => {}
        }
    }

    /// Returns the tool of a call; `None` where that is not certain.
    pub(crate) fn tool_of(&self, call: &str) -> Option<Arc<str>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).get(call).cloned().flatten()
    }
}
