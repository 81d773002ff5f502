//! Packs: detectors as rows of data, read from TOML and checked.
//!
//! [`RawRow`] is what the file says, [`Row`] what the engine runs. Packs are built in, so that each row has what its
//! shape needs is a test.

use std::ops::Range;
use std::sync::OnceLock;

use leafgate_words::words;
use regex::bytes::{Captures, Regex, RegexBuilder};
use serde::Deserialize;

use crate::bounds::Bounds;
use crate::checks::Check;
use crate::cues::Cue;
use crate::finding::{Confidence, DetectorId, Label};
use crate::lead::{MatchLengths, PatternLead};
use crate::names::NameRule;
use crate::table::joined;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPack {
    pack: String,
    detector: Vec<RawRow>,
}

/// What a pack says of a detector. What is written alone for people and tests is no part of its `Debug`, and
/// so not of its row's fingerprint.
#[derive(Default, Deserialize, derive_more::Debug)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RawRow {
    id: String,
    label: String,
    #[debug(skip)]
    pub(crate) description: String,
    pub(crate) confidence: Confidence,
    pub(crate) shape: Shape,
    pub(crate) keywords: Vec<String>,
    pub(crate) ignore_case: bool,
    pub(crate) prefix: bool,
    regex: String,
    #[serde(default = "usual_window")]
    pub(crate) window: usize,
    pub(crate) before: Option<usize>,
    behind: Option<String>,
    pub(crate) bounds: Bounds,
    pub(crate) names: NameRule,
    pub(crate) checks: Vec<Check>,
    /// A word of this kind must stand beside a match.
    pub(crate) beside: Option<Cue>,
    /// Matches may prove themselves by the checksum of GitHub's and npm's tokens; what does is no
    /// placeholder, whatever it spells.
    pub(crate) checksum: bool,
    /// Placeholders count as matches too.
    pub(crate) placeholders: bool,
    #[debug(skip)]
    #[serde(deserialize_with = "joined")]
    pub(crate) examples: Vec<String>,
    #[debug(skip)]
    #[serde(deserialize_with = "joined")]
    pub(crate) counterexamples: Vec<String>,
}

/// How many bytes a regex sees where a row does not say it.
fn usual_window() -> usize {
    512
}

words! {
    /// How a row finds its candidates.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub(crate) enum Shape {
        /// The keyword is the match's first bytes; the regex is tried there and nowhere else.
        #[default]
        Token = "what begins with a keyword",
        /// The regex is searched around the keyword, from [`RawRow::before`] bytes in front of it.
        Near = "what stands around a keyword",
        /// The keyword is in a name that [`RawRow::names`] take; the regex must take the whole value.
        Assigned = "the value of a name that holds a keyword",
        /// The keyword opens a block that runs to its own footer.
        Block = "a block from a keyword to its footer",
        /// Candidates are numbers, in groups or not.
        Number = "numbers, in groups or not",
        /// The same, and no group need have four digits.
        Groups = "numbers, in groups of any length or not",
        /// Candidates are two letters, two digits and groups of four.
        Account = "two letters, two digits and groups of four",
        /// Candidates are digits around dots and colons.
        Address = "digits around dots and colons",
        /// Candidates are three parts around two dots, as far apart as a bot token's.
        Dots = "three parts around two dots",
        /// Candidates lie around an `@`.
        At = "what stands around an @",
        /// Telephone numbers, by code alone.
        Phone = "telephone numbers, of many countries' forms",
        /// Addresses of network devices, by code alone.
        Device = "addresses of network devices",
        /// Candidates are words that begin with 1 or 3 and are as long as an address of money.
        Word = "words that begin with 1 or 3, as long as an address of money",
        /// Values that somebody named, by code alone.
        Known = "values that you named: `leafgate known list` counts them",
    }
    /// Returns where its candidates stand, for people.
    pub(crate) fn candidates = 0;
}

/// A detector, ready to run. What is read as it stands is the [`RawRow`]'s, to which it derefs.
#[derive(Debug, derive_more::Deref)]
pub(crate) struct Row {
    #[deref]
    raw: RawRow,
    pub(crate) id: DetectorId,
    pub(crate) label: Label,
    /// A digest of all that its pack says of it and that findings depend on.
    pub(crate) fingerprint: [u8; 32],
    pub(crate) pattern: String,
    /// How many digits a number must have before the regex is asked.
    pub(crate) least_digits: usize,
    regex: OnceLock<Regex>,
    lead: OnceLock<PatternLead>,
    /// What must follow a keyword for it to call a row that lies around it.
    pub(crate) behind: PatternLead,
}

