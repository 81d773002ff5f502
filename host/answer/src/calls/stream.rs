//! A stream that is gathered to the answer that it stands for. Where somebody decides about its calls, text passes, and from
//! the first call on all of it stays behind until its end.

use leafgate_api::Api;
use serde_json::Value;

use super::edit;
use crate::account::{Account, Heard};
use crate::answer::{Answer, RunKind, TextRun};
use crate::apis::{AnswerAssembly, answer_events, wire};
use crate::event::StreamEvent;
use crate::hearing::StreamStep;
use crate::limits::AnswerError;
use crate::reading::value_of;
use crate::reply::{Call, Delta};
use crate::said::Said;
use crate::told::ChoiceTelling;

/// Takes a stream step by step, as it is heard.
pub struct Gathering {
    api: Api,
    whole: AnswerAssembly,
    telling: ChoiceTelling,
    /// How many values are kept.
    values: usize,
    is_odd: bool,
    is_done: bool,
    held: Option<HeldStream>,
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

/// What waits of a stream, and what went on.
struct HeldStream {
    from: Holding,
    waits: bool,
    /// What went on to the client, once the rest waits.
    passed: Option<Value>,
    has_passed: bool,
    /// The largest number of an event that went on.
    sequence: Option<u64>,
}

/// A stream that was read to its end.
#[derive(Debug)]
pub struct Gathered {
    /// All of it.
    pub answer: Answer,
    /// Whether it says what it cost.
    usage: bool,
    passed: Option<Value>,
    sequence: Option<u64>,
}

impl Gathering {
    /// Begins to take a stream. What waits is kept without the probabilities of words.
    pub fn new(api: Api, holding: Option<Holding>) -> Self {
        let held = |from| HeldStream {
            from,
            waits: from == Holding::All,
            passed: None,
            has_passed: false,
            sequence: None,
        };
        Gathering {
            api,
            whole: AnswerAssembly::new(api),
            telling: ChoiceTelling::default(),
            values: 0,
            is_odd: false,
            is_done: false,
            held: holding.map(held),
        }
    }

    /// Takes a step that `account` has heard, and returns what it adds to the reply.
    pub fn take(&mut self, step: &StreamStep, account: &Account) -> Vec<Delta> {
        match step {
            StreamStep::Event(heard) | StreamStep::End(Some(heard)) => {
                self.event(heard, account);
                return self.telling.tell(&heard.document, &heard.said, account);
            }
            StreamStep::Odd => self.is_odd = true,
            StreamStep::Done => self.is_done = true,
            StreamStep::Feed | StreamStep::Comment | StreamStep::Within | StreamStep::End(None) => {}
        }
        Vec::new()
    }

    fn event(&mut self, heard: &Heard, account: &Account) {
        let document = &heard.document;
        let keeps = |member| self.held.is_none() || !edit::is_probabilities(self.api, document, member);
        let event = value_of(document, document.root(), &keeps);
        self.values += crate::json::values_in(&event);
        if let Some(held) = &mut self.held {
            if !held.waits && held.begins(heard, account) {
                held.waits = true;
                held.passed = if held.has_passed { self.whole.clone().whole() } else { None };
            }
            if !held.waits {
                held.sequence = held.sequence.max(event["sequence_number"].as_u64());
                held.has_passed = true;
            }
        }
        // What has no place may hold calls that a client runs.
        self.is_odd |= !self.whole.take(event) | heard.is_odd;
    }

    /// Returns how many values are kept.
    pub fn values(&self) -> usize {
        self.values
    }

    /// Returns whether what comes waits.
    pub fn holds(&self) -> bool {
        self.held.as_ref().is_some_and(|held| held.waits)
    }

    /// Returns whether clients read what came in different ways.
    pub fn is_odd(&self) -> bool {
        self.is_odd
    }

