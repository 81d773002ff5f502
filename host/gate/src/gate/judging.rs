//! How a request comes to be judged: its body is read, what is known beside it is put together, and
//! the work is done here or on the blocking pool (`pool`).

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use http::{Method, request};
use hyper::body::Incoming;
use leafgate_admin::shown_url;
use leafgate_policy::{Assembly, Policy};
use leafgate_record::{RecordId, RequestRecord};
use leafgate_vault::Vault;

use super::Shared;
use crate::agent;
use crate::apis::{Api, Wants};
use crate::files::Files;
use crate::judge::{Bodyless, Case, Judged, Outcome};
use crate::log::{self, RequestLog, RequestLogProgress, Tally};
use crate::multipart;
use crate::outside::OutsideTexts;
use crate::pending::{self, ClassHint};
use crate::recording::Recording;
use crate::routed::Before;
use crate::session::Hints;
use crate::upstreams::Lane;
use leafgate_http::body;
use leafgate_http::budget::Reservation;
use leafgate_http::coding::{self, Caps, Coding};
use leafgate_http::in_place::INLINE_BODY;
use leafgate_http::refusal::Refusal;

/// A body as it came.
pub(crate) struct Came {
    pub(crate) body: Bytes,
    pub(crate) codings: Vec<Coding>,
    pub(crate) reservation: Reservation,
}

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
    /// The rule that sent it here, and what was counted before it did.
    pub(crate) sent_by: Option<(Arc<str>, Before)>,
}

impl Shared {
    /// Has a request without a body judged by what it says elsewhere.
    pub(super) async fn judge_bodyless(
        &self,
        lane: &Lane,
        parts: &request::Parts,
        policy: Arc<Policy>,
        request_log: &mut RequestLog,
    ) -> Result<(), Refusal> {
        request_log.generation(policy.generation_name());
        let elsewhere = policy.has_plugins();
        let bodyless = Bodyless {
            outside: OutsideTexts::of(parts),
            agent: agent::agent(&parts.headers),
            wants: wants_bodyless(lane, parts),
            to: pending::destination(lane, parts),
            lane: lane.name().map(Into::into),
            policy,
            vault: self.unnamed_vault(),
        };
        let (judged, tally) = match elsewhere {
            true => self.on_worker(move || bodyless.judge()).await?,
            false => bodyless.judge(),
        };
        self.counters.judged(&tally);
        request_log.judged(tally);
        judged
    }

