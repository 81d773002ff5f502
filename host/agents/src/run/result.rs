//! What a run came to.

use leafgate_answer::AnswerText;
use serde_json::{Value, json};

use crate::run::frame::Message;
use crate::tick::Tick;

/// A call that was carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentInvocation {
    /// The tool.
    pub tool_name: AnswerText,
    /// Its arguments.
    pub parameters: AnswerText,
    /// What it came to.
    pub result: AnswerText,
    /// When it had its result.
    pub timestamp: Tick,
}

/// What an agent's loop came to.
#[derive(Clone, Debug)]
pub struct AgentLoopResult<'r> {
    /// The last that the agent said; of a delegated one, its report.
    pub final_response: AnswerText,
    /// The calls that were carried out, in order.
    pub tool_invocations: &'r [AgentInvocation],
    /// The conversation behind the prompt.
    pub conversation_history: &'r [Message],
    /// Whether it came to its own end.
    pub completed: bool,
}

impl AgentLoopResult<'_> {
    /// Returns it as JSON, every text as `mask` returns it. `epoch` is what the ticks count from, in
    /// milliseconds of Unix time.
    #[must_use]
    pub fn to_json(&self, epoch: u64, mask: impl Fn(&str) -> String) -> Value {
        let invocations = self.tool_invocations.iter().map(|invocation| {
            json!({
                "toolName": mask(invocation.tool_name.expose()),
                "parameters": mask(invocation.parameters.expose()),
                "result": mask(invocation.result.expose()),
                "timestamp": epoch.saturating_add(invocation.timestamp.as_millis()),
            })
        });
        let history = self.conversation_history.iter().map(|message| message_json(message, &mask));
        json!({
            "finalResponse": mask(self.final_response.expose()),
            "toolInvocations": invocations.collect::<Vec<_>>(),
            "conversationHistory": history.collect::<Vec<_>>(),
            "completed": self.completed,
        })
    }
}

fn message_json(message: &Message, mask: &impl Fn(&str) -> String) -> Value {
    match message {
        Message::Opening => json!({ "role": "user", "kind": "opening" }),
        Message::Work { .. } | Message::Nudge | Message::Said(_) => {
            json!({ "role": "user", "content": mask(&message.words().unwrap_or_default()) })
        }
        Message::Model(turn) => {
            let calls = turn.reply.calls.iter().map(|call| {
                json!({ "toolName": mask(call.name.expose()), "parameters": mask(call.arguments.expose()) })
            });
            json!({
                "role": "assistant",
                "content": mask(turn.reply.content.expose()),
                "toolCalls": calls.collect::<Vec<_>>(),
            })
        }
        Message::Result { call, text, is_error } => json!({
            "role": "tool",
            "toolName": mask(call.name.expose()),
            "content": mask(text.expose()),
            "isError": is_error,
        }),
    }
}
