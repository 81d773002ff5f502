//! Phase 1, and again after every rule that writes: what was found is replaced.
//!
//! The findings of all rules are united and replaced text by text. What cannot be replaced holds
//! the request by the rule's `on_unredactable`: keys; protected, frozen and raw leaves; numbers
//! outside tool data; path, query and headers. What is seen only once a text is decoded pauses,
//! where the rule does not say otherwise.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use leafgate_tree::{
    Access, Document, EditError, Leaf, LeafKind, NodeId, Redaction, ReleaseTerms, Segment, ValueType,
};
use leafgate_vault::{Collision, Seen, mask, surrogate};

use super::beneath::Under;
use super::hits::{Covered, Hit, sorted_apart, unite};
use super::known::Known;
use super::release::Guarded;
use super::seams::Seams;
use super::search::{Found, Hidden, MAX_FINDINGS, Rules, Search, Subject};
use super::site::{Site, Why};
use super::{FactsOf, Run, author};
use crate::condition::FindingFact;
use crate::index::RuleIndex;
use crate::rule::{Action, Redact, Restore, With};
use crate::verdict::Cause;
use crate::work;

/// What is put in the place of a finding.
pub(super) struct Replacement {
    /// The rule that does it.
    pub(super) rule: RuleIndex,
    pub(super) redaction: Redaction,
    /// Whether a person may take it back.
    pub(super) terms: ReleaseTerms,
}

impl<'p> Run<'p> {
    /// Redacts the received request, keys and what stands outside the body included.
    pub(super) fn redact_received(&mut self) {
        let rules = self.redact_rules();
        if rules.is_empty() {
            return;
        }
        rules.iter().for_each(|(index, _)| self.trace_rule(*index));
        let known = Known::of(self, &rules);
        let all_seams = !known.asked_always().is_empty();
        let mut seams = Seams::of(self.document, |list| all_seams || known.has_open_seams(list));
        let mut search = Search::new(self);
        search.keys(&rules, &known);
        search.leaves(&rules, &known);
        search.seams(&mut seams, |list| match known.has_open_seams(list) {
            true => &rules,
            false => known.asked_always(),
        });
        search.outside(&rules);
        let found = search.finish();
        known.keep(self, &found, &seams);
        self.settle(&rules, found, &seams);
    }

    /// Redacts what an author wrote or put in, before anything else looks at it.
    pub(super) fn redact_again(&mut self, written: &[NodeId]) {
        self.redact_written(written, 0);
    }

    /// Does the same, but for the messages that were put in first, so many of them.
    pub(super) fn redact_written(&mut self, written: &[NodeId], inserted: usize) {
        let rules = self.redact_rules();
        if rules.is_empty() {
            return;
        }
        let written: BTreeSet<NodeId> = written.iter().copied().collect();
        let mut seams = Seams::around(self.document, &written);
        let mut search = Search::new(self);
        for leaf in written.iter().filter_map(|&node| self.document.settable(node)) {
            search.leaf(&rules, leaf);
        }
        search.seams(&mut seams, |_| &rules);
        search.inserted(&rules, inserted);
        search.options(&rules);
        let found = search.finish();
        self.settle(&rules, found, &seams);
    }

    /// Searches what stands outside the body, and nothing else.
    pub(super) fn redact_outside(&mut self) {
        let rules = self.redact_rules();
        let mut search = Search::new(self);
        search.outside(&rules);
        let found = search.finish();
        self.settle(&rules, found, &Seams::default());
    }

