//! An answer that is written while it comes about: words go out as they are said, and calls, costs
//! and the reason for its end follow when they are known.
//!
//! All events are those of [`Api::events`], of an answer that has one part: its text is cut into
//! pieces, and its place is set to where the part stands.

use std::fmt;

use serde_json::{Value, json};

use crate::apis::{Api, Event};
use crate::reply::{Delta, Head, Reply};

/// What the reasoning of a [`LiveAnswer`] is signed with in Messages, where clients send a block of
/// it again only with its signature. No provider signs so, and none takes it.
pub const LIVE_SIGNATURE: &str = "leafgate";

/// Writes the event stream of an answer that is not finished.
///
/// ```
/// use leafgate_answer::{AnswerLimits, Api, Finish, Head, LiveAnswer, Reader, Reply};
///
/// let mut live = LiveAnswer::new(Api::Messages, Head::default(), false);
/// let mut events = live.reason("Who knows? ");
/// events.extend(live.say("Fo"));
/// events.extend(live.say("ur."));
/// events.extend(live.end(&Reply { finish: Some(Finish::Stop), ..Reply::default() }));
///
/// let mut reader = Reader::stream(Api::Messages, AnswerLimits::default());
/// events.iter().try_for_each(|event| reader.push(event.to_string().as_bytes()).map(drop))?;
/// assert_eq!(reader.finish()?.reply.content.expose(), "Four.");
/// # Ok::<(), leafgate_answer::ReadError>(())
/// ```
pub struct LiveAnswer {
    api: Api,
    head: Head,
    usage: bool,
    /// Its blocks or items.
    parts: Vec<Delta>,
    /// The last part may go on.
    is_open: bool,
    begun: bool,
    /// How many events there were, for an API that numbers them.
    sent: u64,
    /// The last piece of the part that is open: the next one differs in its text alone.
    piece: Option<(Event, Value)>,
}

/// Where an event stands about the part that it is of.
#[derive(Clone, Copy, PartialEq)]
enum Phase {
    /// Before all parts.
    Start,
    Open,
    Text,
    Close,
    /// Behind all parts.
    End,
}

impl LiveAnswer {
    /// Begins an answer. `usage` is that of [`Api::events`].
    #[must_use]
    pub fn new(api: Api, head: Head, usage: bool) -> Self {
        LiveAnswer { api, head, usage, parts: Vec::new(), is_open: false, begun: false, sent: 0, piece: None }
    }

    /// Returns the events of more content.
    pub fn say(&mut self, text: &str) -> Vec<Event> {
        self.more(Delta::Content(text.into()))
    }

    /// Returns the events of more reasoning.
    pub fn reason(&mut self, text: &str) -> Vec<Event> {
        self.more(Delta::Reasoning(text.into()))
    }

