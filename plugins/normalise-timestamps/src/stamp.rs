//! Points in time, as clients write them.
//!
//! | form | example |
//! |---|---|
//! | RFC 3339, and what is like it | `2026-11-22T18:23:08.123Z`, `2026-11-22 18:23 +01:00` |
//! | RFC 5322 | `Sun, 22 Nov 2026 18:23:08 +0000` |
//! | `date` | `Sun Nov 22 18:23:08 UTC 2026` |
//!
//! A date alone is the same all day, and a time alone may be anything: both stay.

use std::ops::Range;

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/// What is left of a point in time.
#[leafgate_plugin::config]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Keep {
    /// `2026-11-22`.
    Date,
    /// `(time)`.
    Nothing,
}

/// A point in time, as far as it is kept.
struct Timestamp {
    at: Range<usize>,
    year: u32,
    month: u32,
    day: u32,
}

/// Returns a text with its points in time normalised, or `None` where it has none.
pub(crate) fn normalise(text: &str, keep: Keep) -> Option<String> {
    let mut written = String::new();
    let mut kept = 0;
    let mut from = 0;
    while let Some(stamp) = next(text, from) {
        written.push_str(&text[kept..stamp.at.start]);
        match keep {
            Keep::Date => written.push_str(&format!("{:04}-{:02}-{:02}", stamp.year, stamp.month, stamp.day)),
            Keep::Nothing => written.push_str("(time)"),
        }
        (kept, from) = (stamp.at.end, stamp.at.end);
    }
    (kept > 0).then(|| written + &text[kept..])
}

/// The first point in time at or after a place.
fn next(text: &str, from: usize) -> Option<Timestamp> {
    let bytes = text.as_bytes();
    let starts = |at: &usize| {
        let begins = bytes[*at].is_ascii_digit() || matches!(bytes[*at], b'M' | b'T' | b'W' | b'F' | b'S');
        begins && (*at == 0 || !bytes[at - 1].is_ascii_alphanumeric())
    };
    (from..bytes.len()).filter(starts).find_map(|at| read(bytes, at))
}

/// The point in time that begins at a place.
fn read(bytes: &[u8], at: usize) -> Option<Timestamp> {
    let mut cursor = StampCursor { bytes, at };
    let (year, month, day) = match bytes[at].is_ascii_digit() {
        true => cursor.iso()?,
        false => cursor.named()?,
    };
    let sound = (1..=12).contains(&month) && (1..=31).contains(&day);
    let end = cursor.at;
    let ends = bytes.get(end).is_none_or(|byte| !byte.is_ascii_alphanumeric());
    (sound && ends).then_some(Timestamp { at: at..end, year, month, day })
}

#[derive(Clone, Copy)]
struct StampCursor<'t> {
    bytes: &'t [u8],
    at: usize,
}

