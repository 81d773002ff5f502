//! Raw messages and VS Code chat exports.
//!
//! - [`messages`]: reads the messages of any file that holds some: `Raw.ChatMessage[]`, OpenAI chat
//!   messages, a chat replay, an export.
//! - [`to_wire`]: the request that an API would get for them. [`raw_json`]: the messages as
//!   `Raw.ChatMessage[]`. Both are lossy by nature, and note every [`Loss`] with its place.
//! - [`conversation`]: an export as a conversation. [`check`]: whether an editor would import it.
//! - [`redact`]: what must follow when a policy redacts an export: its copies, its encoded texts,
//!   its ranges.
//! - [`session`]: files of agents with one JSON value a line, read as documents and written as the same lines.
//!
//! What it promises: no file makes it panic. Losses and errors hold places and fixed words, never a
//! text of the file. Nothing is converted on its way through the gate. What it must not know:
//! rules, detectors, HTTP, the terminal.

mod export;
mod input;
mod json;
mod loss;
mod node;
mod openai;
mod raw;
pub mod redact;
mod replay;
pub mod session;
mod wire;

pub use export::{
    Attachment, ChangeDecision, Confirmation, ExportTurn, ExportedConversation, FileEdit, FileEditKind,
    Import, ImportCheck, ImportTest, NoteKind, RequestFailure, RequestStatus, ToolUse, TurnNote, Vote, check,
    conversation, is_export,
};
pub use input::{InputShape, Messages, messages, shape, verbatim_messages};
pub use json::Json;
pub use loss::{InputError, Loss, Losses};
pub use raw::{Meaning, PartKind, RawMessage, RawPart, RawRole, Thinking, ToolCall, to_json as raw_json};
pub use wire::{CONVERTED, to_wire};
