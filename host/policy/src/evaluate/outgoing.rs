//! The request as it would leave, read anew from its rendered bytes and judged as if it had come
//! so.
//!
//! The index of the received body cannot show what an edit made of the structure: a JSON text that
//! was set as a whole, another model or tool. So after an edit the redact, pause and block rules
//! look at this document too, and whatever they hold is added to what is held already. What was
//! received keeps what is known about it: what was found and replaced in it, and the path that it
//! came with, by which path patterns select.
//!
//! It costs what the next turn of a conversation costs: detectors remember what they said about
//! texts that are the same.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, MatchKind};
use leafgate_detect::{Confidence, DetectorId, Label};
use leafgate_tree::{Document, Draft, Limits, NodeId, Origin, Redaction, ReleaseTerms, Reread};

use super::holds::{Held, Holds};
use super::site::{Site, Why};
use super::{Run, author};
use crate::Context;
use crate::condition::FindingFact;
use crate::index::RuleIndex;
use crate::request::facts::request_facts;
use crate::rule::Phase;
use crate::selector::Places;
use crate::verdict::{Cause, Hold, HoldPlace, spelled};
use crate::work;

/// A stretch of a text, and the label of the redaction that wrote it.
type Labelled = (Range<usize>, Arc<str>);

impl Run<'_> {
    /// Adds what holds the request as it would leave. Everything that is written must have been
    /// redacted before.
    ///
    /// # Errors
    /// What would leave holds something that must be redacted and cannot be where it stands, or
    /// cannot be read.
    pub(super) fn judge_outgoing(&mut self) -> Result<(), Hold> {
        if self.draft.edits().next().is_none() {
            return Ok(());
        }
        // An edit may bring the body beyond a limit that every received one meets.
        let reread = self.draft.reread(&Limits::default()).map_err(|error| Hold::invalid(&error))?;
        let document = Arc::clone(reread.document());
        // They stand at places of the received request, and were judged there.
        let context = &Context { files: &[], ..self.request.context };
        let facts = request_facts(&self.policy.lookup.asked, &document, context);
        // The model has been chosen: what stands there is what it goes to.
        let mut now = Run::of_facts(self.policy, &document, self.vault, facts);
        now.keep_places(self.document, &reread);
        now.keep_findings(self, &reread);
        let marks = now.draft.redactions().count();
        now.phase(Phase::Redact, Run::redact_received);
        now.hold_missed(self, &reread, marks);
        if now.holds.blocks() {
            return Err(now.refused());
        }
        now.phase(Phase::Decide, Run::decide);
        self.take_over(now, &reread);
        Ok(())
    }

    /// What was received is selected by the place that it came with.
    fn keep_places(&mut self, received: &Document, reread: &Reread) {
        let mut places = Places::of(received, &self.policy.lookup.paths);
        for (index, active) in self.active.iter_mut().enumerate() {
            if let Some(active) = active {
                let then = places.ranges(RuleIndex::new(index), active.selection.selector);
                active.selection.keep_places(&then.unwrap_or_default(), reread);
            }
        }
    }

    /// Marks what redaction wrote, which is not looked at again, what a person released, and what was
    /// found, for `leaf.findings`.
    fn keep_findings(&mut self, before: &Run<'_>, reread: &Reread) {
        let by = leafgate_tree::Author::rule("");
        let mut within = HashMap::new();
        for (node, origin) in reread.origins() {
            if self.document.leaf(node).is_none() {
                continue;
            }
            let text = self.draft.text(node).into_cow().into_owned();
            let (of, written) = before.written_by_redaction(origin, &text, &mut within);
            let released = match origin {
                Origin::Received(from) => before.draft.released(from),
                Origin::Within(_) | Origin::Inserted(_) => Vec::new(),
            };
            let same = |at: Range<usize>, label| Redaction::new(at.clone(), label, &text[at]);
            let mut marks: Vec<Redaction> = written.into_iter().map(|(at, label)| same(at, label)).collect();
            marks.extend(released.into_iter().map(|span| Redaction {
                terms: ReleaseTerms::Releasable(self.draft.new_finding()),
                ..same(span.at, span.label)
            }));
            marks.sort_by_key(|mark| mark.at.start);
            let stands = |label: &str| match origin {
                Origin::Received(from) if !before.draft.is_written(from) => true,
                Origin::Received(_) | Origin::Within(_) => marks.iter().any(|mark| *mark.label == *label),
                Origin::Inserted(_) => true,
            };
            let found = before.recall.findings.get(&of).into_iter().flatten();
            let mut found: Vec<_> = found.filter(|fact| stands(fact.label.as_str())).cloned().collect();
            for mark in &marks {
                if !found.iter().any(|fact| *fact.label.as_str() == *mark.label) {
                    found.extend(replaced_earlier(&mark.label));
                }
            }
            if !found.is_empty() {
                self.recall.findings.insert(Site::Leaf(node), found);
            }
            if !marks.is_empty() {
                let first = self.draft.redactions().count();
                // A leaf that takes no redaction has none.
                let made = self.draft.redact(node, &marks, &by).is_ok();
                let places = marks.iter().enumerate().filter(|_| made);
                for (place, _) in places.filter(|(_, mark)| mark.terms != ReleaseTerms::KEPT) {
                    // It stands, as it was just made.
                    let _ = self.draft.release(first + place);
                }
            }
        }
    }

    /// Where redaction wrote in a text that would leave, and which facts are known about it.
    fn written_by_redaction(
        &self,
        origin: Origin,
        text: &str,
        within: &mut HashMap<NodeId, Replacements>,
    ) -> (Site, Vec<Labelled>) {
        match origin {
            Origin::Received(node) => (Site::Leaf(node), self.draft.redacted(node)),
            Origin::Within(node) => {
                let replacements =
                    within.entry(node).or_insert_with(|| Replacements::in_string(&self.draft, node));
                (Site::Leaf(node), replacements.find(text))
            }
            Origin::Inserted(number) => match self.draft.inserted_at(number) {
                Some(inserted) if inserted.text().expose() == text => {
                    (Site::Inserted(number), inserted.redacted())
                }
                _ => (Site::Leaf(self.document.root()), Vec::new()),
            },
        }
    }

    /// Holds for what redaction would still replace in what would leave. In what somebody wrote it
    /// is refused by the rule's `on_unredactable`; what was received and is selected only now is
    /// shown to the person.
    fn hold_missed(&mut self, before: &Run<'_>, reread: &Reread, marks: usize) {
        let missed: Vec<_> = self
            .draft
            .redactions()
            .skip(marks)
            .map(|made| (made.node, Arc::clone(&made.label), made.author.clone()))
            .collect();
        for (node, label, by) in missed {
            let rule = self.policy.rules.iter().position(|rule| author(rule) == by).map(RuleIndex::new);
            let (Some(rule), Ok(label)) = (rule, Label::new(&label)) else { continue };
            match reread.origin(node) {
                Origin::Received(from) if before.draft.has_released(from) => {
                    // Another rule finds it now: it was let go on other terms.
                    let what = before.draft.pointer(from);
                    self.hold(rule, Cause::Unredactable, true, what);
                }
                Origin::Received(from) if !before.draft.is_written(from) => {
                    let held =
                        Held { site: Site::Leaf(node), rule, label, why: Why::Outgoing, blocks: false };
                    if self.recall.held.insert(held.clone()) {
                        self.hold_held(&held, true);
                    }
                }
                _ => self.unredactable(rule, Site::Leaf(node), &label, Why::Outgoing),
            }
        }
    }

    /// Takes over what holds the request as it would leave, its places named as in the received
    /// request, since edits go by those.
    fn take_over(&mut self, now: Run<'_>, reread: &Reread) {
        for held in &now.recall.held {
            let site = match held.site {
                Site::Leaf(node) => received_site(reread.origin(node), Site::Leaf),
                Site::Key(node) => received_site(reread.origin(node), Site::Key),
                other => other,
            };
            let held = Held { site, ..held.clone() };
            if self.recall.held.insert(held.clone()) {
                self.hold_held(&held, true);
            }
        }
        let Holds { pauses, block, route } = now.holds;
        for mut hold in pauses {
            let known =
                self.holds.pauses.iter().any(|known| known.rule == hold.rule && known.cause == hold.cause);
            if !known && hold.cause != Cause::Unredactable {
                hold.places.iter_mut().for_each(|place| self.name_as_received(place, reread));
                self.holds.pauses.push(hold);
            }
        }
        if let Some(mut hold) = block {
            hold.places.iter_mut().for_each(|place| self.name_as_received(place, reread));
            self.holds.block.get_or_insert(hold);
        }
        if let Some(route) = route {
            self.holds.route.get_or_insert(route);
        }
    }

    fn name_as_received(&self, place: &mut HoldPlace, reread: &Reread) {
        let Some(node) = place.node else { return };
        let named = match reread.origin(node) {
            Origin::Within(from) => {
                let what = format!("first in the new text of {}", spelled(&self.draft.pointer(from)));
                HoldPlace::told(what, Some(from))
            }
            origin => self.applies_first(received_site(origin, Site::Leaf)),
        };
        (place.what, place.node) = (named.what, named.node);
    }
}

