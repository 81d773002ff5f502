//! The named checks of a pack: what a match must be beyond its shape.
//!
//! A check sees the text of one match and says whether it stands, and how much of it.

use std::net::IpAddr;

use serde::Deserialize;

use crate::checksums::{iban_length, is_card, is_issued_ssn, is_luhn};
use crate::decode::base64_prefix;
use crate::identity::ISSUED;
use crate::lists::LISTS;
use crate::score::{LIKELY, score};
use crate::seed_phrase::phrase_length;
use crate::value::{self, Look};

/// A check as a pack names it.
#[derive(Clone, derive_more::Debug, Deserialize)]
#[debug("{name}")]
#[serde(try_from = "String")]
pub(crate) struct Check {
    /// With its number, where it takes one: `digits:2`.
    pub(crate) name: String,
    judge: Judge,
}

/// What judges a match.
#[derive(Clone, Copy)]
enum Judge {
    /// `entropy:3.0`: at least so many bits per byte.
    Entropy(f32),
    /// `digits:2`: at least so many digits.
    Digits(usize),
    /// `length:20`: at least so many bytes.
    Length(usize),
    /// Whether its text stands.
    Text(fn(&str) -> bool),
    /// The same, given that the notation says that it is a literal.
    Literal(fn(&str, bool) -> bool),
    /// How many of its bytes stand.
    Part(fn(&str) -> Option<usize>),
}

use Judge::{Digits, Entropy, Length, Literal, Part, Text};

/// The checks that take no number, but for those of [`ISSUED`].
const NAMED: &[(&str, Judge)] = &[
    // Both letters and digits, and not made of words.
    ("mixed", Text(is_mixed)),
    // Not made of words.
    ("not-words", Text(|text| !Look::of(text).wordy())),
    // Not made of words and nothing else: a digit among them makes it a token.
    ("not-name", Text(|text| text.bytes().any(|byte| byte.is_ascii_digit()) || !Look::of(text).wordy())),
    // May be a password that someone wrote down.
    ("password", Literal(|text, sure| value::could_be_password(text, &Look::of(text), sure))),
    // Looks like a token.
    ("token", Literal(is_token)),
    // A token that is long and mixed enough to be one whatever its name.
    ("random", Literal(is_random)),
    // The first part is a JSON object in base64.
    ("jwt", Text(is_jwt)),
    // Not base64 of words with blanks between them.
    ("no-sentence", Text(|text| !spells_sentence(text))),
    // Base64 of `user:password`.
    ("basic", Text(is_basic)),
    // Behind `pypi-`, a macaroon that was not cut before its signature.
    ("macaroon", Text(has_signature)),
    // Base64 of a user and a password, each behind a zero byte.
    ("sasl-plain", Text(is_sasl_plain)),
    // A word of base64 in it spells six bytes or more.
    ("encoded", Text(is_encoded)),
    // What stands behind `user:` in a URL or on a command line, and is no stand-in.
    ("user-password", Text(value::could_be_user_password)),
    // A card number by issuer range, length and Luhn.
    ("card", Text(is_card)),
    // The last digit by Luhn alone.
    ("luhn", Text(is_luhn)),
    // Country, length and mod 97; shortens the match to the account's own length.
    ("iban", Part(iban_length)),
    // Words of a wallet with a checksum; shortens the match to them.
    ("seed-phrase", Part(phrase_length)),
    // A social security number that can have been issued.
    ("ssn", Text(is_issued_ssn)),
    // Of a private network.
    ("private-ip", Text(is_private_ip)),
    // Names one device.
    ("mac", Text(is_device)),
    // Not loopback, private, documentation or any other reserved range.
    ("public-ip", Text(is_public_ip)),
    // Ends in a plausible top-level domain, not a file's extension.
    ("domain", Text(has_domain)),
];

impl TryFrom<String> for Check {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let (word, number) = name.split_once(':').unwrap_or((&name, ""));
        let judge = match word {
            "entropy" => number.parse().ok().map(Entropy),
            "digits" => number.parse().ok().map(Digits),
            "length" => number.parse().ok().map(Length),
            _ => {
                let issued = ISSUED.iter().map(|&(name, holds)| (name, Text(holds)));
                let mut all = NAMED.iter().copied().chain(issued);
                all.find(|(known, _)| *known == name).map(|(_, judge)| judge)
            }
        };
        let judge = judge.ok_or_else(|| format!("there is no check {name:?}"))?;
        Ok(Self { name, judge })
    }
}

