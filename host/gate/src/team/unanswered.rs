//! What the client of a run hears whose entry came to no end of its own.
//!
//! Plain chat takes the place of an entry that failed before it did anything, where that could fare better. In all other
//! cases its client gets what its own request would have got: the provider's error, or the refusal.

use http::{Response, StatusCode};

use super::drive::RunCase;
use super::live::Given;
use leafgate_http::content::Content;
use leafgate_http::refusal::Refusal;

/// What a request of a frame was answered with that the model did not answer: the provider's error, or why there is none.
pub(super) type Unanswered = Result<Response<Content>, Refusal>;

/// Returns true for an error that says nothing of the request: who asks may not, or not now, or asks a model that is not
/// there. The same client's next request, however it is spelled, meets the same.
pub(super) fn fares_no_better(status: StatusCode) -> bool {
    matches!(status.as_u16(), 401..=404 | 407 | 429)
}

impl RunCase {
    /// Answers the client with what ended its run.
    pub(super) async fn unanswered(&self, with: Unanswered) -> Given {
        self.prepare(with?, self.restoring()).await.map(Some)
    }
}
