//! What rules do to the tools of a request: which are offered, whether any trace of them is sent, and
//! how their schemas look.
//!
//! Calls and results stand and fall together, so a message that says something beside its calls
//! cannot keep the one and lose the other. Where no trace of tools is to be sent, its exchange is left
//! out as a whole, and what was said in it is put in as messages of text.

use std::collections::BTreeMap;

use leafgate_assemble::{SERVERS, ToolServer, normalise_tools};
use leafgate_glob::Glob;
use leafgate_tree::{
    Access, Author, Document, EditError, LeafKind, NodeId, NodeType, Redaction, Role, SectionId, SectionKind,
    Segment, ValueType,
};
use serde_json::Value;

use super::edit::Change;
use super::{Run, author};
use crate::index::RuleIndex;
use crate::rule::{FilterTools, Rule};

impl Run<'_> {
    /// Leaves out the definitions of tools that a rule does not let pass, and with the last one
    /// what means nothing without tools.
    pub(super) fn filter_tools(&mut self, index: RuleIndex, rule: &Rule, filter: &FilterTools) {
        self.edit_request(index, |run| {
            let (document, author) = (run.document, &author(rule));
            let mut made = 0;
            let tools = document.tools();
            for &tool in &tools {
                let node = document.section(tool).node;
                let stays = run.draft.is_deleted(node)
                    || server_of(document, tool).map_or_else(
                        || filter.passes(&name_of(document, tool)),
                        |server| server.passes(|name| filter.keeps(name), |name| filter.drops(name)),
                    );
                if !stays {
                    made += run.change(index, author, None, Change::Delete(tool))?;
                }
            }
            // A group whose tools are all gone would be an empty list.
            let mut around: Vec<SectionId> =
                tools.iter().filter_map(|&tool| document.section(tool).parent).collect();
            around.dedup();
            for group in around.into_iter().filter(|&group| document.section(group).deletable) {
                if made > 0 && run.holds_no_tool(&tools, Some(group)) {
                    made += run.change(index, author, None, Change::Delete(group))?;
                }
            }
            if let Some(list) = document.tool_list().filter(|_| made > 0 && run.holds_no_tool(&tools, None)) {
                made += run.change(index, author, None, Change::Delete(list))?;
            }
            Ok(made + run.filter_servers(index, author, filter, &tools)?)
        });
    }

    /// Leaves out the servers of tools that stand beside the list of tools and do not pass.
    fn filter_servers(
        &mut self,
        index: RuleIndex,
        author: &Author,
        filter: &FilterTools,
        tools: &[SectionId],
    ) -> Result<usize, EditError> {
        let document = self.document;
        let is_servers = |member: &NodeId| {
            matches!(document.segment(*member), Some(Segment::Key(key)) if key == SERVERS)
                && !self.draft.is_deleted(*member)
        };
        let received = document.children(document.root()).filter(is_servers).count();
        if received == 0 {
            return Ok(0);
        }
        let toolsets: Vec<ToolServer> = tools.iter().filter_map(|&tool| server_of(document, tool)).collect();
        let stays = |server: &Value| {
            let server = ToolServer::of_server(&server.to_string());
            server.stays(&toolsets, |name| filter.keeps(name), |name| filter.drops(name))
        };
        // As they would leave: what was redacted in them stays so.
        let sent: Value = serde_json::from_slice(&self.draft.render()).map_err(|_| EditError::NotALeaf)?;
        let (servers, is_list) = match sent.get(SERVERS) {
            // A key that stands twice says one thing to one parser, and another to the next.
            Some(Value::Array(servers)) => (servers.as_slice(), received == 1),
            Some(Value::Null) | None => return Ok(0),
            Some(_) => (&[][..], false),
        };
        let left: Vec<&Value> = servers.iter().filter(|server| is_list && stays(server)).collect();
        if is_list && left.len() == servers.len() {
            return Ok(0);
        }
        self.change(index, author, None, Change::Option(SERVERS, &serde_json::json!(left)))
    }

    /// Whether every tool, of a group or of all, is left out.
    fn holds_no_tool(&self, tools: &[SectionId], group: Option<SectionId>) -> bool {
        let sections = tools.iter().map(|&tool| self.document.section(tool));
        let mut of_group = sections.filter(|section| group.is_none() || section.parent == group);
        of_group.all(|section| self.draft.is_deleted(section.node))
    }

    /// Leaves out every trace of tools: definitions, calls and results. What was said beside them stays.
    pub(super) fn strip_tools(&mut self, index: RuleIndex, rule: &Rule) {
        self.edit_request(index, |run| {
            let (author, mut made) = (&author(rule), 0);
            for exchange in exchanges_with_tools(run.document) {
                made += run.keep_speech_alone(index, author, &exchange)?;
            }
            let document = run.document;
            let offered = match document.tool_list() {
                Some(list) => vec![list],
                None => document.tools(),
            };
            for section in offered {
                if !run.draft.is_deleted(document.section(section).node) {
                    made += run.change(index, author, None, Change::Delete(section))?;
                }
            }
            // Where no list is left out that takes them along.
            let all = FilterTools { keep: Vec::new(), drop: vec![Glob::new("*")] };
            Ok(made + run.filter_servers(index, author, &all, &[])?)
        });
    }

    /// Leaves an exchange out, and puts what was said in it in its place.
    fn keep_speech_alone(
        &mut self,
        index: RuleIndex,
        author: &Author,
        exchange: &[SectionId],
    ) -> Result<usize, EditError> {
        let Some(&first) = exchange.first() else { return Ok(0) };
        let speech: Vec<Speech> = exchange.iter().filter_map(|&message| self.speech(message)).collect();
        if self.draft.is_deleted(self.document.section(first).node)
            || self.change(index, author, None, Change::Delete(first))? == 0
        {
            return Ok(0);
        }
        for said in &speech {
            self.draft.insert(first, said.role, &said.text, author)?;
            // What redaction wrote stays what it is, and is not looked at again.
            let number = self.draft.inserted().last().map_or(0, |last| last.number);
            self.draft.redact_inserted(number, &said.redacted)?;
        }
        Ok(1 + speech.len())
    }

    /// What is said in a message, as it stands now; `None` where that is nothing.
    fn speech(&self, message: SectionId) -> Option<Speech> {
        let document = self.document;
        let section = document.section(message);
        let mut speech = Speech { role: section.role, text: String::new(), redacted: Vec::new() };
        let mut next = 0;
        for at in document.subtree(section.node).filter(|_| !self.draft.is_deleted(section.node)) {
            let node = NodeId::from_index(at);
            let Some(leaf) = document.settable(node).filter(|leaf| at >= next && is_speech(leaf)) else {
                continue;
            };
            next = document.subtree(leaf.id()).end;
            let text = self.draft.text(node).into_cow();
            if text.trim().is_empty() {
                continue;
            }
            if !speech.text.is_empty() {
                speech.text.push_str("\n\n");
            }
            let start = speech.text.len();
            speech.redacted.extend(self.draft.redacted(node).into_iter().map(|(range, label)| {
                Redaction::new(start + range.start..start + range.end, label, &text[range])
            }));
            speech.text.push_str(&text);
        }
        (!speech.text.is_empty()).then_some(speech)
    }

    /// Marks every property of every tool's parameters as required, and leaves `strict` out. It sees
    /// the tools as they would leave.
    pub(super) fn normalise_tools(&mut self, index: RuleIndex, rule: &Rule) {
        self.edit_request(index, |run| {
            let document = run.document;
            let Some(list) = document.tool_list().map(|list| document.section(list).node) else {
                return Ok(0);
            };
            let Some(Segment::Key(key)) = document.segment(list) else { return Ok(0) };
            if run.draft.is_deleted(list) {
                return Ok(0);
            }
            let sent: Value = serde_json::from_slice(&run.draft.render()).map_err(|_| EditError::NotALeaf)?;
            let Some(mut tools) = sent.get(&*key).cloned() else { return Ok(0) };
            if !normalise_tools(&mut tools) {
                return Ok(0);
            }
            run.change(index, &author(rule), None, Change::Option(&key, &tools))
        });
    }
}

