//! One request through the phases: classify, redact, pin, saved edits, rewrite (and redact what was
//! written), decide.
//!
//! What holds here:
//! - Every rule sees the same generation and the same received request; nothing is fetched, no
//!   clock decides anything.
//! - A rule's edits apply together or not at all. Whatever a rule or plugin wrote is redacted
//!   before the next one runs, so that no later rule, and no undo, meets a text that redaction has
//!   not seen.
//! - A rule that could not run is a hold by its `on_error`, never a silent pass. A rule in monitor
//!   mode counts and changes nothing: no edit, no vault entry, no hold.
//! - A block ends the evaluation: nothing will be sent, so nothing more is done to it.

mod ahead;
mod ask;
mod beneath;
mod candidates;
mod classify;
mod decide;
mod drift;
mod edit;
mod excepted;
mod files;
mod fixed;
mod found;
mod hits;
mod holds;
mod insert;
mod keys;
mod known;
mod options;
mod outgoing;
mod outside;
#[cfg(test)]
mod plugin_work_tests;
mod recall;
mod redact;
mod release;
mod replace;
mod replay;
mod review;
mod saved;
mod scanner;
mod seams;
mod search;
mod seen;
mod site;
mod subject;
mod tools;
mod trace;
mod transform;
mod veil;
#[cfg(test)]
mod walk_tests;
mod words;
#[cfg(test)]
mod work_tests;

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::mem::take;
use std::sync::Arc;
use std::time::{Duration, Instant};

use leafgate_contract::Spent;
use leafgate_tree::{Author, Document, Draft, EditError, Leaf, NodeId, SectionId, ValueType};
use leafgate_vault::Vault;

use crate::condition::{Condition, ConditionError, FactPlace, ForRequest, LeafFacts, RequestFacts};
use crate::index::RuleIndex;
use crate::report::{PhaseTime, PluginTime, Report, RuleReport};
use crate::request::facts::request_facts;
use crate::rule::{Action, Edit, Phase, Rule};
use crate::selector::{Places, Selection};
use crate::verdict::{Cause, Hold, Verdict};
use crate::{Context, Policy};
use candidates::{Candidates, Leaves};
use holds::Holds;
use site::Site;
use trace::{Trace, WouldAt};

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

pub use recall::{Recall, Unredactable};

impl Policy {
    /// Evaluates one request: edits it, and says what becomes of it.
    ///
    /// The same document, context and vault keys give the same bytes. The vault learns the values
    /// of the tokens written.
    pub fn evaluate(&self, document: Arc<Document>, context: &Context<'_>, vault: &Vault) -> Evaluation {
        self.classified(&document, context, vault, false, |mut run| run.run_phases(|_| {}, Run::rewrite))
    }

    /// Returns the model that a rule chooses for a request; `None` where none does.
    ///
    /// Where the body names the model, [`Policy::evaluate`] edits it. Where the path does
    /// ([`Context::model`]), whoever sends the request has to write this one there.
    pub fn model_for(&self, document: &Document, context: &Context<'_>) -> Option<&str> {
        if !self.rules.iter().any(|rule| matches!(rule.action, Action::Edit(Edit::Model(_)))) {
            return None;
        }
        let request = request_facts(&self.lookup.asked, document, context);
        let chosen = options::chosen_model(self, document, &request);
        chosen.map(|(_, model)| model)
    }
}

/// The state of one evaluation.
struct Run<'p> {
    policy: &'p Policy,
    document: &'p Document,
    vault: &'p Vault,
    request: RequestFacts<'p>,
    /// What this request has cost each plugin.
    spent: Vec<Spent>,
    draft: Draft,
    /// What each rule selects in this request; `None` where it does not apply to it.
    active: Vec<Option<Active<'p>>>,
    /// The rule that chose the model, and whether the request named another one.
    chosen_model: Option<(RuleIndex, bool)>,
    /// The leaves as rules ask for them; `None` before anybody asked.
    candidates: Option<Candidates>,
    /// What each exception selects, once something was found.
    excepted: OnceCell<Vec<Option<Selection<'p>>>>,
    /// What tools are called with, once something was found.
    arguments: OnceCell<BTreeMap<SectionId, NodeId>>,
    /// Texts of leaves as they came, decoded once for all plugins.
    decoded: HashMap<NodeId, String>,
    recall: Recall,
    /// Parts outside the body whose name holds a finding.
    tainted_names: BTreeSet<usize>,
    holds: Holds,
    report: Report,
    /// What rules in monitor mode would have done, and where.
    would: Vec<(RuleIndex, Option<WouldAt>, String)>,
    /// What each rule makes of each leaf, where somebody wants to know.
    trace: Option<Trace>,
}

impl Context<'_> {
    /// Whether a rule is asked at all.
    fn asks(&self, rule: &Rule) -> bool {
        rule.on == self.on && self.only.is_none_or(|ids| ids.contains(&*rule.id))
    }
}

