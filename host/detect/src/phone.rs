//! Telephone numbers: which numbers in groups are one, and where it ends.
//!
//! Three kinds are told apart. An international number says so by its plus sign or two zeros and a
//! country's code (ITU-T E.164). A national one has a form that other numbers seldom have: an area
//! in brackets, the trunk prefix 0 before groups, or the groups of North America. Any other number
//! in groups is one where a word beside it says so ([`crate::cues`]).

use std::ops::{Range, RangeInclusive};

use crate::bounds::Bounds;
use crate::checksums::ISSUED;

/// A telephone number in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Phone {
    pub(crate) range: Range<usize>,
    /// Its form alone does not say what it is.
    pub(crate) needs_word: bool,
}

/// How many digits a number may have: six beside a word, and at most the fifteen of E.164 with a
/// zero in brackets and a prefix.
pub(crate) const DIGITS: RangeInclusive<usize> = 6..=18;

/// Most groups of a number that is dialled.
const MOST_GROUPS: usize = 7;

/// Reads the telephone number that is all of a number in groups, as [`crate::numbers::Numbers`]
/// gives it.
pub(crate) fn read(bytes: &[u8], number: &Range<usize>) -> Option<Phone> {
    let number = with_area(bytes, number);
    let groups = Groups::of(&bytes[number.clone()])?;
    let needs_word = groups.need_word()?;
    let end = extension_end(bytes, number.end).unwrap_or(number.end);
    let alone = Bounds::Strict.begins(bytes, number.start) && Bounds::Word.ends(bytes, end);
    alone.then_some(Phone { range: number.start..end, needs_word })
}

/// `089 / 636-48018`: German letters put the area before a slash with blanks. Two numbers stand like
/// that too, so the first must be an area alone.
fn with_area(bytes: &[u8], number: &Range<usize>) -> Range<usize> {
    const AREA: RangeInclusive<usize> = 3..=5;
    let before = bytes[..number.start].strip_suffix(b" / ").unwrap_or_default();
    let digits = before.iter().rev().take(*AREA.end() + 1).take_while(|byte| byte.is_ascii_digit()).count();
    let (rest, area) = before.split_at(before.len() - digits);
    let alone = !matches!(rest, [.., byte] if byte.is_ascii_alphanumeric() || b"./-+_)".contains(byte))
        && !matches!(rest, [.., byte, b' '] if byte.is_ascii_digit() || *byte == b'/');
    let is_area = AREA.contains(&digits) && matches!(area, [b'0', b'1'..=b'9', ..]) && alone;
    let start = if is_area && bytes[number.start].is_ascii_digit() && bytes[number.start] != b'0' {
        rest.len()
    } else {
        number.start
    };
    start..number.end
}

/// `x44208`, ` ext. 12` behind a number: where it ends.
fn extension_end(bytes: &[u8], from: usize) -> Option<usize> {
    const LONGEST: usize = 6;
    let rest = &bytes[from..bytes.len().min(from + 16)];
    let rest = rest.strip_prefix(b" ").unwrap_or(rest);
    let sign = [&b"ext. "[..], b"ext.", b"ext ", b"ext", b"x", b"#"].into_iter();
    let rest = sign.filter_map(|sign| rest.strip_prefix(sign)).next()?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let end = bytes.len().min(from + 16) - rest.len() + digits;
    ((1..=LONGEST).contains(&digits)).then_some(end)
}

/// The groups of a number and the signs between them.
#[derive(Debug, Default)]
struct Groups {
    plus: bool,
    /// The first group stands in brackets.
    area: bool,
    digits: Vec<u8>,
    lengths: Vec<usize>,
    /// The first sign behind each group but the last.
    signs: Vec<u8>,
}

impl Groups {
    fn of(text: &[u8]) -> Option<Self> {
        let mut groups = Self { plus: text[0] == b'+', ..Self::default() };
        let mut before = b' ';
        for (at, &byte) in text.iter().enumerate() {
            if byte.is_ascii_digit() {
                groups.digits.push(byte - b'0');
                match groups.lengths.last_mut() {
                    Some(length) if before.is_ascii_digit() => *length += 1,
                    _ => groups.lengths.push(1),
                }
            } else if before.is_ascii_digit() {
                groups.signs.push(byte);
                groups.area |= groups.lengths.len() == 1 && byte == b')' && text[0] == b'(';
            } else if byte == b'+' && at > 0 {
                return None;
            }
            if groups.lengths.len() > MOST_GROUPS || groups.digits.len() > *DIGITS.end() {
                return None;
            }
            before = byte;
        }
        // `4 + 4294967295` is a sum.
        if groups.plus && groups.lengths.len() == 1 && text[1] == b' ' {
            return None;
        }
        let balanced = |sign: u8| text.iter().filter(|&&byte| byte == sign).count();
        (balanced(b'(') == balanced(b')')).then_some(groups)
    }

