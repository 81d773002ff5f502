//! What a gate tells a recorder: each request that it judged, with the bytes that came and left, and
//! what was heard of the answer while it comes.
//!
//! A recorder is told what happens, on the way of a request, so it must not wait: bodies are shared
//! and not copied, and whatever has to be masked, hashed or written is its own to do elsewhere. What
//! it is told holds secrets, as the request does.
//!
//! Told are requests with a body of a known API, once: when they are sent, or when it is certain
//! that they will not be. A recorder that must have every request may have the gate wait, and
//! refuse where it cannot keep one.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::StatusCode;
use leafgate_admin::{Ruled, StoreStatus};
use leafgate_answer::{Api as AnswerApi, Delta, Summary};
use leafgate_desk::{Destination, Digest};
use leafgate_policy::Policy;
use leafgate_words::words;
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

/// Where the paths of named upstreams begin.
pub const NAMED_UPSTREAMS: &str = "/u/";

/// Who keeps what passes a gate.
pub trait Recorder: Send + Sync {
    /// A request leaves, or never will.
    fn request(&self, request: Box<RequestRecord>) -> Recorded;

    /// Something of the answer to a request.
    fn answer(&self, request: RecordId, part: AnswerPart);

    /// A person asks for the value of a token, and gets it once this is kept.
    fn reveal(&self, _: RevealRecord) -> Recorded {
        Recorded::Taken
    }

    /// Whether it must have every request, those too that nobody would read but for it.
    fn is_required(&self) -> bool {
        false
    }

    /// Has it write what it was told so far, and says when that is kept; `None` where it keeps none.
    fn flush(&self) -> Option<oneshot::Receiver<()>> {
        None
    }

    /// How its log is, where it keeps one.
    fn status(&self) -> Option<StoreStatus> {
        None
    }
}

/// Two recorders that are told the same. What the first says about a request counts.
pub struct Both(pub Arc<dyn Recorder>, pub Arc<dyn Recorder>);

impl Recorder for Both {
    fn request(&self, request: Box<RequestRecord>) -> Recorded {
        let second = self.1.request(request.clone());
        match (self.0.request(request), second) {
            // The second one hears of the answer.
            (Recorded::Missed, Recorded::Taken | Recorded::Awaited(_)) => Recorded::Taken,
            (first, _) => first,
        }
    }

    fn answer(&self, request: RecordId, part: AnswerPart) {
        self.1.answer(request, part.clone());
        self.0.answer(request, part);
    }

    fn reveal(&self, reveal: RevealRecord) -> Recorded {
        let _ = self.1.reveal(reveal.clone());
        self.0.reveal(reveal)
    }

    fn is_required(&self) -> bool {
        self.0.is_required() || self.1.is_required()
    }

    fn flush(&self) -> Option<oneshot::Receiver<()>> {
        self.0.flush().or_else(|| self.1.flush())
    }

    fn status(&self) -> Option<StoreStatus> {
        self.0.status().or_else(|| self.1.status())
    }
}

/// What a recorder says about a request that it was told of.
#[derive(Debug)]
pub enum Recorded {
    /// The request goes on at once, and is kept if nothing fails.
    Taken,
    /// The request goes on at once. It is not kept, so nothing of its answer is wanted.
    Missed,
    /// The request goes on when this says that it is kept, and is refused where it is not.
    Awaited(oneshot::Receiver<()>),
    /// The request must not go on: it cannot be kept.
    Refused,
}

/// The number of a request in one process, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RecordId(pub u64);

/// A request that was judged. `Debug` prints no text of it.
#[derive(Clone, derive_more::Debug)]
#[debug("RequestRecord {{ id: {id:?}, verdict: {verdict:?}, .. }}")]
pub struct RequestRecord {
    /// Its number; 0 for one that never left.
    pub id: RecordId,
    /// When it came.
    pub at: SystemTime,
    /// The HTTP method.
    pub method: String,
    /// The path without its query; what rules find in it is masked.
    pub path: String,
    /// The URL of the upstream, as people are shown it: without what may be a key.
    pub upstream: Arc<str>,
    /// What the configuration calls that upstream, where it has a name.
    pub upstream_name: Option<Arc<str>>,
    /// The API that it asks, by our own name.
    pub api: &'static str,
    /// The API of its answers; `None` for one whose answers are no turns of a conversation.
    pub answers: Option<AnswerApi>,
    /// Whose API it is, whoever serves it, as OpenTelemetry names providers.
    pub provider: &'static str,
    /// The client program, or the agent of a team: `agents/reviewer`.
    pub agent: Arc<str>,
    /// Whose request it is: `main`, `subagent`, `side`.
    pub class: &'static str,
    /// The key of its conversation: opaque, the same for every turn.
    pub session: Arc<str>,
    /// The model that it asks.
    pub model: Option<String>,
    /// The policy that judged it.
    pub policy: Arc<Policy>,
    /// `forwarded`, or why it was not, as a refusal's code says it.
    pub verdict: &'static str,
    /// The rules that matched, by id.
    pub rules: Vec<String>,
    /// What held it, for an operator. No text of a leaf.
    pub held: Option<String>,
    /// What was changed.
    pub edits: Arc<[RecordedEdit]>,
    /// The body as it came.
    pub received: Bytes,
    /// The same without its codings.
    pub source: Bytes,
    /// The body that leaves; `None` where nothing does.
    pub sent: Option<Bytes>,
    /// Whether it came in codings. Where it leaves unchanged, it leaves in them too.
    pub coded: bool,
    /// What was agreed to, where it waited.
    pub approved: Option<RecordedApproval>,
    /// How long the gate took, without the time that it waited for a person.
    pub judging: Duration,
    /// How long it waited for a person.
    pub waiting: Option<Duration>,
}

