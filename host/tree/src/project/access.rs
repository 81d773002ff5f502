//! The one table of what is protected, frozen or opaque, and why.
//!
//! A place that does not stand here is open: rules, plugins and people may change it, and every detector looks at it. Protected and
//! frozen leaves are still looked at, by detectors with a prefix; a finding there cannot be redacted and holds the request.

use base64::Engine as _;
use serde::{Deserialize, Serialize};

use crate::kinds::LeafKind;

/// Who may change a leaf, and who looks at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// Everybody; all detectors look.
    Open,
    /// A person only, since another value changes what the request means to the API. Detectors with a prefix look.
    Protected,
    /// Nobody: the API checks a signature over it. Detectors with a prefix look.
    Frozen,
    /// Nobody: binary media. Not scanned.
    Opaque,
}

/// The kinds of object that a table row belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Structure {
    /// The request itself.
    Body,
    /// An element of `messages`.
    Message,
    /// An element of a message's content.
    Part,
    /// `image_url`, `input_audio`, `file` of a content part.
    Media,
    /// An element of `tool_calls`, or `function_call`.
    ToolCall,
    /// `function` or `custom` of a tool call.
    CalledFunction,
    /// An element of `tools` or `functions`.
    ToolDefinition,
    /// `function` of a tool definition, `json_schema` of a response format.
    NamedSchema,
    /// A JSON Schema.
    Schema,
    /// An element of `reasoning_details`.
    ReasoningDetail,
    /// An element of an Anthropic message's content, and what a server tool's result holds.
    Block,
    /// `source` of an image or a document block.
    Source,
    /// A thinking block: the API checks it as a whole.
    Thinking,
    /// An element of the Responses API's `input`.
    Item,
    /// An element of `Raw.ChatMessage[]`.
    RawMessage,
    /// An element of a raw message's content.
    RawPart,
    /// Any object of a VS Code chat export.
    Export,
    /// Any object of a body that no other projection maps.
    Unknown,
}

/// One row.
pub(super) struct Field {
    structure: Structure,
    key: &'static str,
    pub(super) kind: LeafKind,
    pub(super) access: Access,
    /// Why; read by people, and by the test that wants every row to have one.
    #[cfg_attr(not(test), expect(dead_code, reason = "the reason of a row is its documentation"))]
    reason: &'static str,
}

macro_rules! table {
    ($($structure:ident { $($key:literal $kind:ident $access:ident $reason:literal;)+ })+) => {
        &[$($(Field {
            structure: Structure::$structure,
            key: $key,
            kind: LeafKind::$kind,
            access: Access::$access,
            reason: $reason,
        },)+)+]
    };
}

