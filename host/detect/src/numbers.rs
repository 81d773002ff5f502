//! Candidates that no keyword announces: numbers, account numbers, addresses, parts around dots and
//! around an `@`.
//!
//! Each walk looks for the few bytes that every candidate has: four digits in a row, or a sign.
//! A candidate is bounded on both sides, so no byte is looked at more often than a constant.

use std::ops::Range;

use memchr::{memchr_iter, memchr2_iter};

use crate::runs;

/// How far a number reaches to the left of its first long group. To the right it ends where the
/// digits do: numbers stand in rows.
const LONGEST_START: usize = 48;

/// Calls `f` with each run of four or more digits.
pub(crate) fn each_digit_run(bytes: &[u8], mut f: impl FnMut(Range<usize>)) {
    const LEAST: usize = 4;
    let mut done = 0;
    runs::each_block(bytes, LEAST - 1, |at, block| {
        let digits = runs::bits(block, runs::digits);
        for first in runs::places(runs::in_a_row::<LEAST, _>(digits)) {
            let start = at + first;
            if start >= done {
                done = start + (digits >> first).trailing_ones() as usize;
                done += bytes[done..].iter().take_while(|byte| byte.is_ascii_digit()).count();
                f(start..done);
            }
        }
        done
    });
}

/// What few bytes in a row may be the beginning of.
pub(crate) enum Mark {
    /// Two digits on either side of a sign that joins groups: a number of which no group need have
    /// four digits.
    Groups,
    /// A dash, two bytes, and a dash: the address of a network device.
    Dashes,
    /// A number that begins with 1 or 3: an address of money.
    Digit,
}

/// Calls `f` with each mark and the place of its first two bytes.
pub(crate) fn each_mark(bytes: &[u8], mut f: impl FnMut(Mark, Range<usize>)) {
    const WIDTH: usize = 6;
    runs::each_block(bytes, WIDTH - 1, |at, block| {
        let two = |place: usize| at + place..at + place + 2;
        let digits = runs::bits(block, runs::digits);
        let pairs = digits & digits >> 1;
        let near = pairs & pairs >> 3;
        if near != 0 {
            let groups = near & runs::bits(block, join) >> 2;
            runs::places(groups).for_each(|place| f(Mark::Groups, two(place)));
        }
        for place in runs::places(digits & !(digits << 1)) {
            if matches!(bytes[at + place], b'1' | b'3') {
                f(Mark::Digit, two(place));
            }
        }
        let dashes = runs::bits(block, |bytes| runs::equal(bytes, b'-'));
        runs::places(dashes >> 2 & dashes >> 5).for_each(|place| f(Mark::Dashes, two(place)));
        at
    });
}

/// Numbers: groups of digits joined by single blanks, dashes, dots, slashes or brackets.
#[derive(Default)]
pub(crate) struct Numbers {
    done: usize,
}

impl Numbers {
    /// The number around a run of digits, and how many digits it has; `None` where an earlier run
    /// gave it already.
    pub(crate) fn around(&mut self, bytes: &[u8], run: &Range<usize>) -> Option<(Range<usize>, usize)> {
        if run.start < self.done {
            return None;
        }
        let start = grow_left(bytes, run.start, self.done);
        self.done = grow_right(bytes, run.end);
        let digits = bytes[start..self.done].iter().filter(|b| b.is_ascii_digit()).count();
        Some((start..self.done, digits))
    }
}

fn joins(byte: u8) -> bool {
    matches!(byte, b' ' | b'-' | b'.' | b'/' | b'(' | b')')
}

/// The same of many bytes at once.
#[inline(always)]
fn join(bytes: runs::u8x16) -> runs::u8x16 {
    runs::equal(bytes, b' ') | runs::between(bytes, b'-', b'/') | runs::between(bytes, b'(', b')')
}

/// Up to two joining signs in a row: `(415) 555`.
fn grow_left(bytes: &[u8], from: usize, floor: usize) -> usize {
    let floor = floor.max(from.saturating_sub(LONGEST_START));
    let (mut start, mut at, mut signs) = (from, from, 0);
    while at > floor && signs < 3 {
        at -= 1;
        match bytes[at] {
            b'0'..=b'9' => (start, signs) = (at, 0),
            b'+' => return at,
            b'(' => (start, signs) = (at, signs + 1),
            byte if joins(byte) => signs += 1,
            _ => break,
        }
    }
    start
}

fn grow_right(bytes: &[u8], from: usize) -> usize {
    let (mut end, mut signs) = (from, 0);
    for (at, &byte) in bytes.iter().enumerate().skip(from) {
        match byte {
            b'0'..=b'9' => (end, signs) = (at + 1, 0),
            _ if joins(byte) && signs < 2 => signs += 1,
            _ => break,
        }
    }
    end
}

