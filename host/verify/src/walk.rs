//! A walk over JSON text that names every position and can rewrite any of them.
//!
//! The walk copies everything else byte for byte: spaces, escapes, the spelling of numbers, the
//! order of keys, duplicate keys. A string that is wholly a JSON object or array is walked as well,
//! four levels deep, and its positions continue the pointer of the string. The gate promises the
//! same. It is written here a second time and in another manner (recursive descent that copies,
//! where the gate indexes), so that one mistake does not hide another.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::ops::Range;

use leafgate_words::words;
use serde::Serialize;

use crate::spelling::{quote, unescape};

/// Documents in strings in documents that are walked.
pub const EMBEDDED_LEVELS: usize = 4;

/// Containers around a value, those around its string included. Deeper texts are no documents here.
pub const DEPTH: usize = 200;

words! {
    /// The kind of a position.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum PositionKind {
        /// A string.
        Text = "text",
        /// A number.
        Number = "number",
        /// `true` or `false`.
        Boolean = "boolean",
        /// `null`.
        Null = "null",
        /// The key of a member; the position's pointer is that of the member.
        Key = "key",
        /// A string that is wholly an object or an array. Its values follow as positions of their own.
        Document = "document",
    }
    /// Returns what tables say.
    pub fn word = 0;
}

impl PositionKind {
    /// Returns whether it is a scalar that holds no document.
    pub fn is_leaf(self) -> bool {
        !matches!(self, PositionKind::Key | PositionKind::Document)
    }
}

/// A position of a body.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WalkPosition {
    /// RFC 6901 pointer, continued through strings that hold documents.
    pub pointer: String,
    /// How many positions of the same kind and pointer came before: above 0 only if an object has a
    /// key twice.
    pub occurrence: usize,
    /// Its kind.
    pub what: PositionKind,
    /// How many strings that hold documents are around it.
    pub level: usize,
}

/// A position during a walk, with its content: decoded text, or the spelling of a value that is no
/// string.
pub struct WalkPlace<'w> {
    /// Where it is.
    pub position: WalkPosition,
    /// The present content.
    pub text: &'w str,
    /// The key of the nearest member around it, or "".
    pub key: &'w str,
}

/// The new content of a position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Replacement {
    /// A string with this text.
    Text(String),
    /// This spelling, which must be valid JSON.
    Spelled(String),
}

/// The text is no JSON by RFC 8259, or nested too deeply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not JSON: expected {expected} at byte {at}")]
pub struct NotJson {
    /// Byte offset, in the body or in the document inside a string.
    pub at: usize,
    /// What RFC 8259 would have allowed.
    pub expected: &'static str,
}

/// Every position of a body, in body order; keys before their values.
///
/// # Errors
/// Where the body is no JSON.
pub fn positions(body: &str) -> Result<Vec<WalkPosition>, NotJson> {
    let mut positions = Vec::new();
    rewrite(body, &mut |place| {
        positions.push(place.position.clone());
        None
    })?;
    Ok(positions)
}

/// Copies a body and replaces each position for which `visit` returns a replacement. A replacement
/// of a document replaces the whole string, and the positions inside are not visited.
///
/// # Errors
/// Where the body is no JSON.
pub fn rewrite(body: &str, visit: &mut Visit<'_>) -> Result<String, NotJson> {
    // A byte order mark is white space to most servers, and to the gate.
    let text = body.strip_prefix('\u{feff}').unwrap_or(body);
    let mut way = WalkPath::default();
    let copy = JsonWalk::over(text, &mut way, 0, 0, Some(visit)).whole()?;
    Ok(format!("{}{copy}", &body[..body.len() - text.len()]))
}

/// Is asked at each position.
pub type Visit<'v> = dyn FnMut(&WalkPlace<'_>) -> Option<Replacement> + 'v;

/// The path to the present value, and how often each position has been passed.
#[derive(Default)]
struct WalkPath {
    pointer: String,
    keys: Vec<String>,
    passed: HashMap<(String, bool), usize>,
}

impl WalkPath {
    fn position(&mut self, what: PositionKind, level: usize) -> WalkPosition {
        let passed = self.passed.entry((self.pointer.clone(), what == PositionKind::Key)).or_default();
        // A document inside a string has the pointer of the string: its root is no position of its
        // own.
        let occurrence = *passed;
        *passed += 1;
        WalkPosition { pointer: self.pointer.clone(), occurrence, what, level }
    }
}

/// One text that is copied: the body, or the content of a string.
struct JsonWalk<'t, 'w, 'v> {
    text: &'t str,
    at: usize,
    /// How much of the text has been copied.
    copied: usize,
    copy: String,
    way: &'w mut WalkPath,
    depth: usize,
    level: usize,
    /// `None`: the walk only checks whether the text is JSON.
    visit: Option<&'w mut Visit<'v>>,
}

impl<'t, 'w, 'v> JsonWalk<'t, 'w, 'v> {
    fn over(
        text: &'t str,
        way: &'w mut WalkPath,
        depth: usize,
        level: usize,
        visit: Option<&'w mut Visit<'v>>,
    ) -> Self {
        JsonWalk { text, at: 0, copied: 0, copy: String::new(), way, depth, level, visit }
    }

