//! One line of log per request, when its answer has ended, or its client has gone.
//!
//! It holds the method, the path without its query, and what can be counted. Never header values, queries, or text: neither the
//! request's nor the answer's, nor a reason that a plugin gave. A path is a client's text: whatever a terminal would obey or not show
//! stands there as its number.

use std::fmt::{self, Write as _};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use http::{Method, StatusCode};
use http_body::{Body, Frame, SizeHint};
use leafgate_policy::Policy;
use leafgate_record::{
    AnswerOutcome, AnswerPart, RecordId, Recorded, RecordedApproval, RecordedEdit, Recorder,
};

use crate::lock::lock;
use crate::recording::{Recording, ToldRequest};
use crate::request_event::RequestEvent;
use crate::status::{Counters, InFlight};
use crate::tally::RuleTally;
use leafgate_http::content::{self, Content, ContentError};
use leafgate_http::headers::list;
use leafgate_http::refusal::Code;

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
    progress: Arc<RequestProgress>,
    answered: usize,
    complete: bool,
    /// Until it is logged.
    _in_flight: InFlight,
}

/// The way that a request took.
#[derive(Clone, Default)]
pub(crate) struct RequestMarks {
    /// The generation that it is pinned to, or that its turn keeps.
    pub(crate) generation: Option<Arc<str>>,
    /// Whether it waited for a person.
    pub(crate) paused: bool,
    /// The upstream that a rule sent it to, where it was judged anew.
    pub(crate) routed: Option<Arc<str>>,
    /// Between which APIs it was adapted, and what got lost.
    pub(crate) adapted: Option<Arc<str>>,
}

/// What becomes of a request, known perhaps only when its answer has begun.
pub(crate) struct RequestProgress {
    /// Counts it, for metrics too.
    counters: Arc<Counters>,
    marks: Mutex<RequestMarks>,
    /// What the policy did so far, and how long that took.
    judged: Mutex<Option<(RuleTally, Duration)>>,
    refused: OnceLock<Code>,
    received: AtomicUsize,
    sent: AtomicUsize,
    /// Edits and redactions that stand in what a person let go.
    made: OnceLock<(usize, usize)>,
    /// What rules and people made of the answer, and the rules that matched.
    ruled: Mutex<Option<(AnswerOutcome, String)>>,
    /// What a recorder is told, until it was.
    recording: Mutex<Option<Recording>>,
    /// The recorder that was told, and under which number.
    told: Mutex<Option<(Arc<dyn Recorder>, RecordId)>>,
}

impl RequestProgress {
    pub(crate) fn new(counters: &Arc<Counters>) -> Self {
        RequestProgress {
            counters: Arc::clone(counters),
            marks: Mutex::default(),
            judged: Mutex::default(),
            refused: OnceLock::new(),
            received: AtomicUsize::new(0),
            sent: AtomicUsize::new(0),
            made: OnceLock::new(),
            ruled: Mutex::default(),
            recording: Mutex::default(),
            told: Mutex::default(),
        }
    }

    /// Notes which way it takes.
    pub(crate) fn goes(&self, mark: impl FnOnce(&mut RequestMarks)) {
        mark(&mut lock(&self.marks));
    }

    /// Tells all observers what happens to the request.
    pub(crate) fn tell(&self, event: RequestEvent<'_>) {
        self.counters.hear(event);
        self.counters.metrics.hear(event);
        self.hear(event);
    }

