//! An answer that is there as a whole: what it says, as it is judged and changed.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use leafgate_api::Api;
use leafgate_tree::{Document, NodeId};
use serde_json::Value;

use crate::account::{Account, Heard};
use crate::apis::{AnswerAssembly, failure, wire};
use crate::calls::{CallError, edit};
use crate::limits::AnswerError;
use crate::reading::{parse_mended, value, value_of};
use crate::reply::{Call, Failure, Finish, Head, Reply, Summary};
use crate::said::{Arguments, Called, Form, Said, Tool};
use crate::told::ChoiceTelling;

/// Texts that clients join in one list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextRun {
    /// What they are.
    pub kind: RunKind,
    /// The end of what left already, as it left. The texts go on from it.
    pub left: String,
    /// Where they stand, and how many bytes of each have left.
    pub texts: Vec<(NodeId, usize)>,
}

/// What texts are that clients join.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RunKind {
    /// What the model says.
    Said,
    /// What it thinks.
    Thought,
    /// What stands beside that: one text.
    Beside,
}

/// An answer that was read.
#[derive(Clone, derive_more::Debug)]
#[debug("Answer {{ api: {api:?}, reply: {reply:?}, .. }}")]
pub struct Answer {
    /// Whose it is.
    pub api: Api,
    /// What the model answered.
    pub reply: Reply,
    /// What the answer says about itself.
    pub head: Head,
    /// What went wrong, where the answer is an error or ends in one.
    pub failure: Option<Failure>,
    /// A stream that ended without a word about it: neither why the model stopped nor that it is
    /// over. A connection that was lost looks so, where nothing counts the bytes.
    pub is_cut_off: bool,
    /// Some clients take something else from it. Whoever decides by what was read must not go on with it.
    pub is_odd: bool,
    document: Arc<Document>,
    texts: Vec<TextRun>,
    /// Those in which nothing may be changed.
    sealed: BTreeSet<NodeId>,
    calls: Vec<Call>,
    /// Where each call stands.
    places: Vec<(Called, Option<Arguments>)>,
}

impl Answer {
    /// Reads an answer in one piece of JSON. Gemini's may be an array: a stream that is no event stream.
    ///
    /// # Errors
    /// For what is no JSON, and no answer of the API.
    pub fn read(api: Api, bytes: Bytes) -> Result<Answer, AnswerError> {
        Answer::heard(api, bytes, &mut Account::new(api, false))
    }

    /// Reads an answer, which `account` hears.
    pub(crate) fn heard(api: Api, bytes: Bytes, account: &mut Account) -> Result<Answer, AnswerError> {
        let (document, is_mended) = parse_mended(bytes)?;
        let no_answer = AnswerError::NoAnswer { api: api.name() };
        if !account.is_answer(&document) {
            return Err(no_answer);
        }
        let (whole, has_place) = match unweighed(api, &document) {
            Value::Array(pieces) => joined(api, pieces),
            whole => (Some(whole), true),
        };
        let whole = whole.ok_or(no_answer)?;
        let heard = account.whole(document);
        let said: Vec<Said> = heard.said.iter().copied().chain([Said::EndAll]).collect();
        let mut telling = ChoiceTelling::first(&said);
        let mut reply = Reply::default();
        telling.tell(&heard.document, &said, account).iter().for_each(|delta| reply.add(delta));
        let wire = wire(api);
        let outer = whole.as_object().ok_or(no_answer)?;
        let root = wire.root(outer);
        let failure = failure(outer).or_else(|| failure(root));
        reply.finish = match (wire.finish)(root) {
            _ if failure.is_some() => Some(Finish::Failed),
            Some(Finish::Stop) if telling.refuses() => Some(Finish::Refusal),
            Some(Finish::Stop) if !reply.calls.is_empty() => Some(Finish::Calls),
            finish => finish,
        };
        reply.usage = wire.usage(root);
        let beside =
            account.beside(&heard, false).into_iter().map(|leaf| TextRun::new(RunKind::Beside, leaf));
        let sealed = heard.said.iter().filter(|said| said.is_sealed()).filter_map(|said| said.text());
        Ok(Answer {
            api,
            reply,
            head: wire.head(root),
            failure,
            is_cut_off: false,
            is_odd: heard.is_odd || is_mended || !has_place,
            texts: runs(&heard).into_iter().chain(beside).collect(),
            sealed: sealed.map(|(_, leaf)| leaf).collect(),
            calls: account.calls(),
            places: account.places(),
            document: heard.document,
        })
    }

    /// Returns what it came to.
    pub fn summary(&self) -> Summary {
        let Answer { reply, head, failure, is_cut_off, .. } = self;
        let (reply, model, failure) = (reply.clone(), head.model.clone(), failure.clone());
        Summary { reply, model, failure, is_cut_off: *is_cut_off }
    }

    /// Returns the calls, in order.
    pub fn calls(&self) -> &[Call] {
        &self.calls
    }

