//! A request as one object, whatever its API: `messages`, with those first that stand beside the list
//! (`system`, `instructions`, `systemInstruction`), and `requestOptions`. What shows a request whole is
//! made of it, and the paths of operations lead into it.

use std::collections::HashMap;
use std::fmt::Write as _;

use crate::document::Document;
use crate::draft::Draft;
use crate::index::Segment;
use crate::insert::Inserted;
use crate::json::ValueSource;
use crate::node::NodeId;
use crate::pointer::write_display_path;
use crate::section::{NodeType, Section};

impl Document {
    /// The messages in the order of that object.
    fn messages_in_object(&self) -> impl Iterator<Item = &Section> {
        let messages = || {
            let is_message = |section: &&Section| section.node_type == NodeType::Message;
            self.sections().iter().filter(|section| section.parent.is_none()).filter(is_message)
        };
        messages()
            .filter(|section| is_beside(section))
            .chain(messages().filter(|section| !is_beside(section)))
    }

    /// Returns how many messages stand beside the list, and so before it in that object.
    pub fn messages_beside(&self) -> usize {
        self.messages_in_object().take_while(|section| is_beside(section)).count()
    }

    /// A message as an object with a role, where its API spells it otherwise.
    fn message_in_object(&self, section: &Section, source: &ValueSource<'_>) -> String {
        let (json, role) = (source.json(section.node), section.role.name());
        if self.is_text_alone(section.node) {
            return format!(r#"{{"role":"{role}","content":{json}}}"#);
        }
        match json.strip_prefix('{') {
            Some(members) if is_beside(section) && self.member(section.node, "role").is_none() => {
                let comma = if members.trim_start().starts_with('}') { "" } else { "," };
                format!(r#"{{"role":"{role}"{comma}{members}"#)
            }
            _ => json,
        }
    }

    /// Whether a message is spelled by its content alone: a text, or a list of parts.
    fn is_text_alone(&self, message: NodeId) -> bool {
        self.source().get(self.body_span(message).start) != Some(&b'{')
    }
}

/// Whether it stands beside the list of messages.
fn is_beside(section: &Section) -> bool {
    section.message.is_none()
}

impl Draft {
    /// Returns the messages as they came, with [`crate::display_mask`] in the places of redacted values,
    /// each as JSON.
    pub fn original_messages(&self) -> Vec<String> {
        let (document, came) = (self.document(), self.as_received());
        document.messages_in_object().map(|section| document.message_in_object(section, &came)).collect()
    }

    /// Returns the messages as they would leave: without deleted ones, with those that were put in.
    pub fn messages(&self) -> Vec<String> {
        let (document, leaving) = (self.document(), self.as_leaving());
        let mut put_in: Vec<&Inserted> = self.inserted().collect();
        let mut messages = Vec::new();
        for section in document.messages_in_object() {
            let here = put_in.extract_if(.., |inserted| inserted.before == section.node);
            messages.extend(here.map(Inserted::json));
            if !self.is_deleted(section.node) {
                messages.push(document.message_in_object(section, &leaving));
            }
        }
        messages
    }
}

/// The paths of values in that object, as it would leave.
pub(crate) struct ObjectPaths<'d> {
    draft: &'d Draft,
    /// Where each message stands there; one that is left out, among those that came.
    messages: HashMap<NodeId, String>,
}

impl<'d> ObjectPaths<'d> {
    pub(crate) fn of(draft: &'d Draft) -> Self {
        let (document, mut at, mut messages) = (draft.document(), 0, HashMap::new());
        for (came, section) in document.messages_in_object().enumerate() {
            at += draft.inserted().filter(|inserted| inserted.before == section.node).count();
            let mut path = match draft.is_deleted(section.node) {
                true => format!("originalMessages[{came}]"),
                false => format!("messages[{at}]"),
            };
            at += usize::from(!draft.is_deleted(section.node));
            if document.is_text_alone(section.node) {
                path.push_str(".content");
            }
            messages.insert(section.node, path);
        }
        ObjectPaths { draft, messages }
    }