impl Check {
    /// Returns how many digits a match must have, where this is the check for it.
    pub(crate) fn least_digits(&self) -> Option<usize> {
        if let Digits(least) = self.judge { Some(least) } else { None }
    }

    /// Gives how many bytes of `text` stand, `None` where the match falls.
    ///
    /// `sure` where the notation says that `text` is a literal.
    pub(crate) fn keep(&self, text: &str, sure: bool) -> Option<usize> {
        let stands = match self.judge {
            Entropy(least) => Look::of(text).entropy >= least,
            Digits(least) => text.bytes().filter(u8::is_ascii_digit).count() >= least,
            Length(least) => text.len() >= least,
            Text(holds) => holds(text),
            Literal(holds) => holds(text, sure),
            Part(length) => return length(text),
        };
        stands.then_some(text.len())
    }
}

fn is_mixed(text: &str) -> bool {
    let look = Look::of(text);
    look.digits > 0 && look.letters() > 0 && !look.wordy()
}

fn is_token(text: &str, sure: bool) -> bool {
    let look = Look::of(text);
    value::could_be_token(text, &look, sure) || (sure && value::is_generated(text, &look))
}

fn is_random(text: &str, sure: bool) -> bool {
    let look = Look::of(text);
    // The alphabet itself, as encoders and their tests spell it.
    let alphabet = text.contains("ABCDEFGHIJKLMNOPQRSTUVWXYZ") && text.contains("0123456789");
    let plausible = value::could_be_token(text, &look, sure)
        && !value::is_uuid(text)
        && !alphabet
        && look.len >= 16
        && look.letters() >= 4
        && look.entropy >= 3.0;
    // The dearest measure comes last.
    plausible && {
        let likely = score(text);
        likely > LIKELY && (look.digits >= 2 || likely > if sure { LIKELY / 2.0 } else { 0.0 })
    }
}

fn is_jwt(text: &str) -> bool {
    let mut parts = text.split('.');
    let (head, payload) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
    // A signed token's payload is JSON too; an encrypted one has five parts.
    if !payload.starts_with("eyJ") && text.split('.').count() < 5 {
        return false;
    }
    let decoded = base64_prefix(head.as_bytes(), 4096);
    let printable = decoded.iter().all(|b| (0x20..0x7f).contains(b) || b.is_ascii_whitespace());
    decoded.starts_with(b"{")
        && printable
        && memchr::memmem::find(&decoded, b"\"").is_some()
        && decoded.contains(&b':')
}

fn is_basic(text: &str) -> bool {
    let decoded = base64_prefix(text.as_bytes(), 512);
    let printable = decoded.iter().all(|b| (0x20..0x7f).contains(b));
    match decoded.iter().position(|&b| b == b':') {
        Some(colon) if printable => colon + 1 < decoded.len(),
        // Cut or altered: then it is at least as random as what was encoded.
        _ => text.len() >= 32 && is_random(text, true),
    }
}

/// PyPI's tokens are macaroons of version 2: a location, an identifier of 36 bytes, caveats, and a
/// signature of 32 bytes. What has another identifier is not judged.
fn has_signature(text: &str) -> bool {
    const VERSION_AND_LOCATION: usize = 3;
    const IDENTIFIER: &[u8] = &[2, 36];
    /// The identifier and its end, no caveat but its end, and the signature with its header.
    const LEAST_BEHIND: usize = IDENTIFIER.len() + 36 + 1 + 1 + 2 + 32;
    let token = text.split_once('-').map_or(text, |(_, token)| token);
    let decoded = base64_prefix(token.as_bytes(), 256);
    let Some(&length) = decoded.get(VERSION_AND_LOCATION - 1) else { return true };
    let behind = decoded.get(VERSION_AND_LOCATION + usize::from(length)..).unwrap_or_default();
    !behind.starts_with(IDENTIFIER) || behind.len() >= LEAST_BEHIND
}