/// A rule that applies to this request.
struct Active<'p> {
    selection: Selection<'p>,
    /// Its condition, and what decides it, unless the request alone has.
    condition: Option<(&'p Condition, ForRequest)>,
}

impl<'p> Run<'p> {
    fn new(policy: &'p Policy, document: &'p Arc<Document>, context: &Context<'p>, vault: &'p Vault) -> Self {
        let mut request = request_facts(&policy.lookup.asked, document, context);
        let chosen = options::chosen_model(policy, document, &request);
        let before = chosen.map(|(_, model)| std::mem::replace(&mut request.model, model.to_owned()));
        let mut run = Run::of_facts(policy, document, vault, request);
        if let (Some((index, _)), Some(before)) = (chosen, before) {
            run.choose_model(index, before);
        }
        run
    }

    /// Begins with facts about a request; every rule is asked about these.
    fn of_facts(
        policy: &'p Policy,
        document: &'p Arc<Document>,
        vault: &'p Vault,
        request: RequestFacts<'p>,
    ) -> Self {
        let mut places = Places::of(document, &policy.lookup.paths);
        let rules = policy.rules.iter().enumerate();
        let active = rules
            .map(|(index, rule)| {
                let index = RuleIndex::new(index);
                match request.context.asks(rule) {
                    true => activate(index, rule, document, &request, &mut places),
                    false => None,
                }
            })
            .collect();
        Run {
            policy,
            document,
            vault,
            request,
            spent: policy.plugins.iter().map(|_| Spent::default()).collect(),
            draft: Draft::new(Arc::clone(document)),
            active,
            chosen_model: None,
            candidates: None,
            excepted: OnceCell::new(),
            arguments: OnceCell::new(),
            decoded: HashMap::new(),
            recall: Recall::default(),
            tainted_names: BTreeSet::new(),
            holds: Holds::default(),
            report: Report { rules: policy.rules.iter().map(report_of).collect(), ..Report::default() },
            would: Vec::new(),
            trace: None,
        }
    }

    /// Runs the phases behind the first, of which callers say what some are.
    fn run_phases(&mut self, saved: impl FnOnce(&mut Self), rewrite: impl FnOnce(&mut Self)) -> Evaluation {
        self.phase(Phase::Redact, Run::redact_received);
        self.phase(Phase::Pin, Run::pin);
        saved(self);
        self.phase(Phase::Rewrite, rewrite);
        // What holds the request until here, whatever the last rules decide, is kept for a review.
        let lasts = |hold: &&Hold| hold.cause != Cause::Unredactable;
        self.recall.standing = self.holds.pauses.iter().filter(lasts).cloned().collect();
        self.phase(Phase::Decide, Run::decide);
        self.finish()
    }

    fn phase(&mut self, phase: Phase, work: impl FnOnce(&mut Self)) {
        if self.holds.blocks() {
            return;
        }
        let start = Instant::now();
        work(self);
        self.report.phases.push(PhaseTime { phase, micros: micros(start.elapsed()) });
    }

    /// Runs `work` for each rule of a phase that applies to this request, in file order, until one
    /// blocks. A rule that can find nothing to do is not run, and takes no time.
    fn each_rule(&mut self, phase: Phase, mut work: impl FnMut(&mut Self, RuleIndex, &'p Rule)) {
        let policy = self.policy;
        for &index in policy.lookup.of_phase(phase) {
            if self.holds.blocks() {
                return;
            }
            if self.active[index.get()].is_none() {
                continue;
            }
            self.trace_rule(index);
            let micros = if self.is_idle(index) {
                0
            } else {
                let start = Instant::now();
                work(self, index, &policy.rules[index]);
                micros(start.elapsed())
            };
            self.report.rules[index].micros = Some(micros);
        }
    }

    fn finish(&mut self) -> Evaluation {
        if !self.holds.blocks()
            && let Err(invalid) = self.draft.validate()
        {
            // Held, not blocked: a person can take the edits back, and until then nothing is sent.
            let detail = format!("at {}", invalid.pointer);
            self.holds.pauses.push(Hold { detail, ..Hold::invalid(&invalid.rule) });
        }
        self.tell_what_would_have_been();
        self.report.plugins = self.plugin_times();
        let received = Draft::new(Arc::clone(self.draft.document()));
        Evaluation {
            draft: std::mem::replace(&mut self.draft, received),
            verdict: take(&mut self.holds).into_verdict(),
            report: take(&mut self.report),
            recall: take(&mut self.recall),
        }
    }

    /// What each declared plugin has taken. Detectors of the policy's own are no plugins to anybody.
    fn plugin_times(&self) -> Vec<PluginTime> {
        let declared = self.policy.plugins.iter().take(self.policy.declared).zip(&self.spent);
        let took = declared.map(|(loaded, spent)| PluginTime {
            plugin: Arc::clone(&loaded.name),
            micros: micros(spent.so_far().time),
        });
        took.filter(|took| took.micros > 0).collect()
    }

    /// Whether a rule applies to a leaf with a text, which is read only where its condition is about that.
    fn applies<'t>(
        &self,
        index: RuleIndex,
        leaf: &Leaf<'_>,
        text: impl FnOnce() -> Cow<'t, str>,
    ) -> Result<bool, ConditionError> {
        let Some(active) = self.active[index.get()].as_ref().filter(|active| active.selection.selects(leaf))
        else {
            return Ok(false);
        };
        match active.condition {
            None => Ok(true),
            Some((condition, decided)) => {
                let (text, key) = (text(), leaf.key());
                condition.for_leaf(decided, &self.request, self.facts(leaf, &text, &key))
            }
        }
    }