/// Account numbers: two letters and two digits, then groups of four or none.
#[derive(Default)]
pub(crate) struct Accounts {
    last: Option<usize>,
}

impl Accounts {
    /// Where an account number may begin that a run of digits is a part of; `None` where an earlier
    /// run gave it already.
    pub(crate) fn around(&mut self, bytes: &[u8], run: &Range<usize>) -> Option<usize> {
        const GROUPS: usize = 9;
        let floor = run.start.saturating_sub(34);
        let is_part = |b: &u8| b.is_ascii_alphanumeric();
        let word = bytes[floor..run.start].iter().rposition(|b| !is_part(b)).map_or(floor, |n| floor + n + 1);
        let mut start = word;
        for _ in 0..GROUPS {
            let begins = start == 0 || !bytes[start - 1].is_ascii_alphanumeric();
            if begins && opens_account(&bytes[start..]) {
                return (self.last.replace(start) != Some(start)).then_some(start);
            }
            let group = start.checked_sub(5).map(|from| &bytes[from..start]);
            match group {
                Some([group @ .., b' ' | b'-' | b'.']) if group.iter().all(is_part) => start -= 5,
                _ => return None,
            }
        }
        None
    }
}

fn opens_account(bytes: &[u8]) -> bool {
    matches!(bytes, [a, b, c, d, ..] if a.is_ascii_alphabetic() && b.is_ascii_alphabetic() && c.is_ascii_digit() && d.is_ascii_digit())
}

/// Calls `f` with each stretch that could be an internet address.
pub(crate) fn each_address(bytes: &[u8], mut f: impl FnMut(Range<usize>)) {
    const LONGEST: usize = 45;
    let part = |b: &u8| b.is_ascii_hexdigit() || matches!(b, b'.' | b':');
    let mut done = 0;
    for at in memchr2_iter(b'.', b':', bytes) {
        let beside = |i: Option<&u8>| i.is_some_and(part);
        if at < done || !beside(bytes.get(at + 1)) {
            continue;
        }
        let floor = done.max(at.saturating_sub(LONGEST));
        let start = bytes[floor..at].iter().rposition(|b| !part(b)).map_or(floor, |n| floor + n + 1);
        let ceiling = bytes.len().min(at + LONGEST);
        let end = bytes[at..ceiling].iter().position(|b| !part(b)).map_or(ceiling, |n| at + n);
        done = end;
        let address = address_in(bytes, start..end);
        if has_groups(&bytes[address.clone()]) && !is_version(bytes, address.start) {
            f(address);
        }
    }
}

