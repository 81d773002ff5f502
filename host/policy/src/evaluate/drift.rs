//! Leaves that are pinned to what they were first in their conversation.
//!
//! A provider's cache of prompts knows a prompt by its beginning, and clients change that on each
//! request: a date, a list of files, a line about billing. What a leaf was first is remembered with
//! the session, after redaction. A session that its client names may have several conversations, of
//! sub-agents and of the client's own: they are told apart by their model and by the first words of their
//! user. Any other session is known by these words, and its conversations are told apart by the tools that they offer.
//!
//! A session alone would not do: another agent's prompt in the place of its own is worse than a cache
//! that misses. So two programs that begin with the same words each put theirs in: what nobody answered yet
//! begins anew, unless a change is to be held.

use std::collections::BTreeSet;
use std::sync::Arc;

use leafgate_tree::{LeafKind, NodeId, Role};

use super::Run;
use super::site::Site;
use crate::index::RuleIndex;
use crate::rule::OnDrift;
use crate::verdict::{Cause, HoldPlace};

impl Run<'_> {
    /// Returns the first text of a leaf where it has another one now, and does what the rule says about
    /// that.
    pub(super) fn drifted(&mut self, index: RuleIndex, node: NodeId, on_drift: OnDrift) -> Option<Arc<str>> {
        let place = self.place_in_conversation(index, node);
        let text = self.draft.text(node).into_cow().into_owned();
        let anew = on_drift == OnDrift::Pin && self.vault.first_seen().is_of_one && self.begins();
        let first = self.vault.first_seen().at(place, &text, anew)?;
        if *first == *text {
            return None;
        }
        let blocks = match on_drift {
            OnDrift::Pin => return Some(first),
            OnDrift::Pause => false,
            OnDrift::Block => true,
        };
        self.hold_at(index, Cause::Rule, blocks, |run| HoldPlace {
            what: "it differs from what was first sent".to_owned(),
            at: Some(run.place(Site::Leaf(node))),
            node: Some(node),
            stands: true,
        });
        Some(first)
    }

    /// Returns whether nobody has answered yet.
    fn begins(&self) -> bool {
        let has_answer = |message| self.document.section(message).role == Role::Assistant;
        !self.document.continues_stored() && !self.document.messages().any(has_answer)
    }

    /// A digest of the rule, the leaf and the conversation.
    fn place_in_conversation(&self, index: RuleIndex, node: NodeId) -> [u8; 32] {
        let mut hash = blake3::Hasher::new();
        let mut add = |part: &str| {
            // The length keeps the parts apart.
            hash.update(&(part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        };
        add(&self.policy.rules[index].id);
        add(&self.document.pointer(node));
        add(&self.request.model);
        add(self.request.context.agent.unwrap_or_default());
        // A client has its titles made of the same words, without its tools.
        add(if self.request.tools > 0 { "tools" } else { "" });
        if self.vault.first_seen().is_of_one {
            // Who hands a conversation over to another agent goes on with the same words, and with that agent's tools.
            let tools = self.document.tools().into_iter();
            let names: BTreeSet<_> =
                tools.filter_map(|tool| self.document.section(tool).tool.clone()).collect();
            names.iter().for_each(|name| add(name));
            return hash.finalize().into();
        }
        let is_users =
            |&message: &leafgate_tree::SectionId| self.document.section(message).role == Role::User;
        let Some(opening) = self.document.messages().find(is_users) else { return hash.finalize().into() };
        let within = self.document.subtree(self.document.section(opening).node);
        // The opening words cannot tell of themselves whether they changed.
        if !within.contains(&node.index()) {
            let leaves = within.filter_map(|at| self.document.leaf(NodeId::from_index(at)));
            for leaf in leaves.filter(|leaf| leaf.kind() == LeafKind::Text) {
                add(self.draft.text(leaf.id()).expose());
            }
        }
        hash.finalize().into()
    }
}
