//! Gemini Code Assist: an answer of Gemini as the member `response`, and beside it what the service
//! says of itself.

use serde_json::{Value, json};

use super::gemini::{ContentReader, Gemini};
use super::{Assembly, Event, Read, Wire, failure};
use crate::json::{Again, Object, merge, rest};
use crate::loss::{Losses, Lost};
use crate::reply::{Delta, Finish, Head, Reply};
use crate::said::Says;

/// The member that holds the answer.
pub(super) const RESPONSE: &str = "response";

pub(super) struct CodeAssist;

impl Wire for CodeAssist {
    fn says(&self, _: bool) -> Box<dyn Says> {
        Box::new(ContentReader::new(true))
    }

    fn assembly(&self) -> Box<dyn Assembly> {
        Box::new(Wrapped { inner: Gemini.assembly(), has_inner: false, beside: Object::new() })
    }

    fn read(&self, whole: &Value, losses: &mut Losses) -> Option<Read> {
        let root = whole.as_object()?;
        rest(losses, "", root, &[RESPONSE, "error"], &[]);
        let failure = failure(root);
        let Some(inner) = root.get(RESPONSE) else { return failure.map(Read::failed) };
        let mut read = Gemini.read(inner, losses)?;
        if let Some(failure) = failure {
            read.fail(failure);
        }
        Some(read)
    }

    fn turn(&self, whole: &Value) -> Vec<Value> {
        Gemini.turn(&whole[RESPONSE])
    }

    fn write(&self, reply: &Reply, head: &Head, losses: &mut Losses) -> Value {
        json!({ RESPONSE: Gemini.write(reply, head, losses) })
    }

    fn append(&self, whole: &mut Value, text: &str) -> Option<()> {
        Gemini.append(whole.get_mut(RESPONSE)?, text)
    }

    /// What stands beside the answer stands beside each piece of it.
    fn events(&self, whole: &Object, usage: bool) -> Option<Vec<Event>> {
        let pieces = Gemini.events(whole.get(RESPONSE)?.as_object()?, usage)?;
        let wrapped = pieces.into_iter().map(|piece| {
            let mut event = whole.clone();
            event.insert(RESPONSE.to_owned(), serde_json::from_str(piece.data()).ok()?);
            Some(piece.with(&Value::Object(event)))
        });
        wrapped.collect()
    }
}

/// A stream of such answers.
struct Wrapped {
    inner: Box<dyn Assembly>,
    has_inner: bool,
    beside: Object,
}

impl Assembly for Wrapped {
    fn take(&mut self, event: Value, losses: &mut Losses) -> Vec<Delta> {
        let Value::Object(mut event) = event else {
            losses.add(Lost::Unread, "");
            return Vec::new();
        };
        let mut deltas = Vec::new();
        match event.remove(RESPONSE) {
            Some(piece) => {
                self.has_inner = true;
                deltas = self.inner.take(piece, losses);
            }
            None if event.contains_key("error") => deltas.push(Delta::Finish(Finish::Failed)),
            None => losses.add(Lost::Event, ""),
        }
        for (key, value) in event {
            merge(self.beside.entry(key).or_insert(Value::Null), value, Again::Replace);
        }
        deltas
    }

    fn whole(self: Box<Self>) -> Option<Value> {
        self.so_far()
    }

    fn so_far(&self) -> Option<Value> {
        let mut whole = self.beside.clone();
        if self.has_inner {
            whole.insert(RESPONSE.to_owned(), self.inner.so_far()?);
        }
        (!whole.is_empty()).then_some(Value::Object(whole))
    }
}
