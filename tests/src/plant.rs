//! Secrets of real format that belong to nobody, put together at run time so that no scanner takes this repository for a leak.
//!
//! The same seed gives the same secret, another seed another one.

/// What a planted secret is made of before its body: prefix and length of the body.
const GITHUB: (&str, usize) = ("ghp_", 36);
const STRIPE: (&str, usize) = ("sk_live_", 24);

const BASE62: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const BASE32: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// A GitHub personal access token.
#[must_use]
pub fn github(seed: u64) -> String {
    format!("{}{}", GITHUB.0, body(seed, GITHUB.1, BASE62))
}

/// A Stripe secret key.
#[must_use]
pub fn stripe(seed: u64) -> String {
    format!("{}{}", STRIPE.0, body(seed, STRIPE.1, BASE62))
}

/// An AWS access key id.
#[must_use]
pub fn aws(seed: u64) -> String {
    format!("{}{}{}", "AK", "IA", body(seed, 16, BASE32))
}

/// A payment card number that passes Luhn's check.
#[must_use]
pub fn card(seed: u64) -> String {
    let digits = format!("45{}", body(seed, 13, b"0123456789"));
    let sum: u32 =
        (0..).zip(digits.bytes().rev()).map(|(place, digit)| doubled(place, u32::from(digit - b'0'))).sum();
    format!("{digits}{}", (10 - sum % 10) % 10)
}

/// What a digit counts, `place` digits left of the check digit.
fn doubled(place: usize, digit: u32) -> u32 {
    match (place % 2, digit * 2) {
        (0, twice @ 10..) => twice - 9,
        (0, twice) => twice,
        _ => digit,
    }
}

/// Characters that look random enough for an entropy check; splitmix64, so that seeds beside each other share nothing.
fn body(seed: u64, length: usize, alphabet: &[u8]) -> String {
    let mut state = seed;
    let next = || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        let place = usize::try_from((mixed ^ (mixed >> 31)) >> 33).unwrap_or_default();
        char::from(alphabet[place % alphabet.len()])
    };
    std::iter::repeat_with(next).take(length).collect()
}
