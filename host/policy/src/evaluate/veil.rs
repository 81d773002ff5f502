//! A request as people see it while it is held: what must be redacted and cannot be stands in what would leave, and nobody
//! needs to read it to decide.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use leafgate_tree::{Document, Draft, NodeId};
use leafgate_vault::Vault;

use super::{Recall, Run};
use crate::{Context, Policy};

/// What a leaf holds of which no stretch is known to be the value.
const UNKNOWN: &str = "WITHHELD";

type Stretches = Vec<(Range<usize>, Arc<str>)>;

impl Policy {
    /// Returns a request as people see it while it is held: the values that hold it because they cannot be redacted are
    /// masked, as they came and as they would leave. `None` where none does, and all of the draft may be seen.
    pub fn veiled(&self, draft: &Draft, recall: &Recall, vault: &Vault) -> Option<Draft> {
        let held = recall.unredactable().filter(|place| !place.in_key).map(|place| place.node);
        let held: BTreeSet<NodeId> = held.collect();
        if held.is_empty() {
            return None;
        }
        let nothing = Arc::new(Document::raw(bytes::Bytes::new()));
        let run = Run::new(self, &nothing, &Context::default(), vault);
        let mut veiled = draft.clone();
        for node in held {
            let Some(leaf) = draft.document().settable(node) else { continue };
            let (came, now) = (leaf.text(), draft.text(node).into_cow().into_owned());
            let found = stretches(&run, came.expose());
            let is_known = !found.is_empty();
            // By its key, its place or its neighbours a rule may see more in a text than the text alone tells.
            let of = |found: Stretches, text: &str| match found.is_empty() && !is_known {
                true => vec![(0..text.len(), UNKNOWN.into())],
                false => found,
            };
            let received = of(found.clone(), came.expose());
            let now = match draft.is_as_received(node) {
                true => received.clone(),
                false => of(stretches(&run, &now), &now),
            };
            veiled.veil(node, &now, &received);
        }
        Some(veiled)
    }
}

/// What any redact rule finds in a text, encoded or not; all of it where that cannot be told.
fn stretches(run: &Run<'_>, text: &str) -> Stretches {
    match run.found_in(text) {
        Some(hits) => hits.into_iter().map(|hit| (hit.range.clone(), hit.label.as_str().into())).collect(),
        None => vec![(0..text.len(), UNKNOWN.into())],
    }
}
