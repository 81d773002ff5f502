//! The calls of the API, each declared once: its name, method and path, what it takes and what it answers. The server's routes, the
//! names in metrics, the client and the schema follow from that.

use std::ops::Deref;

use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    AddException, AgentsView, ArmCapture, Cancel, CapturePreview, CaptureTurn, CapturedEdits, ClearSaved,
    Diff, EditCommand, EditableRequest, Event, Except, Excepted, ExceptionList, Follow, LogState,
    MetadataFields, ModeView, OutlineView, Payload, Pending, Pins, Release, Released, Resume, Resumed,
    Reveal, Revealed, RunView, SavedDiff, SavedEditView, SavedList, Select, SessionList, SetMode, SetSaved,
    Status, Subagents, SwitchOff, TurnSummary, TurnView,
};

/// What stands for an id in a path.
const ID: &str = "{id}";

/// What the one call without a body that answers it shows.
pub trait AdminView: DeserializeOwned {
    /// The call.
    const CALL: AdminCall;
}

/// What one call takes as its body.
pub trait AdminCommand: Serialize + DeserializeOwned {
    /// The call.
    const CALL: AdminCall;
    /// What it answers.
    type Answer: DeserializeOwned;
}

type SchemaOf = fn(&mut SchemaGenerator) -> Value;

/// What is declared of a call.
pub struct DeclaredCall {
    /// Its name in metrics.
    pub name: &'static str,
    /// What it does, as a sentence.
    pub summary: &'static str,
    /// Its method.
    pub method: &'static str,
    /// Its path, with `{id}` for an id.
    pub path: &'static str,
    body: Option<SchemaOf>,
    answer: SchemaOf,
}

