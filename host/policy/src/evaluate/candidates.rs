//! Which leaves a rule can be about, without asking the rule about each leaf.
//!
//! A rule's candidates are all leaves that its `match` selects, but for those whose text lacks
//! every literal that its condition needs. For those the condition is false, and does not fail:
//! so a walk of the candidates ends like a walk of all leaves, with the same leaves, the same first
//! leaf and the same first error.
//!
//! Each way to look is prepared when a rule first asks for it, and once for all rules: leaves of a
//! kind, role and section; leaves of a tool; leaves whose text holds a literal. What selects a leaf
//! never changes in the course of an evaluation, but texts do. A text that was written to is looked
//! at anew before the next rule asks. Its leaf stays a candidate for what it said before, which
//! costs a condition and changes nothing.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;

use leafgate_tree::{Document, Draft, Inserted, NodeId};
use memchr::memmem;

use super::{Active, Run};
use crate::condition::ForRequest;
use crate::index::RuleIndex;
use crate::lookup::Lookup;
use crate::needles::{Needle, Numbered};
use crate::rule::{Action, Edit, Pin};
use crate::selector::Class;

/// Leaves in body order.
pub(super) type Leaves = Arc<[NodeId]>;

/// The leaves of one request as rules ask for them.
pub(super) struct Candidates {
    /// Every leaf, but for strings that were set as a whole. What is deleted is among them.
    leaves: Leaves,
    /// Strings that spell a document and were set as a whole: always candidates, since a rule asks
    /// about anything that they spell.
    wholes: Vec<NodeId>,
    classes: HashMap<Class, Leaves>,
    /// The leaves of the tools that each rule names; `None` before anybody asked.
    tools: Option<Numbered<RuleIndex, Vec<NodeId>>>,
    /// By literal, the leaves whose text holds it; `None` before anybody asked.
    holding: Option<Vec<Vec<NodeId>>>,
    /// Leaves that were written to since.
    written: Vec<NodeId>,
    /// The literals in each message that was put in, and the text that they were looked for in.
    inserted: HashMap<usize, (String, BTreeSet<Needle>)>,
}

impl Candidates {
    fn of(draft: &Draft) -> Self {
        let document = draft.document();
        let (leaves, wholes): (Vec<NodeId>, Vec<NodeId>) =
            draft.leaves_now().partition(|&node| document.leaf(node).is_some());
        Candidates {
            leaves: leaves.into(),
            wholes,
            classes: HashMap::new(),
            tools: None,
            holding: None,
            written: Vec::new(),
            inserted: HashMap::new(),
        }
    }
}

impl<'p> Run<'p> {
    /// Returns the leaves that a rule's `match` selects, but for some for which its condition is
    /// false; `None` where that leaves nothing. Deleted ones may be among them, and what was set as
    /// a whole is not.
    fn candidates(&mut self, rule: RuleIndex) -> Option<Leaves> {
        let (document, lookup) = (self.document, &self.policy.lookup);
        let candidates = self.candidates.get_or_insert_with(|| Candidates::of(&self.draft));
        let active = self.active[rule.get()].as_ref()?;
        if Self::walks_every_leaf() {
            return Some(Arc::clone(&candidates.leaves));
        }
        let selects =
            |&node: &NodeId| document.leaf(node).is_some_and(|leaf| active.selection.selects(&leaf));
        let found: Vec<NodeId> = if let Some(needles) = active.needles(lookup, rule) {
            let holding = candidates.holding(&self.draft, lookup, needles);
            holding.into_iter().filter(selects).collect()
        } else if let Some(ranges) = &active.selection.ranges {
            let leaves = &candidates.leaves;
            ranges.iter().flat_map(|range| within(leaves, range)).copied().filter(selects).collect()
        } else if !active.selection.selector.tools.is_everything() {
            candidates.of_tools(document, lookup, rule).iter().copied().filter(selects).collect()
        } else {
            let leaves = candidates.classes.entry(active.selection.class());
            let leaves =
                leaves.or_insert_with(|| candidates.leaves.iter().copied().filter(selects).collect());
            return (!leaves.is_empty()).then(|| Arc::clone(leaves));
        };
        (!found.is_empty()).then(|| found.into())
    }

