//! Numbers by which states know people, and addresses of money, by their check digits.

use sha2::{Digest as _, Sha256};

use crate::checksums::luhn;

/// A check by its name.
type StateCheck = (&'static str, fn(&str) -> bool);

/// The checks, each true if and only if the check digits of a text are right.
pub(crate) const ISSUED: &[StateCheck] = &[
    ("nif", is_nif),
    ("codice-fiscale", is_codice_fiscale),
    ("nir", is_nir),
    ("steuer-id", is_steuer_id),
    ("cpf", |text| is_cpf(&digits(text))),
    ("portuguese-nif", |text| is_portuguese_nif(&digits(text))),
    ("base58-address", is_base58_address),
    ("bech32", is_bech32),
    ("nino", is_nino),
    // The United Kingdom's number of a patient.
    ("nhs", |text| sums(text, &[10, 9, 8, 7, 6, 5, 4, 3, 2, 1], 11)),
    ("aadhaar", |text| is_verhoeff(&digits(text))),
    ("pesel", |text| sums(text, &[1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1], 10)),
    ("personnummer", |text| is_personnummer(&digits(text))),
    ("hetu", is_hetu),
    ("tfn", |text| sums(text, &[1, 4, 3, 7, 5, 8, 6, 9, 10], 11)),
    // Australia's number of a patient: the ninth digit checks eight, the tenth counts cards.
    ("medicare", |text| sums(text, &[1, 3, 7, 9, 1, 3, 7, 9, 9, 0], 10)),
    ("nric", is_nric),
];

fn digits(text: &str) -> Vec<u32> {
    text.chars().filter_map(|character| character.to_digit(10)).collect()
}

fn weighted(digits: &[u32], weights: impl Iterator<Item = u32>) -> u32 {
    digits.iter().zip(weights).map(|(digit, weight)| digit * weight).sum()
}

/// The digits by their weights, the check digit among them, are a multiple.
fn sums(text: &str, weights: &[u32], of: u32) -> bool {
    let digits = digits(text);
    let sum = weighted(&digits, weights.iter().copied());
    digits.len() == weights.len() && !all_alike(&digits) && sum.is_multiple_of(of)
}

/// The digit at a place is right by those before it, whose weights end with two.
fn is_right_by_eleven(digits: &[u32], place: usize) -> bool {
    let sum = weighted(digits, (2..=place as u32 + 1).rev());
    sum * 10 % 11 % 10 == digits[place]
}

fn all_alike(digits: &[u32]) -> bool {
    digits.windows(2).all(|two| two[0] == two[1])
}

/// Spain's NIF and NIE: eight digits, or X, Y, Z and seven, and the letter of the rest by 23.
fn is_nif(text: &str) -> bool {
    const LETTERS: &[u8; 23] = b"TRWAGMYFPDXBNJZSQVHLCKE";
    let bytes: Vec<u8> =
        text.bytes().filter(u8::is_ascii_alphanumeric).map(|b| b.to_ascii_uppercase()).collect();
    let [first, middle @ .., letter] = &bytes[..] else { return false };
    let first = match first {
        b'X'..=b'Z' => u32::from(first - b'X'),
        b'0'..=b'9' => u32::from(first - b'0'),
        _ => return false,
    };
    let number = middle.iter().try_fold(first, |number, byte| {
        let digit = char::from(*byte).to_digit(10)?;
        Some(number * 10 + digit)
    });
    middle.len() == 7 && number.is_some_and(|number| LETTERS[(number % 23) as usize] == *letter)
}

/// Italy's codice fiscale: sixteen letters and digits, of which the last one is their sum by 26.
fn is_codice_fiscale(text: &str) -> bool {
    /// What a character in an odd place counts, digits like the letters A to J.
    #[rustfmt::skip]
    const ODD: [u32; 26] = [1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23];
    let value = |byte: u8| match byte.to_ascii_uppercase() {
        digit @ b'0'..=b'9' => usize::from(digit - b'0'),
        letter => usize::from(letter - b'A'),
    };
    let bytes = text.as_bytes();
    let [body @ .., last] = bytes else { return false };
    if bytes.len() != 16 || !bytes.iter().all(u8::is_ascii_alphanumeric) || !last.is_ascii_alphabetic() {
        return false;
    }
    let count = |(place, byte): (usize, &u8)| match place % 2 {
        0 => ODD[value(*byte)],
        _ => value(*byte) as u32,
    };
    let sum: u32 = body.iter().enumerate().map(count).sum();
    sum % 26 == value(*last) as u32
}

/// France's NIR: sex, year, month, place of birth, a number, and 97 less the rest by 97.
fn is_nir(text: &str) -> bool {
    let digits = digits(text);
    if digits.len() != 15 {
        return false;
    }
    let number = |part: &[u32]| part.iter().fold(0u64, |number, digit| number * 10 + u64::from(*digit));
    let month = number(&digits[3..5]);
    let of_a_month = (1..=12).contains(&month) || (20..=42).contains(&month) || month >= 50;
    of_a_month && 97 - number(&digits[..13]) % 97 == number(&digits[13..])
}

/// Germany's tax number for people: eleven digits, ISO 7064 mod 11, 10; one digit stands in the
/// first ten more than once.
fn is_steuer_id(text: &str) -> bool {
    let digits = digits(text);
    if digits.len() != 11 || digits[0] == 0 {
        return false;
    }
    let mut counts = [0; 10];
    digits[..10].iter().for_each(|digit| counts[*digit as usize] += 1);
    let most = counts.iter().max().copied().unwrap_or(0);
    let product = digits[..10].iter().fold(10, |product, digit| match (digit + product) % 10 {
        0 => 20 % 11,
        sum => sum * 2 % 11,
    });
    (2..=3).contains(&most) && (11 - product) % 10 == digits[10]
}

/// Brazil's CPF: nine digits and two sums by 11.
fn is_cpf(digits: &[u32]) -> bool {
    let is_right = |place| is_right_by_eleven(digits, place);
    digits.len() == 11 && !all_alike(digits) && is_right(9) && is_right(10)
}

/// Portugal's NIF: eight digits and a sum by 11.
fn is_portuguese_nif(digits: &[u32]) -> bool {
    let of_a_kind = |digit| matches!(digit, 1 | 2 | 3 | 5 | 6 | 8 | 9);
    digits.len() == 9 && of_a_kind(digits[0]) && is_right_by_eleven(digits, 8)
}

/// Bitcoin's addresses in Base58Check: a version, twenty bytes, and four of their double SHA-256.
fn is_base58_address(text: &str) -> bool {
    let mut decoded = [0; 25];
    // A typed address may have a zero too many, or too few: it is as telling.
    let Ok(length) = bs58::decode(text.trim_start_matches('1')).onto(&mut decoded) else { return false };
    decoded.rotate_right(25 - length);
    let (body, check) = decoded.split_at(21);
    matches!(body[0], 0x00 | 0x05) && Sha256::digest(Sha256::digest(body))[..4] == *check
}

/// Bitcoin's addresses in Bech32 and Bech32m (BIP 173, BIP 350).
fn is_bech32(text: &str) -> bool {
    const ALPHABET: &[u8; 32] = b"qpzry9x8gf2tvdw0s3jn54khce6mua7l";
    const GENERATOR: [u32; 5] = [0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3];
    const BECH32: u32 = 1;
    const BECH32M: u32 = 0x2bc8_30a3;
    let lower = text.to_ascii_lowercase();
    let Some((name, data)) = lower.rsplit_once('1') else { return false };
    let values = data.bytes().map(|byte| ALPHABET.iter().position(|known| *known == byte));
    let Some(values) = values.collect::<Option<Vec<usize>>>() else { return false };
    let expanded =
        name.bytes().map(|b| u32::from(b >> 5)).chain([0]).chain(name.bytes().map(|b| u32::from(b & 31)));
    let all = expanded.chain(values.into_iter().map(|value| value as u32));
    let sum = all.fold(1u32, |sum, value| {
        let top = sum >> 25;
        let next = (sum & 0x01ff_ffff) << 5 ^ value;
        GENERATOR
            .iter()
            .zip(0..)
            .fold(next, |next, (part, bit)| if top >> bit & 1 == 1 { next ^ part } else { next })
    });
    matches!(sum, BECH32 | BECH32M)
}

/// Verhoeff's check digit, which India's number of a resident ends with.
fn is_verhoeff(digits: &[u32]) -> bool {
    const TURN: [u32; 10] = [1, 5, 7, 6, 2, 8, 3, 0, 9, 4];
    let sum = digits.iter().rev().zip(0..).fold(0, |sum, (&digit, place)| {
        let turned = (0..place % 8).fold(digit, |digit, _| TURN[digit as usize]);
        dihedral(sum, turned)
    });
    digits.len() == 12 && !all_alike(digits) && sum == 0
}

/// The product of two elements of the group of a pentagon's symmetries.
fn dihedral(left: u32, right: u32) -> u32 {
    match (left < 5, right < 5) {
        (true, true) => (left + right) % 5,
        (true, false) => (left + right) % 5 + 5,
        (false, true) => (left + 5 - right) % 5 + 5,
        (false, false) => (left + 5 - right % 5) % 5,
    }
}

/// Sweden's number: Luhn over the last ten digits; two more say the century.
fn is_personnummer(digits: &[u32]) -> bool {
    let Some(last) = digits.len().checked_sub(10).map(|from| &digits[from..]) else { return false };
    matches!(digits.len(), 10 | 12) && !all_alike(last) && luhn(last.iter().copied())
}

/// Finland's number: the rest of nine digits by 31, as a character.
fn is_hetu(text: &str) -> bool {
    const CHECK: &[u8; 31] = b"0123456789ABCDEFHJKLMNPRSTUVWXY";
    let (Some(day), Some(person), Some(check)) = (text.get(..6), text.get(7..10), text.as_bytes().get(10))
    else {
        return false;
    };
    let Ok(number) = format!("{day}{person}").parse::<usize>() else { return false };
    CHECK[number % 31] == check.to_ascii_uppercase()
}

/// Singapore's number: a letter of the century, seven digits and a check letter.
fn is_nric(text: &str) -> bool {
    let bytes = text.to_ascii_uppercase().into_bytes();
    let (Some(&first), Some(&last)) = (bytes.first(), bytes.last()) else { return false };
    let later = if matches!(first, b'T' | b'G') { 4 } else { 0 };
    let digits = digits(text);
    let rest = (weighted(&digits, [2, 7, 6, 5, 4, 3, 2].into_iter()) + later) % 11;
    let letters: &[u8; 11] = match first {
        b'S' | b'T' => b"JZIHGFEDCBA",
        _ => b"XWUTRQPNMLK",
    };
    digits.len() == 7 && letters[rest as usize] == last
}

/// The United Kingdom's national insurance number: no check digit, but beginnings that are not used.
fn is_nino(text: &str) -> bool {
    const NEVER: [&str; 7] = ["BG", "GB", "KN", "NK", "NT", "TN", "ZZ"];
    text.get(..2).is_some_and(|start| !NEVER.iter().any(|never| start.eq_ignore_ascii_case(never)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn issued(name: &str) -> fn(&str) -> bool {
        ISSUED.iter().find(|(known, _)| *known == name).unwrap().1
    }

    /// Changes one character and expects a check to see it.
    fn guards(is: fn(&str) -> bool, good: &str) {
        assert!(is(good), "{good}");
        let last = good.len() - 1;
        let other = if good.ends_with('1') || good.ends_with('A') { "2" } else { "1" };
        assert!(!is(&format!("{}{other}", &good[..last])), "{good} with another end");
    }

    #[test]
    fn examples_of_their_issuers_hold_and_others_do_not() {
        guards(is_nif, "12345678Z");
        guards(is_nif, "X1234567L");
        guards(is_codice_fiscale, "RSSMRA85T10A562S");
        guards(is_nir, "2 55 08 14 168 025 38");
        guards(is_steuer_id, "86095742719");
        guards(issued("cpf"), "529.982.247-25");
        guards(issued("portuguese-nif"), "123456789");
        guards(is_base58_address, "1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2");
        guards(is_bech32, "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq");
        assert!(is_base58_address("3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy"));
        assert!(is_base58_address("11BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2"), "with a zero too many");
        assert!(!is_base58_address(&"1".repeat(30)));
        assert!(!issued("cpf")("111.111.111-11"));
        guards(issued("nhs"), "943 476 5919");
        guards(issued("pesel"), "44051401359");
        guards(issued("tfn"), "123 456 782");
        assert!(issued("medicare")("2123 45670 1") && !issued("medicare")("2123 45671 1"));
        assert!(is_nino("AB123456C") && !is_nino("NT123456C"));
    }
}
