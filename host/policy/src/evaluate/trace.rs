//! What each rule makes of each leaf, for people who ask why; and what rules in monitor mode would have
//! done.
//!
//! A rule is asked about every leaf in its own turn, directly before it acts, so that its condition sees
//! the texts that the rule sees. What was done is read off the draft and the holds afterwards: nothing
//! here is a second account of it. Texts are told by their length.

use std::collections::BTreeMap;
use std::sync::Arc;

use leafgate_detect::Label;
use leafgate_tree::{Author, Document, Draft, Edit, EditKind, Leaf, NodeId, Section};
use leafgate_vault::Vault;

use super::site::complaint;
use super::{Evaluation, Run};
use crate::condition::{RequestFacts, Unmet};
use crate::explain_request::{LeafAccount, LeafRule, Near, RequestExplanation, RuleAccount};
use crate::index::RuleIndex;
use crate::report::{MAX_WOULD, Would};
use crate::rule::{Mode, On, Rule};
use crate::selector::Field;
use crate::verdict::{Cause, Hold};
use crate::{Context, Policy};

/// What rules make of leaves.
#[derive(Default)]
pub(super) struct Trace {
    /// What each rule that was asked said, leaf by leaf.
    answers: BTreeMap<RuleIndex, Vec<Answer>>,
    /// What rules let stand in leaves, and why: no edit and no hold tells of it.
    stood: Vec<Stood>,
    /// Of rules that count findings, how many there are and how many there must be.
    counts: BTreeMap<RuleIndex, (usize, usize)>,
}

/// Something that a rule met in a leaf and let stand.
struct Stood {
    rule: RuleIndex,
    node: NodeId,
    why: &'static str,
    /// What it is a finding of; `None` for an edit that was left out.
    label: Option<Label>,
}

impl Trace {
    /// How much a rule has found of what it asks for.
    fn counted(&self, rule: RuleIndex) -> Option<String> {
        let (found, least) = self.counts.get(&rule)?;
        let missing = match least.saturating_sub(*found) {
            0 => String::new(),
            missing => format!(", {missing} missing"),
        };
        Some(format!("counts findings: {found} of at least {least}{missing}"))
    }

    /// What a rule let stand in a leaf, one line for each reason, in its order.
    fn stood(&self, rule: RuleIndex, node: NodeId) -> Vec<String> {
        let mut counts: BTreeMap<&str, BTreeMap<&str, usize>> = BTreeMap::new();
        for stood in self.stood.iter().filter(|stood| stood.rule == rule && stood.node == node) {
            let label = stood.label.as_ref().map_or("", Label::as_str);
            *counts.entry(stood.why).or_default().entry(label).or_default() += 1;
        }
        let told = |(why, labels): (&str, BTreeMap<&str, usize>)| {
            if labels.contains_key("") {
                return format!("left out an edit: {why}");
            }
            let labels: Vec<String> =
                labels.into_iter().map(|(label, count)| format!("{count} {label}")).collect();
            format!("{why} {}", labels.join(", "))
        };
        counts.into_iter().map(told).collect()
    }
}

/// What is told of published examples, and of findings that an exception allows.
pub(super) const PUBLISHED: &str = "found published examples:";
pub(super) const EXCEPTED: &str = "let pass by an exception:";

/// What is told of a rule that an earlier one left nothing to do.
const NOT_ASKED: &str = "an earlier rule has blocked the request";

/// What a rule makes of a leaf.
struct Answer {
    node: NodeId,
    /// The first thing that does not fit; `None` where the rule is about it.
    miss: Option<Miss>,
}

/// Why a rule is not about a leaf. Ordered by how near it came.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Miss {
    /// An earlier rule left it out.
    LeftOut,
    Field(Field),
    Condition(Unmet),
}

impl Policy {
    /// Evaluates one request as [`Policy::evaluate`] does, and says of every rule whether it applied,
    /// where, what it did, and otherwise what did not fit; and of each rule and each of these leaves the
    /// same. It takes longer: every rule is asked about every leaf.
    pub fn explain_request(
        &self,
        document: Arc<Document>,
        context: &Context<'_>,
        vault: &Vault,
        leaves: &[NodeId],
    ) -> (Evaluation, RequestExplanation) {
        self.classified(&document, context, vault, true, |mut run| {
            let evaluation = run.run_phases(|_| {}, Run::rewrite);
            let trace = run.trace.take().unwrap_or_default();
            let rules = (0..self.rules.len()).map(RuleIndex::new);
            let leaves = leaves.iter().filter_map(|&node| run.document.settable(node));
            let explanation = RequestExplanation {
                generation: self.generation_name(),
                format: run.document.format().name(),
                rules: rules.map(|index| run.rule_account(&trace, &evaluation, index)).collect(),
                leaves: leaves.map(|leaf| run.leaf_account(&trace, &evaluation, &leaf)).collect(),
            };
            (evaluation, explanation)
        })
    }
}

