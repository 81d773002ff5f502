//! One request through the phases: redact, pin, rewrite (and redact what was written), decide.
//!
//! What holds here:
//! - Every rule sees the same generation and the same received request; nothing is fetched, no clock decides anything.
//! - A rule's edits apply together or not at all. Whatever a rule or plugin wrote is redacted before the next one runs, so that no
//!   later rule, and no undo, meets a text that redaction has not seen.
//! - A rule that could not run is a hold by its `on_error`, never a silent pass. A rule in monitor mode counts and changes nothing:
//!   no edit, no vault entry, no hold.
//! - A block ends the evaluation: nothing will be sent, so nothing more is done to it.

mod beneath;
mod decide;
mod edit;
mod hits;
mod insert;
mod look;
mod places;
mod redact;
mod replay;
mod review;
mod scanner;
mod transform;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use leafgate_tree::{Author, Document, Draft, EditError, Leaf, NodeId, ValueType};
use leafgate_vault::Vault;

use crate::condition::{Condition, ConditionError, FindingFact, ForRequest, LeafFacts, RequestFacts};
use crate::index::RuleIndex;
use crate::plugin::Spent;
use crate::report::{Note, PhaseTime, Report, RuleReport};
use crate::rule::{OnError, OnTimeout, Phase, Rule};
use crate::selector::Selection;
use crate::verdict::{Cause, Hold, STRUCTURE, Verdict};
use crate::{Context, Policy};

/// What an evaluation gives: the request with its edits, the verdict, and what each rule did.
#[derive(Debug)]
pub struct Evaluation {
    /// The request as it would leave, with the journal of its edits.
    pub draft: Draft,
    /// What becomes of it.
    pub verdict: Verdict,
    /// What each rule did.
    pub report: Report,
    /// What a review of this request must know. See [`Policy::review`].
    pub recall: Recall,
}

/// What was found in a request, for a later look at it. Holds labels and places, no text.
#[derive(Clone, Debug, Default)]
pub struct Recall {
    findings: BTreeMap<NodeId, Vec<FindingFact>>,
    unredactable: BTreeSet<Unredactable>,
}

impl Recall {
    /// Every place because of which the request is held, though a hold names the first alone.
    pub fn unredactable(&self) -> impl ExactSizeIterator<Item = &Unredactable> {
        self.unredactable.iter()
    }
}

/// A place with a value that must be redacted and cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unredactable {
    /// The leaf, or the member whose key it is.
    pub node: NodeId,
    /// Whether the value stands in the key.
    pub in_key: bool,
}

pub(crate) use replay::replay;
pub(crate) use review::review;

/// Evaluates one request.
pub(crate) fn evaluate(
    policy: &Policy,
    document: Arc<Document>,
    context: &Context<'_>,
    vault: &Vault,
) -> Evaluation {
    let mut run = Run::new(policy, &document, context, vault);
    run.phase(Phase::Redact, Run::redact_received);
    run.phase(Phase::Pin, Run::pin);
    run.phase(Phase::Rewrite, Run::rewrite);
    run.phase(Phase::Decide, Run::decide);
    run.finish()
}

/// The state of one evaluation.
struct Run<'p> {
    policy: &'p Policy,
    document: &'p Document,
    vault: &'p Vault,
    request: RequestFacts,
    /// What this request has cost each plugin.
    spent: Vec<Spent>,
    draft: Draft,
    /// What each rule selects in this request; `None` where it does not apply to it.
    active: Vec<Option<Active<'p>>>,
    /// What was found, for `leaf.findings`.
    findings: BTreeMap<NodeId, Vec<FindingFact>>,
    /// Members whose key holds a finding: no pointer may spell it.
    tainted: BTreeSet<NodeId>,
    unredactable: BTreeSet<Unredactable>,
    pauses: Vec<Hold>,
    block: Option<Hold>,
    report: Report,
}

/// A rule that applies to this request.
struct Active<'p> {
    selection: Selection<'p>,
    /// Its condition, and what the request alone decides about it.
    condition: Option<(&'p Condition, ForRequest)>,
}