    /// Walks the whole text and returns its copy.
    fn whole(mut self) -> Result<String, NotJson> {
        self.space();
        self.value()?;
        self.space();
        if self.at < self.text.len() {
            return self.fail("the end");
        }
        self.copy.push_str(&self.text[self.copied..]);
        Ok(self.copy)
    }

    fn value(&mut self) -> Result<(), NotJson> {
        match self.peek() {
            Some(b'{') => self.container(b'}', Self::members),
            Some(b'[') => self.container(b']', Self::elements),
            Some(b'"') => self.string(),
            Some(b't') => self.scalar(PositionKind::Boolean, |walk| walk.word("true")),
            Some(b'f') => self.scalar(PositionKind::Boolean, |walk| walk.word("false")),
            Some(b'n') => self.scalar(PositionKind::Null, |walk| walk.word("null")),
            Some(b'-' | b'0'..=b'9') => self.scalar(PositionKind::Number, Self::number),
            _ => self.fail("a value"),
        }
    }

    fn container(&mut self, close: u8, inside: fn(&mut Self) -> Result<(), NotJson>) -> Result<(), NotJson> {
        if self.depth >= DEPTH {
            return self.fail("fewer levels");
        }
        self.depth += 1;
        self.at += 1;
        self.space();
        if self.peek() != Some(close) {
            inside(self)?;
        }
        self.expect(close, "`,` or the end of the container")?;
        self.depth -= 1;
        Ok(())
    }

    fn members(&mut self) -> Result<(), NotJson> {
        loop {
            let start = self.at;
            if self.peek() != Some(b'"') {
                return self.fail("a key");
            }
            let key = unescape(self.quoted()?);
            let around = self.way.pointer.len();
            self.step(&key.replace('~', "~0").replace('/', "~1"));
            self.way.keys.push(key);
            self.ask(PositionKind::Key, start..self.at);
            self.space();
            self.expect(b':', "`:`")?;
            self.space();
            self.value()?;
            self.way.keys.pop();
            self.way.pointer.truncate(around);
            if !self.comma() {
                return Ok(());
            }
        }
    }

    fn elements(&mut self) -> Result<(), NotJson> {
        for index in 0.. {
            let around = self.way.pointer.len();
            self.step(&index.to_string());
            self.value()?;
            self.way.pointer.truncate(around);
            if !self.comma() {
                break;
            }
        }
        Ok(())
    }

    fn step(&mut self, segment: &str) {
        // A walk that only checks for JSON needs no pointer.
        if self.visit.is_some() {
            let _ = write!(self.way.pointer, "/{segment}");
        }
    }

    fn scalar(
        &mut self,
        what: PositionKind,
        spelling: fn(&mut Self) -> Result<(), NotJson>,
    ) -> Result<(), NotJson> {
        let start = self.at;
        spelling(self)?;
        self.ask(what, start..self.at);
        Ok(())
    }

    fn string(&mut self) -> Result<(), NotJson> {
        let start = self.at;
        let raw = self.quoted()?;
        if self.visit.is_none() {
            return Ok(());
        }
        let text = unescape(raw);
        if self.level >= EMBEDDED_LEVELS || !is_document(&text, self.depth) {
            self.ask(PositionKind::Text, start..self.at);
            return Ok(());
        }
        if !self.ask(PositionKind::Document, start..self.at) {
            let visit = self.visit.as_deref_mut();
            let inner = JsonWalk::over(&text, self.way, self.depth, self.level + 1, visit).whole()?;
            if inner != text {
                self.write(start..self.at, &quote(&inner));
            }
        }
        Ok(())
    }

