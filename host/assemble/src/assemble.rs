//! Assembles a request.

use leafgate_api::Api;
use serde_json::json;

use crate::asked::PickedParts;
use crate::context;
use crate::error::AssembleError;
use crate::files::Files;
use crate::history::{History, HistoryPiece, PieceAuthor, arrange};
use crate::json::{Object, raw};
use crate::profile::{Continuation, Profile};
use crate::prompt;
use crate::step::{Did, Step};
use crate::tools;
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

/// Assembles a request from what a client sent.
///
/// # Errors
/// [`AssembleError`] for a body that is none of its API, for files that cannot be used, and for what
/// the profile does not allow.
pub fn assemble(
    api: Api,
    body: &[u8],
    profile: &Profile,
    files: &dyn Files,
) -> Result<Assembled, AssembleError> {
    let wire = wire(api);
    let mut steps = Vec::new();
    let body = made(parse(body, wire)?, profile, files, wire, None, &mut steps)?;
    Ok(Assembled { body: raw(&body).get().as_bytes().to_vec(), steps })
}

/// Assembles a request whose cost is asked for: what is counted is what [`assemble`] would make,
/// without what no count takes.
///
/// # Errors
/// As [`assemble`].
pub fn assemble_count(
    api: Api,
    body: &[u8],
    profile: &Profile,
    files: &dyn Files,
    counted: &Counted,
) -> Result<Assembled, AssembleError> {
    let wire = wire(api);
    let mut steps = Vec::new();
    let options = match counted {
        Counted::Flat => wire.counted(),
        Counted::Wrapped { .. } => None,
    };
    let options = |key: &str| options.is_none_or(|options| options.contains(&key));
    let body = single(wire.unwrapped(parse(body, wire)?)?, wire)?;
    let mut body = made(body, profile, files, wire, Some(&options), &mut steps)?;
    if let Counted::Wrapped { model } = counted {
        let model = profile.model.as_ref().unwrap_or(model);
        body = wire.wrapped(body, model);
    }
    Ok(Assembled { body: raw(&body).get().as_bytes().to_vec(), steps })
}

/// Tells which options a count takes.
type Countable<'c> = &'c dyn Fn(&str) -> bool;

/// The body that leaves. Of one that is `counted` only these options are set, and no plugins.
fn made(
    mut body: Object,
    profile: &Profile,
    files: &dyn Files,
    wire: &dyn RequestWire,
    counted: Option<Countable<'_>>,
    steps: &mut Vec<Step>,
) -> Result<Object, AssembleError> {
    let asked = PickedParts::take(&mut body)?;
    let agent = asked.is_agent(profile)?;

    let turns = wire.take(&mut body)?;
    let mut history = arrange(turns, agent, wire.is_loose(&body), wire, steps);
    strip(&mut history, profile, steps);
    insert_context(&mut history, profile, &asked, files, wire, steps)?;
    let has_tools = tools::send(&mut body, profile, agent, wire, steps)?;
    let system = prompt::system(profile, files, &history.system, agent, has_tools, steps)?;
    let items = history.pieces.into_iter().flat_map(|piece| piece.items).collect();
    wire.put(&mut body, Some(&system), items);
    set_members(&mut body, profile, &asked, wire, counted, steps)?;
    Ok(body)
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

/// Leaves out members for the client's own use.
fn strip(history: &mut History, profile: &Profile, steps: &mut Vec<Step>) {
    let items = history.pieces.iter_mut().flat_map(|piece| &mut piece.items);
    // An item that is no message has its members for the provider.
    let messages = items.filter(|item| item.get("role").is_some());
    let dropped = messages.map(|item| usize::from(item.drop(&profile.drop))).sum();
    steps.extend(Step::count(Did::Dropped, "messages", dropped));
}

/// Puts context directly before the latest user message, and names documents on it.
fn insert_context(
    history: &mut History,
    profile: &Profile,
    asked: &PickedParts,
    files: &dyn Files,
    wire: &dyn RequestWire,
    steps: &mut Vec<Step>,
) -> Result<(), AssembleError> {
    let documents = context::documents(profile, asked)?;
    if history.continues && profile.continuation == Continuation::SkipContext {
        return Ok(());
    }
    let Some(mut at) = history.pieces.iter().rposition(|piece| piece.by == PieceAuthor::User) else {
        return Ok(());
    };
    let messages = context::messages(profile, asked, files, wire, steps)?;
    name_documents(&mut history.pieces[at].items, &documents, steps);
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

fn name_documents(message: &mut [Object], documents: &[String], steps: &mut Vec<Step>) {
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
    steps.extend(Step::count(Did::Documents, "profile", documents.len()));
}

fn set_members(
    body: &mut Object,
    profile: &Profile,
    asked: &PickedParts,
    wire: &dyn RequestWire,
    counted: Option<Countable<'_>>,
    steps: &mut Vec<Step>,
) -> Result<(), AssembleError> {
    let plugins = asked.plugins(profile)?;
    if !plugins.is_empty() && counted.is_none() {
        let plugin = |plugin: &crate::profile::ProfilePlugin| {
            let mut members = vec![("id", raw(&plugin.id))];
            members.extend(plugin.max_results.map(|most| ("max_results", raw(&most))));
            Object::with(members)
        };
        let list = raw(&plugins.iter().map(plugin).collect::<Vec<_>>());
        steps.push(Step::put(Did::Plugins, "profile", list.get().as_bytes()));
        body.set("plugins", list);
    }
    let options = profile.options.iter().filter(|(key, _)| counted.is_none_or(|takes| takes(key)));
    for (key, value) in options {
        let value = raw(value);
        steps.push(Step::put(Did::Option, key, value.get().as_bytes()));
        body.set(key, value);
    }
    if let Some(model) = &profile.model {
        steps.push(Step::put(Did::Model, "profile", model.as_bytes()));
        wire.set_model(body, model);
    }
    Ok(())
}
