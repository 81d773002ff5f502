//! What an API would refuse because of our edits.
//!
//! Only what we changed is checked: what the client sent broken is the client's to hear from the API. Each rule is one that the API
//! reference states or that the API's own errors name.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use crate::document::Document;
use crate::draft::Draft;
use crate::exchange;
use crate::kinds::{Role, SectionKind};
use crate::node::NodeId;
use crate::section::{NodeType, Section};

/// A request that its API would refuse because of our edits.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{rule} (at {pointer})")]
pub struct Invalid {
    /// Where, as an RFC 6901 pointer into the received body.
    pub pointer: String,
    /// The API's rule that would be broken.
    pub rule: &'static str,
}

impl Draft {
    /// Checks what our edits may have broken; what the client sent broken is the client's to hear from the API.
    ///
    /// # Errors
    /// The first rule of the API that the request would break.
    pub fn validate(&self) -> Result<(), Invalid> {
        let changed: Vec<NodeId> = self.changed_leaves().filter(|&leaf| !self.is_deleted(leaf)).collect();
        changed.iter().try_for_each(|&leaf| self.validate_leaf(leaf))?;
        if changed.iter().any(|&leaf| self.is_call_id(leaf)) {
            self.validate_pairs()?;
        }
        let roles: BTreeMap<NodeId, Role> = changed.iter().filter_map(|&leaf| self.role_in(leaf)).collect();
        if !self.deleted.is_empty() {
            self.validate_exchanges()?;
            self.validate_tools()?;
        }
        if !self.deleted.is_empty() || !roles.is_empty() {
            self.validate_order(&roles)?;
        }
        Ok(())
    }

    /// Returns the message whose role a leaf is, and that role as it stands now.
    fn role_in(&self, leaf: NodeId) -> Option<(NodeId, Role)> {
        let document = self.document();
        let message = document.section(document.section_of(leaf)?).node;
        if document.parent(leaf) != Some(message) || !document.has_key(leaf, "role") {
            return None;
        }
        let text = self.text(leaf);
        let roles = document.format().spec().rules.roles;
        let (_, role) = roles.iter().find(|(spelled, _)| *spelled == text.expose())?;
        Some((message, *role))
    }

    /// What a leaf must not become, whoever wrote it.
    fn validate_leaf(&self, leaf: NodeId) -> Result<(), Invalid> {
        let document = self.document();
        let (Some(parent), Some(section)) = (document.parent(leaf), document.section_of(leaf)) else {
            return Ok(());
        };
        let section = document.section(section);
        // Not before it is needed: most texts that are edited are long, and none of these rules is about them.
        let text = || self.text(leaf).into_cow();
        let own = |key| parent == section.node && document.has_key(leaf, key);
        let rules = &document.format().spec().rules;
        let is_part = section.node_type == NodeType::ContentPart;
        let is_known = |role: &str| rules.roles.iter().any(|(spelled, _)| *spelled == role);
        if own("role") && !rules.roles.is_empty() && !is_known(&text()) {
            return Err(self.invalid(leaf, "a message's role must be one that the API knows"));
        }
        if let Some(kind_of) = rules.part_kind
            && own("type")
            && is_part
            && Some(kind_of(Some(&text()))) != section.content_kind
        {
            return Err(self.invalid(leaf, "a part's type must name what the part holds"));
        }
        let is_block = is_part && own("text") || section.node_type == NodeType::Message && own("content");
        let is_blank = || self.changed_length(leaf) <= LONGEST_BLANK && text().trim().is_empty();
        if !rules.empty_text && is_block && is_blank() {
            return Err(self.invalid(leaf, "text must not be empty, and all of it was taken away"));
        }
        Ok(())
    }

    /// Whether a leaf is the id by which a call and its result know each other.
    fn is_call_id(&self, leaf: NodeId) -> bool {
        let document = self.document();
        let section = document.section_of(leaf).map(|id| document.section(id));
        section.is_some_and(|section| pairing(document, section) == Some(leaf))
    }

    /// A call that had its result, and a result that had its call, must have it still.
    fn validate_pairs(&self) -> Result<(), Invalid> {
        let document = self.document();
        let is_pair_side = |section: &&Section| is_call(section) || is_result(section);
        let mut pairs: BTreeMap<Cow<'_, str>, Vec<(&Section, NodeId)>> = BTreeMap::new();
        for section in document.sections().iter().filter(is_pair_side) {
            if let Some(id) = pairing(document, section) {
                pairs.entry(document.content_text(id)).or_default().push((section, id));
            }
        }
        for (_, pair) in pairs {
            let has_both =
                pair.iter().any(|(side, _)| is_call(side)) && pair.iter().any(|(side, _)| is_result(side));
            let [(_, first), ..] = *pair.as_slice() else { continue };
            let text = self.text(first);
            let differs = |&(_, id): &(&Section, NodeId)| self.text(id) != text;
            if let Some((_, id)) = pair.iter().copied().find(differs).filter(|_| has_both) {
                let changed = if self.changed_length(first) > 0 { first } else { id };
                return Err(self.invalid(changed, "a call and its result must have the same id"));
            }
        }
        Ok(())
    }

