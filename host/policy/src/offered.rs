//! Which tools a request offers to the model.
//!
//! A model calls what it was offered, by exactly that name, and clients are lenient: they lower names,
//! trim them, take prefixes off. So a call under any other name is of no tool that a rule can know, and
//! every rule that restricts tools is about it.

use std::collections::BTreeSet;

use leafgate_tree::{Document, NodeId, Segment, ValueType};

/// The tools that a request offers, or those that the conversation behind it did.
#[derive(Clone, Default, PartialEq, Eq, derive_more::Debug)]
#[debug("Offered({})", self.0.len())]
pub struct Offered(BTreeSet<String>);

/// Members of a tool, or of a group of tools, that hold further ones.
const HOLDS: [&str; 5] = ["function", "custom", "tools", "functionDeclarations", "function_declarations"];

/// Members of the body, or of an item of the conversation, that hold tools.
const LISTS: [&str; 2] = ["tools", "functions"];

impl Offered {
    /// Collects the tools of a request: those of the body, and those that its items add.
    pub fn of(request: &Document) -> Self {
        let mut offered = Offered::default();
        let mut bodies = vec![request.root()];
        // Code Assist wraps the request; a client's search for tools gives them in an item.
        bodies.extend(request.member(request.root(), "request"));
        let items = request.member(request.root(), "input").into_iter();
        bodies.extend(items.flat_map(|items| request.children(items)));
        for body in bodies {
            for (key, list) in members(request, body) {
                if LISTS.contains(&&*key) {
                    request.children(list).for_each(|tool| offered.add(request, tool));
                }
            }
        }
        offered
    }

    /// Adds what was offered before, to which this request goes on.
    pub fn extend(&mut self, before: &Offered) {
        self.0.extend(before.0.iter().cloned());
    }

    /// Returns true if and only if a tool was offered by exactly this name.
    pub fn has(&self, name: &str) -> bool {
        self.0.contains(name)
    }

    fn add(&mut self, document: &Document, tool: NodeId) {
        let mut has_name = false;
        let mut kind = None;
        for (key, member) in members(document, tool) {
            let text = document.leaf(member).filter(|leaf| leaf.value_type() == ValueType::Text);
            let text = text.map(|leaf| leaf.text().expose().to_owned());
            match &*key {
                "name" => {
                    has_name |= text.is_some();
                    self.0.extend(text);
                }
                "type" => kind = text,
                key if HOLDS.contains(&key) => {
                    let is_list = matches!(
                        document.children(member).next().and_then(|first| document.segment(first)),
                        Some(Segment::Index(_))
                    );
                    match is_list {
                        true => document.children(member).for_each(|tool| self.add(document, tool)),
                        false => self.add(document, member),
                    }
                    has_name = true;
                }
                _ => {}
            }
        }
        if let Some(kind) = kind.filter(|_| !has_name) {
            // Calls of a tool without a name bear its type: `local_shell` is called by `local_shell_call`.
            let called = if kind.starts_with("computer") { "computer" } else { &kind };
            self.0.insert(format!("{called}_call"));
            self.0.insert(kind);
        }
    }
}

/// The members of an object.
fn members(document: &Document, object: NodeId) -> impl Iterator<Item = (std::borrow::Cow<'_, str>, NodeId)> {
    document.children(object).filter_map(|member| match document.segment(member)? {
        Segment::Key(key) => Some((key, member)),
        Segment::Index(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use leafgate_tree::{Format, Limits};
    use serde_json::{Value, json};

    use super::*;

    fn offered(format: Format, body: &Value) -> Vec<String> {
        let document = Document::parse(body.to_string().into(), format, &Limits::default()).unwrap();
        Offered::of(&document).0.into_iter().collect()
    }

    #[test]
    fn tools_of_every_api_are_offered_as_they_are_spelled() {
        let schema = json!({ "type": "object", "properties": { "name": { "type": "string" } } });
        for (format, body, names) in [
            (
                Format::OpenaiChat,
                json!({ "tools": [
                    { "type": "function", "function": { "name": "Bash", "parameters": schema } },
                    { "type": "custom", "custom": { "name": "patch" } }], "functions": [{ "name": "old" }] }),
                &["Bash", "old", "patch"][..],
            ),
            (
                Format::OpenaiResponses,
                json!({ "tools": [
                    { "type": "function", "name": "a ", "parameters": schema },
                    { "type": "local_shell" },
                    { "type": "computer_use_preview" },
                    { "type": "namespace", "name": "mcp", "tools": [{ "type": "function", "name": "b" }] }],
                    "input": [{ "type": "tool_search_output", "tools": [{ "type": "function", "name": "c" }] }] }),
                &[
                    "a ",
                    "b",
                    "c",
                    "computer_call",
                    "computer_use_preview",
                    "local_shell",
                    "local_shell_call",
                    "mcp",
                ],
            ),
            (
                Format::AnthropicMessages,
                json!({ "tools": [
                    { "name": "Read", "input_schema": schema }, { "type": "bash_20250124", "name": "bash" }] }),
                &["Read", "bash"],
            ),
            (
                Format::Gemini,
                json!({ "tools": [{ "functionDeclarations": [{ "name": "x" }] }, { "googleSearch": {} }] }),
                &["x"],
            ),
        ] {
            assert_eq!(offered(format, &body), names, "{format:?}");
        }
        assert!(offered(Format::OpenaiChat, &json!({ "messages": [] })).is_empty());
    }
}
