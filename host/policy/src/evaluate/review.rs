//! A second look at a request that a person has changed: phase 5 over what is written, then phase 6
//! again, and both over what would leave.

use std::collections::BTreeSet;
use std::sync::Arc;

use leafgate_tree::{Document, Draft, NodeId};
use leafgate_vault::Vault;

use super::holds::Held;
use super::site::Site;
use super::{Recall, Run};
use crate::index::RuleIndex;
use crate::rule::Phase;
use crate::verdict::{Cause, Hold, Verdict};
use crate::{Context, Policy};

impl Policy {
    /// Looks again at a request that a person has changed: redacts what is written in it, then asks
    /// the pause and block rules anew.
    ///
    /// `recall` is that of the request's evaluation by this same policy. The redactions amend the
    /// versions that they find, so that no undo leads back behind them.
    ///
    /// # Errors
    /// A value that must be redacted and cannot be where it was written, or a rule that could not
    /// look. The draft is unchanged then, and the change that led here must not be kept.
    pub fn review(
        &self,
        draft: &mut Draft,
        context: &Context<'_>,
        vault: &Vault,
        recall: &Recall,
    ) -> Result<Verdict, Hold> {
        let document = Arc::clone(draft.document());
        let mut run = Run::new(self, &document, context, vault);
        run.draft = draft.clone();
        run.recall.findings = recall.findings.clone();
        run.forget_replaced_findings();
        let written = run.draft.written();
        run.redact_written(&written, 0);
        if run.holds.blocks() {
            return Err(run.refused());
        }
        run.refuse_kept_values(recall)?;
        run.hold_what_stands(recall, &written);
        run.phase(Phase::Decide, Run::decide);
        run.judge_outgoing()?;
        let evaluation = run.finish();
        *draft = evaluation.draft;
        Ok(evaluation.verdict)
    }
}

impl Run<'_> {
    /// Forgets what was found in texts that somebody has written since: what stands there is what
    /// redaction marked.
    fn forget_replaced_findings(&mut self) {
        for (of, found) in &mut self.recall.findings {
            let Site::Leaf(node) = *of else { continue };
            if self.draft.is_written(node) {
                let (marks, released) = (self.draft.redacted(node), self.draft.released(node));
                found.retain(|fact| {
                    let is_it = |label: &str| *label == *fact.label.as_str();
                    marks.iter().any(|(_, label)| is_it(label))
                        || released.iter().any(|span| is_it(&span.label))
                });
            }
        }
    }

    pub(super) fn refused(self) -> Hold {
        self.holds.block.expect("it was asked whether there is one").finished()
    }

    /// Holds again for everything that held the request before and that the edits did not take
    /// away. A place that was written to was searched anew, so what is there now holds by itself;
    /// one that is gone is listed where its rule holds for others still.
    fn hold_what_stands(&mut self, recall: &Recall, written: &[NodeId]) {
        for hold in &recall.standing {
            let same = |other: &Hold| other.rule == hold.rule && other.cause == hold.cause;
            if !self.holds.pauses.iter().any(same) {
                self.holds.pauses.push(hold.clone());
            }
        }
        let written: BTreeSet<NodeId> = written.iter().copied().collect();
        let (standing, gone): (Vec<&Held>, Vec<&Held>) =
            recall.held.iter().partition(|held| self.stands(held, &written));
        for held in standing {
            if self.recall.held.insert(held.clone()) {
                self.hold_held(held, true);
            }
        }
        for held in gone {
            if !self.recall.held.contains(held) && self.holds_for(held.rule) {
                self.hold_held(held, false);
            }
        }
    }

    fn stands(&self, held: &Held, written: &BTreeSet<NodeId>) -> bool {
        match held.site {
            Site::Leaf(node) => !self.draft.is_deleted(node) && !is_replaced(self.document, node, written),
            Site::Key(node) => {
                let around = self.document.parent(node);
                !self.draft.is_deleted(node)
                    && !around.is_some_and(|around| is_replaced(self.document, around, written))
            }
            Site::Outside { .. } => true,
            // These were searched again.
            Site::Inserted(_) | Site::Option(_) | Site::Seam(_) | Site::Elsewhere => false,
            Site::File(_) => unreachable!("what stands in a file is held at its leaf"),
        }
    }

    fn holds_for(&self, rule: RuleIndex) -> bool {
        let rule = &self.policy.rules[rule];
        self.holds.pauses.iter().any(|hold| hold.rule == rule.id && hold.cause == Cause::Unredactable)
    }
}

/// Whether a value was written to, or a string around it that spells its document.
fn is_replaced(document: &Document, node: NodeId, written: &BTreeSet<NodeId>) -> bool {
    document.way_up(node).any(|at| written.contains(&at))
}
