//! What a value looks like: random, or made of words, or like a password that someone wrote down.
//!
//! These judgements carry the precision of every detector that knows a secret by its name alone.
//! All of them read a value a fixed number of times and allocate nothing.

use crate::lists::LISTS;
use crate::publishable::is_publishable;
use crate::score::{LIKELY, score};

/// Measures of one value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    pub(crate) len: usize,
    pub(crate) lower: usize,
    pub(crate) upper: usize,
    pub(crate) digits: usize,
    /// Bytes that belong in no token: blanks, quotes, brackets, controls, anything beyond ASCII.
    pub(crate) foreign: usize,
    /// How often a letter stands beside a digit.
    pub(crate) switches: usize,
    /// How many different bytes.
    pub(crate) distinct: usize,
    /// Shannon entropy in bits per byte.
    pub(crate) entropy: f32,
    /// Share of neighbouring letters that stand together in English words and identifiers, 0 to 1.
    pub(crate) wordiness: f32,
    /// Letter pairs that the share is taken over.
    pub(crate) pairs: usize,
}

/// For each letter, which letters often follow it in words: bit 0 is `a`. The 181 pairs that make
/// up 86 % of the pairs in the words of a large body of documentation and code. A random string
/// hits 27 % of the time, a word 85 %.
#[rustfmt::skip]
const FOLLOWS: [u32; 26] = [
    0x00eb94e, 0x0144911, 0x01a4d95, 0x0144111, 0x0aeb87d, 0x0004931, 0x0020110, 0x0004111, 0x22ef87f,
    0x0000000, 0x0000010, 0x10c4911, 0x010c111, 0x00c417d, 0x07ef80c, 0x00ec911, 0x0100000, 0x11e511d,
    0x01cc195, 0x11e4991, 0x00eb917, 0x0000111, 0x0000101, 0x0000000, 0x0008000, 0x0000010,
];

/// Signs that belong in no token.
const FOREIGN_SIGNS: &[u8] = b"\"'`<>()[]{}\\|,;";

/// What follows the letters in [`CLASS`].
const DIGIT: u8 = 26;
const OTHER: u8 = 27;

/// For each byte which letter it is, 0 to 25, or [`DIGIT`] or [`OTHER`]: values are read byte by
/// byte at every name in a text.
const CLASS: [u8; 256] = {
    let mut class = [OTHER; 256];
    let mut letter = 0;
    while letter < DIGIT {
        class[(b'a' + letter) as usize] = letter;
        class[(b'A' + letter) as usize] = letter;
        letter += 1;
    }
    let mut digit = b'0';
    while digit <= b'9' {
        class[digit as usize] = DIGIT;
        digit += 1;
    }
    class
};

/// Returns whether two letters often stand side by side in words.
pub(crate) fn often_follows(letter: u8, next: u8) -> bool {
    let (letter, next) = (CLASS[usize::from(letter)], CLASS[usize::from(next)]);
    letter < DIGIT && next < DIGIT && FOLLOWS[usize::from(letter)] >> next & 1 != 0
}

impl Look {
    pub(crate) fn of(value: &str) -> Self {
        let mut counts = [0u32; 256];
        let (mut pairs, mut common, mut switches) = (0usize, 0usize, 0);
        let mut before = OTHER;
        for &byte in value.as_bytes() {
            counts[usize::from(byte)] += 1;
            let here = CLASS[usize::from(byte)];
            if here < DIGIT && before < DIGIT {
                pairs += 1;
                common += (FOLLOWS[usize::from(before)] >> here & 1) as usize;
            }
            switches += usize::from((here == DIGIT && before < DIGIT) || (here < DIGIT && before == DIGIT));
            before = here;
        }
        let count = |bytes: std::ops::RangeInclusive<u8>| -> usize {
            counts[usize::from(*bytes.start())..=usize::from(*bytes.end())].iter().map(|&n| n as usize).sum()
        };
        let (lower, upper, digits) = (count(b'a'..=b'z'), count(b'A'..=b'Z'), count(b'0'..=b'9'));
        let signs: usize = FOREIGN_SIGNS.iter().map(|&sign| counts[usize::from(sign)] as usize).sum();
        let foreign = count(0..=b' ') + count(0x7f..=0xff) + signs;
        let len = value.len();
        let present = counts.iter().filter(|&&n| n > 0);
        let distinct = present.clone().count();
        let total = len.max(1) as f32;
        let entropy = present.map(|&n| n as f32 / total).map(|p| -p * p.log2()).sum();
        Self {
            len,
            lower,
            upper,
            digits,
            foreign,
            switches,
            distinct,
            entropy,
            wordiness: common as f32 / pairs.max(1) as f32,
            pairs,
        }
    }

