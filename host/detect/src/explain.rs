//! What a detector looks for, in words: its row, as a person may read it.

use serde::Serialize;

use crate::pack::Row;
use crate::registry::{self, DetectorInfo};

/// A detector and what it asks of a text.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct DetectorExplanation {
    /// Its names and how sure it is.
    #[serde(flatten)]
    pub info: DetectorInfo,
    /// Where its candidates stand.
    pub candidates: &'static str,
    /// The words that call it; empty where code finds its candidates.
    pub keywords: Vec<String>,
    /// What a match is, as a regex; empty where code reads it.
    pub pattern: String,
    /// The last words of names whose values it looks at; `*x` is every word that ends in `x`.
    pub names: Vec<String>,
    /// Of these, one must stand before the last word, where there are any.
    pub names_after: Vec<String>,
    /// None of these may.
    pub names_not_after: Vec<String>,
    /// What may stand beside a match.
    pub bounds: &'static str,
    /// The named checks that a match must pass.
    pub checks: Vec<String>,
    /// Texts in which it finds something.
    #[serde(rename = "foundIn")]
    pub examples: Vec<String>,
    /// Texts in which it finds nothing.
    #[serde(rename = "notFoundIn")]
    pub counterexamples: Vec<String>,
}

/// Returns what a detector looks for, by its id.
pub fn explain(id: &str) -> Option<DetectorExplanation> {
    registry::row(id).map(DetectorExplanation::of)
}

impl DetectorExplanation {
    fn of(row: &Row) -> Self {
        let names = row.names.clone();
        Self {
            info: registry::info(row),
            candidates: row.shape.candidates(),
            keywords: row.keywords.clone(),
            pattern: row.pattern.clone(),
            names: names.last,
            names_after: names.after,
            names_not_after: names.not_after,
            bounds: row.bounds.said(),
            checks: row.checks.iter().map(|check| check.name.clone()).collect(),
            examples: row.examples.clone(),
            counterexamples: row.counterexamples.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::all_detectors;

    #[test]
    fn every_detector_says_what_it_looks_for() {
        for info in all_detectors() {
            let explained = explain(info.id.as_str()).unwrap();
            assert_eq!(explained.examples.len() + explained.counterexamples.len(), info.examples);
            let code = explained.keywords.is_empty();
            assert_eq!(code, explained.candidates.contains("number") || is_walked(&explained), "{}", info.id);
        }
        assert!(explain("secrets").is_none() && explain("secrets/no-such").is_none());
    }

    fn is_walked(explained: &DetectorExplanation) -> bool {
        [
            "two letters",
            "digits around",
            "three parts",
            "what stands around an @",
            "addresses",
            "words that",
            "values that",
        ]
        .iter()
        .any(|start| explained.candidates.starts_with(start))
    }
}
