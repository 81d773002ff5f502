//! Replacements that are not restored: masks, and surrogates of the value's shape.

use crate::{keys::TokenKeys, person, word};

/// Returns what `with = "mask"` writes: the label in square brackets, as `[EMAIL]`.
pub fn mask(label: &str) -> String {
    format!("[{}]", word::normal_label(label))
}

/// Returns a surrogate of the value's shape: digits for digits, letters for letters of the same
/// case, ASCII separators and whitespace kept.
///
/// Equal values have equal surrogates, and a surrogate differs from its value, unless the value has
/// neither a letter nor a digit. Any other character becomes a letter, so that a name in another
/// script does not stay. A JSON number stays one: its first digit and its exponent keep their kind.
/// Where the value passes the checksum of Luhn (payment cards) or of ISO 7064 mod 97 (IBAN), the
/// surrogate fails it, so that no detector finds it again. Detectors that go by shape alone, as for
/// e-mail addresses, find the surrogate too. The surrogate of a person is another name.
pub fn surrogate(keys: &TokenKeys, label: &str, value: &str) -> String {
    if person::is_of_people(label) && value.chars().any(char::is_alphabetic) {
        return person::surrogate(keys, label, value);
    }
    let kept_from = exponent(value);
    let mut noise = Noise::new(keys, label, value);
    let mut made = String::with_capacity(value.len());
    for (at, c) in value.char_indices() {
        let first_digit = !made.bytes().any(|b| b.is_ascii_digit());
        made.push(if at >= kept_from { c } else { replaced(c, first_digit, &mut noise) });
    }
    mend(made, value, value[kept_from..].len())
}

/// Returns where the exponent of a JSON number starts, or the length of any other text. Exponents
/// are kept, because another exponent could exceed the range of a double.
fn exponent(value: &str) -> usize {
    let Some((mantissa, power)) = value.split_once(['e', 'E']) else { return value.len() };
    let power = power.strip_prefix(['-', '+']).unwrap_or(power);
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let is_number = digits(&mantissa.replace(['-', '.'], "")) && digits(power) && power.len() <= 3;
    if is_number { mantissa.len() } else { value.len() }
}

fn replaced(c: char, first_digit: bool, noise: &mut Noise<'_>) -> char {
    match c {
        // A number keeps a leading zero, or that it has none: `0.5` and `10` are JSON, `05` is not.
        '0' if first_digit => '0',
        '1'..='9' if first_digit => noise.pick(b"123456789"),
        '0'..='9' => noise.pick(b"0123456789"),
        c if c.is_ascii() && !c.is_ascii_alphabetic() => c,
        c if c.is_whitespace() => c,
        c if c.is_numeric() => noise.pick(b"0123456789"),
        c if c.is_uppercase() => noise.pick(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
        _ => noise.pick(b"abcdefghijklmnopqrstuvwxyz"),
    }
}

/// Steps the last digit, or else the last letter, until the surrogate differs from the value and
/// passes no checksum.
fn mend(made: String, value: &str, kept: usize) -> String {
    let changeable = made.len() - kept;
    let is_digit = |c: char| c.is_ascii_digit();
    let is_letter = |c: char| c.is_ascii_alphabetic();
    let Some(at) = made[..changeable].rfind(is_digit).or_else(|| made[..changeable].rfind(is_letter)) else {
        return made;
    };
    let mut candidate = made;
    // Of the ten values of one digit each checksum accepts at most one, and one may be the
    // original.
    for _ in 0..4 {
        if candidate != value && !passes_luhn(&candidate) && !passes_mod_97(&candidate) {
            break;
        }
        let next = successor(candidate.as_bytes()[at]);
        candidate.replace_range(at..=at, next.encode_utf8(&mut [0; 4]));
    }
    candidate
}

fn successor(byte: u8) -> char {
    char::from(match byte {
        b'9' => b'1',
        b'z' => b'a',
        b'Z' => b'A',
        other => other + 1,
    })
}

/// Returns whether a text has as many digits as a payment card and passes ISO/IEC 7812-1, annex B.
fn passes_luhn(text: &str) -> bool {
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(10)).collect();
    let doubled = |d: u32| if d > 4 { 2 * d - 9 } else { 2 * d };
    let sum: u32 =
        digits.iter().rev().enumerate().map(|(i, &d)| if i % 2 == 0 { d } else { doubled(d) }).sum();
    (12..=19).contains(&digits.len()) && sum.is_multiple_of(10)
}

/// Returns whether a text passes ISO 13616: with the first four characters moved to the end and
/// letters counted from ten, the remainder by 97 is one.
fn passes_mod_97(text: &str) -> bool {
    let compact: Vec<char> = text.chars().filter(char::is_ascii_alphanumeric).collect();
    if !(15..=34).contains(&compact.len()) {
        return false;
    }
    let moved = compact[4..].iter().chain(&compact[..4]);
    let remainder = moved.filter_map(|c| c.to_digit(36)).fold(0, |rest, digit| {
        let shift = if digit < 10 { 10 } else { 100 };
        (rest * shift + digit) % 97
    });
    remainder == 1
}

