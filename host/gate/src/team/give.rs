//! What the client of a run is answered at last: calls to run, or the end.

use http::Response;
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use leafgate_agents::{ClientCall, Degraded, Run};
use leafgate_answer::{AnswerText, Finish, Head, LiveAnswer, Reply, Usage, write_answer};
use tokio::sync::mpsc::UnboundedSender;

use super::drive::RunCase;
use super::live::{Begin, Given, LiveRun, ShownPiece};
use crate::restore::Restoring;
use leafgate_http::{Content, content};

/// Says with what a run makes do.
pub(super) const AGENTS: HeaderName = HeaderName::from_static("leafgate-agents");

/// What stands between the texts of several answers of the entry.
pub(super) const BETWEEN: &str = "\n\n";

/// What the client hears where the entry said nothing.
const NOTHING: &str = "[leafgate: the agents ended without an answer]";

/// What the entry said since the client was answered last, and what that cost.
#[derive(Default)]
pub(super) struct HeardReplies {
    content: String,
    finish: Option<Finish>,
    /// `None` as long as no answer said what it cost.
    usage: Option<Usage>,
}

impl HeardReplies {
    /// The model answered; `says` where its words are for the client.
    pub(super) fn add(&mut self, reply: &Reply, says: bool) {
        if let Some(usage) = reply.usage {
            let all = self.usage.get_or_insert_default();
            all.input += usage.input;
            all.cached += usage.cached;
            all.written += usage.written;
            all.output += usage.output;
            all.reasoning += usage.reasoning;
        }
        if !says {
            return;
        }
        self.finish = reply.finish;
        let text = reply.content.expose();
        if !self.content.is_empty() && !text.is_empty() {
            self.content.push_str(BETWEEN);
        }
        self.content.push_str(text);
    }

    /// The answer with calls for the client to run.
    pub(super) fn calls(self, calls: Vec<ClientCall>) -> Reply {
        Reply {
            calls: calls.into_iter().map(|given| given.call).collect(),
            finish: Some(Finish::Calls),
            ..self.reply(AnswerText::default())
        }
    }

    /// The last answer. `completed` where the entry came to its own end.
    pub(super) fn end(self, completed: bool) -> Reply {
        let finish = match self.finish {
            Some(Finish::Calls) | None if completed => Finish::Stop,
            Some(finish) if completed => finish,
            _ => Finish::Length,
        };
        Reply { finish: Some(finish), ..self.reply(NOTHING.into()) }
    }

    fn reply(self, otherwise: AnswerText) -> Reply {
        let content = if self.content.is_empty() { otherwise } else { self.content.into() };
        Reply { content, usage: self.usage, ..Reply::default() }
    }
}

impl RunCase {
    /// Writes an answer in the client's API, with the real values back in its words. A client that
    /// asked for a stream has its words already.
    pub(super) async fn give(&self, reply: &Reply, head: &Head, degraded: Option<Degraded>) -> Given {
        if let Some(live) = &self.live {
            live.ends(reply);
            return Ok(None);
        }
        let whole = write_answer(self.wire.answers, reply, head);
        let mut answer = Response::new(content::full(whole.to_string().into()));
        answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let mut answer = self.prepare(answer, self.restoring()).await?;
        if let Some(degraded) = degraded {
            answer.headers_mut().insert(AGENTS, HeaderValue::from_static(degraded.as_str()));
        }
        Ok(Some(answer))
    }

    /// What is shown to a client that asked for a stream, from the beginning of an answer.
    pub(super) fn live(&self, run: &Run, head: &Head, pieces: UnboundedSender<ShownPiece>) -> LiveRun {
        let answer = LiveAnswer::new(self.wire.answers, head.clone(), self.wants_usage());
        let restoring = self.restoring().map(Restoring::while_values_come);
        let begin = Begin { restoring, degraded: run.degraded() };
        LiveRun::new(pieces, answer, begin, run.team().settings.progress)
    }

    pub(super) fn restoring(&self) -> Option<Restoring> {
        let thread = self.sessions.thread(&self.session.key);
        Restoring::of(self.api, &self.document, self.session.vault.clone(), thread)
            .filter(|_| self.lane.restore)
    }

    /// Whether a stream of chat completions ends with its costs.
    fn wants_usage(&self) -> bool {
        self.body.get("stream_options").is_some_and(|options| options["include_usage"] == true)
    }
}

/// Marks an answer that came without agents.
pub(super) fn mark_direct(mut answer: Response<Content>) -> Response<Content> {
    answer.headers_mut().insert(AGENTS, HeaderValue::from_static(Degraded::DirectChat.as_str()));
    answer
}
