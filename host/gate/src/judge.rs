//! From the received bytes to those that leave, or to a refusal: decode, read as a tree, ask the policy, render.
//!
//! One call, without I/O, so that it can run on a blocking thread. It owns what it needs of one generation: a policy that is replaced
//! meanwhile does not matter to it. A request that comes again while the first one waits for a person is not judged: it joins.

use std::sync::Arc;

use bytes::Bytes;
use http::StatusCode;
use leafgate_desk::{Target, Title};
use leafgate_policy::{Context, Evaluation, Hold, Policy, Recall, STRUCTURE, Verdict};
use leafgate_tree::{Document, Draft, Limits, ParseError};

use crate::apis::Api;
use crate::coding::{self, Caps, Coding};
use crate::hold::Held;
use crate::log::Tally;
use crate::pending::{Paused, TurnGuard, Turns, Waiter};
use crate::refusal::{Code, Refusal};
use crate::restore::Restoring;
use crate::session::{Hint, Session, Sessions};

/// One request to judge.
pub(crate) struct Case {
    /// The body as received.
    pub(crate) body: Bytes,
    /// The codings it came in.
    pub(crate) codings: Vec<Coding>,
    pub(crate) caps: Caps,
    pub(crate) api: Api,
    /// What its header says about its conversation.
    pub(crate) hint: Option<Hint>,
    /// The generation that judges it, whatever is loaded meanwhile.
    pub(crate) policy: Arc<Policy>,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) turns: Arc<Turns>,
    /// Where it would go.
    pub(crate) target: Target,
    /// The client program that sent it.
    pub(crate) agent: &'static str,
}

/// What becomes of a request that is not refused.
pub(crate) enum Outcome {
    /// It may leave.
    Pass(Passed),
    /// A person must decide.
    Wait(Held),
}

/// A body as it came over the wire.
#[derive(Clone)]
pub(crate) struct Received {
    pub(crate) body: Bytes,
    /// Whether it is compressed.
    pub(crate) coded: bool,
}

impl Received {
    /// What leaves for it: the very bytes that came where nothing was edited, or else `rendered`, which is never compressed.
    pub(crate) fn passed(self, source: &Bytes, rendered: Bytes, restoring: Option<Restoring>) -> Passed {
        if rendered == source {
            return Passed { body: self.body, decoded: false, restoring };
        }
        Passed { body: rendered, decoded: self.coded, restoring }
    }
}

/// A request that may leave.
pub(crate) struct Passed {
    pub(crate) body: Bytes,
    /// Whether the body leaves without the codings that it came in.
    pub(crate) decoded: bool,
    /// How its answer is restored, where it may repeat tokens.
    pub(crate) restoring: Option<Restoring>,
}

/// The outcome, and what the policy did on the way to it.
pub(crate) struct Judged {
    pub(crate) outcome: Result<Outcome, Refusal>,
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
        let limits = Limits::default();
        let document = match self.api.format() {
            Some(format) => Document::parse(plain, format, &limits),
            None => Document::detect(plain, &limits),
        };
        document.map(Arc::new).map_err(unreadable)
    }

    fn ask(self, document: Arc<Document>) -> Judged {
        let session = self.sessions.of(&document, self.hint.as_ref());
        if let Some(waiter) = self.turns.join(&session.key, &self.target, &document) {
            return Judged { outcome: Ok(self.held(&document, waiter)), tally: Tally::default() };
        }
        let context = Context { session: &session.key, agent: Some(self.agent) };
        let evaluation = self.policy.evaluate(document, &context, &session.vault);
        let tally = tally(&evaluation);
        let Evaluation { draft, verdict, recall, .. } = evaluation;
        let outcome = match verdict {
            Verdict::Forward => {
                let document = draft.document();
                let thread = self.sessions.thread(&session.key);
                let restoring = Restoring::of(self.api, document, session.vault, thread);
                Ok(Outcome::Pass(self.received().passed(document.source(), draft.render(), restoring)))
            }
            Verdict::Pause(holds) => Ok(self.pause(session, draft, holds, recall)),
            Verdict::Block(hold) => Err(blocked(&hold)),
        };
        Judged { outcome, tally }
    }

    fn pause(self, session: Session, draft: Draft, holds: Vec<Hold>, recall: Recall) -> Outcome {
            agent: self.agent,
        let document = Arc::clone(draft.document());
        let guard = TurnGuard {
            policy: Arc::clone(&self.policy),
            generation: self.policy.generation_name().into(),
            session: session.key,
            vault: session.vault,
            recall,
        };
        let location = if self.api.converses() { "chat" } else { "request" };
        let waiter = self.turns.pause(Paused {
            target: self.target.clone(),
            title: Title { location: location.into(), name: self.agent.into() },
            draft,
            holds,
            guard: Arc::new(guard),
        });
        self.held(&document, waiter)
    }

    fn held(self, document: &Document, waiter: Waiter) -> Outcome {
        let guard = waiter.guard();
        let thread = self.sessions.thread(&guard.session);
        let restoring = Restoring::of(self.api, document, guard.vault.clone(), thread);
        Outcome::Wait(Held {
            waiter,
            restoring,
            source: document.source().clone(),
            streams: self.api.streams(document),
            api: self.api,
            received: self.received(),
        })
    }

    fn received(&self) -> Received {
        Received { body: self.body.clone(), coded: !self.codings.is_empty() }
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

/// 400, because SDKs read 401 and 403 as a failed login and retry 409 and 429.
fn blocked_as(message: String) -> Refusal {
    Refusal::new(StatusCode::BAD_REQUEST, Code::Blocked, message)
}

fn tally(evaluation: &Evaluation) -> Tally {
    let matched = evaluation.report.rules.iter().filter(|rule| rule.matched > 0);
    let errors = evaluation
        .report
        .rules
        .iter()
        .flat_map(|rule| rule.errors.iter().map(move |error| (&rule.rule, error)));
    Tally {
        held: match &evaluation.verdict {
            Verdict::Block(hold) => Some(format!("{}: {}", hold.rule, hold.detail)),
            _ => None,
        },
        errors: errors.map(|(rule, error)| format!("{rule}: {error}")).collect(),
        rules: matched.map(|rule| rule.rule.to_string()).collect(),
        edits: evaluation.draft.edits().count(),
        redactions: evaluation.draft.redactions().count(),
    }
}
