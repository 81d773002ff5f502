//! Reads an answer bit by bit.

use std::fmt;

use bytes::Bytes;
use leafgate_tree::Document;
use serde_json::Value;

use crate::account::{Account, Heard};
use crate::apis::{Api, Assembly, failure};
use crate::hearing::{Hearing, Step};
use crate::limits::{AnswerLimits, ReadError};
use crate::reading::{parse, parse_mended, value};
use crate::reply::{Delta, Failure, Finish, Head, Reply};
use crate::said::Said;
use crate::told::Telling;

/// Reads the copy of an answer while it comes.
pub struct Reader {
    api: Api,
    limits: AnswerLimits,
    form: Form,
    bytes: usize,
    values: usize,
    is_odd: bool,
    /// The reader has given up, and keeps nothing any more.
    failed: Option<ReadError>,
}

enum Form {
    Whole(Vec<u8>),
    Stream { hearing: Box<Hearing>, assembly: Box<Assembly>, telling: Telling, is_done: bool },
}

impl Reader {
    /// Reads an answer in one piece of JSON. Gemini's may be an array: a stream that is no event
    /// stream.
    #[must_use]
    pub fn whole(api: Api, limits: AnswerLimits) -> Self {
        Reader::new(api, limits, Form::Whole(Vec::new()))
    }

    /// Reads an event stream.
    #[must_use]
    pub fn stream(api: Api, limits: AnswerLimits) -> Self {
        let hearing = Box::new(Hearing::new(Account::new(api, false), limits.bytes));
        let (assembly, telling) = (Box::new(Assembly::new(api)), Telling::default());
        Reader::new(api, limits, Form::Stream { hearing, assembly, telling, is_done: false })
    }

    fn new(api: Api, limits: AnswerLimits, form: Form) -> Self {
        Reader { api, limits, form, bytes: 0, values: 0, is_odd: false, failed: None }
    }

