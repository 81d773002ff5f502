//! Detectors that a policy folder declares: words, and patterns behind keywords.
//!
//! They answer like a detector plugin, so that everything that holds for plugins holds for them:
//! what they said about a text is remembered, and their findings are replaced, united and excepted
//! like any other. One walk over a text finds the words and keywords of all detectors that a rule
//! names; a pattern runs on a text only where one of its keywords stands.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use aho_corasick::{AhoCorasick, MatchKind};
use leafgate_contract::{
    CheckedEdits, CheckedFindings, Cost, Description, DetectLeaf, Fault, InvalidAnswer, Plugin,
    PluginFinding, Spent, TransformRequest, World,
};
use leafgate_detect::{Confidence, DetectorId, Label, luhn};
use leafgate_glob::Glob;
use sha2::{Digest, Sha256};

use crate::bounded::Pattern;
use crate::literal::{self, Literal, Required};

/// The pack that they are in.
pub(crate) const PACK: &str = "own";

/// The group of a pattern that is the finding, where the whole match is not.
pub(crate) const VALUE_GROUP: &str = "value";

/// Time that one request has for detectors of the policy, and more for each KiB of its texts.
const TIME: Duration = Duration::from_secs(1);
const TIME_A_KIB: Duration = Duration::from_millis(1);

/// A text is more work for a pattern than a request may be.
#[derive(Clone, Copy, Debug)]
struct TooSlow;

/// One declared detector.
#[derive(Debug)]
pub(crate) struct OwnDetector {
    pub(crate) id: DetectorId,
    pub(crate) label: Label,
    pub(crate) confidence: Confidence,
    pub(crate) pattern: Option<Pattern>,
    /// One of them stands in a text in which the pattern is looked for; empty where it is looked
    /// for everywhere.
    pub(crate) keywords: Vec<String>,
    pub(crate) words: Vec<String>,
    /// Whether `A` and `a` are the same in words and keywords.
    pub(crate) any_case: bool,
    /// The keys of values in which it looks; empty where it looks everywhere.
    pub(crate) keys: Vec<Glob>,
    pub(crate) luhn: bool,
}

impl OwnDetector {
    /// Whether it looks at values under this key.
    fn is_for(&self, key: &str) -> bool {
        self.keys.is_empty() || self.keys.iter().any(|glob| glob.matches(key))
    }

    /// Returns the spellings in which it looks for a word.
    fn spellings_of(&self, word: &str) -> BTreeSet<String> {
        if self.any_case { spellings(word) } else { BTreeSet::from([word.to_owned()]) }
    }

    /// Whether a text has what its checks ask for.
    fn passes_checks(&self, text: &str) -> bool {
        !self.luhn || has_luhn_digit(text)
    }
}

/// The detectors that one or more rules name together.
#[derive(Debug)]
pub(crate) struct OwnSet {
    all: Vec<Arc<OwnDetector>>,
    /// Words and keywords of all of them.
    index: AhoCorasick,
    /// By number of the pattern in the index.
    uses: Vec<Use>,
    description: Description,
    digest: [u8; 32],
}

/// What a word of the index is to a detector.
#[derive(Clone, Copy, Debug)]
struct Use {
    detector: usize,
    is_keyword: bool,
}

impl OwnSet {
    /// Puts detectors together. Fails where their words are too many for one automaton.
    pub(crate) fn new(all: Vec<Arc<OwnDetector>>) -> Result<Self, aho_corasick::BuildError> {
        let mut patterns: Vec<String> = Vec::new();
        let mut uses = Vec::new();
        for (detector, own) in all.iter().enumerate() {
            for (words, is_keyword) in [(&own.words, false), (&own.keywords, true)] {
                for word in words {
                    let spellings = own.spellings_of(word);
                    uses.extend(spellings.iter().map(|_| Use { detector, is_keyword }));
                    patterns.extend(spellings);
                }
            }
        }
        let index = AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            .ascii_case_insensitive(all.iter().any(|own| own.any_case))
            .build(&patterns)?;
        let mut hash = Sha256::new();
        for own in &all {
            hash.update(format!("{own:?}\n"));
        }
        let description = Description {
            name: PACK.to_owned(),
            version: String::new(),
            summary: "Detectors of this policy.".to_owned(),
            labels: all.iter().map(|own| own.label.clone()).collect(),
            config_schema: None,
        };
        Ok(OwnSet { all, index, uses, description, digest: hash.finalize().into() })
    }