/// The fact that a review before this one replaced something: its label stands in the draft, its
/// detector does not.
fn replaced_earlier(label: &str) -> Option<FindingFact> {
    let detector = DetectorId::new("redacted/earlier").ok()?;
    Some(FindingFact { label: Label::new(label).ok()?, detector, confidence: Confidence::High })
}

/// What redaction wrote in a string that spells a document, to be found in the leaves of that
/// document. One automaton finds all of it: a string can have very many redactions and leaves.
struct Replacements {
    /// `None` where redaction wrote nothing.
    words: Option<AhoCorasick>,
    /// By the number of the word.
    labels: Vec<Arc<str>>,
}

impl Replacements {
    fn in_string(draft: &Draft, string: NodeId) -> Replacements {
        let whole = draft.text(string);
        let redacted = draft.redacted(string).into_iter();
        let labels_by_word: BTreeMap<&str, Arc<str>> = redacted
            .map(|(at, label)| {
                work::step();
                (&whole.expose()[at], label)
            })
            .filter(|(word, _)| !word.is_empty())
            .collect();
        let words =
            AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(labels_by_word.keys());
        Replacements {
            words: words.ok().filter(|_| !labels_by_word.is_empty()),
            labels: labels_by_word.into_values().collect(),
        }
    }

    fn find(&self, text: &str) -> Vec<Labelled> {
        let found = self.words.iter().flat_map(|words| words.find_iter(text));
        let labelled = |word: aho_corasick::Match| {
            work::step();
            (word.range(), Arc::clone(&self.labels[word.pattern().as_usize()]))
        };
        found.map(labelled).collect()
    }
}

fn received_site(origin: Origin, site: impl Fn(NodeId) -> Site) -> Site {
    match origin {
        Origin::Received(node) | Origin::Within(node) => site(node),
        Origin::Inserted(number) => Site::Inserted(number),
    }
}
