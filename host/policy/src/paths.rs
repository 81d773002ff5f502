//! The path patterns of all rules, walked together.
//!
//! The patterns form a trie, so that a document is walked once however many rules name paths, and
//! what many patterns have in common is compared once:
//!
//! ```text
//! messages[*].content    rule 0        root ┬ messages ┬ [*] ─ content → 0
//! messages[0].role       rule 1             │          └ [0] ─ role → 1
//! **.token               rule 2             └ ** ─ token → 2
//! ```
//!
//! The walk goes down with the set of places that are alive. At `/messages/0` these are `[*]`,
//! `[0]` and `**`. What each pattern means is in [`crate::pattern`].

use std::collections::HashMap;
use std::ops::Range;

use leafgate_tree::{Document, Format, Limits, NodeId, Segment};

use crate::index::RuleIndex;
use crate::needles::Numbered;
use crate::pattern::{PathPattern, Step};
use crate::selector::Selector;

/// The patterns of all rules of a policy.
#[derive(Debug, Default)]
pub(crate) struct Paths {
    places: Vec<PathPlace>,
}

/// The patterns of some selectors, under the numbers of what they belong to.
#[derive(Debug, Default)]
pub(crate) struct SelectorPaths {
    /// What they select.
    pub(crate) any: Paths,
    /// What they leave out.
    pub(crate) not: Paths,
}

impl SelectorPaths {
    pub(crate) fn new<'s>(selectors: impl Iterator<Item = &'s Selector> + Clone) -> Self {
        let numbered = || selectors.clone().enumerate().map(|(at, selector)| (RuleIndex::new(at), selector));
        SelectorPaths {
            any: Paths::new(numbered().map(|(at, selector)| (at, selector.paths.as_slice()))),
            not: Paths::new(numbered().map(|(at, selector)| (at, selector.not_paths.as_slice()))),
        }
    }
}

impl PathPattern {
    /// Reads a smallest value that holds what the pattern names as a request, and returns it with what the
    /// pattern selects there.
    pub(crate) fn sampled(&self, format: Format) -> Option<(Document, Vec<Range<usize>>)> {
        let body = self.sample()?.to_string();
        let document = Document::parse(body.into(), format, &Limits::default()).ok()?;
        let selected = self.select(&document);
        Some((document, selected))
    }

    /// Returns the index ranges of all subtrees that the pattern selects, in body order and
    /// disjoint.
    pub(crate) fn select(&self, document: &Document) -> Vec<Range<usize>> {
        let alone = RuleIndex::new(0);
        let paths = Paths::new(std::iter::once((alone, std::slice::from_ref(self))));
        paths.select(document).remove(&alone).unwrap_or_default()
    }
}

/// The place of a trie at which the segments of one or more patterns end, or go on.
#[derive(Debug, Default)]
struct PathPlace {
    keys: HashMap<String, usize>,
    /// By the key in lower case.
    keys_in_any_case: HashMap<String, usize>,
    any_key: Option<usize>,
    indices: HashMap<usize, usize>,
    last_index: Option<usize>,
    any_index: Option<usize>,
    any_depth: Option<usize>,
    /// Whether it is reached by `**`: then it stays alive at every depth.
    is_depth: bool,
    /// The rules with a pattern that ends here.
    ends: Vec<RuleIndex>,
}

/// The index ranges that each rule's patterns select, sorted and disjoint. A rule whose patterns
/// select nothing is missing.
pub(crate) type Ranges = Numbered<RuleIndex, Vec<Range<usize>>>;

