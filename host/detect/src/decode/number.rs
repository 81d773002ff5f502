//! Numbers of payment cards in spellings that detectors do not read: other signs between the
//! groups, or an exponent.
//!
//! A view is the number alone, with blanks between its groups. Only what stands by itself in a
//! card's own groups counts: lines and columns of other numbers pass by chance else.

use super::invisible;
use super::map::Units;
use super::marks::Marks;
use crate::work::spend;

/// The groups in which cards are printed.
const GROUPS: [&[usize]; 4] = [&[4, 4, 4, 4], &[4, 6, 5], &[4, 6, 4], &[4, 4, 4, 4, 3]];

/// A longer number is no group: it stands by itself beside others.
const LONGEST_GROUP: usize = 6;

/// Most signs between two groups: a line break, and an indentation.
const MOST_SIGNS: usize = 12;

/// Fewer digits than this are no card.
const LEAST_DIGITS: usize = 12;

/// Calls `f` with the view of each such number.
pub(super) fn each(text: &str, marks: &Marks, mut f: impl FnMut(String, Units)) {
    let bytes = text.as_bytes();
    let mut done = 0;
    marks.each_digit_run(|run| {
        if run.start < done {
            return;
        }
        if let Some((view, units, end)) =
            grouped(bytes, run.start).or_else(|| with_exponent(bytes, run.start))
        {
            done = end;
            f(view, units);
        }
    });
}

/// Reads groups with any signs between them, some of which no detector reads.
fn grouped(bytes: &[u8], start: usize) -> Option<(String, Units, usize)> {
    if joined(bytes.get(start.wrapping_sub(1)).copied()) || group_before(bytes, start) {
        return None;
    }
    let (mut view, mut units, mut lengths) = (String::new(), Units::new(start), Vec::with_capacity(5));
    let (mut at, mut ordinary) = (start, true);
    loop {
        let digits = bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        lengths.push(digits);
        view.extend(bytes[at..at + digits].iter().map(|&byte| char::from(byte)));
        at += digits;
        spend(digits);
        let signs = signs(&bytes[at..]);
        let next = bytes[at + signs..]
            .iter()
            .take(LONGEST_GROUP + 1)
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        if signs == 0 || !(1..=LONGEST_GROUP).contains(&next) {
            break;
        }
        if lengths.len() == 5 {
            return None;
        }
        ordinary &= matches!(&bytes[at..at + signs], b" " | b"-");
        units.push(view.len()..view.len() + 1, at..at + signs);
        view.push(' ');
        at += signs;
    }
    let printed = GROUPS.contains(&lengths.as_slice());
    (printed && !ordinary && !joined(bytes.get(at).copied())).then_some((view, units, at))
}

/// A number that begins behind another is a part of a longer row.
fn group_before(bytes: &[u8], start: usize) -> bool {
    let floor = start.saturating_sub(MOST_SIGNS + 1);
    let Some(last) = bytes[floor..start].iter().rposition(u8::is_ascii_digit) else { return false };
    let (end, between) = (floor + last + 1, &bytes[floor + last + 1..start]);
    let digits =
        bytes[..end].iter().rev().take(LONGEST_GROUP + 1).take_while(|byte| byte.is_ascii_digit()).count();
    digits <= LONGEST_GROUP && signs(between) == between.len()
}

/// A word goes on here.
fn joined(byte: Option<u8>) -> bool {
    byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'+' | b'/' | b'$' | b'#'))
}

/// How many bytes of signs that may stand between two groups there are.
fn signs(bytes: &[u8]) -> usize {
    let mut at = 0;
    while at < bytes.len().min(MOST_SIGNS) {
        at += match &bytes[at..] {
            [b' ' | b'\t' | b'\n' | b'\r' | b'.' | b'-' | b'_', ..] => 1,
            // Hyphens and dashes U+2010 to U+2015, the middle dot, the minus sign.
            [0xe2, 0x80, 0x90..=0x95, ..] | [0xe2, 0x88, 0x92, ..] => 3,
            [0xc2, 0xb7, ..] => 2,
            rest => match invisible::character(rest) {
                Some((_, length)) => length,
                None => break,
            },
        };
    }
    at
}

