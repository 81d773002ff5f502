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
    /// Returns it as JSON. `epoch` is what the ticks count from, in milliseconds of Unix time.
    #[must_use]
    pub fn to_json(&self, epoch: u64) -> Value {
        let invocations = self.tool_invocations.iter().map(|invocation| {
            json!({
                "toolName": invocation.tool_name.expose(),
                "parameters": invocation.parameters.expose(),
                "result": invocation.result.expose(),
                "timestamp": epoch.saturating_add(invocation.timestamp.as_millis()),
            })
        });
        json!({
            "finalResponse": self.final_response.expose(),
            "toolInvocations": invocations.collect::<Vec<_>>(),
            "conversationHistory": self.conversation_history.iter().map(message_json).collect::<Vec<_>>(),
            "completed": self.completed,
        })
    }
}

fn message_json(message: &Message) -> Value {
    match message {
        Message::Opening => json!({ "role": "user", "kind": "opening" }),
        Message::Work { .. } | Message::Nudge | Message::Said(_) => {
            json!({ "role": "user", "content": message.words().unwrap_or_default() })
        }
        Message::Model(turn) => {
            let calls =
                turn.reply.calls.iter().map(
                    |call| json!({ "toolName": call.name.expose(), "parameters": call.arguments.expose() }),
                );
            json!({
                "role": "assistant",
                "content": turn.reply.content.expose(),
                "toolCalls": calls.collect::<Vec<_>>(),
            })
        }
        Message::Result { call, text, is_error } => json!({
            "role": "tool",
            "toolName": call.name.expose(),
            "content": text.expose(),
            "isError": is_error,
        }),
    }
}