    /// The detectors, in the order in which findings name them.
    pub(crate) fn detectors(&self) -> &[Arc<OwnDetector>] {
        &self.all
    }

    /// Returns of which literals a text must hold at least one for anything to be found in it; `None`
    /// where that cannot be told.
    pub(crate) fn required(&self) -> Option<Required> {
        let mut required = Required::new();
        for own in &self.all {
            for word in own.words.iter().chain(&own.keywords) {
                for spelling in own.spellings_of(word) {
                    required.push(Literal::new(spelling.as_bytes(), own.any_case)?);
                }
            }
            if let Some(pattern) = own.pattern.as_ref().filter(|_| own.keywords.is_empty()) {
                required.extend(literal::of_pattern(pattern.as_str(), false)?);
            }
        }
        Some(required)
    }

    /// Finds what each detector recognises in a text under a key, if that is done by a time.
    fn find(
        &self,
        key: &str,
        text: &str,
        until: Instant,
        mut found: impl FnMut(usize, Range<usize>),
    ) -> Result<(), TooSlow> {
        let asked: Vec<bool> = self.all.iter().map(|own| own.is_for(key)).collect();
        let mut called: Vec<bool> = self.all.iter().map(|own| own.keywords.is_empty()).collect();
        for hit in self.index.find_overlapping_iter(text) {
            let Use { detector, is_keyword } = self.uses[hit.pattern().as_usize()];
            let own = &self.all[detector];
            if !asked[detector] || !own.any_case && !self.is_as_written(own, is_keyword, &text[hit.range()]) {
                continue;
            }
            match is_keyword {
                true => called[detector] = true,
                false if is_whole_word(text, &hit.range()) => found(detector, hit.range()),
                false => {}
            }
        }
        for (detector, own) in self.all.iter().enumerate() {
            let Some(pattern) = own.pattern.as_ref().filter(|_| asked[detector] && called[detector]) else {
                continue;
            };
            if !pattern.affords(text, until) {
                return Err(TooSlow);
            }
            for captures in pattern.captures_iter(text) {
                let hit = captures.name(VALUE_GROUP).or_else(|| captures.get(0));
                if let Some(hit) = hit.filter(|hit| own.passes_checks(hit.as_str())) {
                    found(detector, hit.range());
                }
            }
        }
        Ok(())
    }

    /// Whether any detector recognises anything in a text under a key.
    pub(crate) fn finds_anything(&self, key: &str, text: &str) -> bool {
        let mut any = false;
        let searched = self.find(key, text, Instant::now() + TIME, |_, _| any = true);
        any || searched.is_err()
    }

    /// Whether a text is a word of a detector that tells cases apart: the index of a set may not.
    fn is_as_written(&self, own: &OwnDetector, is_keyword: bool, text: &str) -> bool {
        let words = if is_keyword { &own.keywords } else { &own.words };
        words.binary_search_by(|word| word.as_str().cmp(text)).is_ok()
    }
}

impl Plugin for OwnSet {
    fn description(&self) -> &Description {
        &self.description
    }

    fn world(&self) -> World {
        World::Detector
    }

    fn digest(&self) -> [u8; 32] {
        self.digest
    }

