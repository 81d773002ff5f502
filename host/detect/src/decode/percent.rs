//! `%41`, and `%u0041` as old scripts write it.

use super::source::hex_byte;

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
