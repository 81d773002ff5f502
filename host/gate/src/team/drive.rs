//! A request to a team: begins a run or goes on with one, and carries its effects out.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::future::{AbortHandle, Abortable, Aborted, BoxFuture};
use futures_util::stream::FuturesUnordered;
use http::{HeaderMap, Response};
use leafgate_admin::{AgentEvent, AgentEventKind, Event, RawJson, RunState};
use leafgate_agents::{
    AgentName, Degraded, Frame, FrameId, FrameState, Happened, Opening, RequestId, Run, RunEffect,
    RunEffects, RunError, RunId, RunLimits, Team, Why,
};
use leafgate_answer::{Finish, Head, Reply};
use leafgate_desk::{PartsDigest, TurnClass};
use leafgate_tree::Document;
use scopeguard::ScopeGuard;
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::time::{sleep_until, timeout};

use super::ask::{FrameAnswer, Unanswered};
use super::begin::TeamRequest;
use super::give::{HeardReplies, mark_direct};
use super::live::{self, Given, LiveRun, Running, ShownPiece};
use super::plain::asker;
use super::progress;
use super::wire::{self, Body, TeamWire};
use crate::apis::Wants;
use crate::begun;
use crate::exchange::Exchange;
use crate::session::{Hints, Session};
use crate::teams::{Began, now};
use leafgate_http::{Content, Refusal};

/// How the names of a team's answers begin.
pub(super) const ANSWER: &str = "lga_";

/// Headers by which clients prove who they are.
const CREDENTIALS: [&str; 4] = ["authorization", "x-api-key", "api-key", "x-goog-api-key"];

/// What all requests of a run have in common while one answer of its client is made.
#[derive(derive_more::Deref)]
pub(super) struct RunCase {
    /// The client's present request, as of a body that is not compressed.
    #[deref]
    exchange: Exchange,
    pub(super) wire: &'static TeamWire,
    /// The client's present body.
    pub(super) document: Arc<Document>,
    pub(super) body: Arc<Body>,
    /// Whether its client asked for a stream of events.
    pub(super) streams: bool,
    /// What the client of a stream is shown; there while the run is driven.
    pub(super) live: Option<LiveRun>,
    pub(super) session: Session,
    /// What the run began with.
    pub(super) began: Began,
}

impl Exchange {
    /// Answers a request to the team.
    pub(crate) async fn run_team(self, request: TeamRequest) -> Result<Response<Content>, Refusal> {
        let streams = self.api.streams(&request.document);
        let (shows, pieces) = unbounded_channel();
        let run = self.clone().paced(request, streams.then_some(shows));
        let mut answer = Box::pin(live::answer(run, pieces, self.clone()));
        if !streams {
            return answer.await;
        }
        match timeout(self.limits.silence, &mut answer).await {
            Ok(answer) => answer,
            Err(_) => {
                let (api, every) = (self.api, self.limits.keepalive);
                let told = move |refusal: &Refusal| self.progress.refused(refusal);
                let answer = async move { answer.await.inspect_err(told) };
                Ok(begun::begin(answer, api, every))
            }
        }
    }

    /// Answers a request to the team piece by piece, among all other runs.
    fn paced(self, request: TeamRequest, shows: Option<UnboundedSender<ShownPiece>>) -> Running {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move {
            let run = self.team_answer(request, shows);
            shared.teams.pace.run(run).await.unwrap_or_else(|| {
                Err(Refusal::internal("the gate failed at this run of agents, so it is given up"))
            })
        })
    }

    /// `shows` where the client asked for a stream.
    async fn team_answer(
        mut self,
        request: TeamRequest,
        shows: Option<UnboundedSender<ShownPiece>>,
    ) -> Given {
        let serving = self.teams.team().ok_or_else(no_team)?;
        let TeamRequest { wire, document, body, answered, reservation: _held, at, by_model } = request;
        let session = self.sessions.of(&document, &Hints::of(&self.client.headers));
        let key = self.teams.key()?.client(&who(&session, &self.client.headers));
        // Bodies leave as we write them.
        Arc::make_mut(&mut self.parts).headers.remove(http::header::CONTENT_ENCODING);
        let now = self.teams.now();

        let ids: Vec<&str> = answered.results.iter().map(|result| result.id.as_str()).collect();
        let mut case = RunCase {
            began: Began { opening: Arc::clone(&body), policy: Arc::clone(&self.policy), answers: 0 },
            streams: self.api.streams(&document),
            exchange: self,
            document,
            wire,
            body,
            session,
            live: None,
        };
        let counts = matches!(case.api.wants(case.parts.uri.path()), Wants::Count(_));
        // A run that waits for its client goes on with a turn, and with no question about one.
        let waiting = if counts { None } else { case.teams.take(&key, ids) };
        if let Some((mut run, began)) = waiting {
            case.exchange.policy = Arc::clone(&began.policy);
            case.began = began;
            let said = answered.said.map(Into::into);
            let effects = run.answered(answered.results, said, now);
            let effects =
                effects.map_err(|error| Refusal::internal(format!("a run cannot go on: {error}")))?;
            return case.drive(run, effects, shows).await;
        }
        if let Some(own) = wire::without_delegated(wire, &case.body) {
            case.body = Arc::new(own);
            case.began.opening = Arc::clone(&case.body);
        }
        let opening = case.opening(&serving.team, by_model)?;
        let at = at.as_deref();
        match Run::start(Arc::clone(&serving.team), at, opening, key, RunLimits::default(), now) {
            Ok((run, _)) if counts => case.count(&run).await.map(Some),
            Ok((run, effects)) => case.drive(run, effects, shows).await,
            Err(RunError::NoAgent) if at.is_some() => Err(no_agent(&serving.team)),
            // A team without agents.
            Err(_) => case.plain(None).await.map(mark_direct).map(Some),
        }
    }
}