impl Run<'_> {
    /// Says what a rule made of the request.
    fn rule_account(&self, trace: &Trace, evaluation: &Evaluation, index: RuleIndex) -> RuleAccount {
        let (rule, report) = (&self.policy.rules[index], &evaluation.report.rules[index]);
        let answers = trace.answers.get(&index).map(Vec::as_slice).unwrap_or_default();
        let matched = answers.iter().filter(|answer| answer.miss.is_none()).count();
        RuleAccount {
            rule: rule.id.to_string(),
            origin: rule.origin.clone(),
            action: rule.action_name.name(),
            mode: rule.mode,
            phase: rule.action.phase(),
            applies: self.active[index.get()].is_some(),
            why_not: self.not_asked(trace, index),
            selected: matched,
            nearest: (matched == 0).then(|| self.near(&evaluation.draft, index, answers)).flatten(),
            did: trace.counted(index).into_iter().chain(did(report, evaluation, rule)).collect(),
            micros: report.micros,
        }
    }

    /// Says of each rule what it made of one leaf.
    fn leaf_account(&self, trace: &Trace, evaluation: &Evaluation, leaf: &Leaf<'_>) -> LeafAccount {
        let pointer = evaluation.draft.pointer(leaf.id());
        let of_rule = |index: RuleIndex| {
            let rule = &self.policy.rules[index];
            let answers = || trace.answers.get(&index).into_iter().flatten();
            let miss = || answers().find(|answer| answer.node == leaf.id())?.miss.as_ref();
            let why_not = self.not_asked(trace, index).or_else(|| Some(self.words(rule, leaf, miss()?)));
            let mut did = did_at(evaluation, (index, rule), leaf.id(), &pointer);
            did.extend(trace.stood(index, leaf.id()));
            LeafRule {
                rule: rule.id.to_string(),
                action: rule.action_name.name(),
                mode: rule.mode,
                matched: why_not.is_none(),
                why_not,
                did,
            }
        };
        let section = leaf.section().map(|section| self.document.section(section));
        LeafAccount {
            kind: leaf.kind().name(),
            role: leaf.role().name(),
            section: section.map_or("other", |section: &Section| section.kind.name()),
            tool: leaf.tool().map(str::to_owned),
            length: leaf.text().expose().len(),
            rules: (0..self.policy.rules.len()).map(RuleIndex::new).map(of_rule).collect(),
            pointer,
        }
    }

    /// Why a rule was asked about no leaf; `None` where it was.
    fn not_asked(&self, trace: &Trace, index: RuleIndex) -> Option<String> {
        if self.active[index.get()].is_none() {
            return Some(why_not(&self.policy.rules[index], self.document, &self.request));
        }
        (!trace.answers.contains_key(&index)).then(|| NOT_ASKED.to_owned())
    }

    /// Takes down what a rule makes of every leaf, where somebody wants to know.
    pub(super) fn trace_rule(&mut self, index: RuleIndex) {
        let Some(mut trace) = self.trace.take() else { return };
        let document = self.document;
        let answers = document.leaves().map(|leaf| Answer { node: leaf.id(), miss: self.miss(index, &leaf) });
        trace.answers.insert(index, answers.collect());
        self.trace = Some(trace);
        self.report.rules[index].micros.get_or_insert(0);
    }

    /// Takes down what a rule let stand in a leaf, where somebody wants to know.
    pub(super) fn trace_stood(
        &mut self,
        rule: RuleIndex,
        node: Option<NodeId>,
        why: &'static str,
        label: Option<&Label>,
    ) {
        if let (Some(trace), Some(node)) = (&mut self.trace, node) {
            trace.stood.push(Stood { rule, node, why, label: label.cloned() });
        }
    }

    /// Takes down how much a rule counts, where somebody wants to know.
    pub(super) fn trace_count(&mut self, index: RuleIndex, found: usize, least: usize) {
        if let Some(trace) = &mut self.trace {
            trace.counts.insert(index, (found, least));
        }
    }

    fn miss(&self, index: RuleIndex, leaf: &Leaf<'_>) -> Option<Miss> {
        let active = self.active[index.get()].as_ref()?;
        if self.draft.is_deleted(leaf.id()) {
            return Some(Miss::LeftOut);
        }
        if let Some(field) = active.selection.miss(leaf) {
            return Some(Miss::Field(field));
        }
        let (condition, _) = active.condition?;
        let (text, key) = (self.draft.text(leaf.id()).into_cow(), leaf.key());
        condition.unmet_by_leaf(&self.request, self.facts(leaf, &text, &key)).map(Miss::Condition)
    }

    /// The leaf that a rule came nearest to, and what kept it away. A leaf that fails a condition is
    /// nearer than one that is of another kind; among equals the first counts.
    fn near(&self, draft: &Draft, index: RuleIndex, answers: &[Answer]) -> Option<Near> {
        let misses = answers.iter().filter_map(|answer| Some((answer.miss.as_ref()?, answer.node)));
        let (miss, node) = misses.rev().max_by(|(one, _), (other, _)| one.cmp(other))?;
        let leaf = self.document.leaf(node)?;
        Some(Near {
            pointer: draft.pointer(node),
            length: leaf.text().expose().len(),
            why: self.words(&self.policy.rules[index], &leaf, miss),
        })
    }

    fn words(&self, rule: &Rule, leaf: &Leaf<'_>, miss: &Miss) -> String {
        let wanted = |field: Field| rule.selector.words(field).join(" or ");
        let is_not = |what: &str, is: &str, field| format!("its {what} is {is}, and not {}", wanted(field));
        match miss {
            Miss::LeftOut => "an earlier rule has left it out".to_owned(),
            Miss::Field(field @ Field::Kind) => is_not("kind", leaf.kind().name(), *field),
            Miss::Field(field @ Field::Role) => is_not("role", leaf.role().name(), *field),
            Miss::Field(Field::Tool) => match leaf.tool() {
                Some(tool) => format!("its tool is {tool}, and not {}", wanted(Field::Tool)),
                None => format!("it is of no tool, and not of {}", wanted(Field::Tool)),
            },
            Miss::Field(field @ Field::Section) => {
                let section = leaf.section().map_or("other", |it| self.document.section(it).kind.name());
                is_not("section", section, *field)
            }
            Miss::Field(Field::Place) if rule.selector.words(Field::Place).is_empty() => {
                "it is not in the latest message of the user".to_owned()
            }
            Miss::Field(Field::Place) => format!("its path is not {}", wanted(Field::Place)),
            Miss::Condition(Unmet::Term(place)) => {
                let term = rule.when.as_ref().map_or("", |when| when.term(*place));
                format!("`when` is false: {term}")
            }
            Miss::Condition(Unmet::Failed(error)) => error.to_string(),
        }
    }

    /// Records what a rule would have done, where it only counts.
    pub(super) fn would_have(
        &mut self,
        index: RuleIndex,
        node: Option<NodeId>,
        what: impl FnOnce() -> String,
    ) {
        if !self.policy.rules[index].monitors() {
            return;
        }
        self.would_have_at(index, node.map(WouldAt::Node), what);
    }

    fn would_have_at(&mut self, index: RuleIndex, at: Option<WouldAt>, what: impl FnOnce() -> String) {
        // Who has a leaf explained wants to know of each.
        let told = || self.would.iter().filter(|(rule, ..)| *rule == index).count();
        if self.trace.is_some() || told() < MAX_WOULD {
            self.would.push((index, at, what()));
        }
    }

    /// Records the edits that stand now, and did not when there were fewer, as those that a rule would
    /// have made.
    pub(super) fn would_have_edited(&mut self, index: RuleIndex, before: usize) {
        let most = if self.trace.is_some() { usize::MAX } else { MAX_WOULD };
        let edits: Vec<(WouldAt, EditKind)> = self
            .draft
            .edits()
            .skip(before)
            .take(most)
            .map(|edit| {
                let option = self.draft.option_by(edit).map(|option| WouldAt::Option(option.pointer()));
                (option.unwrap_or(WouldAt::Node(edit.target)), edit.kind)
            })
            .collect();
        for (at, kind) in edits {
            self.would_have_at(index, Some(at), || kind.name().to_owned());
        }
    }

    /// Puts what rules in monitor mode would have done into the report. Which keys hold a finding is
    /// known by now.
    pub(super) fn tell_what_would_have_been(&mut self) {
        for (index, at, what) in std::mem::take(&mut self.would) {
            let at = at.map(|at| match at {
                WouldAt::Node(node) => self.draft.pointer(node),
                WouldAt::Option(pointer) => pointer,
            });
            self.report.rules[index].would.push(Would { what, at });
        }
    }
}

