//! An answer that is there as a whole, as it is judged and changed.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use leafgate_tree::{Document, NodeId};
use serde_json::Value;

use super::{CallError, ToolCall, edit};
use crate::account::{Account, Heard};
use crate::apis::Api;
use crate::limits::ReadError;
use crate::reading::{parse, value_of};
use crate::said::{Arguments, Called, Form, Tool};

/// An answer that all clients read alike.
#[derive(Clone)]
pub struct WholeAnswer {
    api: Api,
    document: Arc<Document>,
    texts: Vec<Vec<NodeId>>,
    /// Those in which nothing may be changed.
    sealed: BTreeSet<NodeId>,
    calls: Vec<ToolCall>,
    /// Where each call stands.
    places: Vec<(Called, Option<Arguments>)>,
}

impl WholeAnswer {
    /// Reads an answer in one piece of JSON. Gemini's may be an array: a stream that is no event stream.
    ///
    /// # Errors
    /// For what is no answer of the API, and for what clients may read in another way.
    pub fn read(api: Api, bytes: Bytes) -> Result<WholeAnswer, ReadError> {
        let document = parse(bytes)?;
        let mut account = Account::new(api, false);
        if !account.is_answer(&document) {
            return Err(ReadError::NoAnswer { api: api.name() });
        }
        let heard = account.whole(document);
        if heard.is_odd {
            return Err(ReadError::Unclear);
        }
        let beside = account.beside(&heard, false).into_iter().map(|leaf| vec![leaf]);
        let texts = runs(&heard).into_iter().chain(beside).collect();
        let sealed = heard.said.iter().filter(|said| said.is_sealed()).filter_map(|said| said.text());
        let sealed = sealed.map(|(_, leaf)| leaf).collect();
        let (calls, places) = (account.calls(), account.places());
        Ok(WholeAnswer { api, texts, sealed, calls, places, document: heard.document })
    }

    /// Returns the calls, in order.
    #[must_use]
    pub fn calls(&self) -> &[ToolCall] {
        &self.calls
    }

    /// Returns where the texts stand that people read, those that clients join with each other in
    /// one list: what the model says, then what stands beside it, as what a provider's own tools gave. Signed reasoning is
    /// none of them; a signed text that is none is, and cannot be changed.
    #[must_use]
    pub fn texts(&self) -> &[Vec<NodeId>] {
        &self.texts
    }

    /// Returns the text of a leaf.
    #[must_use]
    pub fn text(&self, leaf: NodeId) -> String {
        self.document.leaf(leaf).map(|leaf| leaf.text().into_cow().into_owned()).unwrap_or_default()
    }

    /// Returns where a value stands, as an RFC 6901 pointer.
    #[must_use]
    pub fn pointer(&self, node: NodeId) -> String {
        self.document.pointer(node)
    }

    /// The bytes that were read.
    #[must_use]
    pub fn bytes(&self) -> &Bytes {
        self.document.source()
    }

    /// The answer as a value, but for the probabilities of words.
    #[must_use]
    pub fn json(&self) -> Value {
        let keeps = |member| !edit::is_probabilities(self.api, &self.document, member);
        value_of(&self.document, self.document.root(), &keeps)
    }

    /// Returns how many values that has.
    #[must_use]
    pub fn values(&self) -> usize {
        let (mut values, mut next) = (0, 0);
        while next < self.document.node_count() {
            let node = NodeId::from_index(next);
            let is_left_out = edit::is_probabilities(self.api, &self.document, node);
            values += usize::from(!is_left_out);
            next = if is_left_out { self.document.subtree(node).end } else { next + 1 };
        }
        values
    }

    /// Returns the answer with other texts at some places, and with these calls in the place of its own. The
    /// probabilities of words are left out: they spell what was changed once more.
    ///
    /// # Errors
    /// [`CallError`].
    pub fn changed(&self, texts: &[(NodeId, String)], calls: &[ToolCall]) -> Result<Value, CallError> {
        if self.calls.len() != calls.len() {
            return Err(CallError::Count { had: self.calls.len(), given: calls.len() });
        }
        if texts.iter().any(|(leaf, _)| self.sealed.contains(leaf)) {
            return Err(CallError::Sealed);
        }
        let mut whole = self.json();
        let mut put =
            |node: NodeId, value: Value| whole.pointer_mut(&self.pointer(node)).map(|held| *held = value);
        for (at, ((was, (called, arguments)), call)) in
            self.calls.iter().zip(&self.places).zip(calls).enumerate()
        {
            if was.id != call.id {
                return Err(CallError::Fixed { at });
            }
            if was.name != call.name {
                let Tool::Named(name) = called.tool else { return Err(CallError::Fixed { at }) };
                put(name, call.name.expose().into());
            }
            if was.arguments != call.arguments {
                let written = arguments.and_then(|place| Some((place.node, spelled(place.form, call)?)));
                let (node, value) = written.ok_or(CallError::Arguments { at })?;
                put(node, value);
            }
        }
        for (leaf, text) in texts {
            put(*leaf, text.as_str().into());
        }
        Ok(whole)
    }

    /// Returns the answer without some calls: those whose place in `refused` is true. Words stand for them, and the answer
    /// ends with the calls that are left.
    #[must_use]
    pub fn refused(&self, refused: &[bool], words: &str) -> Value {
        let element = |(called, _): &(Called, _)| self.pointer(called.element);
        let mut all = self.places.iter().map(element).zip(refused);
        let (gone, left): (Vec<_>, Vec<_>) = all.by_ref().partition(|(_, refused)| **refused);
        let pointers =
            |of: Vec<(String, &bool)>| of.into_iter().map(|(pointer, _)| pointer).collect::<Vec<_>>();
        let mut whole = self.json();
        edit::refuse(self.api, &mut whole, &pointers(gone), &pointers(left), words);
        whole
    }
}

impl fmt::Debug for WholeAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an answer of {} with {} calls", self.api.name(), self.calls.len())
    }
}

/// The texts that rules read: what the model says, which clients join whatever it thinks between, and each stretch of what it thinks.
fn runs(heard: &Heard) -> Vec<Vec<NodeId>> {
    let mut runs: Vec<(bool, Vec<NodeId>)> = Vec::new();
    for (place, leaf) in heard.said.iter().filter(|said| said.is_judged()).filter_map(|said| said.text()) {
        if heard.document.leaf(leaf).is_none_or(|leaf| leaf.text().expose().is_empty()) {
            continue;
        }
        let thinks = place.text.is_reasoning();
        let last = runs.iter_mut().rfind(|(last, _)| thinks || !*last);
        match last.filter(|(last, _)| *last == thinks) {
            Some((_, run)) => run.push(leaf),
            None => runs.push((thinks, vec![leaf])),
        }
    }
    runs.into_iter().map(|(_, run)| run).collect()
}

/// What is written for the arguments of a call; `None` where JSON is wanted and this is none.
fn spelled(form: Form, call: &ToolCall) -> Option<Value> {
    let text = call.arguments.expose();
    match form {
        Form::Text => Some(text.into()),
        Form::JsonText => crate::json::arguments(text).map(|_| text.into()),
        Form::Json => crate::json::arguments(text),
    }
}
