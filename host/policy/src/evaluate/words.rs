//! Texts for operators and reviewers that may hold what a request says: the words of plugins, the
//! path of a request. They are redacted before they are shown, and no hold ever quotes them.

use std::sync::Arc;

use leafgate_contract::Fault;
use leafgate_tree::{Leaf, NodeId};
use leafgate_vault::mask;

use super::Run;
use super::hits::{Hit, unite};
use super::search::Search;
use super::site::Site;
use super::subject::Subject;
use crate::index::RuleIndex;
use crate::reason::{Fact, Reason, plain_name};
use crate::report::Note;
use crate::rule::Rule;

/// Longest remark kept, in bytes. A reviewer reads a sentence or two.
const MAX_WORDS: usize = 1000;

/// What stands for words that could not be redacted.
const WITHHELD: &str = "(withheld: a detector failed on it)";

impl Run<'_> {
    /// Records that a plugin gave no usable answer, about a value where that is known. What a detector said is
    /// withheld: it reads what nobody has redacted yet, and it is itself the detector that could tell.
    pub(super) fn plugin_failed(
        &mut self,
        index: RuleIndex,
        plugin: &str,
        fault: &Fault,
        node: Option<NodeId>,
    ) {
        self.rule_failed(index, told(plugin, fault) + &self.told_leaf(node));
    }

    /// Returns which leaf a fault is about: its kind, its length and its place.
    fn told_leaf(&self, node: Option<NodeId>) -> String {
        let Some(leaf) = node.and_then(|node| self.document.settable(node)) else { return String::new() };
        let (bytes, at) = (self.draft.text(leaf.id()).expose().len(), self.draft.pointer(leaf.id()));
        format!(", on the {} of {bytes} bytes at {at}", leaf.kind())
    }

    /// Puts a plugin's remark into the report, redacted.
    pub(super) fn say(
        &mut self,
        index: RuleIndex,
        plugin: &Arc<str>,
        about: &'static str,
        node: Option<NodeId>,
        words: &str,
    ) {
        let mut text = self.masked(words).unwrap_or_else(|| WITHHELD.to_owned());
        // Cut after masking: the beginning of a secret is no finding.
        text.truncate(text.floor_char_boundary(MAX_WORDS));
        let rule = Arc::clone(&self.policy.rules[index].id);
        let pointer = node.map(|node| self.draft.pointer(node));
        self.report.notes.push(Note { rule, plugin: Arc::clone(plugin), about, pointer, text });
    }

    /// Returns a rule's own words about this request, and about a leaf where there is one.
    pub(super) fn told_reason(&self, rule: &Rule, reason: &Reason, node: Option<NodeId>) -> String {
        let leaf = node.and_then(|node| self.document.settable(node));
        let of_leaf = |tell: fn(&Leaf<'_>) -> String| leaf.as_ref().map_or("request".to_owned(), tell);
        let name = |name: &str| plain_name(&self.masked(name).unwrap_or_default());
        let request = &self.request;
        reason.told(|fact| match fact {
            Fact::Rule => rule.id.to_string(),
            Fact::LeafKind => of_leaf(|leaf| leaf.kind().to_string()),
            Fact::LeafRole => of_leaf(|leaf| leaf.role().to_string()),
            Fact::LeafSection => {
                let section = leaf.as_ref().and_then(|leaf| leaf.section());
                section.map_or("request".to_owned(), |at| self.document.section(at).kind.to_string())
            }
            Fact::LeafTool => leaf.as_ref().and_then(|leaf| leaf.tool()).map_or("no tool".to_owned(), name),
            Fact::RequestFormat => request.format.to_owned(),
            Fact::RequestModel if request.model.is_empty() => "no model".to_owned(),
            Fact::RequestModel => name(&request.model),
            Fact::RequestAgent => request.context.agent.unwrap_or_default().to_owned(),
            Fact::RequestBytes => request.bytes.to_string(),
            Fact::RequestTokens => request.tokens.to_string(),
            Fact::RequestMessages => request.messages.to_string(),
            Fact::RequestTools => request.tools.to_string(),
        })
    }

    /// Masks whatever any redact rule of the policy finds in a text, encoded or not; `None` where
    /// it cannot be told.
    pub(super) fn masked(&self, words: &str) -> Option<String> {
        let mut text = words.to_owned();
        for hit in self.found_in(words)?.iter().rev() {
            text.replace_range(hit.range.clone(), &mask(hit.label.as_str()));
        }
        Some(text)
    }

    /// Returns which stretches of a text spell what any redact rule of the policy finds, encoded or not; `None` where it
    /// cannot be told.
    pub(super) fn found_in(&self, words: &str) -> Option<Vec<Hit>> {
        let rules = self.all_redact_rules();
        let mut search = Search::new(self);
        search.text(&rules, Subject::new(Site::Elsewhere, words));
        let found = search.finish();
        if found.too_much || !found.faults.is_empty() {
            return None;
        }
        let mut hits: Vec<_> = found.hits.into_iter().map(|(_, hit)| hit).collect();
        for hidden in found.hidden {
            // Without a place of its own, what is hidden may be anywhere.
            hits.push(hidden.hit.at(hidden.under.at().unwrap_or(0..words.len())));
        }
        Some(unite(hits))
    }
}

/// Returns a fault in words for operators: which plugin, what it did, and which of the host's
/// limits it met.
fn told(plugin: &str, fault: &Fault) -> String {
    let limit = fault.limit().map(|limit| format!(" (the limit `{limit}` of `[plugins.{plugin}.limits]`)"));
    format!("plugin `{plugin}` {fault}{}", limit.unwrap_or_default())
}