impl<'p> Run<'p> {
    fn new(policy: &'p Policy, document: &'p Arc<Document>, context: &Context<'_>, vault: &'p Vault) -> Self {
        let request = RequestFacts {
            format: document.format().name(),
            model: document.model().unwrap_or_default().into_owned(),
            stream: document.streams(),
            session: context.session.to_owned(),
            agent: context.agent.unwrap_or_default().to_owned(),
        };
        let active = policy.rules.iter().map(|rule| activate(rule, document, &request)).collect();
        Run {
            policy,
            document,
            vault,
            request,
            spent: policy.plugins.iter().map(|_| Spent::default()).collect(),
            draft: Draft::new(Arc::clone(document)),
            active,
            findings: BTreeMap::new(),
            tainted: BTreeSet::new(),
            unredactable: BTreeSet::new(),
            pauses: Vec::new(),
            block: None,
            report: Report { rules: policy.rules.iter().map(report_of).collect(), ..Report::default() },
        }
    }

    fn phase(&mut self, phase: Phase, work: impl FnOnce(&mut Self)) {
        if self.block.is_some() {
            return;
        }
        let start = Instant::now();
        work(self);
        self.report.phases.push(PhaseTime { phase, micros: micros_since(start) });
    }

    /// Runs `work` for each rule of a phase that applies to this request, in file order, until one blocks.
    fn each_rule(&mut self, phase: Phase, mut work: impl FnMut(&mut Self, RuleIndex, &'p Rule)) {
        for (index, rule) in self.policy.rules.iter().enumerate() {
            let index = RuleIndex::new(index);
            if self.block.is_some() {
                return;
            }
            if rule.action.phase() == phase && self.active[index.get()].is_some() {
                let start = Instant::now();
                work(self, index, rule);
                self.report.rules[index].micros = Some(micros_since(start));
            }
        }
    }

    fn finish(mut self) -> Evaluation {
        if self.block.is_none()
            && let Err(invalid) = self.draft.validate()
        {
            // Held, not blocked: a person can take the edits back, and until then nothing is sent.
            self.pauses.push(Hold {
                rule: STRUCTURE.into(),
                cause: Cause::Invalid,
                reason: format!("{}: {}", Cause::Invalid.fixed_reason(), invalid.rule),
                detail: format!("at {}", invalid.pointer),
                timeout: None,
                on_timeout: OnTimeout::Cancel,
            });
        }
        let verdict = match self.block {
            Some(hold) => Verdict::Block(hold),
            None if self.pauses.is_empty() => Verdict::Forward,
            None => Verdict::Pause(self.pauses),
        };
        Evaluation {
            draft: self.draft,
            verdict,
            report: self.report,
            recall: Recall { findings: self.findings, unredactable: self.unredactable },
        }
    }

    /// Whether a rule applies to a leaf with this text.
    fn applies(&self, index: RuleIndex, leaf: &Leaf<'_>, text: &str) -> Result<bool, ConditionError> {
        let Some(active) = self.active[index.get()].as_ref().filter(|active| active.selection.selects(leaf))
        else {
            return Ok(false);
        };
        match active.condition {
            None | Some((_, ForRequest::Always)) => Ok(true),
            Some((condition, decided)) => {
                let key = leaf.key();
                condition.for_leaf(decided, &self.request, self.facts(leaf, text, &key))
            }
        }
    }

    fn facts<'a>(&'a self, leaf: &Leaf<'a>, text: &'a str, key: &'a str) -> LeafFacts<'a> {
        let section = leaf.section().map(|section| self.document.section(section));
        LeafFacts {
            document: self.document,
            node: leaf.id(),
            text,
            kind: leaf.kind().name(),
            value: leaf.value_type().name(),
            role: leaf.role().name(),
            section: section.map_or("other", |section| section.kind.name()),
            tool: leaf.tool().unwrap_or(""),
            key,
            findings: self.findings.get(&leaf.id()).map_or(&[], Vec::as_slice),
        }
    }

    /// The leaves that a rule applies to, as they stand now.
    fn selected(&self, index: RuleIndex) -> Result<Vec<NodeId>, ConditionError> {
        let mut selected = Vec::new();
        for leaf in self.document.leaves() {
            if self.applies_now(index, &leaf)? {
                selected.push(leaf.id());
            }
        }
        Ok(selected)
    }

    fn applies_now(&self, index: RuleIndex, leaf: &Leaf<'_>) -> Result<bool, ConditionError> {
        let Some(active) = &self.active[index.get()] else { return Ok(false) };
        if !active.selection.selects(leaf) || self.draft.is_deleted(leaf.id()) {
            return Ok(false);
        }
        match active.condition {
            None => Ok(true),
            Some(_) => self.applies(index, leaf, self.draft.text(leaf.id()).expose()),
        }
    }

    /// A rule could not run to its end: what its `on_error` says, or in monitor mode a count.
    fn rule_failed(&mut self, index: RuleIndex, why: impl Into<String>) {
        let rule = &self.policy.rules[index];
        let why = why.into();
        self.report.rules[index].errors.push(why.clone());
        match rule.on_error {
            OnError::Pass => {}
            OnError::Block => self.hold(index, Cause::Error, true, why),
            OnError::Pause => self.hold(index, Cause::Error, false, why),
        }
    }

    /// Holds the request on behalf of a rule; does nothing for one in monitor mode.
    fn hold(&mut self, index: RuleIndex, cause: Cause, blocks: bool, detail: String) {
        let rule = &self.policy.rules[index];
        if rule.monitors() {
            return;
        }
        let (timeout, on_timeout) = match &rule.action {
            crate::rule::Action::Pause(pause) => (pause.timeout, pause.on_timeout),
            _ => (None, OnTimeout::Cancel),
        };
        let reason = rule.reason.clone().unwrap_or_else(|| cause.fixed_reason().to_owned());
        let hold = Hold { rule: Arc::clone(&rule.id), cause, reason, detail, timeout, on_timeout };
        match blocks {
            true => self.block = self.block.take().or(Some(hold)),
            // A person is asked once about the same thing, however often it was found.
            false if self.pauses.contains(&hold) => {}
            false => self.pauses.push(hold),
        }
    }

    /// Counts an edit that is left out without being anybody's fault; any other refusal is given back.
    fn skip(&mut self, index: RuleIndex, error: EditError) -> Result<(), EditError> {
        let why = match error {
            EditError::Protected => "protected",
            EditError::Frozen => "frozen",
            EditError::Opaque => "media",
            EditError::Pinned { .. } => "pinned",
            EditError::Deleted => "deleted",
            EditError::NotDeletable => "not deletable",
            EditError::NotInsertable(_) => "not insertable",
            // Clients write `"content": null` beside tool calls: a path that names contents means the texts among them.
            EditError::BadScalar { was: ValueType::Null } => "null",
            fault => return Err(fault),
        };
        *self.report.rules[index].skipped.entry(why).or_default() += 1;
        Ok(())
    }

    fn note(
        &mut self,
        index: RuleIndex,
        plugin: &Arc<str>,
        about: &'static str,
        node: Option<NodeId>,
        text: String,
    ) {
        let rule = Arc::clone(&self.policy.rules[index].id);
        let pointer = node.map(|node| self.pointer(node));
        self.report.notes.push(Note { rule, plugin: Arc::clone(plugin), about, pointer, text });
    }
}

fn activate<'p>(rule: &'p Rule, document: &Document, request: &RequestFacts) -> Option<Active<'p>> {
    let selection = rule.selector.for_request(document, request)?;
    let condition = rule.when.as_ref().map(|when| (when, when.for_request(request)));
    if matches!(condition, Some((_, ForRequest::Never))) {
        return None;
    }
    Some(Active { selection, condition })
}

fn report_of(rule: &Rule) -> RuleReport {
    RuleReport {
        rule: Arc::clone(&rule.id),
        action: rule.action.name(),
        mode: rule.mode,
        matched: 0,
        findings: BTreeMap::new(),
        edits: 0,
        skipped: BTreeMap::new(),
        unredactable: 0,
        errors: Vec::new(),
        micros: None,
    }
}

fn author(rule: &Rule) -> Author {
    Author::rule(Arc::clone(&rule.id))
}

fn micros_since(start: Instant) -> u64 {
    u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX)
}
