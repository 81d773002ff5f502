//! Settings: a password among the lines of a file that says who logs in where.
//!
//! `password: sunflower` alone may be a type, a label or prose. Between `user: shop` and
//! `host: db.example.net`, or in a section of an INI file, it is what somebody set.

use std::ops::Range;

use crate::keyed::{Assignment, Join};
use crate::lists::LISTS;

/// As many bytes of a neighbouring line are looked at.
const LONGEST_LINE: usize = 160;

/// Returns true if and only if a bare word is the value of a line of settings that name a login.
pub(crate) fn is_set(bytes: &[u8], found: &Assignment) -> bool {
    let value = &bytes[found.value.clone()];
    let word = value.iter().all(u8::is_ascii_lowercase)
        && !LISTS.no_settings.has(value)
        && found.join == Join::Operator
        && !found.quoted;
    if !word || !ends_line(&bytes[found.value.end..]) {
        return false;
    }
    let Some(own) = SettingLine::around(bytes, found.name.start, found.value.end) else { return false };
    match own.sign {
        b':' => {
            [own.before(bytes), own.after(bytes)].into_iter().flatten().any(|beside| own.pairs_with(&beside))
        }
        _ => own.is_in_section(bytes),
    }
}

fn ends_line(rest: &[u8]) -> bool {
    let rest = rest.strip_prefix(b"\r").unwrap_or(rest);
    matches!(rest, [] | [b'\n', ..])
}

/// `  name: value`, without its line break.
struct SettingLine<'a> {
    range: Range<usize>,
    indent: usize,
    name: &'a [u8],
    sign: u8,
    value: &'a [u8],
}

impl<'a> SettingLine<'a> {
    /// Reads the line in which `start..end` stands; `end` is its last byte but for the line break.
    fn around(bytes: &'a [u8], start: usize, end: usize) -> Option<Self> {
        let floor = start.saturating_sub(LONGEST_LINE);
        let begin = match memchr::memrchr(b'\n', &bytes[floor..start]) {
            Some(at) => floor + at + 1,
            None if floor == 0 => 0,
            None => return None,
        };
        Self::read(bytes, begin..end)
    }

    fn read(bytes: &'a [u8], range: Range<usize>) -> Option<Self> {
        let line = &bytes[range.clone()];
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        // An entry of a list begins with a dash.
        let indent = line.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'-')).count();
        let length = line[indent..].iter().take_while(|byte| is_of_name(**byte)).count();
        let (name, rest) = line[indent..].split_at(length);
        let blanks = rest.iter().take_while(|byte| **byte == b' ').count();
        let sign = *rest.get(blanks).filter(|sign| matches!(sign, b':' | b'='))?;
        let value = rest[blanks + 1..].trim_ascii();
        (length > 0 && !value.is_empty()).then_some(Self { range, indent, name, sign, value })
    }

    fn before(&self, bytes: &'a [u8]) -> Option<Self> {
        let end = self.range.start.checked_sub(1)?;
        let floor = end.saturating_sub(LONGEST_LINE);
        let start = memchr::memrchr(b'\n', &bytes[floor..end]).map_or(floor, |at| floor + at + 1);
        Self::read(bytes, start..end)
    }

    fn after(&self, bytes: &'a [u8]) -> Option<Self> {
        let start = self.range.end + memchr::memchr(b'\n', bytes[self.range.end..].get(..2)?)? + 1;
        let rest = &bytes[start..bytes.len().min(start + LONGEST_LINE)];
        let end = start + memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        Self::read(bytes, start..end)
    }

    /// Whether another line, as deep in the file, says who logs in or where. In code a comma or
    /// semicolon ends it, and types repeat.
    fn pairs_with(&self, beside: &Self) -> bool {
        let last = beside.name.rsplit(|byte| matches!(byte, b'_' | b'-' | b'.')).next().unwrap_or_default();
        beside.indent == self.indent
            && beside.sign == self.sign
            && beside.value != self.value
            && !matches!(beside.value.last(), Some(b',' | b';' | b'{' | b'(' | b'|' | b'!' | b'?'))
            && LISTS.logins.has(last)
    }

    /// Whether the lines above are settings of one section, `[client]`.
    fn is_in_section(&self, bytes: &'a [u8]) -> bool {
        /// Sections with a password are short.
        const MOST_LINES: usize = 12;
        let mut end = self.range.start;
        for _ in 0..MOST_LINES {
            let Some(stop) = end.checked_sub(1) else { return false };
            let floor = stop.saturating_sub(LONGEST_LINE);
            let start = memchr::memrchr(b'\n', &bytes[floor..stop]).map_or(floor, |at| floor + at + 1);
            match bytes[start..stop].trim_ascii() {
                [b'[', name @ .., b']'] => {
                    return !name.is_empty() && name.iter().all(|byte| is_of_name(*byte) || *byte == b' ');
                }
                [] | [b'#' | b';', ..] => {}
                _ if Self::read(bytes, start..stop).is_some_and(|line| line.sign == self.sign) => {}
                _ => return false,
            }
            end = start;
        }
        false
    }
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

#[cfg(test)]
mod tests {
    use crate::{Engine, Input};

    fn found(text: &str) -> Vec<String> {
        let engine = Engine::new(&["secrets/keyed-password"]).unwrap();
        engine.scan(&Input::new(text)).iter().map(|finding| text[finding.range.clone()].to_owned()).collect()
    }

    #[test]
    fn a_word_is_a_password_where_its_neighbours_say_who_logs_in() {
        for text in [
            "db:\n  user: shop\n  password: sunflower\n",
            "db:\n  password: sunflower\n  host: db.example.net\n",
            "- smtp_host: mail.example.net\n  smtp_password: sunflower",
            "user: shop\r\npassword: sunflower\r\n",
            "[client]\nuser = shop\npassword = sunflower\n",
            "[testpypi]\n# staging\nusername: shop\npassword: sunflower",
            "[mail]\n\npassword=sunflower\n",
        ] {
            assert_eq!(found(text), ["sunflower"], "{text}");
        }
    }

    #[test]
    fn a_word_alone_or_in_code_is_none() {
        for text in [
            "password: sunflower",
            "title: Login\npassword: sunflower\n",
            "user: shop,\npassword: sunflower\n",
            "{\n  user: shop,\n  password: sunflower\n}",
            "username: varying\npassword: varying\n",
            "username: string\npassword: string\n",
            "username: usuario\npassword: wachtwoord\n",
            "  user: shop\npassword: sunflower\n",
            "user: shop\npassword: sunflower and more\n",
            "user = shop\npassword = sunflower\n",
            "[1, 2]\nuser = shop\npassword = sunflower\n",
            "x = [\n    a\n]\npassword = sunflower\n",
            "user: root\npassword: secret\n",
            "password: sunflower\n",
            "",
        ] {
            assert_eq!(found(text), [""; 0], "{text}");
        }
    }
}
