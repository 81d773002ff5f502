//! Reads an answer bit by bit.

use std::fmt;

use bytes::Bytes;
use leafgate_tree::{Document, ParseErrorKind};
use serde_json::Value;

use crate::account::Account;
use crate::apis::{Api, Assembly};
use crate::hearing::{Hearing, Step};
use crate::limits::{AnswerLimits, ReadError};
use crate::loss::{Losses, Lost};
use crate::reading::{parse, value};
use crate::reply::{Delta, Failure, Head, Reply};

/// Reads the copy of an answer while it comes.
pub struct Reader {
    api: Api,
    limits: AnswerLimits,
    form: Form,
    bytes: usize,
    values: usize,
    losses: Losses,
    is_odd: bool,
    /// The reader has given up, and keeps nothing any more.
    failed: Option<ReadError>,
}

enum Form {
    Whole(Vec<u8>),
    Stream { hearing: Box<Hearing>, assembly: Box<dyn Assembly>, events: usize, is_done: bool },
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
        let (assembly, account) = (api.wire().assembly(), Account::new(api, false));
        let hearing = Box::new(Hearing::new(account, limits.bytes));
        Reader::new(api, limits, Form::Stream { hearing, assembly, events: 0, is_done: false })
    }

    fn new(api: Api, limits: AnswerLimits, form: Form) -> Self {
        Reader {
            api,
            limits,
            form,
            bytes: 0,
            values: 0,
            losses: Losses::default(),
            is_odd: false,
            failed: None,
        }
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
        let mut losses = self.losses;
        let (whole, has_no_end) = match self.form {
            Form::Whole(bytes) => {
                let document = whole_document(bytes.into(), &mut losses)?;
                let whole = match value(&document, document.root()) {
                    Value::Array(pieces) => {
                        let mut assembly = self.api.wire().assembly();
                        pieces.into_iter().for_each(|piece| drop(assembly.take(piece, &mut losses)));
                        assembly.whole()
                    }
                    whole => Some(whole),
                };
                self.is_odd = Account::new(self.api, false).whole(document).is_odd;
                (whole, false)
            }
            Form::Stream { assembly, is_done, .. } => (assembly.whole(), !is_done),
        };
        let whole = whole.ok_or(no_answer)?;
        self.is_odd |= losses.has(Lost::Unread) || losses.has(Lost::Contradiction);
        let answer = Answer::of(self.api, whole, losses).ok_or(no_answer)?;
        let is_cut_off = has_no_end && answer.reply.finish.is_none() && answer.failure.is_none();
        Ok(Answer { is_cut_off, is_odd: self.is_odd, ..answer })
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
        let Form::Stream { assembly, events, is_done, .. } = &mut self.form else { return Vec::new() };
        let mut deltas = Vec::new();
        for (_, step) in steps {
            match step {
                Step::Event(heard) | Step::End(Some(heard)) => {
                    self.is_odd |= heard.is_odd;
                    let event = value(&heard.document, heard.document.root());
                    deltas.extend(assembly.take(event, &mut self.losses));
                    *events += 1;
                }
                Step::Odd => {
                    self.is_odd = true;
                    self.losses.add(Lost::Unread, format!("/{events}"));
                    *events += 1;
                }
                Step::Done => *is_done = true,
                Step::Feed | Step::Comment | Step::Within | Step::End(None) => {}
            }
        }
        deltas
    }
}

/// Reads an answer in one piece. Bytes that are no characters become U+FFFD, as in a browser.
fn whole_document(bytes: Bytes, losses: &mut Losses) -> Result<Document, ReadError> {
    let read = match parse(bytes.clone()) {
        Err(error) if error.kind() == ParseErrorKind::InvalidUtf8 => {
            losses.add(Lost::Character, "");
            parse(String::from_utf8_lossy(&bytes).into_owned().into())
        }
        read => read,
    };
    read.map_err(|error| ReadError::NotJson { line: error.line(), column: error.column() })
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
            is_odd: false,
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