    /// Returns the path of a value; of what stands in no section, that in the body.
    pub(crate) fn path(&self, node: NodeId) -> String {
        let document = self.draft.document();
        let innermost = document.section_of(node).map(|id| document.section(id));
        let around = |section: &&Section| section.parent.map(|id| document.section(id));
        let Some(outermost) = std::iter::successors(innermost, around).last() else {
            return self.draft.display_path_now(node);
        };
        let segments = self.draft.segments(node);
        let depth = self.draft.segments(outermost.node).len();
        match self.messages.get(&outermost.node) {
            Some(message) => joined(message, &segments[depth..]),
            // A body that is no object is one option without a name.
            None => self.option(&segments[depth.saturating_sub(1)..]),
        }
    }

    /// Returns the path of a member beside the messages, or of a value in it.
    pub(crate) fn option(&self, segments: &[Segment<'_>]) -> String {
        joined("requestOptions", segments)
    }
}

fn joined(around: &str, segments: &[Segment<'_>]) -> String {
    let (mut path, inside) = (around.to_owned(), write_display_path(segments));
    let dot = if inside.is_empty() || inside.starts_with('[') { "" } else { "." };
    write!(path, "{dot}{inside}").expect("a string takes every write");
    path
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};

    use crate::{Author, Document, Draft, Format, Limits, Operation, Redaction, Role, SectionId};

    fn draft(format: Format, body: &Value) -> Draft {
        let document = Document::parse(body.to_string().into(), format, &Limits::default());
        Draft::new(Arc::new(document.unwrap()))
    }

    fn values(messages: &[String]) -> Value {
        messages.iter().map(|message| serde_json::from_str::<Value>(message).unwrap()).collect()
    }

    const CHAT: &str = r#"{"model":"m","messages":[{"role":"user","content":"one key"},
{"role":"assistant","content":"two"},{"role":"user","content":"three"}]}"#;

    fn section(draft: &Draft, key: &str) -> Option<SectionId> {
        let mut ids = (0..draft.document().sections().len()).map(SectionId::from_index);
        ids.find(|&id| draft.section_key(id) == key)
    }