/// What was let go after it had waited.
#[derive(Clone, Debug)]
pub struct RecordedApproval {
    /// Where the request goes.
    pub to: Destination,
    /// The digest of that and of the body that was shown.
    pub digest: Digest,
    /// Who let it go: `user`, a person, or `timeout`, where a rule lets it go when nobody decides.
    pub by: &'static str,
}

/// A change of a request, without the values. What is told of it in a log has its path masked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedEdit {
    /// `redact`, or what an edit does: `set`, `delete`, `restore`, `insert`, `option`, `release`, `reset`.
    pub kind: Cow<'static, str>,
    /// The display path of its place, keys as the client spelled them.
    pub path: String,
    /// The id of the rule, `saved:` and the id of a saved edit, or `person`; for a release `person:`
    /// and the id of the rule that had redacted.
    pub rule: String,
    /// What a redaction recognised.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<Arc<str>>,
    /// Which detector did, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detector: Option<String>,
    /// Bytes that a redaction took away.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<usize>,
}

/// Something of an answer.
#[derive(Clone, Debug)]
pub enum AnswerPart {
    /// It begins.
    Head {
        /// Its status.
        status: StatusCode,
        /// How long the upstream took to begin.
        after: Duration,
    },
    /// More of what it says, as it was heard of the upstream.
    Said(Arc<[Delta]>),
    /// It has ended.
    End {
        /// Whether it was whole.
        complete: bool,
        /// What was read of it; `None` where nobody can, as of an answer of no conversation.
        answer: Option<Arc<Summary>>,
    },
    /// What rules and people made of it, or that it waits for a person. It may come before its end or
    /// long after it, and again: the last word counts.
    Ruled {
        /// What it came to.
        outcome: AnswerOutcome,
        /// The rules that matched, by id.
        rules: Vec<String>,
    },
}

/// Somebody asks for the value that a token stands for. The value is no part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevealRecord {
    /// When.
    pub at: SystemTime,
    /// The token.
    pub token: String,
    /// The key of the conversation that remembers the value.
    pub session: Arc<str>,
    /// Who asks, as the caller says.
    pub by: String,
}

words! {
    /// What rules, profiles and people made of an answer. Of two, the greater one tells more.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum AnswerOutcome {
        /// Rules matched in it, and it left as it came.
        Passed = "passed" / "passed",
        /// Response rules changed it.
        Changed = "changed" / "changed",
        /// Its tool calls wait for a person.
        Held = "held" / "held for a person",
        /// A person let its tool calls go.
        Approved = "approved" / "approved",
        /// A person changed its tool calls.
        Edited = "edited" / "edited",
        /// A person let some of its tool calls go and refused the others: the model's words name those.
        PartlyRefused = "partly-refused" / "partly refused",
        /// Its tool calls were refused: the model's words say so in their place.
        Refused = "refused" / "refused",
        /// Its client left, or the gate ended, while its tool calls waited for a person.
        Abandoned = "abandoned" / "left while a person was asked",
        /// Its client got an error in its place.
        Blocked = "blocked" / "blocked",
    }
    /// Returns its word in logs and metrics.
    pub fn as_str = 0;
    /// What people read.
    pub fn label = 1;
}

impl AnswerOutcome {
    /// Returns its count among others.
    pub fn count(self, of: &mut Ruled) -> &mut u64 {
        match self {
            AnswerOutcome::Passed => &mut of.passed,
            AnswerOutcome::Changed => &mut of.changed,
            AnswerOutcome::Held => &mut of.held,
            AnswerOutcome::Approved => &mut of.approved,
            AnswerOutcome::Edited => &mut of.edited,
            AnswerOutcome::PartlyRefused => &mut of.partly_refused,
            AnswerOutcome::Refused => &mut of.refused,
            AnswerOutcome::Abandoned => &mut of.abandoned,
            AnswerOutcome::Blocked => &mut of.blocked,
        }
    }
}

/// Returns the name of the upstream in a path as it was recorded, where it has one, and the path that the
/// upstream was asked for. What a base URL chooses besides stands in no record.
pub fn chosen_upstream(path: &str) -> (Option<&str>, &str) {
    let Some(rest) = path.strip_prefix(NAMED_UPSTREAMS) else { return (None, path) };
    let (name, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    (Some(name), if path.is_empty() { "/" } else { path })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recorded_path_names_its_upstream() {
        for (path, there) in [
            ("/v1/messages", (None, "/v1/messages")),
            ("/u/far/v1/messages", (Some("far"), "/v1/messages")),
            ("/u/far", (Some("far"), "/")),
            ("/u/copilot/agents/v1/jobs", (Some("copilot"), "/agents/v1/jobs")),
            ("/users/v1/messages", (None, "/users/v1/messages")),
        ] {
            assert_eq!(chosen_upstream(path), there);
        }
    }
}
