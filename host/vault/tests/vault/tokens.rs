//! What a token looks like, and who recognises it.

use leafgate_vault::{ClientIdentity, InstallationKey, TokenKeys, Vault, mask};
use proptest::prelude::*;

use crate::{ADDRESS, keys};

const ALPHABET: &str = "0123456789abcdefghjkmnpqrstvwxyz";

#[test]
fn invariant_5_a_token_is_the_same_in_every_version() {
    // Written down once. If this changes, every prompt that was redacted before changes too, and
    // prompt caches break.
    assert_eq!(keys("laptop").token("EMAIL", ADDRESS).as_str(), "EMAIL_3dag4p97ygk1f90e");
    assert_eq!(keys("laptop").hash("EMAIL", ADDRESS), "EMAIL_h7p0cxdnm65e47z4cbg3");
}

#[test]
fn label_and_value_and_client_and_installation_each_matter() {
    let token = |key: u8, client: &str, label: &str, value: &str| {
        let keys = TokenKeys::derive(&InstallationKey::from_bytes([key; 32]), &ClientIdentity::new(client));
        keys.token(label, value).to_string()
    };
    let one = token(7, "laptop", "EMAIL", ADDRESS);
    let tail = |token: &str| token.split_once('_').map(|(_, tail)| tail.to_owned());
    for other in [
        token(8, "laptop", "EMAIL", ADDRESS),
        token(7, "desk", "EMAIL", ADDRESS),
        token(7, "laptop", "EMAIL", "bob@example.org"),
        token(7, "laptop", "NAME", ADDRESS),
    ] {
        assert_ne!(tail(&other), tail(&one));
    }
}

#[test]
fn another_identitys_tokens_do_not_verify() {
    let token = keys("laptop").token("EMAIL", ADDRESS);
    assert!(keys("laptop").verify(token.as_str()));
    assert!(!keys("desk").verify(token.as_str()));
    assert!(keys("desk").find(token.as_str()).is_empty());
}

#[test]
fn a_hash_is_no_token() {
    let keys = keys("laptop");
    let hash = keys.hash("EMAIL", ADDRESS);
    assert!(!keys.verify(&hash));
    assert!(keys.find(&hash).is_empty());
    assert_eq!(hash, keys.hash("EMAIL", ADDRESS));
    assert_ne!(hash, keys.hash("EMAIL", "bob@example.org"));
}

#[test]
fn a_mask_is_the_label() {
    assert_eq!(mask("EMAIL"), "[EMAIL]");
    assert_eq!(mask("aws-key"), "[AWSKEY]");
}

#[test]
fn find_returns_exactly_the_bytes_of_whole_words() {
    let keys = keys("laptop");
    let token = keys.token("EMAIL", ADDRESS).to_string();
    for (before, after) in
        [("", ""), ("to ", "."), ("«", "»"), ("给", "写"), ("\"", "\""), ("-", "-"), ("/", "@"), ("ø", "ø")]
    {
        let text = format!("{before}{token}{after}");
        let whole = before.len()..before.len() + token.len();
        assert!(keys.find(&text).iter().eq([&whole]), "{text}");
    }
    for (before, after) in
        [("x", ""), ("", "x"), ("_", ""), ("", "_"), ("9", ""), ("", "0"), ("A_", ""), (&*token, "")]
    {
        let text = format!("{before}{token}{after}");
        assert_eq!(keys.find(&text), [], "{text}");
    }
}

#[test]
fn invariant_6_nothing_prints_a_key_or_a_value() {
    let installation = InstallationKey::from_bytes([7; 32]);
    let vault = Vault::new(keys("laptop"));
    vault.tokenize("EMAIL", ADDRESS).unwrap();
    assert_eq!(format!("{installation:?} {:?}", vault.keys()), "InstallationKey(..) TokenKeys(..)");
    assert_eq!(format!("{vault:?}"), "Vault { values: 1, bytes: 15, .. }");
}

proptest! {
    #[test]
    fn tokens_have_one_shape(label in ".{0,30}", value in ".{0,60}") {
        let keys = keys("laptop");
        let token = keys.token(&label, &value);
        let (label, tail) = token.as_str().split_once('_').unwrap();
        prop_assert!((1..=16).contains(&label.len()));
        prop_assert!(label.starts_with(|c: char| c.is_ascii_uppercase()));
        prop_assert!(label.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit()));
        prop_assert!(tail.len() == 16 && tail.chars().all(|c| ALPHABET.contains(c)));
        prop_assert_eq!(&keys.token(label, &value), &token);
        prop_assert!(keys.verify(token.as_str()));
        prop_assert!(keys.verify(&token.as_str().to_lowercase()));
        prop_assert!(keys.verify(&token.as_str().to_uppercase()));
    }

    /// Up to a chance of one in a million per try, and the tries are the same in every run.
    #[test]
    fn a_changed_character_never_verifies(value in ".{1,40}", at in 0usize..22, to in 0usize..31) {
        let keys = keys("laptop");
        let token = keys.token("EMAIL", &value).to_string();
        let present = token[at..=at].to_lowercase();
        // Of 32 characters the present one is taken out; `I` and `L` of the label are none of them.
        let others: Vec<char> = ALPHABET.chars().filter(|c| !present.contains(*c)).collect();
        let mut tampered = token;
        tampered.replace_range(at..=at, &others[to].to_string());
        prop_assert!(!keys.verify(&tampered), "{}", tampered);
    }

    #[test]
    fn find_and_verify_agree_on_any_text(words in prop::collection::vec("[ -~é給]{0,12}", 0..8), values in prop::collection::vec("[a-c]{1,3}", 8)) {
        let keys = keys("laptop");
        let text: String =
            words.iter().zip(&values).map(|(word, value)| format!("{word}{}", keys.token("EMAIL", value))).collect();
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let mut expected = Vec::new();
        let mut at = 0;
        for word in text.split_inclusive(|c| !is_word(c)) {
            let trimmed = word.trim_end_matches(|c| !is_word(c));
            if keys.verify(trimmed) {
                expected.push(at..at + trimmed.len());
            }
            at += word.len();
        }
        prop_assert_eq!(keys.find(&text), expected);
    }
}
