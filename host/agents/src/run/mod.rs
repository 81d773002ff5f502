//! One request to a team, as a state machine.

mod advance;
mod close;
mod delegate;
mod effect;
mod frame;
mod result;

use std::sync::Arc;

use leafgate_admin::AgentEventKind;
use leafgate_answer::{AnswerText, Call, Finish, Reply};

use crate::Tick;
use crate::error::{AgentError, ErrorKind};
use crate::limits::RunLimits;
use crate::mark::{ClientKey, RunId};
use crate::name::AgentName;
use crate::team::{Agent, Team};
use crate::tools::ToolNames;
use delegate::DelegationOrder;
use frame::{OpenCall, OpenTurn, SlotState};

pub use effect::{ClientCall, ClientResult, Degraded, Happened, RunEffect, RunEffects, RunError, Why};
pub use frame::{CallOutcome, Frame, FrameId, FrameState, Message, ModelTurn, RequestId};
pub use result::AgentLoopResult;

/// The entry's frame.
const ENTRY: FrameId = FrameId(0);

/// So many tools that are withheld from an agent are told by name.
const TOLD: usize = 20;

/// How a run begins.
#[derive(Clone, Debug)]
pub struct Opening {
    /// The name of the run.
    pub id: RunId,
    /// The model that the client asks for.
    pub model: Option<String>,
    /// The names of the tools that the client offers.
    pub tools: ToolNames,
    /// Bytes of the client's request, which the caller keeps.
    pub bytes: usize,
}

/// One request to a team. It keeps its team: a reload does not reach it.
#[derive(Debug)]
pub struct Run {
    id: RunId,
    team: Arc<Team>,
    limits: RunLimits,
    key: ClientKey,
    model: Option<String>,
    offered: ToolNames,
    frames: Vec<Frame>,
    /// Calls that the client runs, so far.
    calls: u32,
    /// Requests to models so far.
    requests: u32,
    bytes: usize,
    /// Since when the client runs tools. Nothing else does anything then.
    paused: Option<Tick>,
    degraded: Option<Degraded>,
    over: bool,
    /// When the last event came.
    now: Tick,
    /// What it has brought so far.
    effects: RunEffects,
}

impl Run {
    /// Begins a run at the entry of a team, or at the agent that is named.
    ///
    /// # Errors
    /// [`RunError::NoAgent`] where there is none: then the request passes plainly.
    pub fn start(
        team: Arc<Team>,
        at: Option<&str>,
        opening: Opening,
        key: ClientKey,
        limits: RunLimits,
        now: Tick,
    ) -> Result<(Run, RunEffects), RunError> {
        let agent = match at {
            Some(name) => team.agent(name),
            None => team.entry(),
        };
        let agent = agent.ok_or(RunError::NoAgent)?.clone();
        let mut run = Run {
            id: opening.id,
            model: opening.model.or_else(|| team.settings.default_model.clone()),
            team,
            limits,
            key,
            offered: opening.tools,
            frames: Vec::new(),
            calls: 0,
            requests: 0,
            bytes: opening.bytes,
            paused: None,
            degraded: None,
            over: false,
            now,
            effects: RunEffects::new(),
        };
        run.open(&agent, None, Vec::new(), Message::Opening);
        let effects = run.advance();
        Ok((run, effects))
    }

    /// Takes a model's answer.
    ///
    /// # Errors
    /// [`RunError::NotAsked`] for a request that is not in flight, [`RunError::Over`].
    pub fn replied(
        &mut self,
        request: RequestId,
        turn: ModelTurn,
        now: Tick,
    ) -> Result<RunEffects, RunError> {
        if matches!(turn.reply.finish, Some(Finish::Failed | Finish::Cancelled)) {
            return self.failed(request, Why::Upstream, now);
        }
        let frame = self.asking(request, now)?;
        let reply = turn.reply.clone();
        self.say(frame, Message::Model(turn));
        if reply.calls.is_empty() {
            self.answered_in_words(frame);
        } else {
            self.carry_out(frame, &reply);
        }
        Ok(self.advance())
    }

    /// Takes the news that a model did not answer.
    ///
    /// # Errors
    /// As [`Run::replied`].
    pub fn failed(&mut self, request: RequestId, why: Why, now: Tick) -> Result<RunEffects, RunError> {
        let frame = self.asking(request, now)?;
        self.frames[frame.at()].state = FrameState::Waiting;
        let agent = self.frames[frame.at()].agent.clone();
        let what = format!("`{agent}` did not finish: {}.", why.words());
        let error = AgentError::new(ErrorKind::AgentExecution, Some(&agent), what);
        self.fail(frame, error, why.allows_plain_chat());
        Ok(self.advance())
    }

