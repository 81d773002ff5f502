//! Numbers in spellings that detectors do not read: groups of cards and social security numbers with
//! other signs between them, and whole numbers as programs write them, with a fraction of zeros, an
//! exponent, zeros before them, or in thousands.
//!
//! A view is a window of the text in which such numbers stand as their digits alone, or with blanks
//! between their groups. Groups count only where they stand by themselves: lines and columns of
//! other numbers pass by chance else.

use std::borrow::Cow;
use std::ops::{Range, RangeInclusive};

use super::invisible;
use super::map::{Units, Window};
use super::marks::Marks;
use crate::work::spend;

/// The groups in which cards are printed.
const GROUPS: [&[usize]; 4] = [&[4, 4, 4, 4], &[4, 6, 5], &[4, 6, 4], &[4, 4, 4, 4, 3]];

/// A longer number is no group: it stands by itself beside others.
const LONGEST_GROUP: usize = 6;

/// Most signs between two groups: a line break, and an indentation.
const MOST_SIGNS: usize = 12;

/// Social security numbers have nine digits, and the longest cards nineteen.
const DIGITS: RangeInclusive<usize> = 9..=19;

/// Zeros and all, a number has no more digits than programs keep.
const MOST_DIGITS: usize = 48;

/// How far a window reaches before a number, where a word may say what it is, and behind it.
const BEFORE: usize = 48;
const BEHIND: usize = 16;

