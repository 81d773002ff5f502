//! The plugins' part of phase 4: a transformer proposes edits, and they are applied as one.
//!
//! An answer is taken whole or not at all: an edit that does not fit drops it, and the draft is
//! what it was. An edit of a pinned or protected leaf is no fault; it is skipped and counted.

use std::borrow::Cow;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use leafgate_contract::{
    Action, CheckedEdits, Fault, InvalidAnswer, PluginEdit, Target, TransformLeaf, TransformRequest,
    TransformSection,
};
use leafgate_detect::{Confidence, Label};
use leafgate_tree::{Access, Author, Document, EditError, Leaf, NodeId, NodeType, Redaction, SectionId};

use super::Run;
use super::edit::{Change, deletable_around};
use super::hits::{Hit, exempt, unite};
use super::replace::refusal;
use super::site::{Site, Why};
use crate::index::RuleIndex;
use crate::loaded::LoadedPlugin;
use crate::rule::{Action as RuleAction, Edit, Phase, Sees, Transform, With};
use crate::verdict::Cause;
use crate::work;

/// A leaf that a transformer was shown, so that its answer can be read back.
struct ShownLeaf {
    node: NodeId,
    /// Its text then, where the answer names stretches of it.
    text: Option<String>,
}

/// Why an answer is dropped.
enum Dropped {
    Fault(Fault),
    Collision(leafgate_vault::Collision),
}

impl From<InvalidAnswer> for Dropped {
    fn from(invalid: InvalidAnswer) -> Self {
        Dropped::Fault(Fault::Invalid(invalid))
    }
}

/// What an answer asks for beside edits; acted upon once all of it has been applied.
#[derive(Default)]
struct AskedPlugin {
    made: usize,
    words: Vec<(&'static str, Option<NodeId>, String)>,
    unredactable: Vec<(NodeId, Label, Why)>,
}

impl<'p> Run<'p> {
    pub(super) fn transform(&mut self, index: RuleIndex, transform: &'p Transform) {
        let mut selected = match self.selected(index) {
            Ok(selected) => selected.to_vec(),
            Err(error) => return self.rule_failed(index, error.to_string()),
        };
        // Media is no text, and nobody may change it: megabytes that a plugin could do nothing
        // with.
        selected.retain(|&node| self.document.leaf(node).is_some_and(|leaf| leaf.access() != Access::Opaque));
        self.report.rules[index].matched += selected.len();
        if selected.is_empty() {
            return;
        }
        let loaded = &self.policy.plugins[transform.plugin];
        let before = self.draft.clone();
        let skipped = self.report.rules[index].skipped.clone();
        self.decode(&selected, transform.sees);
        let answer = self.call(transform, &selected).map_err(Dropped::Fault);
        let outcome = answer.and_then(|edits| {
            let shown = self.shown(&selected, &edits, transform.sees);
            self.apply(index, transform, loaded, &shown, edits)
        });
        match outcome {
            Ok(asked) => {
                self.made(index, before, asked.made);
                self.act_on(index, loaded, asked);
            }
            Err(dropped) => {
                self.report.rules[index].skipped = skipped;
                self.take_back(before);
                match &dropped {
                    Dropped::Fault(fault) => {
                        let node = fault.parts().0.and_then(|place| selected.get(place)).copied();
                        if let Some(words) = fault.words() {
                            self.say(index, &loaded.name, "failure", node, words.expose());
                        }
                        self.plugin_failed(index, &loaded.name, fault, node);
                    }
                    Dropped::Collision(collision) => self.collided(index, collision),
                }
            }
        }
    }

    /// Whether a transformer may look at this request.
    pub(super) fn has_transformers(&self) -> bool {
        let rules = self.policy.lookup.of_phase(Phase::Rewrite).iter();
        rules
            .filter(|index| self.active[index.get()].is_some())
            .any(|&index| matches!(self.policy.rules[index].action, RuleAction::Edit(Edit::Transform(_))))
    }

    /// Decodes what a transformer is to see as it came. Other plugins may have seen it before.
    fn decode(&mut self, selected: &[NodeId], sees: Sees) {
        for leaf in selected.iter().filter_map(|&node| self.document.leaf(node)) {
            let received = sees == Sees::Raw || self.draft.is_as_received(leaf.id());
            if received
                && leaf.spelling().1
                && let Entry::Vacant(vacant) = self.decoded.entry(leaf.id())
            {
                let text = leaf.text().into_cow().into_owned();
                work::decoded(text.len());
                vacant.insert(text);
            }
        }
    }

    /// Returns the text of a leaf as a transformer is shown it.
    fn text_for<'l>(&'l self, leaf: &Leaf<'l>, sees: Sees) -> Cow<'l, str> {
        if sees == Sees::Redacted && !self.draft.is_as_received(leaf.id()) {
            return self.draft.text(leaf.id()).into_cow();
        }
        match self.decoded.get(&leaf.id()) {
            Some(text) => Cow::Borrowed(text),
            None => leaf.text().into_cow(),
        }
    }

