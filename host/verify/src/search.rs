//! Finds planted secrets in bytes that would leave, however they are wrapped.
//!
//! The bytes are searched as they are, and with JSON escapes undone as often as there are any (a
//! document in a string in a document). Each of these texts is searched again with percent escapes
//! undone, and every stretch of it that could be base64 is decoded.

use std::collections::{BTreeMap, HashMap};

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use leafgate_words::words;
use serde::Serialize;

use crate::canary::Family;
use crate::spelling::unescape;

/// How often escapes are undone: twice as often as documents in strings are walked.
const ROUNDS: usize = 8;

/// The shortest stretch of base64 that can hold a secret of sixteen bytes.
const SHORTEST: usize = 22;

words! {
    /// How a secret was found. The first way that finds it counts.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum FoundAs {
        /// As it is.
        Plain = "as it is",
        /// Below JSON escapes.
        Escaped = "below JSON escapes",
        /// Below percent escapes.
        PercentEncoded = "below percent escapes",
        /// Inside base64.
        Base64 = "inside base64",
    }
    /// Returns a phrase for people.
    pub fn words = 0;
}

/// The secrets to look for, all of one family.
pub struct SentSearch<'c> {
    family: Family,
    canaries: HashMap<&'c [u8], usize>,
}

impl<'c> SentSearch<'c> {
    /// Takes the secrets. Results name them by their index.
    pub fn new(family: Family, canaries: impl IntoIterator<Item = &'c str>) -> Self {
        let canaries =
            canaries.into_iter().enumerate().map(|(place, canary)| (canary.as_bytes(), place)).collect();
        SentSearch { family, canaries }
    }

    /// Returns the secrets that some bytes hold, and how.
    pub fn find(&self, bytes: &[u8]) -> BTreeMap<usize, FoundAs> {
        let mut found = BTreeMap::new();
        self.plain(bytes, FoundAs::Plain, &mut found);
        let mut text = String::from_utf8_lossy(bytes).into_owned();
        for _ in 0..ROUNDS {
            self.encoded(&text, &mut found);
            if !text.contains('\\') {
                break;
            }
            text = unescape(&text);
            self.plain(text.as_bytes(), FoundAs::Escaped, &mut found);
        }
        found
    }

    fn encoded(&self, text: &str, found: &mut BTreeMap<usize, FoundAs>) {
        self.base64(text.as_bytes(), found);
        if text.contains('%') {
            let decoded = undo_percent(text.as_bytes());
            self.plain(&decoded, FoundAs::PercentEncoded, found);
            self.base64(&decoded, found);
        }
    }

    fn plain(&self, bytes: &[u8], seen: FoundAs, found: &mut BTreeMap<usize, FoundAs>) {
        let (prefix, length) = (self.family.prefix().as_bytes(), self.family.length());
        for window in bytes.windows(length).filter(|window| window.starts_with(prefix)) {
            if let Some(&place) = self.canaries.get(window) {
                found.entry(place).or_insert(seen);
            }
        }
    }

    fn base64(&self, bytes: &[u8], found: &mut BTreeMap<usize, FoundAs>) {
        let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_');
        for stretch in bytes.split(|byte| !is_base64(byte)).filter(|stretch| stretch.len() >= SHORTEST) {
            // The start of the encoding is unknown: words may stand before it without a space.
            for start in 0..4 {
                let groups = &stretch[start..];
                let groups = &groups[..groups.len() - usize::from(groups.len() % 4 == 1)];
                for decoded in [STANDARD, URL].iter().filter_map(|engine| engine.decode(groups).ok()) {
                    self.plain(&decoded, FoundAs::Base64, found);
                    if decoded.contains(&b'\\') {
                        let unescaped = unescape(&String::from_utf8_lossy(&decoded));
                        self.plain(unescaped.as_bytes(), FoundAs::Base64, found);
                    }
                }
            }
        }
    }
}

/// A stretch may end inside a group, and its padding is cut off like all characters outside base64.
const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
const URL: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);

fn undo_percent(bytes: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let [first, tail @ ..] = rest {
        let digits = tail.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.filter(|_| *first == b'%').and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                decoded.push(byte);
                rest = &tail[2..];
            }
            None => {
                decoded.push(*first);
                rest = tail;
            }
        }
    }
    decoded
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(family: Family, wrap: impl Fn(&str) -> String) -> Option<FoundAs> {
        let canaries: Vec<String> = (0..3).map(|number| family.canary(number)).collect();
        let found =
            SentSearch::new(family, canaries.iter().map(String::as_str)).find(wrap(&canaries[1]).as_bytes());
        assert!(found.keys().all(|&place| place == 1));
        found.get(&1).copied()
    }

    /// Spells each character as an escape of JSON.
    fn escaped(text: &str) -> String {
        text.chars().map(|character| format!("\\u{:04x}", u32::from(character))).collect()
    }

    #[test]
    fn a_secret_is_found_in_every_wrapping() {
        for &family in Family::ALL {
            let wrapped = |wrap: &dyn Fn(&str) -> String| seen(family, wrap);
            assert_eq!(wrapped(&|canary| format!("x{canary}y")), Some(FoundAs::Plain));
            assert_eq!(wrapped(&|canary| escaped(canary)), Some(FoundAs::Escaped));
            assert_eq!(wrapped(&|canary| escaped(&escaped(canary))), Some(FoundAs::Escaped));
            let percent =
                |canary: &str| canary.bytes().map(|byte| format!("%{byte:02X}")).collect::<String>();
            assert_eq!(wrapped(&percent), Some(FoundAs::PercentEncoded));
            for words in ["", "a", "ab", "abc"] {
                let encode = |canary: &str| STANDARD.encode(format!("{words}{canary}{words}"));
                assert_eq!(
                    wrapped(&|canary| format!("data:;base64,{}", encode(canary))),
                    Some(FoundAs::Base64)
                );
                assert_eq!(
                    wrapped(&|canary| format!("key{}", encode(canary))),
                    Some(FoundAs::Base64),
                    "glued"
                );
                assert_eq!(wrapped(&|canary| escaped(&encode(canary))), Some(FoundAs::Base64));
            }
            assert_eq!(wrapped(&|canary| canary[..canary.len() - 1].to_owned()), None);
        }
    }
}