/// Where a rule in monitor mode would have done something.
pub(super) enum WouldAt {
    Node(NodeId),
    /// A member that it would put in, by its pointer.
    Option(String),
}

/// Why a rule does not apply to a request at all.
fn why_not(rule: &Rule, document: &Document, request: &RequestFacts<'_>) -> String {
    if rule.on != On::Request {
        return format!("it is about answers: `on = \"{}\"`", rule.on);
    }
    if let Some(miss) = rule.selector.request.miss(rule.selector.reach, document.format(), request) {
        return miss;
    }
    if let (Some(when), Some(Unmet::Term(place))) =
        (&rule.when, rule.when.as_ref().and_then(|when| when.unmet_by_request(request)))
    {
        return format!("`when` is false: {}", when.term(place));
    }
    "it lets requests of sub-agents pass".to_owned()
}

fn holds_of<'e>(evaluation: &'e Evaluation, rule: &Rule) -> Vec<(&'static str, &'e Hold)> {
    let holds = match &evaluation.verdict {
        crate::Verdict::Forward | crate::Verdict::Route(_) => Vec::new(),
        crate::Verdict::Pause(holds) => holds.iter().map(|hold| ("pauses", hold)).collect(),
        crate::Verdict::Block(hold) => vec![("blocks", hold)],
    };
    holds.into_iter().filter(|(_, hold)| hold.rule == rule.id).collect()
}

