//! What the client of a run is shown while the run goes on: the entry's words as its model says
//! them, and what others do for it, as reasoning. It is for clients that asked for a stream.
//!
//! The run says what is to be shown, and the client's answer hands it on: it begins with the first
//! word, has signs of life in between, and ends with the run. Until then it is no answer, so a run
//! that fails before it said anything can still be refused, or replaced by plain chat.

use std::future::{Future, ready};
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http::Response;
use http::header::HeaderValue;
use http_body::Frame;
use leafgate_agents::Degraded;
use leafgate_answer::{LiveAnswer, Reply, StreamEvent};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::time::timeout;

use super::give::{AGENTS, BETWEEN};
use crate::answer;
use crate::apis::dialect;
use crate::begun;
use crate::exchange::Exchange;
use crate::restore::Restoring;
use leafgate_http::{Content, Refusal, content};

/// How each line about the work of others begins. Clients that send reasoning again send it so, and
/// by this it is known to be nobody's.
pub(super) const PROGRESS: &str = "[agents] ";

/// What a run was answered with; `None` where all of it was shown.
pub(super) type Given = Result<Option<Response<Content>>, Refusal>;

/// A run that comes to its answer. Dropping it gives the run up.
pub(super) type Running = Pin<Box<dyn Future<Output = Given> + Send>>;

/// A piece of what is shown.
pub(super) enum ShownPiece {
    /// Comes first, and once.
    Begin(Box<Begin>),
    Events(Bytes),
}

/// How what is shown begins.
pub(super) struct Begin {
    pub(super) restoring: Option<Restoring>,
    pub(super) degraded: Option<Degraded>,
}

/// What a client is shown while its run goes on.
pub(super) struct LiveRun {
    pieces: UnboundedSender<ShownPiece>,
    showing: Mutex<Showing>,
}

struct Showing {
    /// `None` once it has ended.
    answer: Option<LiveAnswer>,
    /// `None` once something was shown.
    begin: Option<Box<Begin>>,
    /// Whether the work of others is shown.
    progress: bool,
    /// Bytes of the entry's present reply that were shown.
    shown: usize,
}

impl LiveRun {
    pub(super) fn new(
        pieces: UnboundedSender<ShownPiece>,
        answer: LiveAnswer,
        begin: Begin,
        progress: bool,
    ) -> LiveRun {
        let showing = Showing { answer: Some(answer), begin: Some(Box::new(begin)), progress, shown: 0 };
        LiveRun { pieces, showing: Mutex::new(showing) }
    }

    /// The entry's model says more.
    pub(super) fn says(&self, more: &str) {
        self.show(|showing| showing.says(more));
    }

    /// The entry's model has said all of this: what was not shown is.
    pub(super) fn said(&self, all: &str) {
        self.show(|showing| {
            let rest = all.get(showing.shown..).unwrap_or_default();
            let events = showing.says(rest);
            showing.shown = 0;
            events
        });
    }

    /// Whether words of a reply were shown that is not there yet.
    pub(super) fn is_within_reply(&self) -> bool {
        self.showing().shown > 0
    }

    /// Somebody works for the entry.
    pub(super) fn tells(&self, line: &str) {
        self.show(|showing| match &mut showing.answer {
            Some(answer) if showing.progress => answer.reason(&format!("{PROGRESS}{line}\n")),
            _ => Vec::new(),
        });
    }

    pub(super) fn degrades(&self, degraded: Degraded) {
        if let Some(begin) = &mut self.showing().begin {
            begin.degraded = Some(degraded);
        }
    }

    /// Ends what is shown with the last answer, whose words were said unless none were.
    pub(super) fn ends(&self, last: &Reply) {
        self.show(|showing| {
            let Some(mut answer) = showing.answer.take() else { return Vec::new() };
            let mut events = match answer.has_content() {
                true => Vec::new(),
                false => answer.say(last.content.expose()),
            };
            events.extend(answer.end(last));
            events
        });
    }

    fn show(&self, of: impl FnOnce(&mut Showing) -> Vec<StreamEvent>) {
        let mut showing = self.showing();
        let events = of(&mut showing);
        if events.is_empty() {
            return;
        }
        // A client that is gone hears nothing, and its run hears of that by itself.
        if let Some(begin) = showing.begin.take() {
            let _ = self.pieces.send(ShownPiece::Begin(begin));
        }
        let events: String = events.iter().map(ToString::to_string).collect();
        let _ = self.pieces.send(ShownPiece::Events(events.into()));
    }

    fn showing(&self) -> MutexGuard<'_, Showing> {
        // What a run that panicked has shown is shown.
        self.showing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Showing {
    fn says(&mut self, more: &str) -> Vec<StreamEvent> {
        let Some(answer) = self.answer.as_mut().filter(|_| !more.is_empty()) else { return Vec::new() };
        let begins = self.shown == 0 && answer.has_content();
        self.shown += more.len();
        let mut events = if begins { answer.say(BETWEEN) } else { Vec::new() };
        events.extend(answer.say(more));
        events
    }
}

/// Waits for the beginning of what is shown, or for the answer of a run that showed nothing.
pub(super) async fn answer(
    mut run: Running,
    mut pieces: UnboundedReceiver<ShownPiece>,
    client: Exchange,
) -> Result<Response<Content>, Refusal> {
    let given = tokio::select! {
        biased;
        Some(ShownPiece::Begin(begin)) = pieces.recv() => return Ok(stream_of(client, *begin, pieces, run)),
        given = &mut run => given,
    };
    // It may have begun and ended since its pieces were looked for.
    match pieces.try_recv() {
        Ok(ShownPiece::Begin(begin)) => Ok(stream_of(client, *begin, pieces, Box::pin(ready(given)))),
        _ => given?.ok_or_else(|| Refusal::internal("a run of agents ended without an answer")),
    }
}

/// What is left of a stream.
struct Rest {
    client: Exchange,
    pieces: UnboundedReceiver<ShownPiece>,
    /// `None` once it has ended.
    run: Option<Running>,
}

fn stream_of(
    client: Exchange,
    begin: Begin,
    pieces: UnboundedReceiver<ShownPiece>,
    run: Running,
) -> Response<Content> {
    let rest = Rest { client, pieces, run: Some(run) };
    let mut body = content::unfold(rest, |mut rest| async move {
        let events = rest.next().await?;
        Some((Ok(Frame::data(events)), rest))
    });
    if let Some(restoring) = begin.restoring {
        body = answer::events(body, restoring);
    }
    let mut response = begun::events(body);
    if let Some(degraded) = begin.degraded {
        response.headers_mut().insert(AGENTS, HeaderValue::from_static(degraded.as_str()));
    }
    response
}

impl Rest {
    /// The next events, whole ones.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            match timeout(self.client.limits.keepalive, self.pieces.recv()).await {
                Ok(Some(ShownPiece::Events(events))) => return Some(events),
                Ok(Some(ShownPiece::Begin(_))) => {}
                // Nothing more is shown: the run is over, or breaks off.
                Ok(None) => break,
                Err(_) => return Some(dialect::keepalive(self.client.api)),
            }
        }
        let api = self.client.api;
        match self.run.take()?.await {
            Ok(error) => Some(begun::failing(error?, api).await),
            Err(refusal) => {
                self.client.progress.refused(&refusal);
                Some(dialect::ending(&refusal, api))
            }
        }
    }
}
