//! An exception that is to be written: the table that `[[exception]]` reads.
//!
//! The command line and the approval prompt write the same table, so its keys stand here, beside the
//! code that reads them.

use std::collections::BTreeMap;
use std::time::SystemTime;

use serde::{Serialize, Serializer};
use serde_with::{OneOrMany, serde_as};
use toml::value::Datetime;

use crate::exception::{Day, has_ended};

/// What `until` says of an exception that does not end.
pub(crate) const NEVER: &str = "never";

/// Days that an exception may be asked for: about a hundred years.
const MOST_DAYS: u64 = 36_500;

/// An exception as somebody wants it, and as its table says it. Whether it is one is for the policy to say that loads it.
#[serde_as]
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NewException {
    /// The redact rules that it is about; all where it names none.
    #[serde(rename = "rule", skip_serializing_if = "Vec::is_empty")]
    #[serde_as(as = "OneOrMany<_>")]
    pub rules: Vec<String>,
    /// What it allows.
    #[serde(flatten)]
    pub allowed: Allows,
    /// Why.
    pub reason: String,
    /// Who answers for it.
    pub by: String,
    /// Its end, as [`last_day`] gives it.
    #[serde(serialize_with = "as_day")]
    pub until: String,
}

/// What an exception allows.
#[serde_as]
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum Allows {
    /// These values, as they stand in a text.
    #[serde(rename = "value")]
    Values(#[serde_as(as = "OneOrMany<_>")] Vec<String>),
    /// What a regular expression matches whole.
    #[serde(rename = "pattern")]
    Pattern(String),
    /// The values that these tokens stand for.
    #[serde(rename = "finding")]
    Findings(#[serde_as(as = "OneOrMany<_>")] Vec<String>),
}

/// Writes a day as TOML does, without quotes.
fn as_day<S: Serializer>(until: &str, to: S) -> Result<S::Ok, S::Error> {
    match until.parse::<Datetime>() {
        Ok(day) => day.serialize(to),
        Err(_) => until.serialize(to),
    }
}

impl NewException {
    /// Returns its table, with a line break at the end.
    pub fn table(&self) -> String {
        let file = BTreeMap::from([("exception", [self])]);
        toml::to_string_pretty(&file).expect("texts and days are always TOML")
    }

    /// Returns the text of a rule file with its table behind all that is there.
    pub fn behind(&self, file: Option<&str>) -> String {
        match file.map(str::trim_end) {
            None | Some("") => self.table(),
            Some(before) => format!("{before}\n\n{}", self.table()),
        }
    }
}

/// Why a text says no end of an exception.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoEnd {
    /// The day is over.
    #[error("that day is over: name the last day on which the exception is in force, or `never`")]
    Over,
    /// It is no day, no span and not `never`.
    #[error("this is no end of an exception: write its last day (2027-03-31), a span (30d, 2w), or `never`")]
    Unread,
}

/// Returns how `until` says the end of an exception that somebody asked for as a day (`2027-03-31`), as a
/// span from a moment on (`30d`, `2w`), or as `never`.
///
/// # Errors
/// What is none of these, and a day that is over.
pub fn last_day(text: &str, now: SystemTime) -> Result<String, NoEnd> {
    let text = text.trim();
    if text == NEVER {
        return Ok(text.to_owned());
    }
    match has_ended(text, now) {
        Some(true) => return Err(NoEnd::Over),
        // Another way to write a date (with a time of day) is none for `until`.
        Some(false) if text.len() == "2027-03-31".len() => return Ok(text.to_owned()),
        Some(false) => return Err(NoEnd::Unread),
        None => {}
    }
    let (number, days) = match (text.strip_suffix('d'), text.strip_suffix('w')) {
        (Some(number), _) => (number, 1),
        (None, Some(number)) => (number, 7),
        (None, None) => return Err(NoEnd::Unread),
    };
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let number: Option<u64> = number.parse().ok().filter(|_| is_number);
    let span = number.map(|number| number.saturating_mul(days)).filter(|days| *days <= MOST_DAYS);
    span.map(|days| Day::of(now).later(days).to_string()).ok_or(NoEnd::Unread)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn an_end_is_a_day_a_span_or_never() {
        // 2000-02-29.
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(951_782_400);
        for (asked, end) in [
            ("never", "never"),
            (" 2000-02-29 ", "2000-02-29"),
            ("2027-03-31", "2027-03-31"),
            ("0d", "2000-02-29"),
            ("1d", "2000-03-01"),
            ("2w", "2000-03-14"),
        ] {
            assert_eq!(last_day(asked, now).as_deref(), Ok(end), "{asked}");
        }
        assert_eq!(last_day("2000-02-28", now), Err(NoEnd::Over));
        let wrong =
            ["", "d", "30", "-3d", "+3d", "3 d", "3h", "99999999999999999999d", "36501d", "soon", "é"];
        for wrong in wrong.into_iter().chain(["2000-02-30", "2027-03-31T10:00:00Z", "Never"]) {
            assert_eq!(last_day(wrong, now), Err(NoEnd::Unread), "{wrong:?}");
        }
    }

    #[test]
    fn a_table_is_read_as_it_was_meant() {
        let new = NewException {
            rules: vec!["mail".to_owned()],
            allowed: Allows::Findings(vec!["EMAIL_k7f3q2xw9mz4ab6c".to_owned()]),
            reason: "a \"fixed\"\nline\\".to_owned(),
            by: "Ann".to_owned(),
            until: "2027-03-31".to_owned(),
        };
        let read: toml::Table = new.behind(Some("[[exception]]\nvalue = \"x\"\n\n")).parse().unwrap();
        let written = &read["exception"][1];
        assert_eq!(written["reason"].as_str(), Some(new.reason.as_str()));
        assert_eq!(written["rule"].as_str(), Some("mail"));
        assert!(written["until"].as_datetime().is_some(), "{written}");
        let endless = NewException { until: "never".to_owned(), ..new };
        assert!(endless.behind(Some("")).ends_with("until = \"never\"\n"));
    }
}
