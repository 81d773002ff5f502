//! From the received bytes to those that leave, or to a refusal: decode, read as a tree, ask the policy, render.
//!
//! One call, without I/O, so that it can run on a blocking thread. It owns what it needs of one generation: a policy that is replaced
//! meanwhile does not matter to it.

use std::sync::Arc;

use bytes::Bytes;
use http::StatusCode;
use leafgate_policy::{Context, Evaluation, Hold, Policy, STRUCTURE, Verdict};
use leafgate_tree::{Document, Draft, Format, Limits, ParseError};
use leafgate_vault::Vault;

use crate::coding::{self, Caps, Coding};
use crate::log::Tally;
use crate::refusal::{Code, Refusal};
use crate::session::Sessions;

/// One request to judge.
pub(crate) struct Case {
    /// The body as received.
    pub(crate) body: Bytes,
    /// The codings it came in.
    pub(crate) codings: Vec<Coding>,
    pub(crate) caps: Caps,
    pub(crate) format: Format,
    /// The generation that judges it, whatever is loaded meanwhile.
    pub(crate) policy: Arc<Policy>,
    pub(crate) sessions: Arc<Sessions>,
}

/// A request that may leave.
pub(crate) struct Passed {
    pub(crate) body: Bytes,
    /// Whether the body leaves without the codings that it came in.
    pub(crate) decoded: bool,
    /// What its tokens stand for, where the answer may repeat them.
    pub(crate) vault: Option<Vault>,
}

/// The outcome, and what the policy did on the way to it.
pub(crate) struct Judged {
    pub(crate) outcome: Result<Passed, Refusal>,
    pub(crate) tally: Tally,
}

impl Case {
    pub(crate) fn judge(self) -> Judged {
        match self.read() {
            Ok(document) => self.ask(document),
            Err(refusal) => Judged { outcome: Err(refusal), tally: Tally::default() },
        }
    }

    fn read(&self) -> Result<Arc<Document>, Refusal> {
        let plain = coding::decode(self.body.clone(), &self.codings, self.caps)?;
        Document::parse(plain, self.format, &Limits::default()).map(Arc::new).map_err(unreadable)
    }

    fn ask(self, document: Arc<Document>) -> Judged {
        let session = self.sessions.of(&document);
        let context = Context { session: &session.key, agent: None, subagent: false };
        let evaluation = self.policy.evaluate(document, &context, &session.vault);
        let tally = tally(&evaluation);
        let outcome = match &evaluation.verdict {
            Verdict::Forward => Ok(self.render(&evaluation.draft, session.vault)),
            Verdict::Pause(holds) => Err(paused(holds)),
            Verdict::Block(hold) => Err(blocked(hold)),
        };
        Judged { outcome, tally }
    }

    fn render(self, draft: &Draft, vault: Vault) -> Passed {
        let vault = (self.format == Format::OpenaiChat).then_some(vault);
        let rendered = draft.render();
        if rendered == draft.document().source() {
            return Passed { body: self.body, decoded: false, vault };
        }
        Passed { body: rendered, decoded: !self.codings.is_empty(), vault }
    }
}

/// Not JSON, or too much of it. The error says where, never what stood there.
fn unreadable(error: ParseError) -> Refusal {
    let message = format!("the request body cannot be read: {error}");
    if error.is_cap() { Refusal::too_large(message) } else { Refusal::malformed(message) }
}

fn blocked(hold: &Hold) -> Refusal {
    blocked_as(format!("blocked by this gate: {}", because(hold)))
}

/// The rule and its reason. The detail is for the operator, who finds it with `leafgate apply --json`.
fn because(hold: &Hold) -> String {
    match &*hold.rule {
        STRUCTURE => hold.reason.clone(),
        rule => format!("rule `{rule}`: {}", hold.reason),
    }
}

fn paused(holds: &[Hold]) -> Refusal {
    let holds: Vec<_> = holds.iter().map(because).collect();
    blocked_as(format!(
        "a person must look at this request ({}), and pauses are not answered by this version",
        holds.join("; ")
    ))
}

/// 400, because SDKs read 401 and 403 as a failed login and retry 409 and 429.
fn blocked_as(message: String) -> Refusal {
    Refusal::new(StatusCode::BAD_REQUEST, Code::Blocked, message)
}

fn tally(evaluation: &Evaluation) -> Tally {
    let matched = evaluation.report.rules.iter().filter(|rule| rule.matched > 0);
    Tally {
        rules: matched.map(|rule| rule.rule.to_string()).collect(),
        edits: evaluation.draft.edits().count(),
        redactions: evaluation.draft.redactions().count(),
    }
}
