//! Which messages stand and fall together, and what an API would refuse because of our edits.
//!
//! OpenAI chat completions: an assistant message with tool calls and the results right behind it are one exchange; neither side may
//! stand alone ([function calling guide](https://platform.openai.com/docs/guides/function-calling)). Formats without a projection of
//! their own offer nothing to delete, so nothing of theirs can come apart here.

use crate::document::Document;
use crate::draft::Draft;
use crate::kinds::{Format, Role};
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

/// All messages, grouped by exchange, in one pass.
fn exchanges(document: &Document) -> Vec<Vec<NodeId>> {
    let mut exchanges: Vec<Vec<NodeId>> = Vec::new();
    let mut open = false;
    for section in document.sections() {
        match (section.node_type, exchanges.last_mut()) {
            // A call comes after its message in the list and makes it the start of an exchange.
            (NodeType::ToolCall, _) => open = true,
            (NodeType::Message, Some(last)) if open && section.role == Role::Tool => last.push(section.node),
            (NodeType::Message, _) => {
                open = false;
                exchanges.push(vec![section.node]);
            }
            _ => {}
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
        if self.deleted().is_empty() || self.document().format() != Format::OpenaiChat {
            return Ok(());
        }
        self.validate_messages()?;
        self.validate_tools()
    }

    fn validate_messages(&self) -> Result<(), Invalid> {
        let document = self.document();
        let deleted = |section: &Section| self.deleted().contains(&section.node);
        let mut kept = messages(document).filter(|section| !deleted(section)).peekable();
        if messages(document).next().is_some() && kept.peek().is_none() {
            return Err(
                self.invalid("/messages", "a request needs at least one message, and all were deleted")
            );
        }
        if kept.all(|section| section.role == Role::System)
            && messages(document).any(|section| section.role != Role::System)
        {
            return Err(
                self.invalid("/messages", "only system messages are left, so there is nothing to answer")
            );
        }
        for together in exchanges(document) {
            let gone = together.iter().filter(|node| self.deleted().contains(node)).count();
            if gone != 0 && gone != together.len() {
                let pointer = document.pointer(together[0]);
                return Err(self.invalid(&pointer, "tool calls and their results must be sent together"));
            }
        }
        Ok(())
    }

    fn validate_tools(&self) -> Result<(), Invalid> {
        let document = self.document();
        let Some(tools) = document.member(document.root(), "tools") else { return Ok(()) };
        let gone = document.children(tools).filter(|tool| self.deleted().contains(tool)).count();
        if gone != 0 && gone == document.children(tools).count() {
            return Err(self.invalid("/tools", "`tools` must not be empty, and all definitions were deleted"));
        }
        let choice =
            document.resolve("/tool_choice/function/name").ok().map(|node| document.content_text(node));
        let chosen = document.sections().iter().find(|section| {
            section.deletable
                && section.node_type == NodeType::RequestOption
                && self.deleted().contains(&section.node)
                && section.tool.as_deref() == choice.as_deref()
                && choice.is_some()
        });
        match chosen {
            Some(_) => {
                Err(self.invalid("/tool_choice", "`tool_choice` names a tool whose definition was deleted"))
            }
            None => Ok(()),
        }
    }

    fn invalid(&self, pointer: &str, rule: &'static str) -> Invalid {
        Invalid { pointer: pointer.to_owned(), rule }
    }
}
