//! A request as JSON, value by value: as it came, and as it would leave.
//!
//! Both are the received bytes with splices, so numbers, keys and their order are spelled as the
//! client spelled them. What was redacted has a mask in the one and its replacement in the other.

use std::collections::{BTreeMap, BTreeSet};

use crate::changes::display_mask;
use crate::document::Document;
use crate::draft::Draft;
use crate::escape::{self, Splice};
use crate::kinds::{LeafKind, SectionKind};
use crate::node::NodeId;
use crate::project::CallsById;
use crate::render::spliced;
use crate::section::SectionId;

/// One state of a request, from which single values can be taken as JSON.
pub struct ValueSource<'d> {
    document: &'d Document,
    /// In the body: sorted, not overlapping.
    splices: Vec<Splice>,
    /// The text of a body that is no JSON.
    raw: Option<String>,
}

impl Draft {
    /// Returns the request as it came, with [`display_mask`] in the places of redacted values. A
    /// number that was redacted is a string there.
    pub fn as_received(&self) -> ValueSource<'_> {
        let document = &**self.document();
        let raw =
            document.is_raw().then(|| self.masked_original(document.root(), display_mask).into_cow().into());
        let outermost: BTreeSet<NodeId> = self.hidden_leaves().map(|node| document.outermost(node)).collect();
        let splice = |node: NodeId| {
            let masked = self.masked_original(node, display_mask);
            let with = format!("\"{}\"", escape::escape(masked.expose()));
            Splice { at: document.node(node).span(), with, label: None }
        };
        ValueSource { document, splices: outermost.into_iter().map(splice).collect(), raw }
    }

    /// Returns the request as it would leave.
    pub fn as_leaving(&self) -> ValueSource<'_> {
        let document = &**self.document();
        let raw = document.is_raw().then(|| self.text(document.root()).into_cow().into());
        let splices = if self.is_dirty() { self.body_splices() } else { Vec::new() };
        ValueSource { document, splices, raw }
    }
}

impl ValueSource<'_> {
    /// Returns a value as JSON. A message that was put in before it is no part of it.
    ///
    /// Values inside embedded documents have no JSON of their own in the body: theirs is the string
    /// around them.
    pub fn json(&self, node: NodeId) -> String {
        if let Some(text) = &self.raw {
            return format!("\"{}\"", escape::escape(text));
        }
        let span = self.document.body_span(node);
        let first = self.splices.partition_point(|splice| splice.at.start < span.start);
        let inside = self.splices[first..].iter().take_while(|splice| splice.at.end <= span.end);
        // An insertion takes no room, and stands at the edge of the message behind it or before it.
        let inside = inside.filter(|splice| {
            !splice.at.is_empty() || (span.start < splice.at.start && splice.at.end < span.end)
        });
        String::from_utf8_lossy(&spliced(self.document.source(), span.clone(), inside)).into_owned()
    }
}

