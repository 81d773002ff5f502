//! Published examples: what its owner shows to everybody, in documentation, in advertisements, for
//! tests, or in sample code.
//!
//! They stand in countless projects and open nothing, so they are findings of a class of their own
//! ([`crate::Finding::published`]). `packs/published.toml` lists them.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::table::{joined, table};

/// The lists.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PublishedLists {
    digests: Vec<String>,
    #[serde(deserialize_with = "joined")]
    keys: Vec<String>,
    #[serde(deserialize_with = "joined")]
    numbers: Vec<String>,
}

static PUBLISHED: LazyLock<PublishedLists> = LazyLock::new(|| table(include_str!("../packs/published.toml")));

/// As long as the longest key that is listed by its digest; longer texts are not hashed.
const LONGEST: usize = 64;

/// Of its digest, so many hexadecimal digits are listed.
const LISTED: usize = 16;

/// Returns true if and only if `text` is a key that everybody may know.
pub(crate) fn is_published(text: &str) -> bool {
    let is_listed = || {
        let digest = blake3::hash(text.as_bytes()).to_hex();
        PUBLISHED.digests.iter().any(|known| **known == digest[..LISTED])
    };
    is_example(text) || (text.len() <= LONGEST && is_listed())
}

/// Returns true if and only if `text` is a key of documentation or a number for tests. Costs next
/// to nothing.
pub(crate) fn is_example(text: &str) -> bool {
    match text.starts_with(|c: char| c.is_ascii_digit()) {
        true => digits(text).is_some_and(|digits| PUBLISHED.numbers.contains(&digits)),
        false => PUBLISHED.keys.iter().any(|key| key == text),
    }
}

/// The digits of a number in groups.
fn digits(text: &str) -> Option<String> {
    const LONGEST_NUMBER: usize = 24;
    let grouped =
        text.len() <= LONGEST_NUMBER && text.bytes().all(|b| b.is_ascii_digit() || b == b' ' || b == b'-');
    grouped.then(|| text.chars().filter(char::is_ascii_digit).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_published_key_is_known_and_its_neighbour_is_not() {
        let published = format!("{}{}", "AIza", "SyCkEhVjf3pduRDt6d1yKOMitrUEke8agEM");
        assert!(is_published(&published));
        assert!(!is_published(&published.replace("agEM", "agEN")));
        assert!(!is_published(""));
    }

    #[test]
    fn every_listed_digest_can_be_that_of_a_key() {
        let can_be = |digest: &String| {
            digest.len() == LISTED && digest.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
        };
        assert!(!PUBLISHED.digests.is_empty() && PUBLISHED.digests.iter().all(can_be));
    }

    #[test]
    fn examples_of_documentation_are_found_and_said_to_be_such() {
        let engine = crate::Engine::new(&["secrets", "pii"]).unwrap();
        let key = ["AKIA", "IOSFODNN7", "EXAMPLE"].concat();
        let secret = ["wJalrXUtnFEMI/K7MDENG/", "bPxRfiCYEXAMPLEKEY"].concat();
        for (text, published) in [
            (format!("aws_access_key_id = {key}"), &*key),
            (format!("aws_secret_access_key = {secret}"), &secret),
            ("pay with 4111 1111 1111 1111 now".to_owned(), "4111 1111 1111 1111"),
            ("pay with 4242424242424242 now".to_owned(), "4242424242424242"),
            ("pay with 3782-822463-10005 now".to_owned(), "3782-822463-10005"),
            ("his number is 078-05-1120.".to_owned(), "078-05-1120"),
        ] {
            let found = engine.scan(&crate::Input::new(&text));
            let seen: Vec<_> = found.iter().map(|f| (&text[f.range.clone()], f.published)).collect();
            assert_eq!(seen, [(published, true)], "{text}");
        }
        let live = format!("key {} and 4539 5787 6362 1486", ["AKIA", "Q3EGRIKRPL5WZBT6"].concat());
        let found = engine.scan(&crate::Input::new(&live));
        assert!(found.len() == 2 && found.iter().all(|finding| !finding.published), "{found:?}");
        for text in ["4111 1111 1111 1112", "1111 1111 1111 1111", "AKIAIOSFODNN7EXAMPLF", "xxxxxxxxxxxxxxxx"]
        {
            assert!(engine.scan(&crate::Input::new(text)).iter().all(|finding| !finding.published), "{text}");
        }
    }
}
