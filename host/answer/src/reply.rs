//! What a model answered, whatever API it spoke.

use serde_json::{Value, json};

use crate::json::arguments;
use crate::text::AnswerText;

/// What a model answered: one choice of an answer.
///
/// The order between the three is fixed: reasoning, then content, then calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// What it thought, as far as it is shown. Summaries count.
    pub reasoning: AnswerText,
    /// What it said to people. With [`Finish::Refusal`], why it refused.
    pub content: AnswerText,
    /// What it asks the client to do, in order. What a provider runs itself is not among them.
    pub calls: Vec<Call>,
    /// Why it stopped. `None` where the answer does not say: it was cut off, or is not complete yet.
    pub finish: Option<Finish>,
    /// What it cost, where the answer says it.
    pub usage: Option<Usage>,
}

/// A call of a tool that the client runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Call {
    /// What the result names. Empty where an API has none (Gemini).
    pub id: AnswerText,
    /// The tool.
    pub name: AnswerText,
    /// A JSON object as text, or whatever the model wrote in its place; free text for
    /// [`CallKind::Custom`].
    pub arguments: AnswerText,
    /// How the arguments are to be read.
    pub kind: CallKind,
}

/// How the arguments of a call are to be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CallKind {
    /// They are a JSON object.
    #[default]
    Function,
    /// They are free text: `custom` tools of OpenAI.
    Custom,
}

impl Call {
    fn weight(&self) -> usize {
        [&self.id, &self.name, &self.arguments].map(|text| text.expose().len()).iter().sum()
    }

    /// Its arguments for an API where they are an object: an empty one in the place of any other.
    pub(crate) fn input(&self) -> Value {
        let input = match self.kind {
            CallKind::Function => arguments(self.arguments.expose()),
            CallKind::Custom => None,
        };
        input.unwrap_or_else(|| json!({}))
    }
}

leafgate_words::words! {
    /// Why a model stopped.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Finish {
        /// It had said all, or came to a stop sequence.
        Stop = "stop" / "stop",
        /// It ran into a limit of tokens.
        Length = "length" / "length",
        /// It waits for the results of its calls.
        Calls = "calls" / "tool_calls",
        /// The provider cut it off for what it said.
        Filtered = "filtered" / "content_filter",
        /// It refused.
        Refusal = "refusal" / "refusal",
        /// The provider wants the same request again to go on.
        Paused = "paused" / "paused",
        /// It was cancelled.
        Cancelled = "cancelled" / "cancelled",
        /// It failed; [`crate::Failure`] says how.
        Failed = "failed" / "error",
        /// A reason that no API had when this was written.
        Other = "other" / "other",
    }
    /// Its word in the log.
    pub fn name = 0;
    /// Its word in the conventions of OpenTelemetry.
    pub fn otel = 1;
}

/// What an answer cost, in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// All that was read, cached or not.
    pub input: u64,
    /// How much of `input` came from a cache.
    pub cached: u64,
    /// How much of `input` went into a cache. Only some providers say it.
    pub written: u64,
    /// All that was written, reasoning included.
    pub output: u64,
    /// How much of `output` was reasoning.
    pub reasoning: u64,
}

/// What an answer came to, for those who keep it: nothing of its bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// What the model answered.
    pub reply: Reply,
    /// The model that answered.
    pub model: AnswerText,
    /// What went wrong, where the answer is an error or ends in one.
    pub failure: Option<Failure>,
    /// As [`crate::Answer::is_cut_off`].
    pub is_cut_off: bool,
}

impl Summary {
    /// Returns how many bytes its texts have.
    pub fn weight(&self) -> usize {
        let Reply { reasoning, content, calls, .. } = &self.reply;
        let texts = [reasoning, content].map(|text| text.expose().len());
        texts.iter().sum::<usize>() + calls.iter().map(Call::weight).sum::<usize>()
    }
}

/// What an answer says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// Its id.
    pub id: AnswerText,
    /// The model that answered.
    pub model: AnswerText,
    /// When it was made, in seconds of Unix time; 0 where the API does not say it.
    pub created: u64,
}

/// What an upstream says went wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Failure {
    /// The API's own word for it, such as `overloaded_error`.
    pub kind: AnswerText,
    /// A sentence.
    pub message: AnswerText,
}

/// A step of an answer. All steps of an answer, added to an empty [`Reply`], make the texts and calls of its reply; only
/// the arguments of a call may be spelled in another way, with the same values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delta {
    /// More reasoning.
    Reasoning(AnswerText),
    /// More content.
    Content(AnswerText),
    /// A call begins: the next one of [`Reply::calls`].
    Call(Call),
    /// More arguments for a call.
    Arguments {
        /// Which one of [`Reply::calls`].
        call: usize,
        /// What to append.
        text: AnswerText,
    },
}

impl Delta {
    /// Returns how many bytes of text it has.
    #[allow(clippy::len_without_is_empty, reason = "none is empty")]
    pub fn len(&self) -> usize {
        match self {
            Delta::Reasoning(text) | Delta::Content(text) | Delta::Arguments { text, .. } => {
                text.expose().len()
            }
            Delta::Call(call) => call.weight(),
        }
    }
}

impl Reply {
    /// Adds a step.
    pub fn add(&mut self, delta: &Delta) {
        match delta {
            Delta::Reasoning(text) => self.reasoning.push(text.expose()),
            Delta::Content(text) => self.content.push(text.expose()),
            Delta::Call(call) => self.calls.push(call.clone()),
            Delta::Arguments { call, text } => {
                if let Some(call) = self.calls.get_mut(*call) {
                    call.arguments.push(text.expose());
                }
            }
        }
    }
}