/// RFC 4616: `[authzid] NUL authcid NUL passwd`.
fn is_sasl_plain(text: &str) -> bool {
    let decoded = base64_prefix(text.as_bytes(), 1024);
    let parts: Vec<_> = decoded.split(|&byte| byte == 0).collect();
    let printable = |part: &[u8]| !part.is_empty() && part.iter().all(|byte| *byte >= 0x20);
    matches!(parts[..], [_, user, password] if printable(user) && printable(password))
}

/// Random bytes of this length are not printable throughout.
fn spells_sentence(text: &str) -> bool {
    const LEAST_BLANKS: usize = 3;
    let decoded = base64_prefix(text.as_bytes(), 512);
    decoded.iter().all(|byte| matches!(byte, 0x20..0x7f))
        && decoded.iter().filter(|&&byte| byte == b' ').count() >= LEAST_BLANKS
}

/// Of an entry `name: base64`, what stands behind the colon.
fn is_encoded(text: &str) -> bool {
    /// Eight signs spell six bytes; shorter values are words such as `true`.
    const LEAST: usize = 8;
    let is_sign = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/');
    let spells = |word: &str| word.trim_matches(|c| !is_sign(c)).len() >= LEAST;
    text.lines().any(|line| spells(line.split_once(": ").map_or(line, |(_, value)| value)))
}

fn is_public_ip(text: &str) -> bool {
    match address(text) {
        Some(IpAddr::V4(ip)) => {
            let [a, rest @ ..] = ip.octets();
            let reserved = a >= 240 || a == 0 || ip.is_documentation() || ip.is_multicast();
            // `13.0.0.0` is a network, and oftener a version.
            !(reserved || rest == [0; 3] || ip.is_loopback() || is_private(IpAddr::V4(ip)))
        }
        Some(IpAddr::V6(ip)) => {
            let [first, second, ..] = ip.segments();
            // What is given out is 2000::/3; code such as `ab::cd` names other things.
            let global = first & 0xe000 == 0x2000;
            // Eight groups and nothing else are an address all the same.
            let whole = text.split(':').count() == 8
                && !text.contains("::")
                && text.split(':').any(|group| group.len() > 2);
            let documentation =
                (first, second) == (0x2001, 0x0db8) || (first, second & 0xf000) == (0x3fff, 0);
            let other = documentation || first & 0xff00 == 0xff00 || is_private(IpAddr::V6(ip));
            (global || whole) && !other
        }
        None => false,
    }
}

fn is_private_ip(text: &str) -> bool {
    address(text).is_some_and(is_private)
}

/// Reads an address; one of version 4 in the form of version 6 is what it stands for.
fn address(text: &str) -> Option<IpAddr> {
    text.parse::<IpAddr>().ok().map(|ip| ip.to_canonical())
}

/// Networks of one house, one carrier or one link.
fn is_private(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => {
            let [a, b, ..] = ip.octets();
            ip.is_private() || ip.is_link_local() || (a == 100 && (64..128).contains(&b))
        }
        IpAddr::V6(ip) => {
            let first = ip.segments()[0];
            first & 0xfe00 == 0xfc00 || first & 0xffc0 == 0xfe80
        }
    }
}

/// Neither everybody's nor nobody's.
fn is_device(text: &str) -> bool {
    let all =
        |byte: u8| text.bytes().filter(u8::is_ascii_hexdigit).all(|digit| digit.eq_ignore_ascii_case(&byte));
    !all(b'0') && !all(b'f')
}

fn has_domain(text: &str) -> bool {
    let Some(last) = text.rsplit('.').next() else { return false };
    // `git@github.com:owner/name` is the user that clones, on every host.
    let clones = text.starts_with("git@");
    let ends = !clones && last.len() >= 2 && !LISTS.extensions.has(last);
    ends && (last.bytes().all(|b| b.is_ascii_alphabetic()) || last.starts_with("xn--"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_check_is_named() {
        let read = |name: &str| Check::try_from(name.to_owned());
        assert_eq!(read("lhun").unwrap_err(), "there is no check \"lhun\"");
        assert!(read("entropy:x").is_err() && read("entropy:3.0").is_ok());
    }

    #[test]
    fn a_base64_prefix_decodes_in_both_alphabets() {
        assert_eq!(base64_prefix(b"eyJhIjoxfQ.x", 100), b"{\"a\":1}");
        assert_eq!(base64_prefix(b"-_-_", 100), base64_prefix(b"+/+/", 100));
    }
}
