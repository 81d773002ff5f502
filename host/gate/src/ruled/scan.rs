//! One text of a stream, judged while it comes.
//!
//! The text is cut into segments, each judged by itself. A cut stands behind a blank, `look_behind`
//! bytes at least before the end of what has come, where judging both sides apart gives what
//! judging them together gives: so nothing that is found lies over a cut, and no cut takes away what
//! made something a finding. The text is looked at whenever so many bytes more of it have come,
//! counted from its beginning: so it does not matter in which pieces it came.
//!
//! Where one text follows another, some clients join them and some do not: they are judged as the parts of one message.

use std::ops::Range;

/// The text is looked at each so many bytes.
const STRIDE: usize = 64;

/// A word that is longer is cut.
const LONGEST: usize = 16 * 1024;

/// Cuts that are tried at each look.
const TRIES: usize = 4;

/// A stretch of the text that was decided about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TextSegment {
    /// Where it stood, in bytes of the text.
    pub(super) range: Range<usize>,
    /// What stands there now; `None` where nothing was changed.
    pub(super) now: Option<String>,
}

/// A text that comes.
pub(super) struct TextScan {
    look_behind: usize,
    /// What is not decided.
    open: String,
    /// Where that begins.
    start: usize,
    /// Where the next look ends.
    head: usize,
    /// Where texts follow each other.
    borders: Vec<usize>,
}

impl TextScan {
    pub(super) fn new(look_behind: usize) -> Self {
        TextScan { look_behind, open: String::new(), start: 0, head: STRIDE, borders: Vec::new() }
    }

    /// Where the text has come to.
    pub(super) fn end(&self) -> usize {
        self.start + self.open.len()
    }

    /// What comes next is another text.
    pub(super) fn border(&mut self) {
        self.borders.push(self.end());
    }

    /// Takes more of the text, and returns what is decided with it. `judge` gives texts that follow each other as rules
    /// leave them.
    pub(super) fn push<E>(
        &mut self,
        more: &str,
        mut judge: impl FnMut(&[&str]) -> Result<String, E>,
    ) -> Result<Vec<TextSegment>, E> {
        self.open.push_str(more);
        let mut decided = Vec::new();
        while self.head <= self.end() {
            let head = self.open.floor_char_boundary(self.head - self.start);
            self.head += STRIDE;
            if let Some((cut, now)) = self.cut(head, &mut judge)? {
                decided.push(self.decide(cut, now));
            }
        }
        Ok(decided)
    }

    /// Returns what is left when the text has ended.
    pub(super) fn finish<E>(
        &mut self,
        mut judge: impl FnMut(&[&str]) -> Result<String, E>,
    ) -> Result<Option<TextSegment>, E> {
        if self.open.is_empty() {
            return Ok(None);
        }
        let now = judge(&self.texts(0..self.open.len()))?;
        Ok(Some(self.decide(self.open.len(), now)))
    }

    /// The texts that a stretch of what is open belongs to.
    fn texts(&self, stretch: Range<usize>) -> Vec<&str> {
        let within = |border: &usize| {
            border.checked_sub(self.start).filter(|at| stretch.contains(at) && *at > stretch.start)
        };
        let borders = self.borders.iter().filter_map(within);
        let ends = borders.clone().chain([stretch.end]);
        [stretch.start].into_iter().chain(borders).zip(ends).map(|(from, to)| &self.open[from..to]).collect()
    }

    fn decide(&mut self, cut: usize, now: String) -> TextSegment {
        let rest = self.open.split_off(cut);
        let was = std::mem::replace(&mut self.open, rest);
        let range = self.start..self.start + cut;
        self.start += cut;
        TextSegment { range, now: (now != was).then_some(now) }
    }

