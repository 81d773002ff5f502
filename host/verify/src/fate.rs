//! The result for each planted secret.

use std::collections::BTreeMap;

use leafgate_words::words;
use serde::Serialize;

use crate::canary::Family;
use crate::plant::{Pass, Plant};
use crate::search::FoundAs;
use crate::walk::{PositionKind, WalkPosition};

/// The gate's judgement of the value, or the key, in which a secret was planted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The request is held, and this very place is named as one where nothing can be replaced.
    pub held: bool,
    /// The gate takes it for media, which is not scanned.
    pub opaque: bool,
    /// Nothing may be replaced there, so only detectors with a prefix look.
    pub fixed: bool,
    /// The gate's tree has the value.
    pub known: bool,
}

/// The result for a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It would not leave.
    Redacted,
    /// It is still there, and the request waits or is refused because of it.
    Held,
    /// It would leave inside media, which is listed as not looked at.
    Media,
    /// It would leave without a prefix, in a value that may not be replaced: that is listed too, and nothing else.
    NoPrefix,
    /// It would leave.
    Leaked(Leak),
}

words! {
    /// The cause of a leak.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Leak {
        /// No value or key of the gate's tree holds it.
        Unknown = "the gate's tree has no value there: its index does not see this position",
        /// The gate takes a value for media that is none.
        NoMedia = "the gate does not scan it as media, but it does not begin like any",
        /// The gate has the value, and no rule acted on it.
        Missed = "no rule that enforces redacts this kind of secret there: see `leafgate explain`",
    }
    /// Returns a sentence for people, with what to look at.
    pub fn words = 0;
}

/// Decides the result for a secret.
pub fn fate(plant: &Plant, family: Family, facts: Facts, seen: Option<FoundAs>) -> Fate {
    let is_key = plant.position.what == PositionKind::Key;
    match (seen, facts) {
        (None, _) => Fate::Redacted,
        (Some(_), Facts { held: true, .. }) => Fate::Held,
        (Some(_), Facts { opaque: true, .. }) if plant.in_media => Fate::Media,
        (Some(_), Facts { fixed: true, .. }) if !family.has_prefix() && !is_key => Fate::NoPrefix,
        (Some(_), Facts { opaque: true, .. }) => Fate::Leaked(Leak::NoMedia),
        (Some(_), Facts { known: false, .. }) => Fate::Leaked(Leak::Unknown),
        (Some(_), _) => Fate::Leaked(Leak::Missed),
    }
}

/// The number of secrets with each result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FateCounts {
    /// Gone.
    pub redacted: usize,
    /// Still there, in a request that waits or is refused because of them.
    pub held: usize,
    /// In media.
    pub media: usize,
    /// Without a prefix, where nothing may be replaced.
    pub no_prefix: usize,
    /// Would leave.
    pub leaked: usize,
}

impl FateCounts {
    /// Returns the sum.
    pub fn total(&self) -> usize {
        self.redacted + self.held + self.media + self.no_prefix + self.leaked
    }

    fn count(&mut self, fate: Fate) {
        *match fate {
            Fate::Redacted => &mut self.redacted,
            Fate::Held => &mut self.held,
            Fate::Media => &mut self.media,
            Fate::NoPrefix => &mut self.no_prefix,
            Fate::Leaked(_) => &mut self.leaked,
        } += 1;
    }
}

/// A secret that would leave. Its position names it. The secret itself is not kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Leaked {
    /// The file.
    pub file: String,
    /// How it was planted.
    pub pass: Pass,
    /// Where.
    #[serde(flatten)]
    pub position: WalkPosition,
    /// How it was found.
    pub seen: FoundAs,
    /// The cause.
    pub leak: Leak,
}

/// The results for everything planted in the requests of one format.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Tally {
    /// Requests.
    pub files: usize,
    /// Counts by the kind of position.
    pub positions: BTreeMap<PositionKind, FateCounts>,
    /// Every secret that would leave.
    pub leaks: Vec<Leaked>,
}

impl Tally {
    /// Returns how many secrets were planted.
    pub fn planted(&self) -> usize {
        self.positions.values().map(FateCounts::total).sum()
    }

    /// Counts one secret.
    pub fn add(&mut self, file: &str, pass: Pass, plant: &Plant, fate: Fate, seen: Option<FoundAs>) {
        self.positions.entry(plant.position.what).or_default().count(fate);
        if let (Fate::Leaked(leak), Some(seen)) = (fate, seen) {
            let position = plant.position.clone();
            self.leaks.push(Leaked { file: file.to_owned(), pass, position, seen, leak });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plant(what: PositionKind, in_media: bool) -> Plant {
        let position = WalkPosition { pointer: "/a".to_owned(), occurrence: 0, what, level: 0 };
        Plant { canary: String::new(), position, in_media }
    }

    #[test]
    fn what_is_seen_is_a_leak_unless_it_is_held_or_listed() {
        let seen = Some(FoundAs::Plain);
        let known = Facts { known: true, ..Facts::default() };
        let (text, key, media) = (
            plant(PositionKind::Text, false),
            plant(PositionKind::Key, false),
            plant(PositionKind::Text, true),
        );
        let opaque = Facts { opaque: true, ..known };
        let fixed = Facts { fixed: true, ..known };
        for (plant, family, facts, seen, expected) in [
            (&text, Family::Github, known, None, Fate::Redacted),
            (&text, Family::Github, Facts { held: true, ..known }, seen, Fate::Held),
            (&text, Family::Github, known, seen, Fate::Leaked(Leak::Missed)),
            (&text, Family::Github, Facts::default(), seen, Fate::Leaked(Leak::Unknown)),
            (&media, Family::Aws, opaque, seen, Fate::Media),
            (&media, Family::Aws, known, seen, Fate::Leaked(Leak::Missed)),
            (&text, Family::Aws, opaque, seen, Fate::Leaked(Leak::NoMedia)),
            (&text, Family::Card, fixed, seen, Fate::NoPrefix),
            (&text, Family::Aws, fixed, seen, Fate::Leaked(Leak::Missed)),
            (&key, Family::Card, fixed, seen, Fate::Leaked(Leak::Missed)),
        ] {
            assert_eq!(fate(plant, family, facts, seen), expected, "{family} {facts:?}");
        }
    }
}
