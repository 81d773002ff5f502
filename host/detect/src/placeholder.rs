//! Placeholders: values that stand where a secret will go.
//!
//! Templates (`${VAR}`, `{{ x }}`, `<your-key>`, `%VAR%`, `$VAR`), words such as `changeme` and
//! `EXAMPLE`, masks such as `xxxx`, `****` and `...`. Who redacts them makes documentation
//! unreadable and protects nobody.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use crate::cues::automaton;
use crate::lists::LISTS;

/// Fewer bytes that count do so by chance.
const SHORT_RUN: usize = 4;

/// True where a person would say: that is no secret, that is the place where one goes.
///
/// Templates (`${VAR}`, `{{ x }}`, `<your-key>`, `%VAR%`, `$VAR`), words such as `changeme` and
/// `EXAMPLE`, masks such as `xxxx`, `****` and `...`.
pub(crate) fn is_placeholder(value: &str) -> bool {
    template(value) || masked(value) || counts(value) || stands_for(value)
}

/// `000102030405…`: bytes in hexadecimal digits that count, as test vectors do.
fn counts(value: &str) -> bool {
    /// Fewer bytes count by chance.
    const LEAST: usize = 8;
    let byte = |two: &[u8]| {
        let digit = |byte: u8| char::from(byte).to_digit(16);
        Some(digit(two[0])? * 16 + digit(*two.get(1)?)?)
    };
    let bytes = value.as_bytes();
    bytes.len() >= 2 * LEAST
        && bytes.chunks(2).zip(bytes[2..].chunks(2)).all(|(two, next)| match (byte(two), byte(next)) {
            (Some(byte), Some(next)) => next == (byte + 1) % 256,
            _ => false,
        })
}

/// A token over which somebody wrote: `key_12345674dc42cb40…`, `key_…7babcdef`. Six bytes in a row
/// that count stand in one of ten thousand tokens of forty hexadecimal digits, and among letters and
/// digits in fewer still. Numbers are identifiers, which count as they like. What counts throughout
/// is left alone: under its own prefix, labelled sources call it a secret as a rule.
pub(crate) fn is_written_over(value: &str) -> bool {
    const LONG: usize = 6;
    const LEAST: usize = 8;
    let is_token = |word: &&[u8]| {
        let mixed = word.iter().any(u8::is_ascii_digit) && word.iter().any(u8::is_ascii_alphabetic);
        mixed && word.len() >= LEAST
    };
    words(value).filter(is_token).flat_map(counting_runs).any(|run| run >= LONG)
        && !counts_in_runs(value, SHORT_RUN)
}

/// What documentation writes for a token: `acme_abcdefghijklmnopqrst123`, the prefix of a service and
/// then characters that count. Where the prefix is a word that any service may use, it says nothing,
/// and a service that has a row of its own is asked there.
pub(crate) fn is_made_up(value: &str) -> bool {
    has_prefix(value)
        && value
            .split(['_', '-'])
            .next()
            .is_some_and(|first| !LISTS.anybodys_prefixes.has(first) && !counts_alone(first))
        && counts_in_runs(value, SHORT_RUN)
}

/// `abc123def456ghi789`: most of a value counts, if only in threes. Of 32 hexadecimal digits at random
/// a tenth does.
pub(crate) fn counts_throughout(value: &str) -> bool {
    counts_in_runs(value, 3)
}

/// Whether most of a value stands in runs of so many bytes or more that count.
fn counts_in_runs(value: &str, least: usize) -> bool {
    let counted: usize = words(value).flat_map(counting_runs).filter(|run| *run >= least).sum();
    counted * 5 >= value.len() * 3
}

fn words(value: &str) -> impl Iterator<Item = &[u8]> {
    value.split(|c: char| !c.is_ascii_alphanumeric()).map(str::as_bytes)
}

/// `abcd-1234…`: what stands before the sign counts too, so it is no service's.
fn counts_alone(word: &str) -> bool {
    word.len() >= SHORT_RUN && counting_runs(word.as_bytes()).any(|run| run == word.len())
}

/// Returns true if and only if a value begins as services begin their tokens, `sqp_`, `tskey-`, and
/// holds no JSON in base64, whose signs are not random.
pub(crate) fn has_prefix(value: &str) -> bool {
    let prefix = value.bytes().take_while(u8::is_ascii_lowercase).count();
    (2..=12).contains(&prefix)
        && matches!(value.as_bytes().get(prefix), Some(b'_' | b'-'))
        && !value.contains("eyJ")
}

/// The lengths of the stretches of a word in which each byte follows the one before it, or each one
/// goes before it.
fn counting_runs(word: &[u8]) -> impl Iterator<Item = usize> {
    let steps = word.windows(2).map(|two| step(two[0], two[1])).chain([None]);
    let (mut way, mut length) = (None, 1);
    steps.filter_map(move |step| {
        let ended = if step == way && way.is_some() {
            length += 1;
            None
        } else {
            Some(std::mem::replace(&mut length, if step.is_some() { 2 } else { 1 }))
        };
        way = step;
        ended
    })
}

/// Whether a letter or digit is the next one after another (`true`), or the one before it.
fn step(a: u8, b: u8) -> Option<bool> {
    let follows = |a: u8, b: u8| match (a.to_ascii_lowercase(), b.to_ascii_lowercase()) {
        (b'9', b'0') => true,
        (a @ (b'0'..=b'9' | b'a'..=b'z'), b @ (b'0'..=b'9' | b'a'..=b'z')) => b == a + 1,
        _ => false,
    };
    match (follows(a, b), follows(b, a)) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    }
}

