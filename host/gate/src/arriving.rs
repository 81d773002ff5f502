//! An answer on its way from the upstream, and the recorder that is told what is heard of it.
//!
//! Whoever decides about an answer, or restores in it, reads it and tells. One that nobody reads is read for the recorder
//! alone, while the upstream is silent: it leaves byte for byte and does not wait for that.

use std::time::Duration;

use bytes::Bytes;
use http::Response;
use leafgate_answer::Reader;
use leafgate_record::AnswerPart;
use tokio::runtime::Handle;

use crate::recording::ToldRequest;
use crate::watched::{BodyWatch, WatchedBody};
use leafgate_http::{Content, INLINE_BODY, in_place};

/// Bytes that wait to be read.
const UNREAD: usize = 64 * 1024;

/// An answer as it comes.
pub(crate) struct Arriving {
    body: Content,
    told: Option<ToldRequest>,
}

impl Arriving {
    /// Tells the head of an answer.
    pub(crate) fn new(
        answer: Response<Content>,
        told: Option<ToldRequest>,
        after: Duration,
    ) -> Response<Arriving> {
        if let Some(told) = &told {
            told.tell(AnswerPart::Head { status: answer.status(), after });
        }
        answer.map(|body| Arriving { body, told })
    }

    /// An answer of which all was told.
    pub(crate) fn recorded(body: Content) -> Self {
        Arriving { body, told: None }
    }

    /// Gives it to who reads it, and tells what was heard.
    pub(crate) fn heard(self) -> (Content, Option<ToldRequest>) {
        (self.body, self.told)
    }

    /// Lets it pass as it comes.
    pub(crate) fn passes(answer: Response<Arriving>) -> Response<Content> {
        let (parts, Arriving { body, told }) = answer.into_parts();
        let body = match told {
            Some(told) => {
                let reader = told.reader(&parts.headers);
                let recorded = RecordedBody { told, reader, unread: Vec::new(), waits: 0, came: 0 };
                WatchedBody::content(body, recorded)
            }
            None => body,
        };
        Response::from_parts(parts, body)
    }
}

/// An answer that is read for the recorder alone, while its body passes.
struct RecordedBody {
    told: ToldRequest,
    reader: Option<Reader>,
    unread: Vec<Bytes>,
    /// Bytes of these.
    waits: usize,
    /// Bytes of all that came.
    came: usize,
}

impl BodyWatch for RecordedBody {
    fn take(&mut self, data: &Bytes) {
        if self.reader.is_none() {
            return;
        }
        (self.waits, self.came) = (self.waits + data.len(), self.came + data.len());
        self.unread.push(data.clone());
        if self.waits > UNREAD {
            self.rest();
        }
    }

    fn rest(&mut self) {
        self.waits = 0;
        read(&mut self.reader, std::mem::take(&mut self.unread), &self.told);
    }

    /// Tells the end, behind what leaves: the last bytes of the answer do not wait until it is read.
    fn end(&mut self, complete: bool) {
        let Some(told) = self.told.take() else { return };
        let heard = (told, self.reader.take(), std::mem::take(&mut self.unread));
        // Once, however its task ends.
        let ending = scopeguard::guard(heard, move |(mut told, mut reader, unread)| {
            read(&mut reader, unread, &told);
            let answer = reader.and_then(|reader| reader.finish().ok());
            told.end(complete, answer.as_ref());
        });
        match Handle::try_current() {
            Ok(runtime) if self.came > INLINE_BODY => drop(runtime.spawn_blocking(move || drop(ending))),
            _ => in_place::behind(move || drop(ending)),
        }
    }
}

/// Reads what waits, and tells what is heard; what cannot be read is read no further.
fn read(reader: &mut Option<Reader>, unread: Vec<Bytes>, told: &ToldRequest) {
    for bytes in unread {
        match reader.as_mut().map(|reader| reader.push(&bytes)) {
            Some(Ok(deltas)) => told.said(&deltas),
            Some(Err(_)) => *reader = None,
            None => {}
        }
    }
}
