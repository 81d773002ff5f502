//! Messages that are put in: where one may stand, and how each format spells it.
//!
//! Only whole messages of text are put in, directly before a received one; elements of content or of calls never are.

use std::ops::Range;
use std::sync::Arc;

use crate::document::Document;
use crate::escape;
use crate::formats::MessageSpelling;
use crate::journal::{Author, Redaction};
use crate::kinds::{LeafKind, Role, SectionKind, ValueType};
use crate::leaf::Leaf;
use crate::node::NodeId;
use crate::pieces::{LeafPiece, LeafPieces};
use crate::section::{NodeType, Section, SectionId};
use crate::text::LeafText;

/// The beginning of what Claude Code tells the model in the user's name.
const REMINDER: &str = "<system-reminder>";

/// Whether a character is more than a blank.
fn is_seen(c: char) -> bool {
    let is_hidden = matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}');
    !(is_hidden || c.is_whitespace() || c.is_control())
}

/// A message that was put in.
#[derive(Clone, derive_more::Debug)]
#[debug("Inserted({number}, {role}, {} bytes of text, {author})", text.len())]
pub struct Inserted {
    /// Its number among all that was ever put in. It keeps it, whatever is undone.
    pub number: usize,
    /// The received message that it stands before.
    pub before: NodeId,
    /// Who speaks in it.
    pub role: Role,
    /// Who put it in.
    pub author: Author,
    pub(crate) spelling: MessageSpelling,
    pub(crate) text: Arc<str>,
    /// The text as pieces of nothing that was received.
    pieces: LeafPieces,
}

impl Inserted {
    pub(crate) fn new(
        number: usize,
        (before, role, spelling): (NodeId, Role, MessageSpelling),
        text: &str,
        author: &Author,
    ) -> Self {
        let pieces = LeafPieces::untouched(0).replace([(0..0, LeafPiece::Written(text.into()))]);
        Inserted { number, before, role, spelling, text: text.into(), pieces, author: author.clone() }
    }

    /// Bytes of memory, about: its pieces have the text a second time.
    pub(crate) fn memory(&self) -> usize {
        size_of::<Inserted>() + self.text.len() + self.pieces.memory()
    }

    /// Its text.
    pub fn text(&self) -> LeafText<'_> {
        LeafText::new(&*self.text)
    }

    /// Where redaction wrote in its text, with the labels.
    pub fn redacted(&self) -> Vec<(Range<usize>, Arc<str>)> {
        self.pieces.redacted()
    }

    /// Redacts ranges of the text. They are sorted and do not overlap.
    pub(crate) fn redact(&mut self, redactions: &[Redaction]) {
        let edit = |one: &Redaction| {
            let (label, text) = (one.label.clone(), one.replacement.as_str().into());
            (one.at.clone(), LeafPiece::Redacted { label, text, record: None })
        };
        self.pieces = self.pieces.replace(redactions.iter().map(edit));
        self.text = self.pieces.text("").into();
    }

    /// The message as JSON of its format.
    pub fn json(&self) -> String {
        let MessageSpelling { before, after } = &self.spelling;
        format!("{before}{}{after}", escape::escape(&self.text))
    }
}

/// Finds the element of the list of messages that a message can be put before, and how the message is spelled there.
///
/// # Errors
/// Says which rule of the format or its API forbids it.
pub(crate) fn place(
    document: &Document,
    before: SectionId,
    role: Role,
) -> Result<(NodeId, MessageSpelling), &'static str> {
    let section = document.section(before);
    let spelling = document.format().spec().message(role)?;
    let in_list = document.is_element(section.node);
    if section.node_type != NodeType::Message || section.message.is_none() || !in_list {
        return Err("only directly before a message of the list");
    }
    let messages = &document.projection.messages;
    let place = messages.partition_point(|&message| document.section(message).node < section.node);
    let previous = place.checked_sub(1).map(|before| document.section(messages[before]));
    let continues = |previous: &Section| section.exchange.is_some() && previous.exchange == section.exchange;
    if previous.is_some_and(continues) {
        return Err("a call and its result, or reasoning and what it led to, must not be parted");
    }
    Ok((section.node, spelling))
}