impl Paths {
    pub(crate) fn new<'r>(rules: impl Iterator<Item = (RuleIndex, &'r [PathPattern])>) -> Self {
        let mut paths = Paths { places: vec![PathPlace::default()] };
        for (rule, patterns) in rules {
            for pattern in patterns {
                let end = pattern.steps.iter().fold(0, |place, step| paths.child(place, step));
                if !paths.places[end].ends.contains(&rule) {
                    paths.places[end].ends.push(rule);
                }
            }
        }
        paths
    }

    /// Returns the place behind a step, which is made where no pattern before had it.
    fn child(&mut self, of: usize, step: &Step) -> usize {
        let new = self.places.len();
        let place = &mut self.places[of];
        let child = match step {
            Step::Key(key) => match place.keys.get(key) {
                Some(child) => *child,
                None => *place.keys.entry(key.clone()).or_insert(new),
            },
            Step::KeyInAnyCase(key) => *place.keys_in_any_case.entry(key.clone()).or_insert(new),
            Step::Index(index) => *place.indices.entry(*index).or_insert(new),
            Step::AnyKey => *place.any_key.get_or_insert(new),
            Step::LastIndex => *place.last_index.get_or_insert(new),
            Step::AnyIndex => *place.any_index.get_or_insert(new),
            Step::AnyDepth => *place.any_depth.get_or_insert(new),
        };
        if child == new {
            self.places.push(PathPlace { is_depth: *step == Step::AnyDepth, ..PathPlace::default() });
        }
        child
    }

    /// Returns what each rule's patterns select in a document.
    pub(crate) fn select(&self, document: &Document) -> Ranges {
        if self.places.len() == 1 {
            return Ranges::default();
        }
        let mut walk = PathsWalk {
            places: &self.places,
            document,
            alive: Vec::new(),
            selected: Ranges::default(),
            visited: vec![0; self.places.len()],
            visit: 0,
        };
        walk.visit += 1;
        walk.enter(0, document.root());
        walk.below(document.root(), 0);
        for ranges in walk.selected.values_mut() {
            // Subtrees nest or are disjoint: the one that starts first contains those that start
            // inside it.
            ranges.sort_by_key(|range| (range.start, std::cmp::Reverse(range.end)));
            ranges.dedup_by(|inner, outer| inner.start < outer.end);
        }
        walk.selected
    }
}

/// One walk of a document.
struct PathsWalk<'p> {
    places: &'p [PathPlace],
    document: &'p Document,
    /// The places that are alive at each value between the root and the present one, one set after
    /// the other.
    alive: Vec<usize>,
    selected: Ranges,
    /// By place: the last visit of a value that found it alive.
    visited: Vec<u32>,
    visit: u32,
}

impl PathsWalk<'_> {
    /// Walks what is below a value. The places that are alive there stand from `first` on.
    fn below(&mut self, node: NodeId, first: usize) {
        let end = self.alive.len();
        let goes_on = |&place: &usize| self.places[place].goes_on();
        if !self.alive[first..end].iter().any(goes_on) {
            return;
        }
        let document = self.document;
        let mut children = document.children(node).peekable();
        while let Some(child) = children.next() {
            let Some(segment) = document.segment(child) else { continue };
            // The visits of one walk are as many as its values, of which there are at most a
            // million.
            self.visit += 1;
            for at in first..end {
                self.step(self.alive[at], &segment, child, children.peek().is_none());
            }
            if self.alive.len() > end {
                self.below(child, end);
                self.alive.truncate(end);
            }
        }
    }

    /// Makes alive at a value what a place leads to by its segment.
    fn step(&mut self, place: usize, segment: &Segment<'_>, node: NodeId, last: bool) {
        let places = self.places;
        let place_at = &places[place];
        let found = match segment {
            Segment::Key(key) => [
                place_at.keys.get(&**key).copied(),
                place_at.any_key,
                (!place_at.keys_in_any_case.is_empty())
                    .then(|| place_at.keys_in_any_case.get(&key.to_lowercase()).copied())
                    .flatten(),
            ],
            Segment::Index(index) => [
                place_at.indices.get(index).copied(),
                place_at.any_index,
                place_at.last_index.filter(|_| last),
            ],
        };
        found.into_iter().flatten().for_each(|next| self.enter(next, node));
        if place_at.is_depth {
            // What ends here selected a value around this one already.
            self.mark(place);
        }
    }

    /// Makes a place alive at a value, and what may follow it there: `**` may stand for nothing.
    fn enter(&mut self, place: usize, node: NodeId) {
        let places = self.places;
        if !self.mark(place) {
            return;
        }
        for &rule in &places[place].ends {
            self.selected.entry(rule).or_default().push(self.document.subtree(node));
        }
        if let Some(depth) = places[place].any_depth {
            self.enter(depth, node);
        }
    }

    /// Returns whether a place was not alive yet at the present value, and makes it so.
    fn mark(&mut self, place: usize) -> bool {
        let new = self.visited[place] != self.visit;
        if new {
            self.visited[place] = self.visit;
            self.alive.push(place);
        }
        new
    }
}

