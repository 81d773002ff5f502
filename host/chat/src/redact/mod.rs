//! What a chat export needs beyond the policy's own redaction, as further recorded edits of its draft.
//!
//! An export repeats itself: the same text stands in the question, in its parts, in what was rendered for the model, in calls, results and
//! addresses, and cuts texts into pieces. [`seams`] finds what lies over two pieces, [`copies`] finds the literal copies of what was redacted anywhere, [`encoded`] the texts that stand in hexadecimal, and
//! [`ranges`] moves the offsets of a question's parts after its text has changed. Nothing here decides what is a secret.

pub mod copies;
pub mod encoded;
pub mod ranges;
pub mod seams;

use std::collections::HashMap;
use std::sync::Arc;

use leafgate_tree::{Author, Document, Draft, Format, Limits, NodeId, ParseError};

/// The document that a draft renders, so that texts in which an inner leaf was edited can be read whole.
pub(crate) fn rendered(draft: &Draft, format: Format) -> Result<Document, ParseError> {
    Document::parse(draft.render(), format, &Limits::default())
}

/// Who redacted under each label in each leaf, the first of them.
pub(crate) type Authors<'d> = HashMap<(NodeId, Arc<str>), &'d Author>;

/// Reads them from a draft.
pub(crate) fn authors(draft: &Draft) -> Authors<'_> {
    let mut authors = HashMap::new();
    for record in draft.redactions() {
        authors.entry((record.node, Arc::clone(&record.label))).or_insert(&record.author);
    }
    authors
}
