//! Escapes of JSON, JavaScript, C and their kin: `\u0041`, `\u{41}`, `\x41`, `\101`, `\/`, `\\`.
//!
//! Each text inside another doubles the backslashes: `\\u0041`, `\\\\u0041`. So a row of them before
//! an escape is one spelling, however long it is, and takes one layer.

use super::source::hex_byte;
use super::text::is_base64;
use crate::work::spend;

/// Reads the escape that begins with the first backslash of a row at `at`; returns its character
/// and the length of its spelling.
pub(super) fn spelling(bytes: &[u8], at: usize) -> Option<(char, usize)> {
    let row = row(bytes, at);
    let last = &bytes[at + row - 1..];
    let of_any_depth = match last.get(1) {
        Some(b'/' | b'"' | b'\'' | b'u' | b'U' | b'x' | b'0'..=b'3') => character(last),
        // Of a path (`C:\\new`) no line break is made.
        Some(b'n' | b'r') if joins_lines(bytes, at, at + row + 1) => character(last),
        _ => None,
    };
    if let Some((character, length)) = of_any_depth {
        return Some((character, row - 1 + length));
    }
    match (row, last.get(1)) {
        (1, _) => character(last),
        // The last one of an odd row is a part of the next spelling.
        (_, Some(b'n' | b'r' | b't')) if row % 2 == 1 => Some(('\\', row - 1)),
        _ => Some(('\\', row)),
    }
}

/// How many backslashes stand in a row.
fn row(bytes: &[u8], at: usize) -> usize {
    let row = bytes[at..].iter().take_while(|&&byte| byte == b'\\').count();
    spend(row);
    row
}

/// Reads an escape of one backslash; returns its character and its length.
fn character(bytes: &[u8]) -> Option<(char, usize)> {
    let simple = match *bytes.get(1)? {
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        byte @ (b'/' | b'"' | b'\'') => char::from(byte),
        b'x' => return Some((char::from(hex_byte(*bytes.get(2)?, *bytes.get(3)?)?), 4)),
        b'u' => return unicode(bytes),
        b'U' => return scalar(bytes.get(2..10)?).map(|character| (character, 10)),
        b'0'..=b'3' => return octal(bytes).map(|character| (character, 4)),
        _ => return None,
    };
    Some((simple, 2))
}

/// Returns true if and only if the backslashes at `at` begin an escape that hides a character which
/// could stand by itself.
///
/// Code is full of `\n` and `\"`, and detectors read both as they are. The first backslash of a row
/// decides for all of it.
pub(super) fn hides(bytes: &[u8], at: usize) -> bool {
    if at > 0 && bytes[at - 1] == b'\\' {
        return false;
    }
    let row = row(bytes, at);
    let last = &bytes[at + row - 1..];
    match last.get(1) {
        Some(b'/' | b'u' | b'U' | b'x' | b'0'..=b'3') => character(last).is_some(),
        Some(b'n' | b'r') => joins_lines(bytes, at, at + row + 1),
        _ => false,
    }
}

/// Line breaks of base64 or of hexadecimal digits, written as escapes; the last line may be short.
fn joins_lines(bytes: &[u8], before: usize, behind: usize) -> bool {
    const LEAST_BEFORE: usize = 12;
    const LEAST_BEHIND: usize = 4;
    let rest = &bytes[behind..];
    let rest = rest.strip_prefix(b"\\n").unwrap_or(rest);
    let all = |part: Option<&[u8]>| part.is_some_and(|part| part.iter().all(|&b| is_base64(b) || b == b'='));
    all(before.checked_sub(LEAST_BEFORE).map(|from| &bytes[from..before])) && all(rest.get(..LEAST_BEHIND))
}

fn unicode(bytes: &[u8]) -> Option<(char, usize)> {
    if bytes.get(2) == Some(&b'{') {
        let digits = bytes[3..].iter().take(7).position(|&byte| byte == b'}')?;
        return scalar(&bytes[3..3 + digits]).map(|character| (character, digits + 4));
    }
    let unit = |at: usize| bytes.get(at..at + 4).and_then(value);
    let first = unit(2)?;
    if let (0xd800..0xdc00, Some(b"\\u"), Some(second @ 0xdc00..0xe000)) = (first, bytes.get(6..8), unit(8)) {
        let pair = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
        return char::from_u32(pair).map(|character| (character, 12));
    }
    char::from_u32(first).map(|character| (character, 6))
}

fn octal(bytes: &[u8]) -> Option<char> {
    let digits = bytes.get(1..4)?;
    let value = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok()?;
    Some(char::from(value))
}

fn scalar(digits: &[u8]) -> Option<char> {
    char::from_u32(value(digits)?)
}

fn value(digits: &[u8]) -> Option<u32> {
    let all = !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit);
    if all { u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok() } else { None }
}
