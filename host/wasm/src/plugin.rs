//! [`Plugin`] for a loaded component: batches in, checked answers out.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use leafgate_admission::Script;
use leafgate_contract::{
    Amount, CheckedEdits, CheckedFindings, Cost, Description, DetectLeaf, Fault, Health, InvalidAnswer,
    Plugin, PluginWords, Spent, TransformLeaf, TransformRequest, TransformSection, World,
};

use wasmtime::component::{ComponentNamedList, Lift, Lower};

use crate::answer;
use crate::bindings::{self, detect, transform, types};
use crate::blame::{self, AskOutcome, Culprit};
use crate::budget::CallBudget;
use crate::instance::{Compiled, RunningInstance, Worked};
use crate::limits::LoaderLimits;
use crate::runtime::Runtime;
use crate::ward::{Ward, WardChange};

/// One declared plugin. `Debug` is without the configuration: that may hold the very names that are to be
/// redacted.
#[derive(derive_more::Debug)]
#[debug("WasmPlugin({name})")]
pub(crate) struct WasmPlugin {
    pub(crate) name: Arc<str>,
    pub(crate) runtime: Arc<Runtime>,
    /// The runner's, with those of its own in their place.
    pub(crate) limits: Arc<LoaderLimits>,
    pub(crate) configured: Arc<Configured>,
    pub(crate) digest: [u8; 32],
    pub(crate) config: String,
    /// The script that it is, where its code is that of the engine.
    pub(crate) script: Option<Arc<Script>>,
    /// Its faults so far, those of earlier generations included; `None` where nobody counts them.
    pub(crate) ward: Option<Arc<Ward>>,
}

/// A call that gave nothing.
struct Failed {
    fault: Fault,
    /// Whether the plugin ran, so that the fault can be its own.
    ran: bool,
}

/// Code of one file that has accepted one configuration; shared by all plugins that have both.
pub(crate) struct Configured {
    /// What is instantiated for each call.
    pub(crate) compiled: Arc<Compiled>,
    /// The code as it came, for the load that finds another configuration.
    #[expect(dead_code, reason = "held, so that the loader's cache has it")]
    pub(crate) kept: Option<Arc<Compiled>>,
    pub(crate) description: Description,
    /// Whether an instance starts configured.
    pub(crate) pre_initialised: bool,
}

impl Plugin for WasmPlugin {
    fn description(&self) -> &Description {
        &self.configured.description
    }

    fn world(&self) -> World {
        self.configured.compiled.world
    }

    fn digest(&self) -> [u8; 32] {
        self.digest
    }