    /// Returns whether any content was said.
    #[must_use]
    pub fn has_content(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Delta::Content(_)))
    }

    /// Returns the events that end the answer: the calls of `last`, why it ends, and what it cost. Its texts
    /// are those that were said.
    #[must_use]
    pub fn end(mut self, last: &Reply) -> Vec<Event> {
        let mut events = Vec::new();
        self.close(&mut events);
        for call in &last.calls {
            self.parts.push(Delta::Call(call.clone()));
            let is_first = !self.begun;
            self.put(&self.parts[self.parts.len() - 1].clone(), &mut events, |phase| {
                phase != Phase::End && (phase != Phase::Start || is_first)
            });
        }
        let whole = self.whole(last);
        let is_first = !self.begun;
        let end = self.api.events(&whole, self.usage).unwrap_or_default();
        for event in end {
            let phase = self.phase(&event);
            if phase == Phase::End || (phase == Phase::Start && is_first) {
                self.send(event, 0, &mut events);
            }
        }
        events
    }

    fn more(&mut self, piece: Delta) -> Vec<Event> {
        let mut events = Vec::new();
        if said(&piece).is_empty() {
            return events;
        }
        let is_like = |last: &Delta| std::mem::discriminant(last) == std::mem::discriminant(&piece);
        let goes_on = self.is_open && self.parts.last().is_some_and(is_like);
        match self.parts.last_mut() {
            Some(Delta::Reasoning(text) | Delta::Content(text)) if goes_on => text.push(said(&piece)),
            _ => {
                self.close(&mut events);
                self.parts.push(piece.clone());
                self.is_open = true;
            }
        }
        if let Some(event) = self.next_piece(&piece) {
            return vec![event];
        }
        let is_first = !self.begun;
        self.put(&piece, &mut events, |phase| match phase {
            Phase::Start => is_first,
            Phase::Open => !goes_on,
            Phase::Text => true,
            Phase::Close | Phase::End => false,
        });
        events
    }

    /// One more piece of the part that is open. A model says thousands, so this is the short way.
    fn next_piece(&mut self, piece: &Delta) -> Option<Event> {
        let (last, data) = self.piece.as_mut()?;
        *data.pointer_mut(place(self.api, piece)?)? = said(piece).into();
        if let Some(number) = data.get_mut("sequence_number") {
            *number = self.sent.into();
        }
        self.sent += 1;
        Some(last.clone().with(data))
    }

    /// Ends the part that is open.
    fn close(&mut self, events: &mut Vec<Event>) {
        self.piece = None;
        if let Some(last) = self.parts.last().filter(|_| self.is_open).cloned() {
            self.put(&last, events, |phase| phase == Phase::Close);
        }
        self.is_open = false;
    }

    /// Writes some events of the last part, of which `part` is all or a piece.
    fn put(&mut self, part: &Delta, events: &mut Vec<Event>, is_wanted: impl Fn(Phase) -> bool) {
        let at = self.parts.len() - 1;
        let mut whole = self.api.write(&of_part(part), &self.head);
        if let Some(list) = list(self.api) {
            whole[list] = json!([self.element(at, part)]);
        }
        for event in self.api.events(&whole, self.usage).unwrap_or_default() {
            let phase = self.phase(&event);
            if !is_wanted(phase) {
                continue;
            }
            self.send(event, at, events);
            if let (Phase::Text, Some(sent)) = (phase, events.last()) {
                self.piece = serde_json::from_str(sent.data()).ok().map(|data| (sent.clone(), data));
            }
        }
    }

    /// Sets what an event says about its place, and puts it behind the others.
    fn send(&mut self, event: Event, at: usize, events: &mut Vec<Event>) {
        self.begun = true;
        let Ok(mut data) = serde_json::from_str::<Value>(event.data()) else {
            // The word that ends a stream of chat completions.
            return events.push(event);
        };
        match self.api {
            Api::Chat => {
                let calls = self.parts.iter().filter(|part| matches!(part, Delta::Call(_))).count();
                if let Some(call) = data.pointer_mut("/choices/0/delta/tool_calls/0") {
                    call["index"] = calls.saturating_sub(1).into();
                }
            }
            Api::Messages => {
                if let Some(index) = data.get_mut("index") {
                    *index = at.into();
                }
            }
            Api::Responses => {
                if let Some(index) = data.get_mut("output_index") {
                    *index = at.into();
                }
                data["sequence_number"] = self.sent.into();
            }
            Api::Gemini | Api::CodeAssist => {}
        }
        self.sent += 1;
        events.push(event.with(&data));
    }

    /// The block or item of a part.
    fn element(&self, at: usize, part: &Delta) -> Value {
        let whole = self.api.write(&of_part(part), &self.head);
        let mut element = list(self.api).map(|list| whole[list][0].clone()).unwrap_or_default();
        match (self.api, part) {
            (Api::Messages, Delta::Reasoning(_)) => element["signature"] = LIVE_SIGNATURE.into(),
            (Api::Responses, _) => {
                let kind = element["id"].as_str().and_then(|id| id.split('_').next()).unwrap_or_default();
                element["id"] = format!("{kind}_{}_{at}", self.head.id.expose()).into();
            }
            (Api::Chat | Api::Messages | Api::Gemini | Api::CodeAssist, _) => {}
        }
        element
    }

    /// All of the answer.
    fn whole(&self, last: &Reply) -> Value {
        let mut reply = Reply { finish: last.finish, usage: last.usage, ..Reply::default() };
        self.parts.iter().for_each(|part| reply.add(part));
        let mut whole = self.api.write(&reply, &self.head);
        if let Some(list) = list(self.api) {
            whole[list] = self.parts.iter().enumerate().map(|(at, part)| self.element(at, part)).collect();
        }
        whole
    }

    fn phase(&self, event: &Event) -> Phase {
        let Ok(data) = serde_json::from_str::<Value>(event.data()) else { return Phase::End };
        let kind = data["type"].as_str().unwrap_or_default();
        match self.api {
            Api::Chat | Api::Gemini | Api::CodeAssist => {
                let delta = &data["choices"][0]["delta"];
                match delta.as_object() {
                    Some(delta) if delta.contains_key("role") => Phase::Start,
                    Some(delta) if !delta.is_empty() => Phase::Text,
                    _ => Phase::End,
                }
            }
            Api::Messages => match kind {
                "message_start" => Phase::Start,
                "content_block_start" => Phase::Open,
                "content_block_delta" if data["delta"]["type"] == "signature_delta" => Phase::Close,
                "content_block_delta" => Phase::Text,
                "content_block_stop" => Phase::Close,
                _ => Phase::End,
            },
            Api::Responses => match kind.rsplit('.').next().unwrap_or_default() {
                "created" | "in_progress" => Phase::Start,
                "added" => Phase::Open,
                "delta" => Phase::Text,
                "done" => Phase::Close,
                _ => Phase::End,
            },
        }
    }
}

impl fmt::Debug for LiveAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiveAnswer").field("api", &self.api).field("sent", &self.sent).finish_non_exhaustive()
    }
}

/// Where an API has the parts of its answers; `None` where all texts are one.
fn list(api: Api) -> Option<&'static str> {
    match api {
        Api::Messages => Some("content"),
        Api::Responses => Some("output"),
        Api::Chat | Api::Gemini | Api::CodeAssist => None,
    }
}

/// Where an event has the text of a piece; `None` for an API that is not written so.
fn place(api: Api, piece: &Delta) -> Option<&'static str> {
    match (api, piece) {
        (Api::Chat, Delta::Content(_)) => Some("/choices/0/delta/content"),
        (Api::Chat, Delta::Reasoning(_)) => Some("/choices/0/delta/reasoning_content"),
        (Api::Messages, Delta::Content(_)) => Some("/delta/text"),
        (Api::Messages, Delta::Reasoning(_)) => Some("/delta/thinking"),
        (Api::Responses, Delta::Content(_) | Delta::Reasoning(_)) => Some("/delta"),
        (Api::Gemini | Api::CodeAssist, _) | (_, Delta::Call(_) | Delta::Arguments { .. }) => None,
    }
}

/// The text of a part.
fn said(part: &Delta) -> &str {
    match part {
        Delta::Reasoning(text) | Delta::Content(text) => text.expose(),
        Delta::Call(_) | Delta::Arguments { .. } => "",
    }
}

/// A reply of a part alone.
fn of_part(part: &Delta) -> Reply {
    let mut reply = Reply::default();
    reply.add(part);
    reply
}