impl StampCursor<'_> {
    /// `2026-11-22T18:23:08.123+01:00`.
    fn iso(&mut self) -> Option<(u32, u32, u32)> {
        let year = self.digits(4)?;
        self.take(b"-")?;
        let month = self.digits(2)?;
        self.take(b"-")?;
        let day = self.digits(2)?;
        self.take(b"T").or_else(|| self.take(b"t")).or_else(|| self.take(b" "))?;
        self.time()?;
        self.zone();
        Some((year, month, day))
    }

    /// `Sun, 22 Nov 2026 18:23:08 +0000` and `Sun Nov 22 18:23:08 UTC 2026`.
    fn named(&mut self) -> Option<(u32, u32, u32)> {
        self.one_of(&DAYS)?;
        if self.take(b", ").is_some() {
            let day = self.day()?;
            self.take(b" ")?;
            let month = self.month()?;
            self.take(b" ")?;
            let year = self.digits(4)?;
            self.take(b" ")?;
            self.time()?;
            self.zone();
            return Some((year, month, day));
        }
        self.take(b" ")?;
        let month = self.month()?;
        self.take(b" ")?;
        let _ = self.take(b" ");
        let day = self.day()?;
        self.take(b" ")?;
        self.time()?;
        // AM or PM, and a zone of letters or digits.
        for _ in 0..2 {
            let mut year = *self;
            if year.take(b" ").is_some() && year.digits(4).is_some() {
                break;
            }
            self.word()?;
        }
        self.take(b" ")?;
        Some((self.digits(4)?, month, day))
    }

    /// `18:23`, `18:23:08`, `18:23:08.123`.
    fn time(&mut self) -> Option<()> {
        let hour = self.digits(2)?;
        self.take(b":")?;
        let minute = self.digits(2)?;
        (hour < 25 && minute < 60).then_some(())?;
        if self.take(b":").is_some() {
            self.digits(2)?;
            let mut part = *self;
            if part.take(b".").or_else(|| part.take(b",")).is_some() && part.digits(1).is_some() {
                while part.digits(1).is_some() {}
                *self = part;
            }
        }
        Some(())
    }

    /// `Z`, `+01:00`, `+0100`, `UTC`, with or without a blank before it.
    fn zone(&mut self) {
        let mut zone = *self;
        let _ = zone.take(b" ");
        let named = zone.take(b"UTC").or_else(|| zone.take(b"GMT")).or_else(|| zone.take(b"Z"));
        let numeric = |zone: &mut Self| {
            zone.take(b"+").or_else(|| zone.take(b"-"))?;
            zone.digits(2)?;
            let mut minutes = *zone;
            let _ = minutes.take(b":");
            if minutes.digits(2).is_some() {
                *zone = minutes;
            }
            Some(())
        };
        let found = named.or_else(|| numeric(&mut zone));
        let ends = zone.bytes.get(zone.at).is_none_or(|byte| !byte.is_ascii_alphanumeric());
        if found.is_some() && ends {
            *self = zone;
        }
    }

    fn day(&mut self) -> Option<u32> {
        self.digits(2).or_else(|| self.digits(1))
    }

    fn month(&mut self) -> Option<u32> {
        self.one_of(&MONTHS).and_then(|place| u32::try_from(place + 1).ok())
    }

    /// A blank, and letters, digits or signs.
    fn word(&mut self) -> Option<()> {
        self.take(b" ")?;
        let rest = &self.bytes[self.at..];
        let length =
            rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || b"+-:".contains(byte)).count();
        self.at += length;
        (1..=6).contains(&length).then_some(())
    }

    fn one_of(&mut self, words: &[&str]) -> Option<usize> {
        words.iter().position(|word| self.take(word.as_bytes()).is_some())
    }

    /// Exactly so many digits, or at least none more for the last of a number.
    fn digits(&mut self, count: usize) -> Option<u32> {
        let digits = self.bytes.get(self.at..self.at + count)?;
        let number = digits.iter().try_fold(0, |number: u32, digit| {
            digit.is_ascii_digit().then(|| number * 10 + u32::from(digit - b'0'))
        })?;
        self.at += count;
        Some(number)
    }

    fn take(&mut self, expected: &[u8]) -> Option<()> {
        let found = self.bytes[self.at..].starts_with(expected);
        self.at += if found { expected.len() } else { 0 };
        found.then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn date(text: &str) -> String {
        normalise(text, Keep::Date).unwrap_or_else(|| text.to_owned())
    }

    #[test]
    fn points_in_time_become_their_date() {
        for stamp in [
            "2026-11-22T18:23:08Z",
            "2026-11-22t18:23:08.123456789Z",
            "2026-11-22T18:23:08+01:00",
            "2026-11-22 18:23:08,123",
            "2026-11-22 18:23:08 UTC",
            "2026-11-22 18:23 -0500",
            "2026-11-22 18:23",
            "Sun, 22 Nov 2026 18:23:08 +0000",
            "Sun, 22 Nov 2026 18:23:08 GMT",
            "Sun Nov 22 18:23:08 UTC 2026",
            "Sun Nov 22 18:23:08 2026",
            "Sun Nov 22 06:23:08 PM CET 2026",
            "Sun Nov 22 18:23:08 +01:00 2026",
        ] {
            assert_eq!(date(stamp), "2026-11-22", "{stamp}");
            assert_eq!(date(&format!("Now: {stamp}. Then")), "Now: 2026-11-22. Then", "{stamp}");
            assert_eq!(normalise(stamp, Keep::Nothing).as_deref(), Some("(time)"), "{stamp}");
        }
        assert_eq!(date("Tue, 3 Mar 2026 08:00:00 GMT"), "2026-03-03");
        assert_eq!(date("Tue Mar  3 08:00:00 UTC 2026"), "2026-03-03");
        let two = "from 2026-11-22T18:23:08Z to 2026-11-23T00:00:00Z";
        assert_eq!(date(two), "from 2026-11-22 to 2026-11-23");
    }

    #[test]
    fn what_is_no_point_in_time_stays() {
        for text in [
            "",
            "2026-11-22",
            "18:23:08",
            "12026-11-22T18:23:08Z",
            "2026-13-22T18:23:08Z",
            "2026-11-32T18:23:08Z",
            "2026-11-22T18:2",
            "2026-11-22T99:23",
            "2026-11-22T18:23:08ZZ",
            "Sun Nov",
            "Sunday, 22 Nov 2026 18:23:08",
            "Sun Nov 22 18:23:08 one two three 2026",
            "id-2026-11-2218:23",
            "\u{e9}2026",
        ] {
            assert_eq!(normalise(text, Keep::Date), None, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn what_is_normalised_stays_as_it_is(text in "[0-9:T Z+.SunNov,\u{e9}-]{0,60}") {
            if let Some(normalised) = normalise(&text, Keep::Nothing) {
                proptest::prop_assert_eq!(normalise(&normalised, Keep::Nothing), None);
            }
        }
    }
}
