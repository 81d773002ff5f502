//! What plugins say, and how their failures are told. Their words may hold what they read, so they are redacted before they enter a
//! report, and no hold ever quotes them.

use std::sync::Arc;

use leafgate_detect::Input;
use leafgate_tree::{LeafKind, NodeId, Role, ValueType};
use leafgate_vault::mask;

use super::Run;
use super::hits::{Hit, exempt, unite};
use crate::index::RuleIndex;
use crate::plugin::{DetectLeaf, Fault, World};

/// Longest remark kept, in bytes. A reviewer reads a sentence or two.
const MAX_WORDS: usize = 1000;

/// What stands for words that could not be redacted.
const WITHHELD: &str = "(withheld: a detector failed on it)";

impl Run<'_> {
    /// A detector plugin gave no answer. What it said is withheld: it reads what nobody has redacted yet, and it is itself the detector
    /// that could tell.
    pub(super) fn detector_failed(&mut self, index: RuleIndex, plugin: &str, fault: &Fault) {
        self.rule_failed(index, told(plugin, fault));
    }

    /// A transformer gave no usable answer.
    pub(super) fn transformer_failed(&mut self, index: RuleIndex, plugin: &Arc<str>, fault: &Fault) {
        if let Fault::GaveUp { message, .. } = fault {
            self.say(index, plugin, "failure", None, message.expose());
        }
        self.rule_failed(index, told(plugin, fault));
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
        let text = self.redact_words(words);
        self.note(index, plugin, about, node, text);
    }

    /// Masks whatever any detector of the policy finds.
    fn redact_words(&self, words: &str) -> String {
        let words = &words[..words.floor_char_boundary(MAX_WORDS)];
        let mut hits = Vec::new();
        for engine in &self.policy.engines {
            hits.extend(
                engine.scan(&Input::new(words)).iter().map(|finding| Hit::new(finding, RuleIndex::new(0))),
            );
        }
        let plugins = self.policy.plugins.iter().zip(&self.spent);
        for (plugin, spent) in plugins.filter(|(plugin, _)| plugin.plugin.world() == World::Detector) {
            let leaf = [words_as_leaf(words)];
            let Ok(findings) = plugin.plugin.detect(&leaf, spent) else {
                return WITHHELD.to_owned();
            };
            hits.extend(findings.into_vec().into_iter().map(|finding| Hit {
                range: finding.at,
                label: plugin.labels[finding.label].clone(),
                detector: plugin.detector.clone(),
                confidence: finding.confidence,
                rule: RuleIndex::new(0),
            }));
        }
        let hits = unite(exempt(hits, &self.vault.keys().find(words), words));
        let mut text = words.to_owned();
        for hit in hits.iter().rev() {
            text.replace_range(hit.range.clone(), &mask(hit.label.as_str()));
        }
        text
    }
}

/// A fault for operators: which plugin, what it did, and which of the host's limits it met.
fn told(plugin: &str, fault: &Fault) -> String {
    let limit = fault.limit().map(|limit| format!(" (the fixed limit `{limit}`)"));
    format!("plugin `{plugin}` {fault}{}", limit.unwrap_or_default())
}

fn words_as_leaf(words: &str) -> DetectLeaf<'_> {
    DetectLeaf {
        kind: LeafKind::Other,
        value: ValueType::Text,
        role: Role::Other,
        tool: None,
        key: "",
        text: words,
    }
}