    /// Takes the news that the provider refuses tools. The entry goes on without delegation, once;
    /// for others, and the second time, it is a failure.
    ///
    /// # Errors
    /// As [`Run::replied`].
    pub fn tools_refused(&mut self, request: RequestId, now: Tick) -> Result<RunEffects, RunError> {
        let frame = self.asking(request, now)?;
        if frame != ENTRY || self.frames[ENTRY.at()].targets.is_empty() {
            return self.failed(request, Why::Upstream, now);
        }
        let entry = &mut self.frames[ENTRY.at()];
        entry.state = FrameState::Waiting;
        entry.targets.clear();
        entry.prompt =
            self.team.agent(entry.agent.as_str()).map(|a| a.system_prompt.clone()).unwrap_or_default();
        self.degraded = Some(Degraded::SingleAgent);
        self.happened(AgentEventKind::Degraded, ENTRY, None);
        self.ask(ENTRY);
        Ok(self.advance())
    }

    /// Takes the results of the client's tools, and what the client said beside them. Results of
    /// other calls are passed over; calls without a result are answered with an error, since the
    /// client goes on without them.
    ///
    /// # Errors
    /// [`RunError::NotGiven`] where no result answers a call that the client has,
    /// [`RunError::Over`].
    pub fn answered(
        &mut self,
        results: Vec<ClientResult>,
        said: Option<AnswerText>,
        now: Tick,
    ) -> Result<RunEffects, RunError> {
        if self.over {
            return Err(RunError::Over);
        }
        let sent = self.clients_calls(true);
        let place = |id: &str| {
            let mark = self.key.read(id).filter(|mark| mark.run == self.id)?;
            sent.iter().find(|(number, ..)| *number == mark.call).map(|(_, frame, slot)| (*frame, *slot))
        };
        let named = results.into_iter().filter_map(|result| Some((place(&result.id)?, result)));
        let named: Vec<((FrameId, usize), ClientResult)> = named.collect();
        if named.is_empty() {
            return Err(RunError::NotGiven);
        }
        self.now = now;
        self.go_on();
        for ((frame, slot), result) in named {
            self.answer(frame, slot, result.text, result.is_error);
        }
        for (_, frame, slot) in sent {
            let what = "tool_access_error: The client gave no result for this call.";
            self.answer(frame, slot, what.into(), true);
        }
        // The client speaks to the entry, behind all that the entry waits for.
        if let (Some(text), Some(open)) = (said, &mut self.frames[ENTRY.at()].open) {
            self.bytes += text.expose().len();
            open.said.push(text);
        }
        Ok(self.advance())
    }

    /// When time matters next: then [`Run::elapse`] is to be called. A call that comes too early does no harm.
    pub fn deadline(&self) -> Option<Tick> {
        let live = self.frames.iter().filter(|frame| !frame.is_over());
        live.filter_map(|frame| frame.deadline).min().filter(|_| !self.over && self.paused.is_none())
    }

    /// Ends what has taken too long.
    pub fn elapse(&mut self, now: Tick) -> RunEffects {
        if self.over || self.paused.is_some() {
            return RunEffects::new();
        }
        self.now = now;
        // From the entry down: what ends takes all that it delegated along.
        for at in 0..self.frames.len() {
            let frame = &self.frames[at];
            let late = !frame.is_over() && frame.deadline.is_some_and(|deadline| deadline <= now);
            if late {
                let (id, agent) = (frame.id, frame.agent.clone());
                let seconds = self.team.settings.delegation_timeout.as_secs();
                let what = format!("`{agent}` did not report within {seconds} seconds.");
                let error = AgentError::new(ErrorKind::AgentExecution, Some(&agent), what);
                self.fail(id, error, false);
            }
        }
        self.advance()
    }

    /// The name of the run.
    pub fn id(&self) -> RunId {
        self.id
    }

    /// The model that is asked: the client's, or the team's. All frames ask the same.
    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// The team that it runs with.
    pub fn team(&self) -> &Arc<Team> {
        &self.team
    }

    /// All frames, in the order in which they began.
    pub fn frames(&self) -> &[Frame] {
        &self.frames
    }

    /// A frame of this run.
    pub fn frame(&self, id: FrameId) -> Option<&Frame> {
        self.frames.get(id.at())
    }

    /// Whether it is over.
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// With what it makes do.
    pub fn degraded(&self) -> Option<Degraded> {
        self.degraded
    }

