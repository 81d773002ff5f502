//! What the desk asks of the policy: look again at a request that a person has changed.

use leafgate_policy::{Hold, Verdict};
use leafgate_tree::Draft;

/// The policy of one generation, with what else judging one turn needs: its session's vault, its context.
///
/// A turn keeps the guard that it was paused with to its end, whatever is loaded meanwhile.
pub trait Guard {
    /// Redacts everything that is written in the draft ([`Draft::written`]), then decides about it anew.
    ///
    /// Redactions must be made by [`Draft::redact`], which amends the version that is being made, so that no undo leads back behind
    /// them. Nothing else of the draft may change. The same draft must give the same result, or what is shown would not be steady.
    ///
    /// # Errors
    /// What must be redacted and cannot be where it stands. The change is not made then, and the text is kept nowhere.
    fn review(&self, draft: &mut Draft) -> Result<Verdict, Hold>;

    /// Bytes of memory that it keeps for this turn alone, about.
    fn memory(&self) -> usize;
}