impl Document {
    /// The latest message in which the user says something: context belongs directly before it. Messages that only carry results of
    /// tools, or context that the client put in, are none.
    pub fn latest_user_message(&self) -> Option<SectionId> {
        let sections = self.sections();
        let is_question = |section: &Section| {
            section.node_type == NodeType::Message
                && section.role == Role::User
                && section.kind == SectionKind::User
        };
        let latest = sections.iter().enumerate().rev().find(|&(place, section)| {
            let parts = sections[place + 1..].iter().take_while(|part| part.message == section.message);
            is_question(section) && !parts.into_iter().any(|part| part.kind == SectionKind::ToolResult)
        });
        latest.map(|(place, _)| SectionId::from_index(place))
    }

    /// Returns where the user says something for the last time: that message, later ones that say nothing (they are empty, or have
    /// media alone), and of later ones that carry results of tools the other parts. A body without messages has a prompt or an input in their place; a text that is no JSON is all the user's. Sorted, and as
    /// places of nodes like [`crate::Index::subtree`].
    pub fn latest_user_words(&self) -> Vec<Range<usize>> {
        let sections = self.sections();
        let mut latest = Vec::new();
        for (place, message) in sections.iter().enumerate().rev() {
            let speaks = message.role == Role::User && message.kind == SectionKind::User;
            if !speaks || message.node_type != NodeType::Message {
                continue;
            }
            let below = sections[place + 1..].iter().take_while(|part| part.message == message.message);
            let parts = below.filter(|part| part.parent == Some(SectionId::from_index(place)));
            let (results, words): (Vec<&Section>, Vec<&Section>) =
                parts.partition(|part| part.kind == SectionKind::ToolResult);
            let says_something = match results.is_empty() && words.is_empty() {
                true => self.is_said(message.node),
                false => {
                    words.iter().any(|part| part.kind == SectionKind::ContentPart && self.is_said(part.node))
                }
            };
            match results.is_empty() {
                true => latest.push(self.subtree(message.node)),
                false => latest.extend(words.iter().rev().map(|part| self.subtree(part.node))),
            }
            if says_something {
                break;
            }
        }
        latest.reverse();
        match latest.is_empty() {
            true => self.prompts(),
            false => latest,
        }
    }

    /// Returns the first call or result of a tool behind words of the user, as [`Document::latest_user_words`] gives them: where
    /// there is one, the model goes on with these words.
    pub fn first_call_behind(&self, words: &[Range<usize>]) -> Option<NodeId> {
        let end = words.last()?.end;
        let is_one = |section: &&Section| {
            section.node.index() >= end
                && matches!(section.kind, SectionKind::ToolCall | SectionKind::ToolResult)
        };
        self.sections().iter().find(is_one).map(|section| section.node)
    }

    /// What stands in the place of messages.
    fn prompts(&self) -> Vec<Range<usize>> {
        if self.is_raw() {
            return vec![self.subtree(self.root())];
        }
        let keys = self.format().spec().prompt_keys;
        let prompts =
            self.children(self.root()).filter(|&member| keys.iter().any(|key| self.has_key(member, key)));
        prompts.map(|member| self.subtree(member)).collect()
    }

    /// Whether a value has words of the user: more than blanks, and than what clients put beside results by themselves. Anybody can
    /// write that, so it hides nothing: what the user said before it is looked for too.
    fn is_said(&self, node: NodeId) -> bool {
        let texts = self.subtree(node).filter_map(|at| self.leaf(NodeId::from_index(at)));
        let is_text = |leaf: &Leaf<'_>| leaf.kind() == LeafKind::Text && leaf.value_type() != ValueType::Null;
        texts.filter(is_text).any(|leaf| {
            // What is before the first escape mostly tells, and is not decoded.
            let plain = leaf.spelling().0.split('\\').next().unwrap_or_default();
            !plain.starts_with(REMINDER)
                && (plain.contains(is_seen) || leaf.text().expose().contains(is_seen))
        })
    }
}
