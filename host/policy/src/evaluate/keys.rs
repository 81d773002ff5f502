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
        let selected = rules.iter().filter(|(_, redact)| !redact.plugins.is_empty()).map(|&(index, _)| {
            run.active[index.get()].as_ref().map(|active| active.selection.keys(run.document))
        });
        let selected: Vec<Option<SelectedKeys>> = selected.collect();
        let mut distinct = Distinct::default();
        let mut asking = Asking::new(selected.len());
        for key in known.keys().filter_map(|member| run.document.key(member)) {
            let number = distinct.number(key.node, key.text.into_cow());
            asking.add(number, |rule| {
                selected[rule].as_ref().is_some_and(|keys| keys.contain(run.document, key.node))
            });
        }
        let texts = || distinct.keys.iter().map(|(_, text)| &**text);
        self.unless_quiet(rules, texts, |search| {
            for (number, (node, text)) in distinct.keys.iter().enumerate() {
                let mut with_plugins = 0..;
                let asks = |(_, redact): &&(RuleIndex, &Redact)| {
                    redact.plugins.is_empty()
                        || with_plugins.next().is_some_and(|rule| asking.asks(number, rule))
                };
                let asking: Rules<'p> = rules.iter().filter(asks).copied().collect();
                search.text(&asking, Subject::new(Site::Key(*node), text.clone()));
            }
        });
    }
}

/// The keys of a request, each once, with a member that has it, in the order in which they come first.
#[derive(Default)]
struct Distinct<'d> {
    keys: Vec<(NodeId, Cow<'d, str>)>,
    numbers: HashMap<Cow<'d, str>, usize>,
    recent: Recent,
}

impl<'d> Distinct<'d> {
    /// Returns the number of a key.
    fn number(&mut self, member: NodeId, key: Cow<'d, str>) -> usize {
        let place = Recent::place(&key);
        if let Some(number) = self.recent.0[place].filter(|&number| self.keys[number].1 == key) {
            return number;
        }
        let number = *self.numbers.entry(key).or_insert_with_key(|key| {
            self.keys.push((member, key.clone()));
            self.keys.len() - 1
        });
        self.recent.0[place] = Some(number);
        number
    }
}

/// Which of some rules ask about which key: a bit each, because there may be very many of both.
struct Asking {
    rules: usize,
    /// For each key, as many words as the rules take.
    bits: Vec<u64>,
    /// For each key, how many rules do not ask about it yet.
    missing: Vec<usize>,
}

impl Asking {
    fn new(rules: usize) -> Self {
        Asking { rules, bits: Vec::new(), missing: Vec::new() }
    }

    /// Adds the rules that ask about a key because of one member that has it.
    fn add(&mut self, key: usize, asks: impl Fn(usize) -> bool) {
        if key >= self.missing.len() {
            self.missing.resize(key + 1, self.rules);
            self.bits.resize(self.missing.len() * self.words(), 0);
        }
        if self.missing[key] == 0 {
            return;
        }
        for rule in 0..self.rules {
            if !self.asks(key, rule) && asks(rule) {
                let word = key * self.words() + rule / WORD;
                self.bits[word] |= 1 << (rule % WORD);
                self.missing[key] -= 1;
            }
        }
    }

    fn asks(&self, key: usize, rule: usize) -> bool {
        self.bits[key * self.words() + rule / WORD] >> (rule % WORD) & 1 != 0
    }

    fn words(&self) -> usize {
        self.rules.div_ceil(WORD)
    }
}

/// Bits of a word.
const WORD: usize = u64::BITS as usize;

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

        /// However many rules there are: more than a word has bits.
        #[test]
        fn a_rule_asks_about_a_key_if_it_does_for_one_member_with_it(
            members in prop::collection::vec((0_usize..5, prop::collection::vec(any::<bool>(), 150)), 0..20),
        ) {
            let mut distinct = Distinct::default();
            let mut asking = Asking::new(150);
            for (at, (key, asks)) in members.iter().enumerate() {
                let number = distinct.number(NodeId::from_index(at), Cow::Owned(format!("key-{key}")));
                asking.add(number, |rule| asks[rule]);
            }
            for (number, (node, text)) in distinct.keys.iter().enumerate() {
                let with_it = members.iter().filter(|(key, _)| *text == format!("key-{key}"));
                let first = members.iter().position(|(key, _)| *text == format!("key-{key}"));
                prop_assert_eq!(Some(node.index()), first);
                let with_it: Vec<_> = with_it.collect();
                for rule in 0..150 {
                    let expected = with_it.iter().any(|(_, asks)| asks[rule]);
                    prop_assert_eq!(asking.asks(number, rule), expected, "rule {}", rule);
                }
            }
        }
    }
}