    fn detect(&self, leaves: &[DetectLeaf<'_>], spent: &Spent) -> Result<CheckedFindings, Fault> {
        let mut findings = CheckedFindings::default();
        for batch in batches(leaves, &self.limits) {
            let found = self.detect_batch(&leaves[batch.clone()], spent);
            findings.append(found.map_err(|fault| fault.moved(|place| batch.start + place))?, batch.start);
        }
        Ok(findings)
    }

    fn transform(&self, request: &TransformRequest<'_>, spent: &Spent) -> Result<CheckedEdits, Fault> {
        let texts: Vec<&str> = request.leaves.iter().map(|leaf| leaf.text).collect();
        let some = |places: &[usize], spent: &Spent| {
            let leaves: Vec<_> = places.iter().map(|&place| request.leaves[place]).collect();
            self.ask_transformer(&TransformRequest { leaves: &leaves, ..*request }, spent).map(drop)
        };
        self.guarded(&texts, spent, || self.ask_transformer(request, spent), some)
    }

    fn health(&self) -> Health {
        self.ward.as_ref().map_or_else(Health::default, |ward| ward.health(Instant::now()))
    }

    fn release(&self) -> bool {
        self.ward.as_ref().is_some_and(|ward| ward.release())
    }
}

impl WasmPlugin {
    fn detect_batch(&self, leaves: &[DetectLeaf<'_>], spent: &Spent) -> Result<CheckedFindings, Fault> {
        let texts: Vec<&str> = leaves.iter().map(|leaf| leaf.text).collect();
        let some = |places: &[usize], spent: &Spent| {
            let leaves: Vec<_> = places.iter().map(|&place| leaves[place]).collect();
            self.ask_detector(&leaves, spent).map(drop)
        };
        self.guarded(&texts, spent, || self.ask_detector(leaves, spent), some)
    }

    /// Makes a call, unless the plugin is in quarantine, and keeps count of its fault. `some` asks
    /// again about the texts of some places.
    fn guarded<A>(
        &self,
        texts: &[&str],
        spent: &Spent,
        ask: impl FnOnce() -> Result<A, Failed>,
        some: impl Fn(&[usize], &Spent) -> Result<(), Failed>,
    ) -> Result<A, Fault> {
        let alone = |fault: Fault| if texts.len() == 1 { fault.on_text(0) } else { fault };
        let Some(ward) = &self.ward else { return ask().map_err(|failed| alone(failed.fault)) };
        let pass = ward.admit(Instant::now())?;
        let failed = match ask() {
            Ok(answer) => {
                self.tell(pass.answered(), None);
                return Ok(answer);
            }
            Err(failed) => failed,
        };
        if failed.is_own() && !failed.is_of_texts(spent.so_far().shown_bytes) {
            match culprit(ward, texts, &failed.fault, spent, some) {
                Culprit::Text(place) => {
                    let turn = pass.failed_on(texts[place], &failed.fault, Instant::now());
                    self.tell(turn, Some(&failed.fault));
                    return Err(failed.fault.on_text(place));
                }
                Culprit::Known => pass.failed_as_known(),
                Culprit::Untold => {}
            }
        }
        Err(failed.fault)
    }

    /// Says what operators must know: that the plugin is asked no more, or again.
    fn tell(&self, turn: WardChange, fault: Option<&Fault>) {
        match turn {
            WardChange::None => {}
            WardChange::Held(time) => tracing::warn!(
                plugin = &*self.name,
                seconds = time.as_secs(),
                last_fault = fault.map(ToString::to_string),
                "plugin is in quarantine: each of its rules does what its `on_error` says"
            ),
            WardChange::Freed => {
                tracing::info!(plugin = &*self.name, "plugin answers again: its quarantine is over")
            }
        }
    }

    fn ask_transformer(&self, request: &TransformRequest<'_>, spent: &Spent) -> Result<CheckedEdits, Failed> {
        let sections = request.sections.iter().map(section).collect::<Result<Vec<_>, _>>();
        let sections = sections.map_err(Failed::before)?;
        let leaves = (0..).zip(request.leaves).map(transform_leaf).collect::<Result<Vec<_>, _>>();
        let leaves = leaves.map_err(Failed::before)?;
        let bytes = request.leaves.iter().map(|leaf| leaf.text.len()).sum();
        let head = transform::Request {
            format: request.format,
            model: request.model,
            session: request.session,
            subagent: request.subagent,
            attributes: &[],
        };
        let given = (head, &sections[..], &leaves[..]);
        self.worked(given, leaves.len(), bytes, spent, answer::cost_of_edits, |edits| {
            let edits = edits.into_iter().map(answer::edit).collect();
            CheckedEdits::checked(edits, request, self.description().labels.len())
        })
    }

    fn ask_detector(&self, leaves: &[DetectLeaf<'_>], spent: &Spent) -> Result<CheckedFindings, Failed> {
        let given: Vec<_> = (0..).zip(leaves).map(detect_leaf).collect();
        let bytes = leaves.iter().map(|leaf| leaf.text.len()).sum();
        self.worked((&given[..],), leaves.len(), bytes, spent, answer::cost_of_findings, |findings| {
            let findings = findings.into_iter().map(answer::finding).collect();
            CheckedFindings::checked(findings, leaves, self.description().labels.len())
        })
    }

    /// Makes one call about so many leaves and bytes of text, and charges what it costs. To check the answer is on its time too.
    fn worked<P, A, C>(
        &self,
        given: P,
        leaves: usize,
        bytes: usize,
        spent: &Spent,
        cost: impl FnOnce(&[A]) -> Cost,
        check: impl FnOnce(Vec<A>) -> Result<C, Fault>,
    ) -> Result<C, Failed>
    where
        P: ComponentNamedList + Lower,
        (Worked<A>,): ComponentNamedList + Lift,
    {
        let limits = &*self.limits;
        let budget = CallBudget::begin(spent, limits, bytes).map_err(Failed::before)?;
        let mut running = self.started(&budget).map_err(Failed::starting)?;
        let answer = running.work(given, limits.deadline(leaves, bytes), &budget).map_err(Failed::running)?;
        let answer = answer.map_err(|failure| Failed::running(self.gave_up(failure)))?;
        budget.charge(cost(&answer)).map_err(Failed::running)?;
        check(answer).map_err(Failed::running)
    }

    fn gave_up(&self, failure: types::Failure) -> Fault {
        let (unsupported, said) = match failure {
            types::Failure::Unsupported(said) => (true, said),
            types::Failure::Internal(said) => (false, said),
        };
        match &self.script {
            Some(script) => script.threw(unsupported, said),
            None => Fault::GaveUp { unsupported, message: PluginWords::new(said) },
        }
    }

    /// A fresh instance, configured.
    fn started(&self, budget: &CallBudget<'_>) -> Result<RunningInstance<'_>, Fault> {
        let Configured { compiled, pre_initialised, .. } = &*self.configured;
        let mut running =
            RunningInstance::start(&self.runtime, compiled, &self.name, &self.limits, Some(budget))?;
        if *pre_initialised {
            return Ok(running);
        }
        running.configure(&self.config)?.map_err(|_| {
            Fault::Unavailable("it refuses the configuration that it accepted when it was loaded".to_owned())
        })?;
        Ok(running)
    }
}

impl Failed {
    /// The plugin was not asked.
    fn before(fault: Fault) -> Self {
        Failed { fault, ran: false }
    }

    /// It was being started. Time that ran out then was spent on waiting for its turn.
    fn starting(fault: Fault) -> Self {
        let ran = !matches!(fault, Fault::RequestTime { .. });
        Failed { fault, ran }
    }

    fn running(fault: Fault) -> Self {
        Failed { fault, ran: true }
    }

    /// Whether it speaks against the plugin. One that says that a text is nothing for it does what
    /// it should.
    fn is_own(&self) -> bool {
        self.ran && !matches!(self.fault, Fault::Unavailable(_) | Fault::GaveUp { unsupported: true, .. })
    }

    /// Whether a sound plugin would have met the same limit: it has as much to say of texts as they
    /// have bytes. Whoever sends such texts would have the plugin held for everybody else.
    fn is_of_texts(&self, shown_bytes: usize) -> bool {
        /// A finding of each byte, as the host reads it.
        const ANSWER_OF_A_BYTE: usize = 32;
        match self.fault {
            Fault::TooMuch { limit, what: Amount::Findings | Amount::Edits } => limit < shown_bytes,
            Fault::TooMuch { limit, what: Amount::Bytes }
            | Fault::Invalid(InvalidAnswer::Unreadable { limit }) => limit / ANSWER_OF_A_BYTE < shown_bytes,
            _ => false,
        }
    }
}

/// Finds the text behind a fault, in the time that the request has left. What the plugin answers
/// meanwhile is not used, and costs the request nothing else.
fn culprit(
    ward: &Ward,
    texts: &[&str],
    fault: &Fault,
    spent: &Spent,
    some: impl Fn(&[usize], &Spent) -> Result<(), Failed>,
) -> Culprit {
    let so_far = spent.so_far();
    let again = || {
        let spent = Spent::default();
        spent.charge(Cost { time: so_far.time, shown_bytes: so_far.shown_bytes, ..Cost::default() });
        spent
    };
    let mut took = so_far.time;
    let culprit = blame::find(
        texts,
        |text| ward.is_poisoned(text),
        |places| {
            let own = again();
            own.charge(Cost { time: took.saturating_sub(so_far.time), ..Cost::default() });
            let outcome = match some(places, &own) {
                Ok(()) => AskOutcome::Answered,
                // How long it runs says nothing where the request had little time left.
                Err(Failed { fault: Fault::RequestTime { .. }, .. }) => AskOutcome::Unasked,
                Err(failed) if failed.is_own() => AskOutcome::Failed,
                Err(_) => AskOutcome::Unasked,
            };
            took = own.so_far().time;
            outcome
        },
    );
    spent.charge(Cost { time: took.saturating_sub(so_far.time), ..Cost::default() });
    match (culprit, fault) {
        // One call has a deadline long before its request's time is over: what took that is slow
        // on more than the texts that are known.
        (Culprit::Untold, Fault::RequestTime { .. }) => {
            let unknown = (0..texts.len()).filter(|&place| !ward.is_poisoned(texts[place]));
            unknown.max_by_key(|&place| texts[place].len()).map_or(Culprit::Known, Culprit::Text)
        }
        _ => culprit,
    }
}

/// Cuts leaves into runs that one call may be given; at least one leaf each.
fn batches<'a>(
    leaves: &'a [DetectLeaf<'_>],
    limits: &'a LoaderLimits,
) -> impl Iterator<Item = Range<usize>> + 'a {
    let mut start = 0;
    std::iter::from_fn(move || {
        let mut end = start;
        let mut bytes = 0;
        while let Some(leaf) = leaves.get(end) {
            bytes += leaf.text.len();
            let full = end - start == limits.batch_leaves || bytes > limits.batch_bytes;
            if full && end > start {
                break;
            }
            end += 1;
        }
        let batch = start..end;
        start = end;
        (!batch.is_empty()).then_some(batch)
    })
}

fn detect_leaf<'a>((id, leaf): (u32, &DetectLeaf<'a>)) -> detect::Leaf<'a> {
    detect::Leaf {
        id,
        kind: bindings::leaf_kind(leaf.kind),
        value: bindings::value_type(leaf.value),
        role: bindings::role(leaf.role),
        tool: leaf.tool,
        key: leaf.key,
        text: leaf.text,
    }
}