impl Row {
    /// Returns true if and only if its matches must pass the check of this name.
    pub(crate) fn has_check(&self, name: &str) -> bool {
        self.checks.iter().any(|check| check.name == name)
    }

    /// Returns true if and only if its matches are tokens that a service makes at random: they have a
    /// prefix of their own, and nothing in them is text in another encoding.
    pub(crate) fn is_issued(&self) -> bool {
        self.prefix && !self.has_check("jwt") && matches!(self.shape, Shape::Token | Shape::Near)
    }

    /// Returns true if and only if a name announces a token, and no password: people choose those, and
    /// count.
    pub(crate) fn asks_for_token(&self) -> bool {
        self.has_check("token") || self.has_check("random")
    }

    pub(crate) fn has_regex(&self) -> bool {
        !self.pattern.is_empty()
    }

    /// Returns what a match begins with that begins at a keyword.
    pub(crate) fn lead(&self) -> &PatternLead {
        self.lead.get_or_init(|| {
            PatternLead::of(&self.pattern, self.ignore_case)
                .expect("a test compiles the pattern of every built-in row")
        })
    }

    /// Returns how long the pattern's matches are.
    pub(crate) fn lengths(&self) -> MatchLengths {
        self.lead().lengths
    }

    /// Returns how far from a match's beginning the regex looks at most: to the byte behind the
    /// longest match.
    pub(crate) fn reach(&self) -> usize {
        self.lengths().most.map_or(usize::MAX, |most| most + 1)
    }

    /// Finds the match in `window`, of which group 1, where there is one, is the secret. A group
    /// `cover` is masked with it, but judged by nothing: a user's name, a webhook's host.
    pub(crate) fn find(&self, window: &[u8]) -> Option<Match> {
        self.find_at(window, 0)
    }

    /// Finds the first match in `window` that begins at `from` or behind it; what stands before
    /// `from` is seen by assertions alone.
    ///
    /// The regex is compiled when it first runs: most rows of a pack never do in one process.
    pub(crate) fn find_at(&self, window: &[u8], from: usize) -> Option<Match> {
        let regex = self.regex.get_or_init(|| {
            compile(&self.pattern, self.ignore_case)
                .expect("a test compiles the pattern of every built-in row")
        });
        let found = if regex.captures_len() == 1 {
            let found = regex.find_at(window, from);
            found.map(|found| Match { secret: found.range(), cover: found.range(), whole: found.range() })
        } else {
            regex.captures_at(window, from).and_then(|captures| Match::of(regex, &captures))
        };
        #[cfg(test)]
        crate::work::spend_by_regex(crate::cost::read(&self.pattern, self.ignore_case, window, from));
        found
    }
}

/// Where a row's regex matched.
pub(crate) struct Match {
    pub(crate) whole: Range<usize>,
    /// What is judged.
    pub(crate) secret: Range<usize>,
    /// What is masked when the secret stands.
    pub(crate) cover: Range<usize>,
}

/// The group that is masked with the secret.
const COVER: &str = "cover";

impl Match {
    fn of(regex: &Regex, captures: &Captures<'_>) -> Option<Self> {
        let whole = captures.get(0)?.range();
        let mut groups = regex.capture_names().zip(captures.iter()).skip(1);
        let secret = groups
            .find_map(|(name, group)| group.filter(|_| name != Some(COVER)))
            .map_or(whole.clone(), |group| group.range());
        let cover = captures
            .name(COVER)
            .map_or(secret.clone(), |group| group.start().min(secret.start)..group.end().max(secret.end));
        Some(Self { whole, secret, cover })
    }
}

/// ASCII classes, bytes not characters: patterns are about tokens, and the engine widens a match to
/// character boundaries.
fn compile(pattern: &str, ignore_case: bool) -> Result<Regex, regex::Error> {
    RegexBuilder::new(pattern).unicode(false).case_insensitive(ignore_case).size_limit(4 << 20).build()
}

