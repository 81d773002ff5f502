//! A stream of items, put together.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::words::{ASKED, CONTENT, List, SPOKEN, SUMMARY, Spoken, asked, lists, spoken};
use super::{read_call, read_finish, read_usage};
use crate::apis::{Assembly, BETWEEN_REASONING, failure};
use crate::json::{Object, elements, index, member, text};
use crate::loss::{Losses, Lost};
use crate::reply::{Call, Delta, Failure, Finish, Reply};

/// Items of one response that are kept.
const MAX_ITEMS: usize = 2048;

/// Parts of one item that are kept.
const MAX_PARTS: usize = 2048;

/// A text or the arguments of a call, by item, list and part.
type Place = (usize, &'static str, usize);

/// A stream of items.
#[derive(Clone, Default)]
pub(super) struct Items {
    response: Option<Object>,
    /// The items as they were last seen, by index.
    items: BTreeMap<usize, Object>,
    /// What the deltas said of each text.
    said: BTreeMap<Place, String>,
    /// Which call of the reply an item is.
    calls: BTreeMap<usize, usize>,
    /// There is reasoning already, so that more of it begins a new paragraph.
    reasoned: bool,
    refused: bool,
    failure: Option<Failure>,
}

impl Assembly for Items {
    fn take(&mut self, event: Value, losses: &mut Losses) -> Vec<Delta> {
        let Value::Object(mut event) = event else { return Vec::new() };
        let kind = text(&event, "type").to_owned();
        let at = index(&event, "output_index").unwrap_or(0);
        let mut deltas = Vec::new();
        if at >= MAX_ITEMS {
            losses.add(Lost::Unread, "/output");
            return deltas;
        }
        match kind.as_str() {
            "response.created" | "response.in_progress" | "response.queued" => {
                self.response(event.remove("response"), &mut deltas, losses);
            }
            "response.completed" | "response.incomplete" | "response.failed" | "response.cancelled" => {
                self.response(event.remove("response"), &mut deltas, losses);
                self.end(&mut deltas);
            }
            "response.output_item.added" | "response.output_item.done" => {
                if let Some(Value::Object(item)) = event.remove("item") {
                    self.item(at, item, &mut deltas, losses);
                }
            }
            "error" => self.fail(&event, &mut deltas),
            "" if event.contains_key("error") => self.fail(&event, &mut deltas),
            _ => self.piece(at, &kind, event, &mut deltas, losses),
        }
        deltas
    }

    fn so_far(&self) -> Option<Value> {
        Box::new(self.clone()).whole()
    }

    fn whole(self: Box<Self>) -> Option<Value> {
        let Items { response, mut items, said, failure, .. } = *self;
        let mut response = match (response, &failure) {
            (None, Some(failure)) if items.is_empty() => {
                let error = json!({ "type": failure.kind.expose(), "message": failure.message.expose() });
                return Some(json!({ "error": error }));
            }
            (None, _) if items.is_empty() => return None,
            (response, _) => response.unwrap_or_default(),
        };
        for ((at, list, part), words) in said {
            if let Some(item) = items.get_mut(&at) {
                fill(item, list, part, words);
            }
        }
        if let Some(failure) = failure {
            response.insert("status".to_owned(), "failed".into());
            let error = json!({ "code": failure.kind.expose(), "message": failure.message.expose() });
            response.insert("error".to_owned(), error);
        }
        response.insert("output".to_owned(), items.into_values().map(Value::Object).collect());
        Some(Value::Object(response))
    }
}

/// Puts what the deltas said into an item that was never repeated whole.
fn fill(item: &mut Object, list: &'static str, part: usize, words: String) {
    if let Some(asked) = asked(item) {
        if text(item, asked.key).is_empty() {
            item.insert(asked.key.to_owned(), words.into());
        }
        return;
    }
    let default = match (text(item, "type"), list) {
        ("reasoning", "summary") => "summary_text",
        ("reasoning", _) => "reasoning_text",
        _ => "output_text",
    };
    let Value::Array(parts) = item.entry(list).or_insert_with(|| json!([])) else { return };
    // A part in the air would be a way to make many of few bytes.
    if part == parts.len() {
        parts.push(json!({ "type": default, "text": "" }));
    }
    if let Some(Value::Object(part)) = parts.get_mut(part) {
        let key = spoken(part).map_or("text", |spoken| spoken.key);
        if text(part, key).is_empty() {
            part.insert(key.to_owned(), words.into());
        }
    }
}

impl Items {
    fn response(&mut self, response: Option<Value>, deltas: &mut Vec<Delta>, losses: &mut Losses) {
        let Some(Value::Object(mut response)) = response else { return };
        // Some servers leave the items out of the last event: those that came count.
        if let Some(Value::Array(output)) = response.remove("output")
            && !output.is_empty()
        {
            self.items.retain(|at, _| *at < output.len());
            for (at, item) in output.into_iter().take(MAX_ITEMS).enumerate() {
                if let Value::Object(item) = item {
                    self.item(at, item, deltas, losses);
                }
            }
        }
        if let Some(usage) = member(&response, "usage") {
            deltas.push(Delta::Usage(read_usage(usage, &mut Losses::default())));
        }
        self.response = Some(response);
    }

    fn end(&mut self, deltas: &mut Vec<Delta>) {
        let Some(response) = &self.response else { return };
        let calls = vec![Call::default(); self.calls.len()];
        let finish = self.refused.then_some(Finish::Refusal);
        let reply = Reply { calls, finish, ..Reply::default() };
        deltas.extend(read_finish(response, &reply, &mut Losses::default()).map(Delta::Finish));
    }

    fn fail(&mut self, event: &Object, deltas: &mut Vec<Delta>) {
        // The documented event has its members at the top, the live one an error.
        let at_top = || Failure { kind: text(event, "code").into(), message: text(event, "message").into() };
        self.failure = Some(failure(event).unwrap_or_else(at_top));
        deltas.push(Delta::Finish(Finish::Failed));
    }

    /// An item, begun or whole.
    fn item(&mut self, at: usize, item: Object, deltas: &mut Vec<Delta>, losses: &mut Losses) {
        if let Some(asked) = asked(&item) {
            let words = text(&item, asked.key).to_owned();
            if !self.calls.contains_key(&at) {
                self.calls.insert(at, self.calls.len());
                deltas.push(Delta::Call(Call { arguments: "".into(), ..read_call(&item, asked) }));
            }
            self.settle((at, asked.key, 0), None, &words, deltas, losses);
        }
        let speaks = text(&item, "type") == "reasoning" || text(&item, "role") == "assistant";
        for list in lists(text(&item, "type")).iter().filter(|_| speaks) {
            for (index, part) in elements(&item, list.member).iter().take(MAX_PARTS).enumerate() {
                if let Some(part) = part.as_object() {
                    self.part((at, list.member, index), part, deltas, losses);
                }
            }
        }
        self.items.insert(at, item);
    }

    fn part(&mut self, place: Place, part: &Object, deltas: &mut Vec<Delta>, losses: &mut Losses) {
        if let Some(spoken) = spoken(part) {
            self.settle(place, Some(spoken), text(part, spoken.key), deltas, losses);
        }
    }

    /// A piece of an item: a part or a delta.
    fn piece(
        &mut self,
        at: usize,
        kind: &str,
        mut event: Object,
        deltas: &mut Vec<Delta>,
        losses: &mut Losses,
    ) {
        let Some((begins, what)) = kind.rsplit_once('.') else { return losses.add(Lost::Event, "") };
        let part = |list: &List| index(&event, list.index).unwrap_or(0).min(MAX_PARTS);
        if let Some(list) = [&SUMMARY, &CONTENT].into_iter().find(|list| list.part == begins) {
            let place = (at, list.member, part(list));
            if let Some(Value::Object(part)) = event.remove("part") {
                self.part(place, &part, deltas, losses);
                if let Some(item) = self.items.get_mut(&at) {
                    put_part(item, place, part);
                }
            }
        } else if let Some(spoken) = SPOKEN.iter().find(|spoken| spoken.event == begins) {
            let place = (at, spoken.list.member, part(spoken.list));
            match what {
                "delta" => self.say(place, Some(spoken), text(&event, "delta"), deltas),
                _ => self.settle(place, Some(spoken), text(&event, spoken.key), deltas, losses),
            }
        } else if let Some(asked) = ASKED.iter().find(|asked| asked.event == begins) {
            let place = (at, asked.key, 0);
            match what {
                "delta" => self.say(place, None, text(&event, "delta"), deltas),
                _ => self.settle(place, None, text(&event, asked.key), deltas, losses),
            }
        } else if begins != "response.output_text.annotation" && !begins.ends_with("_call") {
            // Annotations and the progress of a provider's own tools stand in their items again.
            losses.add(Lost::Event, "");
        }
    }

    /// Says more of a text.
    fn say(&mut self, place: Place, spoken: Option<&Spoken>, words: &str, deltas: &mut Vec<Delta>) {
        if words.is_empty() {
            return;
        }
        let first = !self.said.contains_key(&place);
        self.said.entry(place).or_default().push_str(words);
        let Some(spoken) = spoken else {
            let call = self.calls.get(&place.0).copied();
            deltas.extend(call.map(|call| Delta::Arguments { call, text: words.into() }));
            return;
        };
        self.refused |= spoken.key == "refusal";
        if !spoken.text.is_reasoning() {
            return deltas.push(Delta::Content(words.into()));
        }
        if first && std::mem::replace(&mut self.reasoned, true) {
            deltas.push(Delta::Reasoning(BETWEEN_REASONING.into()));
        }
        deltas.push(Delta::Reasoning(words.into()));
    }

    /// Hears a text whole: what of it was not said yet is said now.
    fn settle(
        &mut self,
        place: Place,
        spoken: Option<&Spoken>,
        words: &str,
        deltas: &mut Vec<Delta>,
        losses: &mut Losses,
    ) {
        let said = self.said.get(&place).map(String::as_str).unwrap_or_default();
        match words.strip_prefix(said) {
            Some(more) => {
                let more = more.to_owned();
                self.say(place, spoken, &more, deltas);
            }
            // A part begins empty, and an item that is begun repeats nothing.
            None if words.is_empty() => {}
            None => losses.add(Lost::Contradiction, format!("/output/{}/{}/{}", place.0, place.1, place.2)),
        }
    }
}

/// Puts a part into an item that was begun.
fn put_part(item: &mut Object, (_, list, at): Place, part: Object) {
    let Value::Array(parts) = item.entry(list).or_insert_with(|| json!([])) else { return };
    if at == parts.len() {
        parts.push(Value::Object(part));
    } else if let Some(place) = parts.get_mut(at) {
        *place = Value::Object(part);
    }
}