/// `4.539578763621486e15`, where the run of digits is what stands behind the point.
fn with_exponent(bytes: &[u8], fraction: usize) -> Option<(String, Units, usize)> {
    let start = fraction.checked_sub(2)?;
    let first = bytes[start];
    if !first.is_ascii_digit() || bytes[start + 1] != b'.' || joined_number(bytes, start) {
        return None;
    }
    let digits = bytes[fraction..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let sign = fraction + digits;
    if digits + 1 < LEAST_DIGITS || !matches!(bytes.get(sign), Some(b'e' | b'E')) {
        return None;
    }
    let exponent = sign + 1 + usize::from(bytes.get(sign + 1) == Some(&b'+'));
    let length = bytes[exponent..].iter().take(4).take_while(|byte| byte.is_ascii_digit()).count();
    let power: usize = std::str::from_utf8(&bytes[exponent..exponent + length]).ok()?.parse().ok()?;
    let zeros = power.checked_sub(digits).filter(|zeros| *zeros < 20)?;
    let end = exponent + length;
    if joined(bytes.get(end).copied()) {
        return None;
    }
    let mut view = String::from(char::from(first));
    view.extend(bytes[fraction..sign].iter().map(|&byte| char::from(byte)));
    view.extend(std::iter::repeat_n('0', zeros));
    let mut units = Units::new(start);
    // All of it is one spelling: no digit of the number can be replaced alone.
    units.push(0..view.len(), start..end);
    Some((view, units, end))
}

fn joined_number(bytes: &[u8], start: usize) -> bool {
    start.checked_sub(1).is_some_and(|before| joined(Some(bytes[before])) || bytes[before] == b'.')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(text: &str) -> Vec<String> {
        let mut all = Vec::new();
        each(text, &Marks::of(text.as_bytes()), |view, _| all.push(view));
        all
    }

    #[test]
    fn groups_are_read_over_any_sign_between_them() {
        for sign in
            ["\u{a0}", "\t", ".", "\n", "\r\n  ", "\u{2009}", "\u{2011}", " - ", "\u{202f}", "\u{b7}", "_"]
        {
            let text = format!("pay {} now", ["4539", "5787", "6362", "1486"].join(sign));
            assert_eq!(seen(&text), ["4539 5787 6362 1486"], "{sign:?}");
        }
        assert_eq!(seen("3714\t496353\t98431"), ["3714 496353 98431"]);
    }

    #[test]
    fn a_number_beside_a_longer_one_is_no_part_of_its_row() {
        assert_eq!(
            seen("4539578763621486\n4539\t5787\t6362\t1486\n4539578763621486"),
            ["4539 5787 6362 1486"]
        );
    }

    #[test]
    fn numbers_in_rows_are_no_groups() {
        for text in [
            "4539 5787 6362 1486",
            "2001\n4539\n5787\n6362\n1486",
            "4539\n5787\n6362\n1486\n2002",
            "a4539.5787.6362.1486",
            "4539.5787.6362.1486a",
            "4539, 5787, 6362, 1486",
            "4539\n5787",
        ] {
            assert_eq!(seen(text), [""; 0], "{text:?}");
        }
    }

    #[test]
    fn a_number_with_an_exponent_is_read_in_full() {
        for text in ["4.539578763621486e15", "4.539578763621486E+15", "[4.539578763621486e15]"] {
            assert_eq!(seen(text), ["4539578763621486"], "{text}");
        }
        assert_eq!(seen("4.53957876362148e15"), ["4539578763621480"]);
        for text in
            ["4.539578763621486e-15", "4.539578763621486", "14.539578763621486e15", "4.539578763621486e14"]
        {
            assert_eq!(seen(text), [""; 0], "{text}");
        }
    }
}
