//! HTML entities: numbers, and the names of what stands in secrets and around them.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::table::table;

/// Longest name in the table.
const LONGEST: usize = 16;

/// Reads the entity that begins at an ampersand; returns its character and the length of its
/// spelling.
pub(super) fn character(bytes: &[u8]) -> Option<(char, usize)> {
    match bytes {
        [b'&', b'#', b'x' | b'X', digits @ ..] => numbered(digits, 16, 3),
        [b'&', b'#', digits @ ..] => numbered(digits, 10, 2),
        [b'&', name @ ..] => named(name),
        _ => None,
    }
}

/// Browsers read a number to its last digit, with a semicolon behind it or without.
fn numbered(digits: &[u8], base: u32, before: usize) -> Option<(char, usize)> {
    const MOST_DIGITS: usize = 10;
    let is_digit = |byte: &&u8| char::from(**byte).is_digit(base);
    let count = digits.iter().take(MOST_DIGITS).take_while(is_digit).count();
    let value = u32::from_str_radix(std::str::from_utf8(&digits[..count]).ok()?, base).ok()?;
    let closed = usize::from(digits.get(count) == Some(&b';'));
    Some((char::from_u32(value)?, before + count + closed))
}

fn named(name: &[u8]) -> Option<(char, usize)> {
    let length = name.iter().take(LONGEST + 1).position(|byte| !byte.is_ascii_alphabetic())?;
    if name[length] != b';' {
        return None;
    }
    /// By their names without `&` and `;`.
    static NAMED: LazyLock<HashMap<String, char>> =
        LazyLock::new(|| table(include_str!("../../packs/entities.toml")));
    let name = std::str::from_utf8(&name[..length]).ok()?;
    NAMED.get(name).map(|character| (*character, length + 2))
}
