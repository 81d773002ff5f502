//! An answer, written anew for the client.

use leafgate_answer::{AnswerError, AnswerLimits, Api, Delta, Head, LiveAnswer, Reader, write_answer};

/// An answer that cannot be written anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnswerFault {
    /// It cannot be read.
    #[error(transparent)]
    Unreadable(#[from] AnswerError),
    /// It is an error, or ends in one.
    #[error("the upstream's answer ended in an error")]
    Failed,
    /// It ended without a word about why.
    #[error("the upstream's answer broke off")]
    BrokeOff,
}

/// Writes a whole JSON answer of one API as one of another.
///
/// # Errors
/// [`AnswerFault`] for what is no answer, or an error.
pub fn adapt_answer(from: Api, to: Api, answer: &[u8], limits: AnswerLimits) -> Result<Vec<u8>, AnswerFault> {
    let mut reader = Reader::whole(from, limits);
    reader.push(answer)?;
    let answer = reader.finish()?;
    match answer.failure {
        Some(_) => Err(AnswerFault::Failed),
        None => Ok(write_answer(to, &answer.reply, &answer.head).to_string().into_bytes()),
    }
}

/// Writes the event stream of one API as that of another, while it comes. Words leave as they come, calls at the end.
pub struct StreamAdapter {
    reader: Reader,
    live: LiveAnswer,
    /// Whether the client gets what the model thought: Messages takes it back with a signature alone, which only its own provider
    /// makes.
    reasons: bool,
    /// Bytes of the answer's words that have left.
    said: usize,
}

impl StreamAdapter {
    /// Begins a stream. `head` is what the client reads of the answer, `usage` whether its stream of chat completions ends with
    /// what it cost.
    pub fn new(from: Api, to: Api, head: Head, usage: bool, limits: AnswerLimits) -> Self {
        let live = LiveAnswer::new(to, head, usage);
        StreamAdapter { reader: Reader::stream(from, limits), live, reasons: to != Api::Messages, said: 0 }
    }

    /// Takes the next bytes, cut anywhere, and returns the events that they make.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub fn push(&mut self, bytes: &[u8]) -> Result<String, AnswerError> {
        let mut events = String::new();
        for delta in self.reader.push(bytes)? {
            let more = match &delta {
                Delta::Content(text) => {
                    self.said += text.expose().len();
                    self.live.say(text.expose())
                }
                Delta::Reasoning(text) if self.reasons => self.live.reason(text.expose()),
                Delta::Reasoning(_) | Delta::Call(_) | Delta::Arguments { .. } => Vec::new(),
            };
            more.iter().for_each(|event| events.push_str(&event.to_string()));
        }
        Ok(events)
    }

    /// Returns the events that end the stream.
    ///
    /// # Errors
    /// [`AnswerFault`] where it broke off or ended in an error.
    pub fn finish(mut self) -> Result<String, AnswerFault> {
        let answer = self.reader.finish()?;
        match () {
            () if answer.failure.is_some() => Err(AnswerFault::Failed),
            () if answer.is_cut_off => Err(AnswerFault::BrokeOff),
            () => {
                // The last events of a stream may say more than its pieces did.
                let rest = answer.reply.content.expose().get(self.said..).unwrap_or_default();
                let mut events = self.live.say(rest);
                events.extend(self.live.end(&answer.reply));
                Ok(events.iter().map(ToString::to_string).collect())
            }
        }
    }
}
