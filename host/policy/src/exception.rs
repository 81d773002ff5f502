//! What is found and allowed all the same: a value, a shape of values, a place.
//!
//! An exception takes out its own findings and nothing else: a longer finding around an allowed
//! value stays one. A value that nobody may read is named by its fingerprint, which is the token
//! that stands for it: keyed, so that a rule file gives nothing away.
//!
//! Exceptions end. Which of them are in force is decided once, when a policy is loaded, by the time
//! that the caller gives; nothing here reads a clock.

use std::collections::{BTreeSet, HashMap};
use std::time::SystemTime;

use leafgate_detect::Label;
use leafgate_vault::TokenKeys;
use regex::Regex;
use time::{Date, Month, OffsetDateTime};

use crate::index::RuleIndex;
use crate::paths::SelectorPaths;
use crate::selector::Selector;

/// One exception that is in force.
#[derive(Debug)]
pub(crate) struct Exception {
    /// Where it was written, for people.
    pub(crate) origin: String,
    /// The redact rules that it is about; all where it is empty.
    pub(crate) rules: Vec<RuleIndex>,
    /// Where it holds.
    pub(crate) selector: Selector,
    pub(crate) allowed: Allowed,
    /// Its table, with stars for what looks like a secret.
    pub(crate) says: toml::Table,
    /// The last day on which it is in force; `None` where it does not end.
    pub(crate) ends: Option<Day>,
}

/// The exceptions of a policy that are in force, by what they allow.
#[derive(Debug, Default)]
pub(crate) struct Exceptions {
    all: Vec<Exception>,
    by_value: HashMap<String, Vec<usize>>,
    by_fingerprint: HashMap<String, Vec<usize>>,
    /// The labels of these fingerprints.
    labels: BTreeSet<String>,
    /// Those that allow a pattern, or anything in a place.
    others: Vec<usize>,
    pub(crate) paths: SelectorPaths,
}

impl Exceptions {
    pub(crate) fn new(all: Vec<Exception>) -> Self {
        let mut exceptions = Exceptions {
            paths: SelectorPaths::new(all.iter().map(|exception| &exception.selector)),
            ..Exceptions::default()
        };
        for (at, Exception { allowed, .. }) in all.iter().enumerate() {
            for value in &allowed.values {
                exceptions.by_value.entry(value.clone()).or_default().push(at);
            }
            for token in &allowed.fingerprints {
                exceptions.by_fingerprint.entry(token.clone()).or_default().push(at);
                exceptions.labels.extend(token.rsplit_once('_').map(|(label, _)| label.to_owned()));
            }
            if allowed.pattern.is_some() || allowed.is_anything() {
                exceptions.others.push(at);
            }
        }
        Exceptions { all, ..exceptions }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Exception> {
        self.all.iter()
    }

    pub(crate) fn get(&self, at: usize) -> &Exception {
        &self.all[at]
    }

    /// Returns the numbers of those that allow a value, wherever it stands.
    pub(crate) fn allowing(
        &self,
        label: &Label,
        value: &str,
        keys: &TokenKeys,
    ) -> impl Iterator<Item = usize> {
        // A token costs a keyed hash: none is made where none could fit.
        let token = self.labels.contains(label.as_str()).then(|| keys.token(label.as_str(), value));
        let by_token = token.and_then(|token| self.by_fingerprint.get(token.as_str()));
        let others = self.others.iter().filter(move |&&at| self.all[at].allowed.allows_text(value));
        self.by_value.get(value).into_iter().chain(by_token).flatten().chain(others).copied()
    }

    /// Returns the moment at which the first of them ends.
    pub(crate) fn first_end(&self) -> Option<SystemTime> {
        self.all.iter().filter_map(|exception| exception.ends).min().map(Day::end)
    }
}

/// What may stand there.
#[derive(Debug, Default)]
pub(crate) struct Allowed {
    pub(crate) values: BTreeSet<String>,
    /// Matches the whole of a finding, or nothing of it.
    pub(crate) pattern: Option<Regex>,
    /// Tokens of values.
    pub(crate) fingerprints: BTreeSet<String>,
}

impl Exception {
    /// Whether it is about what a rule finds.
    pub(crate) fn is_about(&self, rule: RuleIndex) -> bool {
        self.rules.is_empty() || self.rules.contains(&rule)
    }

