//! What rules of other scanners ask of a match beyond their pattern: which group is the secret, what
//! is no finding after all, and which other finding must stand nearby.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use aho_corasick::AhoCorasick;
use regex::{Captures, Regex, RegexSet};

use crate::own::OwnDetector;

/// A detector whose match is a finding only beside one of another detector.
#[derive(Debug)]
pub(crate) struct Companion {
    pub(crate) detector: Arc<OwnDetector>,
    /// So many lines apart at most.
    pub(crate) lines: Option<usize>,
    /// So many columns apart at most.
    pub(crate) columns: Option<usize>,
}

/// What one detector asks of its matches.
pub(crate) struct Sieve {
    /// The group that is the secret; without one the first that matched, or the whole match.
    pub(crate) group: Option<usize>,
    /// A match that any of them holds for is no finding.
    pub(crate) filters: Vec<Arc<Filter>>,
    pub(crate) companions: Vec<Companion>,
    /// It is there for others to stand beside, and finds nothing itself.
    pub(crate) is_silent: bool,
    /// The digest of what it was made from.
    pub(crate) digest: [u8; 32],
}

impl fmt::Debug for Sieve {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sieve").field("digest", &self.digest).finish_non_exhaustive()
    }
}

/// What is no finding.
#[derive(Debug)]
pub(crate) enum Filter {
    Any(Vec<Filter>),
    All(Vec<Filter>),
    Not(Box<Filter>),
    /// Shannon's bits for each byte.
    Entropy(Part, Order, f64),
    Matches(Part, RegexSet),
    Contains(Part, Box<AhoCorasick>),
}

/// What a filter looks at.
#[derive(Debug)]
pub(crate) enum Part {
    Secret,
    Whole,
    Line,
    Fixed(String),
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Order {
    Below,
    AtMost,
    AtLeast,
    Above,
}

/// One match, as filters see it.
pub(crate) struct Seen<'t> {
    pub(crate) secret: &'t str,
    pub(crate) whole: &'t str,
    /// The lines in which it stands.
    pub(crate) line: &'t str,
}

impl<'t> Seen<'t> {
    fn part<'p>(&self, part: &'p Part) -> &'p str
    where
        't: 'p,
    {
        match part {
            Part::Secret => self.secret,
            Part::Whole => self.whole,
            Part::Line => self.line,
            Part::Fixed(text) => text,
        }
    }
}

impl Filter {
    pub(crate) fn holds(&self, seen: &Seen<'_>) -> bool {
        match self {
            Filter::Any(all) => all.iter().any(|filter| filter.holds(seen)),
            Filter::All(all) => all.iter().all(|filter| filter.holds(seen)),
            Filter::Not(filter) => !filter.holds(seen),
            Filter::Entropy(part, order, bits) => {
                let entropy = entropy(seen.part(part));
                match order {
                    Order::Below => entropy < *bits,
                    Order::AtMost => entropy <= *bits,
                    Order::AtLeast => entropy >= *bits,
                    Order::Above => entropy > *bits,
                }
            }
            Filter::Matches(part, patterns) => patterns.is_match(seen.part(part)),
            Filter::Contains(part, words) => words.is_match(seen.part(part)),
        }
    }
}

impl Sieve {
    /// Calls `f` with each secret that a pattern finds in a text and nothing takes out.
    pub(crate) fn each(&self, pattern: &Regex, text: &str, mut f: impl FnMut(Range<usize>)) {
        if self.is_silent {
            return;
        }
        // Where a companion stands is looked up once, and only when there is something to be beside.
        let mut beside: Option<Vec<Vec<Place>>> = None;
        let mut places = Places::new(text);
        for (whole, secret) in self.found(pattern, text) {
            let companions = beside.get_or_insert_with(|| {
                self.companions.iter().map(|companion| companion.places(text)).collect()
            });
            let place = if self.companions.is_empty() { Place::default() } else { places.of(whole.start) };
            let is_near = |(companion, places): (&Companion, &Vec<Place>)| {
                places.len() > MOST_PLACES || places.iter().any(|other| companion.reaches(place, *other))
            };
            if self.companions.iter().zip(companions.iter()).all(is_near) {
                f(secret);
            }
        }
    }