    /// Asks for the replacement of a position that has just been stepped over. Returns true if it
    /// was rewritten.
    fn ask(&mut self, what: PositionKind, span: Range<usize>) -> bool {
        let spelling = &self.text[span.clone()];
        let Some(visit) = self.visit.as_deref_mut() else { return false };
        let unquoted = spelling.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).map(unescape);
        let position = self.way.position(what, self.level);
        let keys = &self.way.keys;
        let key = keys.last().map_or("", String::as_str);
        let place = WalkPlace { position, text: unquoted.as_deref().unwrap_or(spelling), key };
        match visit(&place) {
            None => return false,
            Some(Replacement::Text(text)) => self.write(span, &quote(&text)),
            Some(Replacement::Spelled(spelling)) => self.write(span, &spelling),
        }
        true
    }

    fn write(&mut self, span: Range<usize>, new: &str) {
        self.copy.push_str(&self.text[self.copied..span.start]);
        self.copy.push_str(new);
        self.copied = span.end;
    }

    /// Steps over a string and returns its spelling without the quotes.
    fn quoted(&mut self) -> Result<&'t str, NotJson> {
        self.at += 1;
        let start = self.at;
        loop {
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => self.escape()?,
                Some(0..0x20) | None => return self.fail("the rest of a string"),
                Some(_) => self.at += 1,
            }
        }
        self.at += 1;
        Ok(&self.text[start..self.at - 1])
    }

    fn escape(&mut self) -> Result<(), NotJson> {
        self.at += 1;
        match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 1,
            Some(b'u') => {
                let digits = self.text.as_bytes().get(self.at + 1..self.at + 5);
                if !digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)) {
                    return self.fail("four hexadecimal digits");
                }
                self.at += 5;
            }
            _ => return self.fail("an escape"),
        }
        Ok(())
    }

    fn number(&mut self) -> Result<(), NotJson> {
        self.at += usize::from(self.peek() == Some(b'-'));
        match self.peek() {
            Some(b'0') => self.at += 1,
            _ => self.digits()?,
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), Some(b'+' | b'-')));
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), NotJson> {
        let digits = self.text[self.at..].bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 {
            return self.fail("a digit");
        }
        self.at += digits;
        Ok(())
    }

    fn word(&mut self, word: &'static str) -> Result<(), NotJson> {
        if !self.text[self.at..].starts_with(word) {
            return self.fail(word);
        }
        self.at += word.len();
        Ok(())
    }

    /// Steps over a comma and the spaces around it. Returns false if there is none.
    fn comma(&mut self) -> bool {
        self.space();
        let found = self.peek() == Some(b',');
        if found {
            self.at += 1;
            self.space();
        }
        found
    }

    fn expect(&mut self, byte: u8, expected: &'static str) -> Result<(), NotJson> {
        if self.peek() != Some(byte) {
            return self.fail(expected);
        }
        self.at += 1;
        Ok(())
    }

    fn space(&mut self) {
        let rest = self.text[self.at..].bytes();
        self.at += rest.take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count();
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn fail<T>(&self, expected: &'static str) -> Result<T, NotJson> {
        Err(NotJson { at: self.at, expected })
    }
}

/// Returns whether a text is wholly a JSON object or array.
fn is_document(text: &str, depth: usize) -> bool {
    text.trim_start_matches([' ', '\t', '\n', '\r']).starts_with(['{', '['])
        && JsonWalk::over(text, &mut WalkPath::default(), depth, 0, None).whole().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(body: &str) -> Vec<String> {
        let show = |position: WalkPosition| {
            format!("{}#{} {:?} {}", position.pointer, position.occurrence, position.what, position.level)
        };
        positions(body).unwrap().into_iter().map(show).collect()
    }

    #[test]
    fn positions_run_through_strings_and_count_keys_that_stand_twice() {
        let body = r#"{"a": "{\"b/~\": [1, null]}", "a": true, "c": ["{}", "{not"]}"#;
        assert_eq!(
            shown(body),
            [
                "/a#0 Key 0",
                "/a#0 Document 0",
                "/a/b~1~0#0 Key 1",
                "/a/b~1~0/0#0 Number 1",
                "/a/b~1~0/1#0 Null 1",
                "/a#1 Key 0",
                "/a#1 Boolean 0",
                "/c#0 Key 0",
                "/c/0#0 Document 0",
                "/c/1#0 Text 0",
            ]
        );
    }

    #[test]
    fn below_four_levels_a_document_is_a_text() {
        let nested = (0..5).fold("[7]".to_owned(), |inner, _| format!("[{}]", quote(&inner)));
        let found = positions(&nested).unwrap();
        let leaf = found.last().unwrap();
        assert_eq!((leaf.what, leaf.level, leaf.pointer.as_str()), (PositionKind::Text, 4, "/0/0/0/0/0"));
    }

    #[test]
    fn a_document_is_found_however_its_brackets_are_spelled() {
        let found = positions(r#"["\u007b\"k\":1}", " \n[]", "\ufeff[]", "[] x"]"#).unwrap();
        let what: Vec<_> = found.iter().map(|position| position.what).collect();
        assert_eq!(
            what,
            [
                PositionKind::Document,
                PositionKind::Key,
                PositionKind::Number,
                PositionKind::Document,
                PositionKind::Text,
                PositionKind::Text
            ]
        );
    }

    #[test]
    fn what_is_rewritten_is_all_that_changes() {
        let body = r#" {"a" :"x\/\udead", "b":"{ \"c\": 1.50 }" } "#;
        let unchanged = rewrite(body, &mut |_| None).unwrap();
        assert_eq!(unchanged, body);
        let changed = rewrite(body, &mut |place| {
            (place.position.pointer == "/b/c" && place.position.what == PositionKind::Number)
                .then(|| Replacement::Text("\"new\"".to_owned()))
        });
        assert_eq!(changed.unwrap(), r#" {"a" :"x\/\udead", "b":"{ \"c\": \"\\\"new\\\"\" }" } "#);
    }

    #[test]
    fn what_is_no_json_is_refused_where_it_stops() {
        for (body, at) in [("", 0), ("[1,]", 3), ("{\"a\" 1}", 5), ("[01]", 2), ("[1] x", 4), ("\"\n\"", 1)] {
            assert_eq!(positions(body).unwrap_err().at, at, "{body:?}");
        }
        let deep = "[".repeat(DEPTH + 1);
        assert_eq!(positions(&deep).unwrap_err().at, DEPTH);
    }
}
