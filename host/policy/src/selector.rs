//! `match`: which leaves a rule looks at.
//!
//! A [`Selector`] is compiled once. For each request it becomes a [`Selection`]: what names no leaf
//! ([`OfRequest`]) is decided, path patterns and the latest message of the user are index ranges, and
//! what is left for each leaf are a few bit tests. What all selections of a request need is worked out once, in
//! [`Places`]. Fields are joined by "and", the words of one field by "or"; an absent field matches
//! everything.
//!
//! `section` looks outwards: a part of a user message is in a `content-part` section and in a
//! `user` section.

use std::ops::Range;
use std::sync::Arc;

use leafgate_tree::{
    Access, ContentKind, Document, Format, Inserted, Leaf, LeafKind, NodeId, Origin, Reread, Role,
    SectionKind,
};

use crate::bits::{Bits, words_of};
use crate::condition::RequestFacts;
use crate::index::RuleIndex;
use crate::name_match::NameMatch;
use crate::paths::{Ranges, SelectorPaths};
use crate::pattern::PathPattern;
use crate::request::{OfRequest, Reach};

/// A compiled `match`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Selector {
    pub(crate) kinds: Bits,
    pub(crate) roles: Bits,
    pub(crate) sections: Bits,
    pub(crate) tools: NameMatch,
    pub(crate) paths: Vec<PathPattern>,
    /// What is selected nowhere within these.
    pub(crate) not_paths: Vec<PathPattern>,
    /// Whether only the latest message of the user is selected, whatever format it stands in.
    pub(crate) latest: bool,
    pub(crate) request: OfRequest,
    pub(crate) reach: Reach,
}

impl Selector {
    /// Returns the formats that it allows.
    pub(crate) fn formats(&self) -> Vec<Format> {
        let allowed = |format: &Format| self.request.formats.allows(Bits::of(*format as usize));
        Format::ALL.iter().copied().filter(allowed).collect()
    }

    /// Whether `match = {}` was written.
    pub(crate) fn is_everything(&self) -> bool {
        self.is_everything_in_a_request() && self.request.is_everything()
    }

    /// Whether it selects nothing but tool calls in an answer, where no other card names a tool.
    pub(crate) fn is_of_calls(&self) -> bool {
        let only_calls = self.sections == Bits::of(SectionKind::ToolCall as usize);
        only_calls || !self.tools.is_everything() || self.kinds == Bits::of(LeafKind::ToolArguments as usize)
    }

    /// Whether it selects the whole of each request that it applies to.
    pub(crate) fn is_everything_in_a_request(&self) -> bool {
        self.kinds.is_empty()
            && self.roles.is_empty()
            && self.sections.is_empty()
            && self.tools.is_everything()
            && !self.is_by_place()
    }

    /// Whether the place of a value decides: a path, or the message that it stands in.
    fn is_by_place(&self) -> bool {
        !self.paths.is_empty() || !self.not_paths.is_empty() || self.latest
    }

    /// Returns the keys of the one place that it asks for in a format, where it asks nothing else of a leaf
    /// and keys alone lead there.
    pub(crate) fn only_place(&self, format: Format) -> Option<Vec<String>> {
        let alone = Selector { paths: Vec::new(), request: OfRequest::default(), ..self.clone() };
        let mut places = self.paths.iter().filter(|path| {
            let formats = path.formats();
            formats.is_empty() || formats.contains(&format)
        });
        let path = places.next().filter(|_| places.next().is_none() && alone.is_everything_in_a_request())?;
        Some(path.keys()?.into_iter().map(str::to_owned).collect())
    }

    /// Returns true where everything that another selector selects is selected by this one too. It may
    /// be so and not be seen: paths are compared as they are written.
    pub(crate) fn covers(&self, other: &Selector) -> bool {
        self.tools.covers(&other.tools)
            && covers_any(&self.paths, &other.paths)
            && self.not_paths.iter().all(|path| other.not_paths.contains(path))
            && self.kinds.covers(other.kinds)
            && self.roles.covers(other.roles)
            && self.sections.covers(other.sections)
            && (!self.latest || other.latest)
            && self.request.covers(&other.request)
    }