/// The address in a stretch of the characters that addresses have: without the end of a word before
/// it (`node:`), the full stop or colon of a sentence, and the port of a host.
fn address_in(bytes: &[u8], stretch: Range<usize>) -> Range<usize> {
    let (mut start, mut end) = (stretch.start, stretch.end);
    let inside_word = start.checked_sub(1).is_some_and(|before| bytes[before].is_ascii_alphanumeric());
    if inside_word && let Some(colon) = bytes[start..end].iter().position(|&byte| byte == b':') {
        start += colon;
    }
    // Two colons are a part of an address.
    while matches!(bytes[start..end], [b'.', ..] | [b':', b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F', ..]) {
        start += 1;
    }
    // A full stop ends a sentence, and not a part of a file's name.
    let ends_sentence = !bytes.get(end).is_some_and(u8::is_ascii_alphanumeric);
    while (ends_sentence && bytes[start..end].ends_with(b"."))
        || matches!(bytes[start..end], [.., last, b':'] if last != b':')
    {
        end -= 1;
    }
    let port = bytes[start..end].iter().position(|&byte| byte == b':').map(|colon| start + colon);
    if let Some(port) = port {
        let dots = bytes[start..port].iter().filter(|&&byte| byte == b'.').count();
        let is_number = |part: &[u8]| part.iter().all(u8::is_ascii_digit);
        if dots == 3 && is_number(&bytes[port + 1..end]) {
            end = port;
        }
    }
    start..end
}

/// `version 1.2.3.4`, `AssemblyVersion("1.0.0.0")`: a word before the four numbers says that they are
/// no address.
fn is_version(bytes: &[u8], start: usize) -> bool {
    const WORDS: [&[u8]; 9] =
        [b"version", b"ver", b"firmware", b"release", b"build", b"section", b"chapter", b"clause", b"oid"];
    const SIGNS: usize = 6;
    const LONGEST: usize = 24;
    let floor = start.saturating_sub(SIGNS + LONGEST);
    let between = bytes[floor..start]
        .iter()
        .rev()
        .take(SIGNS)
        .take_while(|byte| {
            matches!(byte, b' ' | b'"' | b'\'' | b'\\' | b':' | b'=' | b'(' | b'>' | b'v' | b'V')
        })
        .count();
    let before = &bytes[floor..start - between];
    WORDS.iter().any(|word| {
        before.len() >= word.len() && before[before.len() - word.len()..].eq_ignore_ascii_case(word)
    })
}

/// Three dots or two colons, and a digit, or the signs of a device. Code is full of `a.b` and
/// `std::fmt`.
fn has_groups(address: &[u8]) -> bool {
    const SHORTEST: usize = 7;
    let count = |sign: u8| address.iter().filter(|&&byte| byte == sign).count();
    let (length, colons, dots) = (address.len(), count(b':'), count(b'.'));
    let device = (length == DEVICE && colons == 5) || (length == DOTTED_DEVICE && dots == 2);
    let groups = length >= SHORTEST && (colons >= 2 || dots >= 3) && address.iter().any(u8::is_ascii_digit);
    device || groups
}

/// `00:1A:2B:3C:4D:5E`.
const DEVICE: usize = 17;

/// `0012.3456.789a`.
const DOTTED_DEVICE: usize = 14;

/// Returns the address of a network device that begins at `start`: six pairs of hexadecimal digits,
/// or three groups of four with dots.
pub(crate) fn device(bytes: &[u8], start: usize) -> Option<Range<usize>> {
    let of = |length: usize, width: usize| {
        let range = start..start + length;
        let address = bytes.get(range.clone())?;
        let fits = is_device(address, width) && stands_alone(bytes, &range, address[width - 1]);
        fits.then_some(range)
    };
    let is_number = |range: &Range<usize>| !bytes[range.clone()].iter().any(u8::is_ascii_alphabetic);
    of(DEVICE, 3).or_else(|| of(DOTTED_DEVICE, 5).filter(|range| !is_number(range)))
}

/// Hexadecimal digits but for one sign in each place of a multiple.
fn is_device(bytes: &[u8], width: usize) -> bool {
    let sign = bytes[width - 1];
    let fits = |(place, byte): (usize, &u8)| match (place + 1) % width {
        0 => *byte == sign && matches!(sign, b':' | b'-' | b'.'),
        _ => byte.is_ascii_hexdigit(),
    };
    bytes.iter().enumerate().all(fits)
}

/// Neither a letter or digit beside it, nor the sign with more of the same.
fn stands_alone(bytes: &[u8], range: &Range<usize>, sign: u8) -> bool {
    let is_part = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == sign);
    let before = range.start.checked_sub(1).and_then(|at| bytes.get(at));
    let behind = match bytes.get(range.end) {
        // A full stop, a colon.
        Some(byte) if *byte == sign => bytes.get(range.end + 1).filter(|byte| byte.is_ascii_hexdigit()),
        byte => byte,
    };
    !is_part(before) && !is_part(behind)
}

/// Returns the word that begins at `start`, where it is as long as an address of money.
pub(crate) fn word(bytes: &[u8], start: usize) -> Option<Range<usize>> {
    const LEAST: usize = 26;
    const MOST: usize = 62;
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric();
    let before = start.checked_sub(1).and_then(|at| bytes.get(at));
    let length = bytes[start..].iter().take(MOST + 1).take_while(|byte| is_part(byte)).count();
    (!before.is_some_and(is_part) && (LEAST..=MOST).contains(&length)).then(|| start..start + length)
}

/// Calls `f` with each stretch around two dots that stand as far apart as in a bot's token.
pub(crate) fn each_dotted(bytes: &[u8], mut f: impl FnMut(Range<usize>)) {
    const MIDDLE: usize = 6;
    const FIRST: usize = 23;
    let part = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    for at in memchr_iter(b'.', bytes) {
        let second = bytes.get(at + MIDDLE + 1) == Some(&b'.');
        if second && at >= FIRST && bytes[at - FIRST..at].iter().all(part) {
            f(at.saturating_sub(30)..bytes.len().min(at + 60));
        }
    }
}

