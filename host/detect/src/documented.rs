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

use crate::names::Words;
use crate::placeholder::counts_throughout;
use crate::work::spend;

/// What one service issues.
struct Issued {
    /// In names, in lower case and without signs.
    service: &'static str,
    /// No credential is shorter.
    least: usize,
    /// How some credentials begin, whatever follows; empty where none has a beginning of its own.
    opening: &'static str,
    /// The whole of each.
    form: &'static str,
}

const fn of(service: &'static str, least: usize, opening: &'static str, form: &'static str) -> Issued {
    Issued { service, least, opening, form }
}

// Most of these are hexadecimal digits. It is their length that tells.
const WORD32: &str = "[a-z0-9]{32}";
const WORD40: &str = "[a-z0-9]{40}";
const WORD64: &str = "[a-z0-9]{64}";
const UUID: &str = "[a-z0-9]{8}(?:-[a-z0-9]{4}){3}-[a-z0-9]{12}";
/// Of version 4, or, for repositories of long ago, without signs.
const CODECOV: &str = "[a-f0-9]{8}-[a-f0-9]{4}-4[a-f0-9]{3}-[89ab][a-f0-9]{3}-[a-f0-9]{12}|[a-z0-9]{32}";

#[rustfmt::skip]
const ISSUED: [Issued; 92] = [
    of("abuseipdb", 80, "", "[a-f0-9]{80}"),
    of("airtable", 17, "", r"pat[a-z0-9]{14}\.[a-f0-9]{64}|key[a-z0-9]{14}|[a-z0-9]{16}\.v1\..*|[a-z0-9]{48,}"),
    of("algolia", 32, "", "[a-f0-9]{32}|[a-z0-9+/=]{60,}"),
    of("alphavantage", 16, "", "[a-z0-9]{16}"),
    of("anthropic", 0, "", "sk-ant-.*"),
    // A name of the service in base64, also where it was read as the end of the name.
    of("bedrock", 0, "(?:(?:bedrock-api-)?key-)?YmVkcm9jay", "(?:(?:bedrock-api-)?key-)?YmVkcm9jay5hbWF6b25hd3MuY29t.*"),
    of("bugsnag", 32, "", WORD32),
    of("circleci", 40, "", "CCIP[A-Z]{2,3}_.*|[a-z0-9]{40}"),
    of("clickup", 37, "", "pk_[0-9]+_[a-z0-9]{32}|[a-z0-9]{64}"),
    of("clockify", 48, "", "[a-z0-9]{48}"),
    of("cloudinary", 15, "", "[0-9]{15}|[a-z0-9_-]{27}"),
    of("codecov", 32, UUID, CODECOV),
    of("coinmarketcap", 36, "", UUID),
    of("cryptocompare", 64, "", WORD64),
    of("databricks", 36, "dapi", "dapi[a-f0-9]{32}(?:-[0-9])?|dose[a-f0-9]{32}"),
    of("datadog", 32, "", "(?:pub)?[a-f0-9]{32}|[a-f0-9]{40}"),
    of("deepseek", 0, "", "sk-[a-z0-9]{32,}"),
    of("dropbox", 15, "", r"[a-z0-9]{15}|sl\..*|[a-z0-9_-]{64}"),
    of("elevenlabs", 32, "[a-z]{2}_", "sk_[a-f0-9]{48}|[a-f0-9]{32}"),
    of("etherscan", 34, "", "[a-z0-9]{34}"),
    of("exoscale", 27, "", "EXO[a-z0-9]{24,32}|[a-z0-9_-]{43}"),
    of("fastly", 32, "", "[a-z0-9_-]{32}"),
    of("figma", 0, "", "figd_.*|figo.*|[a-f0-9]{6}-.*"),
    of("finnhub", 20, "", "[a-z0-9]{20}|[a-z0-9]{40}"),
    of("giphy", 32, "", WORD32),
    of("gitlab", 0, "", "gl[a-z]+-.*|[a-z0-9_-]{20}|[a-f0-9]{64}|GR1348941.*"),
    of("groq", 56, "", "gsk_[a-z0-9]{52}"),
    of("heroku", 36, "", "(?:HRKU-)?[a-z0-9]{8}(?:-[a-z0-9]{4}){3}-[a-z0-9]{12}|HRKU-.*"),
    of("hetzner", 64, "", WORD64),
    of("hubspot", 36, "", "[a-z0-9]{8}(?:-[a-z0-9]{4}){3}-[a-z0-9]{12}|pat-.*"),
    of("huggingface", 37, "", "(?:hf_|api_org_)[a-z0-9]{34,}"),
    of("ibm", 0, "", "[a-z0-9_-]{44}|[a-f0-9]{32}|[a-f0-9]{48}|[a-f0-9]{64}"),
    of("infura", 32, "", WORD32),
    of("intercom", 0, "", "[a-z0-9=_-]{60}"),
    of("ipgeolocation", 32, "", WORD32),
    of("ipinfo", 14, "", "[a-f0-9]{14}"),
    of("ipstack", 32, "", WORD32),
    of("klaviyo", 0, "", "pk_[a-z0-9]{34}|[a-z0-9]{6}"),
    of("lastfm", 32, "", WORD32),
    of("linode", 64, "", WORD64),
    of("loggly", 36, "", UUID),
    of("mailchimp", 25, "", "[a-f0-9]{32}(?:-us[0-9]{1,2})?|md-[a-z0-9_-]{22}"),
    of("mailjet", 32, "", WORD32),
    of("messagebird", 25, "", "[a-z0-9]{25}|[a-z0-9]{8}(?:-[a-z0-9]{4}){3}-[a-z0-9]{12}"),
    of("mistral", 32, "", WORD32),
    of("netlify", 40, "", "nf[a-z]_[a-z0-9]{36,}|[a-z0-9_-]{40,64}"),
    of("newsapi", 32, "", WORD32),
    of("notion", 0, "", "secret_[a-z0-9]{43}|ntn_.*"),
    of("npm", 0, "", "npm_[a-z0-9]{36}|[a-z0-9]{8}(?:-[a-z0-9]{4}){3}-[a-z0-9]{12}|.{40,}"),
    of("openai", 0, "", "(?:sk|sess)-.*|[a-f0-9]{32}|[a-z0-9]{84}"),
    of("opencage", 32, "", WORD32),
    of("openweather", 32, "", WORD32),
    of("pagerduty", 20, "", "[a-z0-9_+-]{20}|[a-z0-9]{32}"),
    of("perplexity", 0, "", "pplx-.*"),
    of("pexels", 56, "", "[a-z0-9]{56}"),
    of("plivo", 20, "", "(?:MA|SA)[a-z0-9]{18}|[a-z0-9+/=]{40}"),
    of("postmark", 36, "", UUID),
    of("rapidapi", 50, "", "[a-z0-9]{50}"),
    of("replicate", 40, "", "r8_[a-z0-9]{37}"),
    of("rollbar", 32, "", "[a-f0-9]{32}|[a-f0-9]{100,}"),
    // The two parts behind the prefix, which may be read as a name.
    of("sbsecret", 31, "", "[a-z0-9_-]{22}_[a-z0-9_-]{8}"),
    of("scaleway", 20, "SCW", "SCW[A-Z0-9]{17}|[a-z0-9]{8}(?:-[a-z0-9]{4}){3}-[a-z0-9]{12}"),
    of("scw", 20, "SCW", "SCW[A-Z0-9]{17}|[a-z0-9]{8}(?:-[a-z0-9]{4}){3}-[a-z0-9]{12}"),
    of("secretaccesskey", 0, "", "[a-z0-9+/]{40}|[a-f0-9]{48}|[a-f0-9]{64}"),
    of("securitytrails", 32, "", WORD32),
    of("sendgrid", 69, "SG[.]", r"SG\.[a-z0-9_-]{22}\.[a-z0-9_-]{43}"),
    of("shodan", 32, "", WORD32),
    of("shopify", 0, "", "shp[a-z]{2}_[a-z0-9]{32}|[a-z0-9]{32}"),
    of("snyk", 36, "", "[a-z0-9]{8}(?:-[a-z0-9]{4}){3}-[a-z0-9]{12}|snyk_.*"),
    of("sonar", 0, "", "sq[a-z]_[a-z0-9]{40}|[a-z0-9]{40}"),
    of("sparkpost", 40, "", WORD40),
    of("spotify", 32, "", "[a-z0-9]{32}|BQ.*|AQ.*"),
    of("stripe", 0, "", "[a-z]{2,5}_(?:live|test)_.*|whsec_.*"),
    of("supabase", 0, "sb_[a-z]+_", "sb_[a-z]+_[a-z0-9_-]{22}_[a-z0-9_-]{8}"),
    // An identifier of at most 52 bits, and 35 signs.
    of("telegram", 0, "[0-9]+:", "[0-9]{5,16}:[a-z0-9_-]{35}"),
    of("tmdb", 32, "", "[a-f0-9]{32}|eyJ.*"),
    of("tomtom", 32, "", WORD32),
    of("travisci", 20, "", "[a-z0-9_-]{20,22}"),
    of("trello", 32, "", "[a-f0-9]{32}|[a-f0-9]{64}|ATTA[a-z0-9]{72}"),
    of("tskey", 0, "[a-z]+-", "[a-z]+-[a-z0-9]+-[a-z0-9]{20,}"),
    of("twilio", 32, "", "(?:AC|SK)?[a-f0-9]{32}|[a-z0-9]{32}"),
    of("twitch", 0, "", "[a-z0-9]{30}|[a-z0-9]{50}"),
    of("unkey", 20, "unkey_", "unkey_[a-z0-9]{20,}|[a-z0-9_]{20,}"),
    of("unsplash", 43, "", "[a-z0-9_-]{43}"),
    of("upcloud", 31, "uca[a-z]?_", "ucat_[A-Z0-9]{26}"),
    of("vercel", 24, "", "[a-z0-9]{24}|[a-z0-9_]{28,}"),
    of("virustotal", 64, "", WORD64),
    of("vultr", 36, "", "[A-Z0-9]{36}"),
    of("wakatime", 36, "", "(?:waka_)?[a-z0-9]{8}(?:-[a-z0-9]{4}){3}-[a-z0-9]{12}"),
    of("weatherapi", 30, "", "[a-f0-9]{30,31}"),
    of("weatherstack", 32, "", WORD32),
    of("zenrows", 40, "", WORD40),
];

