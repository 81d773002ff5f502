//! How a request comes to be judged: its body is read, what is known beside it is put together, and
//! the work is done here or on the blocking pool (`pool`).

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use http::{Method, request};
use hyper::body::Incoming;
use leafgate_policy::{Assembly, Context, Policy};

use super::bodyless::judge_bodyless;
use super::{JudgeCase, JudgedCase};
use crate::agent;
use crate::apis::{Api, Wants};
use crate::files::RequestFiles;
use crate::log::{self, RequestLog, RequestProgress};
use crate::multipart;
use crate::outside::OutsideTexts;
use crate::pending::{self, ClassHint};
use crate::recording::Recording;
use crate::request_event::RequestEvent;
use crate::session::Hints;
use crate::shared::Shared;
use crate::stages::{Came, RequestOutcome};
use crate::upstreams::Lane;
use leafgate_http::body;
use leafgate_http::coding::{self, CodingCaps};
use leafgate_http::in_place::INLINE_BODY;
use leafgate_http::refusal::Refusal;

/// A body that is to be judged: where it goes, and with what head.
pub(crate) struct Walked<'w> {
    pub(crate) lane: &'w Lane,
    /// The head that came.
    pub(crate) client: &'w request::Parts,
    /// The head that leaves.
    pub(crate) parts: &'w request::Parts,
    /// The profile that its base URL chose.
    pub(crate) chosen: Option<Arc<Assembly>>,
    pub(crate) policy: Arc<Policy>,
    /// The rule that sent it here.
    pub(crate) sent_by: Option<Arc<str>>,
}

impl Shared {
    /// Has a request without a body judged by what it says elsewhere.
    pub(crate) async fn judge_bodyless(
        &self,
        lane: &Lane,
        parts: &request::Parts,
        policy: Arc<Policy>,
        request_log: &mut RequestLog,
    ) -> Result<(), Refusal> {
        request_log.generation(policy.generation_name());
        let (texts, wants) = (OutsideTexts::of(parts), wants_bodyless(lane, parts));
        let (to, upstream_name) = (pending::destination(lane, parts), lane.name().map(str::to_owned));
        let (agent, vault) = (agent::agent(&parts.headers), self.unnamed_vault());
        let judging = Arc::clone(&policy);
        let judge = move || {
            let context = Context {
                agent: Some(agent),
                upstream: Some(&to.upstream),
                upstream_name: upstream_name.as_deref(),
                endpoint: Some(to.endpoint()),
                outside: &texts.list(),
                ..Context::default()
            };
            judge_bodyless(&judging, &vault, &context, &wants)
        };
        let (judged, tally) = match policy.has_plugins() {
            true => self.on_worker(judge).await?,
            false => judge(),
        };
        request_log.progress().judged(&policy, tally, Duration::ZERO, false);
        judged
    }

    /// Returns a path as the log shows it, with all findings masked.
    pub(crate) async fn shown_path(&self, path: &str, policy: &Arc<Policy>) -> String {
        if log::is_fixed_path(path) {
            return path.to_owned();
        }
        let (path, vault) = (path.to_owned(), self.unnamed_vault());
        if !policy.has_plugins() {
            return policy.masked_target(&path, &vault);
        }
        let policy = Arc::clone(policy);
        let masked = self.on_worker(move || policy.masked_target(&path, &vault)).await;
        masked.unwrap_or_else(|_| log::WITHHELD.to_owned())
    }

    /// Reads a body.
    pub(crate) async fn read(
        &self,
        parts: &request::Parts,
        policy: &Policy,
        body: &mut Incoming,
        request_log: &mut RequestLog,
    ) -> Result<Came, Refusal> {
        request_log.generation(policy.generation_name());
        let codings = coding::codings(&parts.headers)?;
        let mut reservation = self.bodies.reserve();
        let body = body::read_within(body, self.bounds(), &mut reservation).await?;
        request_log.progress().tell(RequestEvent::Received(body.len()));
        Ok(Came { body, codings, reservation })
    }

