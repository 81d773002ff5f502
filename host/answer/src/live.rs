//! An answer that is written while it comes about: words go out as they are said, and calls, costs
//! and the reason for its end follow when they are known.
//!
//! All events are those of [`Api::events`], of an answer that has one part: its text is cut into
//! pieces, and its place is set to where the part stands.

use std::fmt;

use serde_json::{Value, json};

use crate::apis::{Api, Event};
use crate::reply::{Call, Head, Reply};
use crate::text::AnswerText;

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
    parts: Vec<Part>,
    /// The last part may go on.
    is_open: bool,
    begun: bool,
    /// How many events there were, for an API that numbers them.
    sent: u64,
    /// The last piece of the part that is open: the next one differs in its text alone.
    piece: Option<(Event, Value)>,
}

/// A block or an item of the answer.
#[derive(Clone, Debug)]
enum Part {
    Reasoning(AnswerText),
    Content(AnswerText),
    Call(Call),
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
        self.more(Part::Content(text.into()))
    }

    /// Returns the events of more reasoning.
    pub fn reason(&mut self, text: &str) -> Vec<Event> {
        self.more(Part::Reasoning(text.into()))
    }

    /// Returns whether any content was said.
    #[must_use]
    pub fn has_content(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Content(_)))
    }

    /// Returns the events that end the answer: the calls of `last`, why it ends, and what it cost. Its texts
    /// are those that were said.
    #[must_use]
    pub fn end(mut self, last: &Reply) -> Vec<Event> {
        let mut events = Vec::new();
        self.close(&mut events);
        for call in &last.calls {
            self.parts.push(Part::Call(call.clone()));
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

    fn more(&mut self, piece: Part) -> Vec<Event> {
        let mut events = Vec::new();
        if piece.text().is_empty() {
            return events;
        }
        let goes_on = self.is_open && self.parts.last().is_some_and(|last| last.is_like(&piece));
        if !goes_on {
            self.close(&mut events);
            self.parts.push(piece.emptied());
            self.is_open = true;
        }
        if let Some(last) = self.parts.last_mut() {
            last.push(piece.text());
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
    fn next_piece(&mut self, piece: &Part) -> Option<Event> {
        let (last, data) = self.piece.as_mut()?;
        *data.pointer_mut(place(self.api, piece)?)? = piece.text().into();
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
    fn put(&mut self, part: &Part, events: &mut Vec<Event>, is_wanted: impl Fn(Phase) -> bool) {
        let at = self.parts.len() - 1;
        let mut whole = self.api.write(&part.reply(), &self.head);
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
                let calls = self.parts.iter().filter(|part| matches!(part, Part::Call(_))).count();
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
    fn element(&self, at: usize, part: &Part) -> Value {
        let whole = self.api.write(&part.reply(), &self.head);
        let mut element = list(self.api).map(|list| whole[list][0].clone()).unwrap_or_default();
        match (self.api, part) {
            (Api::Messages, Part::Reasoning(_)) => element["signature"] = LIVE_SIGNATURE.into(),
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
        for part in &self.parts {
            match part {
                Part::Reasoning(text) => reply.reasoning.push(text.expose()),
                Part::Content(text) => reply.content.push(text.expose()),
                Part::Call(call) => reply.calls.push(call.clone()),
            }
        }
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
fn place(api: Api, piece: &Part) -> Option<&'static str> {
    match (api, piece) {
        (Api::Chat, Part::Content(_)) => Some("/choices/0/delta/content"),
        (Api::Chat, Part::Reasoning(_)) => Some("/choices/0/delta/reasoning_content"),
        (Api::Messages, Part::Content(_)) => Some("/delta/text"),
        (Api::Messages, Part::Reasoning(_)) => Some("/delta/thinking"),
        (Api::Responses, Part::Content(_) | Part::Reasoning(_)) => Some("/delta"),
        (Api::Gemini | Api::CodeAssist, _) | (_, Part::Call(_)) => None,
    }
}

impl Part {
    fn text(&self) -> &str {
        match self {
            Part::Reasoning(text) | Part::Content(text) => text.expose(),
            Part::Call(_) => "",
        }
    }

    fn push(&mut self, more: &str) {
        match self {
            Part::Reasoning(text) | Part::Content(text) => text.push(more),
            Part::Call(_) => {}
        }
    }

    fn emptied(&self) -> Part {
        match self {
            Part::Reasoning(_) => Part::Reasoning(AnswerText::default()),
            Part::Content(_) => Part::Content(AnswerText::default()),
            Part::Call(call) => Part::Call(call.clone()),
        }
    }

    fn is_like(&self, other: &Part) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }

    /// A reply of this part alone.
    fn reply(&self) -> Reply {
        let mut reply = Reply::default();
        match self {
            Part::Reasoning(text) => reply.reasoning = text.clone(),
            Part::Content(text) => reply.content = text.clone(),
            Part::Call(call) => reply.calls.push(call.clone()),
        }
        reply
    }
}