    /// Returns the leaves about which a rule is asked, in body order: its candidates, and what was
    /// set as a whole. `None` where there are none.
    pub(super) fn asked(&mut self, rule: RuleIndex) -> Option<Leaves> {
        let candidates = self.candidates(rule);
        let wholes = self.wholes();
        if wholes.is_empty() {
            return candidates;
        }
        let mut asked = [candidates.as_deref().unwrap_or_default(), wholes].concat();
        asked.sort_unstable();
        Some(asked.into())
    }

    /// The strings that were set as a whole.
    fn wholes(&mut self) -> &[NodeId] {
        &self.candidates.get_or_insert_with(|| Candidates::of(&self.draft)).wholes
    }

    /// Returns true if and only if a rule applies to all leaves about which it is asked: its
    /// condition asks for nothing more, and everything stands as it came.
    pub(super) fn selects_alone(&mut self, rule: RuleIndex) -> bool {
        let active = self.active[rule.get()].as_ref();
        let unconditional = active.is_some_and(|active| match active.condition {
            None | Some((_, ForRequest::Always)) => true,
            Some((_, ForRequest::Never | ForRequest::LeafTerms | ForRequest::Whole)) => false,
        });
        unconditional && self.wholes().is_empty() && !self.draft.has_deleted() && !Self::walks_every_leaf()
    }

    /// Returns those of some leaves whose present text a rule's pattern can match.
    pub(super) fn matchable(&mut self, rule: RuleIndex, leaves: Leaves) -> Leaves {
        let lookup = &self.policy.lookup;
        let Some(needles) = lookup.wanted(rule).pattern.as_deref() else { return leaves };
        if leaves.is_empty() || Self::walks_every_leaf() {
            return leaves;
        }
        let candidates = self.candidates.get_or_insert_with(|| Candidates::of(&self.draft));
        let mut matchable = candidates.holding(&self.draft, lookup, needles);
        matchable.extend(&candidates.wholes);
        matchable.retain(|node| leaves.binary_search(node).is_ok());
        matchable.sort_unstable();
        matchable.into()
    }

    /// Returns true if and only if a rule's condition may be something else than false for a
    /// message that was put in.
    pub(super) fn may_apply_to_inserted(&mut self, rule: RuleIndex) -> bool {
        let (document, lookup) = (self.document, &self.policy.lookup);
        let Some(active) = &self.active[rule.get()] else { return false };
        let needles = active.needles(lookup, rule).filter(|_| !Self::walks_every_leaf());
        let candidates = self.candidates.get_or_insert_with(|| Candidates::of(&self.draft));
        self.draft.inserted().any(|inserted| {
            active.selection.selects_inserted(document, inserted)
                && needles.is_none_or(|needles| {
                    let held = candidates.inserted(lookup, inserted);
                    needles.iter().any(|needle| held.contains(needle))
                })
        })
    }

    /// Returns true if and only if a rule has nothing to look at in this request.
    pub(super) fn is_idle(&mut self, index: RuleIndex) -> bool {
        let rule = &self.policy.rules[index];
        let looks_further = match &rule.action {
            Action::Edit(Edit::Rewrite(_) | Edit::Delete { .. } | Edit::Transform(_))
            | Action::Classify(_)
            | Action::Redact(_)
            | Action::Pin(Pin::Received | Pin::FirstSeen(_) | Pin::Protect { .. }) => false,
            // Its place may be put in.
            Action::Pin(Pin::To { absent, .. }) => absent.contains_key(&self.document.format()),
            // They are asked about the request: about anything in it.
            Action::Decide(_) | Action::Edit(_) => {
                rule.is_of_request() || !self.files.is_empty() || self.may_apply_to_inserted(index)
            }
        };
        !looks_further && self.asked(index).is_none()
    }

