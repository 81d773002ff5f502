//! Phase 6: route, pause, block and tag rules look at the request as it would leave.

use std::sync::Arc;

use leafgate_tree::{Document, Format, Inserted, Leaf, Limits, NodeId, SectionKind};

use super::Run;
use super::site::Site;
use crate::condition::{ConditionError, FactArguments, FactPlace, LeafFacts};
use crate::index::RuleIndex;
use crate::rule::{Action, Decide, FindingCount, Phase};
use crate::verdict::{Cause, HoldPlace, Route, first_at};

impl Run<'_> {
    pub(super) fn decide(&mut self) {
        self.each_rule(Phase::Decide, |run, index, rule| {
            let place = match run.first_match(index) {
                Ok(None) => return,
                Ok(Some(place)) => place,
                Err(error) => return run.rule_failed(index, error.to_string()),
            };
            run.report.rules[index].matched += 1;
            match &rule.action {
                Action::Decide(Decide::Pause(_)) => {
                    run.hold_at(index, Cause::Rule, false, |_| place);
                }
                Action::Decide(Decide::Block) => run.hold_at(index, Cause::Rule, true, |_| place),
                Action::Decide(Decide::Route(to)) => run.route(index, to, place),
                // That it matched says all: [`Policy::tags`].
                Action::Decide(Decide::Tag(tag)) => {
                    run.would_have(index, place.node, || format!("tag with {tag}"));
                }
                Action::Classify(_) | Action::Redact(_) | Action::Pin(_) | Action::Edit(_) => {}
            }
        });
    }

    /// Sends the request to another upstream, unless it goes there already.
    fn route(&mut self, index: RuleIndex, to: &Arc<str>, place: HoldPlace) {
        if self.request.context.upstream_name.unwrap_or_default() == &**to {
            return;
        }
        let rule = &self.policy.rules[index];
        if rule.monitors() {
            return self.would_have(index, place.node, || format!("route to {to}"));
        }
        let route = Route { rule: Arc::clone(&rule.id), to: Arc::clone(to), detail: place.what };
        self.holds.route.get_or_insert(route);
    }

    /// Returns a leaf, or a message that was put in, as the place where a rule applies first.
    pub(super) fn applies_first(&self, site: Site) -> HoldPlace {
        let at = self.place(site);
        match site {
            Site::Inserted(_) => HoldPlace::told(format!("in a message that is put in before {at}"), None),
            _ => HoldPlace::told(first_at(&at), site.node()),
        }
    }

    /// Returns the first place that a rule applies to. One that names no leaf applies to a request
    /// without leaves too.
    pub(super) fn first_match(&mut self, index: RuleIndex) -> Result<Option<HoldPlace>, ConditionError> {
        let rule = &self.policy.rules[index];
        if rule.is_of_request() {
            let applies = rule.when.as_ref().map_or(Ok(true), |when| when.of_request(&self.request))?;
            return Ok(applies.then(|| HoldPlace::told("the request as a whole".to_owned(), None)));
        }
        if let Some(count) = &rule.count {
            let asked = self.asked(index).unwrap_or_default();
            let (found, first) = self.counted(index, count, &asked)?;
            self.trace_count(index, found, count.at_least);
            let first = first.filter(|_| found >= count.at_least);
            return Ok(first.map(|site| self.applies_first(site)));
        }
        let asked = self.asked(index).unwrap_or_default();
        for leaf in asked.iter().filter_map(|&node| self.document.settable(node)) {
            if self.applies_as_it_stands(index, &leaf)? {
                return Ok(Some(self.applies_first(Site::Leaf(leaf.id()))));
            }
        }
        if let Some(node) = self.first_file(index)? {
            return Ok(Some(self.applies_first(Site::Leaf(node))));
        }
        if !self.may_apply_to_inserted(index) {
            return Ok(None);
        }
        for inserted in self.draft.inserted() {
            if self.applies_to_inserted(index, inserted)? {
                return Ok(Some(self.applies_first(Site::Inserted(inserted.number))));
            }
        }
        Ok(None)
    }

    /// Returns how much is found in all that a rule applies to, and the first thing in which it counts findings.
    fn counted(
        &self,
        index: RuleIndex,
        count: &FindingCount,
        asked: &[NodeId],
    ) -> Result<(usize, Option<Site>), ConditionError> {
        let (mut found, mut first) = (0, None);
        for (of, facts) in &self.recall.findings {
            let here = count.of(facts);
            let applies = match *of {
                _ if here == 0 => false,
                Site::Leaf(node) if asked.binary_search(&node).is_ok() => {
                    let leaf = self.document.settable(node);
                    leaf.map_or(Ok(false), |leaf| self.applies_as_it_stands(index, &leaf))?
                }
                Site::Inserted(number) => {
                    let inserted = self.draft.inserted_at(number);
                    inserted.map_or(Ok(false), |inserted| self.applies_to_inserted(index, inserted))?
                }
                _ => false,
            };
            if applies {
                found += here;
                first.get_or_insert(*of);
            }
        }
        Ok((found, first))
    }

    fn applies_as_it_stands(&self, index: RuleIndex, leaf: &Leaf<'_>) -> Result<bool, ConditionError> {
        match self.draft.is_whole(leaf.id()) {
            true => self.applies_to_whole(index, leaf),
            false => self.applies_now(index, leaf),
        }
    }

    /// Returns true if and only if a rule applies to a JSON text that was set as a whole: to the
    /// text, or to anything that it spells. It stands where its old inner leaves stood.
    fn applies_to_whole(&self, index: RuleIndex, leaf: &Leaf<'_>) -> Result<bool, ConditionError> {
        let Some(active) = &self.active[index.get()] else { return Ok(false) };
        if !active.selection.selects_whole(self.document, leaf) || self.draft.is_deleted(leaf.id()) {
            return Ok(false);
        }
        let Some((condition, decided)) = active.condition else { return Ok(true) };
        let text = self.draft.text(leaf.id()).into_cow();
        let key = leaf.key();
        let outer = self.facts(leaf, &text, &key);
        if condition.for_leaf(decided, &self.request, outer)? {
            return Ok(true);
        }
        let spelled = text.clone().into_owned();
        let Ok(spelled) = Document::parse(spelled.into(), Format::Generic, &Limits::default()) else {
            // It is one text, and that was looked at. What lies below its escapes is searched by
            // redact rules alone.
            return Ok(false);
        };
        let (pointer, path) = (self.document.pointer(leaf.id()), self.document.display_path(leaf.id()));
        for inner in spelled.leaves() {
            let (text, key) = (inner.text(), inner.key());
            let pointer = format!("{pointer}{}", spelled.pointer(inner.id()));
            let path = format!("{path}.{}", spelled.display_path(inner.id()));
            let facts = LeafFacts {
                place: FactPlace::Named { path: &path, pointer: &pointer },
                text: text.expose(),
                value: inner.value_type().name(),
                key: &key,
                ..outer
            };
            if condition.for_leaf(decided, &self.request, facts)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns true if and only if a rule applies to a message that was put in: to its text, which
    /// stands where the message behind it does.
    fn applies_to_inserted(&self, index: RuleIndex, inserted: &Inserted) -> Result<bool, ConditionError> {
        let Some(active) = &self.active[index.get()] else { return Ok(false) };
        if !active.selection.selects_inserted(self.document, inserted) {
            return Ok(false);
        }
        let Some((condition, decided)) = active.condition else { return Ok(true) };
        let text = inserted.text();
        let pointer = self.pointer_of_inserted(inserted);
        let path = self.document.display_path(inserted.before);
        let facts = LeafFacts {
            place: FactPlace::Named { path: &path, pointer: &pointer },
            text: text.expose(),
            kind: "text",
            value: "text",
            role: inserted.role.name(),
            section: SectionKind::of_message(inserted.role).name(),
            tool: "",
            arguments: FactArguments::Unknown,
            key: "content",
            findings: self.recall.findings.get(&Site::Inserted(inserted.number)).map_or(&[], Vec::as_slice),
        };
        condition.for_leaf(decided, &self.request, facts)
    }

    /// Returns where the message stands in the request as it would leave.
    fn pointer_of_inserted(&self, inserted: &Inserted) -> String {
        let before = self.draft.pointer_now(inserted.before);
        let is_later = |other: &&Inserted| other.before == inserted.before && other.number >= inserted.number;
        let later = self.draft.inserted().filter(is_later);
        let Some((list, index)) = before.rsplit_once('/') else { return before };
        match index.parse::<usize>() {
            Ok(index) => format!("{list}/{}/content", index.saturating_sub(later.count())),
            Err(_) => before,
        }
    }
}
