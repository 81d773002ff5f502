//! The shape of a token: a label, an underscore, sixteen characters.
//!
//! A token is one plain word, because words survive JSON, URLs, code, markdown and a model's
//! copying, and brackets do not. The sixteen characters are lower-case base 32 in the alphabet of
//! Crockford: the digits and the letters without `i`, `l` and `o`, which look like digits, and
//! without `u`, so that fewer words arise by chance. No two of its characters differ in case only,
//! so a token in capitals can be read too.
//!
//! A label has no underscore. So no token lies within another, and the underscore marks both ends.

/// Length of the longest label, in characters. Longer ones are cut.
pub const MAX_LABEL: usize = 16;

/// Characters that depend on the value: 60 bits, so that two values of a session do not collide by
/// chance.
pub(crate) const BODY: usize = 12;

/// Characters that prove that we made this token: 20 bits, so that one invented word in a million
/// passes.
const CHECK: usize = 4;

/// Characters after the underscore.
pub(crate) const TAIL: usize = BODY + CHECK;

/// Length of the longest token, in bytes.
pub(crate) const MAX_TOKEN: usize = MAX_LABEL + 1 + TAIL;

const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// The label of a value without a usable label.
const NO_LABEL: &str = "VALUE";

/// The characters after the underscore, in lower case: body, then check.
pub(crate) type Tail = [u8; TAIL];

/// The word that stands for a value, as `EMAIL_k7f3q2xw9mz4ab6c`. It reveals nothing about the
/// value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, derive_more::Display)]
#[display("{written}")]
pub struct Token {
    written: String,
    label: usize,
}

impl Token {
    pub(crate) fn new(label: &str, tail: &Tail) -> Self {
        let tail: String = tail.iter().copied().map(char::from).collect();
        Self { written: format!("{label}_{tail}"), label: label.len() }
    }

    /// Returns the token as it is written into the request.
    pub fn as_str(&self) -> &str {
        &self.written
    }

    /// Returns the label that the token begins with.
    pub fn label(&self) -> &str {
        &self.written[..self.label]
    }

    pub(crate) fn tail(&self) -> Tail {
        let mut tail = [0; TAIL];
        tail.copy_from_slice(&self.written.as_bytes()[self.label + 1..]);
        tail
    }
}

impl AsRef<str> for Token {
    fn as_ref(&self) -> &str {
        &self.written
    }
}

/// Returns the form of a label that tokens carry: capital letters and digits, a letter first, at
/// most [`MAX_LABEL`].
pub(crate) fn normal_label(label: &str) -> String {
    let kept = label.chars().filter(char::is_ascii_alphanumeric);
    let normal: String =
        kept.skip_while(char::is_ascii_digit).take(MAX_LABEL).map(|c| c.to_ascii_uppercase()).collect();
    if normal.is_empty() { NO_LABEL.to_owned() } else { normal }
}

/// Writes the first `N` times five bits of a MAC.
pub(crate) fn encode<const N: usize>(mac: &[u8; 32]) -> [u8; N] {
    std::array::from_fn(|at| {
        let bit = at * 5;
        let pair = u16::from_be_bytes([mac[bit / 8], mac[bit / 8 + 1]]);
        ALPHABET[usize::from(pair >> (11 - bit % 8)) & 31]
    })
}

/// Reads the tail at the start of `text`, in lower case; `None` where those bytes cannot be one.
pub(crate) fn read_tail(text: &[u8]) -> Option<Tail> {
    let mut tail = [0; TAIL];
    for (to, from) in tail.iter_mut().zip(text.get(..TAIL)?) {
        *to = from.to_ascii_lowercase();
        if !in_alphabet(*to) {
            return None;
        }
    }
    Some(tail)
}

/// Reads a whole word as label, in capitals, and tail; `None` where it has not a token's shape.
pub(crate) fn read(word: &str) -> Option<(String, Tail)> {
    let (label, tail) = word.split_once('_')?;
    let shaped = tail.len() == TAIL
        && label.len() <= MAX_LABEL
        && label.starts_with(|c: char| c.is_ascii_alphabetic())
        && label.bytes().all(|b| b.is_ascii_alphanumeric());
    if !shaped {
        return None;
    }
    Some((label.to_ascii_uppercase(), read_tail(tail.as_bytes())?))
}

/// Returns whether a byte continues a word. ASCII only: some scripts write a token directly beside
/// letters.
pub(crate) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn in_alphabet(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'z') && !matches!(byte, b'i' | b'l' | b'o' | b'u')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_alphabet_and_its_test_agree() {
        let accepted: Vec<u8> = (0..=u8::MAX).filter(|&b| in_alphabet(b)).collect();
        assert_eq!(accepted, ALPHABET);
    }

    #[test]
    fn labels_take_one_form() {
        for (given, normal) in [
            ("EMAIL", "EMAIL"),
            ("aws-access_key", "AWSACCESSKEY"),
            ("2FA", "FA"),
            ("", NO_LABEL),
            ("é!", NO_LABEL),
            ("ABCDEFGHIJKLMNOPQRSTUV", "ABCDEFGHIJKLMNOP"),
        ] {
            assert_eq!(normal_label(given), normal);
        }
    }

    #[test]
    fn encoding_reads_five_bits_a_character_from_the_front() {
        let mut mac = [0; 32];
        mac[0] = 0b0000_1000; // 00001 000
        mac[1] = 0b1011_1110; // 10 11111 0
        assert_eq!(&encode::<4>(&mac), b"12z0");
        assert_eq!(encode::<BODY>(&[0xff; 32]), [b'z'; BODY]);
    }

    #[test]
    fn only_whole_words_of_the_shape_are_read() {
        assert!(read("EMAIL_0123456789abcdef").is_some());
        assert!(read("email_0123456789ABCDEF").is_some());
        for other in [
            "EMAIL_0123456789abcde",
            "EMAIL_0123456789abcdefg",
            "_0123456789abcdef",
            "EMAIL_0123456789abcdeu",
        ] {
            assert!(read(other).is_none(), "{other}");
        }
        assert!(read("1A_0123456789abcdef").is_none());
        assert!(read("ABCDEFGHIJKLMNOPQ_0123456789abcdef").is_none());
        assert!(read("A_B_0123456789abcdef").is_none());
    }
}