    /// Whether rules are asked about every leaf. This is the plain way, beside which tests hold the
    /// other one.
    #[cfg(not(test))]
    pub(super) const fn walks_every_leaf() -> bool {
        false
    }

    #[cfg(test)]
    pub(super) fn walks_every_leaf() -> bool {
        super::walk_tests::WALKS_EVERY_LEAF.get()
    }

    /// Records that a leaf has another text now.
    pub(super) fn was_written(&mut self, node: NodeId) {
        let Some(candidates) = &mut self.candidates else { return };
        match self.document.leaf(node) {
            Some(_) => candidates.written.push(node),
            // A string that spells a document takes the place of its inner leaves.
            None => self.candidates = None,
        }
    }

    /// Records that edits were taken back. Leaves keep what they said as candidates do.
    pub(super) fn were_taken_back(&mut self) {
        if self.candidates.as_ref().is_some_and(|candidates| !candidates.wholes.is_empty()) {
            self.candidates = None;
        }
    }
}

impl Active<'_> {
    /// The literals of which a leaf's text must hold one; `None` where other leaves count too.
    fn needles<'l>(&self, lookup: &'l Lookup, rule: RuleIndex) -> Option<&'l [Needle]> {
        match self.condition {
            Some((_, ForRequest::LeafTerms)) => lookup.wanted(rule).condition.as_deref(),
            // Where a term of the request failed, the whole expression decides, with its errors.
            Some((_, ForRequest::Never | ForRequest::Always | ForRequest::Whole)) | None => None,
        }
    }
}

impl Candidates {
    /// Returns the leaves whose text holds one of these literals, and perhaps others, in body
    /// order.
    fn holding(&mut self, draft: &Draft, lookup: &Lookup, needles: &[Needle]) -> Vec<NodeId> {
        let holding = self.holding.get_or_insert_with(|| holding(&self.leaves, draft, lookup));
        for node in self.written.drain(..) {
            keep_all(holding, lookup, draft.text(node).expose(), node);
        }
        match needles {
            [needle] => holding[needle.index()].clone(),
            needles => {
                let mut leaves: Vec<NodeId> =
                    needles.iter().flat_map(|needle| &holding[needle.index()]).copied().collect();
                leaves.sort_unstable();
                leaves.dedup();
                leaves
            }
        }
    }

    /// Returns the leaves of the tools that a rule names.
    fn of_tools(&mut self, document: &Document, lookup: &Lookup, rule: RuleIndex) -> &[NodeId] {
        let tools = self.tools.get_or_insert_with(|| of_tools(&self.leaves, document, lookup));
        tools.get(&rule).map_or(&[], Vec::as_slice)
    }

    fn inserted(&mut self, lookup: &Lookup, inserted: &Inserted) -> &BTreeSet<Needle> {
        let (of, held) = self.inserted.entry(inserted.number).or_default();
        let text = inserted.text();
        if of != text.expose() {
            *of = text.into_cow().into_owned();
            held.clear();
            lookup.needles.scan(of.as_bytes(), |needle, _| _ = held.insert(needle));
        }
        held
    }
}

/// The leaves that lie in an index range.
fn within<'l>(leaves: &'l [NodeId], range: &Range<usize>) -> &'l [NodeId] {
    let before = |place: usize| leaves.partition_point(|node| node.index() < place);
    &leaves[before(range.start)..before(range.end)]
}

/// Collects the leaves of each tool that a rule names.
fn of_tools(leaves: &[NodeId], document: &Document, lookup: &Lookup) -> Numbered<RuleIndex, Vec<NodeId>> {
    let (mut by_tool, mut uncertain): (HashMap<&str, Vec<NodeId>>, _) = (HashMap::new(), Vec::new());
    for leaf in leaves.iter().filter_map(|&node| document.leaf(node)) {
        if let Some(tool) = leaf.tool() {
            by_tool.entry(tool).or_default().push(leaf.id());
        }
        if leaf.is_of_uncertain_tool() {
            uncertain.push(leaf.id());
        }
    }
    let mut by_rule: Numbered<RuleIndex, Vec<NodeId>> = Numbered::default();
    for (tool, leaves) in &by_tool {
        for rule in lookup.of_tool(tool) {
            by_rule.entry(rule).or_default().extend(leaves);
        }
    }
    for &rule in lookup.of_uncertain_tools().iter().filter(|_| !uncertain.is_empty()) {
        by_rule.entry(rule).or_default().extend(&uncertain);
    }
    for leaves in by_rule.values_mut() {
        leaves.sort_unstable();
        leaves.dedup();
    }
    by_rule
}