fn template(value: &str) -> bool {
    let bytes = value.as_bytes();
    let wrapped = |open: &[u8], close: &[u8]| bytes.starts_with(open) && bytes.ends_with(close);
    let variable = match bytes {
        [b'$', rest @ ..] => {
            rest.first().is_some_and(|b| matches!(b, b'{' | b'(') || b.is_ascii_alphabetic() || *b == b'_')
                && !rest.iter().any(|b| matches!(b, b'/' | b'$' | b'@' | b'!' | b'#'))
        }
        _ => false,
    };
    variable
        || wrapped(b"<", b">")
        || wrapped(b"[", b"]")
        || wrapped(b"{", b"}")
        || (bytes.len() > 2 && wrapped(b"%", b"%"))
        || (bytes.len() > 4 && wrapped(b"__", b"__"))
        || ["${", "$(", "{{", "<%", "#{", "%{", "%(", "{0}", "$env"].iter().any(|sign| value.contains(sign))
}

/// Long runs of one byte, or hardly any different bytes at all.
fn masked(value: &str) -> bool {
    /// Shorter runs stand in random text too.
    const LONG: usize = 6;
    /// Three numbers of one digit each are nobody's: `xoxc-888888888888-…`. Encoded bytes hold more
    /// than numbers.
    const NUMBERS: (usize, usize, usize) = (3, 9, 256);
    let bytes = value.as_bytes();
    let (mut run, mut longest, mut in_runs, mut before) = (0usize, 0usize, 0usize, None);
    let mut numbers = 0;
    for &byte in bytes {
        run = if before == Some(byte) { run + 1 } else { 1 };
        if byte.is_ascii_alphanumeric() || matches!(byte, b'*' | b'.' | b'#') {
            longest = longest.max(if matches!(byte, b'x' | b'X' | b'*' | b'.') { run * 2 } else { run });
            in_runs += match run {
                LONG => LONG,
                _ => usize::from(run > LONG),
            };
        }
        numbers += usize::from(byte.is_ascii_digit() && run == NUMBERS.1);
        before = Some(byte);
    }
    // A long token may count in some of its parts: `xoxa-2-31111111111-e039d0…`.
    (longest >= 8 && longest * 5 >= bytes.len())
        || (longest >= LONG && longest * 2 >= bytes.len())
        || in_runs * 5 >= bytes.len() * 3
        || (numbers >= NUMBERS.0 && bytes.len() < NUMBERS.2)
}

fn stands_for(value: &str) -> bool {
    /// What makes a placeholder stands near its beginning.
    const LONGEST: usize = 256;
    static WORDS: LazyLock<AhoCorasick> = LazyLock::new(|| automaton(&LISTS.placeholders));
    let bytes = value.as_bytes();
    WORDS.is_match(&bytes[..bytes.len().min(LONGEST)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_that_somebody_wrote_over_is_told_from_one_that_was_issued() {
        for value in [
            "key_12345674dc42cb40d2c69cbb66e7a9b6c8d7820bb7c09b8e",
            "key_v0_7558c5a93d6f38dd038df5cc2a7c3d4d7babcdef",
            "key-9CK43y03eghegFEiZ3Kf1myIxyGJAI25PuuWuUk1Zf654321",
        ] {
            assert!(is_written_over(value), "{value}");
        }
        for value in [
            "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            // An identifier beside a secret, and what counts throughout.
            "key-123456789012-Xw937qtWSXJss1lFaKeq7Zk",
            "key_1234567890abcdef1234567890abcdef",
            "",
        ] {
            assert!(!is_written_over(value), "{value}");
        }
    }

    #[test]
    fn a_token_of_documentation_counts_behind_the_prefix_of_a_service() {
        for value in [
            "acme_abcdefghijklmnopqrstuvwxyz123",
            "acm_AbCdEfGhIjKlMnOpQrStUvWxYzAbCdEf",
            "acme_sa_1234567890123456789012345678",
            "acmp-1234567890",
        ] {
            assert!(is_made_up(value), "{value}");
        }
        for value in [
            "acme_q7Zk29fLmXw84TbVxPq3",
            // Everybody's words, and none.
            "key-1234567890abcdef1234567890abcdef",
            "live_abcdefghijklmnopqrstuvwxyz123456",
            "abcd-1234567890abcdef1234567890abcdef",
            "abcdefghijklmnopqrstuvwxyz123456",
        ] {
            assert!(!is_made_up(value), "{value}");
        }
    }

    #[test]
    fn placeholders_are_known_in_every_dress() {
        for value in [
            "${TOKEN}",
            "$TOKEN",
            "<your-key>",
            "{{ .Values.password }}",
            "xxxxxxxxxxxx",
            "AKIAIOSFODNN7EXAMPLE",
            "changeme",
            "********",
            "process.env.API_KEY",
            "%DB_PASSWORD%",
            "your_api_key",
            "00000000000000000000",
            "[PASSWORD]",
            "$(cat ./login.txt)",
            "insert_key_here",
            "000102030405060708090A0B0C0D0E0F10",
            "f8f9fafbfcfdfeff0001020304050607",
        ] {
            assert!(is_placeholder(value), "{value}");
        }
        for value in
            ["hunter2", "s3cr3t!", "9f86d081884c7d659a2feaa0c55ad015", "pa$$word1", "$2a$05$LhayLxezLhK1"]
        {
            assert!(!is_placeholder(value), "{value}");
        }
    }
}