    pub(crate) fn letters(&self) -> usize {
        self.lower + self.upper
    }

    /// Made of words: most of its letters stand as they stand in words. Short runs of letters say
    /// nothing, and words are not shot through with digits.
    pub(crate) fn wordy(&self) -> bool {
        /// `sha256_base64_utf8` switches five times.
        const SHOT_THROUGH: usize = 7;
        self.switches < SHOT_THROUGH && self.pairs >= 5 && self.pairs * 3 >= self.len && self.wordiness > 0.65
    }

    /// A token's alphabet, and nothing that a person would have written as words.
    pub(crate) fn random(&self) -> bool {
        if self.foreign > 0 || self.distinct < 6 || self.wordy() {
            return false;
        }
        match (self.digits, self.letters()) {
            (0, _) => self.len >= 20 && self.wordiness < 0.45 && self.entropy >= 3.5,
            (_, 0) => self.len >= 15,
            (1, _) if self.len < 20 => false,
            _ => self.entropy >= if self.len >= 16 { 2.8 } else { 2.5 },
        }
    }
}

/// True where `value` is 8-4-4-4-12 in letters and digits.
pub(crate) fn is_uuid(value: &str) -> bool {
    value.len() == 36
        && value.bytes().enumerate().all(|(i, b)| match i {
            8 | 13 | 18 | 23 => b == b'-',
            _ => b.is_ascii_alphanumeric(),
        })
}

/// True where `value` could be a password that someone wrote down, and is not a name, a type or a
/// sentence.
///
/// `sure` where the notation itself says that this is a literal (quotes, an environment file).
pub(crate) fn could_be_password(value: &str, look: &Look, sure: bool) -> bool {
    /// Nobody writes down a longer password than this; programs do.
    const LONGEST_WRITTEN: usize = 128;
    if value.len() > LONGEST_WRITTEN {
        return could_be_token(value, look, sure);
    }
    if value.len() < 4 || value.bytes().any(|b| b <= b' ' || b == 0x7f) {
        return false;
    }
    if LISTS.no_passwords.has(value) || names_itself(value) || is_reference(value) || is_type_or_number(value)
    {
        return false;
    }
    let other = look.len - look.letters() - look.digits;
    match (look.letters() > 0, look.digits > 0, other > 0) {
        // One digit among many letters: a name with a number, unless the letters are no words.
        (true, true, _) => look.digits + other >= 2 || look.len <= 12 || !look.wordy(),
        (true, false, true) => sure && (!identifier_like(value) || is_jumble(look)),
        (true, false, false) => (sure && look.len >= 6 && !camel_words(look)) || is_jumble(look),
        (false, true, _) => look.len >= 6 || (sure && look.len >= 4),
        (false, false, _) => false,
    }
}

/// `0x48`, `4096i32`, `__u32`: what code puts behind the name of a type's field.
fn is_type_or_number(value: &str) -> bool {
    (value.bytes().any(|b| b.is_ascii_alphabetic()) && is_number(value)) || value.starts_with("__")
}

/// True where what stands behind `user:` is a password and not the word for one.
pub(crate) fn could_be_user_password(value: &str) -> bool {
    // `<user:password>` is a shape, not a value.
    let word = value.trim_end_matches(['>', ']', '}']);
    let named = LISTS.stand_ins.has(word);
    let code = value.starts_with(['$', '+', '(']) && value.ends_with([')', '+', '}']);
    value.len() >= 3 && !named && !code && !value.contains("()")
}

/// The value says its own name: `DB_PASSWORD`, `userPassword`, `secret_name`.
fn names_itself(value: &str) -> bool {
    const NAMES: [&[u8]; 7] =
        [b"passw", b"pwd", b"secret", b"token", b"credential", b"passphrase", b"api_key"];
    let bytes = value.as_bytes();
    let says = |name: &[u8]| bytes.windows(name.len()).any(|part| part.eq_ignore_ascii_case(name));
    // `P4ssw0rd1!` is a password, `TestPassword` a name.
    NAMES.iter().any(|name| says(name))
        && !bytes.iter().any(|b| b.is_ascii_digit() || matches!(b, b'!' | b'@' | b'$' | b'%'))
}

/// Paths, addresses, selectors, member access, calls.
fn is_reference(value: &str) -> bool {
    let bytes = value.as_bytes();
    let first = bytes[0];
    let pointer = matches!(first, b'*' | b'&') && !bytes.iter().any(u8::is_ascii_digit);
    // `.btn`, `./x`, `.env.local`: what begins with a dot and holds other signs is no path.
    let is_of_path =
        |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'/' | b'_' | b'-' | b'(' | b')');
    if first == b'.' && !bytes.iter().all(is_of_path) {
        return false;
    }
    if first == b'/' && is_base64(value) {
        return false;
    }
    pointer
        || matches!(first, b'/' | b'.' | b'~' | b'<' | b'{' | b'[' | b'(' | b'@' | b',' | b'=')
        || (first == b'#' && bytes.get(1).is_some_and(u8::is_ascii_lowercase))
        || value.contains("://")
        || value.contains("()")
        || value.contains("::")
        || value.contains("->")
        || bytes.ends_with(b"{")
        || dotted_words(value)
}