impl RunCase {
    /// What a run begins with; `by_model` where the model of the request names an agent.
    fn opening(&self, team: &Team, by_model: bool) -> Result<Opening, Refusal> {
        if let Some(why) = (self.wire.refuses)(&self.body) {
            return Err(Refusal::malformed(why));
        }
        let model = self.document.model().filter(|_| !by_model).map(|model| model.into_owned());
        if model.is_none() && team.settings.default_model.is_none() {
            return Err(Refusal::malformed(
                "the request names no model: name one, or set `leafgate.defaultModel` in the team's file",
            ));
        }
        let tools = wire::tool_names(self.wire, &self.body);
        Ok(Opening { id: RunId(random()?), model, tools, bytes: self.document.source().len() })
    }

    /// Carries out what a run wants, until its client is to be answered.
    async fn drive(
        mut self,
        run: Run,
        effects: RunEffects,
        shows: Option<UnboundedSender<ShownPiece>>,
    ) -> Given {
        self.began.answers += 1;
        let head = self.head(&run);
        self.live = shows.map(|pieces| self.live(&run, &head, pieces));
        let case = Arc::new(self);
        // A run that is given up without a word is marked as such, however that comes about.
        let given_up = scopeguard::guard((Arc::clone(&case.shared), run.id()), |(shared, run)| {
            shared.teams.records.ended(run, RunState::Gone);
            tracing::info!(target: "leafgate::agents", %run, "a run's client is gone: its requests are given up");
        });
        let mut driver = Driver {
            case: Arc::clone(&case),
            run,
            asked: FuturesUnordered::new(),
            aborts: HashMap::new(),
            heard: HeardReplies::default(),
            failed: None,
        };
        let end = driver.carry_out(effects).await;
        let Driver { run, heard, failed, asked, .. } = driver;
        // Whatever is still in flight is not wanted any more.
        drop(asked);
        ScopeGuard::into_inner(given_up);
        let teams = &case.shared.teams;
        match end {
            End::Calls(calls) => {
                let reply = heard.calls(calls);
                teams.records.at(&run, RunState::Waiting, case.masked(&run).await);
                let degraded = run.degraded();
                teams.keep(run, case.began.clone());
                case.give(&reply, &head, degraded).await
            }
            End::Over => {
                let result = case.masked(&run).await;
                teams.records.at(&run, RunState::Finished, result);
                case.log_end(&run);
                if run.degraded() == Some(Degraded::DirectChat) {
                    return case.plain(run.model()).await.map(mark_direct).map(Some);
                }
                if let Some(failed) = failed {
                    return case.unanswered(failed).await;
                }
                let reply = heard.end(run.result().completed);
                case.give(&reply, &head, run.degraded()).await
            }
        }
    }

    fn head(&self, run: &Run) -> Head {
        Head {
            id: format!("{ANSWER}{}_{}", run.id(), self.began.answers).into(),
            model: run.model().unwrap_or_default().into(),
            created: now() / 1000,
        }
    }

    /// What a run came to so far, with all findings masked: what the client sent is not redacted
    /// before it leaves.
    async fn masked(&self, run: &Run) -> Option<RawJson> {
        let epoch = Duration::from_millis(now()).saturating_sub(self.teams.now());
        let mut result = run.result().to_json(epoch);
        let (policy, vault) = (Arc::clone(&self.policy), self.session.vault.clone());
        let masked = move || {
            mask(&mut result, &|text| policy.masked_target(text, &vault));
            result
        };
        let _turn = self.teams.turn().await;
        let result = self.on_blocking_pool(masked).await.ok()?;
        RawJson::new(result.to_string())
    }

