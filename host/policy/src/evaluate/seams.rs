//! Adjacent parts of one message: a reader sees their texts as one, so what lies over the border of
//! two is looked for as well.
//!
//! What is found there is one value in pieces. Its token stands in the place of the first piece,
//! and the other pieces go, so that restoring gives back the whole value once. A piece in a leaf
//! that cannot be redacted holds the request.
//!
//! A value that ends exactly at a border may take the first word of the next part with it: what reads
//! as one word is one value.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use leafgate_tree::{Access, ContentKind, Document, LeafKind, NodeId, NodeType, Section, ValueType};

use super::Run;
use super::hits::Hit;
use super::release::Guarded;
use super::search::{Rules, Search};
use super::site::Site;
use super::subject::Subject;
use crate::work;

/// How far from a border is looked, to either side. Private keys, the longest of values, have some
/// 3,500 bytes.
const REACH: usize = 4096;

/// The keys under which formats write the text of a part.
const TEXT_KEYS: &[&str] = &["text", "thinking", "refusal", "value"];

/// The runs of adjacent texts that a search looks at, and the windows around their borders.
#[derive(Default)]
pub(super) struct Seams {
    runs: Vec<Texts>,
    windows: Vec<SeamWindow>,
}

/// A run of adjacent texts.
struct Texts {
    /// The list of their parts.
    list: NodeId,
    nodes: Vec<NodeId>,
    /// Where each text begins in the joined text, and where the last one ends; empty until they are
    /// joined. All windows of a run share them: a run may have very many of both.
    borders: Vec<usize>,
}

/// A stretch of the joined text of a run.
struct SeamWindow {
    run: usize,
    /// Where it begins in the joined text.
    start: usize,
}

impl Seams {
    /// Finds the runs of adjacent texts in the lists of a document that are `open`.
    pub(super) fn of(document: &Document, open: impl Fn(NodeId) -> bool) -> Seams {
        let parts = document.sections().iter().filter(|section| is_part(section));
        let lists = parts.filter_map(|section| document.parent(section.node)).collect();
        Seams { runs: runs(document, lists, open), windows: Vec::new() }
    }

    /// Finds the runs of adjacent texts that hold one of these leaves, and looks at no other list.
    pub(super) fn around(document: &Document, leaves: &BTreeSet<NodeId>) -> Seams {
        let is_list = |list: &NodeId| {
            let mut parts = document.children(*list).filter_map(|part| document.section_at(part));
            parts.any(|part| is_part(document.section(part)))
        };
        // A text is the part itself, or one of its members.
        let part_or_list = leaves.iter().filter_map(|&leaf| document.parent(leaf));
        let near: BTreeSet<_> =
            part_or_list.flat_map(|around| [Some(around), document.parent(around)]).flatten().collect();
        let lists = near.into_iter().filter(is_list).collect();
        let mut runs = runs(document, lists, |_| true);
        runs.retain(|run| run.nodes.iter().any(|node| leaves.contains(node)));
        Seams { runs, windows: Vec::new() }
    }

    /// Returns the list of the parts that a window is over.
    pub(super) fn list_of(&self, window: usize) -> Option<NodeId> {
        self.windows.get(window).map(|window| self.runs[window.run].list)
    }

    /// Returns the leaves that a window is over.
    pub(super) fn leaves_of(&self, window: usize) -> &[NodeId] {
        self.windows.get(window).map_or(&[], |window| &self.runs[window.run].nodes)
    }

    /// Returns the first leaf that a stretch of a window lies in, where it lies over a border.
    pub(super) fn first_over(&self, window: usize, at: &Range<usize>) -> Option<NodeId> {
        let window = self.windows.get(window)?;
        let texts = &self.runs[window.run];
        let at = at.start + window.start..at.end + window.start;
        let mut pieces = pieces(&texts.borders, &at);
        let first = pieces.next()?.0;
        pieces.next().map(|_| texts.nodes[first])
    }
}

/// Returns the parts of a stretch that lie in each text of a run: the text's number, and the
/// stretch in the joined text.
pub(super) fn pieces<'b>(
    borders: &'b [usize],
    at: &Range<usize>,
) -> impl Iterator<Item = (usize, Range<usize>)> + 'b {
    let at = at.clone();
    let first = borders.partition_point(|&border| border <= at.start).saturating_sub(1);
    (first..borders.len() - 1)
        .take_while({
            let end = at.end;
            move |&text| borders[text] < end
        })
        .inspect(|_| work::step())
        .map(move |text| (text, at.start.max(borders[text])..at.end.min(borders[text + 1])))
        .filter(|(_, piece)| piece.start < piece.end)
}