    /// Returns the words of a field.
    pub(crate) fn words(&self, field: Field) -> Vec<String> {
        match field {
            Field::Kind => words_of(self.kinds, LeafKind::NAMES),
            Field::Role => words_of(self.roles, Role::NAMES),
            Field::Section => words_of(self.sections, SECTION_WORDS),
            Field::Tool => vec![self.tools.to_string()],
            Field::Place => {
                let not = self.not_paths.iter().map(|path| format!("anything but {path}"));
                self.paths.iter().map(PathPattern::to_string).chain(not).collect()
            }
        }
    }

    /// Whether it names a tool and does not say where: neither kind, role, section nor place.
    pub(crate) fn names_a_tool_alone(&self) -> bool {
        let says_where = !(self.kinds.is_empty()
            && self.roles.is_empty()
            && self.sections.is_empty()
            && !self.is_by_place());
        !self.tools.is_everything() && !says_where
    }

    /// Decides what the request alone decides; `None` where the rule does not apply to it.
    pub(crate) fn for_request<'p>(
        &'p self,
        rule: RuleIndex,
        format: Format,
        request: &RequestFacts<'_>,
        places: &mut Places,
    ) -> Option<Selection<'p>> {
        self.request.applies(self.reach, format, request).then(|| Selection {
            selector: self,
            ranges: places.ranges(rule, self),
            around: (!self.sections.is_empty()).then(|| Arc::clone(&places.around)),
        })
    }
}

/// What the selections of one request have in common: the places of a document that path patterns
/// select, the latest message of the user, and the kinds of its sections.
pub(crate) struct Places {
    ranges: Ranges,
    /// What rules leave out.
    not: Ranges,
    /// All of the document.
    all: Range<usize>,
    /// Where the user spoke last.
    latest: Vec<Range<usize>>,
    /// For each section the kinds of itself and of the sections around it.
    around: Arc<[Bits]>,
}

impl Places {
    pub(crate) fn of(document: &Document, paths: &SelectorPaths) -> Self {
        Places {
            ranges: paths.any.select(document),
            not: paths.not.select(document),
            all: document.subtree(document.root()),
            latest: document.latest_user_words(),
            around: kinds_around(document).into(),
        }
    }

    /// Returns the index ranges that a rule is confined to, sorted; `None` where place is no matter.
    /// Each rule is asked for once.
    pub(crate) fn ranges(&mut self, rule: RuleIndex, selector: &Selector) -> Option<Vec<Range<usize>>> {
        if !selector.is_by_place() {
            return None;
        }
        let by_path = match (selector.paths.is_empty(), selector.latest) {
            (true, true) => self.latest.clone(),
            (true, false) => vec![self.all.clone()],
            (false, _) => self.ranges.remove(&rule).unwrap_or_default(),
        };
        let by_path = match self.not.remove(&rule) {
            Some(not) => without(&by_path, &not),
            None => by_path,
        };
        if !selector.latest {
            return Some(by_path);
        }
        Some(self.latest.iter().flat_map(|latest| ranges_within(&by_path, latest)).collect())
    }
}

/// The place of the word behind those of [`SectionKind`]: pictures, sound and files, wherever they stand.
const MEDIA: usize = SectionKind::ALL.len();

/// The words of `section`, in the order of their bits.
pub(crate) const SECTION_WORDS: &[&str] = &{
    let mut words = ["media"; MEDIA + 1];
    words.split_at_mut(MEDIA).0.copy_from_slice(SectionKind::NAMES);
    words
};

/// The fields of a selector by which leaves of the same kind, role and section are told apart from
/// others.
pub(crate) type Class = (Bits, Bits, Bits);

/// A field of a selector that a leaf does not fit, in the order in which they are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Field {
    Kind,
    Role,
    Tool,
    Section,
    Place,
}