    // S1-07
    #[test]
    fn messages_are_those_that_leave_and_original_messages_those_that_came() {
        let document = Document::parse(CHAT.into(), Format::OpenaiChat, &Limits::default()).unwrap();
        let mut draft = Draft::new(Arc::new(document));
        let node = draft.document().resolve("/messages/0/content").unwrap();
        let redaction = Redaction::new(4..7, "KEY", "KEY_1");
        draft.redact(node, &[redaction], &Author::rule("r")).unwrap();
        let [second, last] = ["assistant-1", "user-2"].map(|key| section(&draft, key).unwrap());
        draft.delete(second, &Author::Person).unwrap();
        draft.insert(last, Role::User, "put \"in\"", &Author::Person).unwrap();
        draft.insert(last, Role::User, "b", &Author::Person).unwrap();
        let body: Value = serde_json::from_slice(&draft.render()).unwrap();
        assert_eq!(values(&draft.messages()), body["messages"]);
        assert_eq!(draft.messages()[0], r#"{"role":"user","content":"one KEY_1"}"#);
        assert_eq!(
            draft.original_messages()[..2],
            [r#"{"role":"user","content":"one ‹KEY›"}"#, r#"{"role":"assistant","content":"two"}"#]
        );
    }

    /// What the system says was in none of the messages.
    // S0-05
    #[test]
    fn what_stands_beside_the_list_is_a_message_of_every_api() {
        let user = json!({ "role": "user", "content": "Hi" });
        let said = json!({ "role": "system", "content": "Be brief" });
        let parts = json!([{ "type": "text", "text": "Be brief" }]);
        let contents = json!([{ "role": "user", "parts": [{ "text": "Hi" }] }]);
        let texts = json!([{ "text": "Be brief" }]);
        for (format, body, first) in [
            (Format::AnthropicMessages, json!({ "system": "Be brief", "messages": [user] }), said.clone()),
            (
                Format::AnthropicMessages,
                json!({ "messages": [user], "system": parts }),
                json!({ "role": "system", "content": parts }),
            ),
            (Format::OpenaiResponses, json!({ "instructions": "Be brief", "input": [user] }), said.clone()),
            (Format::OpenaiResponses, json!({ "input": "Hi", "instructions": "Be brief" }), said),
            (
                Format::Gemini,
                json!({ "contents": contents, "systemInstruction": { "parts": texts } }),
                json!({ "role": "system", "parts": texts }),
            ),
            (
                Format::Gemini,
                json!({ "model": "m", "request": { "contents": contents,
                    "systemInstruction": { "role": "user", "parts": texts } } }),
                json!({ "role": "user", "parts": texts }),
            ),
        ] {
            let draft = draft(format, &body);
            let messages = values(&draft.messages());
            let second = if format == Format::Gemini { &contents[0] } else { &user };
            assert_eq!(messages, json!([first, second]), "{body}");
            assert_eq!(values(&draft.original_messages()), messages);
        }
    }

    /// What an operation names is found in the object that it belongs to, whatever was left out.
    // S0-32
    #[test]
    fn paths_of_operations_resolve_in_the_object() {
        for (format, body) in [
            (
                Format::OpenaiChat,
                json!({ "temperature": 1, "messages": [{ "role": "user", "content": "a" },
                    { "role": "assistant", "content": "b" },
                    { "role": "user", "content": [{ "type": "text", "text": "c" }] }] }),
            ),
            (
                Format::AnthropicMessages,
                json!({ "system": [{ "type": "text", "text": "s" }], "temperature": 1,
                    "messages": [{ "role": "user", "content": "a" }, { "role": "assistant", "content": "b" },
                    { "role": "user", "content": "c" }] }),
            ),
            (
                Format::OpenaiResponses,
                json!({ "instructions": "s", "reasoning": { "effort": "low" }, "input": [
                    { "role": "user", "content": "a" }, { "role": "assistant", "content": "b" },
                    { "role": "user", "content": [{ "type": "input_text", "text": "c" }] }] }),
            ),
            (
                Format::Gemini,
                json!({ "systemInstruction": { "parts": [{ "text": "s" }] }, "contents": [
                    { "role": "user", "parts": [{ "text": "a" }] }, { "role": "model", "parts": [{ "text": "b" }] },
                    { "role": "user", "parts": [{ "text": "c" }] }],
                    "generationConfig": { "temperature": 1 } }),
            ),
        ] {
            let mut draft = draft(format, &body);
            let document = Arc::clone(draft.document());
            let leaves: Vec<_> = document.leaves().map(|leaf| leaf.id()).collect();
            for (n, &leaf) in leaves.iter().enumerate() {
                let _ = match document.leaf(leaf).unwrap().value_type() {
                    crate::ValueType::Number => draft.set(leaf, &format!("{n}.5"), &Author::Person),
                    _ if ["a", "b", "c", "s", "low"].contains(&draft.text(leaf).expose()) => {
                        draft.set(leaf, &format!("new {n}"), &Author::Person)
                    }
                    _ => continue,
                };
            }
            let any = |keys: [&str; 2]| keys.iter().find_map(|key| section(&draft, key)).unwrap();
            let (answer, last) = (any(["assistant-1", "assistant-2"]), any(["user-2", "user-3"]));
            draft.delete(answer, &Author::Person).unwrap();
            draft.insert(last, Role::User, "put in", &Author::Person).unwrap();
            let options: Value = (0..document.sections().len())
                .map(crate::SectionId::from_index)
                .filter_map(|id| {
                    let key = draft.section_key(id).strip_prefix("requestOptions/")?.to_owned();
                    let json = draft.as_leaving().json(document.section(id).node);
                    Some((key, serde_json::from_str(&json).ok()?))
                })
                .collect::<serde_json::Map<_, Value>>()
                .into();
            let object = json!({ "messages": values(&draft.messages()),
                "originalMessages": values(&draft.original_messages()), "requestOptions": options });
            let mut sets = 0;
            for operation in draft.operations(str::to_owned) {
                let operation: Value = serde_json::to_value::<Operation>(operation).unwrap();
                let path = operation["targetPath"].as_str().unwrap();
                let pointer = format!("/{}", path.replace('[', ".").replace(']', "").replace('.', "/"));
                let found = object.pointer(&pointer).unwrap_or_else(|| panic!("{path} in {object}"));
                if operation["kind"] == "set" && !path.starts_with("originalMessages") {
                    assert_eq!(*found, operation["newValue"], "{path}");
                    sets += 1;
                }
            }
            assert!(sets >= 3, "{sets} of {body}");
        }
    }
}