/// Looks for all literals in all leaves.
///
/// The received body is searched in one go, without decoding anything: literals are of bytes that
/// JSON spells as they are. A text is searched by itself where it is no longer the received one,
/// where it has `\u`, which can spell any byte, and where a literal stands in a string that spells
/// several leaves.
fn holding(leaves: &[NodeId], draft: &Draft, lookup: &Lookup) -> Vec<Vec<NodeId>> {
    let (document, needles) = (draft.document(), &lookup.needles);
    let mut holding: Vec<Vec<NodeId>> = vec![Vec::new(); needles.len()];
    let mut apart: BTreeSet<NodeId> = draft.changed_leaves().collect();
    if document.is_raw() {
        apart.extend(leaves);
    } else {
        let source = document.source();
        let mut body = Body { document, leaves, found: 0..0, around: 0..0 };
        let mut last = 0..0;
        needles.scan(source, |needle, at| match body.leaves_at(at) {
            [] => {}
            [node] => keep(&mut holding, needle, *node),
            nodes => {
                if last != body.found {
                    last = body.found.clone();
                    apart.extend(nodes);
                }
            }
        });
        let escapes = memmem::Finder::new("\\u");
        let mut from = 0;
        while let Some(at) = source.get(from..).and_then(|rest| escapes.find(rest)) {
            apart.extend(body.leaves_at(from + at));
            // One is enough in a string.
            from = body.around.end;
        }
    }
    for node in apart.into_iter().filter(|node| leaves.binary_search(node).is_ok()) {
        keep_all(&mut holding, lookup, draft.text(node).expose(), node);
    }
    holding
}

fn keep_all(holding: &mut [Vec<NodeId>], lookup: &Lookup, text: &str, node: NodeId) {
    lookup.needles.scan(text.as_bytes(), |needle, _| keep(holding, needle, node));
}

fn keep(holding: &mut [Vec<NodeId>], needle: Needle, node: NodeId) {
    let leaves = &mut holding[needle.index()];
    match leaves.last() {
        Some(last) if *last == node => {}
        Some(last) if *last < node => leaves.push(node),
        None => leaves.push(node),
        Some(_) => {
            if let Err(place) = leaves.binary_search(&node) {
                leaves.insert(place, node);
            }
        }
    }
}

/// A body, and where the last place lies that was asked for: the next one is often beside it.
struct Body<'d> {
    document: &'d Document,
    leaves: &'d [NodeId],
    /// Among the leaves.
    found: Range<usize>,
    /// In the body: the spelling of these leaves, or what lies between two others.
    around: Range<usize>,
}

impl<'d> Body<'d> {
    /// Returns the leaves whose spelling holds a place of the body: one, or all those that a string
    /// spells.
    fn leaves_at(&mut self, at: usize) -> &'d [NodeId] {
        if !self.around.contains(&at) {
            let span = |node: &NodeId| self.document.body_span(*node);
            let first = self.leaves.partition_point(|node| span(node).end <= at);
            let rest = &self.leaves[first..];
            (self.found, self.around) = match rest.first().map(span) {
                Some(string) if string.contains(&at) => {
                    let inside = rest.partition_point(|node| span(node).start < string.end);
                    (first..first + inside, string)
                }
                next => {
                    let before = first.checked_sub(1).map_or(0, |last| span(&self.leaves[last]).end);
                    (first..first, before..next.map_or(usize::MAX, |next| next.start))
                }
            };
        }
        &self.leaves[self.found.clone()]
    }
}