/// Reads a pack. Packs are built in, so what is wrong with one is read by whoever changes it.
pub(crate) fn parse(file: &str, text: &str) -> Result<Vec<Row>, String> {
    let raw: RawPack = toml::from_str(text).map_err(|error| format!("pack {file}: {error}"))?;
    let row = |row: RawRow| {
        let id = format!("{}/{}", raw.pack, row.id);
        Row::new(&id, row).map_err(|problem| format!("detector {id}: {problem}"))
    };
    raw.detector.into_iter().map(row).collect()
}

impl Row {
    fn new(id: &str, raw: RawRow) -> Result<Self, String> {
        let pattern = match raw.shape {
            _ if raw.regex.is_empty() => String::new(),
            Shape::Token | Shape::Block => format!(r"\A(?:{})", raw.regex),
            Shape::Assigned => format!(r"\A(?:{})\z", raw.regex),
            _ => raw.regex.clone(),
        };
        let behind = raw.behind.as_deref().map(|behind| PatternLead::of(behind, raw.ignore_case)).transpose();
        Ok(Self {
            id: DetectorId::new(id).map_err(|error| error.to_string())?,
            label: Label::new(&raw.label).map_err(|error| error.to_string())?,
            fingerprint: *blake3::hash(format!("{id} {raw:?}").as_bytes()).as_bytes(),
            pattern,
            least_digits: raw.checks.iter().find_map(Check::least_digits).unwrap_or(0),
            regex: OnceLock::new(),
            lead: OnceLock::new(),
            behind: behind.map_err(|error| format!("`behind` is no pattern: {error}"))?.unwrap_or_default(),
            raw,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::{all_detectors, row};

    /// Reports what is missing, and a key that belongs to another shape.
    fn fits_shape(raw: &RawRow) -> Result<(), &'static str> {
        let needs_keywords = matches!(raw.shape, Shape::Token | Shape::Near | Shape::Assigned | Shape::Block);
        let is_near = raw.shape == Shape::Near;
        match () {
            () if needs_keywords && raw.keywords.is_empty() => Err("its shape needs `keywords`"),
            () if raw.keywords.iter().any(|word| word.len() < 2) => {
                Err("a keyword must have two or more bytes")
            }
            // What is known is somebody's own, so no example of it could stand here.
            () if raw.examples.is_empty() && raw.shape != Shape::Known => {
                Err("it needs `examples`: they are its tests")
            }
            () if raw.description.is_empty() => Err("it needs a `description`"),
            () if raw.before.is_some() != is_near => {
                Err("`before` belongs to shape \"near\", and must stand there")
            }
            () if raw.behind.is_some() && !is_near => Err("`behind` belongs to shape \"near\""),
            () if raw.shape != Shape::Assigned
                && [&raw.names.last, &raw.names.after, &raw.names.not_after]
                    .iter()
                    .any(|it| !it.is_empty()) =>
            {
                Err("`names` belongs to shape \"assigned\"")
            }
            () => Ok(()),
        }
    }

    #[test]
    fn every_row_has_what_its_shape_needs_and_nothing_else() {
        for info in all_detectors() {
            let row = row(info.id.as_str()).unwrap();
            assert_eq!(fits_shape(&row.raw), Ok(()), "{}", info.id);
        }
    }

    #[test]
    fn a_fingerprint_is_of_what_decides_and_of_nothing_else() {
        let pack = "pack = 'p'\n[[detector]]\nid = 'one'\nlabel = 'ONE'\ndescription = 'Keys.'\nkeywords = ['key-']\n\
                    regex = 'key-[0-9]+'\nexamples = [['key-1']]\ncounterexamples = [['key-a']]\n";
        let fingerprint = |from: &str, to: &str| {
            assert!(pack.contains(from));
            parse("p.toml", &pack.replace(from, to)).unwrap()[0].fingerprint
        };
        let first = fingerprint("", "");
        for (from, to) in [("Keys.", "Keys of tests."), ("key-1'", "key-2'"), ("key-a'", "key-b'")] {
            assert_eq!(fingerprint(from, to), first, "{to}");
        }
        for (from, to) in [("[0-9]+", "[0-9]"), ("'key-']", "'key']"), ("ONE", "TWO"), ("'one'", "'two'")] {
            assert_ne!(fingerprint(from, to), first, "{to}");
        }
    }
}
