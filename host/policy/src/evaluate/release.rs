//! What a person let go, and what no rule lets go.
//!
//! A redaction is releasable if all rules that found something of it are, in the text and beneath it.
//! A released stretch is not redacted again by rules that let it go; all others look at it as at any
//! text. A value is kept wherever a rule that is not releasable met it in the same request, as
//! it stood or decoded: what one place keeps does not leave at another.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use leafgate_detect::views;
use leafgate_tree::{FindingId, NodeId, RedactionRecord, ReleaseTerms};

use super::found::Hidden;
use super::hits::{Hit, exempt, sorted_apart};
use super::holds::Held;
use super::seams::Seams;
use super::site::Site;
use super::{Recall, Run};
use crate::index::RuleIndex;
use crate::verdict::{Cause, Hold};

/// Bytes of the shortest text that counts as a part of another one. Shorter ones are in everything.
const PART: usize = 4;

const KEPT: &str = "a value that this rule keeps from leaving was released elsewhere in the request";

/// A stretch of a leaf, or all of it, beneath which a rule found something.
type Guard = (Option<Range<usize>>, RuleIndex);

/// Stretches beneath which a rule found something that it does not let go.
#[derive(Default)]
pub(super) struct Guarded(BTreeMap<NodeId, Vec<Guard>>);

impl Guarded {
    /// Returns a rule that keeps something beneath a stretch of a leaf.
    pub(super) fn keeper(&self, node: NodeId, at: &Range<usize>) -> Option<RuleIndex> {
        let meets = |beneath: &Option<Range<usize>>| {
            beneath.as_ref().is_none_or(|beneath| beneath.start < at.end && at.start < beneath.end)
        };
        self.0.get(&node)?.iter().find(|(beneath, _)| meets(beneath)).map(|(_, rule)| *rule)
    }
}