    /// Returns what an answer refers to. Most leaves are left alone, and no copy is made of them.
    fn shown(&self, selected: &[NodeId], edits: &[PluginEdit], sees: Sees) -> Vec<ShownLeaf> {
        let mut leaves: Vec<ShownLeaf> =
            selected.iter().map(|&node| ShownLeaf { node, text: None }).collect();
        for edit in edits {
            if let (Target::Leaf(place), Action::Redact(_)) = (edit.target, &edit.action)
                && let Some(shown) = leaves.get_mut(place)
                && let Some(leaf) = self.document.leaf(shown.node)
            {
                shown.text.get_or_insert_with(|| self.text_for(&leaf, sees).into_owned());
            }
        }
        leaves
    }

    /// Asks a transformer about the leaves that are given. Their texts are borrowed as they stand.
    fn call(&self, transform: &Transform, selected: &[NodeId]) -> Result<Vec<PluginEdit>, Fault> {
        let loaded = &self.policy.plugins[transform.plugin];
        let document = self.document;
        let places = 0..document.sections().len();
        let labels: Vec<String> =
            places.map(|place| self.draft.section_label(SectionId::from_index(place))).collect();
        let sections = document.sections().iter().zip(&labels).map(|(section, label)| TransformSection {
            kind: section.kind,
            role: section.role,
            label,
            tool: section.tool.as_deref(),
            parent: section.parent.map(SectionId::index),
            message: section.message,
        });
        let mut sections: Vec<TransformSection<'_>> = sections.collect();
        let leaves: Vec<Leaf<'_>> = selected.iter().filter_map(|&node| document.leaf(node)).collect();
        // A leaf outside every section is shown in one behind them all.
        let behind = sections.len();
        if leaves.iter().any(|leaf| leaf.section().is_none()) {
            sections.push(TransformSection { label: "Request", ..TransformSection::default() });
        }
        let words: Vec<_> = leaves.iter().map(|leaf| self.words_of(leaf, transform.sees)).collect();
        let leaves = leaves.iter().zip(&words).map(|(leaf, (text, pointer, key))| TransformLeaf {
            section: leaf.section().map_or(behind, SectionId::index),
            kind: leaf.kind(),
            value: leaf.value_type(),
            pointer,
            key,
            text,
        });
        let leaves: Vec<TransformLeaf<'_>> = leaves.collect();
        let request = TransformRequest {
            format: self.request.format,
            model: &self.request.model,
            session: self.request.context.session,
            subagent: self.request.context.subagent.unwrap_or_default(),
            sections: &sections,
            leaves: &leaves,
        };
        loaded.plugin.transform(&request, &self.spent[transform.plugin]).map(CheckedEdits::into_vec)
    }

    /// Returns text, pointer and key of a leaf.
    fn words_of<'l>(&'l self, leaf: &Leaf<'l>, sees: Sees) -> (Cow<'l, str>, String, Cow<'l, str>) {
        (self.text_for(leaf, sees), self.draft.pointer_now(leaf.id()), leaf.key())
    }

    fn apply(
        &mut self,
        index: RuleIndex,
        transform: &Transform,
        loaded: &LoadedPlugin,
        shown: &[ShownLeaf],
        edits: Vec<PluginEdit>,
    ) -> Result<AskedPlugin, Dropped> {
        let rule = Arc::clone(&self.policy.rules[index].id);
        let author = Author::Plugin { rule, plugin: Arc::clone(&loaded.name) };
        let mut asked = AskedPlugin::default();
        for PluginEdit { target, action } in edits {
            match action {
                Action::Set(text) => {
                    let node = shown_leaf(shown, target)?.node;
                    let set = self.change(index, &author, Some(node), Change::Set(node, &text));
                    asked.made += set.map_err(misfit)?;
                }
                Action::Redact(spans) => {
                    let leaf = shown_leaf(shown, target)?;
                    self.redact_spans(index, transform, loaded, leaf, &spans, &author, &mut asked)?;
                }
                Action::Pin => {
                    self.draft.pin(self.target_node(shown, target)?, &author);
                    asked.made += 1;
                }
                Action::Delete => {
                    let node = self.target_node(shown, target)?;
                    let delete = deletable_around(self.document, node).map(Change::Delete);
                    asked.made += self.change_around(index, &author, node, delete, "not deletable")?;
                }
                Action::InsertBefore { role, text } => {
                    let node = self.target_node(shown, target)?;
                    let before = message_around(self.document, node);
                    let insert = before.map(|before| Change::Insert(before, role, &text));
                    asked.made += self.change_around(index, &author, node, insert, "not insertable")?;
                }
                Action::Note(words) => asked.words.push(("note", self.target_place(shown, target)?, words)),
                Action::Pause(words) => asked.words.push(("pause", self.target_place(shown, target)?, words)),
                Action::Block(words) => asked.words.push(("block", self.target_place(shown, target)?, words)),
            }
        }
        Ok(asked)
    }

