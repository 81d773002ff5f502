//! Numbers that prove themselves: cards by Luhn, accounts by mod 97, social security numbers by
//! what was issued.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::table::table;

fn digits_of(text: &str) -> impl DoubleEndedIterator<Item = u32> + Clone {
    text.bytes().filter(u8::is_ascii_digit).map(|b| u32::from(b - b'0'))
}

/// The last digit by Luhn, of a number of more than two different digits.
pub(crate) fn is_luhn(text: &str) -> bool {
    varied(text) && grouped_as_cards_are(text) && luhn(digits_of(text))
}

/// A number of one or two different digits (`4444 4444 4444 4444`) is nobody's.
fn varied(text: &str) -> bool {
    (0..10).filter(|digit| digits_of(text).any(|known| known == *digit)).count() > 2
}

/// Returns whether the last digit is right by Luhn (ISO/IEC 7812-1, Annex B).
pub fn luhn(digits: impl DoubleEndedIterator<Item = u32>) -> bool {
    let sum: u32 = digits
        .rev()
        .enumerate()
        .map(|(place, digit)| match (place % 2, digit * 2) {
            (0, _) => digit,
            (_, twice) => twice / 10 + twice % 10,
        })
        .sum();
    sum.is_multiple_of(10)
}

/// What `packs/numbers.toml` says.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct IssuedNumbers {
    cards: Vec<CardIssuer>,
    accounts: BTreeMap<String, usize>,
    /// The first two digits of the calling codes of countries.
    pub(crate) calling_codes: Vec<u8>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CardIssuer {
    first: u32,
    last: u32,
    lengths: Vec<usize>,
}

pub(crate) static ISSUED: LazyLock<IssuedNumbers> =
    LazyLock::new(|| table(include_str!("../packs/numbers.toml")));

pub(crate) fn is_card(text: &str) -> bool {
    let digits = digits_of(text).count();
    let issued = ISSUED.cards.iter().any(|CardIssuer { first, last, lengths }| {
        let width = first.ilog10() as usize + 1;
        let prefix = digits_of(text).take(width).fold(0, |n, d| n * 10 + d);
        (first..=last).contains(&&prefix) && lengths.contains(&digits)
    });
    issued && varied(text) && grouped_as_cards_are(text) && luhn(digits_of(text))
}

/// Without separators, or with one kind of them in groups of four, 4-6-5 or 4-6-4.
fn grouped_as_cards_are(text: &str) -> bool {
    let mut separators = text.bytes().filter(|b| !b.is_ascii_digit());
    let Some(first) = separators.next() else { return true };
    if separators.any(|b| b != first) {
        return false;
    }
    let groups: Vec<usize> = text.split(first as char).map(str::len).collect();
    match groups.as_slice() {
        [4, 6, 4 | 5] => true,
        [init @ .., last] => init.iter().all(|&g| g == 4) && (1..=4).contains(last),
        [] => false,
    }
}

/// Gives how many bytes of `text` the account number takes, blanks included.
pub(crate) fn iban_length(text: &str) -> Option<usize> {
    let country = text.get(..2)?.to_ascii_uppercase();
    let wanted = *ISSUED.accounts.get(&country)?;
    let places = text.bytes().enumerate().filter(|(_, b)| b.is_ascii_alphanumeric());
    let end = places.clone().nth(wanted - 1)?.0 + 1;
    // What follows directly would make it longer, so another number.
    if text.as_bytes().get(end).is_some_and(u8::is_ascii_alphanumeric) {
        return None;
    }
    let value =
        |b: u8| u32::from(if b.is_ascii_digit() { b - b'0' } else { b.to_ascii_uppercase() - b'A' + 10 });
    let bytes = places.take(wanted).map(|(_, b)| b);
    let rest = bytes.clone().skip(4).chain(bytes.take(4)).fold(0u32, |rest, byte| {
        let n = value(byte);
        (rest * if n > 9 { 100 } else { 10 } + n) % 97
    });
    (rest == 1).then_some(end)
}