impl Document {
    /// Returns what tools are called with: for each section that is a call, and for each that is
    /// the result of a call before it.
    pub fn tool_arguments(&self) -> BTreeMap<SectionId, NodeId> {
        let mut of_calls: CallsById<&str, Option<NodeId>> = CallsById::default();
        let mut arguments = BTreeMap::new();
        for (place, section) in self.sections().iter().enumerate() {
            let found = match section.kind {
                SectionKind::ToolCall => {
                    let mut inside = self.subtree(section.node).map(NodeId::from_index);
                    let found = inside.find(|&node| self.projection.kind(node) == LeafKind::ToolArguments);
                    if let Some(id) = section.call_id.as_deref() {
                        of_calls.call(id, found);
                    }
                    found
                }
                SectionKind::ToolResult => {
                    section.call_id.as_deref().and_then(|id| of_calls.result_of(id)).flatten()
                }
                _ => None,
            };
            arguments.extend(found.map(|node| (SectionId::from_index(place), node)));
        }
        arguments
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::Value;

    use crate::{Author, Document, Draft, Format, Limits, Redaction, Role, SectionId};

    const BODY: &str = r#"{"model": "m", "n": 1.50, "messages": [
        {"role": "user", "content": "key \u0053ECRET, card 4111"},
        {"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "type": "function",
         "function": {"name": "run", "arguments": "{\"q\": \"SECRET\", \"n\": 4111}"}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "\ud800 fine"},
        {"role": "user", "content": "last"}], "seed": 4111}"#;

    fn draft() -> Draft {
        Draft::new(Arc::new(Document::parse(BODY.into(), Format::OpenaiChat, &Limits::default()).unwrap()))
    }

    fn messages(draft: &Draft) -> Vec<SectionId> {
        let sections = draft.document().sections();
        let ids = (0..sections.len()).map(SectionId::from_index);
        ids.filter(|id| draft.document().section(*id).message.is_some())
            .filter(|id| draft.document().section(*id).parent.is_none())
            .collect()
    }

    fn redact(draft: &mut Draft, pointer: &str, word: &str, with: &str) {
        let node = draft.document().resolve(pointer).unwrap();
        let start = draft.text(node).expose().find(word).unwrap();
        let redaction = Redaction::new(start..start + word.len(), "KEY", with);
        draft.redact(node, &[redaction], &Author::rule("r")).unwrap();
    }

    #[test]
    fn an_untouched_value_is_spelled_as_it_came() {
        let draft = draft();
        let document = draft.document();
        for node in (0..document.node_count()).map(crate::NodeId::from_index) {
            let spelled = &BODY[document.body_span(node)];
            assert_eq!(draft.as_received().json(node), spelled);
            assert_eq!(draft.as_leaving().json(node), spelled);
        }
    }

    #[test]
    fn invariant_6_what_came_has_masks_and_what_leaves_has_replacements() {
        let mut draft = draft();
        redact(&mut draft, "/messages/0/content", "SECRET", "KEY_1");
        redact(&mut draft, "/messages/1/tool_calls/0/function/arguments/q", "SECRET", "KEY_1");
        redact(&mut draft, "/seed", "4111", "9222");
        let root = draft.document().root();
        let (came, leaves) = (draft.as_received().json(root), draft.as_leaving().json(root));
        assert!(!came.contains("SECRET") && !came.contains("0053") && !leaves.contains("SECRET"));
        assert_eq!(leaves.as_bytes(), draft.render());
        // A lone surrogate, which `serde_json` reads in no string, stands in one message alone.
        let came: Value = serde_json::from_str(&came.replace("\\ud800", "")).unwrap();
        assert_eq!(came["messages"][0]["content"], "key ‹KEY›, card 4111");
        let arguments = r#"{"q": "‹KEY›", "n": 4111}"#;
        assert_eq!(came["messages"][1]["tool_calls"][0]["function"]["arguments"], arguments);
        assert_eq!(came["seed"], "‹KEY›");
    }

    #[test]
    fn a_message_is_its_own_whatever_is_put_in_or_left_out_around_it() {
        let mut draft = draft();
        let all = messages(&draft);
        draft.insert(all[0], Role::User, "first", &Author::Person).unwrap();
        draft.insert(all[3], Role::User, "between", &Author::Person).unwrap();
        draft.delete(all[1], &Author::Person).unwrap();
        let source = draft.as_leaving();
        let json = |at: usize| source.json(draft.document().section(all[at]).node);
        assert_eq!(json(0), r#"{"role": "user", "content": "key \u0053ECRET, card 4111"}"#);
        assert_eq!(json(3), r#"{"role": "user", "content": "last"}"#);
    }

    // S0-28
    #[test]
    fn a_result_knows_what_its_call_asked() {
        let draft = draft();
        let document = draft.document();
        let asked: Vec<_> = document.tool_arguments().into_values().collect();
        let arguments = document.resolve("/messages/1/tool_calls/0/function/arguments").unwrap();
        assert_eq!(asked, [arguments, arguments]);
    }
}
