//! The built-in packs: what there is, and which of it a selector means.

use std::sync::{Arc, LazyLock};

use serde::Serialize;
use strsim::levenshtein;

use crate::finding::{Confidence, DetectorId, Label};
use crate::pack::{self, Row};

/// The packs' files, in the order in which their detectors rank.
const PACKS: [(&str, &str); 4] = [
    ("secrets.toml", include_str!("../packs/secrets.toml")),
    ("services.toml", include_str!("../packs/services.toml")),
    ("places.toml", include_str!("../packs/places.toml")),
    ("pii.toml", include_str!("../packs/pii.toml")),
];

/// What a person may know about a detector.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DetectorInfo {
    /// `pack/name`.
    pub id: DetectorId,
    /// The pack by confidence: `secrets`, `secrets/likely`, `secrets/possible` or `pii`.
    pub pack: &'static str,
    /// What its findings are called.
    pub label: Label,
    /// How sure it is of them.
    pub confidence: Confidence,
    /// It knows its findings by a distinctive prefix, so it may look at leaves that cannot be
    /// edited.
    pub has_prefix: bool,
    /// How many positive and negative examples test it.
    pub examples: usize,
    /// One sentence.
    pub description: String,
}

impl DetectorInfo {
    /// Returns true if and only if a selector means this detector: `secrets`, which is all of the
    /// pack, `secrets/likely`, or the detector's own id.
    pub fn is_of(&self, selector: &str) -> bool {
        is_selected(&self.id, self.confidence, selector)
    }
}

/// The packs by confidence. A selector without a part means the whole.
const BY_CONFIDENCE: [(&str, [&str; 3]); 2] =
    [("secrets", ["secrets/possible", "secrets/likely", "secrets"]), ("pii", ["pii", "pii", "pii"])];

/// Returns the pack of a built-in detector's findings: a finding may be less sure than its detector.
/// What is not built in has the empty pack.
pub fn pack_of(detector: &DetectorId, confidence: Confidence) -> &'static str {
    let of = BY_CONFIDENCE.iter().find(|(pack, _)| *pack == detector.pack());
    of.map_or("", |(_, parts)| parts[confidence as usize])
}

/// Whether a selector means a detector. The part of a pack that has no name of its own is no selector.
fn is_selected(id: &DetectorId, confidence: Confidence, selector: &str) -> bool {
    let is_part = || selector.contains('/') && pack_of(id, confidence) == selector;
    id.as_str() == selector || id.pack() == selector || is_part()
}

/// Returns all selectors: packs, their parts by confidence, and detectors.
pub fn selectors() -> impl Iterator<Item = &'static str> {
    let packs = BY_CONFIDENCE.iter().flat_map(|(pack, parts)| std::iter::once(pack).chain(parts));
    let mut packs: Vec<&str> = packs.copied().collect();
    packs.sort_unstable();
    packs.dedup();
    packs.into_iter().chain(INFOS.iter().map(|info| info.id.as_str()))
}

/// A selector that names no pack and no detector.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no detector or pack {name:?}{}; `leafgate detectors list` shows all", hint(.nearest))]
pub struct UnknownDetector {
    /// What was asked for.
    pub name: String,
    /// The known name most like it, where one is alike at all.
    pub nearest: Option<String>,
}

fn hint(nearest: &Option<String>) -> String {
    nearest.as_ref().map(|name| format!(": did you mean {name:?}?")).unwrap_or_default()
}

static ROWS: LazyLock<Vec<Arc<Row>>> = LazyLock::new(|| load().expect("a test reads the built-in packs"));

static INFOS: LazyLock<Vec<DetectorInfo>> = LazyLock::new(|| ROWS.iter().map(|row| info(row)).collect());

fn load() -> Result<Vec<Arc<Row>>, String> {
    let mut rows = Vec::new();
    for (file, text) in PACKS {
        rows.extend(pack::parse(file, text)?.into_iter().map(Arc::new));
    }
    Ok(rows)
}

/// All built-in detectors, in the order in which they rank.
pub fn all_detectors() -> &'static [DetectorInfo] {
    &INFOS
}

pub(crate) fn row(id: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.id.as_str() == id).map(|row| &**row)
}

pub(crate) fn info(row: &Row) -> DetectorInfo {
    DetectorInfo {
        id: row.id.clone(),
        pack: pack_of(&row.id, row.confidence),
        label: row.label.clone(),
        confidence: row.confidence,
        description: row.description.clone(),
        has_prefix: row.prefix,
        examples: row.examples.len() + row.counterexamples.len(),
    }
}

