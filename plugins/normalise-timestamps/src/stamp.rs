//! Points in time, as clients write them.
//!
//! | form | example |
//! |---|---|
//! | RFC 3339, and what is like it | `2026-11-22T18:23:08.123Z`, `2026-11-22 18:23 +01:00` |
//! | RFC 5322 | `Sun, 22 Nov 2026 18:23:08 +0000` |
//! | `date` | `Sun Nov 22 18:23:08 UTC 2026` |
//!
//! A date alone is the same all day, and a time alone may be anything: both stay.

use regex::{Captures, Regex};

use crate::Config;

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// The forms, as patterns of [`PARTS`].
const FORMS: [&str; 3] = [
    "{year}-(?<month>0[1-9]|1[0-2])-(?<day>0[1-9]|[12][0-9]|3[01])[Tt ]{time}{zone}",
    "{weekday}, {day} {month} {year} {time}{zone}",
    // AM or PM, and a zone of letters or digits, may stand before the year.
    "{weekday} {month}  ?{day} {time}(?: [0-9A-Za-z+:-]{1,6}){0,2}? {year}",
];

/// What the forms are made of.
const PARTS: [(&str, &str); 6] = [
    ("{year}", "(?<year>[0-9]{4})"),
    ("{month}", "(?<month>Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"),
    ("{day}", "(?<day>0?[1-9]|[12][0-9]|3[01])"),
    ("{weekday}", "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"),
    // `18:23`, `18:23:08`, `18:23:08.123`.
    ("{time}", "(?:[01][0-9]|2[0-4]):[0-5][0-9](?::[0-9]{2}(?:[.,][0-9]+)?)?"),
    // `Z`, `+01:00`, `+0100`, `UTC`, with or without a blank before it.
    ("{zone}", "(?:(?<zone> ?(?:UTC|GMT|Z|[+-][0-9]{2}(?::?[0-9]{2})?))(?:$|[^0-9A-Za-z]))?"),
];

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

/// The forms, ready to be found.
pub(crate) struct Timestamps {
    forms: Vec<Regex>,
    keep: Keep,
}

impl Timestamps {
    /// Makes the patterns.
    pub(crate) fn new(config: Config) -> Result<Self, regex::Error> {
        let form = |form: &&str| {
            let form =
                PARTS.iter().fold((*form).to_owned(), |form, (part, spelled)| form.replace(part, spelled));
            Regex::new(&format!("(?:^|[^0-9A-Za-z])(?<stamp>{form})"))
        };
        Ok(Timestamps { forms: FORMS.iter().map(form).collect::<Result<_, _>>()?, keep: config.keep })
    }

    /// Returns a text with its points in time normalised, or `None` where it has none.
    pub(crate) fn normalise(&self, text: &str) -> Option<String> {
        self.forms.iter().fold(None, |done: Option<String>, form| {
            self.normalise_form(form, done.as_deref().unwrap_or(text)).or(done)
        })
    }

    /// Looks for one form, beside which stands no letter and no digit.
    fn normalise_form(&self, form: &Regex, text: &str) -> Option<String> {
        let (mut written, mut kept, mut from) = (String::new(), 0, 0);
        while let Some(found) = form.captures_at(text, from) {
            let stamp = found.name("stamp")?;
            from = found.name("zone").unwrap_or(stamp).end();
            if text[from..].starts_with(|next: char| next.is_ascii_alphanumeric()) {
                continue;
            }
            written.push_str(&text[kept..stamp.start()]);
            written.push_str(&self.rest_of(&found));
            kept = from;
        }
        (kept > 0).then(|| written + &text[kept..])
    }

    fn rest_of(&self, found: &Captures<'_>) -> String {
        let [year, month, day] = ["year", "month", "day"].map(|part| &found[part]);
        let named = MONTHS.iter().position(|name| *name == month).map(|place| (place + 1).to_string());
        match self.keep {
            Keep::Date => format!("{year}-{:0>2}-{day:0>2}", named.as_deref().unwrap_or(month)),
            Keep::Nothing => "(time)".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normalise(text: &str, keep: Keep) -> Option<String> {
        Timestamps::new(Config { keep }).unwrap().normalise(text)
    }

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
        assert_eq!(date("2026-11-22 18:23,2026-11-23 00:00"), "2026-11-22,2026-11-23");
        // What is like a zone and is none stays behind the date.
        assert_eq!(date("2026-11-22 18:23 -05001"), "2026-11-22 -05001");
        assert_eq!(date("2026-11-22 18:23: built, _2026-11-22T18:23Z_"), "2026-11-22: built, _2026-11-22_");
        assert_eq!(date("Sun Nov 22 18:23:08 2026 UTC"), "2026-11-22 UTC");
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
            "2026-11-22T18:23:08.123abc",
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