/// Bytes that depend on keys, label and value only.
pub(crate) struct Noise<'a> {
    keys: &'a TokenKeys,
    label: &'a str,
    value: &'a str,
    block: [u8; 32],
    used: usize,
    next_block: u32,
}

impl<'a> Noise<'a> {
    pub(crate) fn new(keys: &'a TokenKeys, label: &'a str, value: &'a str) -> Self {
        Self { keys, label, value, block: [0; 32], used: 32, next_block: 0 }
    }

    /// Picks a character. A byte modulo 10 or 26 favours the first ones slightly, which reveals
    /// nothing.
    pub(crate) fn pick(&mut self, from: &[u8]) -> char {
        if self.used == self.block.len() {
            self.block = self.keys.surrogate_block(self.label, self.value, self.next_block);
            self.next_block += 1;
            self.used = 0;
        }
        let byte = self.block[self.used];
        self.used += 1;
        char::from(from[usize::from(byte) % from.len()])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::keys::{ClientIdentity, InstallationKey};

    fn keys() -> TokenKeys {
        TokenKeys::derive(&InstallationKey::from_bytes([7; 32]), &ClientIdentity::new("laptop"))
    }

    #[test]
    fn the_checksums_know_published_examples() {
        // Test numbers of card networks, and the IBAN registry's example for Germany, in parts.
        for card in [["4111", "111111111111"], ["3782", "82246310005"], ["5555", "555555554444"]] {
            assert!(passes_luhn(&card.concat()));
        }
        assert!(passes_mod_97(&["DE89 3704 0044", " 0532 0130 00"].concat()));
        assert!(!passes_luhn(&["4111", "111111111112"].concat()));
        assert!(!passes_mod_97(&["DE89 3704 0044", " 0532 0130 01"].concat()));
    }

    #[test]
    fn other_scripts_do_not_stay() {
        assert!(surrogate(&keys(), "CODE", "Zoë 王小明").is_ascii());
    }

    #[test]
    fn a_code_that_begins_like_an_exponent_does_not_stay() {
        for code in ["E1234567", "e5", "+E", "12E456789"] {
            let made = surrogate(&keys(), "CODE", code);
            assert!(made != code && !made.ends_with(&code[1..]), "{code} became {made}");
        }
        assert!(surrogate(&keys(), "NUMBER", "-2.5e-12").ends_with("e-12"));
    }

    #[test]
    fn a_value_of_separators_has_no_other_shape() {
        assert_eq!(surrogate(&keys(), "CARD", "-- "), "-- ");
        assert_eq!(surrogate(&keys(), "CARD", ""), "");
    }

    proptest! {
        #[test]
        fn shape_is_kept_and_the_value_is_not(value in "[ -~]{0,40}") {
            let made = surrogate(&keys(), "CODE", &value);
            prop_assert_eq!(&made, &surrogate(&keys(), "CODE", &value));
            prop_assert_eq!(made.len(), value.len());
            for (new, old) in made.chars().zip(value.chars()) {
                prop_assert_eq!(new.is_ascii_digit(), old.is_ascii_digit());
                prop_assert_eq!(new.is_ascii_uppercase(), old.is_ascii_uppercase());
                prop_assert_eq!(new.is_ascii_lowercase(), old.is_ascii_lowercase());
                prop_assert!(old.is_ascii_alphanumeric() || new == old);
            }
            prop_assert!(made != value || !value.contains(|c: char| c.is_ascii_alphanumeric()));
        }

        #[test]
        fn cards_fail_their_checksum(value in "[1-9][0-9]{3}( ?[0-9]{4}){2,3}") {
            prop_assert!(!passes_luhn(&surrogate(&keys(), "CARD", &value)));
        }

        #[test]
        fn ibans_fail_their_checksum(value in "[A-Z]{2}[0-9]{2}( ?[0-9A-Z]{4}){3,6}") {
            prop_assert!(!passes_mod_97(&surrogate(&keys(), "IBAN", &value)));
        }

        #[test]
        fn a_json_number_stays_one(value in "-?(0|[1-9][0-9]{0,18})(\\.[0-9]{1,9})?([eE][+-]?[0-9]{1,3})?") {
            let made = surrogate(&keys(), "CARD", &value);
            let whole = made.trim_start_matches('-').split(['.', 'e', 'E']).next().unwrap();
            prop_assert!(whole == "0" || whole.starts_with(|c| ('1'..='9').contains(&c)), "{}", made);
            prop_assert_eq!(&made[exponent(&made)..], &value[exponent(&value)..]);
            prop_assert_eq!(made.find('.'), value.find('.'));
        }
    }
}