    /// Whether it holds for whatever rules, wherever and as long as another one. It may be so and not be
    /// seen.
    pub(crate) fn holds_where(&self, other: &Exception) -> bool {
        let is_about = |rule: &RuleIndex| self.is_about(*rule);
        (self.rules.is_empty() || !other.rules.is_empty() && other.rules.iter().all(is_about))
            && self.ends.is_none_or(|end| other.ends.is_some_and(|other| other <= end))
            && self.selector.covers(&other.selector)
    }
}

impl Allowed {
    /// Whether it is a place alone that is allowed, whatever is found there.
    pub(crate) fn is_anything(&self) -> bool {
        self.values.is_empty() && self.pattern.is_none() && self.fingerprints.is_empty()
    }

    /// Whether a text is allowed for its shape, or for its place alone.
    pub(crate) fn allows_text(&self, value: &str) -> bool {
        self.is_anything() || self.pattern.as_ref().is_some_and(|pattern| pattern.is_match(value))
    }
}

/// Returns whether an exception whose last day is this (`2027-03-31`) has ended; `None` for a text that
/// is no day.
pub fn has_ended(until: &str, now: SystemTime) -> Option<bool> {
    let date = until.parse::<toml::value::Datetime>().ok()?.date?;
    Some(Day::of_date(date)? < Day::of(now))
}

/// A day of the calendar in UTC, written as RFC 3339 does.
#[derive(Clone, Copy, Debug, derive_more::Display, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Day(Date);

impl Day {
    /// The day of a date; `None` where no calendar has it.
    pub(crate) fn of_date(date: toml::value::Date) -> Option<Day> {
        let month = Month::try_from(date.month).ok()?;
        Date::from_calendar_date(date.year.into(), month, date.day).ok().map(Day)
    }

    /// The day of a moment.
    pub(crate) fn of(moment: SystemTime) -> Day {
        Day(OffsetDateTime::from(moment).date())
    }

    /// The day that is so many days later.
    pub(crate) fn later(self, days: u64) -> Day {
        let days = time::Duration::days(i64::try_from(days).unwrap_or(i64::MAX));
        Day(self.0.saturating_add(days))
    }

    /// The first moment after it.
    pub(crate) fn end(self) -> SystemTime {
        self.0.next_day().unwrap_or(Date::MAX).midnight().assume_utc().into()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn an_exception_is_in_force_on_its_last_day() {
        let day = SystemTime::UNIX_EPOCH + Duration::from_secs(951_782_400);
        for (until, ended) in [
            ("2000-02-28", Some(true)),
            ("2000-02-29", Some(false)),
            ("2000-03-01", Some(false)),
            ("never", None),
            ("2000-02-30", None),
        ] {
            assert_eq!(has_ended(until, day), ended, "{until}");
        }
    }

    #[test]
    fn a_day_ends_where_the_next_one_begins() {
        let moment = SystemTime::UNIX_EPOCH + Duration::from_secs(951_782_400);
        let day = Day::of(moment);
        assert_eq!(
            Day::of_date("2000-02-29".parse::<toml::value::Datetime>().unwrap().date.unwrap()),
            Some(day)
        );
        assert_eq!(
            (day.to_string(), day.later(1).to_string()),
            ("2000-02-29".to_owned(), "2000-03-01".to_owned())
        );
        let end = moment + Duration::from_secs(24 * 60 * 60);
        assert_eq!((day.end(), Day::of(end - Duration::from_secs(1))), (end, day));
    }
}