/// A [`Selector`] applied to one request.
#[derive(Clone, Debug)]
pub(crate) struct Selection<'p> {
    /// The selector that it applies.
    pub(crate) selector: &'p Selector,
    /// Index ranges that path patterns and `latest` select, sorted; `None` without either.
    pub(crate) ranges: Option<Vec<Range<usize>>>,
    /// For each section the kinds of itself and of the sections around it; `None` where the rule
    /// does not ask.
    around: Option<Arc<[Bits]>>,
}

impl Selection<'_> {
    /// The fields that a leaf is compared with by itself, wherever it stands: kind, role and section.
    pub(crate) fn class(&self) -> Class {
        let Selector { kinds, roles, sections, .. } = *self.selector;
        (kinds, roles, sections)
    }

    /// Whether a leaf is selected.
    pub(crate) fn selects(&self, leaf: &Leaf<'_>) -> bool {
        // What most rules select, and there may be many of them for each leaf.
        self.selector.is_everything_in_a_request() || self.miss(leaf).is_none()
    }

    /// Returns the first field that a leaf does not fit; `None` where it is selected.
    #[inline]
    pub(crate) fn miss(&self, leaf: &Leaf<'_>) -> Option<Field> {
        let selector = self.selector;
        let misses = |field: Field, fits: bool| (!fits).then_some(field);
        misses(Field::Kind, selector.kinds.allows(Bits::of(leaf.kind() as usize)))
            .or_else(|| misses(Field::Role, selector.roles.allows(Bits::of(leaf.role() as usize))))
            .or_else(|| misses(Field::Tool, self.selects_tool(leaf)))
            .or_else(|| misses(Field::Section, self.selects_section(leaf)))
            .or_else(|| misses(Field::Place, self.selects_place(leaf.id())))
    }

    /// Whether a string that spells a document, set as a whole, is selected: as it is, or as
    /// anything that stood in it.
    pub(crate) fn selects_whole(&self, document: &Document, leaf: &Leaf<'_>) -> bool {
        let inside = document.subtree(leaf.id());
        self.selects(leaf)
            || inside.filter_map(|at| document.leaf(NodeId::from_index(at))).any(|leaf| self.selects(&leaf))
    }

    /// Returns the keys that are selected: those whose value is, or anything inside their value.
    pub(crate) fn keys(&self, document: &Document) -> SelectedKeys {
        if self.selector.is_everything_in_a_request() {
            return SelectedKeys::All;
        }
        SelectedKeys::Around(
            document.leaves().filter(|leaf| self.selects(leaf)).map(|leaf| leaf.id()).collect(),
        )
    }

    /// Whether the text of a message that was put in is selected. It stands where the message
    /// behind it does.
    pub(crate) fn selects_inserted(&self, document: &Document, inserted: &Inserted) -> bool {
        let selector = self.selector;
        // The client sends such a message back as material, where it begins like that.
        let own = SectionKind::of_message(inserted.role);
        let section = Bits::of(own as usize).union(Bits::of(SectionKind::Context as usize));
        let behind = document.subtree(inserted.before);
        let in_place = |ranges: &Vec<Range<usize>>| {
            ranges.iter().any(|range| range.start < behind.end && behind.start < range.end)
        };
        selector.kinds.allows(Bits::of(LeafKind::Text as usize))
            && selector.roles.allows(Bits::of(inserted.role as usize))
            && selector.sections.allows(section)
            && selector.tools.is_everything()
            // What somebody put in before it is not what the user said.
            && !selector.latest
            && self.ranges.as_ref().is_none_or(in_place)
    }

    /// Takes over which received values are selected by their place: these keep the one that they
    /// came with. What was written goes by its present place. `then` is what is selected in the
    /// received document.
    pub(crate) fn keep_places(&mut self, then: &[Range<usize>], reread: &Reread) {
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

    /// Returns the parts of some values that are selected by their place, in order.
    pub(crate) fn ranges_in(&self, nodes: &Range<usize>) -> impl Iterator<Item = Range<usize>> {
        ranges_within(self.ranges.as_deref().unwrap_or_default(), nodes)
    }

    fn selects_tool(&self, leaf: &Leaf<'_>) -> bool {
        let Selector { tools, reach, .. } = self.selector;
        let fits = || leaf.tool().is_some_and(|tool| tools.fits_tool(*reach, tool));
        tools.is_everything()
            || match reach {
                Reach::Allows => fits() && !leaf.is_of_uncertain_tool(),
                Reach::Changes => fits(),
                Reach::Restricts => fits() || leaf.is_of_uncertain_tool(),
            }
    }

    fn selects_section(&self, leaf: &Leaf<'_>) -> bool {
        let Some(around) = &self.around else { return true };
        let around = leaf.section().map(|section| around[section.index()]).unwrap_or_default();
        let media = if leaf.access() == Access::Opaque { Bits::of(MEDIA) } else { Bits::default() };
        self.selector.sections.allows(around.union(media))
    }

    fn selects_place(&self, node: NodeId) -> bool {
        self.ranges.as_ref().is_none_or(|ranges| is_in(ranges, node))
    }
}

