//! What a run asks its caller to do, in order.

use std::sync::Arc;

use leafgate_admin::AgentEventKind;
use leafgate_answer::{AnswerText, Call};

use crate::error::AgentError;
use crate::name::AgentName;
use crate::run::frame::{FrameId, RequestId};

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunEffect {
    /// Send a frame's conversation to the model, and tell the run what it answered.
    Ask {
        /// The request.
        request: RequestId,
        /// The frame; [`crate::Run::frame`] has its conversation.
        frame: FrameId,
    },
    /// Give up a request that was asked. Its answer is not wanted any more.
    Abort(RequestId),
    /// Answer the client with these calls. The run waits for their results.
    GiveCalls(Vec<ClientCall>),
    /// Answer the client: the run is over, [`crate::Run::result`] says how.
    Finish,
    /// Publish and log this.
    Happened(Happened),
}

/// Effects of one event, in order.
pub type RunEffects = Vec<RunEffect>;

/// A call of a frame that the client runs.
#[derive(Clone, Debug, PartialEq, Eq, derive_more::Deref)]
pub struct ClientCall {
    /// Whose it is.
    pub frame: FrameId,
    /// What the client gets, under an id of its own.
    #[deref]
    pub call: Call,
}

/// What a client's tool came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientResult {
    /// The id under which the client got the call.
    pub id: String,
    /// What it came to.
    pub text: AnswerText,
    /// Whether it went wrong.
    pub is_error: bool,
}

/// Something that operators want to know. It holds names of the team, of tools as the client offers them, and numbers only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Happened {
    /// What; with what a degraded run makes do, [`crate::Run::degraded`] says.
    pub kind: AgentEventKind,
    /// The frame that it happened to; of work that was delegated, the new one.
    pub frame: FrameId,
    /// The agent of that frame; of work that was delegated, the one that did so.
    pub agent: AgentName,
    /// To whom work was delegated.
    pub to: Option<AgentName>,
    /// What went wrong.
    pub error: Option<AgentError>,
    /// The first of the tools that were withheld, as the client offers them.
    pub tools: Vec<Arc<str>>,
}

leafgate_words::words! {
    /// With what a run makes do.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Degraded {
        /// The entry failed before it did anything: send the client's request as it came.
        DirectChat = "direct-chat",
        /// The provider takes no tools with this request: the entry goes on without delegation.
        SingleAgent = "single-agent",
    }
    /// Its word in the header `leafgate-agents`.
    pub fn as_str = 0;
}

leafgate_words::words! {
    /// Why a model did not answer.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Why {
        /// The upstream failed, was not there or refused what was asked.
        Upstream = "the model gave no answer",
        /// The upstream refuses its client, whatever is asked.
        Refused = "the provider refused the request",
        /// The policy blocked the request, or a person cancelled it.
        Policy = "its request was not let through",
        /// The answer could not be read.
        Unreadable = "the model's answer could not be read",
        /// The answer had no end, and the client has heard of it: nothing else can take its place.
        BrokeOff = "the model's answer broke off",
    }
    pub(crate) fn words = 0;
}

impl Why {
    /// Whether the client's own request could fare better than an agent's.
    pub(crate) fn allows_plain_chat(self) -> bool {
        match self {
            Why::Upstream | Why::Unreadable => true,
            Why::Refused | Why::Policy | Why::BrokeOff => false,
        }
    }
}

/// An event that does not fit the state of a run, which is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// The run is over.
    #[error("the run is over")]
    Over,
    /// No such request is in flight.
    #[error("no such request is in flight")]
    NotAsked,
    /// None of the ids names a call that the client has.
    #[error("the client has no call that these results answer")]
    NotGiven,
    /// The team has no agent of this name.
    #[error("the team has no such agent")]
    NoAgent,
}
