//! Keys of members, each searched once however often a request spells it.

use std::borrow::Cow;
use std::collections::HashMap;

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
        let mut distinct = Distinct::default();
        for key in known.keys().filter_map(|member| run.document.key(member)) {
            let number = distinct.number(key.node, key.text.into_cow());
            // Of all but the first, rules with plugins alone ask.
            if !selected.is_empty() {
                distinct.keys[number].members.push(key.node);
            }
        }
        let texts = || distinct.keys.iter().map(|key| &*key.text);
        self.unless_quiet(rules, texts, |search| {
            for DistinctKey { text, first, members } in &distinct.keys {
                let asks = |(rule, redact): &&(RuleIndex, &Redact)| {
                    let contains = |keys: &SelectedKeys| {
                        members.iter().any(|&member| keys.contain(run.document, member))
                    };
                    redact.plugins.is_empty() || selected.get(rule).is_some_and(contains)
                };
                let asking: Rules<'p> = rules.iter().filter(asks).copied().collect();
                search.text(&asking, Subject::new(Site::Key(*first), text.clone()));
            }
        });
    }
}

/// The keys of a request, each once, in the order in which they come first.
#[derive(Default)]
struct Distinct<'d> {
    keys: Vec<DistinctKey<'d>>,
    numbers: HashMap<Cow<'d, str>, usize>,
    recent: Recent,
}

/// A key, and the first member that has it.
struct DistinctKey<'d> {
    text: Cow<'d, str>,
    first: NodeId,
    /// All members that have it, where anybody asks.
    members: Vec<NodeId>,
}

impl<'d> Distinct<'d> {
    /// Returns the number of a key.
    fn number(&mut self, member: NodeId, key: Cow<'d, str>) -> usize {
        let place = Recent::place(&key);
        if let Some(number) = self.recent.0[place].filter(|&number| self.keys[number].text == key) {
            return number;
        }
        let number = *self.numbers.entry(key).or_insert_with_key(|key| {
            self.keys.push(DistinctKey { text: key.clone(), first: member, members: Vec::new() });
            self.keys.len() - 1
        });
        self.recent.0[place] = Some(number);
        number
    }
}

/// The numbers of keys that were met a moment ago: a request spells the same few thousands of times,
/// and hashing each costs more than scanning it.
struct Recent([Option<usize>; 64]);

impl Default for Recent {
    fn default() -> Self {
        Recent([None; 64])
    }
}

impl Recent {
    /// Returns where a key stands, as the last of its kind.
    fn place(key: &str) -> usize {
        let bytes = key.as_bytes();
        let (first, last) = (bytes.first().unwrap_or(&0), bytes.last().unwrap_or(&0));
        (usize::from(*first) + usize::from(*last) * 7 + bytes.len() * 31) % 64
    }
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
        fn a_key_is_known_by_one_number_wherever_it_stands(keys in prop::collection::vec("[a-c]{0,3}", 0..200)) {
            let mut distinct = Distinct::default();
            for (at, key) in keys.iter().enumerate() {
                let number = distinct.number(NodeId::from_index(at), Cow::Borrowed(key));
                prop_assert_eq!(&distinct.keys[number].text, key);
            }
            let is_first = |(at, key): &(usize, &String)| !keys[..*at].contains(key);
            let once: Vec<(usize, &str)> =
                keys.iter().enumerate().filter(is_first).map(|(at, key)| (at, key.as_str())).collect();
            let known: Vec<(usize, &str)> =
                distinct.keys.iter().map(|key| (key.first.index(), &*key.text)).collect();
            prop_assert_eq!(known, once);
        }
    }
}
