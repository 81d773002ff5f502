//! A stream whose tool calls wait: text passes, and from the first call on all of it stays behind
//! until its end, where somebody decides.

use leafgate_tree::NodeId;
use serde_json::Value;

use super::{WholeAnswer, edit};
use crate::account::{Account, Heard};
use crate::apis::{Api, Assembly, Event};
use crate::limits::ReadError;
use crate::reading::value_of;
use crate::said::Said;

/// Takes a stream event by event, as it is passed on.
pub struct CallStream {
    api: Api,
    /// All that came, but for the probabilities of words.
    whole: Assembly,
    /// How many values that has.
    values: usize,
    /// What went on to the client, once the rest waits.
    passed: Option<Value>,
    has_passed: bool,
    /// The largest number of an event that went on.
    sequence: Option<u64>,
    holds: bool,
    reads: bool,
}

/// What of a stream waits for its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holding {
    /// From its first tool call on.
    Calls,
    /// From the first block or item on in which not the model speaks: what stands there is read as a
    /// whole. A tool call is one.
    Unspoken,
    /// All of it.
    All,
}

/// A stream that was held back, read to its end.
#[derive(Debug)]
pub struct HeldAnswer {
    /// All of it.
    pub answer: WholeAnswer,
    api: Api,
    /// Whether it says what it cost.
    usage: bool,
    passed: Option<Value>,
    sequence: Option<u64>,
}

impl CallStream {
    /// Begins to take a stream.
    #[must_use]
    pub fn new(api: Api, holding: Holding) -> Self {
        CallStream {
            api,
            whole: Assembly::new(api),
            values: 0,
            passed: None,
            has_passed: false,
            sequence: None,
            holds: holding == Holding::All,
            reads: holding == Holding::Unspoken,
        }
    }

    /// Takes an event, and returns whether it waits, with all that comes after it. `account` has heard it.
    ///
    /// # Errors
    /// When clients could read it in another way.
    pub fn take(&mut self, heard: &Heard, account: &Account) -> Result<bool, ReadError> {
        let keeps = |member| !edit::is_probabilities(self.api, &heard.document, member);
        let event = value_of(&heard.document, heard.document.root(), &keeps);
        self.values += crate::json::values_in(&event);
        if !self.holds && self.begins_to_hold(heard, account) {
            self.holds = true;
            self.passed = if self.has_passed { self.whole.clone().whole() } else { None };
        }
        if !self.holds {
            self.sequence = self.sequence.max(event["sequence_number"].as_u64());
            self.has_passed = true;
        }
        // What has no place may hold calls that a client runs.
        if !self.whole.take(event) || heard.is_odd {
            return Err(ReadError::Unclear);
        }
        Ok(self.holds)
    }

    fn begins_to_hold(&self, heard: &Heard, account: &Account) -> bool {
        let calls = heard.said.iter().any(|said| matches!(said, Said::Call(..)));
        calls || self.reads && account.begins_unspoken(heard)
    }

    /// Returns how many values it keeps.
    #[must_use]
    pub fn values(&self) -> usize {
        self.values
    }

    /// Whether what comes waits.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.holds
    }

    /// Reads to the end; `None` where everything went on. `account` has heard the whole stream.
    ///
    /// # Errors
    /// As [`CallStream::take`], and for what is no answer of the API.
    pub fn finish(self, account: &Account) -> Result<Option<HeldAnswer>, ReadError> {
        let CallStream { api, whole, passed, sequence, holds, .. } = self;
        if !holds {
            return Ok(None);
        }
        let whole = whole.whole().ok_or(ReadError::NoAnswer { api: api.name() })?;
        let usage = whole.get("usage").is_some_and(Value::is_object);
        let answer = WholeAnswer::read(api, whole.to_string().into())?;
        // What was put together says what was heard event by event, or clients read the one or the other.
        let heard = account.calls();
        let is_same = |(one, other): (&super::ToolCall, &super::ToolCall)| {
            (&one.id, &one.name) == (&other.id, &other.name)
                && crate::json::is_same(&one.arguments, &other.arguments)
        };
        match heard.len() == answer.calls().len() && heard.iter().zip(answer.calls()).all(is_same) {
            true => Ok(Some(HeldAnswer { answer, api, usage, passed, sequence })),
            false => Err(ReadError::Unclear),
        }
    }
}

impl HeldAnswer {
    /// Returns where texts stand that did not go on whole, those that clients join in one list. Of an API that says its texts
    /// again at the end, all of them.
    #[must_use]
    pub fn texts(&self) -> Vec<Vec<NodeId>> {
        let passed = self.passed.as_ref().filter(|_| !self.says_texts_again());
        let is_left = |leaf: &NodeId| {
            let went = passed.and_then(|passed| passed.pointer(&self.answer.pointer(*leaf))?.as_str());
            went != Some(&self.answer.text(*leaf))
        };
        let left = |run: &Vec<NodeId>| run.iter().copied().filter(is_left).collect::<Vec<_>>();
        self.answer.texts().iter().map(left).filter(|run| !run.is_empty()).collect()
    }

    /// Returns whether [`texts`](Self::texts) has what went on, too, since the API says it again at the end.
    #[must_use]
    pub fn says_texts_again(&self) -> bool {
        self.api == Api::Responses
    }

