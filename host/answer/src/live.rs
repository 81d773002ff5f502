//! An answer that is written while it comes about: words go out as they are said, and calls, costs
//! and the reason for its end follow when they are known.
//!
//! All events are those of [`answer_events`], of an answer that has one part: its text is cut into
//! pieces, and its place is set to where the part stands.

use leafgate_api::Api;
use serde_json::{Value, json};

use crate::apis::{LiveTerms, answer_events, wire, write_answer};
use crate::event::StreamEvent;
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
/// # Ok::<(), leafgate_answer::AnswerError>(())
/// ```
#[derive(derive_more::Debug)]
#[debug("LiveAnswer {{ api: {api:?}, sent: {sent:?}, .. }}")]
pub struct LiveAnswer {
    api: Api,
    head: Head,
    usage: bool,
    /// Its blocks or items.
    parts: Vec<Delta>,
    /// The last part may go on.
    is_open: bool,
    /// How many events there were: an API may number them.
    sent: u64,
    /// The last piece of the part that is open: the next one differs in its text alone.
    piece: Option<StreamEvent>,
}

impl LiveAnswer {
    /// Begins an answer. `usage` is that of [`answer_events`].
    pub fn new(api: Api, head: Head, usage: bool) -> Self {
        LiveAnswer { api, head, usage, parts: Vec::new(), is_open: false, sent: 0, piece: None }
    }

    /// Returns the events of more content.
    pub fn say(&mut self, text: &str) -> Vec<StreamEvent> {
        self.more(Delta::Content(text.into()))
    }

    /// Returns the events of more reasoning.
    pub fn reason(&mut self, text: &str) -> Vec<StreamEvent> {
        self.more(Delta::Reasoning(text.into()))
    }

