//! The values of a file of settings: which of them are secret, by their names and by what they are.
//!
//! Read are lines of `NAME=value`, `name: value` and `name value`, as environment files, INI, YAML,
//! JSON of one member a line and netrc have them, and blocks of keys. A file that is written in
//! another way gives less, which `leafgate known list` shows by its count.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::block;
use crate::names::NameRule;
use crate::placeholder::is_placeholder;
use crate::publishable::is_publishable;
use crate::score::{LIKELY, score};
use crate::seed_phrase::phrase_length;
use crate::table::table;
use crate::value::Look;

use super::LEAST_KNOWN;

/// A value that a file gives a name, and whether it is a secret.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct NamedValue<'t> {
    /// The value.
    pub value: &'t str,
    /// Whether it is to be known: not a word, a number, a path or the name of a machine.
    pub secret: bool,
    /// Whether its name calls it a secret, and yet it stands in texts that have nothing to do with
    /// the file. Whoever writes the file would decide what else cannot be said.
    pub common: bool,
}

/// The headers of keys.
const BEGINS: &str = "-----BEGIN";

/// Returns the values of a file of settings, in order.
pub fn named_values(text: &str) -> Vec<NamedValue<'_>> {
    let mut values = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find(BEGINS) {
        lines(&rest[..start], &mut values);
        let end = block::end(rest.as_bytes(), start + BEGINS.len()).unwrap_or(rest.len());
        let block = rest.get(start..end).unwrap_or(&rest[start..]);
        let secret =
            block.lines().next().is_some_and(|line| line.contains("PRIVATE") || line.contains("SECRET"));
        values.push(NamedValue { value: block.trim_end(), secret, common: false });
        rest = &rest[start + block.len()..];
    }
    lines(rest, &mut values);
    values
}

fn lines<'t>(text: &'t str, values: &mut Vec<NamedValue<'t>>) {
    for line in text.lines() {
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';', '[']) || line.starts_with("//") {
            continue;
        }
        if let Some(netrc) = line.split_once("password ").filter(|(before, _)| !before.contains(['=', ':'])) {
            values.extend(netrc.1.split_whitespace().next().map(|value| named("password", value)));
            continue;
        }
        let Some(at) = line.find(['=', ':']) else { continue };
        let name = line[..at].trim().trim_start_matches("export ").trim_matches(['"', '\'', ' ']);
        let value = unquoted(line[at + 1..].trim());
        if !name.is_empty() && !value.is_empty() {
            values.push(named(name, password_of(value).unwrap_or(value)));
        }
    }
}

/// The value without what a file puts around it.
fn unquoted(value: &str) -> &str {
    let value = value.strip_suffix(',').unwrap_or(value).trim_end();
    for quote in ['"', '\'', '`'] {
        if let Some((inner, _)) = value.strip_prefix(quote).and_then(|rest| rest.split_once(quote)) {
            return inner;
        }
    }
    // A comment behind a value stands behind a blank.
    value.split_once(" #").map_or(value, |(value, _)| value.trim_end())
}

/// The password of `scheme://user:password@host`, where a value is that.
fn password_of(value: &str) -> Option<&str> {
    let (_, rest) = value.split_once("://")?;
    let (authority, _) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let (user, _) = authority.rsplit_once('@')?;
    user.split_once(':').map(|(_, password)| password).or(Some(user))
}

fn named<'t>(name: &str, value: &'t str) -> NamedValue<'t> {
    let fits = value.len() >= LEAST_KNOWN && !is_placeholder(value) && !is_publishable(value);
    let named = fits && (WORDING.secrets.takes(name) || WORDING.keys.takes(name));
    let common = named && is_common(value);
    let secret = !common && (named || fits && score(value) > LIKELY && !is_place(value));
    NamedValue { value, secret, common }
}

/// What `packs/known.toml` says about names and values of files.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SettingWords {
    /// The names that a person gives secrets, whatever their value looks like.
    secrets: NameRule,
    keys: NameRule,
    models: Vec<String>,
}

static WORDING: LazyLock<SettingWords> = LazyLock::new(|| table(include_str!("../../packs/known.toml")));

/// Whether a value stands in any text: words and sentences, what APIs and their models are called,
/// places, days and versions. A wallet's words are a secret all the same.
fn is_common(value: &str) -> bool {
    let parts = || value.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty());
    let is_letters = |part: &str| part.chars().all(char::is_alphabetic);
    let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let is_word = |part: &str| is_letters(part) || part.len() <= 4 && is_number(part);
    let is_of_model = |part: &str| part.len() <= 3 || is_word(part) || is_day(part);
    let is_model = parts().next().is_some_and(|first| WORDING.models.iter().any(|model| model == first))
        && parts().all(is_of_model);
    let of_words = parts().all(is_word) && {
        let longest = parts().max_by_key(|part| part.len()).unwrap_or_default();
        Look::of(value).wordy() || parts().filter(|part| is_letters(part)).count() > 3 || !longest.is_ascii()
    };
    let of_numbers = parts().count() > 2 && parts().all(|part| part.len() <= 4 && is_number(part));
    let is_named = of_words || is_model || of_numbers || is_day(value);
    (is_named || is_place(value) && score(value) <= LIKELY) && phrase_length(value).is_none()
}

/// `20250514`, as models are called by.
fn is_day(text: &str) -> bool {
    text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_digit()) && text.starts_with(['1', '2'])
}

/// Whether a value says where something is: a path, an address, the name of a machine.
fn is_place(value: &str) -> bool {
    let is_name =
        |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    let host = value.split(['/', ':']).next().unwrap_or(value);
    let ends_in_name = host
        .rsplit('.')
        .next()
        .is_some_and(|end| (2..=8).contains(&end.len()) && end.bytes().all(|b| b.is_ascii_lowercase()));
    value.contains("://")
        || value.starts_with(['/', '~', '.', '$'])
        || value.contains('@')
        || (host.contains('.') && host.split('.').all(is_name) && ends_in_name)
}