    /// Has a body judged.
    pub(crate) async fn walk(
        &self,
        walked: Walked<'_>,
        came: Came,
        request_log: &mut RequestLog,
    ) -> Result<RequestOutcome, Refusal> {
        let Walked { lane, client, parts, chosen, policy, sent_by } = walked;
        let api = Api::of(lane.kind, &parts.method, &parts.uri, &parts.headers);
        let raw = lane.is_raw(parts.uri.path());
        let boundary = match raw || api.format.is_some() {
            true => None,
            false => multipart::boundary(&parts.headers)?,
        };
        let case = JudgeCase {
            raw,
            boundary,
            may_route: sent_by.is_none(),
            routed: sent_by,
            chosen,
            ..self.case(lane, client, parts, policy, came)
        };
        self.judge_told(case, request_log.path(), &request_log.progress()).await
    }

    /// Returns a body that is to be judged once, and sent as JSON with the head of `parts`; `client` is the head that came.
    pub(crate) fn case(
        &self,
        lane: &Lane,
        client: &request::Parts,
        parts: &request::Parts,
        policy: Arc<Policy>,
        came: Came,
    ) -> JudgeCase {
        let api = Api::of(lane.kind, &parts.method, &parts.uri, &parts.headers);
        let hints = Hints::of(&client.headers);
        JudgeCase {
            came,
            caps: CodingCaps { size: self.limits.body, ratio: self.limits.ratio },
            limits: self.limits.document,
            raw: false,
            boundary: None,
            files: RequestFiles::new(&self.file_reader, lane.on_unread),
            restore: lane.restore,
            intercepts: self.intercepts(parts.uri.path(), hints.location_at(api)),
            api,
            model: api.model(parts.uri.path()).map(Into::into),
            other_model: None,
            tags: None,
            outside: Arc::new(OutsideTexts::of(parts)),
            hints,
            class: ClassHint::of(&client.headers),
            policy,
            sessions: Arc::clone(&self.sessions),
            turns: Arc::clone(&self.turns),
            to: pending::destination(lane, parts),
            lane: lane.name().map(Into::into),
            routed: None,
            may_route: false,
            agent: agent::agent(&client.headers).into(),
            chosen: None,
            assembler: Some(Arc::clone(&self.assembler)),
            assembly: None,
            answers_cancel: self.answer_cancelled.then(|| parts.uri.path().to_owned()),
            session: None,
            asker: None,
            recorded: None,
            trial: None,
        }
    }

    /// Has a body judged, tells what the policy did, and keeps what a recorder will be told of it in
    /// `progress`. `path` is masked.
    pub(crate) async fn judge_told(
        &self,
        mut case: JudgeCase,
        path: &str,
        progress: &RequestProgress,
    ) -> Result<RequestOutcome, Refusal> {
        let recorder = self.recorder().cloned();
        case.recorded = recorder.is_some().then(|| (SystemTime::now(), path.to_owned()));
        case.trial = self.policy.turn(&case.policy);
        let (policy, began) = (Arc::clone(&case.policy), Instant::now());
        let JudgedCase { outcome, tally, mut record } = self.judge(case).await?;
        if let Some(record) = &mut record {
            (record.rules, record.held) = (tally.rules.clone(), tally.held.clone());
        }
        let is_timed = !matches!(outcome, Ok(RequestOutcome::Route(_)));
        let judging = progress.judged(&policy, tally, began.elapsed(), is_timed);
        if let (Some(recorder), Some(mut record)) = (recorder, record) {
            record.judging = judging;
            let waits = matches!(outcome, Ok(RequestOutcome::Wait(_)));
            progress.records(Recording::new(recorder, record, waits));
        }
        outcome
    }

    /// Judges here what is quickly judged, and elsewhere what would keep other requests waiting.
    pub(crate) async fn judge(&self, case: JudgeCase) -> Result<JudgedCase, Refusal> {
        let large = case.came.body.len() > INLINE_BODY || case.came.is_coded();
        if large || !case.policy.assemblies().is_empty() {
            return self.on_blocking_pool(move || case.judge()).await;
        }
        match case.policy.has_plugins() {
            true => self.on_worker(move || case.judge()).await,
            false => Ok(case.judge()),
        }
    }
}

/// What a request without a body wants to have. To delete something is answered with no more than that it is gone.
fn wants_bodyless(lane: &Lane, parts: &request::Parts) -> Wants {
    match parts.method {
        Method::HEAD | Method::DELETE => Wants::Data,
        _ => Api::of(lane.kind, &parts.method, &parts.uri, &parts.headers).wants(parts.uri.path()),
    }
}
