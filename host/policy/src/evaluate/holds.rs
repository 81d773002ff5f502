//! The holds of an evaluation: one for each rule and cause, with a count and the first of its
//! places.

use std::sync::Arc;

use leafgate_detect::Label;

use super::Run;
use super::found::MAX_FINDINGS;
use super::site::{Site, Why, complaint};
use crate::index::RuleIndex;
use crate::rule::{Action, Edit, OnError, OnTimeout, OnUnredactable};
use crate::verdict::{Cause, Hold, HoldPlace, MAX_PLACES, Route, Verdict};

/// A finding that must be replaced and cannot be. Ordered as holds list them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Held {
    pub(super) site: Site,
    pub(super) rule: RuleIndex,
    pub(super) label: Label,
    pub(super) why: Why,
    pub(super) blocks: bool,
}

/// Pauses and the block of an evaluation under way.
#[derive(Default)]
pub(super) struct Holds {
    pub(super) pauses: Vec<Hold>,
    /// The first one: nothing more is done then.
    pub(super) block: Option<Hold>,
    /// Where it goes instead, by the first rule that says so.
    pub(super) route: Option<Route>,
}

impl Holds {
    pub(super) fn blocks(&self) -> bool {
        self.block.is_some()
    }

    /// Returns the hold of the same rule and cause. A block of another rule is told instead of this
    /// one: the first counts.
    fn known(&mut self, rule: &str, cause: Cause, blocks: bool) -> Option<&mut Hold> {
        let same = |hold: &&mut Hold| *hold.rule == *rule && hold.cause == cause;
        match blocks {
            true => self.block.as_mut(),
            false => self.pauses.iter_mut().find(same),
        }
    }

    pub(super) fn into_verdict(self) -> Verdict {
        if let Some(hold) = self.block {
            return Verdict::Block(hold.finished());
        }
        match self.route {
            // What a person is asked about it is asked on its way there.
            Some(route) => Verdict::Route(route),
            None if self.pauses.is_empty() => Verdict::Forward,
            None => Verdict::Pause(self.pauses.into_iter().map(Hold::finished).collect()),
        }
    }
}

impl Run<'_> {
    /// Records that a rule could not run to its end, and does what its `on_error` says. In monitor
    /// mode it only counts.
    pub(super) fn rule_failed(&mut self, index: RuleIndex, why: impl Into<String>) {
        let rule = &self.policy.rules[index];
        let why = why.into();
        self.report.rules[index].errors.push(why.clone());
        match rule.on_error {
            OnError::Pass => {}
            OnError::Block => self.hold(index, Cause::Error, true, why),
            OnError::Pause => self.hold(index, Cause::Error, false, why),
        }
    }

    /// Holds the request on behalf of a rule; does nothing for one in monitor mode.
    pub(super) fn hold(&mut self, index: RuleIndex, cause: Cause, blocks: bool, what: String) {
        self.hold_at(index, cause, blocks, |_| HoldPlace::told(what, None));
    }

    /// Holds the request because of one place. The place is spelled only where the hold still has
    /// room to list it.
    pub(super) fn hold_at(
        &mut self,
        index: RuleIndex,
        cause: Cause,
        blocks: bool,
        place: impl FnOnce(&Self) -> HoldPlace,
    ) {
        let rule = &self.policy.rules[index];
        if rule.monitors() {
            let node = place(self).node;
            let what = if blocks { "block" } else { "pause" };
            return self.would_have(index, node, || what.to_owned());
        }
        if let Some(known) = self.holds.known(&rule.id, cause, blocks) {
            if *known.rule != *rule.id || known.cause != cause {
                return;
            }
            if known.places.len() >= MAX_PLACES {
                known.total += 1;
                return;
            }
        }
        let place = place(self);
        if let Some(known) = self.holds.known(&rule.id, cause, blocks) {
            return known.add(place);
        }
        let pause = rule.action.pause();
        let (timeout, on_timeout) = pause.map_or((None, OnTimeout::Cancel), |it| (it.timeout, it.on_timeout));
        let reason = match &rule.reason {
            Some(reason) => self.told_reason(rule, reason, place.node),
            None => cause.fixed_reason().to_owned(),
        };
        let (severity, rule) = (rule.severity, Arc::clone(&rule.id));
        let mut hold = Hold { timeout, on_timeout, severity, ..Hold::new(rule, cause, reason) };
        hold.add(place);
        match blocks {
            true => _ = self.holds.block.get_or_insert(hold),
            false => self.holds.pauses.push(hold),
        }
    }

    /// Holds the request for a finding that must be replaced and cannot be: by the rule's
    /// `on_unredactable`, or for what is seen only once a text is decoded, where the rule does not
    /// say, as a pause.
    pub(super) fn unredactable(&mut self, index: RuleIndex, site: Site, label: &Label, why: Why) {
        let (site, why) = self.held_at(site, why);
        let how = match (&self.policy.rules[index].action, &why) {
            (Action::Redact(redact), Why::Encoded(_) | Why::File(_)) => redact.on_encoded,
            (Action::Redact(redact), _) => redact.on_unredactable,
            (Action::Edit(Edit::Transform(transform)), _) => transform.on_unredactable,
            (Action::Edit(_) | Action::Classify(_) | Action::Pin(_) | Action::Decide(_), _) => {
                OnUnredactable::Block
            }
        };
        self.report.rules[index].unredactable += 1;
        let blocks = how == OnUnredactable::Block;
        let held = Held { site, rule: index, label: label.clone(), why, blocks };
        if self.policy.rules[index].monitors() {
            let what = if blocks { "block" } else { "pause" };
            return self.would_have(index, held.site.node(), || format!("{what} for {}", held.label));
        }
        if self.recall.held.contains(&held) {
            return;
        }
        if self.recall.held.len() == MAX_FINDINGS {
            // The same key may stand in a million members: what cannot be kept cannot be shown.
            let why = format!("more than {MAX_FINDINGS} places in one request (cap `max_findings`)");
            self.hold(index, Cause::TooMuch, true, why);
            return;
        }
        self.hold_held(&held, true);
        self.recall.held.insert(held);
    }

    /// Adds one such finding to its rule's hold.
    pub(super) fn hold_held(&mut self, held: &Held, stands: bool) {
        self.hold_at(held.rule, Cause::Unredactable, held.blocks, |run| HoldPlace {
            what: complaint(held.site, held.label.as_str(), &held.why),
            at: Some(run.place(held.site)),
            node: held.site.node(),
            stands,
        });
    }
}
