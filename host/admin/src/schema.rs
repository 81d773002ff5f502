//! The admin API as a JSON Schema: every type, and which call takes and answers which.
//!
//! It is made of the types, so it cannot say anything else than they do. Its version counts what
//! callers see: a field or a call more is another minor version, and anything that is taken away or
//! means something else another major one. `tests/schema.txt` keeps what was promised.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Value, json};

use crate::{
    AgentsView, ApiError, ArmCapture, Cancel, CapturePreview, CaptureTurn, CapturedEdits, ClearSaved, Diff,
    EditCommand, EditableRequest, Event, Except, Excepted, Follow, ModeView, OutlineView, Payload, Pending,
    Pins, Release, Released, Resume, Resumed, Reveal, Revealed, RunView, SavedDiff, SavedEditView, SavedList,
    Select, SessionList, SetMode, SetSaved, Status, Subagents, SwitchOff, TurnSummary, TurnView,
};

/// The version of the API.
pub const VERSION: &str = "1.5";

/// One call of the API.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// Its method.
    pub method: &'static str,
    /// Its path, with `{id}` for an id.
    pub path: &'static str,
    body: Option<fn(&mut SchemaGenerator) -> Value>,
    answer: fn(&mut SchemaGenerator) -> Value,
}

impl Call {
    const fn get<A: JsonSchema>(path: &'static str) -> Call {
        Call { method: "GET", path, body: None, answer: schema_of::<A> }
    }

    const fn with<B: JsonSchema, A: JsonSchema>(method: &'static str, path: &'static str) -> Call {
        Call { method, path, body: Some(schema_of::<B>), answer: schema_of::<A> }
    }
}

/// Every call that is answered with JSON, and the events, each of which is an [`Event`].
pub const CALLS: &[Call] = &[
    Call::get::<Status>("/v1/status"),
    Call::get::<Event>("/v1/events"),
    Call::get::<Pending>("/v1/pending"),
    Call::get::<TurnView>("/v1/pending/{id}"),
    Call::get::<EditableRequest>("/v1/pending/{id}/request"),
    Call::get::<OutlineView>("/v1/pending/{id}/outline"),
    Call::get::<Diff>("/v1/pending/{id}/diff"),
    Call::get::<Payload>("/v1/pending/{id}/payload"),
    Call::with::<EditCommand, TurnView>("POST", "/v1/pending/{id}/edit"),
    Call::with::<Pins, TurnView>("PUT", "/v1/pending/{id}/pins"),
    Call::get::<CapturePreview>("/v1/pending/{id}/capture"),
    Call::with::<CaptureTurn, CapturedEdits>("POST", "/v1/pending/{id}/capture"),
    Call::with::<Except, Excepted>("POST", "/v1/pending/{id}/except"),
    Call::with::<Resume, Resumed>("POST", "/v1/pending/{id}/resume"),
    Call::with::<Cancel, TurnSummary>("POST", "/v1/pending/{id}/cancel"),
    Call::get::<ModeView>("/v1/mode"),
    Call::with::<SetMode, ModeView>("PUT", "/v1/mode"),
    Call::with::<SwitchOff, ModeView>("PUT", "/v1/off"),
    Call::get::<SavedList>("/v1/saved"),
    Call::with::<SetSaved, SavedList>("PUT", "/v1/saved"),
    Call::with::<ArmCapture, SavedList>("POST", "/v1/saved/capture"),
    Call::with::<ClearSaved, SavedList>("POST", "/v1/saved/clear"),
    Call::get::<SavedEditView>("/v1/saved/{id}"),
    Call { method: "DELETE", path: "/v1/saved/{id}", body: None, answer: schema_of::<SavedList> },
    Call::get::<SavedDiff>("/v1/saved/{id}/diff"),
    Call::get::<SessionList>("/v1/sessions"),
    Call::with::<Follow, SessionList>("PUT", "/v1/sessions"),
    Call::with::<Select, SessionList>("POST", "/v1/sessions/{id}/select"),
    Call { method: "DELETE", path: "/v1/sessions/{id}", body: None, answer: schema_of::<SessionList> },
    Call::get::<Subagents>("/v1/subagents"),
    Call::get::<AgentsView>("/v1/agents"),
    Call::get::<RunView>("/v1/agents/runs/{id}"),
    Call::with::<Release, Released>("POST", "/v1/plugins/{id}/release"),
    Call::with::<Reveal, Revealed>("POST", "/v1/reveal"),
];

fn schema_of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Value {
    generator.subschema_for::<T>().to_value()
}

/// Returns the schema of the API: types in `$defs`, calls in `calls`, each naming the types of its
/// body and its answer. Failed calls are answered with `error`.
#[must_use]
pub fn schema() -> Value {
    // As it is written: a field is required where every answer of this version has it.
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let call = |call: &Call, generator: &mut SchemaGenerator| {
        let mut entry = json!({ "method": call.method, "path": call.path });
        if let Some(body) = call.body {
            entry["body"] = body(generator);
        }
        entry["answer"] = (call.answer)(generator);
        entry
    };
    let calls: Vec<Value> = CALLS.iter().map(|one| call(one, &mut generator)).collect();
    let error = schema_of::<ApiError>(&mut generator);
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": format!("urn:leafgate:admin:{VERSION}"),
        "title": "The admin API of Leafgate",
        "version": VERSION,
        "calls": calls,
        "error": error,
        "$defs": generator.take_definitions(true),
    })
}
