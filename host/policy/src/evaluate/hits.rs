//! Findings on their way to becoming redactions: exempted, united, owned by a rule.

use std::collections::HashMap;
use std::ops::Range;

use leafgate_detect::Finding;

use crate::index::RuleIndex;
use crate::work;

/// A finding, and the rule on whose behalf it was looked for.
#[derive(Clone, Debug, PartialEq, Eq, derive_more::Deref)]
pub(crate) struct Hit {
    #[deref]
    pub(crate) finding: Finding,
    /// The rule.
    pub(crate) rule: RuleIndex,
    /// A rule that does not let anybody release it, among all those that found something of it. Known
    /// once the rules were asked.
    pub(crate) kept_by: Option<RuleIndex>,
}

impl Hit {
    pub(crate) fn new(finding: Finding, rule: RuleIndex) -> Self {
        Hit { finding, rule, kept_by: None }
    }

    /// The same at another stretch.
    pub(crate) fn at(mut self, range: Range<usize>) -> Self {
        self.finding.range = range;
        self
    }
}

/// Takes the exempt stretches out of each hit: tokens that verify, and what redaction wrote. They
/// are sorted and apart.
///
/// What is left of a hit is still one, unless neither letter nor digit is left: quotes around a
/// token are no secret.
pub(crate) fn exempt(hits: Vec<Hit>, exempt: &[Range<usize>], text: &str) -> Vec<Hit> {
    if exempt.is_empty() {
        return hits;
    }
    let mut left = Vec::with_capacity(hits.len());
    for hit in hits {
        let mut start = hit.range.start;
        let first = exempt.partition_point(|token| token.end <= hit.range.start);
        for token in exempt[first..].iter().take_while(|token| token.start < hit.range.end) {
            work::step();
            push_piece(&mut left, &hit, start..token.start, text);
            start = start.max(token.end);
        }
        push_piece(&mut left, &hit, start..hit.range.end, text);
    }
    left
}

fn push_piece(left: &mut Vec<Hit>, hit: &Hit, piece: Range<usize>, text: &str) {
    let whole = piece == hit.range;
    work::step();
    if piece.start < piece.end && (whole || text[piece.clone()].chars().any(char::is_alphanumeric)) {
        left.push(hit.clone().at(piece));
    }
}

/// Makes one hit of those that overlap. It covers all of them; its label, detector and rule are
/// those of the highest confidence, and among equals of the earlier rule. What one of them keeps is
/// kept.
pub(crate) fn unite(mut hits: Vec<Hit>) -> Vec<Hit> {
    hits.sort_by_key(|hit| (hit.range.start, hit.rule));
    let mut united: Vec<Hit> = Vec::with_capacity(hits.len());
    for hit in hits {
        work::step();
        match united.last_mut() {
            Some(last) if hit.range.start < last.range.end => {
                let range = last.range.start..last.range.end.max(hit.range.end);
                let kept_by = last.kept_by.or(hit.kept_by);
                if (hit.confidence, last.rule) > (last.confidence, hit.rule) {
                    *last = hit;
                }
                (last.finding.range, last.kept_by) = (range, kept_by);
            }
            _ => united.push(hit),
        }
    }
    united
}

/// Stretches of a text that are replaced, as something beneath it asks whether it goes with one of
/// them. Sorted and apart.
#[derive(Default)]
pub(crate) struct Covered(Vec<Range<usize>>);

impl Covered {
    pub(crate) fn new(ranges: Vec<Range<usize>>) -> Self {
        Covered(sorted_apart(ranges))
    }

    /// Returns true if and only if all of a stretch is replaced at once.
    pub(crate) fn covers(&self, stretch: &Range<usize>) -> bool {
        work::step();
        let behind = self.0.partition_point(|range| range.start <= stretch.start);
        behind.checked_sub(1).is_some_and(|at| stretch.end <= self.0[at].end)
    }

    /// Returns how often each of the words that are replaced in a text stands there.
    pub(crate) fn words<'t>(&self, text: &'t str) -> HashMap<&'t str, usize> {
        let mut words = HashMap::with_capacity(self.0.len());
        for range in &self.0 {
            work::step();
            *words.entry(&text[range.clone()]).or_default() += 1;
        }
        words
    }
}

/// Sorts stretches and unites those that overlap. Such as only touch stay apart.
pub(crate) fn sorted_apart(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_by_key(|range| range.start);
    ranges.dedup_by(|next, last| {
        let overlaps = next.start < last.end;
        if overlaps {
            last.end = last.end.max(next.end);
        }
        overlaps
    });
    ranges
}

#[cfg(test)]
mod tests {
    use leafgate_detect::{Confidence, DetectorId, Label};

    use super::*;

    #[test]
    fn what_lies_beneath_goes_only_with_a_stretch_that_covers_it_whole() {
        let covered = Covered::new(vec![10..20, 15..30, 40..50]);
        for (stretch, expected) in
            [(10..30, true), (12..29, true), (9..12, false), (25..45, false), (45..51, false), (0..5, false)]
        {
            assert_eq!(covered.covers(&stretch), expected, "{stretch:?}");
        }
    }

    fn hit(range: Range<usize>, label: &str, confidence: Confidence, rule: usize) -> Hit {
        let detector = DetectorId::new("pack/name").unwrap();
        let label = Label::new(label).unwrap();
        Hit::new(Finding { range, label, detector, confidence, published: false }, RuleIndex::new(rule))
    }

    #[test]
    fn a_token_exempts_exactly_its_own_bytes() {
        let text = "key=abcTOKENdef";
        let hits = vec![hit(4..15, "SECRET", Confidence::High, 0)];
        let left: Vec<_> = exempt(hits, std::slice::from_ref(&(7..12)), text)
            .into_iter()
            .map(|hit| hit.finding.range)
            .collect();
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
