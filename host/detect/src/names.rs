//! Names of values: is `stripeApiKey2` a name that secrets have?
//!
//! A name is split at its signs and capitals, and what says nothing is taken from its end
//! (`_VALUE`, `_B64`, a number). What counts is the last word, with the word before it: `api_key`
//! is, `key_id` and `primary_key` are not.

use serde::Deserialize;

use crate::lists::LISTS;

/// Words beyond this many are not looked at; names are read from their end.
const MAX_WORDS: usize = 8;

/// Which names a detector takes.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct NameRule {
    /// The last word; `*x` stands for every word that ends in `x`; empty: any.
    pub(crate) last: Vec<String>,
    /// At least one of these must be the word before; empty: anything may.
    pub(crate) after: Vec<String>,
    /// None of these may be the word before.
    pub(crate) not_after: Vec<String>,
}

impl NameRule {
    /// True where the rule takes `name`.
    pub(crate) fn takes(&self, name: &str) -> bool {
        let mut words = words(name);
        let Some(last) = words.next() else { return false };
        if !self.last.is_empty() && !self.last.iter().any(|pattern| fits(pattern, last)) {
            return false;
        }
        let before = words.next();
        let is = |list: &[String]| before.is_some_and(|word| list.iter().any(|known| fits(known, word)));
        !is(&self.not_after) && (self.after.is_empty() || is(&self.after))
    }
}

fn fits(pattern: &str, word: &str) -> bool {
    match pattern.strip_prefix('*') {
        Some(tail) => {
            word.len() >= tail.len()
                && word.as_bytes()[word.len() - tail.len()..].eq_ignore_ascii_case(tail.as_bytes())
        }
        None => word.eq_ignore_ascii_case(pattern),
    }
}

/// Returns true if and only if a name says that its value opens nothing: `fakeToken`,
/// `nonMatchingKey`, `PublicKeyToken`.
pub(crate) fn opens_nothing(name: &str) -> bool {
    let mut behind = "";
    words(name).any(|word| {
        let behind = std::mem::replace(&mut behind, word);
        let negated = word.eq_ignore_ascii_case("non") && LISTS.negated.has(behind);
        let public = word.eq_ignore_ascii_case("public") && behind.eq_ignore_ascii_case("key");
        LISTS.made_up.has(word) || negated || public
    })
}

/// Returns the words of a name from its end, without those that say nothing there.
pub(crate) fn words(name: &str) -> impl Iterator<Item = &str> {
    let mut end = name.len();
    let all = std::iter::from_fn(move || {
        let (start, stop) = last_word(name.as_bytes(), end)?;
        end = start;
        Some(&name[start..stop])
    });
    let says_nothing = |word: &str| word.bytes().all(|b| b.is_ascii_digit()) || LISTS.says_nothing.has(word);
    all.skip_while(move |word| says_nothing(word)).take(MAX_WORDS)
}

/// Bytes beyond ASCII are parts of letters: `пароль`.
fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || !byte.is_ascii()
}

/// Where the last word before `end` starts and stops.
fn last_word(bytes: &[u8], end: usize) -> Option<(usize, usize)> {
    let stop = bytes[..end].iter().rposition(|b| b.is_ascii_alphanumeric() || !b.is_ascii())? + 1;
    let digits = bytes[stop - 1].is_ascii_digit();
    let mut start = stop - 1;
    while start > 0 {
        let (before, here) = (bytes[start - 1], bytes[start]);
        let joined = if digits {
            before.is_ascii_digit()
        } else {
            is_letter(before) && !(before.is_ascii_lowercase() && here.is_ascii_uppercase())
        };
        // `APIKey`: the last capital belongs to the word that it begins.
        let begins = !digits
            && here.is_ascii_uppercase()
            && bytes.get(start + 1).is_some_and(u8::is_ascii_lowercase)
            && start + 1 < stop;
        if !joined || begins {
            break;
        }
        start -= 1;
    }
    Some((start, stop))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(last: &[&str], after: &[&str], not_after: &[&str]) -> NameRule {
        let own = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect();
        NameRule { last: own(last), after: own(after), not_after: own(not_after) }
    }

    #[test]
    fn a_name_may_say_that_its_value_opens_nothing() {
        for name in [
            "fakeToken",
            "DUMMY_API_KEY",
            "nonMatchingToken",
            "non_existent_secret",
            "PublicKeyToken",
            "public_key",
        ] {
            assert!(opens_nothing(name), "{name}");
        }
        // What fails in a log was typed for real, and so is what is not of production.
        for name in [
            "invalid token",
            "non_prod_token",
            "testToken",
            "do_not_commit_key",
            "hammock_key",
            "NEXT_PUBLIC_API_KEY",
            "",
        ] {
            assert!(!opens_nothing(name), "{name}");
        }
    }

    #[test]
    fn the_last_word_decides_and_the_word_before_it_qualifies() {
        let secret = rule(&["*token", "secret", "*apikey"], &[], &["page"]);
        for name in [
            "api_token",
            "apiToken2",
            "ACCESS-TOKEN",
            "authtoken",
            "x.secret",
            "APIKEY",
            "jwt_secret_b64",
            "TOKEN_1",
        ] {
            assert!(secret.takes(name), "{name}");
        }
        for name in [
            "token_type",
            "tokens",
            "tokenizer",
            "pageToken",
            "next_page_token",
            "secretName",
            "secretary",
            "",
        ] {
            assert!(!secret.takes(name), "{name}");
        }
        let password = rule(&["*пароль", "*密码"], &[], &[]);
        assert!(
            ["пароль", "db_пароль", "мойпароль", "пароль2", "用户密码"]
                .into_iter()
                .all(|name| password.takes(name))
        );
        assert!(["пароли", "пароль_hint", "密码箱"].into_iter().all(|name| !password.takes(name)));
        let key = rule(&["key"], &["api", "secret"], &[]);
        assert!(key.takes("ApiKey") && key.takes("SECRET_KEY") && key.takes("APIKey"));
        assert!(!key.takes("primaryKey") && !key.takes("key") && !key.takes("monkey"));
    }
}
