//! [`Plugin`] for a loaded component: batches in, checked answers out.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use leafgate_policy::plugin::{
    CheckedEdits, CheckedFindings, Description, DetectLeaf, Fault, Plugin, Spent, TransformLeaf,
    TransformRequest, TransformSection, World,
};

use crate::answer;
use crate::bindings::{self, detect, transform};
use crate::budget::Budget;
use crate::instance::{Compiled, Running};
use crate::limits::Limits;
use crate::runtime::Runtime;

/// One declared plugin.
pub(crate) struct WasmPlugin {
    pub(crate) name: Arc<str>,
    pub(crate) runtime: Arc<Runtime>,
    /// The runner's, with those of its own in their place.
    pub(crate) limits: Arc<Limits>,
    pub(crate) configured: Arc<Configured>,
    pub(crate) digest: [u8; 32],
    pub(crate) config: String,
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

impl fmt::Debug for WasmPlugin {
    /// Without the configuration: it may hold the very names that are to be redacted.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WasmPlugin")
            .field("name", &self.name)
            .field("world", &self.world())
            .finish_non_exhaustive()
    }
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
            findings.append(self.detect_batch(&leaves[batch.clone()], spent)?, batch.start);
        }
        Ok(findings)
    }

    fn transform(&self, request: &TransformRequest<'_>, spent: &Spent) -> Result<CheckedEdits, Fault> {
        let limits = &*self.limits;
        let sections: Vec<_> = request.sections.iter().map(section).collect::<Result<_, _>>()?;
        let leaves: Vec<_> = (0..).zip(request.leaves).map(transform_leaf).collect::<Result<_, _>>()?;
        let bytes = request.leaves.iter().map(|leaf| leaf.text.len()).sum();
        let head = transform::Request {
            format: request.format,
            model: request.model,
            session: request.session,
            subagent: request.subagent,
            attributes: &[],
        };
        let budget = Budget::begin(spent, limits, bytes)?;
        let mut running = self.started(&budget)?;
        let deadline = limits.deadline(leaves.len(), bytes);
        let answer = running.transform(head, &sections, &leaves, deadline, &budget)?;
        let edits = answer.map_err(answer::gave_up)?;
        budget.charge(answer::cost_of_edits(&edits))?;
        let edits = edits.into_iter().map(answer::edit).collect();
        CheckedEdits::checked(edits, request, self.description().labels.len())
    }
}

impl WasmPlugin {
    fn detect_batch(&self, leaves: &[DetectLeaf<'_>], spent: &Spent) -> Result<CheckedFindings, Fault> {
        let limits = &*self.limits;
        let given: Vec<_> = (0..).zip(leaves).map(detect_leaf).collect();
        let bytes = leaves.iter().map(|leaf| leaf.text.len()).sum();
        let budget = Budget::begin(spent, limits, bytes)?;
        let mut running = self.started(&budget)?;
        let answer = running.detect(&given, limits.deadline(leaves.len(), bytes), &budget)?;
        let findings = answer.map_err(answer::gave_up)?;
        budget.charge(answer::cost_of_findings(&findings))?;
        let findings = findings.into_iter().map(answer::finding).collect();
        CheckedFindings::checked(findings, leaves, self.description().labels.len())
    }

    /// A fresh instance, configured.
    fn started(&self, budget: &Budget<'_>) -> Result<Running<'_>, Fault> {
        let Configured { compiled, pre_initialised, .. } = &*self.configured;
        let mut running = Running::start_for(&self.runtime, compiled, &self.name, &self.limits, budget)?;
        if *pre_initialised {
            return Ok(running);
        }
        running.configure(&self.config)?.map_err(|_| {
            Fault::Unavailable("it refuses the configuration that it accepted when it was loaded".to_owned())
        })?;
        Ok(running)
    }
}

/// Cuts leaves into runs that one call may be given; at least one leaf each.
fn batches<'a>(leaves: &'a [DetectLeaf<'_>], limits: &'a Limits) -> impl Iterator<Item = Range<usize>> + 'a {
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
    use leafgate_policy::plugin::{LeafKind, Role, ValueType};

    fn leaf(text: &str) -> DetectLeaf<'_> {
        let (kind, value, role) = (LeafKind::Text, ValueType::Text, Role::User);
        DetectLeaf { kind, value, role, tool: None, key: "content", text }
    }

    fn cut(texts: &[&str], batch_leaves: usize, batch_bytes: usize) -> Vec<Range<usize>> {
        let leaves: Vec<_> = texts.iter().map(|text| leaf(text)).collect();
        let limits = Limits { batch_leaves, batch_bytes, ..Limits::default() };
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
