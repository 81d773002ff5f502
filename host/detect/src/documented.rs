//! What services document about the credentials that they issue.
//!
//! A name may say whose credential its value is: `OPENWEATHER_API_KEY`. Where the service documents
//! one form for all that it issues, a value that cannot have it is no credential of it: it is
//! shorter than any, begins like one and goes on differently, or counts throughout (`abcdef1234…`)
//! and has another form. A value that is longer or otherwise new stays a finding, for services change
//! their forms. What people choose, passwords and secrets of webhooks and cookies, may have any form.
//!
//! A name may also say of nobody whose its value is: `API_KEY`. What counts throughout under such a
//! name stands in documentation and tests.

use std::sync::{LazyLock, OnceLock};

use aho_corasick::AhoCorasick;
use regex::bytes::{Regex, RegexBuilder};
use serde::Deserialize;

use crate::lists::LISTS;
use crate::names::words;
use crate::placeholder::counts_throughout;
use crate::table::table;
use crate::work::spend;

/// What one service issues.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Issued {
    service: String,
    #[serde(default)]
    least: usize,
    #[serde(default)]
    opening: String,
    form: String,
    #[serde(skip)]
    patterns: OnceLock<IssuedPatterns>,
}

/// The patterns of one service, compiled when its name is first seen.
struct IssuedPatterns {
    opening: Option<Regex>,
    form: Regex,
}

/// The rows of `packs/issued.toml`, which says what they mean.
fn issued() -> &'static [Issued] {
    #[derive(Deserialize)]
    struct Pack {
        issued: Vec<Issued>,
    }
    static PACK: LazyLock<Pack> = LazyLock::new(|| table(include_str!("../packs/issued.toml")));
    &PACK.issued
}

impl Issued {
    fn patterns(&self) -> &IssuedPatterns {
        self.patterns.get_or_init(|| IssuedPatterns {
            opening: (!self.opening.is_empty()).then(|| compile(&format!(r"\A(?:{})", self.opening))),
            form: compile(&format!(r"\A(?:{})\z", self.form)),
        })
    }
}

/// A value with what says whose it is.
pub(crate) struct Named<'a> {
    /// A name that a row takes, so it has a word.
    pub(crate) name: &'a str,
    /// What stands before the name in its line.
    pub(crate) before: &'a str,
    pub(crate) value: &'a str,
    /// Nobody chose the value: it is no password.
    pub(crate) token: bool,
}

/// Returns true if and only if a value is no credential, by what is documented.
///
/// Asked for values that all else takes for secrets.
pub(crate) fn excludes(named: &Named<'_>) -> bool {
    /// People choose shorter passwords that count.
    const LONG: usize = 20;
    let Named { name, value, token, .. } = *named;
    let counts = counts_throughout(value) && (token || value.len() >= LONG);
    let mut excluded = counts && token && named.is_nobodys();
    for service in services(name) {
        let IssuedPatterns { opening, form } = service.patterns();
        if form.is_match(value.as_bytes()) {
            return false;
        }
        let opens = opening.as_ref().is_some_and(|opening| opening.is_match(value.as_bytes()));
        let issued = token && !named.is_chosen();
        excluded |= counts || (issued && (value.len() < service.least || opens));
    }
    excluded
}

/// The services that a name speaks of.
fn services(name: &str) -> Vec<&'static Issued> {
    /// Shorter names of services stand in other words: `tskey` in `accountsKey`.
    const LEAST_WITHIN: usize = 6;
    static SERVICES: LazyLock<AhoCorasick> = LazyLock::new(|| {
        AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .build(issued().iter().map(|issued| &issued.service))
            .expect("a few words stay far below the automaton's limits")
    });
    let spelled: Vec<u8> = name.bytes().filter(u8::is_ascii_alphanumeric).collect();
    spend(spelled.len());
    let found = SERVICES.find_overlapping_iter(&spelled);
    let named = found.filter(|found| found.start() == 0 || found.len() >= LEAST_WITHIN);
    named.map(|found| &issued()[found.pattern()]).collect()
}

fn compile(pattern: &str) -> Regex {
    RegexBuilder::new(pattern)
        .unicode(false)
        .case_insensitive(true)
        .build()
        .expect("a test compiles every pattern of the table")
}

