//! Keys of members, each searched once however often a request spells it.

use std::collections::HashMap;
use std::hash::Hash;

use foldhash::fast::RandomState;
use leafgate_tree::NodeId;

use super::known::Known;
use super::search::{Rules, Search};
use super::site::Site;
use super::subject::Subject;
use crate::index::RuleIndex;
use crate::rule::Redact;
use crate::selector::SelectedKeys;

impl<'p> Search<'_, 'p> {
    /// Searches every distinct key once, on behalf of all rules: which of them look at a member is
    /// asked where something was found. A plugin costs time and may fail, so that it is asked about
    /// a key only where its rule looks at a member of that name.
    pub(super) fn keys(&mut self, rules: &Rules<'p>, known: &Known<'p>) {
        let run = self.run;
        let with_plugins = rules.iter().filter(|(_, redact)| !redact.plugins.is_empty());
        let selected = with_plugins.filter_map(|&(index, _)| {
            let active = run.active[index.get()].as_ref()?;
            Some((index, active.selection.keys(run.document)))
        });
        let selected: HashMap<RuleIndex, SelectedKeys> = selected.collect();
        let keys = known.keys().filter_map(|member| run.document.key(member));
        // Of all but the first member, rules with plugins alone ask.
        let distinct = distinct(keys.map(|key| (key.text.into_cow(), key.node)), !selected.is_empty());
        let texts = || distinct.iter().map(|(text, _)| &**text);
        self.unless_quiet(rules, texts, |search| {
            for (text, members) in &distinct {
                let asks = |(rule, redact): &&(RuleIndex, &Redact)| {
                    let contains = |keys: &SelectedKeys| {
                        members.iter().any(|&member| keys.contain(run.document, member))
                    };
                    redact.plugins.is_empty() || selected.get(rule).is_some_and(contains)
                };
                let asking: Rules<'p> = rules.iter().filter(asks).copied().collect();
                search.text(&asking, Subject::new(Site::Key(members[0]), text.clone()));
            }
        });
    }
}

/// Returns each key once, in the order in which they come first, with the members that have it: all of them or
/// the first. A request spells the same few thousands of times, so that they are hashed by what is fast and
/// keyed anew in each process.
fn distinct<K: Hash + Eq>(keys: impl Iterator<Item = (K, NodeId)>, all: bool) -> Vec<(K, Vec<NodeId>)> {
    let mut members: HashMap<K, Vec<NodeId>, RandomState> = HashMap::default();
    for (key, member) in keys {
        let same = members.entry(key).or_default();
        if all || same.is_empty() {
            same.push(member);
        }
    }
    let mut distinct: Vec<_> = members.into_iter().collect();
    distinct.sort_unstable_by_key(|(_, members)| members[0]);
    distinct
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use leafgate_tree::{Document, Format, Limits};
    use proptest::prelude::*;

    use super::*;

    fn document() -> Document {
        let body =
            r#"{"a": {"b": [1, {"c": "x"}], "d": {}}, "e": "y", "f": [[], {"g": 2, "h": [3, 4]}], "i": []}"#;
        Document::parse(Bytes::from_static(body.as_bytes()), Format::Generic, &Limits::default()).unwrap()
    }

    proptest! {
        #[test]
        fn the_key_of_a_member_is_selected_if_a_leaf_in_it_is(chosen in prop::collection::vec(any::<bool>(), 7)) {
            let document = document();
            let leaves: Vec<NodeId> = document.leaves().map(|leaf| leaf.id()).collect();
            prop_assert_eq!(leaves.len(), chosen.len() - 1);
            let selected = leaves.into_iter().zip(chosen).filter_map(|(leaf, chosen)| chosen.then_some(leaf));
            let selected: Vec<NodeId> = selected.collect();
            let keys = SelectedKeys::Around(selected.clone());
            for key in document.keys() {
                let inside = |leaf: &NodeId| document.subtree(key.node).contains(&leaf.index());
                prop_assert_eq!(keys.contain(&document, key.node), selected.iter().any(inside));
                prop_assert!(SelectedKeys::All.contain(&document, key.node));
            }
        }

        #[test]
        fn a_key_stands_once_among_the_distinct_ones_with_all_its_members(keys in prop::collection::vec("[a-c]{0,3}", 0..200)) {
            let spelled = || keys.iter().enumerate().map(|(at, key)| (key.as_str(), NodeId::from_index(at)));
            let first = |key: &str| spelled().find(|(other, _)| *other == key).unwrap().1;
            let once: Vec<(&str, NodeId)> = spelled().filter(|&(key, at)| first(key) == at).collect();
            let known = |all: bool| distinct(spelled(), all);
            let firsts: Vec<_> = known(false).into_iter().map(|(key, members)| (key, members[0])).collect();
            prop_assert_eq!(&firsts, &once);
            prop_assert!(known(false).iter().all(|(_, members)| members.len() == 1));
            for ((key, members), first) in known(true).into_iter().zip(once) {
                let same: Vec<NodeId> = spelled().filter(|(other, _)| *other == key).map(|(_, at)| at).collect();
                prop_assert_eq!((key, members[0]), first);
                prop_assert_eq!(members, same);
            }
        }
    }
}