impl PathPlace {
    /// Whether something below a value can be selected from here.
    fn goes_on(&self) -> bool {
        self.is_depth
            || !self.keys.is_empty()
            || !self.keys_in_any_case.is_empty()
            || !self.indices.is_empty()
            || self.any_key.or(self.any_index).or(self.last_index).is_some()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn step() -> impl Strategy<Value = String> {
        prop::sample::select(vec![".a", ".b", ".c", ".*", ".**", ".**", "[0]", "[1]", "[-1]", "[*]"])
            .prop_map(String::from)
    }

    fn pattern() -> impl Strategy<Value = PathPattern> {
        prop::collection::vec(step(), 1..5).prop_map(|steps| {
            let source = steps.concat();
            PathPattern::parse(source.strip_prefix('.').unwrap_or(&source)).unwrap()
        })
    }

    fn value() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![Just(1.into()), Just("text".into()), Just(r#"{"a":[{"b":1},2]}"#.into())];
        leaf.prop_recursive(4, 40, 4, |inner| {
            let key = prop::sample::select(vec!["a", "b", "c"]).prop_map(String::from);
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::from),
                prop::collection::btree_map(key, inner, 0..4)
                    .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
            ]
        })
    }

    /// What the segments of a pattern name from a value on, written down and slow.
    fn named(steps: &[Step], document: &Document, node: NodeId, found: &mut Vec<Range<usize>>) {
        let Some((step, rest)) = steps.split_first() else {
            return found.push(document.subtree(node));
        };
        if *step == Step::AnyDepth {
            named(rest, document, node, found);
        }
        let children: Vec<NodeId> = document.children(node).collect();
        for &child in &children {
            let fits = match (step, document.segment(child).unwrap()) {
                (Step::AnyDepth, _) => {
                    named(steps, document, child, found);
                    false
                }
                (Step::Key(wanted), Segment::Key(key)) => *wanted == key,
                (Step::AnyKey, Segment::Key(_)) | (Step::AnyIndex, Segment::Index(_)) => true,
                (Step::Index(wanted), Segment::Index(index)) => *wanted == index,
                (Step::LastIndex, Segment::Index(_)) => children.last() == Some(&child),
                _ => false,
            };
            if fits {
                named(rest, document, child, found);
            }
        }
    }

    /// What each pattern names, with one rule for each pair of patterns.
    fn selected_apart(patterns: &[PathPattern], document: &Document) -> Ranges {
        let rules = patterns.chunks(2).enumerate().map(|(rule, patterns)| {
            let mut ranges = Vec::new();
            for pattern in patterns {
                named(&pattern.steps, document, document.root(), &mut ranges);
            }
            ranges.sort_by_key(|range| (range.start, std::cmp::Reverse(range.end)));
            ranges.dedup_by(|inner, outer| inner.start < outer.end);
            (RuleIndex::new(rule), ranges)
        });
        rules.filter(|(_, ranges)| !ranges.is_empty()).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        #[test]
        fn all_patterns_together_select_what_each_selects_alone(
            patterns in prop::collection::vec(pattern(), 0..8), value in value()
        ) {
            let body = value.to_string();
            let document = Document::parse(body.into(), Format::Generic, &Limits::default()).unwrap();
            let rules = patterns.chunks(2).enumerate();
            let paths = Paths::new(rules.map(|(rule, patterns)| (RuleIndex::new(rule), patterns)));
            prop_assert_eq!(paths.select(&document), selected_apart(&patterns, &document));
        }
    }

    #[test]
    fn patterns_share_the_places_that_they_have_in_common() {
        let patterns: Vec<_> =
            (0..500).map(|n| PathPattern::parse(&format!("messages[*].metadata.key{n}")).unwrap()).collect();
        let rules = patterns.iter().enumerate();
        let paths =
            Paths::new(rules.map(|(rule, pattern)| (RuleIndex::new(rule), std::slice::from_ref(pattern))));
        assert_eq!(paths.places.len(), 1 + 3 + 500);
    }
}
