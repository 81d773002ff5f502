//! Findings on their way to becoming redactions: exempted, united, owned by a rule.

use std::ops::Range;

use leafgate_detect::{Confidence, DetectorId, Finding, Label};

use crate::index::RuleIndex;

/// A finding, and the rule on whose behalf it was looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hit {
    pub(crate) range: Range<usize>,
    pub(crate) label: Label,
    pub(crate) detector: DetectorId,
    pub(crate) confidence: Confidence,
    /// The rule.
    pub(crate) rule: RuleIndex,
}

impl Hit {
    pub(crate) fn new(finding: &Finding, rule: RuleIndex) -> Self {
        Hit {
            range: finding.range.clone(),
            label: finding.label.clone(),
            detector: finding.detector.clone(),
            confidence: finding.confidence,
            rule,
        }
    }
}

/// Takes the exempt stretches out of each hit: tokens that verify, and what redaction wrote.
///
/// What is left of a hit is still one, unless neither letter nor digit is left: quotes around a token are no secret.
pub(crate) fn exempt(hits: Vec<Hit>, exempt: &[Range<usize>], text: &str) -> Vec<Hit> {
    if exempt.is_empty() {
        return hits;
    }
    let mut left = Vec::with_capacity(hits.len());
    for hit in hits {
        let mut start = hit.range.start;
        for token in exempt.iter().filter(|token| token.start < hit.range.end && hit.range.start < token.end)
        {
            push_piece(&mut left, &hit, start..token.start, text);
            start = start.max(token.end);
        }
        push_piece(&mut left, &hit, start..hit.range.end, text);
    }
    left
}

fn push_piece(left: &mut Vec<Hit>, hit: &Hit, piece: Range<usize>, text: &str) {
    let whole = piece == hit.range;
    if piece.start < piece.end && (whole || text[piece.clone()].chars().any(char::is_alphanumeric)) {
        left.push(Hit { range: piece, ..hit.clone() });
    }
}

/// Makes one hit of those that overlap. It covers all of them; its label, detector and rule are those of the highest confidence, and
/// among equals of the earlier rule.
pub(crate) fn unite(mut hits: Vec<Hit>) -> Vec<Hit> {
    hits.sort_by_key(|hit| (hit.range.start, hit.rule));
    let mut united: Vec<Hit> = Vec::with_capacity(hits.len());
    for hit in hits {
        match united.last_mut() {
            Some(last) if hit.range.start < last.range.end => {
                let range = last.range.start..last.range.end.max(hit.range.end);
                if (hit.confidence, last.rule) > (last.confidence, hit.rule) {
                    *last = hit;
                }
                last.range = range;
            }
            _ => united.push(hit),
        }
    }
    united
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hit(range: Range<usize>, label: &str, confidence: Confidence, rule: usize) -> Hit {
        let rule = RuleIndex::new(rule);
        let detector = DetectorId::new("pack/name").unwrap();
        Hit { range, label: Label::new(label).unwrap(), detector, confidence, rule }
    }

    #[test]
    fn a_token_exempts_exactly_its_own_bytes() {
        let text = "key=abcTOKENdef";
        let hits = vec![hit(4..15, "SECRET", Confidence::High, 0)];
        let left: Vec<_> =
            exempt(hits, std::slice::from_ref(&(7..12)), text).into_iter().map(|hit| hit.range).collect();
        assert_eq!(left, [4..7, 12..15]);
    }

    #[test]
    fn what_is_left_around_a_token_counts_only_with_letters_or_digits() {
        let text = "\"TOKEN\"";
        assert_eq!(
            exempt(vec![hit(0..7, "SECRET", Confidence::High, 0)], std::slice::from_ref(&(1..6)), text),
            []
        );
    }

    #[test]
    fn a_hit_of_signs_alone_stays_where_no_token_touches_it() {
        let hits = vec![hit(0..3, "SECRET", Confidence::High, 0)];
        assert_eq!(exempt(hits.clone(), std::slice::from_ref(&(4..6)), "!?!x"), hits);
    }

    #[test]
    fn the_more_confident_gives_the_label_and_then_the_earlier_rule() {
        let united = unite(vec![
            hit(0..6, "LOW", Confidence::Low, 0),
            hit(4..9, "HIGH", Confidence::High, 1),
            hit(8..12, "LATER", Confidence::High, 2),
            hit(12..13, "TOUCHES", Confidence::Low, 0),
        ]);
        let shown: Vec<_> =
            united.iter().map(|hit| (hit.range.clone(), hit.label.as_str(), hit.rule.get())).collect();
        assert_eq!(shown, [(0..12, "HIGH", 1), (12..13, "TOUCHES", 0)]);
    }

    #[test]
    fn among_equals_the_earlier_rule_wins_wherever_it_starts() {
        let united =
            unite(vec![hit(0..6, "LATER", Confidence::High, 3), hit(4..9, "EARLIER", Confidence::High, 1)]);
        assert_eq!(united[0].label.as_str(), "EARLIER");
    }
}
