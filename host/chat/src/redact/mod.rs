//! The redactions of a chat export beyond the policy's own, as further recorded edits of its draft.
//!
//! An export repeats itself: the same text stands in the question, in its parts, in the messages
//! rendered for the model, in calls, results and addresses, and it is cut into pieces. [`seams`]
//! finds values over two pieces, [`copies`] finds literal copies of redacted values, [`encoded`]
//! finds texts in hexadecimal, and [`ranges`] moves the offsets of a question's parts after its
//! text has changed. Nothing here decides what is a secret.

pub mod copies;
pub mod encoded;
pub mod ranges;
pub mod seams;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use leafgate_tree::{Author, Document, Draft, Format, Limits, NodeId, ParseError, Redaction};

/// What stands in the place of a value. It has no `Debug`.
#[derive(Clone)]
pub(crate) struct StandIn {
    pub(crate) label: Arc<str>,
    pub(crate) replacement: String,
    pub(crate) author: Author,
}

impl StandIn {
    fn redaction(&self, at: Range<usize>) -> Redaction {
        Redaction::new(at, Arc::clone(&self.label), self.replacement.as_str())
    }
}

/// Returns the document that a draft renders, so that texts with an edited inner leaf can be read
/// whole.
pub(crate) fn rendered(draft: &Draft, format: Format) -> Result<Document, ParseError> {
    Document::parse(draft.render(), format, &Limits::default())
}

/// The first author of a redaction under each label in each leaf.
pub(crate) type Authors<'d> = HashMap<(NodeId, Arc<str>), &'d Author>;

/// Reads them from a draft.
pub(crate) fn authors(draft: &Draft) -> Authors<'_> {
    let mut authors = HashMap::new();
    for record in draft.redactions() {
        authors.entry((record.node, Arc::clone(&record.label))).or_insert(&record.author);
    }
    authors
}
