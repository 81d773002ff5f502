//! One agent's part in a run: its own conversation.

use std::sync::Arc;

use leafgate_answer::{AnswerText, Call, Reply};
use serde_json::Value;

use crate::Tick;
use crate::name::AgentName;
use crate::prompt::DelegationTarget;
use crate::tools::ToolNames;

/// What a delegated agent is told that answers without a call.
pub(crate) const NUDGE: &str = "Please complete your task and call reportOut with your findings.";

/// Names a frame of a run by its number; the entry's is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FrameId(pub u32);

/// Names a request to a model. Each one is asked once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub(crate) u32);

impl FrameId {
    pub(crate) fn at(self) -> usize {
        self.0 as usize
    }
}

/// What a model answered in a frame.
#[derive(Clone, PartialEq, derive_more::Debug)]
#[debug("ModelTurn {{ reply: {reply:?}, .. }}")]
pub struct ModelTurn {
    /// Its reply.
    pub reply: Reply,
    /// How its API wants to see it again, [`leafgate_answer::Answer::turn`]. Nothing here reads it.
    pub turn: Arc<[Value]>,
}

/// One message of a frame's conversation, behind its prompt.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// What the client sent; the caller has it. The entry's first.
    Opening,
    /// What is to be done. A delegated frame's first.
    Work {
        /// The task.
        description: AnswerText,
        /// What the report must say.
        expectations: AnswerText,
    },
    /// The model's answer.
    Model(ModelTurn),
    /// What a call of the answer before came to. Those of one answer stand in call order.
    Result {
        /// The call, under the id that the model gave it.
        call: Call,
        /// What it came to.
        outcome: CallOutcome,
    },
    /// The agent is reminded to report.
    Nudge,
    /// What the client said beside the results of its tools.
    Said(AnswerText),
}

impl Message {
    /// The words that a delegated agent gets, or that a nudge says; `None` for other messages.
    pub fn words(&self) -> Option<String> {
        match self {
            Message::Work { description, expectations } if expectations.is_empty() => {
                Some(description.expose().to_owned())
            }
            Message::Work { description, expectations } => {
                Some(format!("{}\n\nReport expectations: {}", description.expose(), expectations.expose()))
            }
            Message::Nudge => Some(NUDGE.to_owned()),
            Message::Said(text) => Some(text.expose().to_owned()),
            Message::Opening | Message::Model(_) | Message::Result { .. } => None,
        }
    }

    /// Bytes of its texts.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Message::Opening | Message::Nudge => 0,
            Message::Work { description, expectations } => {
                description.expose().len() + expectations.expose().len()
            }
            Message::Model(turn) => {
                reply_bytes(&turn.reply) + turn.turn.iter().map(value_bytes).sum::<usize>()
            }
            Message::Result { call, outcome } => call_bytes(call) + outcome.text.expose().len(),
            Message::Said(text) => text.expose().len(),
        }
    }
}

fn reply_bytes(reply: &Reply) -> usize {
    let calls: usize = reply.calls.iter().map(call_bytes).sum();
    reply.reasoning.expose().len() + reply.content.expose().len() + calls
}

fn call_bytes(call: &Call) -> usize {
    call.id.expose().len() + call.name.expose().len() + call.arguments.expose().len()
}

/// What a value takes, roughly: a value is larger than the bytes that spell it.
fn value_bytes(value: &Value) -> usize {
    let within = match value {
        Value::String(text) => text.len(),
        Value::Array(elements) => elements.iter().map(value_bytes).sum(),
        Value::Object(members) => members.iter().map(|(key, value)| key.len() + value_bytes(value)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    };
    size_of::<Value>() + within
}

/// What a frame is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameState {
    /// It will ask, as soon as fewer others do.
    Queued,
    /// A model is asked.
    Asking(RequestId),
    /// Calls of its last answer have no results yet.
    Waiting,
    /// It is over.
    Ended,
}

/// One agent's part in a run.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Its name within its run.
    pub id: FrameId,
    /// The agent.
    pub agent: AgentName,
    pub(super) parent: Option<(FrameId, usize)>,
    /// The agents from the entry to this one.
    pub chain: Vec<AgentName>,
    /// The agent's prompt, with what is said about others.
    pub prompt: String,
    /// The client's tools that it has, in the client's order.
    pub tools: ToolNames,
    /// To whom it may delegate. Where there is anybody, it has `delegateWork`.
    pub targets: Vec<DelegationTarget>,
    /// Its conversation, behind the prompt.
    pub messages: Vec<Message>,
    /// What it is doing.
    pub state: FrameState,
    pub(super) open: Option<OpenTurn>,
    /// How often a model was asked for it.
    pub iterations: u32,
    pub(super) deadline: Option<Tick>,
    /// What a delegated agent reported.
    pub(super) report: Option<AnswerText>,
    pub(super) completed: bool,
}

/// The calls of the last answer, while they have no results.
#[derive(Clone, Debug, Default)]
pub(super) struct OpenTurn {
    pub(super) slots: Vec<OpenCall>,
    /// The frame ends with this report, once the calls before it have their results.
    pub(super) report: Option<AnswerText>,
    /// What the client said meanwhile.
    pub(super) said: Vec<AnswerText>,
}

#[derive(Clone, Debug)]
pub(super) struct OpenCall {
    pub(super) call: Call,
    pub(super) state: SlotState,
}

#[derive(Clone, Debug)]
pub(super) enum SlotState {
    /// Another frame works on it.
    Delegated,
    /// The client runs it, and knows it by this number once it was sent.
    Client {
        number: u32,
        is_sent: bool,
    },
    Done(CallOutcome),
}

/// What a call came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallOutcome {
    /// Its result.
    pub text: AnswerText,
    /// Whether it went wrong.
    pub is_error: bool,
    /// When it had its result.
    pub at: Tick,
    /// Whether anything was run for it.
    pub ran: bool,
}

impl Frame {
    /// The frame that delegated to this one.
    pub fn parent(&self) -> Option<FrameId> {
        self.parent.map(|(frame, _)| frame)
    }

    /// How often work was delegated to come here; 0 for the entry.
    pub fn depth(&self) -> u32 {
        u32::try_from(self.chain.len().saturating_sub(1)).unwrap_or(u32::MAX)
    }

    /// Whether it has `reportOut`.
    pub fn reports(&self) -> bool {
        self.parent.is_some()
    }

    pub(super) fn is_over(&self) -> bool {
        self.state == FrameState::Ended
    }

    /// What the agent reported, or said last.
    pub(super) fn last_said(&self) -> AnswerText {
        if let Some(report) = &self.report {
            return report.clone();
        }
        let said = self.messages.iter().rev().find_map(|message| match message {
            Message::Model(turn) => Some(turn.reply.content.clone()),
            _ => None,
        });
        said.unwrap_or_default()
    }
}
