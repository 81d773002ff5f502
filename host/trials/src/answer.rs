//! The answer of a test: JSON or an event stream, read as the gate reads it.

use std::sync::Arc;

use bytes::Bytes;
use leafgate_answer::{Answer, AnswerLimits, Api, Reader, answer_events};
use leafgate_policy::answers;
use leafgate_tree::{Document, Format, Limits};

/// An answer, and how it came.
#[derive(derive_more::Debug)]
#[debug("an answer of {}, {} bytes", self.whole.api.name(), self.received.len())]
pub(super) struct TestAnswer {
    pub(super) received: Vec<u8>,
    pub(super) whole: Answer,
    pub(super) streams: bool,
}

leafgate_words::words! {
    /// Why an answer cannot be read, and what to do about it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) enum NoAnswer {
        Unknown = "no API answers like this, or clients could read it in another way"
            / "give the whole answer as its API sends it, JSON or events, and its `format`",
        Several = "several APIs answer like this" / "say which one with `format`",
        Failure = "it is an error, and rules see answers alone" / "give an answer that the model gave",
        Stream = "it is an event stream, and `stream` says that it is none"
            / "leave `stream` out, or give the answer as JSON",
    }
    pub(super) fn why = 0;
    pub(super) fn hint = 1;
}

impl TestAnswer {
    /// Reads an answer. `stream` has JSON stand for the stream that it is the whole of.
    pub(super) fn read(received: Vec<u8>, api: Option<Api>, stream: Option<bool>) -> Result<Self, NoAnswer> {
        let is_json = matches!(received.trim_ascii_start().first(), Some(b'{' | b'['));
        if !is_json && stream == Some(false) {
            return Err(NoAnswer::Stream);
        }
        let apis = api.map_or(Api::ALL.to_vec(), |api| vec![api]);
        let mut read = apis.into_iter().filter_map(|api| {
            let limits = AnswerLimits::default();
            let mut reader = if is_json { Reader::whole(api, limits) } else { Reader::stream(api, limits) };
            reader.push(&received).ok()?;
            reader.finish().and_then(Answer::sound).ok()
        });
        let (whole, other) = (read.next().ok_or(NoAnswer::Unknown)?, read.next());
        if other.is_some() {
            return Err(NoAnswer::Several);
        }
        drop(read);
        if whole.failure.is_some() {
            return Err(NoAnswer::Failure);
        }
        let streams = !is_json || stream == Some(true);
        let mut read = TestAnswer { whole, streams, received };
        if is_json && streams {
            read.received = read.spelled(&read.whole);
        }
        Ok(read)
    }

    pub(super) fn model(&self) -> Option<&str> {
        Some(self.whole.head.model.expose()).filter(|model| !model.is_empty())
    }

    /// Its texts and calls as response rules see them; `None` where it has none.
    pub(super) fn as_messages(&self, model: Option<&str>) -> Option<Arc<Document>> {
        let (texts, calls) = (answers::texts(&self.whole, self.whole.texts()), self.whole.calls());
        let says = !texts.is_empty() || !calls.is_empty();
        says.then(|| document(answers::written(model, &texts, calls))).flatten()
    }

    /// What response rules made of the answer.
    pub(super) fn put_back(&self, after: &[u8]) -> Option<Answer> {
        let whole = answers::put_back(&self.whole, self.whole.texts(), after).ok()?;
        Answer::read(self.whole.api, whole.to_string().into()).and_then(Answer::sound).ok()
    }

    /// The bytes of an answer in the form in which this one came: JSON, or the stream that it stands
    /// for.
    pub(super) fn spelled(&self, answer: &Answer) -> Vec<u8> {
        match self.streams {
            false => answer.bytes().to_vec(),
            true => {
                let events = answer_events(answer.api, &answer.json(), self.whole.reply.usage.is_some());
                let events = events.unwrap_or_default();
                events.iter().map(ToString::to_string).collect::<String>().into_bytes()
            }
        }
    }
}

/// The calls of an answer as rules about calls see them; `None` where there are none.
pub(super) fn as_calls(answer: &Answer, model: Option<&str>) -> Option<Arc<Document>> {
    let calls = answer.calls();
    (!calls.is_empty()).then(|| document(answers::calls_written(model, calls))).flatten()
}

fn document(body: Bytes) -> Option<Arc<Document>> {
    Document::parse(body, Format::OpenaiChat, &Limits::default()).ok().map(Arc::new)
}