    /// Returns whether any content was said.
    pub fn has_content(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Delta::Content(_)))
    }

    /// Returns the events that end the answer: the calls of `last`, why it ends, and what it cost. Its texts
    /// are those that were said.
    pub fn end(mut self, last: &Reply) -> Vec<StreamEvent> {
        let mut events = Vec::new();
        self.close(&mut events);
        for call in &last.calls {
            self.parts.push(Delta::Call(call.clone()));
            let [begin, call, _] = self.of_part(&Delta::Call(call.clone()));
            self.send(begin.into_iter().chain(call), &mut events);
        }
        let mut end = answer_events(self.api, &self.whole(last), self.usage).unwrap_or_default();
        if let Some((before, behind)) = self.around() {
            let ends = end.split_off(end.len().saturating_sub(behind));
            end.truncate(if self.sent == 0 { before } else { 0 });
            end.extend(ends);
        }
        self.send(end, &mut events);
        events
    }

    fn more(&mut self, piece: Delta) -> Vec<StreamEvent> {
        let mut events = Vec::new();
        if said(&piece).is_empty() {
            return events;
        }
        let is_like = |last: &Delta| std::mem::discriminant(last) == std::mem::discriminant(&piece);
        let goes_on = self.is_open && self.parts.last().is_some_and(is_like);
        if let (true, Some(Delta::Reasoning(text) | Delta::Content(text))) = (goes_on, self.parts.last_mut())
        {
            text.push(said(&piece));
            return self.next_piece(&piece).into_iter().collect();
        }
        self.close(&mut events);
        self.parts.push(piece.clone());
        self.is_open = true;
        let [begin, text, _] = self.of_part(&piece);
        self.send(begin.into_iter().chain(text), &mut events);
        self.piece = events.last().cloned();
        events
    }

    /// One more piece of the part that is open. A model says thousands, so this is the short way: no copy is made of an
    /// event that has left.
    fn next_piece(&mut self, piece: &Delta) -> Option<StreamEvent> {
        let last = self.piece.as_mut()?;
        let data = last.data_mut()?;
        *data.pointer_mut(place(self.api, piece)?)? = said(piece).into();
        number(data, &mut self.sent);
        Some(last.clone())
    }

    /// Ends the part that is open.
    fn close(&mut self, events: &mut Vec<StreamEvent>) {
        self.piece = None;
        if let Some(last) = self.parts.last().filter(|_| self.is_open) {
            let [_, _, closes] = self.of_part(last);
            self.send(closes, events);
        }
        self.is_open = false;
    }

    /// How many events stand before the parts of an answer, and behind them; `None` where nothing of it leaves before its
    /// end.
    fn around(&self) -> Option<(usize, usize)> {
        let live = terms(self.api)?;
        let (before, behind) = live.around;
        Some((before, behind + usize::from(live.costs_apart && self.usage)))
    }

    /// The events of an answer that has the last part alone, of which `part` is all or a piece: those before it where nothing
    /// has left yet, those up to its text, and those behind that.
    fn of_part(&self, part: &Delta) -> [Vec<StreamEvent>; 3] {
        let Some((before, behind)) = self.around() else { return Default::default() };
        let mut whole = write_answer(self.api, &of_part(part), &self.head);
        if let Some(list) = list(self.api) {
            whole[list] = json!([self.element(self.parts.len() - 1, part)]);
        }
        let mut begin = answer_events(self.api, &whole, self.usage).unwrap_or_default();
        begin.truncate(begin.len().saturating_sub(behind));
        let mut opens = begin.split_off(before.min(begin.len()));
        begin.retain(|_| self.sent == 0);
        let is_text = |event: &StreamEvent| {
            let text = place(self.api, part).and_then(|place| event.data.as_ref()?.pointer(place));
            text.is_some_and(Value::is_string)
        };
        let closes = opens.iter().position(is_text).map_or(opens.len(), |text| text + 1);
        let closes = opens.split_off(closes);
        [begin, opens, closes]
    }

    /// Sets what events say about their place, which is that of the last part, and puts them behind the others.
    fn send(&mut self, sent: impl IntoIterator<Item = StreamEvent>, events: &mut Vec<StreamEvent>) {
        let has_parts = list(self.api).is_some();
        let counts = |part: &&Delta| has_parts || matches!(part, Delta::Call(_));
        let at = self.parts.iter().filter(counts).count().saturating_sub(1);
        for mut event in sent {
            if let Some(data) = event.data_mut() {
                let index = terms(self.api).and_then(|live| data.pointer_mut(live.index));
                if let Some(index) = index.filter(|index| index.is_number()) {
                    *index = at.into();
                }
                number(data, &mut self.sent);
            }
            events.push(event);
        }
    }

    /// The block or item of a part.
    fn element(&self, at: usize, part: &Delta) -> Value {
        let whole = write_answer(self.api, &of_part(part), &self.head);
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
        let mut whole = write_answer(self.api, &reply, &self.head);
        if let Some(list) = list(self.api) {
            whole[list] = self.parts.iter().enumerate().map(|(at, part)| self.element(at, part)).collect();
        }
        whole
    }
}

/// Gives an event the next number, where the API numbers them.
fn number(data: &mut Value, sent: &mut u64) {
    if let Some(number) = data.get_mut("sequence_number") {
        *number = (*sent).into();
    }
    *sent += 1;
}

fn terms(api: Api) -> Option<&'static LiveTerms> {
    wire(api).live.as_ref()
}

/// Where an API has the parts of its answers; `None` where all texts are one.
fn list(api: Api) -> Option<&'static str> {
    terms(api).filter(|live| live.has_parts).map(|_| wire(api).list)
}

/// Where an event has the text of a piece; `None` for an API that is not written so.
fn place(api: Api, piece: &Delta) -> Option<&'static str> {
    match piece {
        Delta::Content(_) => terms(api).map(|live| live.content),
        Delta::Reasoning(_) => terms(api).map(|live| live.reasoning),
        Delta::Call(_) | Delta::Arguments { .. } => None,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_that_has_left_is_not_copied_for_the_next() {
        let mut live = LiveAnswer::new(Api::Chat, Head::default(), false);
        drop(live.say("a"));
        let mut place = |piece| live.say(piece)[0].data.as_ref().map(std::sync::Arc::as_ptr);
        assert_eq!(place("b"), place("c"));
    }
}
