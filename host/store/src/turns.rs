//! A logged body as what was said in it, whatever API it speaks: for exports that know messages with
//! roles and texts, and nothing else.
//!
//! It is a summary. Calls and results are told as text, media and options are left out: the whole body
//! stands in the exports that have room for it.

use bytes::Bytes;
use leafgate_tree::{Document, LeafKind, Limits, Role, Segment};

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) speaker: Role,
    pub(crate) text: String,
}

/// The members that hold the arguments of a call.
const ARGUMENTS: [&str; 3] = ["arguments", "input", "args"];

/// Returns what is said in a body, in order; what stands beside the messages comes first.
pub(crate) fn said(body: &[u8]) -> Vec<Said> {
    let document = Document::detect(Bytes::copy_from_slice(body), &Limits::default());
    let Ok(document) = document else { return Vec::new() };
    let mut all: Vec<(usize, Said)> = Vec::new();
    let mut call = None;
    for leaf in document.leaves() {
        let Some(section) = leaf.section() else { continue };
        let section = document.section(section);
        let (speaker, text) = match leaf.kind() {
            LeafKind::ToolArguments => {
                let way = std::iter::successors(Some(leaf.id()), |&node| document.parent(node));
                let is_whole = |node: &_| matches!(document.segment(*node), Some(Segment::Key(key)) if ARGUMENTS.contains(&&*key));
                let whole = way.take_while(|node| *node != section.node).filter(is_whole).last();
                let whole = whole.unwrap_or(leaf.id());
                if call.replace(whole) == Some(whole) {
                    continue;
                }
                let spelled =
                    || String::from_utf8_lossy(&document.source()[document.body_span(whole)]).into_owned();
                let arguments =
                    document.settable(whole).map_or_else(spelled, |text| text.text().expose().to_owned());
                (Role::Assistant, format!("‹call› {} {arguments}", leaf.tool().unwrap_or_default()))
            }
            LeafKind::ToolResult => (Role::Tool, leaf.text().expose().to_owned()),
            LeafKind::Text | LeafKind::Reasoning => (section.role, leaf.text().expose().to_owned()),
            LeafKind::ToolSchema | LeafKind::RequestOption | LeafKind::Metadata | LeafKind::Other => continue,
        };
        let message = section.message.map_or(0, |message| message.index() + 1);
        match all.last_mut().filter(|(at, said)| *at == message && said.speaker == speaker) {
            Some((_, said)) => said.text = format!("{}\n{text}", said.text),
            None => all.push((message, Said { speaker, text })),
        }
    }
    all.sort_by_key(|(message, _)| *message);
    all.into_iter().map(|(_, said)| said).filter(|said| !said.text.is_empty()).collect()
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