    fn facts<'a>(&'a self, leaf: &Leaf<'a>, text: &'a str, key: &'a str) -> LeafFacts<'a> {
        let section = leaf.section().map(|section| self.document.section(section));
        LeafFacts {
            place: FactPlace::Node(self.document, leaf.id()),
            text,
            kind: leaf.kind().name(),
            value: leaf.value_type().name(),
            role: leaf.role().name(),
            section: section.map_or("other", |section| section.kind.name()),
            tool: leaf.tool().unwrap_or(""),
            arguments: self.called_with(leaf.section()),
            key,
            findings: self.recall.findings.get(&Site::Leaf(leaf.id())).map_or(&[], Vec::as_slice),
        }
    }

    /// Returns the leaves that a rule applies to, as they stand now.
    fn selected(&mut self, index: RuleIndex) -> Result<Leaves, ConditionError> {
        let asked = self.asked(index).unwrap_or_default();
        if self.selects_alone(index) {
            return Ok(asked);
        }
        let mut selected = Vec::new();
        for leaf in asked.iter().filter_map(|&node| self.document.settable(node)) {
            if self.applies_now(index, &leaf)? {
                selected.push(leaf.id());
            }
        }
        Ok(selected.into())
    }

    fn applies_now(&self, index: RuleIndex, leaf: &Leaf<'_>) -> Result<bool, ConditionError> {
        let text = || self.draft.text(leaf.id()).into_cow();
        Ok(!self.draft.is_deleted(leaf.id()) && self.applies(index, leaf, text)?)
    }

    /// Counts an edit that is left out because of what it meets in the request. Any other refusal
    /// is a fault of the rule or the plugin, and is given back.
    fn skip(&mut self, index: RuleIndex, node: Option<NodeId>, error: EditError) -> Result<(), EditError> {
        let why = match error {
            EditError::Protected => "protected",
            EditError::Frozen => "frozen",
            EditError::Opaque => "media",
            EditError::Pinned { .. } => "pinned",
            EditError::Kept { .. } => "kept",
            EditError::Deleted => "deleted",
            EditError::Covered => "set as a whole",
            EditError::NotDeletable => "not deletable",
            EditError::NotInsertable(_) => "not insertable",
            // Clients write `"content": null` beside tool calls: a path that names contents means
            // the texts among them.
            EditError::BadScalar { was: ValueType::Null } => "null",
            EditError::BadScalar { was: ValueType::Text | ValueType::Number | ValueType::Boolean }
            | EditError::Unredactable { .. }
            | EditError::BadRange
            | EditError::NotALeaf
            | EditError::NotDeleted
            | EditError::NoSuchRedaction
            | EditError::NotReleasable { .. }
            | EditError::NotReceived
            | EditError::NotRedacted => return Err(error),
        };
        self.leave_undone(index, node, why);
        Ok(())
    }

    /// Counts an edit that is left out, and takes down where.
    fn leave_undone(&mut self, index: RuleIndex, node: Option<NodeId>, why: &'static str) {
        *self.report.rules[index].skipped.entry(why).or_default() += 1;
        self.trace_stood(index, node, why, None);
    }
}

fn activate<'p>(
    index: RuleIndex,
    rule: &'p Rule,
    document: &Document,
    request: &RequestFacts<'_>,
    places: &mut Places,
) -> Option<Active<'p>> {
    let selection = rule.selector.for_request(index, document.format(), request, places)?;
    let decided = rule.when.as_ref().map_or(ForRequest::Always, |when| when.for_request(request));
    let condition = rule.when.as_ref().filter(|_| decided != ForRequest::Always);
    let applies = decided != ForRequest::Never && !rule.action.skips(request);
    applies.then(|| Active { selection, condition: condition.map(|when| (when, decided)) })
}

fn report_of(rule: &Rule) -> RuleReport {
    let (action, mode) = (rule.action_name.name(), rule.mode);
    RuleReport { rule: Arc::clone(&rule.id), action, mode, ..RuleReport::default() }
}

fn author(rule: &Rule) -> Author {
    Author::rule(Arc::clone(&rule.id))
}

fn micros(took: Duration) -> u64 {
    u64::try_from(took.as_micros()).unwrap_or(u64::MAX)
}