    /// Bytes of all its conversations.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// What the run came to, or is at.
    pub fn result(&self) -> AgentLoopResult<'_> {
        self.result_of(&self.frames[ENTRY.at()])
    }

    /// What a frame came to, or is at.
    pub fn result_of<'r>(&'r self, frame: &'r Frame) -> AgentLoopResult<'r> {
        AgentLoopResult {
            final_response: frame.last_said(),
            conversation_history: &frame.messages,
            completed: frame.completed,
        }
    }

    fn asking(&mut self, request: RequestId, now: Tick) -> Result<FrameId, RunError> {
        if self.over {
            return Err(RunError::Over);
        }
        self.now = now;
        let asks = |frame: &&Frame| frame.state == FrameState::Asking(request);
        self.frames.iter().find(asks).map(|frame| frame.id).ok_or(RunError::NotAsked)
    }

    /// Begins a frame, which asks as soon as it can.
    fn open(
        &mut self,
        agent: &Agent,
        parent: Option<(FrameId, usize)>,
        mut chain: Vec<AgentName>,
        first: Message,
    ) -> FrameId {
        let id = FrameId(u32::try_from(self.frames.len()).unwrap_or(u32::MAX));
        chain.push(agent.name.clone());
        // A run's client and team stay the same, and so do the tools of an agent.
        let before = self.frames.iter().find(|frame| frame.agent == agent.name);
        let tools = before.map_or_else(|| agent.tools_among(&self.offered), |frame| frame.tools.clone());
        // Those that it has stand in the order in which they were offered.
        let mut had = tools.iter().peekable();
        let withheld = self.offered.iter().filter(|tool| had.next_if_eq(tool).is_none());
        let withheld: Vec<Arc<str>> = withheld.take(TOLD).cloned().collect();
        self.frames.push(Frame {
            id,
            agent: agent.name.clone(),
            parent,
            chain,
            prompt: self.team.prompt(agent),
            tools,
            targets: self.team.targets(agent),
            messages: Vec::new(),
            state: FrameState::Queued,
            open: None,
            iterations: 0,
            deadline: None,
            report: None,
            completed: false,
        });
        if !withheld.is_empty() {
            let happened = Happened { tools: withheld, ..self.happening(AgentEventKind::Withheld, id) };
            self.effects.push(RunEffect::Happened(happened));
        }
        self.bytes += self.frames[id.at()].prompt.len();
        self.say(id, first);
        id
    }

    fn happening(&self, kind: AgentEventKind, frame: FrameId) -> Happened {
        let agent = self.frames[frame.at()].agent.clone();
        Happened { kind, frame, agent, to: None, error: None, tools: Vec::new() }
    }

    fn happened(&mut self, kind: AgentEventKind, frame: FrameId, error: Option<AgentError>) {
        let happened = Happened { error, ..self.happening(kind, frame) };
        self.effects.push(RunEffect::Happened(happened));
    }

    fn say(&mut self, frame: FrameId, message: Message) {
        self.bytes += message.bytes();
        self.frames[frame.at()].messages.push(message);
    }

    /// A reply without calls ends the entry's loop. A delegated agent is reminded to report.
    fn answered_in_words(&mut self, frame: FrameId) {
        if frame == ENTRY {
            self.frames[ENTRY.at()].completed = true;
            self.over = true;
            self.frames[ENTRY.at()].state = FrameState::Ended;
            self.effects.push(RunEffect::Finish);
        } else {
            self.say(frame, Message::Nudge);
            self.frames[frame.at()].state = FrameState::Waiting;
            self.frames[frame.at()].open = Some(OpenTurn::default());
        }
    }

    /// Begins what the calls of a reply ask for, in call order.
    fn carry_out(&mut self, frame: FrameId, reply: &Reply) {
        self.frames[frame.at()].state = FrameState::Waiting;
        self.frames[frame.at()].open = Some(OpenTurn::default());
        for (at, call) in reply.calls.iter().enumerate() {
            let state = self.begin(frame, at, call);
            if let Some(open) = &mut self.frames[frame.at()].open {
                open.slots.push(OpenCall { call: call.clone(), state });
            }
        }
    }

    fn begin(&mut self, frame: FrameId, at: usize, call: &Call) -> SlotState {
        let of = &self.frames[frame.at()];
        if of.open.as_ref().is_some_and(|open| open.report.is_some()) {
            let text = "Not run: reportOut came before it.".into();
            return self.done(text, true, false);
        }
        let asked = if at < self.limits.calls {
            self.asked(of, call)
        } else {
            let what = format!("At most {} calls of one answer are run. Call it again.", self.limits.calls);
            Err(AgentError::new(ErrorKind::ToolAccess, Some(&of.agent), what))
        };
        let asked = asked.map_err(|error| AgentError { tool: self.known_tool(call), ..error });
        match asked {
            Err(error) => {
                // Of those beyond the limit the first one tells it.
                if at <= self.limits.calls {
                    self.happened(AgentEventKind::Refused, frame, Some(error.clone()));
                }
                self.done(error.to_string().into(), true, false)
            }
            Ok(DelegationOrder::Report(report)) => {
                if let Some(open) = &mut self.frames[frame.at()].open {
                    open.report = Some(report);
                }
                self.done("The report was taken.".into(), false, true)
            }
            Ok(DelegationOrder::Client) => {
                self.calls += 1;
                SlotState::Client { number: self.calls - 1, is_sent: false }
            }
            Ok(DelegationOrder::Work { agent, description, expectations }) => {
                let chain = of.chain.clone();
                let work = Message::Work { description, expectations };
                let id = self.open(&agent, Some((frame, at)), chain, work);
                self.frames[id.at()].deadline =
                    Some(self.now.saturating_add(self.team.settings.delegation_timeout));
                let delegated = self.happening(AgentEventKind::Delegated, frame);
                let delegated = Happened { frame: id, to: Some(agent.name), ..delegated };
                self.effects.push(RunEffect::Happened(delegated));
                SlotState::Delegated
            }
        }
    }
}