    /// Makes a change of what stands around a node, where there is something.
    fn change_around(
        &mut self,
        index: RuleIndex,
        author: &Author,
        node: NodeId,
        change: Option<Change<'_>>,
        why_not: &'static str,
    ) -> Result<usize, Dropped> {
        let Some(change) = change else {
            self.leave_undone(index, Some(node), why_not);
            return Ok(0);
        };
        self.change(index, author, Some(node), change).map_err(misfit)
    }

    /// Tokens for the spans that a plugin named, in the text that it was shown.
    #[expect(clippy::too_many_arguments, reason = "one edit of an answer under way")]
    fn redact_spans(
        &mut self,
        index: RuleIndex,
        transform: &Transform,
        loaded: &LoadedPlugin,
        leaf: &ShownLeaf,
        spans: &[(std::ops::Range<usize>, usize)],
        author: &Author,
        asked: &mut AskedPlugin,
    ) -> Result<(), Dropped> {
        let (node, text) = (leaf.node, leaf.text.as_deref().unwrap_or_default());
        let hits = spans
            .iter()
            .map(|(at, label)| Hit::new(loaded.finding(*label, at.clone(), Confidence::High), index));
        let hits = unite(exempt(hits.collect(), &self.vault.keys().find(text), text));
        if hits.is_empty() {
            return Ok(());
        }
        if let Some(why) = self.unredactable_leaf(node) {
            asked.unredactable.extend(hits.iter().map(|hit| (node, hit.label.clone(), why.clone())));
            return Ok(());
        }
        let redactions = self.tokens(index, &hits, text)?;
        let current = self.draft.text(node).into_cow().into_owned();
        if current == text {
            if let Err(error) = self.draft.redact(node, &redactions, author) {
                asked.unredactable.extend(hits.iter().map(|hit| (node, hit.label.clone(), refusal(&error))));
            } else {
                asked.made += redactions.len();
                self.was_written(node);
            }
            return Ok(());
        }
        if transform.sees != Sees::Raw {
            // The plugin's own earlier edit of this leaf moved the text from under its spans.
            return Err(InvalidAnswer::SpanOutside.into());
        }
        // It was shown the text as received, and that is no longer the present one: what it saw,
        // with its spans replaced, is written anew and redacted again like everything written.
        let mut new = text.to_owned();
        for redaction in redactions.iter().rev() {
            new.replace_range(redaction.at.clone(), &redaction.replacement);
        }
        match self.draft.set(node, &new, author) {
            Ok(done) => asked.made += usize::from(done.is_some()),
            Err(EditError::Pinned { .. } | EditError::Kept { .. }) => {
                asked.unredactable.extend(hits.iter().map(|hit| (node, hit.label.clone(), Why::Pinned)));
            }
            Err(error) => self.skip(index, Some(node), error).map_err(misfit)?,
        }
        Ok(())
    }

    /// A monitored rule gets masks: nothing of what it does is kept, and the vault is not told.
    fn tokens(&self, index: RuleIndex, hits: &[Hit], text: &str) -> Result<Vec<Redaction>, Dropped> {
        let with = if self.policy.rules[index].monitors() { With::Mask } else { With::Token };
        let token = |hit: &Hit| self.redaction(hit, with, text, None).map_err(Dropped::Collision);
        hits.iter().map(token).collect()
    }

    fn act_on(&mut self, index: RuleIndex, loaded: &LoadedPlugin, asked: AskedPlugin) {
        for (node, label, why) in asked.unredactable {
            self.unredactable(index, Site::Leaf(node), &label, why);
        }
        for (about, node, words) in asked.words {
            self.say(index, &loaded.name, about, node, &words);
            if about != "note" {
                let detail = format!("plugin `{}` asked to {about}", loaded.name);
                self.hold(index, Cause::Plugin, about == "block", detail);
            }
        }
    }

    fn target_node(&self, shown: &[ShownLeaf], target: Target) -> Result<NodeId, Dropped> {
        match target {
            Target::Leaf(_) => shown_leaf(shown, target).map(|leaf| leaf.node),
            Target::Section(place) => match self.document.sections().get(place) {
                Some(section) => Ok(section.node),
                None => Ok(self.document.root()),
            },
            Target::Request => Err(InvalidAnswer::Misfit.into()),
        }
    }

    fn target_place(&self, shown: &[ShownLeaf], target: Target) -> Result<Option<NodeId>, Dropped> {
        match target {
            Target::Request => Ok(None),
            target => self.target_node(shown, target).map(Some),
        }
    }
}

fn shown_leaf(shown: &[ShownLeaf], target: Target) -> Result<&ShownLeaf, Dropped> {
    match target {
        Target::Leaf(place) => shown.get(place).ok_or(InvalidAnswer::UnknownLeaf.into()),
        Target::Section(_) | Target::Request => Err(InvalidAnswer::Misfit.into()),
    }
}

/// The message that a section is, or is a part of.
fn message_around(document: &Document, node: NodeId) -> Option<SectionId> {
    document
        .way_out(document.section_of(node))
        .find(|&section| document.section(section).node_type == NodeType::Message)
}

/// An edit that the draft refuses for what it is, not for where it is.
fn misfit(_: EditError) -> Dropped {
    InvalidAnswer::Misfit.into()
}