    /// Returns a path as the log shows it, with all findings masked.
    pub(super) async fn shown_path(&self, path: &str, policy: &Arc<Policy>) -> String {
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

    /// A vault of no session: it knows our tokens and remembers nothing.
    pub(crate) fn unnamed_vault(&self) -> Vault {
        Vault::new(self.keys.clone())
    }

    /// Reads a body.
    pub(super) async fn read(
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
        request_log.progress().received(body.len());
        Ok(Came { body, codings, reservation })
    }

    /// Has a body judged.
    pub(crate) async fn walk(
        &self,
        walked: Walked<'_>,
        came: Came,
        request_log: &mut RequestLog,
    ) -> Result<Outcome, Refusal> {
        let Walked { lane, client, parts, chosen, policy, sent_by } = walked;
        let (routed, before) = sent_by.unzip();
        let api = Api::of(lane.kind, &parts.method, &parts.uri, &parts.headers);
        let raw = lane.is_raw(parts.uri.path());
        let boundary = match raw || api.format().is_some() {
            true => None,
            false => multipart::boundary(&parts.headers)?,
        };
        let case = Case {
            raw,
            boundary,
            may_route: routed.is_none(),
            routed,
            before,
            chosen,
            ..self.case(lane, client, parts, policy, came)
        };
        let (outcome, tally) =
            self.judge_told(case, &parts.method, request_log.path(), &request_log.progress()).await?;
        request_log.judged(tally);
        outcome
    }

    /// Returns a body that is to be judged once, and sent as JSON with the head of `parts`; `client` is the head that came.
    pub(crate) fn case(
        &self,
        lane: &Lane,
        client: &request::Parts,
        parts: &request::Parts,
        policy: Arc<Policy>,
        came: Came,
    ) -> Case {
        let Came { body, codings, reservation } = came;
        let api = Api::of(lane.kind, &parts.method, &parts.uri, &parts.headers);
        Case {
            body,
            codings,
            reservation,
            caps: Caps { size: self.limits.body, ratio: self.limits.ratio },
            limits: self.limits.document,
            raw: false,
            boundary: None,
            files: Files::new(&self.file_reader, lane.on_unread),
            restore: lane.restore,
            intercepts: self.intercepts(parts.uri.path()),
            api,
            model: api.model(parts.uri.path()).map(Into::into),
            other_model: None,
            outside: Arc::new(OutsideTexts::of(parts)),
            hints: Hints::of(&client.headers),
            class: ClassHint::of(&client.headers),
            policy,
            sessions: Arc::clone(&self.sessions),
            turns: Arc::clone(&self.turns),
            to: pending::destination(lane, parts),
            lane: lane.name().map(Into::into),
            routed: None,
            before: None,
            may_route: false,
            agent: agent::agent(&client.headers).into(),
            chosen: None,
            assembler: Some(Arc::clone(&self.assembler)),
            assembly: None,
            answers_cancel: self.answer_cancelled.then(|| parts.uri.path().to_owned()),
            session: None,
            asker: None,
            recorded: false,
            trial: None,
        }
    }

    /// Has a body judged, counts what the policy did, and keeps what a recorder will be told of it in
    /// `progress`. `path` is masked.
    pub(crate) async fn judge_told(
        &self,
        mut case: Case,
        method: &Method,
        path: &str,
        progress: &RequestLogProgress,
    ) -> Result<(Result<Outcome, Refusal>, Tally), Refusal> {
        let recorder = self.recorder().cloned();
        case.recorded = recorder.is_some();
        case.trial = self.policy.turn(&case.policy);
        let (at, began) = (SystemTime::now(), Instant::now());
        let (received, coded) = (case.body.clone(), !case.codings.is_empty());
        let (policy, upstream_name) = (Arc::clone(&case.policy), case.lane.clone());
        let upstream = if recorder.is_some() { shown_url(&case.to.upstream) } else { String::new() };
        let agent = Arc::clone(&case.agent);
        let before = case.before.take();
        let Judged { mut outcome, tally, seen } = self.judge(case).await?;
        let judging = self.count(began.elapsed(), &tally, before.as_ref());
        if let Ok(Outcome::Route(rerouted)) = &mut outcome {
            rerouted.before = Before { tally: tally.clone(), judging };
        } else {
            self.counters.metrics.judged(judging);
        }
        if let (Some(recorder), Some(seen)) = (recorder, seen) {
            let record = Box::new(RequestRecord {
                id: RecordId(0),
                at,
                method: method.to_string(),
                path: path.to_owned(),
                upstream: upstream.into(),
                upstream_name,
                api: seen.api.name(),
                answers: seen.api.answers(),
                provider: seen.api.dialect.provider,
                agent,
                class: seen.class.name(),
                session: seen.session,
                model: seen.model,
                policy,
                verdict: "forwarded",
                rules: tally.rules.clone(),
                held: tally.held.clone(),
                edits: seen.edits.into(),
                received,
                source: seen.source,
                sent: None,
                coded,
                approved: None,
                judging,
                waiting: None,
            });
            let waits = matches!(outcome, Ok(Outcome::Wait(_)));
            progress.records(Recording::new(recorder, record, waits));
        }
        Ok((outcome, tally))
    }

    /// Counts what rules did, and what of it is new where the request was judged before. Gives how long
    /// judging it took in all.
    fn count(&self, took: Duration, tally: &Tally, before: Option<&Before>) -> Duration {
        let Some(before) = before else {
            self.counters.judged(tally);
            return took;
        };
        self.counters.judged_further(&tally.beyond(&before.tally));
        before.judging + took
    }

    /// Judges here what is quickly judged, and elsewhere what would keep other requests waiting.
    pub(crate) async fn judge(&self, case: Case) -> Result<Judged, Refusal> {
        let large = case.body.len() > INLINE_BODY || !case.codings.is_empty();
        if large || !case.policy.assemblies().is_empty() {
            return self.on_blocking_pool(move || case.judge()).await;
        }
        match case.policy.has_plugins() {
            true => self.on_worker(move || case.judge()).await,
            false => Ok(case.judge()),
        }
    }

    /// Returns whether a mode may pause requests of this path.
    pub(crate) fn intercepts(&self, path: &str) -> bool {
        self.intercept.is_empty() || self.intercept.iter().any(|pattern| pattern.is(path))
    }
}

/// What a request without a body wants to have. To delete something is answered with no more than that it is gone.
fn wants_bodyless(lane: &Lane, parts: &request::Parts) -> Wants {
    match parts.method {
        Method::HEAD | Method::DELETE => Wants::Data,
        _ => Api::of(lane.kind, &parts.method, &parts.uri, &parts.headers).wants(parts.uri.path()),
    }
}
