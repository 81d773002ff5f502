//! What parts and calls are called, whole and in the events of a stream.

use crate::json::{Object, text};
use crate::reply::CallKind;

/// A list of texts in an item: where its parts are, and how their events are called.
pub(super) struct List {
    /// The member of the item.
    pub(super) member: &'static str,
    /// What counts its parts in events.
    pub(super) index: &'static str,
    /// What events about a part begin with.
    pub(super) part: &'static str,
}

pub(super) const SUMMARY: List =
    List { member: "summary", index: "summary_index", part: "response.reasoning_summary_part" };
pub(super) const CONTENT: List =
    List { member: "content", index: "content_index", part: "response.content_part" };

/// A kind of text: how its parts are called, where the words stand in them, and what its events begin
/// with.
pub(super) struct Spoken {
    pub(super) part: &'static str,
    pub(super) key: &'static str,
    pub(super) event: &'static str,
    pub(super) list: &'static List,
    pub(super) is_reasoning: bool,
}

pub(super) const SPOKEN: [Spoken; 4] = [
    Spoken {
        part: "output_text",
        key: "text",
        event: "response.output_text",
        list: &CONTENT,
        is_reasoning: false,
    },
    Spoken {
        part: "refusal",
        key: "refusal",
        event: "response.refusal",
        list: &CONTENT,
        is_reasoning: false,
    },
    Spoken {
        part: "reasoning_text",
        key: "text",
        event: "response.reasoning_text",
        list: &CONTENT,
        is_reasoning: true,
    },
    Spoken {
        part: "summary_text",
        key: "text",
        event: "response.reasoning_summary_text",
        list: &SUMMARY,
        is_reasoning: true,
    },
];

/// A kind of call: the member with its arguments, and what their events begin with.
pub(super) struct Asked {
    pub(super) item: &'static str,
    pub(super) key: &'static str,
    pub(super) event: &'static str,
    pub(super) kind: CallKind,
}

pub(super) const ASKED: [Asked; 2] = [
    Asked {
        item: "function_call",
        key: "arguments",
        event: "response.function_call_arguments",
        kind: CallKind::Function,
    },
    Asked {
        item: "custom_tool_call",
        key: "input",
        event: "response.custom_tool_call_input",
        kind: CallKind::Custom,
    },
];

pub(super) fn spoken(part: &Object) -> Option<&'static Spoken> {
    SPOKEN.iter().find(|spoken| spoken.part == text(part, "type"))
}

pub(super) fn asked(item: &Object) -> Option<&'static Asked> {
    ASKED.iter().find(|asked| asked.item == text(item, "type"))
}

/// The lists of an item that hold texts, in the order in which they are shown.
pub(super) fn lists(item: &Object) -> &'static [&'static List] {
    match text(item, "type") {
        "message" => &[&CONTENT],
        "reasoning" => &[&SUMMARY, &CONTENT],
        _ => &[],
    }
}
