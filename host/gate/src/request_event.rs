//! What happens to a request. It is told once, to [`crate::log::RequestProgress`], which hands it to all who count, log or record.

use std::time::Duration;

use http::StatusCode;
use leafgate_record::AnswerOutcome;

use crate::tally::RuleTally;
use leafgate_http::refusal::Refusal;

/// Something that happens to a request.
#[derive(Clone, Copy)]
pub(crate) enum RequestEvent<'h> {
    /// A body of so many bytes has come.
    Received(usize),
    /// It was judged, or its answer.
    Judged {
        /// What was not told where it was judged before, at another upstream.
        tally: &'h RuleTally,
        is_first: bool,
        /// How long it took in all; `None` for an answer, for a request without a body, and where it is judged further.
        took: Option<Duration>,
    },
    /// It goes to the upstream, with a body of so many bytes.
    Sent(usize),
    /// The upstream answers, after this time.
    Answered(StatusCode, Duration),
    /// There is no answer from the upstream.
    Unanswered,
    /// Rules or people decided about its answer, or it waits for that; with the rules that matched. The last word counts.
    AnswerIs(AnswerOutcome, &'h [String]),
    /// The gate answers it itself.
    Refused(&'h Refusal),
}