    /// Takes the next bytes, cut anywhere, and returns what they add to the reply. JSON in one piece
    /// adds nothing before its end.
    ///
    /// # Errors
    /// When a limit is exceeded, now or before. Then all that was kept is given up.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<Delta>, ReadError> {
        self.count(bytes)?;
        match &mut self.form {
            Form::Whole(held) => {
                held.extend_from_slice(bytes);
                Ok(Vec::new())
            }
            Form::Stream { hearing, .. } => {
                let steps = hearing.push(Bytes::copy_from_slice(bytes));
                Ok(self.take(steps))
            }
        }
    }

    /// Reads to the end.
    ///
    /// # Errors
    /// When a limit was exceeded, and for what is no answer of the API.
    pub fn finish(mut self) -> Result<Answer, ReadError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        if let Form::Stream { hearing, .. } = &mut self.form {
            let steps = hearing.finish();
            self.take(steps);
        }
        let no_answer = ReadError::NoAnswer { api: self.api.name() };
        let (answer, is_ended) = match self.form {
            Form::Whole(bytes) => {
                let (document, is_mended) = parse_mended(bytes.into())?;
                self.is_odd = is_mended;
                let whole = match value(&document, document.root()) {
                    Value::Array(pieces) => {
                        let mut assembly = Assembly::new(self.api);
                        pieces.into_iter().for_each(|piece| self.is_odd |= !assembly.take(piece));
                        assembly.whole().ok_or(no_answer)?
                    }
                    whole => whole,
                };
                (Answer::read(self.api, document, whole), true)
            }
            Form::Stream { assembly, is_done, .. } => {
                (assembly.whole().and_then(|whole| Answer::of(self.api, whole)), is_done)
            }
        };
        let answer = answer.ok_or(no_answer)?;
        let is_cut_off = !is_ended && answer.reply.finish.is_none() && answer.failure.is_none();
        Ok(Answer { is_cut_off, is_odd: self.is_odd || answer.is_odd, ..answer })
    }

    fn count(&mut self, bytes: &[u8]) -> Result<(), ReadError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        self.bytes += bytes.len();
        self.values += bytes.iter().filter(|byte| matches!(byte, b',' | b'[' | b'{')).count();
        let AnswerLimits { bytes, values } = self.limits;
        let error = match () {
            () if self.bytes > bytes => ReadError::TooLong { limit: bytes },
            () if self.values > values => ReadError::TooManyValues { limit: values },
            () => return Ok(()),
        };
        self.failed = Some(error);
        self.form = Form::Whole(Vec::new());
        Err(error)
    }

    fn take(&mut self, steps: Vec<(Bytes, Step)>) -> Vec<Delta> {
        let Form::Stream { hearing, assembly, telling, is_done } = &mut self.form else { return Vec::new() };
        let mut deltas = Vec::new();
        for (_, step) in steps {
            match step {
                Step::Event(heard) | Step::End(Some(heard)) => {
                    let event = value(&heard.document, heard.document.root());
                    self.is_odd |= heard.is_odd | !assembly.take(event);
                    deltas.extend(telling.tell(&heard.document, &heard.said, hearing.account()));
                }
                Step::Odd => self.is_odd = true,
                Step::Done => *is_done = true,
                Step::Feed | Step::Comment | Step::Within | Step::End(None) => {}
            }
        }
        deltas
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").field("api", &self.api).field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

/// An answer that was read.
#[derive(Clone, PartialEq)]
pub struct Answer {
    /// Whose it is.
    pub api: Api,
    /// What the model answered.
    pub reply: Reply,
    /// What the answer says about itself.
    pub head: Head,
    /// What went wrong, where the answer is an error or ends in one.
    pub failure: Option<Failure>,
    /// A stream that ended without a word about it: neither why the model stopped nor that it is
    /// over. A connection that was lost looks so, where nothing counts the bytes.
    pub is_cut_off: bool,
    /// Some clients take something else from it. Whoever decides by what was read must not go on with it.
    pub is_odd: bool,
    whole: Value,
}

impl Answer {
    /// Reads a whole answer that was put together, made or changed; `None` where it is none of the API.
    #[must_use]
    pub fn of(api: Api, whole: Value) -> Option<Answer> {
        let document = parse(whole.to_string().into()).ok()?;
        Answer::read(api, document, whole)
    }

    fn read(api: Api, document: Document, whole: Value) -> Option<Answer> {
        let (wire, mut account) = (api.wire(), Account::new(api, false));
        if !account.is_answer(&document) {
            return None;
        }
        let Heard { document, mut said, is_odd } = account.whole(document);
        said.push(Said::EndAll);
        let (mut telling, mut reply) = (Telling::first(&said), Reply::default());
        telling.tell(&document, &said, &account).iter().for_each(|delta| reply.add(delta));
        let outer = whole.as_object()?;
        let root = wire.root(outer);
        let failure = failure(outer).or_else(|| failure(root));
        reply.finish = match wire.finish(root) {
            _ if failure.is_some() => Some(Finish::Failed),
            Some(Finish::Stop) if telling.refuses() => Some(Finish::Refusal),
            Some(Finish::Stop) if !reply.calls.is_empty() => Some(Finish::Calls),
            finish => finish,
        };
        reply.usage = wire.terms().usage(root);
        let head = wire.terms().head(root);
        Some(Answer { api, reply, head, failure, is_cut_off: false, is_odd, whole })
    }

    /// The answer as one JSON document; of a stream, the one that it stands for. Its own `Debug`
    /// prints texts.
    #[must_use]
    pub fn json(&self) -> &Value {
        &self.whole
    }

    /// What a further request repeats of the answer: a message of chat completions, Messages and
    /// Gemini, the items of Responses. It has all that the provider wants to see again, signed and
    /// encrypted reasoning too, which a [`Reply`] has not.
    #[must_use]
    pub fn turn(&self) -> Vec<Value> {
        self.api.wire().turn(&self.whole)
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer").field("api", &self.api).field("reply", &self.reply).finish_non_exhaustive()
    }
}
