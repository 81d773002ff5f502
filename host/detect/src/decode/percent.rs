//! `%41`, and `%u0041` as old scripts write it.

use std::borrow::Cow;

use super::source::hex_byte;

/// Undoes each `%41` (RFC 3986, 2.1); what is no such escape stays. The bytes need not be UTF-8.
///
/// A plus sign is one: where it stands for a blank, as in forms, the caller says so.
pub fn percent_decoded(text: &str) -> Cow<'_, [u8]> {
    if text.contains('%') { Cow::Owned(decoded(text.as_bytes())) } else { Cow::Borrowed(text.as_bytes()) }
}

pub(super) fn decoded(mut rest: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(rest.len());
    while let Some((&byte, behind)) = rest.split_first() {
        let escaped = triplet(rest);
        plain.push(escaped.unwrap_or(byte));
        rest = if escaped.is_some() { &rest[3..] } else { behind };
    }
    plain
}

/// Reads the character that begins at a percent sign; returns it and the length of its spelling.
pub(super) fn character(bytes: &[u8]) -> Option<(char, usize)> {
    if let [b'%', b'u' | b'U', digits @ ..] = bytes {
        let unit = digits.first_chunk::<4>()?;
        let value = u32::from_str_radix(std::str::from_utf8(unit).ok()?, 16).ok()?;
        return Some((char::from_u32(value)?, 6));
    }
    let first = triplet(bytes)?;
    let length = match first {
        0..0x80 => return Some((char::from(first), 3)),
        0xc2..0xe0 => 2,
        0xe0..0xf0 => 3,
        0xf0..0xf5 => 4,
        _ => return None,
    };
    let mut utf8 = [first, 0, 0, 0];
    for (n, byte) in utf8.iter_mut().enumerate().take(length).skip(1) {
        *byte = triplet(bytes.get(3 * n..)?)?;
    }
    let character = std::str::from_utf8(&utf8[..length]).ok()?.chars().next()?;
    Some((character, 3 * length))
}

fn triplet(bytes: &[u8]) -> Option<u8> {
    match bytes {
        [b'%', high, low, ..] => hex_byte(*high, *low),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_escape_stays() {
        assert_eq!(percent_decoded("a%2Fb+c%zz%4%"), &b"a/b+c%zz%4%"[..]);
        assert_eq!(percent_decoded("%e2%82%AC%ff"), "€".bytes().chain([0xff]).collect::<Vec<_>>());
        assert!(matches!(percent_decoded("plain"), Cow::Borrowed(_)));
    }
}
