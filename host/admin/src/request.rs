//! A turn as one object: its messages as they came and as they would leave, its sections, and the
//! history of its edits. What a debugger, a diff or a web page needs that shows all of a request.

use leafgate_tree::OperationHistory;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_with::skip_serializing_none;

use crate::turn::TurnView;

/// A turn with its whole request.
#[derive(Serialize, Deserialize, JsonSchema, derive_more::Debug, derive_more::Deref)]
#[debug("EditableRequest {{ summary: {:?}, messages: {}, digest: {:?}, .. }}", turn.summary, messages.len(), turn.digest)]
#[serde(rename_all = "camelCase")]
pub struct EditableRequest {
    /// Names the request in the ids of its operations. The turn's own id stands in `summary`.
    pub id: String,
    /// `<location>/<client program>`.
    pub debug_name: String,
    /// The model of the request that would leave, its whole name.
    pub model: String,
    /// Which kind of conversation: `chat`, or `request`.
    pub location: String,
    /// The messages as they would leave: without deleted ones, with those that were put in. What an API
    /// has beside its list (`system`, `instructions`, `systemInstruction`) is the first one here.
    pub messages: Vec<RawJson>,
    /// The messages as they came, with `‹LABEL›` in the places of redacted values. A section's
    /// `sourceMessageIndex` counts these.
    pub original_messages: Vec<RawJson>,
    /// Every other member of the body, as it would leave.
    pub request_options: RawJson,
    /// The same as it came.
    pub original_request_options: RawJson,
    /// What is known of the request beside its messages.
    pub metadata: RequestMetadata,
    /// The edits with their values, and what undo and redo do with them.
    pub edit_history: OperationHistory,
    /// The turn: its sections have their whole texts.
    #[serde(flatten)]
    #[deref]
    pub turn: TurnView,
}

/// What is known of a request beside its messages.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequestMetadata {
    /// Which of it people are shown, in this order. The budget of tokens is shown in any case.
    #[serde(default)]
    pub fields: Vec<MetadataField>,
    /// The most tokens that the prompt may have, where its model is known.
    pub max_prompt_tokens: Option<u64>,
    /// How many tokens the answer may have, as the request says.
    pub max_response_tokens: Option<u64>,
    /// What the client says the request is for.
    pub intent: Option<String>,
    /// Where it would be sent, without a query.
    pub endpoint_url: Option<String>,
}

leafgate_words::words! {
    /// Something that is known of a request, as settings name it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "camelCase")]
    pub enum MetadataField {
        /// Its conversation.
        SessionId = "sessionId",
        /// Its own name.
        RequestId = "requestId",
        /// The model that it asks.
        Model = "model",
        /// Where in its client it was asked.
        Location = "location",
        /// The mode that asked for a person.
        Interception = "interception",
        /// Whether anything would leave otherwise than it came.
        Dirty = "dirty",
        /// Where it would be sent.
        Endpoint = "endpoint",
        /// What its client says that it is for.
        Intent = "intent",
        /// How long the answer may be.
        MaxResponseTokens = "maxResponseTokens",
    }
    /// Returns its name in settings and JSON.
    pub fn name = 0;
}

/// What people are shown of requests beside what they say, in this order, until the gate ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MetadataFields {
    /// The fields; none for the budget alone.
    pub fields: Vec<MetadataField>,
}

impl MetadataField {
    /// What is shown where nobody chose.
    pub const DEFAULT: [MetadataField; 2] = [MetadataField::SessionId, MetadataField::RequestId];
}

/// A value of a request, spelled as it would leave or as it came. `Debug` prints its length.
#[derive(Clone, Serialize, Deserialize, derive_more::Debug)]
#[debug("{} bytes of JSON", self.expose().len())]
#[serde(transparent)]
pub struct RawJson(Box<RawValue>);

impl RawJson {
    /// Wraps JSON whose findings are redacted. `None` where it is no JSON.
    pub fn new(json: String) -> Option<Self> {
        RawValue::from_string(json).ok().map(RawJson)
    }

    /// Returns the JSON, for a printer that shows control characters as visible text.
    pub fn expose(&self) -> &str {
        self.0.get()
    }
}

impl JsonSchema for RawJson {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "RawJson".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "description": "A value of the request, of any kind." })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_has_one_name_in_settings_and_in_json() {
        for &field in MetadataField::ALL {
            assert_eq!(serde_json::to_value(field).unwrap(), field.name());
            assert_eq!(MetadataField::from_name(field.name()), Some(field));
        }
    }
}
