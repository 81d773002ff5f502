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

use std::ops::Range;
use std::sync::Arc;

use leafgate_tree::{Author, Document, Draft, Format, Limits, MarkedSpan, NodeId, ParseError, Redaction};

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

/// Returns what each redaction of a leaf took away of the received text, and what stands in its place. `None` where one covers more
/// than one of them.
pub(crate) fn traced(draft: &Draft, node: NodeId) -> Option<Vec<(Range<usize>, StandIn)>> {
    let (hidden, written, present) = (draft.hidden(node), draft.redactions_in(node), draft.text(node));
    if hidden.len() != written.len() {
        return None;
    }
    let stand_in = |made: MarkedSpan<'_>| {
        let (replacement, author) = (present.expose()[made.at].to_owned(), made.redaction?.author.clone());
        Some(StandIn { label: made.label, replacement, author })
    };
    hidden.into_iter().zip(written).map(|((received, _), made)| Some((received, stand_in(made)?))).collect()
}
