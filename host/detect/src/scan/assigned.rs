//! Values that are known by their name.

use std::ops::Range;

use super::{LONGEST_JUDGED, Scan};
use crate::beside;
use crate::documented::{self, Named};
use crate::keyed::{self, Assignment, Join};
use crate::names::{NameRule, opens_nothing};
use crate::publishable::is_publishable_place;
use crate::settings;

impl Scan<'_> {
    /// Judges a value by its name, the place of both, and what joins them.
    pub(super) fn assigned(&mut self, index: usize, names: &NameRule, found: &Assignment) {
        let name = &self.text[found.name.clone()];
        if self.any_word(index, name, found)
            || !names.takes(name)
            || opens_nothing(name)
            || is_publishable_place(&self.bytes()[..found.name.start])
            || is_encoded(&self.bytes()[..found.name.start])
            || beside::is_of_resource(&self.bytes()[..found.name.start])
            || self.is_numbered(found)
            || spells_its_name(name, &self.text.as_bytes()[found.value.clone()])
        {
            return;
        }
        // `PASSWORD=word` is an environment file, `password=word` may be code.
        let environment = found.join == Join::Operator && !name.bytes().any(|b| b.is_ascii_lowercase());
        // What a sentence quotes is a literal: `the password is "braunkohl"`.
        let literal = found.quoted && found.join != Join::Blank;
        // `--password=word` was typed for a shell.
        let option = found.join == Join::Operator && name.starts_with("--");
        let sure = literal || environment || option || found.join == Join::Tag;
        let asks_password = self.engine.rows[index].has_check("password");
        let sure = sure || (asks_password && settings::is_set(self.bytes(), found));
        let mut value = found.value.clone();
        let judged = value.len().min(LONGEST_JUDGED);
        if value.len() == keyed::MAX_BARE {
            value.end = self.word_end(value.end);
        }
        let before = before_in_line(self.text, found.name.start);
        let hits = self.hits.len();
        self.value(index, (before, name), value, judged, sure);
        if found.join == Join::Attached {
            // The sign between them is of base64 too, and may be the value's own.
            let from = found.value.start - 1;
            self.hits[hits..].iter_mut().for_each(|hit| hit.range.start = hit.range.start.min(from));
        }
    }

    /// In prose and in argument lists, what stands beside a name may be any word.
    fn any_word(&self, index: usize, name: &str, found: &Assignment) -> bool {
        /// A token without a sign between it and its name is long; shorter words are words.
        const LEAST_BESIDE_NAME: usize = 17;
        let password = self.engine.rows[index].has_check("password");
        let string = found.quoted && self.bytes()[found.value.start - 1] != b'`';
        // Of `parser.pass("…")` the method alone says what it takes.
        let method = name.rsplit('.').next().unwrap_or(name);
        match found.join {
            Join::Call if password => !string || method.len() < 8 || self.is_one_of_many(found),
            Join::Blank if password => !string,
            Join::Blank if !string && is_key_id(&self.bytes()[found.value.clone()]) => true,
            Join::Call | Join::Blank => !string && found.value.len() < LEAST_BESIDE_NAME,
            _ => false,
        }
    }

    /// `CREATE_PASS = 1010,`: one of the numbers that code gives its constants.
    fn is_numbered(&self, found: &Assignment) -> bool {
        const LONGEST: usize = 5;
        let value = &self.bytes()[found.value.clone()];
        let ends = matches!(self.bytes().get(found.value.end), Some(b',' | b';'));
        ends && !found.quoted && value.len() <= LONGEST && value.iter().all(u8::is_ascii_digit)
    }

    /// A word with more arguments behind it: `find_password("service", "account")`.
    fn is_one_of_many(&self, found: &Assignment) -> bool {
        let value = &self.bytes()[found.value.clone()];
        let rest = &self.bytes()[found.value.end..];
        let quoted = rest.strip_prefix(b"\\").unwrap_or(rest);
        value.iter().all(u8::is_ascii_alphabetic) && matches!(quoted, [b'"' | b'\'', b',', ..])
    }

    /// The value of a name that the row takes, but for what no service that the name speaks of has
    /// issued.
    pub(super) fn value(
        &mut self,
        index: usize,
        (before, name): (&str, &str),
        range: Range<usize>,
        judged: usize,
        sure: bool,
    ) {
        let hits = self.hits.len();
        self.judge_value(index, range, judged, sure);
        let Some(hit) = self.hits.get(hits).filter(|hit| !hit.published) else { return };
        let token = self.engine.rows[index].asks_for_token();
        if documented::excludes(&Named { name, before, value: &self.text[hit.range.clone()], token }) {
            self.hits.truncate(hits);
        }
    }

    /// The row's regex, where it has one, must take the whole of the value.
    fn judge_value(&mut self, index: usize, range: Range<usize>, judged: usize, sure: bool) {
        let row = &*self.engine.rows[index];
        if !row.has_regex() {
            return self.accept(index, range, judged, sure);
        }
        if !row.lengths().allow(range.len()) {
            return;
        }
        if let Some(found) = row.find(&self.bytes()[range.clone()]) {
            let secret = range.start + found.secret.start..range.start + found.secret.end;
            self.accept(index, secret.clone(), secret.len(), sure);
        }
    }
}

/// Gives what stands before a name in its line, or as much of it as tells. A line may be a string of
/// JSON, or begin in one.
fn before_in_line(text: &str, at: usize) -> &str {
    const MUCH: usize = 64;
    const BEGINNINGS: [&str; 4] = ["\n", "\\n", ":\"", ": \""];
    let before = &text[text.ceil_char_boundary(at.saturating_sub(MUCH))..at];
    let begins = BEGINNINGS.iter().filter_map(|sign| before.rfind(sign).map(|place| place + sign.len()));
    &before[begins.max().unwrap_or(0)..]
}

/// Whether a name begins where no name does, as in a line of an encoded block.
fn is_encoded(before: &[u8]) -> bool {
    matches!(before, [.., b']' | b')' | b'^' | b'~'])
}

/// `using RSA key 1A2B…`: GnuPG says which key by the last eight bytes of its fingerprint, or by all
/// twenty.
fn is_key_id(value: &[u8]) -> bool {
    matches!(value.len(), 16 | 40) && value.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'A'..=b'F'))
}

/// The value is the name once more, in another notation: `AT_PKCS15_TOKEN, "at-pkcs15Token"`.
fn spells_its_name(name: &str, value: &[u8]) -> bool {
    /// Shorter ends of names are words.
    const LEAST: usize = 6;
    if !(LEAST..=name.len() * 2).contains(&value.len()) {
        return false;
    }
    let letters = |text: &'_ [u8]| -> Vec<u8> {
        let spelled = text.iter().filter(|byte| byte.is_ascii_alphanumeric());
        spelled.map(u8::to_ascii_lowercase).collect()
    };
    let value = letters(value);
    value.len() >= LEAST && letters(name.as_bytes()).ends_with(&value)
}