    /// Whether they are a number by a word beside them alone; `None` where they are none at all.
    fn need_word(&self) -> Option<bool> {
        let (digits, lengths) = (&*self.digits, &*self.lengths);
        let count = digits.len();
        if self.plus {
            return ((8..=16).contains(&count) && calling_code(digits)).then_some(false);
        }
        if self.is_date() || self.has_odd_signs() || lengths == [3, 2, 4] {
            return None;
        }
        let abroad = match digits {
            [0, 0, code @ ..] => Some(code),
            // From North America.
            [0, 1, 1, code @ ..] if lengths.len() > 2 && lengths[0] == 3 => Some(code),
            _ => None,
        };
        if let Some(code) = abroad {
            let long = (10..=17).contains(&count) && calling_code(code);
            return long.then_some(lengths.len() == 1);
        }
        if lengths.len() == 1 {
            return (7..=12).contains(&count).then_some(true);
        }
        let later = &lengths[1..];
        let area = self.area
            && (2..=5).contains(&lengths[0])
            && (8..=11).contains(&count)
            && later.len() <= 3
            && later.iter().all(|length| (2..=8).contains(length));
        let by_dashes =
            self.signs.iter().all(|&sign| sign == b'-') || self.signs.iter().all(|&sign| sign == b'.');
        let american = by_dashes && matches!(lengths, [3, 3, 4] | [1, 3, 3, 4]);
        let trunk = digits[0] == 0
            && (9..=11).contains(&count)
            && later.iter().all(|length| (2..=8).contains(length))
            && (lengths[0] > 1 || self.signs[0] != b'.');
        if area || american || trunk {
            return Some(false);
        }
        // Russia's trunk prefix: `8 (912) 345-67-89`.
        if lengths[..2] == [1, 3] && digits[0] == 8 && count == 11 {
            return Some(true);
        }
        let longest = if digits[0] == 0 { 8 } else { 7 };
        let plain = (6..=12).contains(&count) && lengths.iter().all(|length| (2..=longest).contains(length));
        plain.then_some(true)
    }

    /// `2024-11-12`, `12.11.2024`, with a number behind it or without.
    fn is_date(&self) -> bool {
        let two = |at: usize| self.digits[at] * 10 + self.digits[at + 1];
        let year = |at: usize| matches!(two(at), 19 | 20);
        let day = |at: usize| (1..=31).contains(&two(at));
        match self.lengths[..] {
            [4, 2, 2, ..] => year(0) && day(4) && day(6),
            [2, 2, 4, ..] => day(0) && day(2) && year(4),
            [4, 2] => year(0),
            [2, 4] => year(2),
            _ => false,
        }
    }

    /// Dots stand between all groups or none, a slash behind the area alone.
    fn has_odd_signs(&self) -> bool {
        let of = |sign: u8| self.signs.iter().filter(|&&known| known == sign).count();
        let dots = of(b'.');
        (dots > 0 && (dots < self.signs.len() || dots < 2))
            || of(b'/') > 1
            || (of(b'/') == 1 && self.signs[0] != b'/')
    }
}

/// Returns true if and only if digits begin with the calling code of a country or a network, as
/// ITU-T E.164 assigns them.
fn calling_code(digits: &[u8]) -> bool {
    match digits {
        [1 | 7, ..] => true,
        [first, second, ..] => ISSUED.calling_codes.contains(&(first * 10 + second)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numbers::{Mark, Numbers, each_mark};

    fn seen(text: &str) -> Option<(&str, bool)> {
        let mut found = None;
        let mut numbers = Numbers::default();
        each_mark(text.as_bytes(), |mark, run| {
            if matches!(mark, Mark::Groups)
                && let Some((range, _)) = numbers.around(text.as_bytes(), &run)
            {
                found = found.take().or_else(|| read(text.as_bytes(), &range));
            }
        });
        found.map(|phone| (&text[phone.range], phone.needs_word))
    }

    #[test]
    fn numbers_of_many_countries_are_read_whole() {
        for number in [
            ["+33 6 12", " 34 56 78"],
            ["+34 612", " 34 56 78"],
            ["+48 601", " 234 567"],
            ["+41 (0)71", " 526 99 04"],
            ["+45 32", " 12 34 56"],
            ["+7 912", " 345-67-89"],
            ["0041 71", " 526 99 04"],
            ["01 42", " 34 56 78"],
            ["030/90", " 18 20 44"],
            ["079 4650", " 2145"],
            ["0 532 123", " 45 67"],
            ["089 / 636", "-48018"],
            ["(415) 555", "-0132"],
            ["415.555", ".0132"],
            ["1-415-555", "-0132 ext. 12"],
            ["001-321-194", "-8268x44208"],
            ["(11) 98", "456-5666"],
            ["011 44 20", " 7946 0958"],
        ] {
            let number = number.concat();
            assert_eq!(seen(&format!("at {number}, or")), Some((&*number, false)), "{number}");
        }
        for number in ["467 33 95", "699 956 915", "50-98-28-96"] {
            assert_eq!(seen(&format!("at {number}, or")), Some((number, true)), "{number}");
        }
        // Not an area: a number, a part of one, a word's end, a count.
        for before in ["089 1234 / ", "1/089 / ", "x089 / ", "890 / ", "001 / ", "089123 / "] {
            assert_eq!(seen(&format!("{before}636-48018")).map(|(text, _)| text.contains('/')), Some(false));
        }
    }

    #[test]
    fn dates_versions_and_rows_of_numbers_are_none() {
        for text in [
            "2024-11-12 10",
            "12.11.2024 10:30",
            "0.12.34.5678",
            "10 20 30 40 50 60 70 80 90",
            "536-90-4399",
            "+28999 12 34",
            "a01 42 34 56 78",
            "01 42 34 56 78b",
            "1.20.33",
            "range 10-20",
            "4 + 4294967295",
        ] {
            assert_eq!(seen(text), None, "{text}");
        }
    }
}