impl Run<'_> {
    /// Returns true if and only if a person may release what a rule redacted.
    pub(super) fn lets_release(&self, rule: RuleIndex) -> bool {
        self.policy.rules[rule].redact().is_some_and(|redact| redact.releasable)
    }

    /// Returns on which terms a finding is redacted.
    pub(super) fn terms(&mut self, hit: &Hit) -> ReleaseTerms {
        match hit.kept_by {
            Some(rule) => {
                let other = (rule != hit.rule).then(|| self.policy.rules[rule].id.clone());
                ReleaseTerms::Kept { by: other }
            }
            None => ReleaseTerms::Releasable(self.draft.new_finding()),
        }
    }

    /// Returns the stretches beneath which enforcing rules found what they do not let go.
    pub(super) fn guarded(&self, hidden: &[Hidden], seams: &Seams) -> Guarded {
        let mut guarded = Guarded::default();
        let keeps = |rule: RuleIndex| !self.policy.rules[rule].monitors() && !self.lets_release(rule);
        for hidden in hidden.iter().filter(|hidden| keeps(hidden.hit.rule)) {
            let mut guard = |node, at| guarded.0.entry(node).or_default().push((at, hidden.hit.rule));
            match hidden.site {
                Site::Leaf(node) => guard(node, hidden.under.at()),
                Site::Seam(window) => seams.leaves_of(window).iter().for_each(|&node| guard(node, None)),
                Site::Key(_)
                | Site::Inserted(_)
                | Site::Option(_)
                | Site::Outside { .. }
                | Site::File(_)
                | Site::Elsewhere => {}
            }
        }
        guarded
    }

    /// Returns the stretches of a leaf's present text that a person released.
    pub(super) fn released_in(&self, node: NodeId) -> Vec<Range<usize>> {
        self.draft.released(node).into_iter().map(|span| span.at).collect()
    }

    /// Takes out of each hit what redaction wrote, and of those by rules that let it go what was released.
    pub(super) fn exempt_all(
        &self,
        hits: Vec<Hit>,
        ours: Vec<Range<usize>>,
        released: Vec<Range<usize>>,
        text: &str,
    ) -> Vec<Hit> {
        if released.is_empty() {
            return exempt(hits, &ours, text);
        }
        let (letting, keeping): (Vec<Hit>, Vec<Hit>) =
            hits.into_iter().partition(|hit| self.lets_release(hit.rule));
        let mut left = exempt(keeping, &ours, text);
        let both = sorted_apart(ours.into_iter().chain(released).collect());
        left.extend(exempt(letting, &both, text));
        left
    }

    /// Whether something beneath a text is bare because the stretch over it was released, and its own
    /// rule does not let it go.
    pub(super) fn lies_bare(&self, hidden: &Hidden) -> bool {
        let Site::Leaf(node) = hidden.site else { return false };
        if self.lets_release(hidden.hit.rule) || self.policy.rules[hidden.hit.rule].monitors() {
            return false;
        }
        let released = self.released_in(node);
        match hidden.under.at() {
            Some(at) => released.iter().any(|one| one.start < at.end && at.start < one.end),
            None => !released.is_empty(),
        }
    }

    /// Refuses a request in which a value was released that a rule keeps elsewhere.
    ///
    /// # Errors
    /// The hold of that rule.
    pub(super) fn refuse_kept_values(&self, recall: &Recall) -> Result<(), Hold> {
        let values = self.released_values();
        if values.is_empty() {
            return Ok(());
        }
        let keeper = self.keeper_of(&values).or_else(|| self.holder_of(&values, recall));
        keeper.map_or(Ok(()), |rule| Err(Hold::new(rule, Cause::Unredactable, KEPT.to_owned())))
    }

    /// Returns what was released, the pieces of one finding as one value.
    fn released_values(&self) -> Vec<ReleasedValue> {
        let mut texts: BTreeMap<FindingId, String> = BTreeMap::new();
        for made in self.draft.redactions().filter(|made| self.draft.is_released(made)) {
            if let (ReleaseTerms::Releasable(finding), Some(value)) =
                (&made.terms, self.draft.received_value(made))
            {
                texts.entry(*finding).or_default().push_str(value.expose());
            }
        }
        texts.into_values().map(|text| ReleasedValue::new(&text)).collect()
    }

    /// Returns the rule whose redaction took one of these values away for good.
    fn keeper_of(&self, values: &[ReleasedValue]) -> Option<Arc<str>> {
        let kept = self.draft.redactions().filter_map(|made| match &made.terms {
            ReleaseTerms::Kept { by } => Some((made, by.clone())),
            ReleaseTerms::Releasable(_) => None,
        });
        let is_same = |made: &RedactionRecord| match self.draft.received_value(made) {
            Some(kept) => {
                let kept = ReleasedValue::new(kept.expose());
                values.iter().any(|value| value.meets(&kept))
            }
            // Of what somebody wrote there is the token alone, which is the same for the same value.
            None => values.iter().any(|value| {
                let token = self.vault.keys().token(&made.label, &value.texts[0]);
                *token.as_str() == *made.replacement
            }),
        };
        let mut kept = kept.filter(|(made, _)| is_same(made));
        kept.next().and_then(|(made, by)| by.or_else(|| made.author.of_rule().cloned()))
    }

    /// Returns the rule that holds one of these values where nothing can be replaced.
    fn holder_of(&self, values: &[ReleasedValue], recall: &Recall) -> Option<Arc<str>> {
        let mut held =
            recall.held.iter().chain(&self.recall.held).filter(|held| !self.lets_release(held.rule));
        let holds = |held: &&Held| {
            let text = self.text_at(held.site);
            values.iter().any(|value| value.stands_in(&text))
        };
        held.find(holds).map(|held| self.policy.rules[held.rule].id.clone())
    }
}

/// A value as it stands, and what it says once its encodings are undone. No `Debug`: it is a secret.
struct ReleasedValue {
    texts: Vec<String>,
}

impl ReleasedValue {
    fn new(text: &str) -> ReleasedValue {
        let beneath = views(text).into_iter().map(|view| view.text().to_string());
        ReleasedValue { texts: std::iter::once(text.to_owned()).chain(beneath).collect() }
    }

    /// Whether one is the other, or a part of it.
    fn meets(&self, other: &ReleasedValue) -> bool {
        let part = |part: &str, whole: &str| part == whole || part.len() >= PART && whole.contains(part);
        let pairs = |text: &String| other.texts.iter().any(|kept| part(text, kept) || part(kept, text));
        self.texts.iter().any(pairs)
    }

    fn stands_in(&self, text: &str) -> bool {
        self.texts.iter().any(|value| text.contains(value.as_str()))
            || views(text)
                .iter()
                .any(|view| self.texts.iter().any(|value| view.text().contains(value.as_str())))
    }
}
