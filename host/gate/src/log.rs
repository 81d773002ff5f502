//! One line of log per request, when its answer has ended, or its client has gone.
//!
//! It holds the method, the path without its query, and what can be counted. Never header values, queries, or text: neither the
//! request's nor the answer's, nor a reason that a plugin gave. A path is a client's text: whatever a terminal would obey or not show
//! stands there as its number.

use std::fmt::{self, Write as _};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use http::{Method, StatusCode};
use leafgate_policy::Policy;
use leafgate_record::{AnswerOutcome, RecordId, Recorded, RecordedApproval, RecordedEdit};

use crate::lock::lock;
use crate::metrics::{Counters, InFlight};
use crate::recording::{ABANDONED, Recording, ToldRequest};
use crate::tally::RuleTally;
use crate::watched::{BodyWatch, WatchedBody};
use leafgate_http::{Code, Content, Refusal, headers};

const GENERATION: HeaderName = HeaderName::from_static("leafgate-generation");
const EDITS: HeaderName = HeaderName::from_static("leafgate-edits");
const WARNINGS: HeaderName = HeaderName::from_static("leafgate-warnings");
const ROUTED: HeaderName = HeaderName::from_static("leafgate-routed");

/// Paths that most requests have; nothing in them is a client's own.
const FIXED_PATHS: [&str; 12] = [
    "/",
    "/auto",
    "/chat/completions",
    "/models",
    "/responses",
    "/v1/chat/completions",
    "/v1/completions",
    "/v1/embeddings",
    "/v1/messages",
    "/v1/messages/count_tokens",
    "/v1/models",
    "/v1/responses",
];

/// What stands for a path that could not be searched.
pub(crate) const WITHHELD: &str = "(withheld)";

/// Returns true for a path in which there is nothing to find.
pub(crate) fn is_fixed_path(path: &str) -> bool {
    FIXED_PATHS.contains(&path)
}

/// What is known of a request; logged when it is dropped.
pub(crate) struct RequestLog {
    method: Method,
    path: Arc<str>,
    began: Instant,
    status: Option<StatusCode>,
    /// What happens to it.
    pub(crate) progress: Arc<RequestProgress>,
    answered: usize,
    complete: Option<bool>,
    /// Until it is logged.
    _in_flight: InFlight,
}

/// What is known of a request, perhaps only when its answer has begun.
#[derive(Default)]
pub(crate) struct RequestMarks {
    /// The generation that it is pinned to, or that its turn keeps.
    pub(crate) generation: Option<Arc<str>>,
    /// Whether it waited for a person.
    pub(crate) paused: bool,
    /// The upstream that a rule sent it to, where it was judged anew.
    pub(crate) routed: Option<Arc<str>>,
    /// Between which APIs it was adapted, and what got lost.
    pub(crate) adapted: Option<Arc<str>>,
    /// What the policy did so far, and how long that took.
    judged: Option<(RuleTally, Duration)>,
    refused: Option<Code>,
    /// Bytes of the body that came, and of those that left to answer it.
    pub(crate) received: usize,
    pub(crate) sent: usize,
    /// Edits and redactions that stand in what a person let go.
    made: Option<(usize, usize)>,
    /// What rules and people made of the answer, and the rules that matched.
    ruled: Option<(AnswerOutcome, String)>,
}

impl RequestMarks {
    fn tally(&self) -> Option<&RuleTally> {
        self.judged.as_ref().map(|(tally, _)| tally)
    }

    /// Edits and redactions in what left.
    fn made(&self) -> (usize, usize) {
        let by_policy = || self.tally().map(|tally| (tally.edits, tally.redactions)).unwrap_or_default();
        self.made.unwrap_or_else(by_policy)
    }
}

/// What becomes of a request. Each thing that happens to it is told here once, and handed to all who count, log or record.
pub(crate) struct RequestProgress {
    /// Counts it, for metrics too.
    counters: Arc<Counters>,
    marks: Mutex<RequestMarks>,
    /// What a recorder is told.
    recording: Mutex<Option<Recording>>,
}

impl RequestProgress {
    pub(crate) fn new(counters: &Arc<Counters>) -> Self {
        RequestProgress {
            counters: Arc::clone(counters),
            marks: Mutex::default(),
            recording: Mutex::default(),
        }
    }

    /// Notes which way it takes.
    pub(crate) fn goes(&self, mark: impl FnOnce(&mut RequestMarks)) {
        mark(&mut lock(&self.marks));
    }