impl Named<'_> {
    /// Returns true if and only if the name says that no service issued its value: `HEROKU_COOKIE_SECRET`.
    fn is_chosen(&self) -> bool {
        words(self.name).any(|word| LISTS.chosen.has(word))
    }

    /// Returns true if and only if nothing says whose the value is: `API_KEY=…`, `const oauthToken = …`.
    fn is_nobodys(&self) -> bool {
        let mut before = self.before.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        words(self.name).all(|word| LISTS.nobodys.has(word) || LISTS.declares.has(word))
            && before.all(|word| LISTS.declares.has(word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles_and_is_no_shorter_than_the_least_length() {
        for issued in issued() {
            issued.patterns();
            let least = regex_syntax::parse(&issued.form).unwrap().properties().minimum_len().unwrap();
            // What may be followed by anything is open at its end.
            assert!(least >= issued.least || issued.form.contains(".*"), "{}: {least}", issued.service);
        }
    }

    fn is_excluded(name: &str, value: &str) -> bool {
        excludes(&Named { name, before: "", value, token: true })
    }

    #[test]
    fn a_value_that_a_service_cannot_have_issued_is_none_of_it() {
        for (name, value) in [
            ("OPENWEATHER_API_KEY", "q7k2x9m4w8"),
            ("OpenWeatherKey", "abcdef1234567890abcdef12345678901"),
            ("DATABRICKS_TOKEN", "dapi8f2c71b09e4d65a3g17c20b9d84e5f6a"),
            ("supabase_key", "sb_secret_9uM4GhB0STF5R4K3HxQtlg_bzWW6D"),
            ("telegram_bot_token", "2907:A9qdhs86x20osoe_2n5tf_lrbvg_2d_n_u8"),
            ("vercel.token", "DdZV6ZDZW6Vpl7n7"),
        ] {
            assert!(is_excluded(name, value), "{name} {value}");
        }
        for (name, value) in [
            ("OPENWEATHER_API_KEY", "8f2c71b09e4d65a3b17c20b9d84e5f6a"),
            // Counts, and has the form all the same.
            ("OPENWEATHER_API_KEY", "abcdef1234567890abcdef1234567890"),
            // A form that is new.
            ("VERCEL_TOKEN", "vcp_8f2c71b09e4d65a3b17c20b9d84e5f6aQ"),
            ("DATABRICKS_TOKEN", "q7Zk29fLmXw84TbVxPq3q7Zk29fLmXw84TbVxPq3"),
            // Chosen by a person.
            ("TELEGRAM_WEBHOOK_SECRET", "q7k2x9m4w8"),
            ("HEROKU_COOKIE_SECRET", "q7k2x9m4w8"),
            ("ACME_TOKEN", "q7k2x9m4w8"),
        ] {
            assert!(!is_excluded(name, value), "{name} {value}");
        }
    }

    #[test]
    fn what_counts_under_a_name_of_nobodys_was_made_up() {
        let value = "abcdef1234567890abcdef";
        let named = |before, name, value, token| excludes(&Named { name, before, value, token });
        for (before, name) in [
            ("", "API_KEY"),
            ("  \"", "oauth_token"),
            ("export const ", "myClientSecret"),
            ("- ", "private key"),
        ] {
            assert!(named(before, name, value, true), "{before}{name}");
        }
        for (before, name) in
            [("", "ACME_API_KEY"), ("", "githubToken"), ("acme: ", "token"), ("a=1 ", "key")]
        {
            assert!(!named(before, name, value, true), "{before}{name}");
        }
        assert!(!named("", "API_KEY", "8f2c71b09e4d65a3b17c20b9d84e5f6a", true));
        // The form of a store of objects.
        assert!(!named("", "secret_access_key", "1234567890abcdef1234567890abcdef1234567890abcdef", true));
        // People choose passwords, and those may be short and count.
        assert!(!named("", "password", value, false));
        assert!(!named("", "HEROKU_PASSWORD", "abcdef123456", false));
        assert!(!named("", "HEROKU_PASSWORD", "q7k2x9m4w8", false));
    }
}