    /// Returns the redact rules that apply to this request.
    pub(super) fn redact_rules(&self) -> Rules<'p> {
        let mut rules = self.all_redact_rules();
        rules.retain(|(index, _)| self.active[index.get()].is_some());
        rules
    }

    /// Returns all redact rules of the policy.
    pub(super) fn all_redact_rules(&self) -> Rules<'p> {
        let rules = self.policy.rules.iter().enumerate();
        rules
            .filter_map(|(index, rule)| match &rule.action {
                Action::Redact(redact) => Some((RuleIndex::new(index), redact)),
                Action::Classify(_) | Action::Pin(_) | Action::Edit(_) | Action::Decide(_) => None,
            })
            .collect()
    }

    /// Acts on what a search found: what can be replaced is, and what cannot holds the request.
    fn settle(&mut self, rules: &Rules<'p>, found: Found, seams: &Seams) {
        if found.too_much {
            return self.too_much(rules);
        }
        for (index, error) in found.failed {
            self.rule_failed(index, error.to_string());
        }
        for (index, plugin, fault) in found.faults {
            self.detector_failed(index, &plugin, &fault);
        }
        for (index, label) in &found.published {
            Self::count(&mut self.report.rules[*index].published, label.as_str());
        }
        for (index, label) in &found.excepted {
            Self::count(&mut self.report.rules[*index].excepted, label.as_str());
        }
        let guarded = self.guarded(&found.hidden, seams);
        let covered = self.covered(&found.hits);
        let mut leaves: BTreeMap<NodeId, Vec<Hit>> = BTreeMap::new();
        let mut inserted: BTreeMap<usize, Vec<Hit>> = BTreeMap::new();
        let mut borders: Vec<(usize, Hit)> = Vec::new();
        let mut fixed: Vec<(Site, Hit)> = Vec::new();
        for (site, hit) in found.hits {
            match site {
                Site::Leaf(node) => leaves.entry(node).or_default().push(hit),
                Site::Inserted(number) => inserted.entry(number).or_default().push(hit),
                Site::Seam(number) => borders.push((number, hit)),
                Site::Key(_) | Site::Option(_) | Site::Outside(_) | Site::OutsideName(_) => {
                    fixed.push((site, hit));
                }
                Site::Elsewhere => {}
            }
        }
        // Names first: what holds a finding is not spelled where another place below it is named.
        self.hold_fixed(&fixed, &found.hidden);
        self.hold_hidden(found.hidden, &covered, seams);
        self.replace_over_seams(borders, &mut leaves, seams, &guarded);
        for (node, hits) in leaves {
            self.replace_in(node, hits, &guarded);
        }
        for (number, hits) in inserted {
            self.replace_in_inserted(number, hits);
        }
    }

    /// Blocks a request with more findings than it may have: each enforcing rule would leave some
    /// of them.
    fn too_much(&mut self, rules: &Rules<'p>) {
        for &(index, _) in rules {
            let why = format!("more than {MAX_FINDINGS} findings in one request (cap `max_findings`)");
            self.report.rules[index].errors.push(why.clone());
            self.hold(index, Cause::TooMuch, true, why);
        }
    }

    /// Returns where each text is replaced: by the rules that act, and by all.
    fn covered(&self, hits: &[(Site, Hit)]) -> Replaced {
        let mut acting: HashMap<Site, Vec<Range<usize>>> = HashMap::new();
        let mut all: HashMap<Site, Vec<Range<usize>>> = HashMap::new();
        for (site, hit) in hits {
            if !self.policy.rules[hit.rule].monitors() {
                acting.entry(*site).or_default().push(hit.range.clone());
            }
            all.entry(*site).or_default().push(hit.range.clone());
        }
        let covered = |ranges: HashMap<Site, Vec<Range<usize>>>| {
            ranges.into_iter().map(|(site, ranges)| (site, Covered::new(ranges))).collect()
        };
        Replaced { acting: covered(acting), all: covered(all) }
    }

    /// Replaces what was found in one leaf.
    fn replace_in(&mut self, node: NodeId, hits: Vec<Hit>, guarded: &Guarded) {
        let text = self.draft.text(node).into_cow().into_owned();
        work::decoded(text.len());
        let hits = self.exempt_all(hits, self.ours_in(node, &text), self.released_in(node), &text);
        self.remember(FactsOf::Leaf(node), &hits);
        let mut hits = self.united_of_acting(hits);
        guarded.keep(node, &mut hits);
        if let Some(why) = self.unredactable_leaf(node) {
            hits.iter()
                .for_each(|hit| self.unredactable(hit.rule, Site::Leaf(node), &hit.label, why.clone()));
            return;
        }
        let replacements = self.replacements(&hits, self.is_number(node), &text, &self.seen(node));
        // A leaf may be as large as the body: its text is given up before the draft decodes it for
        // itself.
        drop(text);
        match replacements {
            Ok(mut replacements) => {
                for (replacement, hit) in replacements.iter_mut().zip(&hits) {
                    replacement.terms = self.terms(hit);
                }
                self.replace(node, replacements);
            }
            Err((index, collision)) => self.collided(index, &collision),
        }
    }

    /// Returns the stretches of a leaf's present text in which nothing is looked for: tokens of
    /// ours, and what redaction wrote.
    pub(super) fn ours_in(&self, node: NodeId, text: &str) -> Vec<Range<usize>> {
        let mut ours = self.vault.keys().find(text);
        ours.extend(self.draft.redacted(node).into_iter().map(|(range, _)| range));
        sorted_apart(ours)
    }

    pub(super) fn united_of_acting(&self, mut hits: Vec<Hit>) -> Vec<Hit> {
        hits.retain(|hit| !self.policy.rules[hit.rule].monitors());
        hits.iter_mut().for_each(|hit| hit.kept_by = Some(hit.rule).filter(|&rule| !self.lets_release(rule)));
        unite(hits)
    }

    /// Returns what is put in the places of united findings, in their order, and for good.
    pub(super) fn replacements(
        &self,
        hits: &[Hit],
        in_number: bool,
        text: &str,
        seen: &Arc<Seen>,
    ) -> Result<Vec<Replacement>, (RuleIndex, Collision)> {
        let replacement = |hit: &Hit| {
            let with = if in_number { With::Surrogate } else { self.with(hit.rule) };
            let redaction =
                self.redaction(hit, with, text, seen).map_err(|collision| (hit.rule, collision))?;
            Ok(Replacement { rule: hit.rule, redaction, terms: ReleaseTerms::KEPT })
        };
        hits.iter().map(replacement).collect()
    }

    /// Makes replacements in a leaf, sorted and apart. Each rule is the author of its own, so they
    /// are made rule by rule.
    pub(super) fn replace(&mut self, node: NodeId, mut replacements: Vec<Replacement>) {
        let mut rules: Vec<RuleIndex> = replacements.iter().map(|one| one.rule).collect();
        rules.sort_unstable();
        rules.dedup();
        for index in rules {
            let (of_rule, terms): (Vec<Redaction>, Vec<ReleaseTerms>) = replacements
                .iter()
                .filter(|one| one.rule == index)
                .map(|one| (one.redaction.clone(), one.terms.clone()))
                .unzip();
            match self.draft.redact_on(node, &of_rule, &terms, &author(&self.policy.rules[index])) {
                Ok(()) => {
                    self.report.rules[index].edits += of_rule.len();
                    self.was_written(node);
                    shift(&mut replacements, index);
                }
                Err(error) => {
                    for redaction in &of_rule {
                        if let Ok(label) = leafgate_detect::Label::new(&redaction.label) {
                            self.unredactable(index, Site::Leaf(node), &label, refusal(&error));
                        }
                    }
                    replacements.retain(|one| one.rule != index);
                }
            }
        }
    }

    fn is_number(&self, node: NodeId) -> bool {
        self.document.settable(node).is_some_and(|leaf| leaf.value_type() == ValueType::Number)
    }

    /// Counts one more of a label.
    fn count(by_label: &mut BTreeMap<String, usize>, label: &str) {
        match by_label.get_mut(label) {
            Some(count) => *count += 1,
            None => _ = by_label.insert(label.to_owned(), 1),
        }
    }

    /// Returns why nothing can be replaced in a leaf; `None` where it can.
    pub(super) fn unredactable_leaf(&self, node: NodeId) -> Option<Why> {
        self.document.settable(node).and_then(|leaf| unredactable_leaf(self.document, &leaf))
    }

    /// Returns how a redact rule replaces a text.
    pub(super) fn with(&self, index: RuleIndex) -> With {
        match &self.policy.rules[index].action {
            Action::Redact(redact) => redact.with,
            Action::Classify(_) | Action::Pin(_) | Action::Edit(_) | Action::Decide(_) => With::Token,
        }
    }

    /// Returns whether a rule's tokens stay in the answer.
    fn stays(&self, index: RuleIndex) -> bool {
        matches!(&self.policy.rules[index].action, Action::Redact(redact) if redact.restore == Restore::Off)
    }

    pub(super) fn redaction(
        &self,
        hit: &Hit,
        with: With,
        text: &str,
        seen: &Arc<Seen>,
    ) -> Result<Redaction, Collision> {
        let (label, value) = (hit.label.as_str(), &text[hit.range.clone()]);
        let replacement = match with {
            With::Token if self.stays(hit.rule) => {
                self.vault.tokenize_for_good(label, value)?.as_str().to_owned()
            }
            With::Token => {
                self.vault.tokenize_seen(label, value, seen, &self.policy.flow)?.as_str().to_owned()
            }
            With::Mask => mask(label),
            With::Hash => self.vault.keys().hash(label, value),
            With::Surrogate => surrogate(self.vault.keys(), label, value),
            With::Drop => String::new(),
        };
        Ok(Redaction { at: hit.range.clone(), label: label.into(), replacement })
    }

    /// Blocks a request in which two values have one token: the answer would be restored to the
    /// wrong one.
    pub(super) fn collided(&mut self, index: RuleIndex, collision: &Collision) {
        self.report.rules[index].errors.push(format!("token {} is taken", collision.token));
        self.hold(index, Cause::Collision, true, collision.to_string());
    }

    /// Keeps findings for `leaf.findings` and counts them, and the text once for each rule that
    /// found something in it.
    pub(super) fn remember(&mut self, of: FactsOf, hits: &[Hit]) {
        let mut rules: Vec<RuleIndex> = Vec::new();
        for hit in hits {
            let report = &mut self.report.rules[hit.rule];
            Self::count(
                if hit.published { &mut report.published } else { &mut report.findings },
                hit.label.as_str(),
            );
            if let FactsOf::Leaf(node) = of {
                self.would_have(hit.rule, Some(node), || format!("redact {}", hit.label));
            }
            if !rules.contains(&hit.rule) {
                rules.push(hit.rule);
                self.report.rules[hit.rule].matched += 1;
            }
        }
        let fact = |hit: &Hit| FindingFact {
            label: hit.label.clone(),
            detector: hit.detector.clone(),
            confidence: hit.confidence,
        };
        // A rule that pauses for a finding does not pause for an example.
        let live: Vec<FindingFact> = hits.iter().filter(|hit| !hit.published).map(fact).collect();
        if !live.is_empty() {
            self.findings.entry(of).or_default().extend(live);
        }
    }

    pub(super) fn count_finding(&mut self, index: RuleIndex, label: &str) {
        Self::count(&mut self.report.rules[index].findings, label);
    }

    /// Holds what stands in keys and outside the body, where nothing can be replaced.
    fn hold_fixed(&mut self, hits: &[(Site, Hit)], hidden: &[Hidden]) {
        let visible = hits.iter().map(|(site, hit)| (*site, hit, Why::Key));
        let beneath = hidden.iter().map(|hidden| (hidden.site, &hidden.hit, why_beneath(&hidden.under)));
        let mut in_keys = Vec::new();
        for (site, hit, why) in visible.chain(beneath) {
            match site {
                Site::Key(node) => in_keys.push((node, hit, why)),
                Site::OutsideName(number) => _ = self.tainted_names.insert(number),
                Site::Leaf(_)
                | Site::Seam(_)
                | Site::Inserted(_)
                | Site::Option(_)
                | Site::Outside(_)
                | Site::Elsewhere => {}
            }
        }
        self.hold_keys(&in_keys);
        for (site, hit) in hits.iter().filter(|(site, _)| !matches!(site, Site::Key(_))) {
            self.count_finding(hit.rule, hit.label.as_str());
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
        for key in keys {
            for (hit, why) in &guilty[key.text.expose()] {
                let active = self.active[hit.rule.get()].as_ref();
                if active.is_some_and(|active| active.selection.selects_key(document, &key)) {
                    self.count_finding(hit.rule, hit.label.as_str());
                    self.unredactable(hit.rule, Site::Key(key.node), &hit.label, (*why).clone());
                }
            }
        }
    }

    /// Holds what only the texts beneath others show, unless it goes with what is replaced around
    /// it.
    fn hold_hidden(&mut self, hidden: Vec<Hidden>, replaced: &Replaced, seams: &Seams) {
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
                    let covered = replaced.of(self.policy.rules[hidden.hit.rule].monitors(), site);
                    let goes =
                        at.as_ref().is_some_and(|at| covered.is_some_and(|covered| covered.covers(at)));
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
            let mut left =
                replaced.of(monitors, site).map(|covered| covered.words(&text)).unwrap_or_default();
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

    /// Returns the text that was searched at a place.
    pub(super) fn text_at(&self, site: Site) -> Cow<'_, str> {
        match site {
            Site::Leaf(node) => self.draft.text(node).into_cow(),
            Site::Inserted(number) => self
                .draft
                .inserted()
                .nth(number)
                .map(|inserted| inserted.text().into_cow())
                .unwrap_or_default(),
            Site::Outside(number) => {
                Cow::Borrowed(self.outside.get(number).map_or("", |outside| outside.text))
            }
            Site::Option(number) => {
                self.draft.options().nth(number).map(|option| option.json().into_cow()).unwrap_or_default()
            }
            Site::Key(_) | Site::Seam(_) | Site::OutsideName(_) | Site::Elsewhere => Cow::Borrowed(""),
        }
    }
}

