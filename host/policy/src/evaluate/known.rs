//! What is known about a request before it is searched: the blocks that came before, and in which
//! of their places something was found then.
//!
//! A block is an outermost section: a message, a tool definition list, an option. One question to
//! the memo stands for all that redact rules are told about its leaves, its keys and the borders of
//! its parts. Where the answer is known, only the places with findings are looked at again, since
//! what becomes of a finding hangs on more than detectors: on tokens, on examples, on the rule.
//! Whatever hangs on the present request alone, a `when` about leaves, is asked each time.
//!
//! What is remembered is what detectors said, before anything was taken out of it. The question
//! holds all that decides it: how the block is spelled, what the format made of it, and which rules
//! select what there. Detectors themselves belong to the generation, as the memo does.

use std::collections::HashSet;
use std::ops::Range;

use leafgate_tree::{Block, Document, Leaf, NodeId};

use super::Run;
use super::ahead::{self, Ahead};
use super::found::Found;
use super::seams::Seams;
use super::search::{Rules, Search};
use super::site::Site;
use crate::index::RuleIndex;
use crate::memo::{Places, Question};
use crate::selector::Selection;

/// A block with more places is searched anew each time: remembering is for what seldom happens.
const MOST_PLACES: usize = 256;

/// What of a value a place is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Leaf,
    Key,
    /// The borders of adjacent parts, anywhere in the block.
    Seams,
}

impl What {
    /// Returns the number of a place in a block: how far its value is from the block's own, and what of that value. `None`
    /// where it has none.
    fn place(self, offset: usize) -> Option<u32> {
        let offset = u32::try_from(offset).ok().filter(|offset| *offset < 1 << 30)?;
        Some(offset << 2 | self as u32)
    }
}

/// A stretch of the values of a request, and what is known about it.
struct KnownStretch {
    nodes: Range<usize>,
    /// What the memo is asked about it, where it is a block.
    question: Option<Question>,
    /// Where something was found in it, once it is known.
    places: Option<Places>,
}

impl KnownStretch {
    fn leads_to(&self, offset: usize, what: What) -> bool {
        let places = self.places.as_ref().map(Places::as_slice).unwrap_or_default();
        what.place(offset).is_some_and(|place| places.contains(&place))
    }

    /// Returns the values to look at for something: all of them, or those that are known for it.
    fn values(&self, what: What) -> impl Iterator<Item = NodeId> + '_ {
        let (all, known) = match &self.places {
            None => (self.nodes.clone(), &[][..]),
            Some(places) => (0..0, places.as_slice()),
        };
        let of_kind = move |place: &&u32| **place & 3 == what as u32;
        let known = known.iter().filter(of_kind).map(|place| self.nodes.start + (place >> 2) as usize);
        all.chain(known).map(NodeId::from_index)
    }
}

/// All values of a request, in body order, with what is known about them.
pub(super) struct Known<'p> {
    stretches: Vec<KnownStretch>,
    /// Rules that are asked about every leaf: their `when` is about leaves.
    pub(super) asked_always: Rules<'p>,
}

impl<'p> Known<'p> {
    /// Asks the memo about the blocks of a request, on behalf of the redact rules that apply to it.
    pub(super) fn of(run: &Run<'p>, rules: &Rules<'p>) -> Self {
        let asked_always =
            rules.iter().filter(|(index, _)| run.steady_selection(*index).is_none()).copied().collect();
        let selections = Selections::of(run, rules);
        let blocks = run.document.blocks();
        // Each block, and what lies before it and behind the last one.
        let (mut stretches, mut at) = (Vec::with_capacity(2 * blocks.len() + 1), 0);
        let mut description = Vec::new();
        for block in blocks {
            let nodes = block.nodes.clone();
            stretches.push(KnownStretch { nodes: at..nodes.start, question: None, places: None });
            at = nodes.end;
            let question = selections.question(run, &block, &mut description);
            let places = question.and_then(|question| run.policy.memo.recall_block(question));
            stretches.push(KnownStretch { nodes, question, places });
        }
        stretches.push(KnownStretch { nodes: at..run.document.node_count(), question: None, places: None });
        Known { stretches, asked_always }
    }

    /// Returns true if and only if the borders of the parts in a list must be looked at on behalf of all rules.
    pub(super) fn has_open_seams(&self, list: NodeId) -> bool {
        let stretch = &self.stretches[self.place_of(list)];
        stretch.places.is_none() || stretch.leads_to(0, What::Seams)
    }

    /// Returns the members whose keys are to be looked at.
    pub(super) fn keys(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.stretches.iter().flat_map(|stretch| stretch.values(What::Key))
    }

