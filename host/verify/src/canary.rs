//! Secrets of real format that belong to nobody, put together at run time so that no scanner takes
//! this repository for a leak.
//!
//! Each number gives another secret, and the same number always gives the same one.

use leafgate_words::words;

words! {
    /// A kind of secret to plant.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Family {
        /// A GitHub token. Its `_` is no character of base64.
        Github = "github" / "ghp_",
        /// An AWS access key id. All of its characters are characters of base64.
        Aws = "aws" / "AKIA",
        /// A payment card number, which has no prefix and can be a JSON number.
        Card = "card" / "45",
    }
    /// Returns its name.
    pub fn name = 0;
    /// Returns the beginning of every secret of this family.
    pub fn prefix = 1;
}

const BASE62: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const BASE32: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const DIGITS: &[u8] = b"0123456789";

/// How many different card numbers there are: thirteen digits stand between the issuer and the
/// check digit.
const CARDS: u64 = 10_000_000_000_000;

impl Family {
    /// Returns the bytes of a secret, its prefix included.
    pub fn length(self) -> usize {
        match self {
            Family::Github => 40,
            Family::Aws => 20,
            Family::Card => 16,
        }
    }

    /// Returns whether the prefix alone tells a secret of this family from other text. Detectors
    /// without a prefix do not look where nothing can be replaced.
    pub fn has_prefix(self) -> bool {
        self != Family::Card
    }

    /// Returns the secret with a number.
    pub fn canary(self, number: u64) -> String {
        let prefix = self.prefix();
        match self {
            Family::Github => format!("{prefix}{}", random(number, 36, BASE62)),
            Family::Aws => format!("{prefix}{}", random(number, 16, BASE32)),
            Family::Card => card(prefix, number),
        }
    }
}

/// Returns characters that look random enough for any entropy check.
fn random(number: u64, length: usize, alphabet: &[u8]) -> String {
    let mut state = number;
    let next = || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        char::from(alphabet[(mix(state) % alphabet.len() as u64) as usize])
    };
    std::iter::repeat_with(next).take(length).collect()
}

/// Returns characters of base64, with its signs among them.
pub(crate) fn random_base64(number: u64, length: usize) -> String {
    random(number, length, b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
}

/// The finaliser of splitmix64: the results of adjacent numbers have nothing in common.
fn mix(state: u64) -> u64 {
    let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

/// Returns a number that passes the check of ISO/IEC 7812 (Luhn).
fn card(issuer: &str, number: u64) -> String {
    // A multiplier that shares no factor with ten: a different card number for each of the first
    // ten billion.
    let account = (u128::from(number) * 7_393_913_335_919 + 2_718_281_828_459) % u128::from(CARDS);
    let digits = format!("{issuer}{account:013}");
    let doubled = |digit: usize| if digit > 4 { 2 * digit - 9 } else { 2 * digit };
    let sum: usize = digits
        .bytes()
        .rev()
        .enumerate()
        .map(|(place, byte)| (place, DIGITS.iter().position(|&digit| digit == byte).unwrap_or(0)))
        .map(|(place, digit)| if place % 2 == 0 { doubled(digit) } else { digit })
        .sum();
    format!("{digits}{}", (10 - sum % 10) % 10)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn ten_thousand_canaries_of_each_family_differ_and_have_its_form() {
        for family in Family::ALL {
            let canaries: HashSet<String> = (0..10_000).map(|number| family.canary(number)).collect();
            assert_eq!(canaries.len(), 10_000, "{family}");
            let formed =
                |canary: &String| canary.len() == family.length() && canary.starts_with(family.prefix());
            assert!(canaries.iter().all(formed), "{family}");
        }
    }

    #[test]
    fn a_card_number_passes_the_check_of_its_digits() {
        for number in 0..100 {
            let card = Family::Card.canary(number);
            let sum: u32 = (0..)
                .zip(card.bytes().rev())
                .map(|(place, byte)| u32::from(byte - b'0') * (1 + place % 2))
                .map(|value| value / 10 + value % 10)
                .sum();
            assert_eq!(sum % 10, 0, "{card}");
        }
    }
}