    /// Reads to the end. `account` has heard the whole stream.
    ///
    /// # Errors
    /// For what is no answer of the API, or one of which nobody knows what it is.
    pub fn finish(self, account: &Account) -> Result<Gathered, AnswerError> {
        let Gathering { api, whole, is_odd, is_done, held, .. } = self;
        let none = if is_odd { AnswerError::Unclear } else { AnswerError::NoAnswer { api: api.name() } };
        let whole = whole.whole().ok_or(none)?;
        let usage = whole.get("usage").is_some_and(Value::is_object);
        let mut read = Account::new(api, false);
        let mut answer = Answer::heard(api, whole.to_string().into(), &mut read)?;
        // What was put together says what was heard event by event, or clients read the one or the other.
        let heard = account.calls();
        let is_same = |(one, other): (&Call, &Call)| {
            (&one.id, &one.name) == (&other.id, &other.name)
                && crate::json::is_same(&one.arguments, &other.arguments)
        };
        answer.is_odd |= is_odd
            || heard.len() != answer.calls().len()
            || !heard.iter().zip(answer.calls()).all(is_same)
            || read.texts() != account.texts();
        answer.is_cut_off = !is_done && answer.reply.finish.is_none() && answer.failure.is_none();
        let (passed, sequence) = held.map(|held| (held.passed, held.sequence)).unwrap_or_default();
        Ok(Gathered { answer, usage, passed, sequence })
    }
}

impl HeldStream {
    fn begins(&self, heard: &Heard, account: &Account) -> bool {
        let calls = heard.said.iter().any(|said| matches!(said, Said::Call(..)));
        calls || self.from == Holding::Unspoken && account.begins_unspoken(heard)
    }
}

impl Gathered {
    /// Returns the texts that did not leave whole, as far as they did not. `end` is the end of what left of a kind, as it
    /// left. Of an API that says its texts again at the end, all are judged from their beginning.
    pub fn texts(&self, end: impl Fn(RunKind) -> String) -> Vec<TextRun> {
        let Some(passed) = self.passed.as_ref().filter(|_| self.answer.api != Api::Responses) else {
            return self.answer.texts().to_vec();
        };
        let length = |kind, leaf| {
            let (went, text) = (passed.pointer(&self.answer.pointer(leaf)), self.answer.text(leaf));
            let went = went.and_then(Value::as_str).filter(|went| text.starts_with(went)).map_or(0, str::len);
            // What stands beside is there as a whole.
            if kind == RunKind::Beside && went < text.len() { (0, text.len()) } else { (went, text.len()) }
        };
        let rest = |run: &TextRun| {
            let lengths = run.texts.iter().map(|&(leaf, _)| (leaf, length(run.kind, leaf)));
            let goes_on = lengths.clone().any(|(_, (went, _))| went > 0);
            let texts = lengths.filter(|(_, (went, all))| went < all).map(|(leaf, (went, _))| (leaf, went));
            let left = if goes_on { end(run.kind) } else { String::new() };
            TextRun { kind: run.kind, left, texts: texts.collect() }
        };
        self.answer.texts().iter().map(rest).filter(|run| !run.texts.is_empty()).collect()
    }

    /// Returns the events that are left to send of an answer that was changed behind what went on;
    /// `None` where it was changed before.
    pub fn rest(&self, changed: &Value) -> Option<Vec<StreamEvent>> {
        let (api, usage) = (self.answer.api, self.usage);
        let Some(passed) = &self.passed else { return answer_events(api, changed, usage) };
        match api {
            Api::Chat => chat(passed, changed, usage),
            Api::Messages | Api::Responses => {
                let sent = kept(passed, changed, wire(api).list)?;
                let begins = ["message_start", "response.created", "response.in_progress", "response.queued"];
                let is_left = |event: &mut Value| {
                    let index = event.get("index").or_else(|| event.get("output_index"));
                    index.and_then(Value::as_u64).is_none_or(|index| index >= sent)
                        && !event["type"].as_str().is_some_and(|kind| begins.contains(&kind))
                };
                Some(filtered(answer_events(api, changed, usage)?, is_left, self.sequence))
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
    mut left: Vec<StreamEvent>,
    mut is_left: impl FnMut(&mut Value) -> bool,
    mut sequence: Option<u64>,
) -> Vec<StreamEvent> {
    left.retain_mut(|event| event.data_mut().is_none_or(&mut is_left));
    for data in left.iter_mut().filter_map(StreamEvent::data_mut) {
        if let Some(sequence) = &mut sequence {
            *sequence += 1;
            data["sequence_number"] = (*sequence).into();
        }
    }
    left
}

/// What each choice says behind what went on.
fn chat(passed: &Value, changed: &Value, usage: bool) -> Option<Vec<StreamEvent>> {
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
    Some(filtered(answer_events(Api::Chat, &changed, usage)?, is_left, None))
}

/// Where an API of Gemini has its candidates.
fn gemini_candidates(api: Api) -> &'static str {
    if api == Api::CodeAssist { "/response/candidates" } else { "/candidates" }
}

/// The parts of each candidate behind those that went on; the last may have been said in part.
fn gemini(api: Api, passed: &Value, changed: &Value, usage: bool) -> Option<Vec<StreamEvent>> {
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
    answer_events(api, &changed, usage)
}
