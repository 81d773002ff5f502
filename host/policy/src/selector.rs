//! `match`: which leaves a rule looks at.
//!
//! A [`Selector`] is compiled once. For each request it becomes a [`Selection`]: what names no leaf
//! (model, format, agent, session) is decided, path patterns are index ranges, and what is left for
//! each leaf are a few bit tests. What all selections of a request need is worked out once, in
//! [`Places`]. Fields are joined by "and", the words of one field by "or"; an absent field matches
//! everything.
//!
//! `section` looks outwards: a part of a user message is in a `content-part` section and in a
//! `user` section.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use leafgate_tree::{
    Document, Format, Inserted, Key, Leaf, LeafKind, NodeId, Origin, Reread, Role, SectionId, SectionKind,
};

use crate::condition::RequestFacts;
use crate::evaluate::section_of;
use crate::glob::Glob;
use crate::index::RuleIndex;
use crate::paths::{Paths, Ranges};
use crate::pattern::PathPattern;

/// A set of values of one enum, one bit each; empty means that the field was not given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Bits(u32);

impl Bits {
    pub(crate) fn insert(&mut self, place: usize) {
        self.0 |= 1 << place;
    }

    fn is_empty(self) -> bool {
        self.0 == 0
    }

    fn allows(self, other: Bits) -> bool {
        self.is_empty() || self.0 & other.0 != 0
    }

    fn union(self, other: Bits) -> Bits {
        Bits(self.0 | other.0)
    }

    fn of(place: usize) -> Bits {
        Bits(1 << place)
    }
}

/// A compiled `match`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selector {
    pub(crate) kinds: Bits,
    pub(crate) roles: Bits,
    pub(crate) sections: Bits,
    pub(crate) formats: Bits,
    pub(crate) tools: Vec<Glob>,
    pub(crate) models: Vec<Glob>,
    pub(crate) agents: Vec<Glob>,
    pub(crate) sessions: Vec<Glob>,
    pub(crate) paths: Vec<PathPattern>,
}

impl Selector {
    /// Returns the formats that it allows.
    pub(crate) fn formats(&self) -> Vec<Format> {
        let allowed = |format: &Format| self.formats.allows(Bits::of(*format as usize));
        Format::ALL.iter().copied().filter(allowed).collect()
    }

    /// Whether `match = {}` was written.
    pub(crate) fn is_everything(&self) -> bool {
        self.is_everything_in_a_request()
            && self.formats.is_empty()
            && self.models.is_empty()
            && self.agents.is_empty()
            && self.sessions.is_empty()
    }

    /// Whether it selects the whole of each request that it applies to.
    pub(crate) fn is_everything_in_a_request(&self) -> bool {
        self.kinds.is_empty()
            && self.roles.is_empty()
            && self.sections.is_empty()
            && self.tools.is_empty()
            && self.paths.is_empty()
    }

    /// Whether it names a tool and does not say where: neither kind, role, section nor path.
    pub(crate) fn names_a_tool_alone(&self) -> bool {
        let says_where = !(self.kinds.is_empty()
            && self.roles.is_empty()
            && self.sections.is_empty()
            && self.paths.is_empty());
        !self.tools.is_empty() && !says_where
    }

    /// Decides what the request alone decides; `None` where the rule does not apply to it.
    pub(crate) fn for_request<'p>(
        &'p self,
        rule: RuleIndex,
        format: Format,
        request: &RequestFacts,
        places: &mut Places,
    ) -> Option<Selection<'p>> {
        let named =
            |globs: &[Glob], name: &str| globs.is_empty() || globs.iter().any(|glob| glob.matches(name));
        let applies = self.formats.allows(Bits::of(format as usize))
            && named(&self.models, &request.model)
            && named(&self.agents, &request.agent)
            && named(&self.sessions, &request.session);
        applies.then(|| Selection {
            selector: self,
            ranges: (!self.paths.is_empty()).then(|| places.ranges.remove(&rule).unwrap_or_default()),
            around: (!self.sections.is_empty()).then(|| Arc::clone(&places.around)),
        })
    }
}