/// Returns the parts of some ranges, sorted and disjoint, that lie within another one, in order.
fn ranges_within(ranges: &[Range<usize>], nodes: &Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let first = ranges.partition_point(|range| range.end <= nodes.start);
    let within = ranges[first..].iter().take_while(|range| range.start < nodes.end);
    within.map(|range| range.start.max(nodes.start)..range.end.min(nodes.end))
}

/// Returns what is left of some ranges without others, all sorted and disjoint.
fn without(ranges: &[Range<usize>], not: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut left = Vec::new();
    for range in ranges {
        let mut from = range.start;
        for gap in ranges_within(not, range) {
            left.push(from..gap.start);
            from = gap.end;
        }
        left.push(from..range.end);
    }
    left.retain(|range| !range.is_empty());
    left
}

/// Whether a node lies in one of these ranges, which are sorted and disjoint.
fn is_in(ranges: &[Range<usize>], node: NodeId) -> bool {
    let after = ranges.partition_point(|range| range.start <= node.index());
    after > 0 && ranges[after - 1].contains(&node.index())
}

fn kinds_around(document: &Document) -> Vec<Bits> {
    let mut around: Vec<Bits> = Vec::with_capacity(document.sections().len());
    for section in document.sections() {
        let is_media = |kind| matches!(kind, ContentKind::Image | ContentKind::Audio | ContentKind::Document);
        let has_media = section.content_kind.is_some_and(is_media);
        let media = if has_media { Bits::of(MEDIA) } else { Bits::default() };
        let own = Bits::of(section.kind as usize).union(media);
        // Parents stand before their children.
        let outer = section.parent.map_or(Bits::default(), |parent| around[parent.index()]);
        around.push(own.union(outer));
    }
    around
}

/// Whether each of some words stands among others, of which none at all allow everything.
fn covers_any<T: PartialEq>(these: &[T], others: &[T]) -> bool {
    these.is_empty() || !others.is_empty() && others.iter().all(|other| these.contains(other))
}

/// The keys of members that a [`Selection`] selects.
pub(crate) enum SelectedKeys {
    All,
    /// Those of members in which one of these leaves stands; in the order of the document.
    Around(Vec<NodeId>),
}

impl SelectedKeys {
    /// Whether the key of a member is among them.
    pub(crate) fn contain(&self, document: &Document, member: NodeId) -> bool {
        match self {
            SelectedKeys::All => true,
            SelectedKeys::Around(leaves) => {
                let inside = document.subtree(member);
                let first = leaves.partition_point(|leaf| leaf.index() < inside.start);
                leaves.get(first).is_some_and(|leaf| inside.contains(&leaf.index()))
            }
        }
    }
}
