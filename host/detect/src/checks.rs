//! The named checks of a pack: what a match must be beyond its shape.
//!
//! A check sees the text of one match and says whether it stands, and how much of it.

use std::str::FromStr;

use crate::value::{self, Look};

/// A check as a pack names it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Check {
    /// `entropy:3.0`: at least so many bits per byte.
    Entropy(f32),
    /// `digits:2`: at least so many digits.
    Digits(usize),
    /// `length:20`: at least so many bytes.
    Length(usize),
    /// `mixed`: both letters and digits, and not made of words.
    Mixed,
    /// `not-words`: not made of words.
    NotWords,
    /// `password`: may be a password that someone wrote down.
    Password,
    /// `token`: looks like a token.
    Token,
    /// `random`: a token that is long and mixed enough to be one whatever its name.
    Random,
    /// `jwt`: the first part is a JSON object in base64.
    Jwt,
    /// `basic`: base64 of `user:password`.
    Basic,
    /// `user-password`: what stands behind `user:` in a URL or on a command line, and is no stand-in.
    UserPassword,
    /// `card`: a card number by issuer range, length and Luhn.
    Card,
    /// `iban`: country, length and mod 97; shortens the match to the account's own length.
    Iban,
    /// `ssn`: a social security number that can have been issued.
    Ssn,
    /// `public-ip`: not loopback, private, documentation or any other reserved range.
    PublicIp,
    /// `domain`: ends in a plausible top-level domain, not a file's extension.
    Domain,
}

/// A check's name that no code stands behind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no check {0:?}")]
pub(crate) struct UnknownCheck(String);

impl FromStr for Check {
    type Err = UnknownCheck;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let unknown = || UnknownCheck(text.to_owned());
        let (name, argument) = text.split_once(':').unwrap_or((text, ""));
        let count = || argument.parse().map_err(|_| unknown());
        Ok(match name {
            "entropy" => Self::Entropy(argument.parse().map_err(|_| unknown())?),
            "digits" => Self::Digits(count()?),
            "length" => Self::Length(count()?),
            "mixed" => Self::Mixed,
            "not-words" => Self::NotWords,
            "password" => Self::Password,
            "token" => Self::Token,
            "random" => Self::Random,
            "jwt" => Self::Jwt,
            "basic" => Self::Basic,
            "user-password" => Self::UserPassword,
            "card" => Self::Card,
            "iban" => Self::Iban,
            "ssn" => Self::Ssn,
            "public-ip" => Self::PublicIp,
            "domain" => Self::Domain,
            _ => return Err(unknown()),
        })
    }
}

impl Check {
    /// Gives how many bytes of `text` stand, `None` where the match falls.
    ///
    /// `sure` where the notation says that `text` is a literal.
    pub(crate) fn keep(&self, text: &str, sure: bool) -> Option<usize> {
        let stands = match self {
            Self::Entropy(least) => Look::of(text).entropy >= *least,
            Self::Digits(least) => text.bytes().filter(u8::is_ascii_digit).count() >= *least,
            Self::Length(least) => text.len() >= *least,
            Self::Mixed => {
                let look = Look::of(text);
                look.digits > 0 && look.letters() > 0 && !look.wordy()
            }
            Self::NotWords => !Look::of(text).wordy(),
            Self::Password => value::could_be_password(text, &Look::of(text), sure),
            Self::Token => value::could_be_token(text, &Look::of(text)),
            Self::Random => is_random(text),
            Self::Jwt => is_jwt(text),
            Self::Basic => is_basic(text),
            Self::UserPassword => value::could_be_user_password(text),
            Self::Card => is_card(text),
            Self::Iban => return iban_length(text),
            Self::Ssn => is_issued_ssn(text),
            Self::PublicIp => is_public_ip(text),
            Self::Domain => has_domain(text),
        };
        stands.then_some(text.len())
    }
}

fn is_random(text: &str) -> bool {
    let look = Look::of(text);
    let mixed = look.digits >= 2 && look.letters() >= 4;
    // The alphabet itself, as encoders and their tests spell it.
    let alphabet = text.contains("ABCDEFGHIJKLMNOPQRSTUVWXYZ") && text.contains("0123456789");
    value::could_be_token(text, &look)
        && !value::is_uuid(text)
        && !alphabet
        && look.len >= 16
        && mixed
        && look.entropy >= 3.0
}