    fn log_end(&self, run: &Run) {
        let result = run.result();
        tracing::info!(
            target: "leafgate::agents",
            run = %run.id(),
            frames = run.frames().len(),
            requests = run.frames().iter().map(|frame| frame.iterations).sum::<u32>(),
            calls = result.tool_invocations().count(),
            completed = result.completed,
            degraded = run.degraded().map(Degraded::as_str),
            bytes = run.bytes(),
            "a run of agents is over"
        );
    }
}

/// What rules call the agent of a frame: `agents/reviewer`.
pub(super) fn agent_name(frame: &Frame) -> Arc<str> {
    format!("agents/{}", frame.agent).into()
}

/// Masks every text of a result.
fn mask(value: &mut Value, masked: &dyn Fn(&str) -> String) {
    match value {
        Value::String(text) => *text = masked(text),
        Value::Array(elements) => elements.iter_mut().for_each(|element| mask(element, masked)),
        Value::Object(members) => members.values_mut().for_each(|member| mask(member, masked)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Where a run stops.
enum End {
    /// The client runs these.
    Calls(Vec<leafgate_agents::ClientCall>),
    Over,
}

/// A run at work. Dropping it gives up all that is in flight.
struct Driver {
    case: Arc<RunCase>,
    run: Run,
    /// Polled with the run itself, so that a run is one piece of work at a time.
    asked: FuturesUnordered<Abortable<BoxFuture<'static, (RequestId, FrameAnswer)>>>,
    aborts: HashMap<RequestId, AbortHandle>,
    heard: HeardReplies,
    /// Why the entry's last request was not answered, where it was not.
    failed: Option<Unanswered>,
}

impl Driver {
    async fn carry_out(&mut self, mut effects: RunEffects) -> End {
        loop {
            if let Some(end) = self.begin(std::mem::take(&mut effects)) {
                return end;
            }
            self.case.shared.teams.records.at(&self.run, RunState::Running, None);
            let teams = Arc::clone(&self.case.shared);
            let alarm = self.run.deadline().map(|deadline| teams.teams.at(deadline));
            let late = async {
                match alarm {
                    Some(at) => sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            effects = tokio::select! {
                biased;
                asked = self.asked.next() => match asked {
                    Some(Ok((request, asked))) => self.hear(request, asked),
                    // What was aborted says nothing.
                    Some(Err(Aborted)) => RunEffects::new(),
                    None => return End::Over,
                },
                () = late => self.run.elapse(teams.teams.now()),
            };
        }
    }

    /// Begins what is to be done; gives where the run stops.
    fn begin(&mut self, effects: RunEffects) -> Option<End> {
        let mut end = None;
        for effect in effects {
            match effect {
                RunEffect::Ask { request, frame } => self.ask(request, frame),
                RunEffect::Abort(request) => {
                    if let Some(abort) = self.aborts.remove(&request) {
                        abort.abort();
                    }
                }
                RunEffect::GiveCalls(calls) => end = Some(End::Calls(calls)),
                RunEffect::Finish => end = Some(End::Over),
                RunEffect::Happened(happened) => self.tell(&happened),
            }
        }
        end
    }

    fn ask(&mut self, request: RequestId, frame: FrameId) {
        let Some(frame) = self.run.frame(frame) else { return };
        let case = Arc::clone(&self.case);
        let team = Arc::clone(self.run.team());
        let (opening, model) = (Arc::clone(&case.began.opening), self.run.model().map(str::to_owned));
        let (wire, own) = (case.wire, frame.clone());
        // A conversation has megabytes, and spelling it is work for elsewhere.
        let spell = move || {
            Bytes::from(Value::Object(wire::body(wire, &opening, &own, &team, model.as_deref())).to_string())
        };
        let agent = agent_name(frame);
        let class = if frame.depth() > 0 { TurnClass::Subagent } else { TurnClass::Main };
        let asker = asker(&self.run, frame, class);
        let by_entry = frame.parent().is_none();
        let asked = async move {
            let turn = case.shared.teams.turn().await;
            let live = case.live.as_ref().filter(|_| by_entry);
            let asked = match case.shared.on_blocking_pool(spell).await {
                Ok(body) => case.ask(body, agent, asker, turn, live).await,
                Err(refusal) => FrameAnswer::Failed(Why::Policy, Err(refusal)),
            };
            (request, asked)
        };
        let (abort, aborted) = AbortHandle::new_pair();
        self.asked.push(Abortable::new(Box::pin(asked), aborted));
        self.aborts.insert(request, abort);
    }

    fn hear(&mut self, request: RequestId, asked: FrameAnswer) -> RunEffects {
        self.aborts.remove(&request);
        let now = self.case.shared.teams.now();
        let asks = |frame: &&Frame| matches!(frame.state, FrameState::Asking(of) if of == request);
        let frame = self.run.frames().iter().find(asks);
        let by_entry = frame.is_some_and(|frame| frame.parent().is_none());
        let live = self.case.live.as_ref();
        let is_heard = by_entry && live.is_some_and(LiveRun::is_within_reply);
        let (why, with) = match asked {
            FrameAnswer::Turn(turn) if is_broken_off(&turn.reply) => (Why::Upstream, Err(broken_off())),
            FrameAnswer::Turn(turn) => {
                if by_entry {
                    self.failed = None;
                }
                match (live, frame) {
                    (Some(live), Some(_)) if by_entry => live.said(turn.reply.content.expose()),
                    (Some(live), Some(frame)) => progress::worked(live, frame, &turn.reply),
                    _ => {}
                }
                self.heard.add(&turn.reply, by_entry);
                // An answer that nobody waits for any more.
                return self.run.replied(request, turn, now).unwrap_or_default();
            }
            FrameAnswer::ToolsRefused(with) => {
                if by_entry {
                    self.failed = Some(with);
                }
                return self.run.tools_refused(request, now).unwrap_or_default();
            }
            FrameAnswer::Failed(why, with) => (why, with),
        };
        // Words that have no end cannot be taken back.
        let (why, with) = if is_heard { (Why::BrokeOff, Err(broken_off())) } else { (why, with) };
        if by_entry {
            self.failed = Some(with);
        }
        self.run.failed(request, why, now).unwrap_or_default()
    }

    fn tell(&self, happened: &Happened) {
        if let Some(live) = &self.case.live {
            progress::happened(live, &self.run, happened);
        }
        // The name of a tool is a client's text.
        let mut told = event(&self.run, happened);
        if !told.tools.is_empty() {
            let masked = self.case.policy.masked_target(&told.tools.join(","), &self.case.session.vault);
            told.tools = masked.split(',').map(str::to_owned).collect();
        }
        tracing::info!(
            target: "leafgate::agents",
            run = told.run,
            kind = ?told.kind,
            agent = told.agent,
            to = told.to,
            error = told.error,
            tools = (!told.tools.is_empty()).then(|| told.tools.join(",")),
            "agents"
        );
        self.case.shared.hub.publish(|| Event::Agent { told });
    }
}

fn broken_off() -> Refusal {
    Refusal::upstream("the model's answer broke off: ask again")
}

/// Whether a model says that its answer has no end.
fn is_broken_off(reply: &Reply) -> bool {
    matches!(reply.finish, Some(Finish::Failed | Finish::Cancelled))
}

fn event(run: &Run, happened: &Happened) -> AgentEvent {
    let Happened { kind, agent, to, error, tools, .. } = happened;
    let degraded = run.degraded().filter(|_| *kind == AgentEventKind::Degraded);
    let refused = error.iter().filter_map(|error| error.tool.as_ref());
    AgentEvent {
        run: run.id().to_string(),
        kind: *kind,
        agent: degraded.is_none().then(|| agent.to_string()),
        to: degraded.map(|degraded| degraded.as_str().to_owned()).or(to.as_ref().map(AgentName::to_string)),
        error: error.as_ref().map(|error| error.kind.as_str().to_owned()),
        tools: tools.iter().chain(refused).map(ToString::to_string).collect(),
    }
}

/// Names the client as far as it was authenticated: by what it knows, and by its conversation.
fn who(session: &Session, headers: &HeaderMap) -> [u8; 32] {
    let mut parts = PartsDigest::default();
    parts.add(session.key.as_bytes());
    for name in CREDENTIALS {
        let values: Vec<&[u8]> = headers.get_all(name).iter().map(http::HeaderValue::as_bytes).collect();
        parts.add(values.len().to_le_bytes());
        values.into_iter().for_each(|value| parts.add(value));
    }
    parts.finish()
}

fn no_team() -> Refusal {
    Refusal::malformed(
        "this gate has no team: put an `agents.json` into the policy folder, or start it with --agents FILE",
    )
}

fn no_agent(team: &Team) -> Refusal {
    let names: Vec<&str> = team.agents.iter().map(|agent| agent.name.as_str()).collect();
    Refusal::malformed(format!("the team has no such agent; its agents are: {}", names.join(", ")))
}

fn random() -> Result<u64, Refusal> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(|_| Refusal::internal("the system gives no random bytes"))?;
    Ok(u64::from_le_bytes(bytes))
}