/// Base64 may begin with a slash; unlike a path it has no other sign of one, and long parts of all
/// kinds of characters.
fn is_base64(value: &str) -> bool {
    const LEAST: usize = 32;
    const LEAST_PART: usize = 16;
    let is_sign = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=');
    let has = |is: fn(&u8) -> bool| value.as_bytes().iter().filter(|byte| is(byte)).count() >= 3;
    value.len() >= LEAST
        && value.bytes().all(is_sign)
        && value.split('/').any(|part| part.len() >= LEAST_PART)
        && [u8::is_ascii_digit, u8::is_ascii_uppercase, u8::is_ascii_lowercase].into_iter().all(has)
}

/// `self.password`, `var.db_password`, `io.jsonwebtoken.jjwt`: identifiers joined by dots.
fn dotted_words(value: &str) -> bool {
    value.contains('.')
        && value.split('.').all(|part| {
            part.len() <= 40
                && part.bytes().next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
                && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
                && part.bytes().filter(u8::is_ascii_digit).count() * 4 <= part.len()
                && !is_long_and_mixed(part)
        })
}

/// `dby73BoglQDJJBUfn0sUpr1s3R1Cx9AE`: too long for a name that is not made of words.
fn is_long_and_mixed(part: &str) -> bool {
    const LEAST: usize = 20;
    part.len() >= LEAST && part.bytes().any(|byte| byte.is_ascii_digit()) && !Look::of(part).wordy()
}

/// Words joined by `_`, `-`, `.`, `:` or `/`, and nothing else.
fn identifier_like(value: &str) -> bool {
    value.bytes().all(|b| b.is_ascii_alphabetic() || matches!(b, b'_' | b'-' | b'.' | b':' | b'/' | b','))
}

/// `zEsNmrppVASt`: capitals among small letters, and hardly two that stand together in words.
fn is_jumble(look: &Look) -> bool {
    const LEAST: usize = 8;
    look.len >= LEAST && look.lower.min(look.upper) >= 3 && look.pairs >= 5 && look.wordiness < 0.4
}

/// `UserName`, `Geheim`: letters only, capitals where words begin.
fn camel_words(look: &Look) -> bool {
    look.upper > 0 && look.wordiness > 0.5
}

/// True where `value` looks like a token rather than a name, a path, a version or a sentence.
///
/// `sure` where the notation itself says that this is a literal.
pub(crate) fn could_be_token(value: &str, look: &Look, sure: bool) -> bool {
    if !(10..=2048).contains(&value.len()) || look.foreign > 0 || is_publishable(value) {
        return false;
    }
    if value.contains("://")
        || value.contains("::")
        || matches!(value.as_bytes()[0], b'/' | b'.' | b'#')
        || value.starts_with("./")
    {
        return false;
    }
    is_uuid(value)
        || is_long_hex(value, look)
        || ((look.random() || is_rescued(value, look, sure))
            && !dotted_words(value)
            && !kebab_words(value, look)
            && (sure || !is_constant(value, look))
            && !dated(value)
            && !versioned(value)
            && !is_number(value))
}

/// What the rules take for words, because its few letter pairs stand in words by chance, or for a
/// word with a digit, and all measures together do not.
///
/// Code names things with letters alone; a literal may be of letters alone.
fn is_rescued(value: &str, look: &Look, sure: bool) -> bool {
    /// Shorter values have too few pairs to be measured.
    const LEAST: usize = 15;
    let name = (!sure && look.digits == 0) || (look.lower == 0 && value.contains('_'));
    look.len >= LEAST && look.distinct >= 8 && look.letters() > 0 && !name && score(value) > LIKELY
}

/// What a generator makes of all printable signs: long, without blanks, with every class of
/// characters many times over.
pub(crate) fn is_generated(value: &str, look: &Look) -> bool {
    let signs = look.len - look.letters() - look.digits;
    (20..=256).contains(&look.len)
        && value.bytes().all(|byte| byte.is_ascii_graphic())
        && look.lower.min(look.upper) >= 3
        && look.digits >= 2
        && signs >= 5
        && look.entropy >= 4.2
        && !look.wordy()
        && !value.contains("://")
}

