//! A model that is scripted by the name of the agent, and a client that runs its tools: what a gate
//! does with a run, without a gate.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use leafgate_agents::{
    CallKey, ClientCall, ClientKey, ClientResult, Frame, FrameState, Happened, Message, ModelTurn, Opening,
    RequestId, Run, RunEffect, RunEffects, RunId, RunLimits, Team, Tick, Why,
};
use leafgate_answer::{Call, CallKind, Finish, Reply};
use serde_json::{Value, json};

pub(crate) const TOOLS: [&str; 3] = ["read_file", "write_file", "run"];

/// An agent of a team's file.
pub(crate) fn agent(name: &str, delegation: Value, tools: Value) -> Value {
    json!({
        "name": name,
        "systemPrompt": format!("You are {name}."),
        "description": format!("The {name}"),
        "useFor": format!("What a {name} does"),
        "delegationPermissions": delegation,
        "toolPermissions": tools,
    })
}

pub(crate) fn all() -> Value {
    json!({ "type": "all" })
}

pub(crate) fn none() -> Value {
    json!({ "type": "none" })
}

pub(crate) fn only(list: &str, names: &[&str]) -> Value {
    json!({ "type": "specific", list: names })
}

pub(crate) fn team(entry: &str, agents: &[Value], settings: Value) -> Arc<Team> {
    let file = json!({ "entryAgent": entry, "agents": agents, "leafgate": settings });
    Arc::new(Team::read(&file.to_string()).unwrap().0)
}

/// A coordinator, a reviewer and a researcher, who all may everything.
pub(crate) fn three() -> Arc<Team> {
    let agents = ["coordinator", "reviewer", "researcher"].map(|name| agent(name, all(), all()));
    team("coordinator", &agents, json!({}))
}

pub(crate) fn says(text: &str) -> Reply {
    Reply { content: text.into(), finish: Some(Finish::Stop), ..Reply::default() }
}

pub(crate) fn calls(calls: &[(&str, Value)]) -> Reply {
    let calls = calls.iter().enumerate().map(|(at, (name, arguments))| Call {
        id: format!("call_{at}").into(),
        name: (*name).into(),
        arguments: arguments.to_string().into(),
        kind: CallKind::Function,
    });
    Reply { calls: calls.collect(), finish: Some(Finish::Calls), ..Reply::default() }
}

pub(crate) fn delegates(to: &str, work: &str) -> (&'static str, Value) {
    (
        "delegateWork",
        json!({ "agentName": to, "workDescription": work, "reportExpectations": "What you found" }),
    )
}

pub(crate) fn reports(report: &str) -> (&'static str, Value) {
    ("reportOut", json!({ "report": report }))
}

pub(crate) fn key(session: &str) -> ClientKey {
    CallKey::from_bytes([3; 32]).client(session.as_bytes())
}

pub(crate) fn opening() -> Opening {
    let tools = TOOLS.iter().map(|tool| Arc::from(*tool)).collect();
    Opening { id: RunId(42), model: Some("model-of-the-client".to_owned()), tools, bytes: 100 }
}

/// What a scripted model does next.
#[derive(Clone, Debug)]
pub(crate) enum Next {
    Reply(Reply),
    Fail,
    RefuseTools,
}

impl From<Reply> for Next {
    fn from(reply: Reply) -> Self {
        Next::Reply(reply)
    }
}

/// A run, its models and its client.
pub(crate) struct Stage {
    pub run: Run,
    pub script: BTreeMap<String, VecDeque<Next>>,
    /// Requests that models have, oldest first, with the agent.
    pub asked: VecDeque<(RequestId, String)>,
    /// What the client has to run.
    pub given: Vec<ClientCall>,
    /// How often the client was answered with calls.
    pub answers: usize,
    pub finished: usize,
    pub aborted: Vec<RequestId>,
    pub happened: Vec<Happened>,
    pub now: u64,
}

impl Stage {
    pub(crate) fn new(team: &Arc<Team>, script: Vec<(&str, Vec<Next>)>) -> Stage {
        Stage::limited(team, script, RunLimits::default())
    }

    pub(crate) fn limited(team: &Arc<Team>, script: Vec<(&str, Vec<Next>)>, limits: RunLimits) -> Stage {
        let now = Tick::from_millis(1_000);
        let (run, effects) = Run::start(team.clone(), None, opening(), key("session"), limits, now).unwrap();
        let script = script.into_iter().map(|(name, next)| (name.to_owned(), next.into())).collect();
        let mut stage = Stage {
            run,
            script,
            asked: VecDeque::new(),
            given: Vec::new(),
            answers: 0,
            finished: 0,
            aborted: Vec::new(),
            happened: Vec::new(),
            now: 1_000,
        };
        stage.take(effects);
        stage
    }

    pub(crate) fn tick(&mut self) -> Tick {
        self.now += 10;
        Tick::from_millis(self.now)
    }