    /// Returns the leaves of blocks that nothing is known about, in body order.
    fn new_leaves<'d>(&self, document: &'d Document) -> impl Iterator<Item = Leaf<'d>> {
        let open = self.stretches.iter().filter(|stretch| stretch.places.is_none());
        open.flat_map(|stretch| stretch.nodes.clone()).filter_map(|at| document.leaf(NodeId::from_index(at)))
    }

    /// Returns the number of the stretch that a value lies in.
    fn place_of(&self, node: NodeId) -> usize {
        self.stretches.partition_point(|stretch| stretch.nodes.end <= node.index())
    }

    /// Remembers what a search found in blocks that were not known.
    pub(super) fn keep(&self, run: &Run<'_>, found: &Found, seams: &Seams) {
        // Where a plugin gave no answer, nobody knows what it would have found.
        if found.too_much || !found.faults.is_empty() {
            return;
        }
        let mut places: Vec<Vec<u32>> = self.stretches.iter().map(|_| Vec::new()).collect();
        let mut note = |node: NodeId, what: What| {
            let number = self.place_of(node);
            let offset =
                if what == What::Seams { 0 } else { node.index() - self.stretches[number].nodes.start };
            // A place that has no number makes too many of them.
            places[number].push(what.place(offset).unwrap_or(u32::MAX));
        };
        let mut keys: HashSet<String> = HashSet::new();
        for site in &found.noisy {
            match *site {
                Site::Leaf(node) => note(node, What::Leaf),
                Site::Key(node) => {
                    keys.extend(run.document.key(node).map(|key| key.text.expose().to_owned()))
                }
                Site::Seam(window) => {
                    seams.list_of(window).into_iter().for_each(|list| note(list, What::Seams))
                }
                Site::Inserted(_)
                | Site::Option(_)
                | Site::Outside { .. }
                | Site::File(_)
                | Site::Elsewhere => {}
            }
        }
        // Each distinct key was searched once, wherever it stands.
        if !keys.is_empty() {
            let all = run.document.keys().filter(|key| keys.contains(key.text.expose()));
            all.for_each(|key| note(key.node, What::Key));
        }
        for (stretch, mut places) in self.stretches.iter().zip(places) {
            places.sort_unstable();
            places.dedup();
            if let (Some(question), None) = (stretch.question, &stretch.places)
                && places.len() <= MOST_PLACES
                && places.last() != Some(&u32::MAX)
            {
                run.policy.memo.keep_block(question, &places);
            }
        }
    }
}

impl<'s, 'p> Search<'s, 'p> {
    /// Searches the leaves of a request, but for those in which nothing is known to be. Where there
    /// is much that is new, a second thread begins at its end.
    pub(super) fn leaves(&mut self, rules: &Rules<'p>, known: &Known<'p>) {
        let run = self.run;
        ahead::with(run, rules, known.new_leaves(run.document), |ahead| {
            for stretch in &known.stretches {
                self.leaves_of(stretch, rules, known, ahead);
            }
        });
    }

    fn leaves_of(
        &mut self,
        stretch: &KnownStretch,
        rules: &Rules<'p>,
        known: &Known<'p>,
        ahead: Ahead<'_, '_>,
    ) {
        let document = self.run.document;
        if stretch.places.is_none() || known.asked_always.is_empty() {
            for leaf in stretch.values(What::Leaf).filter_map(|node| document.leaf(node)) {
                if let Some(ahead) = ahead {
                    ahead.reach(leaf.id());
                }
                self.leaf(rules, leaf);
            }
            return;
        }
        for leaf in stretch.nodes.clone().filter_map(|at| document.leaf(NodeId::from_index(at))) {
            let open = stretch.leads_to(leaf.id().index() - stretch.nodes.start, What::Leaf);
            self.leaf(if open { rules } else { &known.asked_always }, leaf);
        }
    }
}

/// What the redact rules of a request select, as far as it is no matter of a block's own.
struct Selections<'r> {
    /// The numbers of the rules, and whether each is decided without a look at leaves.
    rules: Vec<u8>,
    /// The rules that select by place.
    by_place: Vec<(RuleIndex, &'r Selection<'r>)>,
}

impl<'r> Selections<'r> {
    fn of(run: &'r Run<'_>, rules: &Rules<'_>) -> Self {
        // A rule whose condition is asked about each leaf now may apply to all of them in another
        // request, where the same condition is decided.
        let number = |index: &RuleIndex| {
            let steady = u64::from(run.steady_selection(*index).is_some());
            ((index.get() as u64) << 1 | steady).to_le_bytes()
        };
        let by_place = rules.iter().filter_map(|(index, _)| {
            let selection = &run.active[index.get()].as_ref()?.selection;
            selection.ranges.is_some().then_some((*index, selection))
        });
        Selections {
            rules: rules.iter().flat_map(|(index, _)| number(index)).collect(),
            by_place: by_place.collect(),
        }
    }

    /// Returns what the memo is asked about a block; `None` where nobody can say what decides it.
    fn question(&self, run: &Run<'_>, block: &Block, description: &mut Vec<u8>) -> Option<Question> {
        description.clear();
        if !run.document.describe(block, description) {
            return None;
        }
        let nodes = block.nodes.clone();
        for (index, selection) in &self.by_place {
            for range in selection.ranges_in(&nodes) {
                for number in [index.get(), range.start - nodes.start, range.end - nodes.start] {
                    description.extend_from_slice(&(number as u64).to_le_bytes());
                }
            }
        }
        Some(run.policy.memo.block(&self.rules, description, run.document.spelling(block)))
    }
}

impl Run<'_> {
    /// Returns what a rule selects, where that is all that decides whether it applies to a leaf;
    /// `None` where its condition does too.
    pub(super) fn steady_selection(&self, index: RuleIndex) -> Option<&Selection<'_>> {
        let active = self.active[index.get()].as_ref()?;
        active.condition.is_none().then_some(&active.selection)
    }
}