pub(crate) fn is_issued_ssn(text: &str) -> bool {
    let digits: Vec<u32> = digits_of(text).collect();
    let number = |from: usize, to: usize| digits[from..to].iter().fold(0, |n, d| n * 10 + d);
    if digits.len() != 9 {
        return false;
    }
    let (area, group, serial) = (number(0, 3), number(3, 5), number(5, 9));
    // 078-05-1120 and 219-09-9999 were printed in advertisements and are void.
    let advertised = (area, group, serial) == (78, 5, 1120) || (area, group, serial) == (219, 9, 9999);
    area != 0 && area != 666 && area < 900 && group != 0 && serial != 0 && !advertised
}

/// A token of GitHub or npm: behind its prefix thirty characters, and their CRC-32 in six of base62.
pub(crate) fn is_checked_token(text: &str) -> bool {
    const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    const CHECK: usize = 6;
    const BODY: usize = 30;
    let Some((_, token)) = text.rsplit_once('_') else { return false };
    if token.len() != BODY + CHECK || !token.is_ascii() {
        return false;
    }
    let (body, check) = token.split_at(BODY);
    let digit = |byte: u8| ALPHABET.iter().position(|known| *known == byte).map(|value| value as u64);
    let value = check.bytes().try_fold(0, |value, byte| Some(value * 62 + digit(byte)?));
    value == Some(u64::from(crc32(body.as_bytes())))
}

/// CRC-32 of ISO/IEC 13239, as zlib computes it.
fn crc32(bytes: &[u8]) -> u32 {
    const POLYNOMIAL: u32 = 0xedb8_8320;
    let bit = |sum: u32| if sum & 1 == 1 { sum >> 1 ^ POLYNOMIAL } else { sum >> 1 };
    !bytes.iter().fold(!0, |sum, &byte| (0..8).fold(sum ^ u32::from(byte), |sum, _| bit(sum)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Appends the check that a token with this body has.
    fn checked(prefix: &str, body: &str) -> String {
        let alphabet: Vec<char> = ('0'..='9').chain('A'..='Z').chain('a'..='z').collect();
        let mut rest = crc32(body.as_bytes()) as usize;
        let mut check: Vec<char> = (0..6)
            .map(|_| {
                let digit = alphabet[rest % 62];
                rest /= 62;
                digit
            })
            .collect();
        check.reverse();
        format!("{prefix}_{body}{}", check.into_iter().collect::<String>())
    }

    #[test]
    fn a_token_proves_itself_though_it_spells_a_placeholder() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        let engine = crate::Engine::new(&["secrets"]).unwrap();
        for body in ["x7Kq2todoVw4Lb8NcYd3HfJs6GaQ1e", "x7Kq2mZxxxxV4Lb8NcYd3HfJs6GaQ1"] {
            for prefix in ["ghp", "npm"] {
                let token = checked(prefix, body);
                assert!(is_checked_token(&token) && !is_checked_token(&token.replacen('x', "y", 1)));
                let found = engine.scan(&crate::Input::new(&token));
                assert_eq!(
                    found.first().map(|finding| finding.range.clone()),
                    Some(0..token.len()),
                    "{token}"
                );
            }
        }
    }

    #[test]
    fn an_iban_is_cut_to_its_countrys_length() {
        let account = "DE89 3704 0044 0532 0130 00";
        assert_eq!(iban_length(&format!("{account} and")), Some(account.len()));
        assert_eq!(iban_length("de89370400440532013000"), Some(22));
        assert_eq!(iban_length("DE88370400440532013000"), None);
        assert_eq!(iban_length("XX89370400440532013000"), None);
    }

    proptest! {
        #[test]
        fn one_digit_changed_breaks_a_card(place in 1usize..16, by in 1u8..10) {
            let good = format!("{}{}", "4539", "578763621486");
            prop_assert!(is_card(&good));
            let mut bytes = good.into_bytes();
            bytes[place] = b'0' + (bytes[place] - b'0' + by) % 10;
            prop_assert!(!is_card(std::str::from_utf8(&bytes).unwrap()));
        }
    }
}