/// Where texts are replaced, by site.
struct Replaced {
    acting: HashMap<Site, Covered>,
    all: HashMap<Site, Covered>,
}

impl Replaced {
    /// Returns where a text is replaced, as a rule sees it. One in monitor mode replaces nothing,
    /// and still does not count the same value twice.
    fn of(&self, monitors: bool, site: Site) -> Option<&Covered> {
        if monitors { self.all.get(&site) } else { self.acting.get(&site) }
    }
}

impl<'s, 'p> Search<'s, 'p> {
    /// Searches every distinct key once, on behalf of all rules: which of them look at a member is
    /// asked where something was found. A plugin costs time and may fail, so that it is asked about
    /// a key only where its rule looks at a member of that name.
    fn keys(&mut self, rules: &Rules<'p>, known: &Known<'p>) {
        let run = self.run;
        let all = || known.keys().filter_map(|member| run.document.key(member));
        let mut asked: HashSet<(RuleIndex, Cow<'s, str>)> = HashSet::new();
        for &(index, _) in rules.iter().filter(|(_, redact)| !redact.plugins.is_empty()) {
            let Some(active) = run.active[index.get()].as_ref() else { continue };
            let keys = all().filter(|key| active.selection.selects_key(run.document, key));
            asked.extend(keys.map(|key| (index, key.text.into_cow())));
        }
        let mut seen: HashSet<Cow<'s, str>> = HashSet::new();
        let mut recent = Recent::default();
        for key in all() {
            let text = key.text.into_cow();
            if recent.is_known(text.clone()) || !seen.insert(text.clone()) {
                continue;
            }
            let asks = |(index, redact): &&(RuleIndex, &Redact)| {
                redact.plugins.is_empty() || asked.contains(&(*index, text.clone()))
            };
            let asking: Rules<'p> = rules.iter().filter(asks).copied().collect();
            self.text(&asking, Subject::new(Site::Key(key.node), text.clone()));
        }
    }

    /// Searches path, query and headers, and their names.
    fn outside(&mut self, rules: &Rules<'p>) {
        let run = self.run;
        for (number, outside) in run.outside.iter().enumerate() {
            if let Some(name) = outside.part.name() {
                self.text(rules, Subject::new(Site::OutsideName(number), name));
            }
            let key = outside.part.name().unwrap_or_default();
            let text = Subject::new(Site::Outside(number), outside.text);
            self.text(rules, Subject { key: key.into(), ..text });
        }
    }
}

/// Keys that were met a moment ago: a request spells the same few thousands of times, and hashing
/// each costs more than scanning it.
struct Recent<'d>([Option<Cow<'d, str>>; 64]);

