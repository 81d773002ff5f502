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

/// A stretch of the text that was decided about. What was not changed is one stretch as far as it goes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct TextSegment {
    /// Where it stood, in bytes of the text.
    range: Range<usize>,
    /// What stands there now; `None` where nothing was changed.
    now: Option<String>,
}

/// A text that comes, and what was decided about it.
pub(super) struct TextScan {
    look_behind: usize,
    /// What the model said.
    said: String,
    /// Where the next look ends.
    head: usize,
    /// Where texts follow each other.
    borders: Vec<usize>,
    /// One behind the other, from the beginning on.
    segments: Vec<TextSegment>,
}

impl TextScan {
    pub(super) fn new(look_behind: usize) -> Self {
        TextScan { look_behind, said: String::new(), head: STRIDE, borders: Vec::new(), segments: Vec::new() }
    }

    /// Where the text has come to.
    pub(super) fn end(&self) -> usize {
        self.said.len()
    }

    /// How far it was decided about.
    pub(super) fn decided(&self) -> usize {
        self.segments.last().map_or(0, |segment| segment.range.end)
    }

    /// What comes next is another text.
    pub(super) fn border(&mut self) {
        self.borders.push(self.end());
    }

    /// Takes more of the text, and returns whether anything of what is decided with it was changed. `judge` gives texts that
    /// follow each other as rules leave them.
    pub(super) fn push<E>(
        &mut self,
        more: &str,
        mut judge: impl FnMut(&[&str]) -> Result<String, E>,
    ) -> Result<bool, E> {
        self.said.push_str(more);
        let mut changed = false;
        while self.head <= self.end() {
            let head = self.said.floor_char_boundary(self.head);
            self.head += STRIDE;
            if let Some((cut, now)) = self.cut(head, &mut judge)? {
                changed |= self.decide(cut, now);
            }
        }
        Ok(changed)
    }

    /// Decides about what is left when the text has ended, and returns whether that was changed.
    pub(super) fn finish<E>(
        &mut self,
        mut judge: impl FnMut(&[&str]) -> Result<String, E>,
    ) -> Result<bool, E> {
        let open = self.decided()..self.end();
        if open.is_empty() {
            return Ok(false);
        }
        let now = judge(&self.texts(&open))?;
        Ok(self.decide(open.end, now))
    }

    /// What a stretch that was decided about says now; `None` where that is what it said. What stands there now for a segment
    /// stands where the segment begins.
    pub(super) fn now(&self, range: &Range<usize>) -> Option<String> {
        let first = self.segments.partition_point(|segment| segment.range.end <= range.start);
        let within = self.segments[first..].iter().take_while(|segment| segment.range.start < range.end);
        if within.clone().all(|segment| segment.now.is_none()) {
            return None;
        }
        let mut now = String::new();
        for TextSegment { range: of, now: put } in within {
            let said = of.start.max(range.start)..of.end.min(range.end);
            match put {
                None => now.push_str(&self.said[said]),
                Some(put) if of.start >= range.start => now.push_str(put),
                Some(_) => {}
            }
        }
        Some(now)
    }

    /// What all that was decided about says now.
    pub(super) fn left(&self) -> String {
        let all = 0..self.decided();
        self.now(&all).unwrap_or_else(|| self.said[all].to_owned())
    }

    /// The texts that a stretch belongs to.
    fn texts(&self, stretch: &Range<usize>) -> Vec<&str> {
        let borders = self.borders.iter().copied().filter(|at| stretch.contains(at) && *at > stretch.start);
        let ends = borders.clone().chain([stretch.end]);
        [stretch.start].into_iter().chain(borders).zip(ends).map(|(from, to)| &self.said[from..to]).collect()
    }

    /// Keeps what a stretch from what was decided to `end` says now, and returns whether it was changed.
    fn decide(&mut self, end: usize, now: String) -> bool {
        let range = self.decided()..end;
        let now = (now != self.said[range.clone()]).then_some(now);
        let changed = now.is_some();
        match self.segments.last_mut() {
            Some(last) if !changed && last.now.is_none() => last.range.end = end,
            _ => self.segments.push(TextSegment { range, now }),
        }
        changed
    }

    /// The furthest cut in what has come up to `head`, and what stands before it.
    fn cut<E>(
        &self,
        head: usize,
        judge: &mut impl FnMut(&[&str]) -> Result<String, E>,
    ) -> Result<Option<(usize, String)>, E> {
        let start = self.decided();
        let Some(latest) = head.checked_sub(self.look_behind).filter(|&latest| latest >= start) else {
            return Ok(None);
        };
        let latest = self.said.floor_char_boundary(latest);
        let is_blank = |(at, character): (usize, char)| {
            character.is_whitespace().then_some(start + at + character.len_utf8())
        };
        let mut cuts: Vec<usize> =
            self.said[start..latest].char_indices().rev().filter_map(is_blank).take(TRIES).collect();
        let forced = cuts.is_empty() && latest - start > LONGEST;
        if forced {
            cuts.push(latest);
        }
        if cuts.is_empty() {
            return Ok(None);
        }
        let together = judge(&self.texts(&(start..head)))?;
        if together == self.said[start..head] {
            return Ok(Some((cuts[0], self.said[start..cuts[0]].to_owned())));
        }
        for cut in cuts {
            let (before, behind) = (judge(&self.texts(&(start..cut)))?, judge(&self.texts(&(cut..head)))?);
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
        let mut scan = TextScan::new(look_behind);
        let mut changed = false;
        for piece in pieces {
            changed |= scan.push(piece, &judge).unwrap();
        }
        changed |= scan.finish(&judge).unwrap();
        assert_eq!(changed, scan.segments.iter().any(|segment| segment.now.is_some()));
        (scan.left(), scan.segments)
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
        assert!(!scan.push(&text, judge()).unwrap());
        assert!(text.len() - scan.decided() <= 64 + STRIDE + 8);
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
        let mut scan = TextScan::new(64);
        scan.push(&text, judge()).unwrap();
        assert!(scan.decided() > LONGEST);
        scan.finish(judge()).unwrap();
        assert_eq!(scan.left(), text);
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
