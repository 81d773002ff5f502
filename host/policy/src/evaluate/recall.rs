//! What an evaluation found, as a later look at the same request needs it.

use std::collections::{BTreeMap, BTreeSet};

use leafgate_detect::DetectorId;
use leafgate_tree::NodeId;

use super::holds::Held;
use super::site::Site;
use crate::condition::FindingFact;
use crate::verdict::Hold;

/// What was found in a request, for a later look at it. Holds labels and places, no text.
#[derive(Clone, Debug, Default)]
pub struct Recall {
    /// By the text that they are of: a leaf, or a message that was put in.
    pub(super) findings: BTreeMap<Site, Vec<FindingFact>>,
    /// Published examples that a rule acts on, counted.
    pub(super) examples: BTreeMap<DetectorId, usize>,
    /// Every place that must be redacted and cannot be. Each holds the request as long as it
    /// stands.
    pub(super) held: BTreeSet<Held>,
    /// The pauses that no edit takes away: a rule or a plugin did not run to its end, or a plugin
    /// asked.
    pub(super) standing: Vec<Hold>,
}

impl Recall {
    /// Returns the bytes of memory that it takes, about.
    pub fn memory(&self) -> usize {
        let findings: usize = self.findings.values().map(Vec::len).sum();
        // Labels and names of detectors are short texts of their own, and each entry has its share
        // of a map.
        findings * (size_of::<FindingFact>() + 64) + self.held.len() * 2 * size_of::<Held>()
    }

    /// Returns how often each detector found something that a rule acts on, or only counts.
    pub fn detectors(&self) -> BTreeMap<&str, usize> {
        let mut counts = BTreeMap::new();
        for fact in self.findings.values().flatten() {
            *counts.entry(fact.detector.as_str()).or_insert(0) += 1;
        }
        for (detector, count) in &self.examples {
            *counts.entry(detector.as_str()).or_insert(0) += count;
        }
        counts
    }

    /// Returns every place in the body because of which the request is held, whether a hold lists it
    /// or not.
    pub fn unredactable(&self) -> impl Iterator<Item = Unredactable> {
        self.held.iter().filter_map(|held| {
            let node = held.site.node()?;
            Some(Unredactable { node, in_key: matches!(held.site, Site::Key(_)) })
        })
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