/// A number in another spelling: where it stands, and which parts of it mean what.
struct Number {
    source: Range<usize>,
    spelled: Vec<(Range<usize>, Cow<'static, str>)>,
}

impl Number {
    /// A number of which no digit can be replaced alone.
    fn whole(source: Range<usize>, says: String) -> Self {
        Number { spelled: vec![(source.clone(), says.into())], source }
    }
}

/// Calls `f` with each window of numbers.
pub(super) fn each(text: &str, marks: &Marks, mut f: impl FnMut(String, Units)) {
    let bytes = text.as_bytes();
    let mut places = Vec::new();
    marks.each_digit_run(|run| places.push(run.start));
    let runs = places.len();
    marks.each_thousands(|at| places.push(at));
    if places.len() > runs {
        places.sort_unstable();
    }
    let mut open: Option<Window<'_>> = None;
    let mut done = 0;
    for at in places {
        if at < done {
            continue;
        }
        let Some(number) = read(bytes, at).filter(|number| number.source.start >= done) else { continue };
        done = number.source.end;
        if let Some(window) = open.take_if(|window| window.at + BEFORE < number.source.start) {
            close(text, window, &mut f);
        }
        let window = open.get_or_insert_with(|| Window::new(text, before(text, number.source.start)));
        for (source, means) in number.spelled {
            window.plain_to(source.start);
            window.spelled_to(source.end, means.chars());
        }
        window.plain_to(number.source.end);
    }
    if let Some(window) = open {
        close(text, window, &mut f);
    }
}

fn read(bytes: &[u8], at: usize) -> Option<Number> {
    let of_program = || whole_number(bytes, at).or_else(|| in_thousands(bytes, at));
    grouped(bytes, at).or_else(of_program).or_else(|| in_three_groups(bytes, at))
}

/// Where the window begins of a number that begins at `number`.
fn before(text: &str, number: usize) -> usize {
    let mut start = text.ceil_char_boundary(number.saturating_sub(BEFORE));
    while start < number && cuts_word(text, start) {
        start += 1;
    }
    start
}

fn close(text: &str, mut window: Window<'_>, f: &mut impl FnMut(String, Units)) {
    let mut end = text.floor_char_boundary((window.at + BEHIND).min(text.len()));
    while end > window.at && cuts_word(text, end) {
        end -= 1;
    }
    window.plain_to(end);
    f(window.text, window.units);
}

/// A part of a longer number would be another number.
fn cuts_word(text: &str, at: usize) -> bool {
    let is_of_word = |at: usize| text.as_bytes().get(at).is_some_and(u8::is_ascii_alphanumeric);
    at > 0 && is_of_word(at - 1) && is_of_word(at)
}

/// Reads groups with any signs between them, some of which no detector reads.
fn grouped(bytes: &[u8], start: usize) -> Option<Number> {
    if joined(bytes.get(start.wrapping_sub(1)).copied()) || group_before(bytes, start) {
        return None;
    }
    let (mut spelled, mut lengths) = (Vec::new(), Vec::with_capacity(5));
    let (mut at, mut ordinary) = (start, true);
    loop {
        let digits = digits(&bytes[at..]);
        lengths.push(digits);
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
        spelled.push((at..at + signs, " ".into()));
        at += signs;
    }
    let printed = GROUPS.contains(&lengths.as_slice()) && !ordinary;
    (printed && !joined(bytes.get(at).copied())).then_some(Number { source: start..at, spelled })
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

/// `536‑90‑4399` with signs of typography, whose last group is at `at`.
fn in_three_groups(bytes: &[u8], at: usize) -> Option<Number> {
    let sign_before = |end: usize| {
        let is_sign = |start: &usize| bytes[*start] >= 0x80 && signs(&bytes[*start..end]) == end - start;
        [2, 3].into_iter().filter_map(|length| end.checked_sub(length)).find(is_sign)
    };
    let first_end = sign_before(sign_before(at)?.checked_sub(2)?)?;
    let start = first_end.checked_sub(3)?;
    let sign = (at - first_end - 2) / 2;
    let (first, second) = (&bytes[start..first_end], &bytes[first_end + sign..at - sign]);
    let of_digits = first.iter().chain(second).all(u8::is_ascii_digit) && digits(&bytes[at..]) == 4;
    let stands = second.len() == 2 && !joined(bytes.get(at + 4).copied()) && begins(bytes, start);
    let signs = [first_end..first_end + sign, at - sign..at];
    let spelled = Vec::from(signs.map(|range| (range, " ".into())));
    (of_digits && stands).then_some(Number { source: start..at + 4, spelled })
}

/// `4539578763621486.0`, `…e0`, `4.539578763621486E+15`, `453957876362148600e-2`: a whole number in
/// which a run of digits at `run` is the first part, or what stands behind its point.
fn whole_number(bytes: &[u8], run: usize) -> Option<Number> {
    let behind_point = run.checked_sub(1).filter(|&point| matches!(bytes[point], b'.' | b','));
    let first = behind_point.and_then(|point| {
        let digits = bytes[..point].iter().rev().take(4).take_while(|byte| byte.is_ascii_digit()).count();
        (1..4).contains(&digits).then(|| point - digits)
    });
    first.into_iter().chain([run]).find_map(|start| whole_number_from(bytes, start))
}

fn whole_number_from(bytes: &[u8], start: usize) -> Option<Number> {
    let first = digits(&bytes[start..]);
    if first > MOST_DIGITS || !begins(bytes, start) {
        return None;
    }
    let mut says = String::new();
    push(&mut says, &bytes[start..start + first]);
    let (mut end, mut power) = (start + first, 0i64);
    if let [b'.' | b',', rest @ ..] = &bytes[end..]
        && let fraction @ 1..=MOST_DIGITS = digits(rest)
    {
        push(&mut says, &rest[..fraction]);
        end += 1 + fraction;
        power -= fraction as i64;
    }
    spend(end - start);
    if says.len() > MOST_DIGITS {
        return None;
    }
    if let [b'e' | b'E', rest @ ..] = &bytes[end..] {
        let sign = usize::from(matches!(rest, [b'+' | b'-', ..]));
        let length = digits(&rest[sign..]);
        let exponent = std::str::from_utf8(&rest[..sign + length]).ok()?;
        power += exponent.parse::<i16>().ok().map(i64::from)?;
        end += 1 + exponent.len();
    }
    let goes_on = matches!(bytes[end..], [b'.', b'0'..=b'9', ..]) || joined(bytes.get(end).copied());
    let says = shifted(says.trim_start_matches('0'), power).filter(|_| !goes_on)?;
    (DIGITS.contains(&says.len()) && says.as_bytes() != &bytes[start..end])
        .then(|| Number::whole(start..end, says))
}

/// The digits of a number with its point moved, `None` where it is not whole then, or too long.
fn shifted(digits: &str, power: i64) -> Option<String> {
    match usize::try_from(power) {
        Ok(zeros) => (zeros <= *DIGITS.end()).then(|| format!("{digits}{:0<zeros$}", "")),
        Err(_) => {
            let whole = digits.len().checked_sub(usize::try_from(-power).ok()?)?;
            let (whole, fraction) = digits.split_at(whole);
            fraction.bytes().all(|digit| digit == b'0').then(|| whole.to_owned())
        }
    }
}

/// `4,539,578,763,621,486.00`, of which the first three digits behind a sign, or the first of all, are
/// at `at`.
fn in_thousands(bytes: &[u8], at: usize) -> Option<Number> {
    let is_sign = |sign: &&u8| matches!(sign, b',' | b'.' | b'\'' | b'_' | b' ');
    let sign = *bytes.get(at + 3).filter(is_sign)?;
    let first = match bytes[..at] {
        [.., a, b, before] if before == sign && b.is_ascii_digit() => 1 + usize::from(a.is_ascii_digit()),
        [a, before] if before == sign && a.is_ascii_digit() => 1,
        _ => 0,
    };
    let start = if first == 0 { at } else { at - 1 - first };
    let mut says = String::new();
    push(&mut says, &bytes[start..start + first]);
    let mut end = at;
    while let Some([a, b, c]) =
        bytes[end..].first_chunk().filter(|group| group.iter().all(u8::is_ascii_digit))
        && says.len() < MOST_DIGITS
    {
        push(&mut says, &[*a, *b, *c]);
        end += 3;
        match bytes.get(end) {
            Some(next) if *next == sign && digits(bytes[end + 1..].get(..3).unwrap_or_default()) == 3 => {
                end += 1
            }
            _ => break,
        }
    }
    spend(end - start);
    if let [point @ (b'.' | b','), b'0', rest @ ..] = &bytes[end..]
        && *point != sign
    {
        end += 2 + rest.iter().take_while(|digit| **digit == b'0').count();
    }
    let goes_on =
        matches!(&bytes[end..], [next, b'0'..=b'9', ..] if is_sign(&next)) || joined(bytes.get(end).copied());
    // Four groups between dots are an address, and numbers between brackets a list.
    let is_other =
        sign == b'.' && says.len() == 12 || start.checked_sub(1).is_some_and(|at| bytes[at] == b'[');
    (DIGITS.contains(&says.len()) && begins(bytes, start) && !goes_on && !is_other)
        .then(|| Number::whole(start..end, says))
}

/// Returns true if and only if no word or number that stands before a number goes on in it.
fn begins(bytes: &[u8], start: usize) -> bool {
    match bytes[..start] {
        [.., before, b'+'] => !before.is_ascii_alphanumeric(),
        [.., b'.' | b'-'] => false,
        [b'+'] => true,
        [.., before] => !joined(Some(before)),
        [] => true,
    }
}

fn digits(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

fn push(says: &mut String, digits: &[u8]) {
    says.extend(digits.iter().map(|&byte| char::from(byte)));
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
            assert_eq!(seen(&text), ["pay 4539 5787 6362 1486 now"], "{sign:?}");
        }
        assert_eq!(seen("3714\t496353\t98431"), ["3714 496353 98431"]);
    }

    #[test]
    fn a_number_beside_a_longer_one_is_no_part_of_its_row() {
        assert_eq!(
            seen("4539578763621486\n4539\t5787\t6362\t1486\n4539578763621486"),
            ["4539578763621486\n4539 5787 6362 1486\n"]
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
        for text in ["4.539578763621486e15", "4.539578763621486E+15", "45395787636214860e-1"] {
            assert_eq!(seen(text), ["4539578763621486"], "{text}");
        }
        assert_eq!(seen("4.53957876362148e15"), ["4539578763621480"]);
        for text in ["4.539578763621486e-15", "4.539578763621486", "4.539578763621486e14", "4.5e40000"] {
            assert_eq!(seen(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn numbers_close_to_one_another_share_a_window() {
        let far = "x".repeat(BEFORE);
        let text = format!("ssn 536904399.0 and 4,539,578,763,621,486 {far} 536\u{2011}90\u{2011}4399");
        assert_eq!(seen(&text), ["ssn 536904399 and 4539578763621486 ", " 536 90 4399"]);
    }
}
