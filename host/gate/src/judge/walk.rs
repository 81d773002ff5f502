//! How a request comes to be judged: its body is read, what is known beside it is put together, and
//! the work is done here or on the blocking pool (`pool`).

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use http::Method;
use hyper::body::Incoming;
use leafgate_policy::{Context, On, Policy, Verdict};

use super::{JudgeCase, JudgedCase};
use crate::agent;
use crate::apis::Wants;
use crate::blocked::{NOT_ELSEWHERE, blocked, unshowable};
use crate::exchange::Exchange;
use crate::files::RequestFiles;
use crate::log;
use crate::outside;
use crate::pending::{self, ClassHint};
use crate::recording::Recording;
use crate::ruled::refuse_unread;
use crate::session::Hints;
use crate::shared::Shared;
use crate::stages::{Along, Came, RequestOutcome};
use crate::subject::Subject;
use crate::tally::RuleTally;
use leafgate_http::{Refusal, body, coding};

impl Shared {
    /// Returns a path as the log shows it, with all findings masked.
    pub(crate) async fn shown_path(&self, path: &str, policy: &Arc<Policy>) -> String {
        if log::is_fixed_path(path) {
            return path.to_owned();
        }
        let (path, vault, masks) = (path.to_owned(), self.unnamed_vault(), Arc::clone(policy));
        let mask = move || masks.masked_target(&path, &vault);
        let masked = self.work(false, !policy.plugins().is_empty(), mask).await;
        masked.unwrap_or_else(|_| log::WITHHELD.to_owned())
    }
}

impl Exchange {
    /// Has a request without a body judged by what it says elsewhere. Nothing of it waits: a person would have nothing to look at.
    pub(crate) async fn judge_bodyless(&self) -> Result<(), Refusal> {
        let policy = &self.policy;
        self.progress.goes(|marks| marks.generation = Some(policy.generation_name().into()));
        let (subject, wants) = (self.subject(), self.wants_bodyless());
        let judge = move || {
            // Nobody knows who asks.
            let context = Context { subagent: None, ..subject.context(On::Request) };
            let evaluation = subject.policy.evaluate_outside(None, &context, &subject.vault);
            let judged = match &evaluation.verdict {
                Verdict::Forward => refuse_unread(&subject.policy, None, &context, &wants),
                Verdict::Block(hold) => Err(blocked(hold)),
                Verdict::Pause(holds) => Err(unshowable(holds)),
                Verdict::Route(route) => Err(blocked(&route.clone().refused(NOT_ELSEWHERE))),
            };
            (judged, RuleTally::of(&evaluation))
        };
        let (judged, tally) = self.work(false, !policy.plugins().is_empty(), judge).await?;
        self.progress.judged(policy, tally, Duration::ZERO, false);
        judged
    }

    /// What a request without a body wants to have. To delete something is answered with no more than that it is gone.
    fn wants_bodyless(&self) -> Wants {
        match self.parts.method {
            Method::HEAD | Method::DELETE => Wants::Data,
            _ => self.api.wants(self.parts.uri.path()),
        }
    }

    /// Reads a body.
    pub(crate) async fn read(&self, body: &mut Incoming) -> Result<Came, Refusal> {
        self.progress.goes(|marks| marks.generation = Some(self.policy.generation_name().into()));
        let codings = coding::codings(&self.parts.headers)?;
        let mut reservation = self.bodies.reserve();
        let body = body::read_within(body, self.bounds(), &mut reservation).await?;
        self.progress.goes(|marks| marks.received = body.len());
        Ok(Came::new(body, codings, reservation))
    }

    /// Returns what a request is judged by as far as its head tells: a conversation of its own.
    fn subject(&self) -> Subject {
        let to = pending::destination(&self.lane, &self.parts);
        Subject {
            agent: agent::agent(&self.client.headers).into(),
            lane: self.lane.name().map(Into::into),
            outside: outside::texts_of(&self.parts),
            ..Subject::new(&self.policy, self.api, to, self.unnamed_vault())
        }
    }

    /// Returns a body that is to be judged.
    pub(crate) fn case(&self, came: Came) -> JudgeCase {
        let Exchange { lane, client, parts, api, .. } = self;
        let model = api.model(parts.uri.path()).map(Into::into);
        let hints = Hints::of(&client.headers);
        JudgeCase {
            came,
            files: RequestFiles::new(&self.file_reader, lane.on_unread),
            intercepts: self.intercepts(parts.uri.path(), hints.location_at(*api)),
            subject: Arc::new(Subject { model, ..self.subject() }),
            along: Along::default(),
            hints,
            class: ClassHint::of(&client.headers),
            routed: None,
            chosen: None,
            assembly: None,
            assembled: None,
            of_team: None,
            asker: None,
            recorded: self.recorder.get().map(|_| SystemTime::now()),
            trial: self.shared.policy.turn(&self.policy),
            exchange: self.clone(),
        }
    }

    /// Has a body judged, tells what the policy did, and keeps what a recorder will be told of it.
    /// It is judged here where that is quick, and elsewhere where it would keep other requests waiting.
    pub(crate) async fn judge_told(&self, case: JudgeCase) -> Result<RequestOutcome, Refusal> {
        let began = Instant::now();
        let (is_large, has_plugins) =
            (case.came.is_large() || !self.policy.assemblies().is_empty(), !self.policy.plugins().is_empty());
        let judged = self.work(is_large, has_plugins, move || case.judge()).await?;
        let JudgedCase { outcome, tally, mut record } = judged;
        if let Some(record) = &mut record {
            (record.rules, record.held) = (tally.rules.clone(), tally.held.clone());
        }
        let is_timed = !matches!(outcome, Ok(RequestOutcome::Route(..)));
        let judging = self.progress.judged(&self.policy, tally, began.elapsed(), is_timed);
        if let (Some(recorder), Some(mut record)) = (self.recorder.get().cloned(), record) {
            record.judging = judging;
            let waits = matches!(outcome, Ok(RequestOutcome::Wait(_)));
            self.progress.records(Recording::new(recorder, record, waits));
        }
        outcome
    }
}