    /// It goes to the upstream, with a body of so many bytes.
    pub(crate) fn sent(&self, bytes: usize) {
        self.counters.counted().requests.forwarded += 1;
        lock(&self.marks).sent = bytes;
    }

    /// The upstream answers, after this time.
    pub(crate) fn answered(&self, status: StatusCode, after: Duration) {
        self.counters.answered(status, after);
    }

    /// There is no answer from the upstream.
    pub(crate) fn unanswered(&self) {
        self.counters.counted().requests.answers.none += 1;
    }

    /// Rules or people decided about its answer, or it waits for that; with the rules that matched. The last word counts.
    pub(crate) fn answer_is(&self, outcome: AnswerOutcome, rules: &[String]) {
        *outcome.count(&mut self.counters.counted().requests.ruled) += 1;
        lock(&self.marks).ruled = Some((outcome, rules.join(",")));
        if let Some(recording) = &*lock(&self.recording) {
            recording.ruled(outcome, rules);
        }
    }

    /// The gate answers it itself.
    pub(crate) fn refused(&self, refusal: &Refusal) {
        let code = refusal.code;
        self.counters.counted().refused(code);
        // A request is refused once.
        lock(&self.marks).refused.get_or_insert(code);
        if let Some(recording) = &mut *lock(&self.recording) {
            recording.refused(code.as_str());
        }
        if let Some(cause) = &refusal.operator_message {
            tracing::warn!(target: "leafgate::request", code = code.as_str(), cause, "{}", refusal.message);
        }
    }

    /// It was judged, here or after a rule sent it to another upstream. Returns how long that took in all. The time is
    /// counted where `is_timed`: it is not judged further, and has a body.
    pub(crate) fn judged(
        &self,
        policy: &Policy,
        mut tally: RuleTally,
        took: Duration,
        is_timed: bool,
    ) -> Duration {
        tally.warn_of_errors(policy);
        let mut marks = lock(&self.marks);
        let (before, spent) = marks.judged.take().unzip();
        let all = took + spent.unwrap_or_default();
        // What was told where it was judged before, at another upstream, is not told again.
        let new = before.as_ref().map(|before| tally.beyond(before));
        self.counters.rules_ran(new.as_ref().unwrap_or(&tally), is_timed.then_some(all));
        tally.add_before(before.unwrap_or_default());
        marks.judged = Some((tally, all));
        all
    }

    /// Its answer was judged. Rules that could not run get a line of log each.
    pub(crate) fn answer_judged(&self, policy: &Policy, tally: &RuleTally) {
        self.counters.rules_ran(tally, None);
        tally.warn_of_errors(policy);
    }

    /// Whether anything was decided about its answer.
    pub(crate) fn is_ruled(&self) -> bool {
        lock(&self.marks).ruled.is_some()
    }

    /// The same was decided about the answer to a request that it took to answer it.
    pub(crate) fn ruled_as(&self, frame: &RequestProgress) {
        let ruled = lock(&frame.marks).ruled.clone();
        if ruled.is_some() {
            lock(&self.marks).ruled = ruled;
        }
    }

    /// It was judged, and a recorder will be told.
    pub(crate) fn records(&self, recording: Recording) {
        *lock(&self.recording) = Some(recording);
    }

    /// A person let it go, as `edits` made it: so many edits and redactions stand in it.
    pub(crate) fn approved(
        &self,
        made: (usize, usize),
        approval: RecordedApproval,
        edits: impl FnOnce() -> Vec<RecordedEdit>,
    ) {
        // A request is let go once.
        lock(&self.marks).made.get_or_insert(made);
        if let Some(recording) = &mut *lock(&self.recording) {
            recording.approved(approval, edits);
        }
    }

    /// Tells the recorder, where there is one, that these bytes leave under a number of their own. A
    /// request that an upstream refuses may leave again in another form.
    pub(crate) fn leaves(
        &self,
        id: impl FnOnce() -> RecordId,
        body: &Bytes,
    ) -> Option<(ToldRequest, Recorded)> {
        let mut recording = lock(&self.recording);
        let (told, recorded) = recording.as_mut()?.sent(id, body)?;
        if matches!(recorded, Recorded::Missed) {
            // Whatever form it leaves in, nobody keeps it: what came is needed no more.
            *recording = None;
        }
        Some((told, recorded))
    }

    /// It will not leave again.
    pub(crate) fn recorded(&self) {
        if let Some(recording) = &mut *lock(&self.recording) {
            recording.refused(ABANDONED);
        }
    }