impl Default for Recent<'_> {
    fn default() -> Self {
        Recent([const { None }; 64])
    }
}

impl<'d> Recent<'d> {
    /// Whether it was the last key of its kind; it is from now on.
    fn is_known(&mut self, key: Cow<'d, str>) -> bool {
        let bytes = key.as_bytes();
        let (first, last) = (bytes.first().unwrap_or(&0), bytes.last().unwrap_or(&0));
        let place = (usize::from(*first) + usize::from(*last) * 7 + bytes.len() * 31) % self.0.len();
        let known = self.0[place].as_ref() == Some(&key);
        if !known {
            self.0[place] = Some(key);
        }
        known
    }
}

/// Moves what is still to be replaced behind the replacements of one rule, which are made and leave
/// the list.
fn shift(replacements: &mut Vec<Replacement>, made: RuleIndex) {
    let (mut grown, mut shrunk) = (0, 0);
    replacements.retain_mut(|Replacement { rule, redaction, .. }| {
        super::hits::work::step();
        if *rule == made {
            grown += redaction.replacement.len();
            shrunk += redaction.at.len();
            return false;
        }
        redaction.at = redaction.at.start + grown - shrunk..redaction.at.end + grown - shrunk;
        true
    });
}

fn why_beneath(under: &Under) -> Why {
    match under {
        Under::Escapes => Why::Escapes,
        Under::Encoding { .. } => Why::Encoded(under.place().into_owned().into()),
    }
}

fn unredactable_leaf(document: &Document, leaf: &Leaf<'_>) -> Option<Why> {
    let in_tool_data = matches!(leaf.kind(), LeafKind::ToolArguments | LeafKind::ToolResult);
    match (leaf.access(), leaf.value_type()) {
        _ if document.is_raw() => Some(Why::Raw),
        (Access::Protected, _) => Some(Why::Protected),
        (Access::Frozen, _) => Some(Why::Frozen),
        (Access::Opaque, _) => Some(Why::Media),
        (Access::Open, ValueType::Number) if !in_tool_data => Some(Why::NumberOutsideToolData),
        (Access::Open, _) => None,
    }
}

pub(super) fn refusal(error: &EditError) -> Why {
    match error {
        EditError::Unredactable { .. } | EditError::BadScalar { .. } => Why::PartOfNumber,
        _ => Why::Refused,
    }
}
