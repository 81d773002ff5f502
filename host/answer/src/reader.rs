//! Reads an answer bit by bit.

use bytes::Bytes;

use crate::account::Account;
use crate::answer::Answer;
use crate::calls::Gathering;
use crate::hearing::Hearing;
use crate::limits::{AnswerError, AnswerLimits};
use crate::reply::Delta;
use leafgate_api::Api;

/// Reads an answer while it comes, for those who decide nothing about it.
#[derive(derive_more::Debug)]
#[debug("Reader {{ api: {api:?}, bytes: {bytes:?}, .. }}")]
pub struct Reader {
    api: Api,
    limits: AnswerLimits,
    form: ReaderForm,
    bytes: usize,
    values: usize,
    /// The reader has given up, and keeps nothing any more.
    failed: Option<AnswerError>,
}

enum ReaderForm {
    Whole(Vec<u8>),
    Stream(Box<(Hearing, Gathering)>),
}

impl Reader {
    /// Reads an answer in one piece of JSON. Gemini's may be an array: a stream that is no event
    /// stream.
    pub fn whole(api: Api, limits: AnswerLimits) -> Self {
        Reader::new(api, limits, ReaderForm::Whole(Vec::new()))
    }

    /// Reads an event stream.
    pub fn stream(api: Api, limits: AnswerLimits) -> Self {
        let hearing = Hearing::new(Account::new(api, false), limits.bytes);
        Reader::new(api, limits, ReaderForm::Stream(Box::new((hearing, Gathering::new(api, None)))))
    }

    fn new(api: Api, limits: AnswerLimits, form: ReaderForm) -> Self {
        Reader { api, limits, form, bytes: 0, values: 0, failed: None }
    }

    /// Takes the next bytes, cut anywhere, and returns what they add to the reply. JSON in one piece
    /// adds nothing before its end.
    ///
    /// # Errors
    /// When a limit is exceeded, now or before. Then all that was kept is given up.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<Delta>, AnswerError> {
        self.count(bytes)?;
        match &mut self.form {
            ReaderForm::Whole(held) => {
                held.extend_from_slice(bytes);
                Ok(Vec::new())
            }
            ReaderForm::Stream(stream) => {
                let (hearing, gathering) = &mut **stream;
                let steps = hearing.push(Bytes::copy_from_slice(bytes));
                let said = steps.iter().flat_map(|(_, step)| gathering.take(step, hearing.account()));
                Ok(said.collect())
            }
        }
    }

    /// Reads to the end.
    ///
    /// # Errors
    /// When a limit was exceeded, and for what is no answer of the API.
    pub fn finish(self) -> Result<Answer, AnswerError> {
        match (self.failed, self.form) {
            (Some(error), _) => Err(error),
            (None, ReaderForm::Whole(bytes)) => Answer::read(self.api, bytes.into()),
            (None, ReaderForm::Stream(stream)) => {
                let (mut hearing, mut gathering) = *stream;
                let steps = hearing.finish();
                steps.iter().for_each(|(_, step)| drop(gathering.take(step, hearing.account())));
                gathering.finish(hearing.account()).map(|gathered| gathered.answer)
            }
        }
    }

    fn count(&mut self, bytes: &[u8]) -> Result<(), AnswerError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        self.bytes += bytes.len();
        self.values += bytes.iter().filter(|byte| matches!(byte, b',' | b'[' | b'{')).count();
        let AnswerLimits { bytes, values } = self.limits;
        let error = match () {
            () if self.bytes > bytes => AnswerError::TooLong { limit: bytes },
            () if self.values > values => AnswerError::TooManyValues { limit: values },
            () => return Ok(()),
        };
        self.failed = Some(error);
        self.form = ReaderForm::Whole(Vec::new());
        Err(error)
    }
}
