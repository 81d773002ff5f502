//! How a request ended, from the places where versions of the editor wrote it.

use leafgate_words::words;
use serde::Serialize;

use crate::node::JsonView;

words! {
    /// How a request ended: `modelState`, by its numbers.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum RequestStatus {
        /// No end is recorded: it was still running, or its export is incomplete.
        Pending = "pending",
        /// It was answered.
        Complete = "complete",
        /// The person stopped it.
        Cancelled = "cancelled",
        /// It failed.
        Failed = "failed",
        /// The answer waits for the person.
        NeedsInput = "needs input",
        /// A state that this version does not know.
        Unknown = "unknown",
    }
    /// Returns its name.
    pub fn name = 0;
}

impl RequestStatus {
    /// Returns the status of a request of an export.
    ///
    /// An error decides before the model's state, because an answer that broke off may be marked
    /// complete. Older versions wrote `isCanceled` instead of the state.
    pub(crate) fn of(request: JsonView<'_>) -> RequestStatus {
        let state = request.path(&["modelState", "value"]).filter(|state| state.integer().is_some());
        let state = state.map(|state| state.one_of(Self::ALL).unwrap_or(RequestStatus::Unknown));
        let failure = RequestFailure::of(request);
        let is_cancelled = request.is_true("isCanceled") || state == Some(RequestStatus::Cancelled);
        if is_cancelled || failure.as_ref().is_some_and(RequestFailure::is_cancel) {
            return RequestStatus::Cancelled;
        }
        if failure.is_some() {
            return RequestStatus::Failed;
        }
        let is_answered = request.get_some("result").is_some();
        state.unwrap_or(if is_answered { RequestStatus::Complete } else { RequestStatus::Pending })
    }
}

/// Why a request failed: `result.errorDetails`.
#[derive(Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestFailure {
    /// The message that the person saw.
    pub message: String,
    /// Its code: `canceled`, `rateLimited`, `quotaExceeded`, …
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Flags of the answer: `redacted`, `filtered`, `incomplete`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub answer: Vec<&'static str>,
}

impl RequestFailure {
    pub(crate) fn of(request: JsonView<'_>) -> Option<RequestFailure> {
        let details = request.get("result")?.get_some("errorDetails")?;
        let flags = [
            ("responseIsRedacted", "redacted"),
            ("responseIsFiltered", "filtered"),
            ("responseIsIncomplete", "incomplete"),
        ];
        let is_set = |key: &str| details.is_true(key);
        Some(RequestFailure {
            message: details.get_text("message").unwrap_or_default(),
            code: details.get_text("code"),
            answer: flags.iter().filter(|(key, _)| is_set(key)).map(|&(_, word)| word).collect(),
        })
    }

    fn is_cancel(&self) -> bool {
        matches!(self.code.as_deref(), Some("canceled" | "cancelled"))
    }
}

/// Returns the milliseconds from the question to the end of the answer: by the two times, else as
/// the extension measured it.
pub(crate) fn duration(request: JsonView<'_>) -> Option<i64> {
    let asked = request.get_integer("timestamp");
    let done = request.path(&["modelState", "completedAt"]).and_then(JsonView::integer);
    let between = asked.zip(done).map(|(asked, done)| done.saturating_sub(asked)).filter(|&time| time >= 0);
    between.or_else(|| timing(request, "totalElapsed"))
}

/// Returns one of `result.timings`, in milliseconds.
pub(crate) fn timing(request: JsonView<'_>, key: &str) -> Option<i64> {
    request.path(&["result", "timings", key])?.integer()
}