macro_rules! calls {
    ($(#[doc = $summary:literal] $name:ident = $word:literal, $method:ident $path:literal, $(takes $body:ty,)? answers $answer:ty;)+) => {
        /// A call of the API. All are answered with JSON, but for the events, each of which is an [`Event`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum AdminCall { $(#[doc = $summary] $name,)+ }

        impl AdminCall {
            /// Every call.
            pub const ALL: &[AdminCall] = &[$(AdminCall::$name),+];

            const DECLARED: &[DeclaredCall] = &[$(DeclaredCall {
                name: $word,
                summary: $summary.trim_ascii(),
                method: stringify!($method),
                path: $path,
                body: calls!(@schema $($body)?),
                answer: schema_of::<$answer>,
            }),+];
        }

        $(calls!(@of $name $method $($body,)? $answer);)+
    };
    (@schema) => { None };
    (@schema $body:ty) => { Some(schema_of::<$body>) };
    (@of $name:ident GET $answer:ty) => {
        impl AdminView for $answer {
            const CALL: AdminCall = AdminCall::$name;
        }
    };
    (@of $name:ident DELETE $answer:ty) => {};
    (@of $name:ident $method:ident $body:ty, $answer:ty) => {
        impl AdminCommand for $body {
            const CALL: AdminCall = AdminCall::$name;
            type Answer = $answer;
        }
    };
}

calls! {
    /// What the gate is and does.
    Status = "status", GET "/v1/status", answers Status;
    /// What happens from now on, as an event stream.
    Events = "events", GET "/v1/events", answers Event;
    /// The turns that wait.
    Pending = "pending", GET "/v1/pending", answers Pending;
    /// A turn, as a person sees it.
    Turn = "turn", GET "/v1/pending/{id}", answers TurnView;
    /// A turn with its whole request.
    Request = "request", GET "/v1/pending/{id}/request", answers EditableRequest;
    /// A part of a turn's tree.
    Outline = "outline", GET "/v1/pending/{id}/outline", answers OutlineView;
    /// What a turn's edits change.
    Diff = "diff", GET "/v1/pending/{id}/diff", answers Diff;
    /// The bytes of a turn that would leave.
    Payload = "payload", GET "/v1/pending/{id}/payload", answers Payload;
    /// Edits a turn.
    Edit = "edit", POST "/v1/pending/{id}/edit", takes EditCommand, answers TurnView;
    /// Pins sections of a turn for people.
    Pin = "pin", PUT "/v1/pending/{id}/pins", takes Pins, answers TurnView;
    /// What saving a turn's edits would save.
    Preview = "preview", GET "/v1/pending/{id}/capture", answers CapturePreview;
    /// Saves a turn's edits.
    Capture = "capture", POST "/v1/pending/{id}/capture", takes CaptureTurn, answers CapturedEdits;
    /// Lets a value pass from now on.
    Except = "except", POST "/v1/pending/{id}/except", takes Except, answers Excepted;
    /// Lets a turn go.
    Resume = "resume", POST "/v1/pending/{id}/resume", takes Resume, answers Resumed;
    /// Refuses a turn.
    Cancel = "cancel", POST "/v1/pending/{id}/cancel", takes Cancel, answers TurnSummary;
    /// Which turns wait without a rule.
    Mode = "mode", GET "/v1/mode", answers ModeView;
    /// Chooses which turns wait without a rule.
    SetMode = "set_mode", PUT "/v1/mode", takes SetMode, answers ModeView;
    /// Has everything pass as it comes for a while, or the policy serve again.
    SwitchOff = "switch_off", PUT "/v1/off", takes SwitchOff, answers ModeView;
    /// What people are shown of requests beside what they say.
    Fields = "fields", GET "/v1/fields", answers MetadataFields;
    /// Chooses what people are shown of requests beside what they say.
    SetFields = "set_fields", PUT "/v1/fields", takes MetadataFields, answers MetadataFields;
    /// All saved edits.
    Saved = "saved", GET "/v1/saved", answers SavedList;
    /// Chooses how edits are saved.
    SetSaved = "set_saved", PUT "/v1/saved", takes SetSaved, answers SavedList;
    /// Has the next turn wait, so that its edits are saved.
    ArmCapture = "arm_capture", POST "/v1/saved/capture", takes ArmCapture, answers SavedList;
    /// Removes all saved edits of a scope.
    ClearSaved = "clear_saved", POST "/v1/saved/clear", takes ClearSaved, answers SavedList;
    /// A saved edit.
    SavedEdit = "saved_edit", GET "/v1/saved/{id}", answers SavedEditView;
    /// Removes a saved edit.
    RemoveSaved = "remove_saved", DELETE "/v1/saved/{id}", answers SavedList;
    /// What a saved edit replaced the last time.
    SavedDiff = "saved_diff", GET "/v1/saved/{id}/diff", answers SavedDiff;
    /// The exceptions in the gate's policy folders.
    Exceptions = "exceptions", GET "/v1/exceptions", answers ExceptionList;
    /// Writes an exception into a policy folder.
    AddException = "add_exception", POST "/v1/exceptions", takes AddException, answers ExceptionList;
    /// Takes an exception out of its file.
    RemoveException = "remove_exception", DELETE "/v1/exceptions/{id}", answers ExceptionList;
    /// The conversations that are known.
    Sessions = "sessions", GET "/v1/sessions", answers SessionList;
    /// Has the mode follow the latest conversation, or stay.
    Follow = "follow", PUT "/v1/sessions", takes Follow, answers SessionList;
    /// Chooses the conversation that the mode is about.
    Select = "select", POST "/v1/sessions/{id}/select", takes Select, answers SessionList;
    /// Closes a conversation.
    Dispose = "close_session", DELETE "/v1/sessions/{id}", answers SessionList;
    /// What subagents sent.
    Subagents = "subagents", GET "/v1/subagents", answers Subagents;
    /// The team of agents, and its latest runs.
    Agents = "agents", GET "/v1/agents", answers AgentsView;
    /// A run of agents.
    AgentRun = "agent_run", GET "/v1/agents/runs/{id}", answers RunView;
    /// Ends the quarantine of a plugin.
    Release = "release_plugin", POST "/v1/plugins/{id}/release", takes Release, answers Released;
    /// Whether the log has what it was told so far, once that is written.
    Log = "log", GET "/v1/log", answers LogState;
    /// The value of a token.
    Reveal = "reveal", POST "/v1/reveal", takes Reveal, answers Revealed;
}

impl Deref for AdminCall {
    type Target = DeclaredCall;

    fn deref(&self) -> &DeclaredCall {
        &Self::DECLARED[*self as usize]
    }
}

impl AdminCall {
    /// Returns its path for an id, which counts where it has one; `None` for an id that could mean another path.
    pub fn path_of(self, id: &str) -> Option<String> {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let is_id = !id.is_empty() && id.bytes().all(fits);
        (is_id || !self.path.contains(ID)).then(|| self.path.replace(ID, id))
    }

    /// Returns whether it has a body. No form of a web page can send one of JSON, nor DELETE.
    pub fn takes_body(self) -> bool {
        self.body.is_some()
    }

    /// Returns the schema of its body, where it has one, and that of its answer.
    pub(crate) fn schemas(self, generator: &mut SchemaGenerator) -> (Option<Value>, Value) {
        (self.body.map(|body| body(generator)), (self.answer)(generator))
    }

    /// Returns the calls of a path, each with the id in it, which is empty where the path has none.
    pub fn of_path(path: &str) -> impl Iterator<Item = (AdminCall, &str)> {
        Self::ALL.iter().filter_map(move |&call| Some((call, id_in(call.path, path)?)))
    }
}

pub(crate) fn schema_of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Value {
    generator.subschema_for::<T>().to_value()
}

/// The id in a path that is one of these; `None` where it is none.
fn id_in<'p>(declared: &str, path: &'p str) -> Option<&'p str> {
    let (mut own, mut segments, mut id) = (declared.split('/'), path.split('/'), "");
    loop {
        match (own.next(), segments.next()) {
            (None, None) => return Some(id),
            (Some(ID), Some(segment)) => id = segment,
            (Some(own), Some(segment)) if own == segment => {}
            _ => return None,
        }
    }
}