/// What a rule did to a request, one line each.
fn did(report: &crate::RuleReport, evaluation: &Evaluation, rule: &Rule) -> Vec<String> {
    let would = if report.mode == Mode::Enforce { "made" } else { "would have made" };
    let counted = |what: &str, counts: &std::collections::BTreeMap<String, usize>| {
        let counts: Vec<String> = counts.iter().map(|(label, count)| format!("{count} {label}")).collect();
        (!counts.is_empty()).then(|| format!("{what} {}", counts.join(", ")))
    };
    let plural = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let mut did: Vec<String> = [
        counted("found", &report.findings),
        counted(PUBLISHED, &report.published),
        counted(EXCEPTED, &report.excepted),
        (report.edits > 0).then(|| format!("{would} {}", plural(report.edits, "edit"))),
        (report.unredactable > 0).then(|| format!("could not replace {}", report.unredactable)),
    ]
    .into_iter()
    .flatten()
    .collect();
    did.extend(
        report.skipped.iter().map(|(why, count)| format!("left out {}: {why}", plural(*count, "edit"))),
    );
    did.extend(report.errors.iter().map(|error| format!("failed: {error}")));
    let holds = holds_of(evaluation, rule);
    did.extend(holds.iter().map(|(how, hold)| format!("{how} the request: {}", hold.detail)));
    if let crate::Verdict::Route(route) = &evaluation.verdict
        && route.rule == rule.id
    {
        did.push(format!("routes the request to `{}`: {}", route.to, route.detail));
    }
    did.extend(report.would.iter().take(MAX_WOULD).map(|would| format!("would {would}")));
    if let Some(more) = report.would.len().checked_sub(MAX_WOULD).filter(|more| *more > 0) {
        did.push(format!("would do {more} more"));
    }
    did
}

/// Returns what an edit did to a leaf.
fn edited(draft: &Draft, edit: &Edit, node: NodeId) -> Option<&'static str> {
    let covers = draft.document().subtree(edit.target).contains(&node.index());
    match edit.kind {
        EditKind::Set | EditKind::Option if edit.target == node => Some("set it"),
        EditKind::Delete if covers => Some("left it out"),
        EditKind::Option if covers && draft.is_deleted(node) => Some("put another value there"),
        EditKind::Set
        | EditKind::Delete
        | EditKind::Option
        | EditKind::Restore
        | EditKind::Insert
        | EditKind::Release
        | EditKind::Reset => None,
    }
}

/// What a rule did at a leaf, one line each.
fn did_at(
    evaluation: &Evaluation,
    (index, rule): (RuleIndex, &Rule),
    node: NodeId,
    pointer: &str,
) -> Vec<String> {
    let draft = &evaluation.draft;
    let is_own = |author: &Author| author.of_rule() == Some(&rule.id);
    let mut did = Vec::new();
    for made in draft.redactions().filter(|made| made.node == node && is_own(&made.author)) {
        did.push(format!("redacted {}", made.label));
    }
    let edits = draft.edits().filter(|edit| is_own(&edit.author));
    did.extend(edits.filter_map(|edit| edited(draft, edit, node)).map(str::to_owned));
    if draft.pin_in(node).is_some_and(is_own) {
        did.push("pinned it".to_owned());
    }
    let mut how_held = None;
    for (how, hold) in holds_of(evaluation, rule) {
        if hold.cause == Cause::Unredactable {
            how_held = Some(how);
            continue;
        }
        let here = hold.places.iter().filter(|place| place.node == Some(node));
        did.extend(here.map(|place| format!("{how} the request: {}", place.what)));
    }
    // A hold lists its first places alone.
    let held = evaluation.recall.held.iter();
    for held in held.filter(|held| held.rule == index && held.site.node() == Some(node)) {
        let what = complaint(held.site, held.label.as_str(), &held.why);
        did.push(match how_held {
            Some(how) => format!("{how} the request: {what}"),
            None => format!("could not replace {what}"),
        });
    }
    let would = evaluation.report.rules[index].would.iter();
    let here = would.filter(|would| would.at.as_deref() == Some(pointer));
    did.extend(here.map(|would| format!("would {}", would.what)));
    did
}