    /// The matches that no filter takes out, whole, and the secret of each.
    fn found<'a>(
        &'a self,
        pattern: &'a Regex,
        text: &'a str,
    ) -> impl Iterator<Item = (Range<usize>, Range<usize>)> + 'a {
        pattern.captures_iter(text).filter_map(move |captures| {
            let whole = captures.get(0)?.range();
            let secret = self.secret(&captures)?;
            let seen = Seen {
                secret: &text[secret.clone()],
                whole: &text[whole.clone()],
                line: lines(text, &whole),
            };
            let stands = !secret.is_empty() && !self.filters.iter().any(|filter| filter.holds(&seen));
            stands.then_some((whole, secret))
        })
    }

    fn secret(&self, captures: &Captures<'_>) -> Option<Range<usize>> {
        match self.group {
            Some(group) => captures.get(group).map(|group| group.range()),
            None => {
                let groups = captures.iter().skip(1).flatten();
                let first = groups.map(|group| group.range()).find(|range| !range.is_empty());
                first.or_else(|| captures.get(0).map(|whole| without_breaks(&whole)))
            }
        }
    }
}

impl Companion {
    /// Where its detector finds something.
    fn places(&self, text: &str) -> Vec<Place> {
        let (Some(pattern), Some(sieve)) = (&self.detector.pattern, &self.detector.sieve) else {
            return Vec::new();
        };
        let lower = text.to_ascii_lowercase();
        let keywords = &self.detector.keywords;
        if !keywords.is_empty() && !keywords.iter().any(|word| lower.contains(&word.to_ascii_lowercase())) {
            return Vec::new();
        }
        let mut places = Places::new(text);
        sieve.found(pattern, text).map(|(whole, _)| places.of(whole.start)).take(MOST_PLACES + 1).collect()
    }

    fn reaches(&self, from: Place, to: Place) -> bool {
        self.lines.is_none_or(|most| from.line.abs_diff(to.line) <= most)
            && self.columns.is_none_or(|most| from.column.abs_diff(to.column) <= most)
    }
}

/// A match without the line breaks around it.
fn without_breaks(whole: &regex::Match<'_>) -> Range<usize> {
    let text = whole.as_str();
    let start = whole.start() + text.len() - text.trim_start_matches('\n').len();
    start..(whole.start() + text.trim_end_matches('\n').len()).max(start)
}

/// So many companions are held against each match. Where a text has more, one of them counts as near:
/// whoever fills a text with them must neither hide a secret nor buy time.
const MOST_PLACES: usize = 256;

/// Line and column.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    line: usize,
    column: usize,
}

/// The places of offsets that grow: a text is read once for all of them.
struct Places<'t> {
    text: &'t str,
    read: usize,
    line: usize,
    line_start: usize,
}

impl<'t> Places<'t> {
    fn new(text: &'t str) -> Self {
        Places { text, read: 0, line: 0, line_start: 0 }
    }

    fn of(&mut self, offset: usize) -> Place {
        for at in memchr::memchr_iter(b'\n', &self.text.as_bytes()[self.read..offset]) {
            self.line += 1;
            self.line_start = self.read + at + 1;
        }
        self.read = offset;
        Place { line: self.line, column: offset - self.line_start }
    }
}

/// The lines that a match lies in, up to what is worth looking at.
fn lines<'t>(text: &'t str, whole: &Range<usize>) -> &'t str {
    /// A text of one line is as long as the text: for each match of it no more is read than this.
    const FAR: usize = 4096;
    let floor = text.floor_char_boundary(whole.start.saturating_sub(FAR));
    let ceiling = text.ceil_char_boundary(text.len().min(whole.end + FAR));
    let start = text[floor..whole.start].rfind('\n').map_or(floor, |at| floor + at + 1);
    let end = text[whole.end..ceiling].find('\n').map_or(ceiling, |at| whole.end + at);
    &text[start..end]
}

fn entropy(text: &str) -> f64 {
    let mut counts = [0u32; 256];
    text.bytes().for_each(|byte| counts[usize::from(byte)] += 1);
    let length = text.len().max(1) as f64;
    let shares = counts.iter().filter(|&&count| count > 0).map(|&count| f64::from(count) / length);
    shares.map(|share| -share * share.log2()).sum()
}