static TABLE: &[Field] = table! {
    Body {
        "model" RequestOption Protected "selects the model";
        "previous_response_id" RequestOption Protected "names what the server stored";
        "conversation" RequestOption Protected "names what the server stored";
    }
    Message {
        "role" Metadata Protected "discriminator";
        "name" Metadata Protected "identifies a speaker or a legacy function";
        "tool_call_id" Metadata Protected "pairs a result with its call";
        "refusal" Text Open "the model's words";
        "reasoning" Reasoning Open "the model's words, unsigned";
        "reasoning_content" Reasoning Open "the model's words, unsigned";
    }
    Part {
        "type" Metadata Protected "discriminator";
        "text" Text Open "the words themselves";
        "refusal" Text Open "the model's words";
    }
    Media {
        "url" Other Opaque "an image, where it is one; an address is scanned";
        "data" Other Opaque "sound, where it is some";
        "file_data" Other Opaque "a file, where it is a binary one";
        "format" Metadata Protected "says how to decode the data";
        "detail" Metadata Protected "discriminator";
        "file_id" Metadata Protected "id";
    }
    ToolCall {
        "id" Metadata Protected "pairs a call with its result";
        "type" Metadata Protected "discriminator";
        "name" Metadata Protected "names a function (legacy calls)";
        "arguments" ToolArguments Open "what the tool is called with (legacy calls)";
    }
    CalledFunction {
        "name" Metadata Protected "names a function";
        "arguments" ToolArguments Open "what the tool is called with";
        "input" ToolArguments Open "what a custom tool is called with";
    }
    ToolDefinition {
        "type" Metadata Protected "discriminator";
        "name" Metadata Protected "names a function";
    }
    NamedSchema {
        "name" Metadata Protected "names a function or a schema";
    }
    Schema {
        "type" ToolSchema Protected "keyword of JSON Schema";
        "required" ToolSchema Protected "names properties";
        "format" ToolSchema Protected "keyword of JSON Schema";
        "pattern" ToolSchema Protected "keyword of JSON Schema";
        "$ref" ToolSchema Protected "points to another schema";
        "$schema" ToolSchema Protected "names the dialect";
        "$id" ToolSchema Protected "id";
        "$anchor" ToolSchema Protected "id";
    }
    ReasoningDetail {
        "type" Metadata Protected "discriminator";
        "id" Metadata Protected "id";
        "format" Metadata Protected "discriminator";
        "signature" Reasoning Frozen "signature";
        "data" Reasoning Frozen "encrypted by the provider";
    }
    Block {
        "type" Metadata Protected "discriminator";
        "id" Metadata Protected "pairs a call with its result";
        "tool_use_id" Metadata Protected "pairs a result with its call";
        "name" Metadata Protected "names a tool";
        "tool_name" Metadata Protected "names a tool";
        "server_name" Metadata Protected "names a server";
        "file_id" Metadata Protected "id";
        "text" Text Open "the words themselves";
        "input" ToolArguments Open "what the tool is called with";
        "cache_control" Metadata Protected "a cache breakpoint";
        "encrypted_content" Other Frozen "encrypted by the provider";
        "encrypted_index" Other Frozen "encrypted by the provider";
        "encrypted_stdout" Other Frozen "encrypted by the provider";
    }
    Source {
        "type" Metadata Protected "discriminator";
        "media_type" Metadata Protected "says how to decode the data";
        "file_id" Metadata Protected "id";
        "data" Text Opaque "an image or a file, where it is a binary one; plain text is scanned";
    }
    Thinking {
        "type" Reasoning Frozen "part of a signed block";
        "thinking" Reasoning Frozen "covered by the signature";
        "signature" Reasoning Frozen "signature";
        "data" Reasoning Frozen "encrypted by the provider";
    }
    Item {
        "type" Metadata Protected "discriminator";
        "role" Metadata Protected "discriminator";
        "id" Metadata Protected "id";
        "call_id" Metadata Protected "pairs a call with its result";
        "status" Metadata Protected "state that the API keeps";
        "phase" Metadata Protected "state that the API keeps";
        "execution" Metadata Protected "discriminator";
        "name" Metadata Protected "names a tool";
        "namespace" Metadata Protected "names a group of tools";
        "server_label" Metadata Protected "names a server";
        "container_id" Metadata Protected "id";
        "approval_request_id" Metadata Protected "pairs an approval with its request";
        "encrypted_content" Reasoning Frozen "encrypted by the provider";
        "arguments" ToolArguments Open "what the tool is called with";
        "input" ToolArguments Open "what a custom tool is called with";
        "code" ToolArguments Open "what the interpreter is called with";
        "action" ToolArguments Open "what a computer or shell tool is called with";
        "output" ToolResult Open "what the tool gave back";
        "outputs" ToolResult Open "what the interpreter gave back";
        "result" ToolResult Opaque "a generated image, where it is one";
        "text" Text Open "the words themselves";
        "refusal" Text Open "the model's words";
        "image_url" Other Opaque "an image, where it is one; an address is scanned";
        "file_data" Other Opaque "a file, where it is a binary one";
        "data" Other Opaque "sound, where it is some";
        "format" Metadata Protected "says how to decode the data";
        "detail" Metadata Protected "discriminator";
        "file_id" Metadata Protected "id";
    }
    RawMessage {
        "role" Metadata Protected "discriminator: another number is another speaker";
        "name" Metadata Protected "identifies a speaker, or says what the message is";
        "toolCallId" Metadata Protected "pairs a result with its call";
    }
    RawPart {
        "type" Metadata Protected "discriminator: another number is another kind of part";
        "text" Text Open "the words themselves";
        "value" Other Open "whatever the endpoint understands; signed thinking is frozen by its own type";
        "cacheType" Metadata Protected "a cache breakpoint";
        "scope" Metadata Protected "says where the value is usable";
        "mediaType" Metadata Protected "says how to decode the data";
        "detail" Metadata Protected "discriminator";
        "url" Other Opaque "an image, where it is one; an address is scanned";
        "data" Other Opaque "a document, where it is a binary one";
        "encrypted" Reasoning Frozen "encrypted by the provider";
        "signature" Reasoning Frozen "signature";
    }
    Export {
        "kind" Metadata Protected "discriminator";
        "$mid" Metadata Protected "discriminator of serialised objects";
        "requestId" Metadata Protected "id";
        "responseId" Metadata Protected "id";
        "toolId" Metadata Protected "names a tool";
        "toolCallId" Metadata Protected "pairs a call with its result";
        "modelId" Metadata Protected "names the model";
        "extensionId" Metadata Protected "id";
        "codeBlockUri" Other Open "a path of the user's";
        "arguments" ToolArguments Open "what the tool was called with";
        "rawInput" ToolArguments Open "what the tool was called with";
        "toolCallResults" ToolResult Open "what tools gave back";
        "resultDetails" ToolResult Open "what the tool gave back";
        "thinking" Reasoning Open "the model's words";
    }
    Unknown {
        "type" Metadata Protected "discriminator";
        "role" Metadata Protected "discriminator";
        "model" Metadata Protected "selects the model";
        "id" Metadata Protected "id";
        "call_id" Metadata Protected "pairs a call with its result";
        "tool_call_id" Metadata Protected "pairs a call with its result";
        "tool_use_id" Metadata Protected "pairs a call with its result";
        "previous_response_id" Metadata Protected "names what the server stored";
        "signature" Reasoning Frozen "signature";
        "encrypted_content" Reasoning Frozen "encrypted by the provider";
        "encrypted_index" Reasoning Frozen "encrypted by the provider";
    }
};