/// Decodes base64 in either alphabet up to the first byte that is none; padding is not asked for.
pub(crate) fn base64_prefix(text: &[u8], limit: usize) -> Vec<u8> {
    let (mut out, mut bits, mut held) = (Vec::with_capacity(limit), 0u32, 0);
    for &byte in text {
        let six = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => break,
        };
        bits = bits << 6 | u32::from(six);
        held += 6;
        if held >= 8 {
            held -= 8;
            out.push((bits >> held) as u8);
        }
        if out.len() >= limit {
            break;
        }
    }
    out
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
        Some(colon) => printable && colon + 1 < decoded.len(),
        // Cut or altered: then it is at least as random as what was encoded.
        None => text.len() >= 32 && is_random(text),
    }
}

fn digits_of(text: &str) -> impl DoubleEndedIterator<Item = u32> + Clone {
    text.bytes().filter(u8::is_ascii_digit).map(|b| u32::from(b - b'0'))
}

fn luhn(text: &str) -> bool {
    let sum: u32 = digits_of(text)
        .rev()
        .enumerate()
        .map(|(place, digit)| match (place % 2, digit * 2) {
            (0, _) => digit,
            (_, twice) => twice / 10 + twice % 10,
        })
        .sum();
    sum.is_multiple_of(10)
}

/// Issuer ranges of ISO/IEC 7812 as the schemes publish them: first and last prefix, and the lengths in use.
const ISSUERS: [(u32, u32, &[usize]); 20] = [
    (4, 4, &[13, 16, 19]),               // Visa
    (51, 55, &[16]),                     // Mastercard
    (2221, 2720, &[16]),                 // Mastercard
    (34, 34, &[15]),                     // American Express
    (37, 37, &[15]),                     // American Express
    (300, 305, &[14, 16]),               // Diners Club
    (309, 309, &[14]),                   // Diners Club
    (36, 36, &[14]),                     // Diners Club
    (38, 39, &[14, 16]),                 // Diners Club
    (6011, 6011, &[16, 19]),             // Discover
    (644, 649, &[16, 19]),               // Discover
    (65, 65, &[16, 19]),                 // Discover, RuPay
    (62, 62, &[16, 17, 18, 19]),         // UnionPay
    (3528, 3589, &[15, 16, 17, 18, 19]), // JCB
    (1800, 1800, &[15]),                 // JCB, old
    (2131, 2131, &[15]),                 // JCB, old
    (5018, 5020, &[12, 13, 16, 18, 19]), // Maestro
    (6304, 6304, &[12, 13, 16, 18, 19]), // Maestro
    (6759, 6763, &[12, 13, 16, 18, 19]), // Maestro
    (2200, 2204, &[16, 17, 18, 19]),     // Mir
];

