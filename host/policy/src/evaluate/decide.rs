//! Phase 6: pause and block rules look at the request as it would leave.

use leafgate_tree::NodeId;

use super::Run;
use crate::condition::{Condition, ConditionError};
use crate::index::RuleIndex;
use crate::rule::{Action, Phase};
use crate::verdict::Cause;

impl Run<'_> {
    pub(super) fn decide(&mut self) {
        self.each_rule(Phase::Decide, |run, index, rule| {
            let blocks = match &rule.action {
                Action::Pause(_) => false,
                _ => true,
            };
            match run.first_match(index) {
                Ok(None) => {}
                Ok(Some(matched)) => {
                    run.report.rules[index].matched += 1;
                    let detail = match matched {
                        Match::Request => "the request as a whole".to_owned(),
                        Match::Leaf(node) => format!("first at {}", run.pointer(node)),
                    };
                    run.hold(index, Cause::Rule, blocks, detail);
                }
                Err(error) => run.rule_failed(index, error.to_string()),
            }
        });
    }

    /// The first thing that a rule applies to. One that names no leaf applies to a request without leaves too.
    pub(super) fn first_match(&self, index: RuleIndex) -> Result<Option<Match>, ConditionError> {
        let rule = &self.policy.rules[index];
        let when = rule.when.as_ref();
        if rule.selector.is_everything_in_a_request() && when.is_none_or(Condition::is_of_request) {
            let applies = when.map_or(Ok(true), |when| when.of_request(&self.request))?;
            return Ok(applies.then_some(Match::Request));
        }
        for leaf in self.document.leaves() {
            if self.applies_now(index, &leaf)? {
                return Ok(Some(Match::Leaf(leaf.id())));
            }
        }
        Ok(None)
    }
}

/// What a rule applies to.
pub(super) enum Match {
    Request,
    Leaf(NodeId),
}
