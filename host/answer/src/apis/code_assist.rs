//! Gemini Code Assist: an answer of Gemini as the member `response`, and beside it what the service
//! says of itself.

use std::sync::Arc;

use serde_json::{Value, json};

use super::gemini::{self, ContentReader, GeminiAnswers};
use super::{AnswerAssembly, AnswerWire, WireTerms};
use crate::event::StreamEvent;
use crate::json::{Again, Object, member, merge};
use crate::reply::{Finish, Head, Reply};

/// The member that holds the answer.
pub(super) const RESPONSE: &str = "response";

const TERMS: WireTerms = WireTerms {
    says: |_| Box::new(ContentReader::new(true)),
    answer: &[RESPONSE, "error"],
    beside: &["/response/candidates"],
    ..gemini::TERMS
};

pub(super) struct CodeAssistAnswers;

impl AnswerWire for CodeAssistAnswers {
    fn terms(&self) -> &'static WireTerms {
        &TERMS
    }

    fn put(&self, into: &mut AnswerAssembly, mut event: Object) -> bool {
        let piece = event.remove(RESPONSE);
        merge(&mut into.beside, event, Again::Replace);
        match piece {
            Some(Value::Object(piece)) => GeminiAnswers.put(into, piece),
            other => other.is_none(),
        }
    }

    fn whole(&self, mut assembly: AnswerAssembly) -> Option<Object> {
        let mut whole = std::mem::take(&mut assembly.beside);
        if let Some(inner) = GeminiAnswers.whole(assembly) {
            whole.insert(RESPONSE.to_owned(), inner.into());
        }
        (!whole.is_empty()).then_some(whole)
    }

    fn root<'v>(&self, whole: &'v Object) -> &'v Object {
        member(whole, RESPONSE).unwrap_or(whole)
    }

    fn finish(&self, root: &Object) -> Option<Finish> {
        GeminiAnswers.finish(root)
    }

    fn turn(&self, whole: &Value) -> Vec<Value> {
        GeminiAnswers.turn(&whole[RESPONSE])
    }

    fn write(&self, reply: &Reply, head: &Head) -> Value {
        json!({ RESPONSE: GeminiAnswers.write(reply, head) })
    }

    fn append(&self, whole: &mut Value, text: &str) -> Option<()> {
        GeminiAnswers.append(whole.get_mut(RESPONSE)?, text)
    }

    /// What stands beside the answer stands beside each piece of it.
    fn events(&self, whole: &Object, usage: bool) -> Option<Vec<StreamEvent>> {
        let pieces = GeminiAnswers.events(whole.get(RESPONSE)?.as_object()?, usage)?;
        let wrapped = pieces.into_iter().map(|piece| {
            let mut event = whole.clone();
            event.insert(RESPONSE.to_owned(), Arc::unwrap_or_clone(piece.data?));
            Some(StreamEvent::plain(Value::Object(event)))
        });
        wrapped.collect()
    }
}