/// A value with what says whose it is.
pub(crate) struct Named<'a> {
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
    for index in services(name) {
        let judge = SentenceJudge::of(index);
        if judge.form.is_match(value.as_bytes()) {
            return false;
        }
        let opens = judge.opening.as_ref().is_some_and(|opening| opening.is_match(value.as_bytes()));
        let issued = token && !named.is_chosen();
        excluded |= counts || (issued && (value.len() < ISSUED[index].least || opens));
    }
    excluded
}

/// The services that a name speaks of.
fn services(name: &str) -> Vec<usize> {
    /// Shorter names of services stand in other words: `tskey` in `accountsKey`.
    const LEAST_WITHIN: usize = 6;
    static SERVICES: LazyLock<AhoCorasick> = LazyLock::new(|| {
        AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .build(ISSUED.map(|issued| issued.service))
            .expect("a few words stay far below the automaton's limits")
    });
    let spelled: Vec<u8> = name.bytes().filter(u8::is_ascii_alphanumeric).collect();
    spend(spelled.len());
    let found = SERVICES.find_overlapping_iter(&spelled);
    let named = found.filter(|found| found.start() == 0 || found.len() >= LEAST_WITHIN);
    named.map(|found| found.pattern().as_usize()).collect()
}

/// The patterns of one service, compiled when its name is first seen.
struct SentenceJudge {
    opening: Option<Regex>,
    form: Regex,
}