    pub(crate) fn take(&mut self, effects: RunEffects) {
        for effect in effects {
            assert_eq!(self.finished, 0, "{effect:?} after the end");
            match effect {
                RunEffect::Ask { request, frame } => {
                    assert_eq!(self.run.frame(frame).unwrap().state, FrameState::Asking(request));
                    let agent = self.run.frame(frame).unwrap().agent.to_string();
                    self.asked.push_back((request, agent));
                }
                RunEffect::Abort(request) => {
                    assert!(
                        self.asked.iter().any(|(asked, _)| *asked == request),
                        "{request:?} is not in flight"
                    );
                    self.asked.retain(|(asked, _)| *asked != request);
                    self.aborted.push(request);
                }
                RunEffect::GiveCalls(calls) => {
                    assert!(self.asked.is_empty(), "models are asked while the client has calls");
                    assert!(self.given.is_empty(), "the client has calls already");
                    let waits =
                        |call: &ClientCall| self.run.frame(call.frame).unwrap().state == FrameState::Waiting;
                    assert!(calls.iter().all(waits), "a call of a frame that is over");
                    self.answers += 1;
                    self.given = calls;
                }
                RunEffect::Finish => self.finished += 1,
                RunEffect::Happened(what) => self.happened.push(what),
            }
        }
    }

    /// Has the model of a request do what its script says; without one it says "done".
    pub(crate) fn answer(&mut self, at: usize) {
        let (request, agent) = self.asked.remove(at).unwrap();
        let next = self.script.get_mut(&agent).and_then(VecDeque::pop_front);
        self.give(request, next.unwrap_or_else(|| says("done").into()));
    }

    pub(crate) fn give(&mut self, request: RequestId, next: Next) {
        let now = self.tick();
        let effects = match next {
            Next::Reply(reply) => self.run.replied(request, ModelTurn { reply, turn: Arc::from([]) }, now),
            Next::Fail => self.run.failed(request, Why::Upstream, now),
            Next::RefuseTools => self.run.tools_refused(request, now),
        };
        self.take(effects.unwrap());
    }

    /// The client runs its tools and comes back.
    pub(crate) fn client(&mut self, result: impl Fn(&ClientCall) -> String) {
        let given = std::mem::take(&mut self.given);
        let results = given.iter().map(|call| ClientResult {
            id: call.id.expose().to_owned(),
            text: result(call).into(),
            is_error: false,
        });
        let now = self.tick();
        let effects = self.run.answered(results.collect(), None, now).unwrap();
        self.take(effects);
    }

    /// Goes on to the end: models by their scripts, the client with "ok".
    pub(crate) fn play_out(&mut self) {
        for _ in 0..100_000 {
            if self.finished > 0 || self.run.is_over() {
                return;
            }
            if self.given.is_empty() {
                self.answer(0);
            } else {
                self.client(|_| "ok".to_owned());
            }
        }
        panic!("no end");
    }

    pub(crate) fn final_response(&self) -> String {
        self.run.result().final_response.into_string()
    }

    /// The results that a frame has, as texts.
    pub(crate) fn results(&self, frame: usize) -> Vec<String> {
        let messages = self.run.frames()[frame].messages.iter();
        messages
            .filter_map(|message| match message {
                Message::Result { outcome, .. } => Some(outcome.text.expose().to_owned()),
                _ => None,
            })
            .collect()
    }
}

/// What holds of every run, whenever it is looked at.
pub(crate) fn check(run: &Run, limits: RunLimits) {
    let iterations: u32 = run.frames().iter().map(|frame| frame.iterations).sum();
    assert!(iterations <= limits.requests, "{iterations} requests");
    assert!(run.frames().len() <= limits.frames as usize + 1);
    for frame in run.frames() {
        let mut names = frame.chain.to_vec();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), frame.chain.len(), "a name stands twice in {:?}", frame.chain);
        assert!(frame.depth() <= run.team().settings.max_depth);
        assert!(frame.iterations <= run.team().settings.max_iterations);
        let open = frame.state != FrameState::Ended;
        each_call_has_one_result(&frame.messages, open);
        nothing_runs_after_its_report(run, frame);
    }
}

/// A report is the last that was carried out, and its frame is over or waits for what came before.
fn nothing_runs_after_its_report(run: &Run, frame: &Frame) {
    let invocations: Vec<_> = run.result_of(frame).tool_invocations().collect();
    let reported = invocations.iter().position(|(call, outcome)| {
        call.name.expose() == "reportOut" && outcome.text.expose() == "The report was taken."
    });
    if let Some(at) = reported {
        assert_eq!(frame.state, FrameState::Ended);
        assert_eq!(at + 1, invocations.len(), "a call was run after reportOut");
    }
}

/// Behind each answer stand the results of its calls, in call order; those of the last one may be
/// missing while the frame is open.
fn each_call_has_one_result(messages: &[Message], open: bool) {
    let mut wanted: VecDeque<&Call> = VecDeque::new();
    for (at, message) in messages.iter().enumerate() {
        match message {
            Message::Result { call, .. } => {
                assert_eq!(wanted.pop_front(), Some(call), "a result without a call")
            }
            Message::Model(turn) => {
                assert!(wanted.is_empty(), "the model is asked while a call has no result");
                wanted = turn.reply.calls.iter().collect();
            }
            Message::Work { .. } | Message::Opening => assert_eq!(at, 0),
            Message::Nudge | Message::Said(_) => assert!(wanted.is_empty()),
        }
    }
    assert!(open || wanted.is_empty(), "{} calls without a result", wanted.len());
}
