//! The difference of two views of one turn, in words, for a person whose view was stale.

use std::collections::HashMap;

use leafgate_admin::{LeafView, SectionView, TurnView};

/// Most places that are named. The rest is counted, because one status line holds about three.
const NAMED: usize = 3;

/// Returns a part of a sentence: `User: changed, Tool result · run_sql: deleted`. It is empty if a
/// person sees no difference.
pub fn describe(before: &TurnView, after: &TurnView) -> String {
    let old: HashMap<&str, &SectionView> =
        before.sections.iter().map(|section| (section.key.as_str(), section)).collect();
    let changes: Vec<String> = after
        .sections
        .iter()
        .filter_map(|section| match old.get(section.key.as_str()) {
            None => Some(format!("{}: new", section.label)),
            Some(was) if was.deleted != section.deleted => {
                Some(format!("{}: {}", section.label, if section.deleted { "deleted" } else { "restored" }))
            }
            Some(was) if texts(was).ne(texts(section)) => Some(format!("{}: changed", section.label)),
            Some(_) => None,
        })
        .collect();
    let named = changes.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    match changes.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

fn texts(section: &SectionView) -> impl Iterator<Item = (&str, &str)> {
    section.leaves.iter().map(|leaf: &LeafView| (leaf.pointer.as_str(), leaf.text.expose()))
}