    fn is_left_out(&self, section: &Section) -> bool {
        self.deleted.contains(&section.node)
    }

    fn validate_exchanges(&self) -> Result<(), Invalid> {
        let document = self.document();
        for together in exchange::exchanges(document) {
            let gone = together.iter().filter(|(_, node)| self.deleted.contains(node)).count();
            if gone != 0 && gone != together.len() {
                return Err(self.invalid(
                    together[0].1,
                    "calls, their results and the reasoning before them must be sent together",
                ));
            }
        }
        let of_calls = exchange::messages(document).filter(|message| message.kind == SectionKind::ToolCall);
        let with_calls: BTreeSet<_> = of_calls.map(|call| call.exchange).collect();
        let stored_call = |section: &Section| {
            let calls = with_calls.contains(&section.exchange);
            section.kind == SectionKind::ToolResult && section.role == Role::Tool && !calls
        };
        let continued = document.continues_stored();
        match exchange::messages(document)
            .find(|section| continued && self.is_left_out(section) && stored_call(section))
        {
            Some(output) => Err(self
                .invalid(output.node, "the response that this continues waits for this output of its call")),
            None => Ok(()),
        }
    }

    /// `roles` are those that were changed.
    fn validate_order(&self, roles: &BTreeMap<NodeId, Role>) -> Result<(), Invalid> {
        let document = self.document();
        let role = |section: &Section| roles.get(&section.node).copied().unwrap_or(section.role);
        let spoken = |section: &&Section| section.role != Role::System && section.message.is_some();
        let Some(first) = exchange::messages(document).find(spoken) else { return Ok(()) };
        let mut kept =
            exchange::messages(document).filter(spoken).filter(|section| !self.is_left_out(section));
        let Some(first_kept) = kept.next() else {
            let has_system = exchange::messages(document).any(|message| message.role == Role::System);
            let rule = match has_system {
                true => "only system messages are left, so there is nothing to answer",
                false => "every message was deleted, so there is nothing to answer",
            };
            return Err(self.invalid(first.node, rule));
        };
        let last_kept = kept.last().unwrap_or(first_kept);
        let rules = &document.format().spec().rules;
        if rules.user_first && first.role == Role::User && role(first_kept) != Role::User {
            return Err(self.invalid(first_kept.node, "the first message must have the role `user`"));
        }
        let prefilled = exchange::messages(document)
            .filter(spoken)
            .last()
            .is_some_and(|last| last.role == Role::Assistant);
        if role(last_kept) == Role::Assistant && !prefilled {
            return Err(self.invalid(last_kept.node, rules.assistant_last));
        }
        Ok(())
    }

    fn validate_tools(&self) -> Result<(), Invalid> {
        let document = self.document();
        let is_definition = |section: &&Section| {
            section.deletable && section.node_type == NodeType::RequestOption && self.is_deleted(section.node)
        };
        let gone: Vec<&Section> = document.sections().iter().filter(is_definition).collect();
        for list in gone.iter().filter_map(|section| document.parent(section.node)).collect::<BTreeSet<_>>() {
            if !self.is_deleted(list) && document.children(list).all(|tool| self.deleted.contains(&tool)) {
                return Err(
                    self.invalid(list, "a list of tools must not be empty, and all definitions were deleted")
                );
            }
        }
        let list_gone = document.tool_list().filter(|&list| self.is_deleted(document.section(list).node));
        if let Some(list) = list_gone
            && document.format().spec().rules.calls_need_tools
            && document
                .sections()
                .iter()
                .any(|section| (is_call(section) || is_result(section)) && !self.is_deleted(section.node))
        {
            return Err(self.invalid(
                document.section(list).node,
                "earlier messages call tools, so a list of tools must be sent with them",
            ));
        }
        for choice in (document.format().spec().chosen_tools)(document) {
            if self.is_deleted(choice) {
                continue;
            }
            let chosen = document.content_text(choice);
            if gone.iter().any(|section| section.tool.as_deref() == Some(&*chosen)) {
                return Err(self.invalid(choice, "a tool is named here whose definition was deleted"));
            }
        }
        Ok(())
    }

    fn invalid(&self, node: NodeId, rule: &'static str) -> Invalid {
        Invalid { pointer: self.pointer(node), rule }
    }
}

/// Longer blanks are not what an edit leaves.
const LONGEST_BLANK: usize = 4096;

/// The leaf of a call or a result by which the two know each other.
fn pairing(document: &Document, section: &Section) -> Option<NodeId> {
    (document.format().spec().pairing)(document, section)
}

fn is_call(section: &Section) -> bool {
    section.kind == SectionKind::ToolCall
}

fn is_result(section: &Section) -> bool {
    section.kind == SectionKind::ToolResult
}