    /// Keeps it for the line of log, and hands on what a recorder is told.
    fn hear(&self, event: RequestEvent<'_>) {
        match event {
            RequestEvent::Received(bytes) => self.received.store(bytes, Relaxed),
            RequestEvent::Sent(bytes) => self.sent.store(bytes, Relaxed),
            RequestEvent::AnswerIs(outcome, rules) => {
                *lock(&self.ruled) = Some((outcome, rules.join(",")));
                if let Some((recorder, id)) = &*lock(&self.told) {
                    recorder.answer(*id, AnswerPart::Ruled { outcome, rules: rules.to_vec() });
                }
            }
            RequestEvent::Refused(refusal) => {
                let code = refusal.code;
                // A request is refused once.
                let _ = self.refused.set(code);
                if let Some(recording) = lock(&self.recording).take() {
                    recording.refused(code.as_str());
                }
                if let Some(cause) = &refusal.operator_message {
                    tracing::warn!(target: "leafgate::request", code = code.as_str(), cause, "{}", refusal.message);
                }
            }
            // What it was judged by is kept with the time that it took.
            RequestEvent::Judged { .. } | RequestEvent::Answered(..) | RequestEvent::Unanswered => {}
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
        let mut judged = lock(&self.judged);
        let (before, spent) = judged.take().unzip();
        let all = took + spent.unwrap_or_default();
        let new = before.as_ref().map(|before| tally.beyond(before));
        self.tell(RequestEvent::Judged {
            tally: new.as_ref().unwrap_or(&tally),
            is_first: new.is_none(),
            took: is_timed.then_some(all),
        });
        tally.add_before(before.unwrap_or_default());
        *judged = Some((tally, all));
        all
    }

    /// A request of so many bytes goes to the upstream, one of several that it takes to answer it.
    pub(crate) fn sent_for_frame(&self, bytes: usize) {
        self.sent.fetch_add(bytes, Relaxed);
    }

    /// Whether anything was decided about its answer.
    pub(crate) fn is_ruled(&self) -> bool {
        lock(&self.ruled).is_some()
    }

    /// The same was decided about the answer to a request that it took to answer it.
    pub(crate) fn ruled_as(&self, frame: &RequestProgress) {
        if let Some(ruled) = &*lock(&frame.ruled) {
            *lock(&self.ruled) = Some(ruled.clone());
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
        let _ = self.made.set(made);
        if let Some(recording) = &mut *lock(&self.recording) {
            recording.approved(approval, edits());
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
        let (told, recorded) = recording.as_mut()?.sent(id(), body.clone());
        match recorded {
            // Whatever form it leaves in, nobody keeps it: what came is needed no more.
            Recorded::Missed => *recording = None,
            Recorded::Taken | Recorded::Awaited(_) | Recorded::Refused => {
                *lock(&self.told) = Some(told.whom());
            }
        }
        Some((told, recorded))
    }

    /// It will not leave again.
    pub(crate) fn recorded(&self) {
        lock(&self.recording).take();
    }

    /// Tells the client which generation judged its request, and how much it changed.
    pub(crate) fn mark(&self, headers: &mut HeaderMap) {
        let RequestMarks { generation, routed, .. } = &*lock(&self.marks);
        let Some(name) = generation else { return };
        if let Ok(name) = HeaderValue::from_str(name) {
            headers.insert(GENERATION, name);
        }
        let judged = lock(&self.judged);
        let tally = judged.as_ref().map(|(tally, _)| tally);
        let (edits, redactions) = self.made(tally);
        headers.insert(EDITS, HeaderValue::from(edits + redactions));
        if let Some(to) = routed.as_ref().and_then(|to| HeaderValue::from_str(to).ok()) {
            headers.insert(ROUTED, to);
        }
        let warnings = tally.map(|tally| tally.warnings.iter().map(String::as_str));
        if let Some(warnings) = warnings.and_then(list) {
            headers.insert(WARNINGS, warnings);
        }
    }

    /// Edits and redactions in what left.
    fn made(&self, tally: Option<&RuleTally>) -> (usize, usize) {
        let by_policy = || tally.map(|tally| (tally.edits, tally.redactions)).unwrap_or_default();
        self.made.get().copied().unwrap_or_else(by_policy)
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
            complete: false,
            _in_flight: counters.in_flight(),
        }
    }

    /// For what happens from now on.
    pub(crate) fn progress(&self) -> Arc<RequestProgress> {
        Arc::clone(&self.progress)
    }

    /// Follows the answer to its end.
    pub(crate) fn follow(mut self, status: StatusCode, body: Content) -> Content {
        self.status = Some(status);
        self.complete = body.is_end_stream();
        content::stream(CountedBody { body, request_log: self })
    }
}

impl Drop for RequestLog {
    fn drop(&mut self) {
        let verdict = self.progress.refused.get().map_or("forwarded", |code| code.as_str());
        let (tally, _) = lock(&self.progress.judged).take().unwrap_or_default();
        let (edits, redactions) = self.progress.made(Some(&tally));
        let marks = lock(&self.progress.marks).clone();
        let ruled = lock(&self.progress.ruled).take();
        tracing::info!(
            target: "leafgate::request",
            method = method_name(&self.method),
            path = %Visible(&self.path),
            status = self.status.map(|status| status.as_u16()),
            verdict = self.status.map_or("abandoned", |_| verdict),
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
            bytes_received = self.progress.received.load(Relaxed),
            paused = marks.paused,
            answer = ruled.as_ref().map(|(outcome, _)| outcome.as_str()),
            answer_rules = ruled.as_ref().map(|(_, rules)| rules.as_str()),
            bytes_sent = self.progress.sent.load(Relaxed),
            bytes_answered = self.answered,
            complete = self.complete,
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

/// A body whose bytes are counted.
struct CountedBody {
    body: Content,
    request_log: RequestLog,
}

impl Body for CountedBody {
    type Data = Bytes;
    type Error = ContentError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, ContentError>>> {
        let frame = std::task::ready!(Pin::new(&mut self.body).poll_frame(context));
        let is_last = match &frame {
            Some(Ok(frame)) => {
                self.request_log.answered += frame.data_ref().map_or(0, Bytes::len);
                // Nobody polls behind them.
                frame.is_trailers()
            }
            Some(Err(_)) => return Poll::Ready(frame),
            None => true,
        };
        self.request_log.complete = is_last || self.body.is_end_stream();
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
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