    /// The furthest cut in what has come up to `head`, and what stands before it.
    fn cut<E>(
        &self,
        head: usize,
        judge: &mut impl FnMut(&[&str]) -> Result<String, E>,
    ) -> Result<Option<(usize, String)>, E> {
        let seen = &self.open[..head];
        let Some(latest) = head.checked_sub(self.look_behind) else {
            return Ok(None);
        };
        let latest = seen.floor_char_boundary(latest);
        let is_blank =
            |(at, character): (usize, char)| character.is_whitespace().then_some(at + character.len_utf8());
        let mut cuts: Vec<usize> =
            seen[..latest].char_indices().rev().filter_map(is_blank).take(TRIES).collect();
        let forced = cuts.is_empty() && latest > LONGEST;
        if forced {
            cuts.push(latest);
        }
        if cuts.is_empty() {
            return Ok(None);
        }
        let together = judge(&self.texts(0..head))?;
        if together == seen {
            return Ok(Some((cuts[0], seen[..cuts[0]].to_owned())));
        }
        for cut in cuts {
            let (before, behind) = (judge(&self.texts(0..cut))?, judge(&self.texts(cut..head))?);
            if forced || together.strip_prefix(before.as_str()) == Some(behind.as_str()) {
                return Ok(Some((cut, before)));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use proptest::prelude::*;
    use regex::Regex;

    use super::*;

    /// A rule: numbers of four digits, with or without blanks, and what is called a word.
    fn judge() -> impl Fn(&[&str]) -> Result<String, Infallible> {
        let pattern = Regex::new(r"\d\d ?\d\d|(word: )\S+").unwrap();
        move |texts: &[&str]| Ok(pattern.replace_all(&texts.concat(), "$1#").into_owned())
    }

    fn told(pieces: &[&str], look_behind: usize) -> (String, Vec<TextSegment>) {
        let judge = judge();
        let text = pieces.concat();
        let mut scan = TextScan::new(look_behind);
        let mut segments = Vec::new();
        for piece in pieces {
            segments.extend(scan.push(piece, &judge).unwrap());
        }
        segments.extend(scan.finish(&judge).unwrap());
        let said = segments.iter().map(|segment| match &segment.now {
            Some(now) => now.as_str(),
            None => &text[segment.range.clone()],
        });
        (said.collect(), segments)
    }

    fn cut<'t>(text: &'t str, cuts: &[usize]) -> Vec<&'t str> {
        let mut at: Vec<usize> =
            cuts.iter().map(|cut| text.floor_char_boundary(cut % (text.len() + 1))).collect();
        at.extend([0, text.len()]);
        at.sort_unstable();
        at.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect()
    }

    #[test]
    fn text_leaves_while_it_comes() {
        let text = "some words and more ".repeat(40);
        let mut scan = TextScan::new(64);
        let first = scan.push(&text, judge()).unwrap();
        assert!(!first.is_empty() && first.iter().all(|segment| segment.now.is_none()));
        assert!(text.len() - first.last().unwrap().range.end <= 64 + STRIDE + 8);
    }

    #[test]
    fn texts_that_follow_each_other_are_judged_as_such() {
        let mut scan = TextScan::new(8);
        let mut judged: Vec<Vec<String>> = Vec::new();
        let mut judge = |texts: &[&str]| -> Result<String, Infallible> {
            judged.push(texts.iter().map(ToString::to_string).collect());
            Ok(texts.concat())
        };
        scan.push("one ", &mut judge).unwrap();
        scan.border();
        scan.push("two ", &mut judge).unwrap();
        scan.border();
        scan.push("three", &mut judge).unwrap();
        scan.finish(&mut judge).unwrap();
        assert_eq!(judged, [["one ", "two ", "three"]]);
    }

    #[test]
    fn a_word_without_end_is_cut_in_the_end() {
        let text = "x".repeat(3 * LONGEST);
        let (said, segments) = told(&[&text], 64);
        assert_eq!(said, text);
        assert!(segments.len() > 1);
    }

    proptest! {
        #[test]
        fn every_way_to_cut_a_text_gives_what_the_whole_gives(
            text in "(word: [a-z]{1,6} |[a-z]{1,9} |é|1234|12 34|\n){0,80}",
            cuts in prop::collection::vec(any::<usize>(), 0..20),
        ) {
            let (said, segments) = told(&cut(&text, &cuts), 32);
            prop_assert_eq!(&said, &judge()(&[&text]).unwrap());
            let (at_once, same) = told(&[&text], 32);
            prop_assert_eq!(said, at_once);
            prop_assert_eq!(segments, same);
        }
    }
}
