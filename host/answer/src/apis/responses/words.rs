//! What parts and calls are called, whole and in the events of a stream.

use leafgate_api::responses::{self, CallItem};

use crate::json::{Object, text};
use crate::said::TextKind;

/// Events with a response that begins, and with one that has come to its end.
pub(super) const BEGINS: [&str; 3] = ["response.created", "response.in_progress", "response.queued"];
pub(super) const ENDS: [&str; 4] =
    ["response.completed", "response.incomplete", "response.failed", "response.cancelled"];

/// A list of texts in an item: where its parts are, and how their events are called.
pub(super) struct List {
    /// The member of the item.
    pub(super) member: &'static str,
    /// What counts its parts in events.
    pub(super) index: &'static str,
    /// What events about a part begin with.
    pub(super) part: &'static str,
    /// Its place among the lists of an item, as they are shown.
    pub(super) order: usize,
}

pub(super) const SUMMARY: List =
    List { member: "summary", index: "summary_index", part: "response.reasoning_summary_part", order: 0 };
pub(super) const CONTENT: List =
    List { member: "content", index: "content_index", part: "response.content_part", order: 1 };

/// A kind of text: how its parts are called, where the words stand in them, and what its events begin
/// with.
pub(super) struct SpokenText {
    pub(super) part: &'static str,
    pub(super) key: &'static str,
    pub(super) event: &'static str,
    pub(super) list: &'static List,
    pub(super) text: TextKind,
}

impl SpokenText {
    const fn new(
        part: &'static str,
        key: &'static str,
        event: &'static str,
        list: &'static List,
        text: TextKind,
    ) -> Self {
        SpokenText { part, key, event, list, text }
    }
}

pub(super) const SPOKEN: [SpokenText; 4] = [
    SpokenText::new("output_text", "text", "response.output_text", &CONTENT, TextKind::Content),
    SpokenText::new("refusal", "refusal", "response.refusal", &CONTENT, TextKind::Refusal),
    SpokenText::new("reasoning_text", "text", "response.reasoning_text", &CONTENT, TextKind::Reasoning),
    SpokenText::new("summary_text", "text", "response.reasoning_summary_text", &SUMMARY, TextKind::Summary),
];

pub(super) fn spoken(part: &Object) -> Option<&'static SpokenText> {
    SPOKEN.iter().find(|spoken| spoken.part == text(part, "type"))
}

/// Items that the provider runs.
const RUN_BY_PROVIDERS: [&str; 8] = [
    "web_search_call",
    "file_search_call",
    "code_interpreter_call",
    "image_generation_call",
    "mcp_call",
    "tool_search_call",
    "memory_call",
    "hosted_shell_call",
];

/// Whether an item of a kind is a call that the client runs. One of a kind that is not known may be.
pub(super) fn is_call(kind: &str) -> bool {
    responses::is_call(kind) && !RUN_BY_PROVIDERS.contains(&kind)
}

/// What the client is asked to do by an item that it answers with a result.
pub(super) fn asked(item: &Object) -> Option<CallItem> {
    CallItem::of_kind(text(item, "type"))
}

/// The lists of an item of a kind that hold texts, in the order in which they are shown.
pub(super) fn lists(kind: &str) -> &'static [&'static List] {
    match kind {
        "message" => &[&CONTENT],
        "reasoning" => &[&SUMMARY, &CONTENT],
        _ => &[],
    }
}