/// Gives the rows that the selectors mean, each once, in the order in which they rank.
pub(crate) fn select<S: AsRef<str>>(selectors: &[S]) -> Result<Vec<Arc<Row>>, UnknownDetector> {
    let mut wanted = vec![false; ROWS.len()];
    for selector in selectors {
        let asked = selector.as_ref();
        if let Some(at) = ROWS.iter().position(|row| row.id.as_str() == asked) {
            wanted[at] = true;
            continue;
        }
        // A pack with a glob of all that is in it, as paths and other tools have it.
        let selector = asked.strip_suffix("/*").unwrap_or(asked);
        let mut known = false;
        for (want, row) in wanted.iter_mut().zip(ROWS.iter()) {
            let is_named = is_selected(&row.id, row.confidence, selector);
            if is_named && (selector == asked || row.id.as_str() != selector) {
                (*want, known) = (true, true);
            }
        }
        if !known {
            return Err(UnknownDetector { name: asked.to_owned(), nearest: nearest(selector) });
        }
    }
    Ok(ROWS.iter().zip(wanted).filter(|(_, want)| *want).map(|(row, _)| Arc::clone(row)).collect())
}

fn nearest(name: &str) -> Option<String> {
    let ids = ROWS.iter().map(|row| row.id.as_str());
    // A bare detector's name is the likeliest slip: `github-token` for `secrets/github-token`.
    let slip = ids.clone().find(|id| id.split_once('/').is_some_and(|(_, tail)| tail == name));
    let alike = || {
        let most = name.len().div_ceil(3).max(2);
        selectors().map(|id| (levenshtein(name, id), id)).filter(|(n, _)| *n <= most).min().map(|(_, id)| id)
    };
    slip.or_else(alike).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn the_built_in_packs_can_be_read() {
        let rows = load().unwrap();
        let ids: HashSet<_> = rows.iter().map(|row| row.id.as_str()).collect();
        assert_eq!(ids.len(), rows.len(), "an id stands twice");
    }

    #[test]
    fn every_pattern_compiles() {
        for row in ROWS.iter().filter(|row| row.has_regex()) {
            row.find(b"");
        }
    }

    #[test]
    fn a_pack_with_a_glob_is_the_pack() {
        let ids = |name: &str| select(&[name]).unwrap().iter().map(|row| row.id.clone()).collect::<Vec<_>>();
        assert_eq!(ids("pii/*"), ids("pii"));
        assert_eq!(ids("secrets/*"), ids("secrets"));
        for name in ["pii/email/*", "*", "/*", "other/*", "pii/e*"] {
            assert!(select(&[name]).is_err(), "{name}");
        }
    }

    #[test]
    fn a_pack_is_the_sum_of_its_parts_by_confidence() {
        let of = |names: &[&str]| select(names).unwrap().iter().map(|row| row.id.clone()).collect::<Vec<_>>();
        let certain: Vec<DetectorId> =
            INFOS.iter().filter(|info| info.pack == "secrets").map(|info| info.id.clone()).collect();
        let mut parts: Vec<DetectorId> = [certain, of(&["secrets/likely", "secrets/possible"])].concat();
        parts.sort();
        let mut whole = of(&["secrets"]);
        whole.sort();
        assert_eq!(parts, whole);
        assert!(of(&["secrets/likely"]).contains(&DetectorId::new("secrets/keyed-password").unwrap()));
        for selector in selectors() {
            let named: Vec<_> = INFOS.iter().filter(|info| info.is_of(selector)).collect();
            assert_eq!(of(&[selector]), named.iter().map(|info| info.id.clone()).collect::<Vec<_>>());
        }
    }

    #[test]
    fn an_unknown_selector_is_named_with_the_nearest_known_one() {
        let hint = |name: &str| select(&[name]).unwrap_err().nearest;
        assert_eq!(hint("secret").as_deref(), Some("secrets"));
        assert_eq!(hint("pii/e-mail").as_deref(), Some("pii/email"));
        assert_eq!(hint("github-token").as_deref(), Some("secrets/github-token"));
        assert_eq!(hint("something-else-entirely"), None);
        let message = select(&["pii/e-mail"]).unwrap_err().to_string();
        assert!(
            message.contains("\"pii/e-mail\"") && message.contains("did you mean \"pii/email\"?"),
            "{message}"
        );
    }
}
