//! A finding, its names, and how findings that overlap become one.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use derive_more::Display;
use leafgate_words::words;
use serde::Serialize;

words! {
    /// How sure a detector is of a finding.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Deserialize, Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Confidence {
        /// Plausible shape only.
        Low = "low",
        /// Shape and context.
        Medium = "medium",
        /// Prefix, checksum or structure; of a row that does not say it.
        #[default]
        High = "high",
    }
    /// Returns the name used in packs and output.
    pub fn as_str = 0;
}

/// A label or a detector's id that does not have the form it must have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} {name:?} is not valid: it must be {rule}")]
pub struct InvalidName {
    what: &'static str,
    name: String,
    rule: &'static str,
}

/// Returns the name where it has the form that it must have.
fn formed(
    has_form: bool,
    what: &'static str,
    name: &str,
    rule: &'static str,
) -> Result<Arc<str>, InvalidName> {
    if has_form { Ok(name.into()) } else { Err(InvalidName { what, name: name.to_owned(), rule }) }
}

/// What a finding is called, in tokens too: `EMAIL`, `CARD`, `SECRET`. Form: `[A-Z][A-Z0-9]{1,15}`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Display, derive_more::Debug)]
#[debug("{_0}")]
#[display("{_0}")]
pub struct Label(Arc<str>);

impl Label {
    /// Checks the form and wraps the name.
    pub fn new(name: &str) -> Result<Self, InvalidName> {
        let plain = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
        let has_form = (2..=16).contains(&name.len())
            && name.bytes().all(plain)
            && name.starts_with(|first: char| first.is_ascii_uppercase());
        formed(has_form, "label", name, "2 to 16 capital letters and digits, a letter first").map(Self)
    }

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Which detector found it: `pack/name`, as in `secrets/github-token`; a plugin's is `plugin:NAME`
/// or `plugin:NAME/LABEL`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Display, derive_more::Debug)]
#[debug("{_0}")]
#[display("{_0}")]
pub struct DetectorId(Arc<str>);

impl DetectorId {
    /// Checks the form and wraps the id.
    pub fn new(id: &str) -> Result<Self, InvalidName> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
        let parts = id.split('/').count();
        let has_form = id.split('/').all(|part| !part.is_empty() && part.bytes().all(plain))
            && (parts == 2 || id.starts_with("plugin:"));
        formed(has_form, "detector id", id, "`pack/name`, or for a plugin `plugin:name`").map(Self)
    }

    /// Returns the whole id.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the part before the slash.
    pub fn pack(&self) -> &str {
        self.0.split('/').next().unwrap_or(&self.0)
    }
}

/// A stretch of a text that a detector recognised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Half-open range of UTF-8 byte offsets, on character boundaries, never empty.
    pub range: Range<usize>,
    /// What it is called.
    pub label: Label,
    /// Who found it.
    pub detector: DetectorId,
    /// How sure that detector is.
    pub confidence: Confidence,
    /// Its owner shows it to everybody: a key in documentation, a card number for tests. It opens
    /// nothing.
    pub published: bool,
}

/// Returns a text with something else in the place of each finding, made of its label. Those that overlap are united.
pub fn replaced(text: &str, mut findings: Vec<Finding>, other: impl Fn(&str) -> String) -> Cow<'_, str> {
    if findings.is_empty() {
        return text.into();
    }
    unite_from(&mut findings, 0);
    let (mut shown, mut at) = (String::with_capacity(text.len()), 0);
    for found in findings {
        shown.push_str(&text[at..found.range.start]);
        shown.push_str(&other(found.label.as_str()));
        at = found.range.end;
    }
    shown.push_str(&text[at..]);
    shown.into()
}