/// What the selections of one request have in common: the places of a document that path patterns
/// select, and the kinds of its sections.
pub(crate) struct Places {
    ranges: Ranges,
    /// For each section the kinds of itself and of the sections around it.
    around: Arc<[Bits]>,
}

impl Places {
    pub(crate) fn of(document: &Document, paths: &Paths) -> Self {
        Places { ranges: paths.select(document), around: kinds_around(document).into() }
    }
}

/// The fields of a selector by which leaves of the same kind, role and section are told apart from
/// others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Class {
    kinds: Bits,
    roles: Bits,
    sections: Bits,
}

/// A [`Selector`] applied to one request.
#[derive(Clone, Debug)]
pub(crate) struct Selection<'p> {
    selector: &'p Selector,
    /// Index ranges that the path patterns select, sorted; `None` without patterns.
    ranges: Option<Vec<Range<usize>>>,
    /// For each section the kinds of itself and of the sections around it; `None` where the rule
    /// does not ask.
    around: Option<Arc<[Bits]>>,
}

impl Selection<'_> {
    /// The index ranges that its path patterns select; `None` without patterns.
    pub(crate) fn ranges(&self) -> Option<&[Range<usize>]> {
        self.ranges.as_deref()
    }

    /// Whether its rule names tools.
    pub(crate) fn names_tools(&self) -> bool {
        !self.selector.tools.is_empty()
    }

    /// The fields that a leaf is compared with by itself, wherever it stands.
    pub(crate) fn class(&self) -> Class {
        let Selector { kinds, roles, sections, .. } = *self.selector;
        Class { kinds, roles, sections }
    }

    /// Whether a leaf is selected.
    pub(crate) fn selects(&self, leaf: &Leaf<'_>) -> bool {
        let selector = self.selector;
        selector.kinds.allows(Bits::of(leaf.kind() as usize))
            && selector.roles.allows(Bits::of(leaf.role() as usize))
            && self.selects_tool(leaf.tool())
            && self.selects_section(leaf.section())
            && self.selects_place(leaf.id())
    }

    /// Whether a string that spells a document, set as a whole, is selected: as it is, or as
    /// anything that stood in it.
    pub(crate) fn selects_whole(&self, document: &Document, leaf: &Leaf<'_>) -> bool {
        let inside = document.subtree(leaf.id());
        self.selects(leaf)
            || inside.filter_map(|at| document.leaf(NodeId::from_index(at))).any(|leaf| self.selects(&leaf))
    }

    /// Whether a key is selected: where its value is, or anything inside its value.
    pub(crate) fn selects_key(&self, document: &Document, key: &Key<'_>) -> bool {
        if self.selector.is_everything_in_a_request() {
            return true;
        }
        let inside = document.subtree(key.node);
        document.leaf(key.node).is_some_and(|leaf| self.selects(&leaf))
            || inside.filter_map(|at| document.leaf(NodeId::from_index(at))).any(|leaf| self.selects(&leaf))
    }

    /// Whether the text of a message that was put in is selected. It stands where the message
    /// behind it does.
    pub(crate) fn selects_inserted(&self, document: &Document, inserted: &Inserted) -> bool {
        let selector = self.selector;
        // The client sends such a message back as material, where it begins like that.
        let section =
            Bits::of(section_of(inserted.role()) as usize).union(Bits::of(SectionKind::Context as usize));
        let behind = document.subtree(inserted.before());
        let in_place = |ranges: &Vec<Range<usize>>| {
            ranges.iter().any(|range| range.start < behind.end && behind.start < range.end)
        };
        selector.kinds.allows(Bits::of(LeafKind::Text as usize))
            && selector.roles.allows(Bits::of(inserted.role() as usize))
            && selector.sections.allows(section)
            && selector.tools.is_empty()
            && self.ranges.as_ref().is_none_or(in_place)
    }

    /// Takes over which received values the path patterns select: these keep the path that they
    /// came with. What was written goes by its present path. `then` is what they select in the
    /// received document.
    pub(crate) fn keep_paths(&mut self, then: &[Range<usize>], reread: &Reread) {
        let Some(now) = self.ranges.as_ref().filter(|now| !now.is_empty() || !then.is_empty()) else {
            return;
        };
        let mut kept: Vec<Range<usize>> = Vec::new();
        for (node, origin) in reread.origins() {
            let selected = match origin {
                Origin::Received(from) => is_in(then, from),
                Origin::Within(_) | Origin::Inserted(_) => is_in(now, node),
            };
            match kept.last_mut().filter(|last| last.end == node.index()) {
                _ if !selected => {}
                Some(last) => last.end += 1,
                None => kept.push(node.index()..node.index() + 1),
            }
        }
        self.ranges = Some(kept);
    }

    /// Whether path patterns decide, and with them the place of a value among others.
    pub(crate) fn is_by_path(&self) -> bool {
        self.ranges.is_some()
    }

    /// Returns the parts of some values that the path patterns select, in order.
    pub(crate) fn ranges_in(&self, nodes: &Range<usize>) -> impl Iterator<Item = Range<usize>> {
        let ranges = self.ranges.as_deref().unwrap_or_default();
        let first = ranges.partition_point(|range| range.end <= nodes.start);
        let within = ranges[first..].iter().take_while(|range| range.start < nodes.end);
        within.map(|range| range.start.max(nodes.start)..range.end.min(nodes.end))
    }

    fn selects_tool(&self, tool: Option<&str>) -> bool {
        let tools = &self.selector.tools;
        tools.is_empty() || tool.is_some_and(|tool| tools.iter().any(|glob| glob.matches(tool)))
    }

    fn selects_section(&self, section: Option<SectionId>) -> bool {
        let Some(around) = &self.around else { return true };
        section.is_some_and(|section| self.selector.sections.allows(around[section.index()]))
    }

    fn selects_place(&self, node: NodeId) -> bool {
        self.ranges.as_ref().is_none_or(|ranges| is_in(ranges, node))
    }
}