    /// Tells the client which generation judged its request, and how much it changed.
    pub(crate) fn mark(&self, headers: &mut HeaderMap) {
        let marks = lock(&self.marks);
        let Some(name) = &marks.generation else { return };
        if let Ok(name) = HeaderValue::from_str(name) {
            headers.insert(GENERATION, name);
        }
        let (edits, redactions) = marks.made();
        headers.insert(EDITS, HeaderValue::from(edits + redactions));
        if let Some(to) = marks.routed.as_ref().and_then(|to| HeaderValue::from_str(to).ok()) {
            headers.insert(ROUTED, to);
        }
        let warnings = marks.tally().map(|tally| tally.warnings.iter().map(String::as_str));
        if let Some(warnings) = warnings.and_then(headers::list) {
            headers.insert(WARNINGS, warnings);
        }
    }
}

impl RequestLog {
    /// `path` is masked: what rules find in it does not stand there.
    pub(crate) fn new(method: &Method, path: &Arc<str>, counters: &Arc<Counters>) -> Self {
        RequestLog {
            method: method.clone(),
            path: Arc::clone(path),
            began: Instant::now(),
            status: None,
            progress: Arc::new(RequestProgress::new(counters)),
            answered: 0,
            complete: None,
            _in_flight: counters.in_flight(),
        }
    }

    /// Follows the answer to its end.
    pub(crate) fn follow(mut self, status: StatusCode, body: Content) -> Content {
        self.status = Some(status);
        WatchedBody::content(body, self)
    }
}

impl BodyWatch for RequestLog {
    fn take(&mut self, data: &Bytes) {
        self.answered += data.len();
    }

    fn end(&mut self, complete: bool) {
        self.complete.get_or_insert(complete);
    }
}

impl Drop for RequestLog {
    fn drop(&mut self) {
        let marks = std::mem::take(&mut *lock(&self.progress.marks));
        let verdict = marks.refused.map_or("forwarded", Code::as_str);
        let (edits, redactions) = marks.made();
        let (tally, _) = marks.judged.unwrap_or_default();
        tracing::info!(
            target: "leafgate::request",
            method = method_name(&self.method),
            path = %Visible(&self.path),
            status = self.status.map(|status| status.as_u16()),
            verdict = self.status.map_or(ABANDONED, |_| verdict),
            generation = marks.generation.as_deref(),
            rules = %tally.rules.join(","),
            would = (!tally.would.is_empty()).then(|| tally.would.join("; ")),
            held = tally.held.as_deref(),
            routed = marks.routed.as_deref(),
            adapted = marks.adapted.as_deref(),
            assembled = tally.assembled.as_deref(),
            errors = (!tally.errors.is_empty()).then(|| tally.errors.join("; ")),
            edits,
            redactions,
            files_read = (tally.files_read > 0).then_some(tally.files_read),
            unread = (tally.unread > 0).then_some(tally.unread),
            bytes_received = marks.received,
            paused = marks.paused,
            answer = marks.ruled.as_ref().map(|(outcome, _)| outcome.as_str()),
            answer_rules = marks.ruled.as_ref().map(|(_, rules)| rules.as_str()),
            bytes_sent = marks.sent,
            bytes_answered = self.answered,
            complete = self.complete == Some(true),
            ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX),
        );
    }
}

const METHODS: [&str; 9] = ["CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE"];

/// Returns a method of RFC 9110 or 5789. Any other word is the client's own text, and stays out.
fn method_name(method: &Method) -> &str {
    let method = method.as_str();
    if METHODS.contains(&method) { method } else { "other" }
}

/// A client's text with every character that is not printable ASCII as its number, `\u{1b}`. URLs have no other characters.
struct Visible<'t>(&'t str);

impl fmt::Display for Visible<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|character| match character {
            // A text that spells a number itself is not taken for one.
            '\\' => f.write_str("\\u{5c}"),
            ' '..='~' => f.write_char(character),
            _ => write!(f, "{}", character.escape_unicode()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_path_that_a_terminal_obeys_or_hides_is_logged_as_it_is() {
        let path = "/v1/a\u{1b}[2J\u{9b}31m\u{202e}x\u{200b}\u{feff}\n\\u{1b}\u{e000}é\u{7f}";
        let shown = Visible(path).to_string();
        assert!(shown.chars().all(|character| matches!(character, ' '..='~')), "{shown}");
        assert!(shown.starts_with("/v1/a\\u{1b}[2J\\u{9b}31m\\u{202e}x"), "{shown}");
        assert!(shown.contains("\\u{5c}u{1b}"), "{shown}");
        assert_eq!(Visible("/v1/chat/completions").to_string(), "/v1/chat/completions");
    }
}
