//! Which sets of own detectors can find anything in a text, told by one look at it.
//!
//! Each set walks a text by itself, so a hundred rules with detectors of their own would walk it a
//! hundred times. Nearly all of them find nothing: what each needs (a word, a keyword, a literal of
//! its pattern) is looked for together first. It is never more than a filter: what passes it is
//! decided by the set.

use std::collections::BTreeMap;

use crate::literal::{Literal, Required};
use crate::needles::Needles;
use crate::own::OwnSet;

/// What all sets of own detectors of a policy need.
#[derive(Debug)]
pub(crate) struct OwnIndex {
    needles: Needles,
    /// By number of the needle: the sets that need it or another one.
    sets: Vec<Vec<usize>>,
    /// By number of the set: whether any text may do.
    always: Vec<bool>,
}

impl OwnIndex {
    /// Puts together what some sets need, in their order.
    pub(crate) fn new<'s>(sets: impl Iterator<Item = &'s OwnSet>) -> Self {
        let mut needed: BTreeMap<Literal, Vec<usize>> = BTreeMap::new();
        let mut always = Vec::new();
        for (set, own) in sets.enumerate() {
            let required: Option<Required> = own.required();
            always.push(required.is_none());
            let mut required = required.unwrap_or_default();
            required.sort_unstable();
            required.dedup();
            required.into_iter().for_each(|literal| needed.entry(literal).or_default().push(set));
        }
        let (literals, sets) = needed.into_iter().unzip();
        OwnIndex { needles: Needles::new(literals), sets, always }
    }

    /// Returns for each set whether it can find anything in a text.
    pub(crate) fn may_find(&self, text: &str) -> Vec<bool> {
        let mut may = self.always.clone();
        if self.needles.len() > 0 {
            self.needles.scan(text.as_bytes(), |needle, _| {
                self.sets[needle.index()].iter().for_each(|&set| may[set] = true);
            });
        }
        may
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use leafgate_detect::{Confidence, DetectorId, Label};
    use proptest::prelude::*;

    use super::*;
    use crate::bounded::Pattern;
    use crate::own::OwnDetector;

    /// A detector by its words, its keywords and its pattern.
    fn detector(words: &[String], keywords: &[String], pattern: Option<&str>, any_case: bool) -> OwnSet {
        let mut sorted = [words.to_vec(), keywords.to_vec()];
        sorted.iter_mut().for_each(|words| words.sort_unstable());
        let [words, keywords] = sorted;
        OwnSet::new(vec![Arc::new(OwnDetector {
            id: DetectorId::new("own/x").unwrap(),
            label: Label::new("WORD").unwrap(),
            confidence: Confidence::High,
            pattern: pattern.map(|pattern| Pattern::new(pattern, 1 << 20).unwrap()),
            keywords,
            words,
            any_case,
            keys: Vec::new(),
            luhn: false,
        })])
        .unwrap()
    }

    const PATTERNS: [Option<&str>; 6] =
        [None, Some("[0-9]{2,}"), Some("ab-[0-9]+"), Some("(?i)ab|cd"), Some(r"\w+"), Some("é?ÄB")];

    fn text() -> impl Strategy<Value = String> {
        let piece =
            prop_oneof!["[aAbBcC]{0,3}", "[0-9]{1,3}", Just("ab-12".to_owned()), "[-éÄä\"/\\\\ ]{0,2}"];
        prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        /// A set that finds something in a text may find something there.
        #[test]
        fn nothing_is_hidden_from_a_set(
            sets in prop::collection::vec(
                (prop::collection::vec("[aAbBéÄ\"-]{1,4}", 0..3), prop::collection::vec("[abAB/]{1,3}", 0..3),
                    prop::sample::select(&PATTERNS[..]), any::<bool>()),
                1..5,
            ),
            text in text(),
        ) {
            let sets: Vec<OwnSet> = sets
                .iter()
                .map(|(words, keywords, pattern, any_case)| detector(words, keywords, *pattern, *any_case))
                .collect();
            let may = OwnIndex::new(sets.iter()).may_find(&text);
            for (set, may) in sets.iter().zip(may) {
                prop_assert!(may || !set.finds_anything("", &text), "{:?} in {:?}", set, text);
            }
        }
    }

    #[test]
    fn a_text_without_the_words_of_a_set_is_not_shown_to_it() {
        let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        let sets = [
            detector(&words(&["Acme Corporation"]), &[], None, true),
            detector(&[], &words(&["CASE-"]), Some("CASE-[0-9]+"), false),
            detector(&[], &[], Some("TICKET-[0-9]+"), false),
            detector(&[], &[], Some("[a-z]{9}"), false),
        ];
        let index = OwnIndex::new(sets.iter());
        assert_eq!(index.may_find("nothing of them"), [false, false, false, true]);
        assert_eq!(index.may_find("ACME CORPORATION"), [true, false, false, true]);
        assert_eq!(index.may_find("case-1 CASE-2"), [false, true, false, true]);
        assert_eq!(index.may_find("see TICKET-7"), [false, false, true, true]);
    }
}