    /// Returns where the texts stand that people read, those that clients join with each other in
    /// one list: what the model says, then what stands beside it, as what a provider's own tools gave. Signed reasoning is
    /// none of them; a signed text that is none is, and cannot be changed.
    pub fn texts(&self) -> &[TextRun] {
        &self.texts
    }

    /// Returns the text of a leaf.
    pub fn text(&self, leaf: NodeId) -> String {
        self.document.leaf(leaf).map(|leaf| leaf.text().into_cow().into_owned()).unwrap_or_default()
    }

    /// Returns where a value stands, as an RFC 6901 pointer.
    pub fn pointer(&self, node: NodeId) -> String {
        self.document.pointer(node)
    }

    /// The bytes that were read.
    pub fn bytes(&self) -> &Bytes {
        self.document.source()
    }

    /// Returns the answer as one JSON document; of a stream or a list, the one that it stands for. Its own `Debug` prints
    /// texts.
    pub fn json(&self) -> Value {
        match value(&self.document, self.document.root()) {
            Value::Array(pieces) => joined(self.api, pieces).0.unwrap_or_default(),
            whole => whole,
        }
    }

    /// Returns the answer with a text behind all that it says to people; `None` where it has no place for one. An answer that calls
    /// tools of the client is no last word.
    pub fn with_text(&self, text: &str) -> Option<Value> {
        let (wire, mut whole) = (wire(self.api), self.json());
        let inner = match wire.wrapped_in {
            Some(key) => whole.get_mut(key)?,
            None => &mut whole,
        };
        self.calls.is_empty().then(|| (wire.append)(inner, text)).flatten()?;
        Some(whole)
    }

    /// Returns what a further request repeats of the answer: a message of chat completions, Messages and
    /// Gemini, the items of Responses. It has all that the provider wants to see again, signed and
    /// encrypted reasoning too, which a [`Reply`] has not.
    pub fn turn(&self) -> Vec<Value> {
        let (wire, whole) = (wire(self.api), self.json());
        (wire.turn)(wire.wrapped_in.map_or(&whole, |key| &whole[key]))
    }

    /// Returns the answer, where all clients read it alike.
    ///
    /// # Errors
    /// [`AnswerError::Unclear`].
    pub fn sound(self) -> Result<Answer, AnswerError> {
        if self.is_odd { Err(AnswerError::Unclear) } else { Ok(self) }
    }

    /// Returns how many values that has.
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
    pub fn changed(&self, texts: &[(NodeId, String)], calls: &[Call]) -> Result<Value, CallError> {
        if self.calls.len() != calls.len() {
            return Err(CallError::Count { had: self.calls.len(), given: calls.len() });
        }
        if texts.iter().any(|(leaf, _)| self.sealed.contains(leaf)) {
            return Err(CallError::Sealed);
        }
        let mut whole = unweighed(self.api, &self.document);
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
        let mut whole = unweighed(self.api, &self.document);
        edit::refuse(self.api, &mut whole, &pointers(gone), &pointers(left), words);
        whole
    }
}

/// An answer as a value, as it stands, but for the probabilities of words.
fn unweighed(api: Api, document: &Document) -> Value {
    value_of(document, document.root(), &|member| !edit::is_probabilities(api, document, member))
}

/// The answer that a list of pieces stands for, and whether all of them have a place in it.
fn joined(api: Api, pieces: Vec<Value>) -> (Option<Value>, bool) {
    let mut assembly = AnswerAssembly::new(api);
    let has_place = pieces.into_iter().fold(true, |all, piece| assembly.take(piece) & all);
    (assembly.whole(), has_place)
}

impl TextRun {
    fn new(kind: RunKind, first: NodeId) -> Self {
        TextRun { kind, left: String::new(), texts: vec![(first, 0)] }
    }
}

/// The texts that rules read: what the model says, which clients join whatever it thinks between, and each stretch of what it thinks.
fn runs(heard: &Heard) -> Vec<TextRun> {
    let mut runs: Vec<TextRun> = Vec::new();
    for (place, leaf) in heard.said.iter().filter(|said| said.is_judged()).filter_map(|said| said.text()) {
        if heard.document.leaf(leaf).is_none_or(|leaf| leaf.text().expose().is_empty()) {
            continue;
        }
        let kind = if place.text.is_reasoning() { RunKind::Thought } else { RunKind::Said };
        let last = runs.iter_mut().rfind(|run| kind == RunKind::Thought || run.kind == RunKind::Said);
        match last.filter(|run| run.kind == kind) {
            Some(run) => run.texts.push((leaf, 0)),
            None => runs.push(TextRun::new(kind, leaf)),
        }
    }
    runs
}

/// What is written for the arguments of a call; `None` where JSON is wanted and this is none.
fn spelled(form: Form, call: &Call) -> Option<Value> {
    let text = call.arguments.expose();
    match form {
        Form::Text => Some(text.into()),
        Form::JsonText => crate::json::arguments(text).map(|_| text.into()),
        Form::Json => crate::json::arguments(text),
    }
}
