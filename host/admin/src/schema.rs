//! The admin API as a JSON Schema: every type, and which call takes and answers which.
//!
//! It is made of the types, so it cannot say anything else than they do. Its version counts what
//! callers see: a field or a call more is another minor version, and anything that is taken away or
//! means something else another major one. `tests/schema.txt` keeps what was promised.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Value, json};

use crate::{
    AdminCall, AgentsView, ApiError, ArmCapture, Cancel, CapturePreview, CaptureTurn, CapturedEdits,
    ClearSaved, Diff, EditCommand, EditableRequest, Event, Except, Excepted, Follow, ModeView, OutlineView,
    Payload, Pending, Pins, Release, Released, Resume, Resumed, Reveal, Revealed, RunView, SavedDiff,
    SavedEditView, SavedList, Select, SessionList, SetMode, SetSaved, Status, Subagents, SwitchOff,
    TurnSummary, TurnView,
};

/// The version of the API.
pub const VERSION: &str = "1.5";

/// Writes the schema of a type.
type SchemaOf = fn(&mut SchemaGenerator) -> Value;

/// Returns the types of the body and of the answer of a call; an event is an [`Event`].
fn types(call: AdminCall) -> (Option<SchemaOf>, SchemaOf) {
    fn answers<A: JsonSchema>() -> (Option<SchemaOf>, SchemaOf) {
        (None, schema_of::<A>)
    }
    fn takes<B: JsonSchema, A: JsonSchema>() -> (Option<SchemaOf>, SchemaOf) {
        (Some(schema_of::<B>), schema_of::<A>)
    }
    match call {
        AdminCall::Status => answers::<Status>(),
        AdminCall::Events => answers::<Event>(),
        AdminCall::Pending => answers::<Pending>(),
        AdminCall::Turn => answers::<TurnView>(),
        AdminCall::Request => answers::<EditableRequest>(),
        AdminCall::Outline => answers::<OutlineView>(),
        AdminCall::Diff => answers::<Diff>(),
        AdminCall::Payload => answers::<Payload>(),
        AdminCall::Edit => takes::<EditCommand, TurnView>(),
        AdminCall::Pin => takes::<Pins, TurnView>(),
        AdminCall::Preview => answers::<CapturePreview>(),
        AdminCall::Capture => takes::<CaptureTurn, CapturedEdits>(),
        AdminCall::Except => takes::<Except, Excepted>(),
        AdminCall::Resume => takes::<Resume, Resumed>(),
        AdminCall::Cancel => takes::<Cancel, TurnSummary>(),
        AdminCall::Mode => answers::<ModeView>(),
        AdminCall::SetMode => takes::<SetMode, ModeView>(),
        AdminCall::SwitchOff => takes::<SwitchOff, ModeView>(),
        AdminCall::Saved => answers::<SavedList>(),
        AdminCall::SetSaved => takes::<SetSaved, SavedList>(),
        AdminCall::ArmCapture => takes::<ArmCapture, SavedList>(),
        AdminCall::ClearSaved => takes::<ClearSaved, SavedList>(),
        AdminCall::SavedEdit => answers::<SavedEditView>(),
        AdminCall::RemoveSaved => answers::<SavedList>(),
        AdminCall::SavedDiff => answers::<SavedDiff>(),
        AdminCall::Sessions => answers::<SessionList>(),
        AdminCall::Follow => takes::<Follow, SessionList>(),
        AdminCall::Select => takes::<Select, SessionList>(),
        AdminCall::CloseSession => answers::<SessionList>(),
        AdminCall::Subagents => answers::<Subagents>(),
        AdminCall::Agents => answers::<AgentsView>(),
        AdminCall::AgentRun => answers::<RunView>(),
        AdminCall::ReleasePlugin => takes::<Release, Released>(),
        AdminCall::Reveal => takes::<Reveal, Revealed>(),
    }
}

fn schema_of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Value {
    generator.subschema_for::<T>().to_value()
}

/// Returns the schema of the API: types in `$defs`, calls in `calls`, each naming the types of its
/// body and its answer. Failed calls are answered with `error`.
#[must_use]
pub fn schema() -> Value {
    // As it is written: a field is required where every answer of this version has it.
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut call = |call: &AdminCall| {
        let (body, answer) = types(*call);
        let mut entry = json!({ "method": call.method(), "path": call.path() });
        if let Some(body) = body {
            entry["body"] = body(&mut generator);
        }
        entry["answer"] = answer(&mut generator);
        entry
    };
    let calls: Vec<Value> = AdminCall::ALL.iter().map(&mut call).collect();
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
