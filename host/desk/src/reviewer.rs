//! What the desk needs from the policy: a review of a request that a person has changed.

use leafgate_policy::{Hold, Verdict};
use leafgate_tree::{Document, Draft};

/// The policy of one generation, with the session's vault and the context of one turn.
///
/// A turn keeps the reviewer that it was paused with to its end, whatever is loaded meanwhile.
pub trait Reviewer {
    /// Redacts everything that is written in the draft ([`Draft::written`]), then judges it again.
    ///
    /// Redactions must be made by [`Draft::redact`], which amends the version that is being made,
    /// so that no undo leads to a state before them. Nothing else of the draft may change. The same
    /// draft must give the same result.
    ///
    /// # Errors
    /// A value that must be redacted and cannot be where it stands. The change is not made then,
    /// and the text is kept nowhere.
    fn review(&self, draft: &mut Draft) -> Result<Verdict, Hold>;

    /// Returns the draft as people see it, where it holds what nobody may read; `None` where all of it may be seen.
    fn veiled(&self, draft: &Draft) -> Option<Draft>;

    /// Returns whether anything would keep this body from leaving at once, if it came in the place of
    /// the turn's. Nothing of it is remembered.
    fn asks(&self, body: Document) -> bool;

    /// Returns the model that the request's path asks, where its body does not say another one.
    fn model_by_path(&self, body: &Document) -> Option<String>;

    /// Returns the name of the generation.
    fn generation(&self) -> &str;

    /// Returns the bytes of memory that it keeps for this turn alone, estimated.
    fn memory(&self) -> usize;
}