fn is_card(text: &str) -> bool {
    let digits = digits_of(text).count();
    let issued = ISSUERS.iter().any(|&(first, last, lengths)| {
        let width = first.ilog10() as usize + 1;
        let prefix = digits_of(text).take(width).fold(0, |n, d| n * 10 + d);
        (first..=last).contains(&prefix) && lengths.contains(&digits)
    });
    // A number of one or two different digits (`4444 4444 4444 4444`) is nobody's.
    let distinct = (0..10).filter(|d| digits_of(text).any(|x| x == *d)).count();
    issued && distinct > 2 && grouped_as_cards_are(text) && luhn(text)
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

/// Length of an IBAN by country, from the SWIFT registry.
const IBAN_LENGTHS: &[(&str, usize)] = &[
    ("AD", 24),
    ("AE", 23),
    ("AL", 28),
    ("AT", 20),
    ("AZ", 28),
    ("BA", 20),
    ("BE", 16),
    ("BG", 22),
    ("BH", 22),
    ("BI", 27),
    ("BR", 29),
    ("BY", 28),
    ("CH", 21),
    ("CR", 22),
    ("CY", 28),
    ("CZ", 24),
    ("DE", 22),
    ("DJ", 27),
    ("DK", 18),
    ("DO", 28),
    ("EE", 20),
    ("EG", 29),
    ("ES", 24),
    ("FI", 18),
    ("FK", 18),
    ("FO", 18),
    ("FR", 27),
    ("GB", 22),
    ("GE", 22),
    ("GI", 23),
    ("GL", 18),
    ("GR", 27),
    ("GT", 28),
    ("HR", 21),
    ("HU", 28),
    ("IE", 22),
    ("IL", 23),
    ("IQ", 23),
    ("IS", 26),
    ("IT", 27),
    ("JO", 30),
    ("KW", 30),
    ("KZ", 20),
    ("LB", 28),
    ("LC", 32),
    ("LI", 21),
    ("LT", 20),
    ("LU", 20),
    ("LV", 21),
    ("LY", 25),
    ("MC", 27),
    ("MD", 24),
    ("ME", 22),
    ("MK", 19),
    ("MN", 20),
    ("MR", 27),
    ("MT", 31),
    ("MU", 30),
    ("NI", 28),
    ("NL", 18),
    ("NO", 15),
    ("OM", 23),
    ("PK", 24),
    ("PL", 28),
    ("PS", 29),
    ("PT", 25),
    ("QA", 29),
    ("RO", 24),
    ("RS", 22),
    ("RU", 33),
    ("SA", 24),
    ("SC", 31),
    ("SD", 18),
    ("SE", 24),
    ("SI", 19),
    ("SK", 24),
    ("SM", 27),
    ("SO", 23),
    ("ST", 25),
    ("SV", 28),
    ("TL", 23),
    ("TN", 24),
    ("TR", 26),
    ("UA", 29),
    ("VA", 22),
    ("VG", 24),
    ("XK", 20),
    ("YE", 30),
];

/// Gives how many bytes of `text` the account number takes, blanks included.
fn iban_length(text: &str) -> Option<usize> {
    let country = text.get(..2)?.to_ascii_uppercase();
    let wanted = IBAN_LENGTHS.iter().find(|(code, _)| *code == country)?.1;
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

fn is_issued_ssn(text: &str) -> bool {
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

fn is_public_ip(text: &str) -> bool {
    match text.parse::<std::net::IpAddr>() {
        Ok(std::net::IpAddr::V4(ip)) => {
            let [a, b, ..] = ip.octets();
            let shared = a == 100 && (64..128).contains(&b);
            let future = a >= 240;
            let local = ip.is_loopback() || ip.is_private() || ip.is_link_local() || ip.is_unspecified();
            // A first octet of 0 to 9 is far more often a version than a host.
            !(local || shared || future || ip.is_documentation() || ip.is_multicast() || a == 0)
        }
        Ok(std::net::IpAddr::V6(ip)) => {
            let head = ip.segments()[0];
            let local =
                ip.is_loopback() || ip.is_unspecified() || head & 0xfe00 == 0xfc00 || head & 0xffc0 == 0xfe80;
            let documentation = head == 0x2001 && ip.segments()[1] == 0x0db8;
            !(local || documentation || head & 0xff00 == 0xff00)
        }
        Err(_) => false,
    }
}

/// Extensions of files that look like a top-level domain behind an `@`: `icon@2x.png`, `types@latest.js`.
const EXTENSIONS: [&str; 24] = [
    "png", "jpg", "jpeg", "gif", "svg", "webp", "ico", "js", "mjs", "cjs", "jsx", "tsx", "css", "scss",
    "html", "json", "yaml", "yml", "toml", "lock", "md", "txt", "xml", "local",
];

fn has_domain(text: &str) -> bool {
    let Some(last) = text.rsplit('.').next() else { return false };
    let ends = last.len() >= 2 && !EXTENSIONS.iter().any(|e| last.eq_ignore_ascii_case(e));
    ends && (last.bytes().all(|b| b.is_ascii_alphabetic()) || last.starts_with("xn--"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_unknown_check_is_named() {
        assert_eq!("lhun".parse::<Check>().unwrap_err().to_string(), "there is no check \"lhun\"");
        assert!("entropy:x".parse::<Check>().is_err());
    }

    #[test]
    fn an_iban_is_cut_to_its_countrys_length() {
        let account = "DE89 3704 0044 0532 0130 00";
        assert_eq!(iban_length(&format!("{account} and")), Some(account.len()));
        assert_eq!(iban_length("de89370400440532013000"), Some(22));
        assert_eq!(iban_length("DE88370400440532013000"), None);
        assert_eq!(iban_length("XX89370400440532013000"), None);
    }

    #[test]
    fn a_base64_prefix_decodes_in_both_alphabets() {
        assert_eq!(base64_prefix(b"eyJhIjoxfQ.x", 100), b"{\"a\":1}");
        assert_eq!(base64_prefix(b"-_-_", 100), base64_prefix(b"+/+/", 100));
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