    /// Returns the events that are left to send of an answer that was changed behind what went on;
    /// `None` where it was changed before.
    #[must_use]
    pub fn rest(&self, changed: &Value) -> Option<Vec<Event>> {
        let (api, usage) = (self.api, self.usage);
        let Some(passed) = &self.passed else { return api.events(changed, usage) };
        match api {
            Api::Chat => chat(passed, changed, usage),
            Api::Messages | Api::Responses => {
                let sent = kept(passed, changed, api.wire().terms().list)?;
                let begins = ["message_start", "response.created", "response.in_progress", "response.queued"];
                let is_left = |event: &mut Value| {
                    let index = event.get("index").or_else(|| event.get("output_index"));
                    index.and_then(Value::as_u64).is_none_or(|index| index >= sent)
                        && !event["type"].as_str().is_some_and(|kind| begins.contains(&kind))
                };
                Some(filtered(api.events(changed, usage)?, is_left, self.sequence))
            }
            Api::Gemini | Api::CodeAssist => gemini(api, passed, changed, usage),
        }
    }
}

/// How many elements went on; `None` where they are not how the changed answer begins.
fn kept(passed: &Value, changed: &Value, list: &str) -> Option<u64> {
    let Some(passed) = passed[list].as_array() else { return Some(0) };
    let changed = changed[list].as_array()?;
    let kinds = passed.iter().zip(changed).all(|(passed, changed)| passed["type"] == changed["type"]);
    (kinds && passed.len() <= changed.len()).then_some(passed.len() as u64)
}

/// The events that are left, numbered on behind the last one that went on.
fn filtered(
    events: Vec<Event>,
    mut is_left: impl FnMut(&mut Value) -> bool,
    mut sequence: Option<u64>,
) -> Vec<Event> {
    let mut left = Vec::new();
    for event in events {
        let Ok(mut data) = serde_json::from_str::<Value>(event.data()) else {
            // The word that ends a stream of chat completions.
            left.push(event);
            continue;
        };
        if !is_left(&mut data) {
            continue;
        }
        if let Some(sequence) = &mut sequence {
            *sequence += 1;
            data["sequence_number"] = (*sequence).into();
        }
        left.push(event.with(&data));
    }
    left
}

/// What each choice says behind what went on.
fn chat(passed: &Value, changed: &Value, usage: bool) -> Option<Vec<Event>> {
    let mut changed = changed.clone();
    let begun: Vec<u64> =
        passed["choices"].as_array()?.iter().map(|choice| choice["index"].as_u64().unwrap_or(0)).collect();
    for choice in changed["choices"].as_array_mut()? {
        let number = choice["index"].as_u64().unwrap_or(0);
        let Some(before) = begun.iter().position(|begun| *begun == number) else { continue };
        let Some(said) = passed["choices"][before]["message"].as_object() else { continue };
        for (key, said) in said {
            let (Some(said), Some(held)) =
                (said.as_str().filter(|_| key != "role"), choice["message"].get_mut(key))
            else {
                continue;
            };
            let left = held.as_str()?.strip_prefix(said)?.to_owned();
            *held = left.into();
        }
    }
    let is_left = |event: &mut Value| {
        let Some(choices) = event["choices"].as_array_mut() else { return true };
        let mut says = choices.is_empty();
        for choice in choices {
            let begun = begun.contains(&choice["index"].as_u64().unwrap_or(0));
            if let Some(delta) = choice["delta"].as_object_mut().filter(|_| begun) {
                delta.remove("role");
            }
            says |= !choice["finish_reason"].is_null() || !crate::json::is_nothing(&choice["delta"]);
        }
        says
    };
    Some(filtered(Api::Chat.events(&changed, usage)?, is_left, None))
}

/// Where an API of Gemini has its candidates.
fn gemini_candidates(api: Api) -> &'static str {
    if api == Api::CodeAssist { "/response/candidates" } else { "/candidates" }
}

/// The parts of each candidate behind those that went on; the last may have been said in part.
fn gemini(api: Api, passed: &Value, changed: &Value, usage: bool) -> Option<Vec<Event>> {
    let mut changed = changed.clone();
    let of = |whole: &Value, number: u64| {
        let candidates = whole.pointer(gemini_candidates(api))?.as_array()?;
        candidates.iter().find(|candidate| candidate["index"].as_u64().unwrap_or(0) == number).cloned()
    };
    for candidate in changed.pointer_mut(gemini_candidates(api))?.as_array_mut()? {
        let number = candidate["index"].as_u64().unwrap_or(0);
        let said = of(passed, number).and_then(|said| said.pointer("/content/parts")?.as_array().cloned());
        let (Some(said), Some(Value::Array(parts))) = (said, candidate.pointer_mut("/content/parts")) else {
            continue;
        };
        let mut left = parts.split_off(said.len().min(parts.len()));
        if let (Some(last), Some(held)) = (said.last(), parts.last())
            && let (Some(said), Some(text)) = (last["text"].as_str(), held["text"].as_str())
        {
            let more = text.strip_prefix(said)?;
            if !more.is_empty() {
                let mut held = held.clone();
                held["text"] = more.into();
                left.insert(0, held);
            }
        }
        *parts = left;
    }
    api.events(&changed, usage)
}