    fn detect(&self, leaves: &[DetectLeaf<'_>], spent: &Spent) -> Result<CheckedFindings, Fault> {
        let (began, mut findings) = (Instant::now(), Vec::new());
        let shown_bytes = leaves.iter().map(|leaf| leaf.text.len()).sum();
        let so_far = spent.charge(Cost { shown_bytes, ..Cost::default() });
        let kib = u32::try_from(so_far.shown_bytes >> 10).unwrap_or(u32::MAX);
        let whole = TIME.saturating_add(TIME_A_KIB.saturating_mul(kib));
        let until = began + whole.saturating_sub(so_far.time);
        for (leaf, DetectLeaf { key, text, .. }) in leaves.iter().enumerate() {
            let searched = self.find(key, text, until, |label, at| {
                let confidence = self.all[label].confidence;
                findings.push(PluginFinding { leaf, at, label, confidence });
            });
            let limit_ms = u64::try_from(whole.as_millis()).unwrap_or(u64::MAX);
            searched.map_err(|TooSlow| Fault::RequestTime { limit_ms })?;
        }
        spent.charge(Cost { time: began.elapsed(), ..Cost::default() });
        CheckedFindings::checked(findings, leaves, self.all.len())
    }

    fn transform(&self, _: &TransformRequest<'_>, _: &Spent) -> Result<CheckedEdits, Fault> {
        // It is loaded as a detector, and none is ever asked for edits.
        Err(Fault::Invalid(InvalidAnswer::UnknownLeaf))
    }
}

/// The spellings of a word in small and capital letters. The index folds those of ASCII itself.
fn spellings(word: &str) -> BTreeSet<String> {
    if word.is_ascii() {
        return BTreeSet::from([word.to_ascii_lowercase()]);
    }
    BTreeSet::from([word.to_owned(), word.to_lowercase(), word.to_uppercase()])
}

/// Whether no letter or digit stands directly beside a stretch whose own edge is one.
fn is_whole_word(text: &str, at: &Range<usize>) -> bool {
    let is_of_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let inside = &text[at.clone()];
    let before = is_of_word(text[..at.start].chars().next_back()) && is_of_word(inside.chars().next());
    let after = is_of_word(text[at.end..].chars().next()) && is_of_word(inside.chars().next_back());
    !before && !after
}

/// Whether the digits of a text end in the check digit of ISO/IEC 7812-1, Annex B.
fn has_luhn_digit(text: &str) -> bool {
    let digits = text.chars().filter_map(|c| c.to_digit(10));
    digits.clone().nth(1).is_some() && luhn(digits)
}

/// Returns what a detector finds in a text by itself: for its examples.
pub(crate) fn found_in(own: &Arc<OwnDetector>, key: &str, text: &str) -> bool {
    OwnSet::new(vec![Arc::clone(own)]).is_ok_and(|set| set.finds_anything(key, text))
}

#[cfg(test)]
mod tests {
    use leafgate_tree::{LeafKind, Role, ValueType};

    use super::*;

    #[test]
    fn check_digits_are_those_of_the_standard() {
        assert!(has_luhn_digit("79927398713") && has_luhn_digit("4111 1111 1111 1111"));
        assert!(!has_luhn_digit("79927398710") && !has_luhn_digit("0") && !has_luhn_digit(""));
    }

    /// P-17: one text took half a minute, and others waited for it.
    #[test]
    fn a_text_that_is_too_much_work_for_a_pattern_fails_its_own_request() {
        let own = OwnDetector {
            id: DetectorId::new("own/slow").unwrap(),
            label: Label::new("SLOW").unwrap(),
            confidence: Confidence::High,
            pattern: Some(Pattern::new("b[ab]{9000}c", 10 << 20).unwrap()),
            keywords: Vec::new(),
            words: Vec::new(),
            any_case: false,
            keys: Vec::new(),
            luhn: false,
        };
        let set = OwnSet::new(vec![Arc::new(own)]).unwrap();
        let ask = |text: &str| {
            let (kind, value, role) = (LeafKind::Text, ValueType::Text, Role::User);
            let leaf = DetectLeaf { kind, value, role, tool: None, key: "", text };
            set.detect(&[leaf], &Spent::default()).map(|findings| findings.into_vec().len())
        };
        let hash = |at: usize| at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60;
        let slow: String = (0..300_000).map(|at| if hash(at) < 5 { 'b' } else { 'a' }).collect();
        assert!(matches!(ask(&slow), Err(Fault::RequestTime { .. })));
        assert_eq!(ask(&"a".repeat(300_000)), Ok(0));
        assert_eq!(ask(&format!("b{}c", "a".repeat(9000))), Ok(1));
    }

    #[test]
    fn a_word_stands_by_itself() {
        for (text, whole) in
            [("Acme", true), ("(Acme)", true), ("Acmes", false), ("xAcme", false), ("AcmeÄ", false)]
        {
            let at = text.find("Acme").unwrap();
            assert_eq!(is_whole_word(text, &(at..at + 4)), whole, "{text}");
        }
        assert!(is_whole_word("a+b", &(1..2)), "what is no word needs no borders");
    }
}