/// The row for a member of a structure.
pub(super) fn field(structure: Structure, key: &str) -> Option<&'static Field> {
    TABLE.iter().find(|field| field.structure == structure && field.key == key)
}

/// How a keyword of JSON Schema holds further schemas (draft 2020-12, chapters 10 and 11).
pub(super) enum Applicator {
    /// A schema or an array of them.
    Schema,
    /// An object of schemas under names of the author's choice.
    NamedSchemas,
}

pub(super) fn schema_applicator(key: &str) -> Option<Applicator> {
    match key {
        "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas" => {
            Some(Applicator::NamedSchemas)
        }
        "items"
        | "prefixItems"
        | "additionalProperties"
        | "unevaluatedProperties"
        | "unevaluatedItems"
        | "contains"
        | "propertyNames"
        | "anyOf"
        | "oneOf"
        | "allOf"
        | "not"
        | "if"
        | "then"
        | "else" => Some(Applicator::Schema),
        _ => None,
    }
}

/// First bytes of the media types that may pass unscanned, with their offset in the file.
pub const MEDIA_MAGIC: &[(&str, usize, &[u8])] = &[
    ("image/png", 0, b"\x89PNG\r\n\x1a\n"),
    ("image/jpeg", 0, b"\xff\xd8\xff"),
    ("image/gif", 0, b"GIF8"),
    ("image/webp", 8, b"WEBP"),
    ("image/bmp", 0, b"BM"),
    ("image/heic, video/mp4, audio/mp4", 4, b"ftyp"),
    ("audio/wav", 8, b"WAVE"),
    ("audio/mpeg", 0, b"ID3"),
    ("audio/mpeg", 0, b"\xff\xfb"),
    ("audio/mpeg", 0, b"\xff\xf3"),
    ("audio/mpeg", 0, b"\xff\xf2"),
    ("audio/ogg", 0, b"OggS"),
    ("audio/flac", 0, b"fLaC"),
    ("application/pdf", 0, b"%PDF-"),
    ("application/zip (office documents)", 0, b"PK\x03\x04"),
];

/// Whether a text is base64, bare or in a data URL, of a file that starts like a known media type.
pub(super) fn is_media(text: &str) -> bool {
    let payload = match text.strip_prefix("data:") {
        Some(url) => match url.split_once(";base64,") {
            // A media type of any length would be a place to hide text in.
            Some((media_type, payload)) if media_type.len() <= 64 => payload,
            _ => return false,
        },
        None => text,
    };
    // The longest magic above ends within the first 16 bytes: 24 characters of base64 hold 18.
    let Some(head) = payload.get(..24) else { return false };
    let Ok(head) = base64::engine::general_purpose::STANDARD.decode(head) else { return false };
    let known = MEDIA_MAGIC.iter().any(|(_, offset, magic)| head[*offset..].starts_with(magic));
    known
        && payload
            .trim_end_matches('=')
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_a_reason_and_stands_once() {
        for (at, row) in TABLE.iter().enumerate() {
            assert!(!row.reason.is_empty(), "{} has no reason", row.key);
            let again =
                TABLE[at + 1..].iter().any(|other| other.structure == row.structure && other.key == row.key);
            assert!(!again, "{:?}.{} stands twice", row.structure, row.key);
        }
    }

    #[test]
    fn media_is_recognised_by_its_first_bytes_alone() {
        let png = base64::engine::general_purpose::STANDARD.encode([MEDIA_MAGIC[0].2, &[0; 40]].concat());
        assert!(is_media(&png));
        assert!(is_media(&format!("data:image/png;base64,{png}")));
        assert!(!is_media(&format!("{png} and a few words")), "text behind the image would pass unseen");
        assert!(!is_media(&format!("data:image/png;name=words,{png}")));
        assert!(!is_media("https://example.com/cat.png?token=abcdefghijkl"));
        let words = base64::engine::general_purpose::STANDARD.encode("plain words, no image at all");
        assert!(!is_media(&words));
    }
}
