//! A logged body as what was said in it, whatever API it speaks: for exports that know messages with
//! roles and texts, and nothing else.
//!
//! It is a summary. Media is named, calls and results are told as text, and options are left out: the
//! whole body stands in the exports that have room for it.

use bytes::Bytes;
use leafgate_tree::{
    Access, ContentKind, Document, Leaf, LeafKind, Limits, MessageIndex, Role, Section, SectionKind,
    ValueType,
};

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TurnText {
    pub(crate) speaker: Role,
    pub(crate) text: String,
}

/// The members that hold the arguments of a call.
const ARGUMENTS: [&str; 3] = ["arguments", "input", "args"];

/// Returns what is said in a body, in order; what stands beside the messages comes first.
pub(crate) fn said(body: &[u8]) -> Vec<TurnText> {
    let document = Document::detect(Bytes::copy_from_slice(body), &Limits::default());
    let Ok(document) = document else { return Vec::new() };
    let says = |leaf: &Leaf<'_>| leaf.value_type() != ValueType::Null;
    let leaves = document.leaves().filter(says).filter_map(|leaf| {
        let section = document.section(leaf.section()?);
        let speaker = match leaf.kind() {
            LeafKind::ToolResult => Role::Tool,
            LeafKind::Text | LeafKind::Reasoning if leaf.access() != Access::Opaque => section.role,
            _ => return None,
        };
        Some((section, leaf.id(), speaker, leaf.text().expose().to_owned()))
    });
    let others = document.sections().iter().filter_map(|section| {
        let (speaker, text) = match (section.kind, section.content_kind) {
            (SectionKind::ToolCall, _) => (Role::Assistant, call(&document, section)),
            (_, Some(kind @ (ContentKind::Image | ContentKind::Audio | ContentKind::Document))) => {
                (section.role, format!("‹{kind}›"))
            }
            _ => return None,
        };
        Some((section, section.node, speaker, text))
    });
    let mut lines: Vec<_> = leaves.chain(others).filter(|(.., text)| !text.is_empty()).collect();
    lines.sort_by_key(|(section, node, ..)| (section.message.map(MessageIndex::index), *node));
    let mut all: Vec<TurnText> = Vec::new();
    let mut message = None;
    for (section, _, speaker, text) in lines {
        let same = message.replace(section.message) == Some(section.message);
        match all.last_mut().filter(|said| same && said.speaker == speaker) {
            Some(said) => said.text = format!("{}\n{text}", said.text),
            None => all.push(TurnText { speaker, text }),
        }
    }
    all
}

fn call(document: &Document, section: &Section) -> String {
    let objects = std::iter::once(section.node).chain(document.children(section.node));
    let arguments = objects.flat_map(|object| ARGUMENTS.map(|key| document.member(object, key)));
    let arguments = arguments.flatten().next().map(|node| match document.settable(node) {
        Some(text) => text.text().expose().to_owned(),
        None => String::from_utf8_lossy(&document.source()[document.body_span(node)]).into_owned(),
    });
    format!("‹call› {} {}", section.tool.as_deref().unwrap_or_default(), arguments.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_api_says_the_same() {
        let expected = [
            (Role::System, "Be brief."),
            (Role::User, "Read it"),
            (Role::Assistant, "‹call› read {\"path\":\"a\"}"),
            (Role::Tool, "42"),
        ];
        let arguments = "{\"path\":\"a\"}";
        let bodies = [
            json!({ "messages": [
                { "role": "system", "content": "Be brief." },
                { "role": "user", "content": [{ "type": "text", "text": "Read it" }] },
                { "role": "assistant", "content": null, "tool_calls": [
                    { "id": "1", "type": "function", "function": { "name": "read", "arguments": arguments } }] },
                { "role": "tool", "tool_call_id": "1", "content": "42" },
            ] }),
            json!({ "system": [{ "type": "text", "text": "Be brief." }], "messages": [
                { "role": "user", "content": "Read it" },
                { "role": "assistant", "content": [
                    { "type": "tool_use", "id": "1", "name": "read", "input": { "path": "a" } }] },
                { "role": "user", "content": [
                    { "type": "tool_result", "tool_use_id": "1", "content": [{ "type": "text", "text": "42" }] }] },
            ] }),
            json!({ "instructions": "Be brief.", "input": [
                { "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "Read it" }] },
                { "type": "function_call", "call_id": "1", "name": "read", "arguments": arguments },
                { "type": "function_call_output", "call_id": "1", "output": "42" },
            ] }),
            json!({ "systemInstruction": { "parts": [{ "text": "Be brief." }] }, "contents": [
                { "role": "user", "parts": [{ "text": "Read it" }] },
                { "role": "model", "parts": [{ "functionCall": { "name": "read", "args": { "path": "a" } } }] },
                { "role": "user", "parts": [{ "functionResponse": { "name": "read", "response": { "content": "42" } } }] },
            ] }),
        ];
        for body in bodies {
            let said: Vec<_> =
                said(body.to_string().as_bytes()).into_iter().map(|said| (said.speaker, said.text)).collect();
            let expected = expected.map(|(speaker, text)| (speaker, text.to_owned()));
            assert_eq!(said, expected, "{body}");
        }
    }
}
