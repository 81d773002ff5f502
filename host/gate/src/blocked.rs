//! The words in which a client reads that its request is blocked, or cannot be read.

use http::StatusCode;
use leafgate_policy::{Hold, SAVED_EDITS, STRUCTURE};
use leafgate_tree::ParseError;

use leafgate_http::{Code, Refusal};

/// Why a request that a rule would send elsewhere is refused where that cannot be.
pub(crate) const NOT_ELSEWHERE: &str = "a request like this one cannot be sent on";

/// Blocks a request that only a person could let go.
pub(crate) fn unshowable(holds: &[Hold]) -> Refusal {
    let because: Vec<_> = holds.iter().map(because).collect();
    blocked_as(format!(
        "blocked by this gate: {}; the rule asks for a person, and a request without a body cannot be shown to one",
        because.join("; ")
    ))
}

/// Not JSON, or too much of it. The error says where, never what stood there.
pub(crate) fn unreadable(error: ParseError) -> Refusal {
    let message = format!("the request body cannot be read: {error}");
    if error.is_cap() { Refusal::too_large(message) } else { Refusal::malformed(message) }
}

pub(crate) fn blocked(hold: &Hold) -> Refusal {
    blocked_as(format!("blocked by this gate: {}", because(hold)))
}

/// The rule and its reason. The detail is for the operator, who finds it with `leafgate apply --json`.
pub(crate) fn because(hold: &Hold) -> String {
    match &*hold.rule {
        STRUCTURE | SAVED_EDITS => hold.reason.clone(),
        rule => format!("rule `{rule}`: {}", hold.reason),
    }
}

/// 400, because SDKs read 401 and 403 as a failed login and retry 409 and 429.
fn blocked_as(message: String) -> Refusal {
    Refusal::new(StatusCode::BAD_REQUEST, Code::Blocked, message)
}