/// What was said in a message beside calls and results.
struct Speech {
    role: Role,
    text: String,
    /// What redaction wrote in it, to mark it again.
    redacted: Vec<Redaction>,
}

fn is_speech(leaf: &leafgate_tree::Leaf<'_>) -> bool {
    leaf.kind() == LeafKind::Text && leaf.value_type() == ValueType::Text && leaf.access() == Access::Open
}

/// The messages of each exchange in which a tool is called or answers, in body order.
fn exchanges_with_tools(document: &Document) -> Vec<Vec<SectionId>> {
    let sections = document.sections();
    let about_tools = |section: SectionId| {
        let message = document.section(section);
        let below = sections[section.index()..].iter().enumerate().take_while(|(at, below)| {
            *at == 0 || below.message == message.message && below.node_type != NodeType::Message
        });
        below.into_iter().any(|(_, it)| matches!(it.kind, SectionKind::ToolCall | SectionKind::ToolResult))
    };
    let mut exchanges: BTreeMap<(Option<u32>, usize), Vec<SectionId>> = BTreeMap::new();
    for message in document.messages() {
        let exchange = document.section(message).exchange;
        // A message without an exchange is one by itself.
        let alone = if exchange.is_some() { 0 } else { message.index() };
        exchanges.entry((exchange, alone)).or_default().push(message);
    }
    let mut with_tools: Vec<Vec<SectionId>> = exchanges
        .into_values()
        .filter(|messages| messages.iter().any(|&message| about_tools(message)))
        .collect();
    with_tools.sort();
    with_tools
}

/// The server of tools that an element of the list of tools stands for.
fn server_of(document: &Document, tool: SectionId) -> Option<ToolServer> {
    let spelled = &document.source()[document.body_span(document.section(tool).node)];
    ToolServer::of_tool(std::str::from_utf8(spelled).ok()?)
}

/// The name by which rules know a tool: its own, or the type of one that the provider runs.
fn name_of(document: &Document, tool: SectionId) -> String {
    let section = document.section(tool);
    debug_assert_eq!(section.node_type, NodeType::RequestOption, "tools are options");
    if let Some(name) = &section.tool {
        return name.to_string();
    }
    let text = |node: NodeId| {
        let leaf = document.leaf(node).filter(|leaf| leaf.value_type() == ValueType::Text);
        leaf.map(|leaf| leaf.text().into_cow().into_owned())
    };
    document.member(section.node, "type").and_then(text).unwrap_or_default()
}