/// `x-hello-world-64`, `linux-9.58.0-2025-06-16`: words and short numbers between signs, whose letters
/// stand as they do in words.
fn kebab_words(value: &str, look: &Look) -> bool {
    /// Longer numbers and shorter words are parts of tokens.
    const SHORT: usize = 4;
    let word = |part: &str| {
        let letters = part.trim_end_matches(|c: char| c.is_ascii_digit());
        letters.bytes().all(|byte| byte.is_ascii_lowercase()) && part.len() - letters.len() <= SHORT
    };
    let parts = || value.split(['-', '_', '.', ':']);
    let has_word = parts().any(|part| part.bytes().take_while(u8::is_ascii_lowercase).count() >= SHORT);
    look.wordiness >= 0.5 && has_word && parts().count() >= 3 && parts().all(word)
}

/// `PKERB_S4U2PROXY_CRED`: code names its constants and the types of C so.
fn is_constant(value: &str, look: &Look) -> bool {
    look.lower == 0 && look.upper > 0 && value.contains('_')
}

/// `jackson-0.11.2`, `lib@1.2.3`: a name, a sign and a version of three numbers or more.
fn versioned(value: &str) -> bool {
    let Some((name, version)) = value.rsplit_once(['-', '@', ':', '_']) else { return false };
    let number = |part: &str| !part.is_empty() && part.len() <= 5 && part.bytes().all(|b| b.is_ascii_digit());
    let first = version.trim_start_matches('v');
    !name.is_empty() && first.split('.').count() >= 3 && first.split('.').all(number)
}

/// Hexadecimal digits spell words by chance: long ones are judged by their number alone.
fn is_long_hex(value: &str, look: &Look) -> bool {
    value.len() >= 20
        && look.digits >= 3
        && look.distinct >= 6
        && value.bytes().all(|b| b.is_ascii_hexdigit())
}

/// A number as source code writes it: `-2147217308i32`, `0x1fu8`.
fn is_number(value: &str) -> bool {
    let digits = value.trim_start_matches('-');
    let plain = digits.trim_start_matches(|c: char| c.is_ascii_digit() || c == '_');
    let suffix = [
        "", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "usize", "f32", "f64", "L", "UL", "ULL",
        "n",
    ];
    // `0x243F_6A88_85A3_08D3` has signs between its groups.
    let groups = digits.bytes().filter(|&byte| byte == b'_').count();
    (value.starts_with('-') || digits.len() < 15) && plain.len() < digits.len() && suffix.contains(&plain)
        || (digits.len() - groups <= 20 && (digits.starts_with("0x") || digits.starts_with("0X")))
}

/// Versions, dates and addresses: digits in short groups between dots, dashes or colons.
fn dated(value: &str) -> bool {
    let groups = value.split(['.', '-', ':', '_', '/', 'T', 'v', '+']);
    value.len() < 32
        && groups.clone().count() > 2
        && groups.clone().all(|g| g.len() <= 8 && (g.bytes().all(|b| b.is_ascii_digit()) || g.len() <= 3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_told_from_random_letters() {
        for word in [
            "AcceptanceTimeoutSeconds",
            "next-page-token-v2",
            "exchangeAuthorizationAccessToken",
            "oauth2_client",
        ] {
            assert!(Look::of(word).wordy(), "{word}");
        }
        for random in [
            "DdZV6ZDZW6Vpl7n7Jq",
            "zpczok4kqgnw5prpfy3ehiylbqvg",
            "con4tra2tion8ing5hers",
            "0123456789abcdef0123456789abcdef",
            "hBGXVFWQvNnAZkTr",
        ] {
            assert!(!Look::of(random).wordy(), "{random}");
            assert!(Look::of(random).random() || random.len() < 20, "{random}");
        }
    }

    #[test]
    fn a_long_password_may_have_one_digit_and_a_name_may_too() {
        let password = |value: &str| could_be_password(value, &Look::of(value), true);
        for value in ["hBGXVFWQv7nAZkTr", "qxkdjwmzrt4bvlpg", "ZkWqRtYpLm8vXcNb"] {
            assert!(password(value), "{value}");
        }
        for value in ["authenticationProvider2", "connectionTimeoutSeconds1"] {
            assert!(!password(value), "{value}");
        }
    }

    #[test]
    fn a_name_with_a_version_is_no_token() {
        let token = |value: &str| could_be_token(value, &Look::of(value), true);
        for value in ["jackson-databind-0.11.2", "q7xk2-parser@1.22.3", "z9k3q-x7v:v2.0.1"] {
            assert!(!token(value), "{value}");
        }
        for value in ["q7Zk29fLmXw84TbV", "kQ9-Lm2.Xw84TbV7z", "8f41c0d2e7-1.2"] {
            assert!(token(value), "{value}");
        }
    }
}