impl SentenceJudge {
    fn of(index: usize) -> &'static Self {
        static JUDGES: [OnceLock<SentenceJudge>; ISSUED.len()] = [const { OnceLock::new() }; ISSUED.len()];
        let Issued { opening, form, .. } = &ISSUED[index];
        JUDGES[index].get_or_init(|| Self {
            opening: (!opening.is_empty()).then(|| compile(&format!(r"\A(?:{opening})"))),
            form: compile(&format!(r"\A(?:{form})\z")),
        })
    }
}

fn compile(pattern: &str) -> Regex {
    RegexBuilder::new(pattern)
        .unicode(false)
        .case_insensitive(true)
        .build()
        .expect("a test compiles every pattern of the table")
}

/// Words of names that say what a value is for, and not whose.
#[rustfmt::skip]
const NOBODYS: [&str; 30] = [
    "access", "account", "api", "apikey", "app", "application", "auth", "authorization", "bearer", "client",
    "credential", "credentials", "encryption", "id", "key", "master", "my", "oauth",
    "oauth2", "other", "private", "refresh", "secret", "server", "service", "session", "signing", "the",
    "token", "user",
];

/// Words before a name that declare it.
#[rustfmt::skip]
const DECLARES: [&str; 12] = [
    "const", "env", "export", "final", "let", "private", "public", "set", "static", "str", "string", "var",
];

/// Words of names whose values people choose, whatever service they are for.
#[rustfmt::skip]
const CHOSEN: [&str; 15] = [
    "basic", "cookie", "cookies", "encryption", "hmac", "hook", "jwt", "pass", "salt", "session", "shared", "signing",
    "user", "verify", "webhook",
];

impl Named<'_> {
    /// Returns true if and only if the name says that no service issued its value: `HEROKU_COOKIE_SECRET`.
    fn is_chosen(&self) -> bool {
        !Words::of(self.name).all(|word| !CHOSEN.iter().any(|known| word.eq_ignore_ascii_case(known)))
    }

    /// Returns true if and only if nothing says whose the value is: `API_KEY=…`, `const oauthToken = …`.
    fn is_nobodys(&self) -> bool {
        let is = |word: &str, list: &[&str]| list.iter().any(|known| word.eq_ignore_ascii_case(known));
        let words = self.before.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        Words::of(self.name).all(|word| is(word, &NOBODYS) || is(word, &DECLARES))
            && words.into_iter().all(|word| is(word, &DECLARES))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles_and_is_no_shorter_than_the_least_length() {
        for (index, issued) in ISSUED.iter().enumerate() {
            SentenceJudge::of(index);
            let least = regex_syntax::parse(issued.form).unwrap().properties().minimum_len().unwrap();
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