fn section<'a>(section: &TransformSection<'a>) -> Result<transform::Section<'a>, Fault> {
    Ok(transform::Section {
        kind: bindings::section_kind(section.kind),
        role: bindings::role(section.role),
        label: section.label,
        tool: section.tool,
        parent: section.parent.map(place).transpose()?,
        message: section.message.map(place).transpose()?,
        attributes: &[],
    })
}

fn transform_leaf<'a>((id, leaf): (u32, &TransformLeaf<'a>)) -> Result<transform::Leaf<'a>, Fault> {
    Ok(transform::Leaf {
        id,
        section: place(leaf.section)?,
        kind: bindings::leaf_kind(leaf.kind),
        value: bindings::value_type(leaf.value),
        pointer: leaf.pointer,
        key: leaf.key,
        text: leaf.text,
    })
}

/// The contract counts in 32 bits; the caps of the tree keep every place far below.
fn place(place: usize) -> Result<u32, Fault> {
    u32::try_from(place).map_err(|_| Fault::Unavailable("the request has too many sections".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use leafgate_contract::{LeafKind, Role, ValueType};

    fn leaf(text: &str) -> DetectLeaf<'_> {
        let (kind, value, role) = (LeafKind::Text, ValueType::Text, Role::User);
        DetectLeaf { kind, value, role, tool: None, key: "content", text }
    }

    fn cut(texts: &[&str], batch_leaves: usize, batch_bytes: usize) -> Vec<Range<usize>> {
        let leaves: Vec<_> = texts.iter().map(|text| leaf(text)).collect();
        let limits = LoaderLimits { batch_leaves, batch_bytes, ..LoaderLimits::default() };
        batches(&leaves, &limits).collect()
    }

    #[test]
    fn batches_end_where_leaves_or_bytes_run_out() {
        assert_eq!(cut(&["a", "b", "c"], 2, 100), [0..2, 2..3]);
        assert_eq!(cut(&["aa", "bb", "cc"], 9, 4), [0..2, 2..3]);
        assert!(cut(&[], 9, 4).is_empty());
    }

    #[test]
    fn a_leaf_larger_than_a_batch_goes_alone() {
        assert_eq!(cut(&["a", "0123456789", "b"], 9, 4), [0..1, 1..2, 2..3]);
    }

    #[test]
    fn a_limit_of_no_leaves_still_makes_progress() {
        assert_eq!(cut(&["a", "b"], 0, 0), [0..1, 1..2]);
    }
}
