//! Reads an answer bit by bit.

use std::fmt;

use serde_json::Value;

use crate::apis::{Api, Assembly};
use crate::frames::{Framed, Frames};
use crate::limits::{AnswerLimits, ReadError};
use crate::loss::{Losses, Lost};
use crate::mend;
use crate::reply::{Delta, Failure, Head, Reply};

/// Reads the copy of an answer while it comes.
pub struct Reader {
    api: Api,
    limits: AnswerLimits,
    form: Form,
    bytes: usize,
    values: usize,
    losses: Losses,
    /// The reader has given up, and keeps nothing any more.
    failed: Option<ReadError>,
}

enum Form {
    Whole(Vec<u8>),
    Stream { frames: Frames, assembly: Box<dyn Assembly>, events: usize },
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
        let assembly = api.wire().assembly();
        Reader::new(api, limits, Form::Stream { frames: Frames::default(), assembly, events: 0 })
    }

    fn new(api: Api, limits: AnswerLimits, form: Form) -> Self {
        Reader { api, limits, form, bytes: 0, values: 0, losses: Losses::default(), failed: None }
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
            Form::Stream { frames, .. } => {
                let framed = frames.push(bytes);
                Ok(self.take(framed))
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
        let mut has_no_end = false;
        if let Form::Stream { frames, .. } = &mut self.form {
            let framed = frames.finish();
            has_no_end = !frames.is_done;
            self.take(framed);
        }
        let no_answer = ReadError::NoAnswer { api: self.api.name() };
        let mut losses = self.losses;
        let whole = match self.form {
            Form::Whole(bytes) => match parse(&bytes, &mut losses)? {
                Value::Array(pieces) => {
                    let mut assembly = self.api.wire().assembly();
                    pieces.into_iter().for_each(|piece| drop(assembly.take(piece, &mut losses)));
                    assembly.whole()
                }
                whole => Some(whole),
            },
            Form::Stream { assembly, .. } => assembly.whole(),
        };
        let whole = whole.ok_or(no_answer)?;
        let answer = Answer::of(self.api, whole, losses).ok_or(no_answer)?;
        let is_cut_off = has_no_end && answer.reply.finish.is_none() && answer.failure.is_none();
        Ok(Answer { is_cut_off, ..answer })
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

    fn take(&mut self, framed: Vec<Framed>) -> Vec<Delta> {
        let Form::Stream { assembly, events, .. } = &mut self.form else { return Vec::new() };
        let mut deltas = Vec::new();
        for one in framed {
            match one {
                Framed::Object(event, mended) => {
                    if mended {
                        self.losses.add(Lost::Character, "");
                    }
                    deltas.extend(assembly.take(event, &mut self.losses));
                }
                Framed::Unread => self.losses.add(Lost::Unread, format!("/{events}")),
            }
            *events += 1;
        }
        deltas
    }
}

fn parse(bytes: &[u8], losses: &mut Losses) -> Result<Value, ReadError> {
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    let (value, mended) = mend::parse(bytes)
        .map_err(|error| ReadError::NotJson { line: error.line(), column: error.column() })?;
    if mended {
        losses.add(Lost::Character, "");
    }
    Ok(value)
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
    /// What the reply has no place for.
    pub losses: Losses,
    whole: Value,
}

impl Answer {
    /// Reads a whole answer that was made or changed; `None` where it is none of the API. `losses` are those
    /// that are known already.
    #[must_use]
    pub fn of(api: Api, whole: Value, mut losses: Losses) -> Option<Answer> {
        let read = api.wire().read(&whole, &mut losses)?;
        Some(Answer {
            api,
            reply: read.reply,
            head: read.head,
            failure: read.failure,
            is_cut_off: false,
            losses,
            whole,
        })
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
        f.debug_struct("Answer")
            .field("api", &self.api)
            .field("reply", &self.reply)
            .field("losses", &self.losses)
            .finish_non_exhaustive()
    }
}
