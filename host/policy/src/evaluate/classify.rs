//! Before all phases: rules say of which kind sections are.
//!
//! They are asked about the request as it came. What they say is a part of the document from then on,
//! so that selectors, conditions, the prompt and the document read anew after an edit all see the same
//! kinds. A document of which rules have spoken is not asked about again.

use std::collections::BTreeMap;
use std::sync::Arc;

use leafgate_tree::{Document, NodeId, SectionId, SectionKind};
use leafgate_vault::Vault;

use super::Run;
use super::trace::Trace;
use crate::index::RuleIndex;
use crate::rule::{Action, Phase};
use crate::{Context, Policy};

impl Policy {
    /// Asks the rules that classify, and goes on with the request as it is after what they said. A request that
    /// is `traced` tells what each rule makes of each leaf.
    pub(super) fn classified<T>(
        &self,
        document: &Arc<Document>,
        context: &Context<'_>,
        vault: &Vault,
        traced: bool,
        go_on: impl FnOnce(Run<'_>) -> T,
    ) -> T {
        let is_new = !document.is_reclassified();
        let with_prompt = is_new.then(|| self.with_prompt(document, context)).flatten();
        let document = &with_prompt.map_or_else(|| Arc::clone(document), Arc::new);
        let mut run = Run::new(self, document, context, vault);
        run.trace = traced.then(Trace::default);
        let mut kinds = BTreeMap::new();
        if is_new && !self.lookup.of_phase(Phase::Classify).is_empty() {
            run.phase(Phase::Classify, |run| run.classify(&mut kinds));
        }
        if kinds.is_empty() {
            return go_on(run);
        }
        let document = Arc::new(document.reclassified(&kinds));
        let Run { report, holds, would, trace, .. } = run;
        go_on(Run { report, holds, would, trace, ..Run::new(self, &document, context, vault) })
    }

    /// Returns the request as it is where an agent's prompt is sent in it as a user's words.
    fn with_prompt(&self, document: &Document, context: &Context<'_>) -> Option<Document> {
        let prompts = || context.prompt.into_iter().chain(self.prompts.iter().map(String::as_str));
        prompts().next()?;
        document.with_prompt(|text| prompts().any(|prompt| prompt == text))
    }
}

impl Run<'_> {
    /// Takes down which sections are of another kind: the first rule that says so counts.
    fn classify(&mut self, kinds: &mut BTreeMap<SectionId, SectionKind>) {
        self.each_rule(Phase::Classify, |run, index, rule| {
            let Action::Classify(kind) = rule.action else { return };
            let selected = match run.selected(index) {
                Ok(selected) => selected,
                Err(error) => return run.rule_failed(index, error.to_string()),
            };
            run.report.rules[index].matched += selected.len();
            for &node in selected.iter() {
                run.classify_around(index, node, kind, kinds);
            }
        });
    }

    fn classify_around(
        &mut self,
        index: RuleIndex,
        node: NodeId,
        kind: SectionKind,
        kinds: &mut BTreeMap<SectionId, SectionKind>,
    ) {
        let Some(id) = self.document.section_of(node) else { return };
        let section = self.document.section(id);
        if section.kind == kind || kinds.contains_key(&id) {
            return;
        }
        if !section.kind.is_of_words() {
            *self.report.rules[index].skipped.entry(section.kind.name()).or_default() += 1;
            return;
        }
        let node = section.node;
        if self.policy.rules[index].monitors() {
            return self.would_have(index, Some(node), || format!("classify it as {kind}"));
        }
        kinds.insert(id, kind);
        self.report.rules[index].edits += 1;
    }
}