/// Sorts the findings from `start` on by place, and makes one of those that overlap.
///
/// What is united covers all of its parts, and is published where all of them are. Its label,
/// detector and confidence are those of the part with the highest confidence, and among equals of
/// the one that stood first in `findings`: callers list findings in the order of their rules.
/// Findings that merely touch stay two.
pub(crate) fn unite_from(findings: &mut Vec<Finding>, start: usize) {
    if findings.len() - start < 2 {
        return;
    }
    let mut ranked: Vec<(usize, Finding)> = findings.drain(start..).enumerate().collect();
    ranked.sort_by_key(|(rank, finding)| (finding.range.start, *rank));

    let mut winner = usize::MAX;
    for (rank, finding) in ranked {
        match findings[start..].last_mut() {
            Some(last) if finding.range.start < last.range.end => {
                let end = last.range.end.max(finding.range.end);
                let range = last.range.start..end;
                let published = last.published && finding.published;
                let better = finding.confidence > last.confidence
                    || (finding.confidence == last.confidence && rank < winner);
                if better {
                    winner = rank;
                    *last = finding;
                }
                (last.range, last.published) = (range, published);
            }
            _ => {
                winner = rank;
                findings.push(finding);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn finding(range: Range<usize>, label: &str, confidence: Confidence) -> Finding {
        Finding {
            range,
            label: Label::new(label).unwrap(),
            detector: DetectorId::new("t/t").unwrap(),
            confidence,
            published: false,
        }
    }

    #[test]
    fn what_is_united_is_published_where_all_of_it_is() {
        let published = |range| Finding { published: true, ..finding(range, "XX", Confidence::High) };
        let mut found = vec![
            published(0..4),
            published(2..6),
            published(10..14),
            finding(12..13, "YY", Confidence::High),
        ];
        unite_from(&mut found, 0);
        assert_eq!(found.iter().map(|f| f.published).collect::<Vec<_>>(), [true, false]);
    }

    #[test]
    fn overlapping_findings_take_the_label_of_the_higher_confidence_then_of_the_earlier_rule() {
        let mut found = vec![
            finding(10..20, "LATER", Confidence::Medium),
            finding(0..12, "FIRST", Confidence::Medium),
            finding(30..40, "LOW", Confidence::Low),
            finding(35..36, "HIGH", Confidence::High),
            finding(40..41, "TOUCHES", Confidence::Low),
        ];
        unite_from(&mut found, 0);
        let seen: Vec<_> = found.iter().map(|f| (f.range.clone(), f.label.as_str())).collect();
        assert_eq!(seen, [(0..20, "LATER"), (30..40, "HIGH"), (40..41, "TOUCHES")]);
    }

    #[test]
    fn names_of_another_form_are_refused_with_the_form_they_must_have() {
        for bad in ["", "A", "Email", "1A", "A_B", "ABCDEFGHIJKLMNOPQ"] {
            assert!(Label::new(bad).unwrap_err().to_string().contains("capital letters"), "{bad}");
        }
        for bad in ["", "secrets", "secrets/", "/x", "a/b/c", "a b/c"] {
            assert!(DetectorId::new(bad).is_err(), "{bad}");
        }
        assert_eq!(DetectorId::new("plugin:company-names").unwrap().pack(), "plugin:company-names");
    }

    proptest! {
        #[test]
        fn united_findings_are_sorted_apart_and_cover_the_same_bytes(
            parts in prop::collection::vec((0usize..60, 1usize..12, 0u8..3), 0..20)
        ) {
            let confidences = [Confidence::Low, Confidence::Medium, Confidence::High];
            let mut found: Vec<_> = parts
                .iter()
                .map(|&(at, len, sure)| finding(at..at + len, "XX", confidences[sure as usize]))
                .collect();
            let covered = |list: &[Finding]| -> Vec<bool> {
                (0..80).map(|i| list.iter().any(|f| f.range.contains(&i))).collect()
            };
            let before = covered(&found);
            let surest = found.iter().map(|f| f.confidence).max();
            unite_from(&mut found, 0);
            prop_assert_eq!(before, covered(&found));
            prop_assert!(found.windows(2).all(|w| w[0].range.end <= w[1].range.start));
            prop_assert_eq!(surest, found.iter().map(|f| f.confidence).max());
        }
    }
}