impl<'p> Search<'_, 'p> {
    /// Searches around the borders of adjacent texts, on behalf of the rules that apply to any text
    /// of the run, of those that are asked about its list.
    pub(super) fn seams<'r>(&mut self, seams: &mut Seams, rules: impl Fn(NodeId) -> &'r Rules<'p>)
    where
        'p: 'r,
    {
        for run in 0..seams.runs.len() {
            self.seam_of(rules(seams.runs[run].list), seams, run);
        }
    }

    fn seam_of(&mut self, rules: &Rules<'p>, seams: &mut Seams, run: usize) {
        let nodes = &seams.runs[run].nodes;
        let leaves: Vec<_> = nodes.iter().filter_map(|&node| self.run.document.settable(node)).collect();
        if leaves.len() != nodes.len() || leaves.iter().any(|leaf| self.run.draft.is_deleted(leaf.id())) {
            return;
        }
        let (text, borders) = self.run.joined(nodes);
        let mut applying = Rules::new();
        for &(index, redact) in rules {
            if leaves
                .iter()
                .zip(borders.windows(2))
                .any(|(leaf, at)| self.applies(index, leaf, || text[at[0]..at[1]].into()))
            {
                applying.push((index, redact));
            }
        }
        if applying.is_empty() {
            return;
        }
        for stretch in stretches(&text, &borders) {
            // What the leaves let detectors do together is what the most guarded of them does.
            let touched = pieces(&borders, &stretch).map(|(part, _)| leaves[part].access());
            let access = touched.max_by_key(|access| *access != Access::Open);
            let subject = Subject {
                kind: leaves[0].kind(),
                role: leaves[0].role(),
                access: access.unwrap_or(Access::Open),
                ..Subject::new(Site::Seam(seams.windows.len()), text[stretch.clone()].to_owned())
            };
            seams.windows.push(SeamWindow { run, start: stretch.start });
            self.text(&applying, subject);
        }
        seams.runs[run].borders = borders;
    }
}

impl Run<'_> {
    /// Returns the present texts of some leaves as one, with their borders.
    pub(super) fn joined(&self, run: &[NodeId]) -> (String, Vec<usize>) {
        let (mut text, mut borders) = (String::new(), vec![0]);
        for &node in run {
            let next = self.draft.text(node).into_cow();
            match text.is_empty() {
                true => text = next.into_owned(),
                false => text.push_str(&next),
            }
            borders.push(text.len());
        }
        (text, borders)
    }

    /// Replaces what lies over borders, with everything else that was found in the leaves it lies
    /// in.
    pub(super) fn replace_over_seams(
        &mut self,
        found: Vec<(usize, Hit)>,
        leaves: &mut BTreeMap<NodeId, Vec<Hit>>,
        seams: &Seams,
        guarded: &Guarded,
    ) {
        let mut by_run: BTreeMap<usize, Vec<Hit>> = BTreeMap::new();
        for (window, hit) in found {
            let Some(window) = seams.windows.get(window) else { continue };
            let at = hit.range.start + window.start..hit.range.end + window.start;
            // What lies in one text was found there already.
            if pieces(&seams.runs[window.run].borders, &at).nth(1).is_some() {
                by_run.entry(window.run).or_default().push(hit.at(at));
            }
        }
        for (run, hits) in by_run {
            let nodes = &seams.runs[run].nodes;
            let own: Vec<Vec<Hit>> =
                nodes.iter().map(|node| leaves.remove(node).unwrap_or_default()).collect();
            self.replace_in(nodes, own, hits, guarded);
        }
    }
}

/// Returns the stretches of a joined text within reach of a border, united where they touch.
fn stretches(text: &str, borders: &[usize]) -> Vec<Range<usize>> {
    let around = |&border: &usize| {
        let start = text.floor_char_boundary(border.saturating_sub(REACH));
        start..text.ceil_char_boundary((border + REACH).min(text.len()))
    };
    let inner = &borders[1..borders.len() - 1];
    let mut stretches: Vec<Range<usize>> = Vec::new();
    for stretch in inner.iter().filter(|&&border| border > 0 && border < text.len()).map(around) {
        match stretches.last_mut() {
            Some(last) if stretch.start <= last.end => last.end = last.end.max(stretch.end),
            _ => stretches.push(stretch),
        }
    }
    stretches
}

/// Returns the runs of two or more adjacent texts in the lists of a document that are open: texts of
/// parts that stand side by side in one list.
fn runs(document: &Document, mut lists: Vec<NodeId>, open: impl Fn(NodeId) -> bool) -> Vec<Texts> {
    let mut runs: Vec<Texts> = Vec::new();
    lists.sort_unstable();
    lists.dedup();
    for list in lists.into_iter().filter(|&list| open(list)) {
        let mut nodes: Vec<NodeId> = Vec::new();
        let mut end = |nodes: Vec<NodeId>| {
            if nodes.len() > 1 {
                runs.push(Texts { list, nodes, borders: Vec::new() });
            }
        };
        for part in document.children(list) {
            work::step();
            match text_of(document, part) {
                Some(text) => nodes.push(text),
                None => end(std::mem::take(&mut nodes)),
            }
        }
        end(nodes);
    }
    runs
}

fn is_part(section: &Section) -> bool {
    let holds_text = matches!(
        section.content_kind,
        None | Some(
            ContentKind::Text
                | ContentKind::Thinking
                | ContentKind::Warning
                | ContentKind::Progress
                | ContentKind::Other
        )
    );
    section.node_type == NodeType::ContentPart && holds_text
}

/// Returns the leaf that holds the text of a part: the part itself, or one of its members.
fn text_of(document: &Document, part: NodeId) -> Option<NodeId> {
    let is_text = |node: &NodeId| {
        document.leaf(*node).is_some_and(|leaf| {
            let said = matches!(leaf.kind(), LeafKind::Text | LeafKind::Reasoning | LeafKind::ToolResult);
            said && leaf.value_type() == ValueType::Text && leaf.access() != Access::Opaque
        })
    };
    if document.leaf(part).is_some() {
        return Some(part).filter(is_text);
    }
    TEXT_KEYS.iter().filter_map(|key| document.member(part, key)).find(is_text)
}
