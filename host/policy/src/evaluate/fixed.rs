//! What was found where nothing can be replaced, and so holds the request: keys; protected, frozen
//! and raw leaves; numbers outside tool data; path, query and headers; what only a decoded text
//! shows.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use leafgate_tree::{Access, LeafKind, NodeId, Segment, ValueType};

use super::Run;
use super::beneath::Under;
use super::found::Hidden;
use super::hits::{Covered, Hit};
use super::seams::Seams;
use super::site::{Site, Why};
use crate::index::RuleIndex;
use crate::selector::SelectedKeys;

/// Where texts are replaced, as a rule sees it that acts, and as one in monitor mode does: that replaces
/// nothing, and still does not count the same value twice.
pub(super) type Replaced = HashMap<(Site, bool), Covered>;

impl Run<'_> {
    /// Returns where each text is replaced: by the rules that act, and by all.
    pub(super) fn covered(&self, hits: &[(Site, Hit)]) -> Replaced {
        let mut ranges: HashMap<(Site, bool), Vec<Range<usize>>> = HashMap::new();
        for (site, hit) in hits {
            if !self.policy.rules[hit.rule].monitors() {
                ranges.entry((*site, false)).or_default().push(hit.range.clone());
            }
            ranges.entry((*site, true)).or_default().push(hit.range.clone());
        }
        ranges.into_iter().map(|(seen, ranges)| (seen, Covered::new(ranges))).collect()
    }

    /// Holds what stands in keys and outside the body, where nothing can be replaced.
    pub(super) fn hold_fixed(&mut self, hits: &[(Site, Hit)], hidden: &[Hidden]) {
        let visible = hits.iter().map(|(site, hit)| (*site, hit, Why::Key));
        let beneath = hidden.iter().map(|hidden| (hidden.site, &hidden.hit, why_beneath(&hidden.under)));
        let mut in_keys = Vec::new();
        for (site, hit, why) in visible.chain(beneath) {
            match site {
                Site::Key(node) => in_keys.push((node, hit, why)),
                Site::Outside { in_name: true, number } => _ = self.tainted_names.insert(number),
                Site::Leaf(_)
                | Site::Seam(_)
                | Site::Inserted(_)
                | Site::Option(_)
                | Site::Outside { in_name: false, .. }
                | Site::File(_)
                | Site::Elsewhere => {}
            }
        }
        self.hold_keys(&in_keys);
        for (site, hit) in hits.iter().filter(|(site, _)| !matches!(site, Site::Key(_))) {
            match site {
                Site::File(number) => {
                    self.remember(
                        Site::Leaf(self.request.context.files[*number].node),
                        std::slice::from_ref(hit),
                    );
                }
                _ => self.count_finding(hit.rule, hit.label.as_str()),
            }
            let why = if matches!(site, Site::Option(_)) { Why::Option } else { Why::Outside };
            self.unredactable(hit.rule, *site, &hit.label, why);
        }
    }

    /// Holds the request for every member whose key holds a finding, by the rules that look at that
    /// member.
    fn hold_keys(&mut self, found: &[(NodeId, &Hit, Why)]) {
        if found.is_empty() {
            return;
        }
        let document = self.document;
        let mut guilty: HashMap<Cow<'_, str>, Vec<(&Hit, &Why)>> = HashMap::new();
        for (node, hit, why) in found {
            if let Some(Segment::Key(text)) = document.segment(*node) {
                guilty.entry(text).or_default().push((hit, why));
            }
        }
        let keys: Vec<_> = document.keys().filter(|key| guilty.contains_key(key.text.expose())).collect();
        // All of them first: the way to one may lead through another.
        self.draft.hide_keys(keys.iter().map(|key| key.node));
        let mut selected: HashMap<RuleIndex, Option<SelectedKeys>> = HashMap::new();
        for key in keys {
            for (hit, why) in &guilty[key.text.expose()] {
                let selected = selected.entry(hit.rule).or_insert_with(|| {
                    self.active[hit.rule.get()].as_ref().map(|active| active.selection.keys(document))
                });
                if selected.as_ref().is_some_and(|selected| selected.contain(document, key.node)) {
                    self.count_finding(hit.rule, hit.label.as_str());
                    self.unredactable(hit.rule, Site::Key(key.node), &hit.label, (*why).clone());
                }
            }
        }
    }

    /// Holds what only the texts beneath others show, unless it goes with what is replaced around
    /// it.
    pub(super) fn hold_hidden(&mut self, hidden: Vec<Hidden>, replaced: &Replaced, seams: &Seams) {
        let mut escaped: BTreeMap<(Site, usize), Vec<Hidden>> = BTreeMap::new();
        for hidden in hidden {
            match (hidden.site, &hidden.under) {
                (Site::Key(_), _) => {}
                _ if self.lies_bare(&hidden) => self.hold_one(&hidden),
                (_, Under::Escapes) => escaped.entry((hidden.site, hidden.view)).or_default().push(hidden),
                (Site::Seam(number), Under::Encoding { at, .. }) => {
                    let over = at.as_ref().and_then(|at| seams.first_over(number, at));
                    if let Some(node) = over {
                        self.hold_one(&Hidden { site: Site::Leaf(node), ..hidden });
                    }
                }
                (site, Under::Encoding { at, .. }) => {
                    let covered = replaced.get(&(site, self.policy.rules[hidden.hit.rule].monitors()));
                    let goes = at.as_ref().zip(covered).is_some_and(|(at, covered)| covered.covers(at));
                    if !goes {
                        self.hold_one(&hidden);
                    }
                }
            }
        }
        for ((site, _), hidden) in escaped {
            self.hold_escaped(site, hidden, replaced);
        }
    }

    /// Holds what is seen below escapes. A text without its escapes repeats what stands in it
    /// plainly: as often as the same words are replaced there, they are covered.
    fn hold_escaped(&mut self, site: Site, hidden: Vec<Hidden>, replaced: &Replaced) {
        let text = self.text_at(site).into_owned();
        for monitors in [false, true] {
            let covered = replaced.get(&(site, monitors));
            let mut left = covered.map(|covered| covered.words(&text)).unwrap_or_default();
            for hidden in &hidden {
                if self.policy.rules[hidden.hit.rule].monitors() != monitors {
                    continue;
                }
                match left.get_mut(hidden.words.as_str()).filter(|left| **left > 0) {
                    Some(left) => *left -= 1,
                    None => self.hold_one(hidden),
                }
            }
        }
    }

    fn hold_one(&mut self, hidden: &Hidden) {
        self.count_finding(hidden.hit.rule, hidden.hit.label.as_str());
        self.unredactable(hidden.hit.rule, hidden.site, &hidden.hit.label, why_beneath(&hidden.under));
    }

    /// Returns why nothing can be replaced in a leaf; `None` where it can.
    pub(super) fn unredactable_leaf(&self, node: NodeId) -> Option<Why> {
        let leaf = self.document.settable(node)?;
        let in_tool_data = matches!(leaf.kind(), LeafKind::ToolArguments | LeafKind::ToolResult);
        match (leaf.access(), leaf.value_type()) {
            _ if self.document.is_raw() => Some(Why::Raw),
            (Access::Protected, _) => Some(Why::Protected),
            (Access::Frozen, _) => Some(Why::Frozen),
            (Access::Opaque, _) => Some(Why::Media),
            (Access::Open, ValueType::Number) if !in_tool_data => Some(Why::NumberOutsideToolData),
            (Access::Open, _) => None,
        }
    }

    /// Returns the text that was searched at a place, but for borders.
    pub(super) fn text_at(&self, site: Site) -> Cow<'_, str> {
        match site {
            Site::Leaf(node) => self.draft.text(node).into_cow(),
            Site::Key(node) => self.document.key(node).map(|key| key.text.into_cow()).unwrap_or_default(),
            Site::Inserted(number) => {
                self.draft.inserted_at(number).map(|inserted| inserted.text().into_cow()).unwrap_or_default()
            }
            Site::Outside { in_name, number } => {
                let Some(outside) = self.request.context.outside.get(number) else {
                    return Cow::Borrowed("");
                };
                if in_name { outside.part.name().unwrap_or_default() } else { &outside.text }.into()
            }
            Site::Option(number) => {
                self.draft.options().nth(number).map(|option| option.json().into_cow()).unwrap_or_default()
            }
            Site::File(number) => Cow::Borrowed(&*self.request.context.files[number].text),
            Site::Seam(_) | Site::Elsewhere => Cow::Borrowed(""),
        }
    }
}

fn why_beneath(under: &Under) -> Why {
    match under {
        Under::Escapes => Why::Escapes,
        Under::Encoding { phrase, .. } => Why::Encoded(format!("in {phrase}")),
    }
}
