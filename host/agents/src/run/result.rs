//! What a run came to.

use std::time::Duration;

use leafgate_answer::{AnswerText, Call};
use serde_json::{Value, json};

use crate::run::frame::{CallOutcome, Message};

/// What an agent's loop came to.
#[derive(Clone, Debug)]
pub struct AgentLoopResult<'r> {
    /// The last that the agent said; of a delegated one, its report.
    pub final_response: AnswerText,
    /// The conversation behind the prompt.
    pub conversation_history: &'r [Message],
    /// Whether it came to its own end.
    pub completed: bool,
}

impl<'r> AgentLoopResult<'r> {
    /// Returns the calls that were carried out, in order.
    pub fn tool_invocations(&self) -> impl Iterator<Item = (&'r Call, &'r CallOutcome)> {
        self.conversation_history.iter().filter_map(|message| match message {
            Message::Result { call, outcome } if outcome.ran => Some((call, outcome)),
            _ => None,
        })
    }

    /// Returns it as JSON. `epoch` is what the ticks count from, in Unix time.
    pub fn to_json(&self, epoch: Duration) -> Value {
        let invocations = self.tool_invocations().map(|(call, outcome)| {
            json!({
                "toolName": call.name.expose(),
                "parameters": call.arguments.expose(),
                "result": outcome.text.expose(),
                "timestamp": epoch.saturating_add(outcome.at).as_millis() as u64,
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
        Message::Result { call, outcome } => json!({
            "role": "tool",
            "toolName": call.name.expose(),
            "content": outcome.text.expose(),
            "isError": outcome.is_error,
        }),
    }
}
