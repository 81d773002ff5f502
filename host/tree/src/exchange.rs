//! Which messages stand and fall together, and what an API would refuse because of our edits.
//!
//! The projections say which messages are one exchange: calls with their results (all APIs refuse either side alone), in the
//! Responses API reasoning with what it led to. Formats without a projection of their own offer nothing to delete, so nothing of
//! theirs can come apart here.

use std::collections::BTreeMap;

use crate::document::Document;
use crate::draft::Draft;
use crate::kinds::{Format, Role, SectionKind};
use crate::node::NodeId;
use crate::section::{NodeType, Section, SectionId};

/// A request that its API would refuse because of our edits.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{rule} (at {pointer})")]
pub struct Invalid {
    /// Where, as an RFC 6901 pointer into the received body.
    pub pointer: String,
    /// The API's rule that would be broken.
    pub rule: &'static str,
}

/// The nodes that must be left out together with a section; `None` where it cannot be left out.
pub(crate) fn deleted_with(document: &Document, section: SectionId) -> Option<Vec<NodeId>> {
    let section = document.section(section);
    match section.node_type {
        NodeType::Message => Some(exchange(document, section)),
        NodeType::RequestOption if section.deletable => Some(vec![section.node]),
        _ => None,
    }
}

/// The messages of the exchange that a message belongs to: itself alone, or a message with calls and all results behind it.
fn exchange(document: &Document, message: &Section) -> Vec<NodeId> {
    exchanges(document)
        .into_iter()
        .find(|exchange| exchange.contains(&message.node))
        .unwrap_or_else(|| vec![message.node])
}

/// All messages, grouped by exchange. A message that the projection put into none stands alone.
fn exchanges(document: &Document) -> Vec<Vec<NodeId>> {
    let mut places: BTreeMap<u32, usize> = BTreeMap::new();
    let mut exchanges: Vec<Vec<NodeId>> = Vec::new();
    for message in messages(document) {
        let next = exchanges.len();
        let place = message.exchange.map_or(next, |exchange| *places.entry(exchange).or_insert(next));
        match exchanges.get_mut(place) {
            Some(exchange) => exchange.push(message.node),
            None => exchanges.push(vec![message.node]),
        }
    }
    exchanges
}

fn messages(document: &Document) -> impl Iterator<Item = &Section> {
    document.sections().iter().filter(|section| section.node_type == NodeType::Message)
}

impl Draft {
    /// Checks what our edits may have broken; what the client sent broken is the client's to hear from the API.
    ///
    /// # Errors
    /// The first rule of the API that the request would break.
    pub fn validate(&self) -> Result<(), Invalid> {
        if self.deleted().is_empty() {
            return Ok(());
        }
        self.validate_exchanges()?;
        self.validate_order()?;
        self.validate_tools()
    }

    fn is_left_out(&self, section: &Section) -> bool {
        self.deleted().contains(&section.node)
    }

    fn validate_exchanges(&self) -> Result<(), Invalid> {
        let document = self.document();
        for together in exchanges(document) {
            let gone = together.iter().filter(|node| self.deleted().contains(node)).count();
            if gone != 0 && gone != together.len() {
                return Err(self.invalid(
                    together[0],
                    "calls, their results and the reasoning before them must be sent together",
                ));
            }
        }
        let stored_call = |section: &Section| {
            let calls = messages(document)
                .any(|other| other.kind == SectionKind::ToolCall && other.exchange == section.exchange);
            section.kind == SectionKind::ToolResult && section.role == Role::Tool && !calls
        };
        let continued = document.member(document.root(), "previous_response_id").is_some();
        match messages(document)
            .find(|section| continued && self.is_left_out(section) && stored_call(section))
        {
            Some(output) => Err(self
                .invalid(output.node, "the response that this continues waits for this output of its call")),
            None => Ok(()),
        }
    }

    fn validate_order(&self) -> Result<(), Invalid> {
        let document = self.document();
        let spoken = |section: &&Section| section.role != Role::System && section.message.is_some();
        let Some(first) = messages(document).find(spoken) else { return Ok(()) };
        let mut kept = messages(document).filter(spoken).filter(|section| !self.is_left_out(section));
        let Some(first_kept) = kept.next() else {
            return Err(
                self.invalid(first.node, "only system messages are left, so there is nothing to answer")
            );
        };
        let last_kept = kept.last().unwrap_or(first_kept);
        let is_anthropic = document.format() == Format::AnthropicMessages;
        if is_anthropic && first.role == Role::User && first_kept.role != Role::User {
            return Err(self.invalid(first_kept.node, "the first message must have the role `user`"));
        }
        let prefilled =
            messages(document).filter(spoken).last().is_some_and(|last| last.role == Role::Assistant);
        if last_kept.role == Role::Assistant && !prefilled {
            let rule = match is_anthropic {
                true => "the last message must not have the role `assistant`",
                false => "what the user said last was deleted, so the model would answer itself",
            };
            return Err(self.invalid(last_kept.node, rule));
        }
        Ok(())
    }

    fn validate_tools(&self) -> Result<(), Invalid> {
        let document = self.document();
        let Some(tools) = document.member(document.root(), "tools") else { return Ok(()) };
        let gone = document.children(tools).filter(|tool| self.deleted().contains(tool)).count();
        if gone != 0 && gone == document.children(tools).count() {
            return Err(self.invalid(tools, "`tools` must not be empty, and all definitions were deleted"));
        }
        let choice = ["/tool_choice/function/name", "/tool_choice/name"]
            .iter()
            .find_map(|pointer| document.resolve(pointer).ok());
        let Some(choice) = choice else { return Ok(()) };
        let chosen = document.content_text(choice);
        let is_definition =
            |section: &&Section| section.deletable && section.node_type == NodeType::RequestOption;
        let mut definitions =
            document.sections().iter().filter(is_definition).filter(|section| self.is_left_out(section));
        match definitions.any(|section| section.tool.as_deref() == Some(&*chosen)) {
            true => Err(self.invalid(choice, "`tool_choice` names a tool whose definition was deleted")),
            false => Ok(()),
        }
    }

    fn invalid(&self, node: NodeId, rule: &'static str) -> Invalid {
        Invalid { pointer: self.document().pointer(node), rule }
    }
}
