//! What the client of a run is answered: calls to run, or the end.

use bytes::Bytes;
use http::Response;
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use leafgate_agents::{ClientCall, Degraded};
use leafgate_answer::{AnswerText, Call, Finish, Head, Reply, Usage};

use super::drive::RunCase;
use crate::content::{self, Content};
use crate::refusal::Refusal;
use crate::restore::Restoring;

/// Says with what a run makes do.
const AGENTS: HeaderName = HeaderName::from_static("leafgate-agents");

/// What stands between the texts of several answers of the entry.
const BETWEEN: &str = "\n\n";

/// What the client hears where the entry said nothing.
const NOTHING: &str = "[leafgate: the agents ended without an answer]";

/// What the entry said since the client was answered last, and what that cost.
#[derive(Default)]
pub(super) struct Heard {
    content: String,
    finish: Option<Finish>,
    usage: Usage,
    /// Whether any answer said what it cost.
    counted: bool,
}

impl Heard {
    /// The model answered; `says` where its words are for the client.
    pub(super) fn add(&mut self, reply: &Reply, says: bool) {
        if let Some(usage) = reply.usage {
            self.counted = true;
            self.usage.input += usage.input;
            self.usage.cached += usage.cached;
            self.usage.written += usage.written;
            self.usage.output += usage.output;
            self.usage.reasoning += usage.reasoning;
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
        let call = |call: ClientCall| Call {
            id: call.id.into(),
            name: call.name,
            arguments: call.arguments,
            kind: call.kind,
        };
        Reply {
            calls: calls.into_iter().map(call).collect(),
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
        Reply { content, usage: self.counted.then_some(self.usage), ..Reply::default() }
    }
}

impl RunCase {
    /// Writes an answer in the client's API, with the real values back in its words.
    pub(super) async fn give(
        &self,
        reply: &Reply,
        head: &Head,
        degraded: Option<Degraded>,
    ) -> Result<Response<Content>, Refusal> {
        let api = self.wire.answers();
        let whole = api.write(reply, head).json;
        let (kind, body) = match self.streams {
            false => ("application/json", Bytes::from(whole.to_string())),
            true => {
                let events = api.events(&whole, self.wants_usage()).unwrap_or_default();
                let events: String = events.iter().map(ToString::to_string).collect();
                ("text/event-stream", events.into())
            }
        };
        let mut answer = Response::new(content::full(body));
        answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        let thread = self.shared.sessions.thread(&self.session.key);
        let restoring = Restoring::of(self.api, &self.document, self.session.vault.clone(), thread)
            .filter(|_| self.lane.restore);
        let mut answer = self.shared.prepare(answer, restoring).await?;
        if let Some(degraded) = degraded {
            answer.headers_mut().insert(AGENTS, HeaderValue::from_static(degraded.as_str()));
        }
        Ok(answer)
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