/// Whether a node lies in one of these ranges, which are sorted and disjoint.
fn is_in(ranges: &[Range<usize>], node: NodeId) -> bool {
    let after = ranges.partition_point(|range| range.start <= node.index());
    after > 0 && ranges[after - 1].contains(&node.index())
}

fn kinds_around(document: &Document) -> Vec<Bits> {
    let mut around: Vec<Bits> = Vec::with_capacity(document.sections().len());
    for section in document.sections() {
        let own = Bits::of(section.kind as usize);
        // Parents stand before their children.
        let outer = section.parent.map_or(Bits::default(), |parent| around[parent.index()]);
        around.push(own.union(outer));
    }
    around
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_everything() {
            return f.write_str("everything");
        }
        let mut fields: Vec<String> = Vec::new();
        let mut field = |name: &str, words: Vec<String>| {
            if !words.is_empty() {
                fields.push(format!("{name} {}", words.join(" or ")));
            }
        };
        field("kind", words_of(self.kinds, LeafKind::ALL, |kind| kind.name()));
        field("role", words_of(self.roles, Role::ALL, |role| role.name()));
        field("section", words_of(self.sections, SectionKind::ALL, |section| section.name()));
        field("format", words_of(self.formats, Format::ALL, |format| format.name()));
        field("tool", self.tools.iter().map(Glob::to_string).collect());
        field("model", self.models.iter().map(Glob::to_string).collect());
        field("agent", self.agents.iter().map(Glob::to_string).collect());
        field("session", self.sessions.iter().map(Glob::to_string).collect());
        field("path", self.paths.iter().map(PathPattern::to_string).collect());
        f.write_str(&fields.join(", "))
    }
}

fn words_of<T: Copy>(bits: Bits, all: &[T], name: impl Fn(T) -> &'static str) -> Vec<String> {
    let chosen = all.iter().enumerate().filter(|(place, _)| bits.0 & (1 << place) != 0);
    chosen.map(|(_, &value)| name(value).to_owned()).collect()
}
