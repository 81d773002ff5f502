//! Assembles a request.

use leafgate_api::Api;
use serde_json::json;

use crate::asked::PickedParts;
use crate::error::AssembleError;
use crate::files::Files;
use crate::history::{History, HistoryPiece, PieceAuthor, arrange};
use crate::json::{Object, raw};
use crate::profile::{Continuation, Profile};
use crate::step::{Did, Step};
use crate::wire::{RequestWire, wire};

/// An assembled request.
#[derive(Clone, PartialEq, Eq, derive_more::Debug)]
pub struct Assembled {
    /// The body that leaves.
    #[debug("{}", body.len())]
    pub body: Vec<u8>,
    /// What was done, in order.
    pub steps: Vec<Step>,
}

/// How a request whose cost is asked for holds what is to be counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Counted {
    /// As a request that is answered does.
    Flat,
    /// Whole, under a member of its own, where it names this model unless the profile names one:
    /// Gemini's `generateContentRequest`.
    Wrapped {
        /// The model that the path names.
        model: String,
    },
}

/// Assembles a request from what a client sent. One that is `counted`, because its cost is asked for, is what that would be without what
/// no count takes.
///
/// # Errors
/// [`AssembleError`] for a body that is none of its API, for files that cannot be used, and for what
/// the profile does not allow.
pub fn assemble(
    api: Api,
    body: &[u8],
    profile: &Profile,
    files: &dyn Files,
    counted: Option<&Counted>,
) -> Result<Assembled, AssembleError> {
    let wire = wire(api);
    let mut body = parse(body, wire)?;
    if counted.is_some() {
        body = single(wire.unwrapped(body)?, wire)?;
    }
    let asked = PickedParts::take(&mut body)?;
    let agent = asked.is_agent(profile)?;
    let mut run = AssemblyRun { profile, files, wire, asked, agent, steps: Vec::new() };

    let turns = wire.take(&mut body)?;
    let mut history = arrange(turns, agent, wire.is_loose(&body), wire, &mut run.steps);
    run.strip(&mut history);
    run.insert_context(&mut history)?;
    let has_tools = run.send_tools(&mut body)?;
    let system = run.system(&history.system, has_tools)?;
    let items = history.pieces.into_iter().flat_map(|piece| piece.items).collect();
    wire.put(&mut body, Some(&system), items);
    run.set_members(&mut body, counted)?;
    if let Some(Counted::Wrapped { model }) = counted {
        body = wire.wrapped(body, profile.model.as_ref().unwrap_or(model));
    }
    Ok(Assembled { body: body.to_vec(), steps: run.steps })
}

/// A request that is being assembled.
pub(crate) struct AssemblyRun<'a> {
    pub(crate) profile: &'a Profile,
    pub(crate) files: &'a dyn Files,
    pub(crate) wire: &'a dyn RequestWire,
    /// What the request picks.
    pub(crate) asked: PickedParts,
    /// Whether the model works as an agent.
    pub(crate) agent: bool,
    /// What was done so far.
    pub(crate) steps: Vec<Step>,
}

pub(crate) fn parse(body: &[u8], wire: &dyn RequestWire) -> Result<Object, AssembleError> {
    let body: Object = serde_json::from_slice::<&serde_json::value::RawValue>(body)
        .and_then(|body| serde_json::from_str(body.get()))
        .map_err(|error| AssembleError::NotJson { line: error.line(), column: error.column() })?;
    single(body, wire)
}

/// A body in which no member is there twice that counts.
fn single(body: Object, wire: &dyn RequestWire) -> Result<Object, AssembleError> {
    match wire.single().iter().find(|key| body.is_twice(key)) {
        Some(key) => Err(AssembleError::Twice { key }),
        None => Ok(body),
    }
}

impl AssemblyRun<'_> {
    /// Leaves out members for the client's own use.
    fn strip(&mut self, history: &mut History) {
        let items = history.pieces.iter_mut().flat_map(|piece| &mut piece.items);
        // An item that is no message has its members for the provider.
        let messages = items.filter(|item| item.get("role").is_some());
        let dropped = messages.map(|item| usize::from(item.drop(&self.profile.drop))).sum();
        self.steps.extend(Step::count(Did::Dropped, "messages", dropped));
    }

    /// Puts context directly before the latest user message, and names documents on it.
    fn insert_context(&mut self, history: &mut History) -> Result<(), AssembleError> {
        let documents = self.documents()?;
        if history.continues && self.profile.continuation == Continuation::SkipContext {
            return Ok(());
        }
        let Some(mut at) = history.pieces.iter().rposition(|piece| piece.by == PieceAuthor::User) else {
            return Ok(());
        };
        let messages = self.context()?;
        self.name_documents(&mut history.pieces[at].items, &documents);
        // Assembled before, it has its context already.
        let spelled: Vec<_> = messages.iter().map(raw).collect();
        let is_context = |item: &Object| spelled.iter().any(|message| message.get() == raw(item).get());
        let same = |piece: &HistoryPiece| piece.by == PieceAuthor::User && piece.items.iter().all(is_context);
        while at > 0 && same(&history.pieces[at - 1]) {
            history.pieces.remove(at - 1);
            at -= 1;
        }
        let pieces =
            messages.into_iter().map(|message| HistoryPiece { items: vec![message], by: PieceAuthor::User });
        history.pieces.splice(at..at, pieces);
        Ok(())
    }

    fn name_documents(&mut self, message: &mut [Object], documents: &[String]) {
        let Some(message) = message.last_mut().filter(|_| !documents.is_empty()) else { return };
        let mut named: serde_json::Value = message
            .get("documentContext")
            .and_then(|held| serde_json::from_str(held.get()).ok())
            .filter(serde_json::Value::is_object)
            .unwrap_or_else(|| json!({}));
        let mut ids: Vec<serde_json::Value> = named["documentIds"].as_array().cloned().unwrap_or_default();
        let new: Vec<_> = documents.iter().map(|id| json!(id)).filter(|id| !ids.contains(id)).collect();
        ids.extend(new);
        named["documentIds"] = ids.into();
        message.set("documentContext", raw(&named));
        self.steps.extend(Step::count(Did::Documents, "profile", documents.len()));
    }

    /// Sets plugins, options and the model; of a request that is counted, the options that a count takes.
    fn set_members(&mut self, body: &mut Object, counted: Option<&Counted>) -> Result<(), AssembleError> {
        let plugins = self.asked.plugins(self.profile)?;
        if !plugins.is_empty() && counted.is_none() {
            let plugin = |plugin: &crate::profile::ProfilePlugin| {
                let mut members = vec![("id", raw(&plugin.id))];
                members.extend(plugin.max_results.map(|most| ("max_results", raw(&most))));
                Object::with(members)
            };
            let list = raw(&plugins.iter().map(plugin).collect::<Vec<_>>());
            self.steps.push(Step::put(Did::Plugins, "profile", list.get().as_bytes()));
            body.set("plugins", list);
        }
        let taken = counted.filter(|counted| **counted == Counted::Flat).and_then(|_| self.wire.counted());
        let is_taken = |key: &str| taken.is_none_or(|taken| taken.contains(&key));
        for (key, value) in self.profile.options.iter().filter(|(key, _)| is_taken(key)) {
            let value = raw(value);
            self.steps.push(Step::put(Did::Option, key, value.get().as_bytes()));
            body.set(key, value);
        }
        if let Some(model) = &self.profile.model {
            self.steps.push(Step::put(Did::Model, "profile", model.as_bytes()));
            self.wire.set_model(body, model);
        }
        Ok(())
    }
}