/// Calls `f` with each stretch around an `@` that could be an address.
pub(crate) fn each_at(bytes: &[u8], mut f: impl FnMut(Range<usize>)) {
    const LONGEST_LOCAL: usize = 64;
    const LONGEST_DOMAIN: usize = 254;
    let local = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'%' | b'+' | b'-' | b'\'');
    let domain = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-');
    for at in memchr_iter(b'@', bytes) {
        let floor = at.saturating_sub(LONGEST_LOCAL);
        let start = bytes[floor..at].iter().rposition(|b| !local(b)).map_or(floor, |n| floor + n + 1);
        let ceiling = bytes.len().min(at + 1 + LONGEST_DOMAIN);
        let end = bytes[at + 1..ceiling].iter().position(|b| !domain(b)).map_or(ceiling, |n| at + 1 + n);
        if start < at && end > at + 3 {
            f(start..end);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn numbers(text: &str) -> Vec<(&str, usize)> {
        let (mut numbers, mut seen) = (Numbers::default(), Vec::new());
        each_digit_run(text.as_bytes(), |run| {
            seen.extend(numbers.around(text.as_bytes(), &run).map(|(range, digits)| (&text[range], digits)));
        });
        seen
    }

    #[test]
    fn numbers_are_taken_with_their_groups() {
        let text = "pay 4539 5787-6362 1486, call (415) 555-0132 or +49 30 901820; id 12 345";
        let expected = [("4539 5787-6362 1486", 16), ("(415) 555-0132", 10), ("+49 30 901820", 10)];
        assert_eq!(numbers(text), expected);
    }

    fn addresses(text: &str) -> Vec<&str> {
        let mut seen = Vec::new();
        each_address(text.as_bytes(), |range| seen.push(&text[range]));
        seen
    }

    #[test]
    fn an_address_stands_without_what_is_beside_it() {
        let (four, six) = ("93.184.216.34", "2606:4700:4700::1111");
        for (before, behind) in [
            ("http://", ":8080/"),
            ("It is ", "."),
            ("ip:", ""),
            ("node:", ":22"),
            ("from ", ": refused"),
            ("", ", next"),
            ("[", "]"),
            ("reversion of ", ""),
        ] {
            assert_eq!(addresses(&format!("{before}{four}{behind}")), [four], "{before} {behind}");
        }
        for (before, behind) in [("[", "]:443"), ("peer:", "."), ("peer ", ":"), ("", "/64")] {
            assert_eq!(addresses(&format!("{before}{six}{behind}")), [six], "{before} {behind}");
        }
        assert_eq!(addresses("mac:00:1A:2B:3C:4D:5E."), ["00:1A:2B:3C:4D:5E"]);
        assert_eq!(addresses("::1 and fe80::"), [""; 0]);
    }

    #[test]
    fn the_number_of_a_version_is_no_address() {
        for text in [
            "version 1.2.3.4",
            "AssemblyVersion(\"1.0.2.0\")",
            "<Version>2.1.0.3</Version>",
            "\"version\": \"1.4.2.0\"",
            "file_version=1.2.3.4",
            "{\\\"version\\\": \\\"1.4.2.0\\\"}",
            "Section 3.2.1.4",
            "parser-1.2.3.4.tar.gz",
            "oid 1.3.6.1",
        ] {
            let real = |address: &&str| address.parse::<std::net::IpAddr>().is_ok();
            assert!(!addresses(text).iter().any(real), "{text}");
        }
    }

    #[test]
    fn an_account_is_found_once_from_any_of_its_groups() {
        let text = "to MT84 MALT 0110 0001 2345 or DE89370400440532013000";
        let (mut accounts, mut seen) = (Accounts::default(), Vec::new());
        each_digit_run(text.as_bytes(), |run| seen.extend(accounts.around(text.as_bytes(), &run)));
        assert_eq!(seen, [text.find("MT").unwrap(), text.find("DE").unwrap()]);
    }

    proptest! {
        #[test]
        fn every_row_of_digits_is_seen_once_and_whole(parts in prop::collection::vec(("[0-9]{0,90}", "[a-z/:]{0,40}"), 0..8)) {
            let text: String = parts.iter().map(|(digits, others)| format!("{digits}{others}")).collect();
            let mut seen = Vec::new();
            each_digit_run(text.as_bytes(), |run| seen.push(&text[run]));
            let rows: Vec<&str> = text.split(|c: char| !c.is_ascii_digit()).filter(|row| row.len() >= 4).collect();
            prop_assert_eq!(seen, rows);
        }

        #[test]
        fn every_number_of_four_digits_in_a_row_is_seen(before in "[a-z ]{0,9}", digits in "[0-9]{4,20}", after in "[a-z]{0,5}") {
            let text = format!("{before}{digits}{after}");
            prop_assert_eq!(numbers(&text).iter().filter(|(number, _)| number.contains(&digits)).count(), 1);
        }
    }
}
