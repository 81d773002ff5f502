//! One pass over JSON text that notes where every value lies.
//!
//! The scanner accepts exactly the grammar of RFC 8259 (a leading byte order mark counts as white space) and keeps nothing but
//! offsets: no value is decoded, no number converted. Strings that are wholly a JSON object or array are walked in place, so that the
//! index stays in pre-order and a subtree is always one contiguous range.
//!
//! A library would be welcome here, but none keeps what the invariants need: `serde_json` and `jiter` refuse lone surrogates and hide
//! the spans of keys and duplicate members. The benchmark beside this crate compares all three.

use crate::error::{ParseError, ParseErrorKind};
use crate::escape;
use crate::marks::TextMarks;
use crate::node::{Flags, JsonKind, LayerId, NONE, Node, NodeId, TextLayer};

/// Caps on what one body may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Values and containers, those of embedded documents included. A million is some forty megabytes of index.
    pub nodes: usize,
    /// Nested containers. Real requests stay under thirty; deeper text is an attack on whoever walks it recursively.
    pub depth: usize,
    /// Documents in strings in documents. Beyond it a string is an ordinary leaf.
    pub embedded: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { nodes: 1_000_000, depth: 200, embedded: 4 }
    }
}

/// What a scan found: nodes in pre-order and the texts that they lie in.
pub(crate) struct ScannedText {
    pub(crate) nodes: Vec<Node>,
    /// The texts of embedded documents, by the places of their layers.
    pub(crate) layers: Vec<TextLayer>,
}

/// Scans a whole body.
pub(crate) fn scan(source: &str, limits: &Limits) -> Result<ScannedText, ParseError> {
    let fail = |(kind, offset)| ParseError::at(kind, source.as_bytes(), offset);
    if u32::try_from(source.len()).is_err() {
        return Err(fail((ParseErrorKind::TooLarge, 0)));
    }
    // A guess that fits most requests: texts are long, and a list that grows is copied at most twice.
    let nodes = Vec::with_capacity((source.len() / 128 + 8).min(limits.nodes));
    let mut builder = Builder { nodes, layers: Vec::new(), limits, decoded_left: source.len() };
    builder.text(source, ScanPlace { layer: LayerId::BODY, outer: NONE, depth: 0 }).map_err(fail)?;
    Ok(ScannedText { nodes: builder.nodes, layers: builder.layers })
}

/// Where a text hangs in the tree.
#[derive(Clone, Copy)]
struct ScanPlace {
    layer: LayerId,
    /// The string node that it is the content of.
    outer: u32,
    /// Containers around it.
    depth: usize,
}

type ScanFailure = (ParseErrorKind, usize);

struct Builder<'l> {
    nodes: Vec<Node>,
    layers: Vec<TextLayer>,
    limits: &'l Limits,
    /// Bytes that may still be decoded for embedded documents: all levels together at most the body's own size.
    decoded_left: usize,
}

impl Builder<'_> {
    /// Indexes one text: the body, or the content of a string.
    fn text(&mut self, text: &str, place: ScanPlace) -> Result<(), ScanFailure> {
        let mut cursor = Cursor::new(text);
        if place.layer == LayerId::BODY && cursor.bytes.starts_with(b"\xEF\xBB\xBF") {
            cursor.at = 3;
        }
        cursor.skip_space();
        self.values(text, &mut cursor, place)?;
        cursor.skip_space();
        if cursor.at < cursor.bytes.len() {
            return Err((ParseErrorKind::Syntax("the end of the text"), cursor.at));
        }
        Ok(())
    }

    /// Indexes one value and all below it, with a stack of its own instead of recursion.
    fn values(&mut self, text: &str, cursor: &mut Cursor<'_>, place: ScanPlace) -> Result<(), ScanFailure> {
        let mut open: Vec<OpenContainer> = Vec::new();
        let mut key = KeySpan::NONE;
        let mut parent = place.outer;
        let mut slot = 0;
        loop {
            let start = cursor.at;
            let kind = cursor.value_kind()?;
            let mut node = Node::new(kind, start, key.span, parent, slot, place.layer);
            if key.escaped {
                node.flags.set(Flags::KEY_ESCAPED);
            }
            let id = self.push(node, start)?;
            if let JsonKind::Object | JsonKind::Array = kind {
                if open.len() + place.depth >= self.limits.depth {
                    return Err((ParseErrorKind::TooDeep { limit: self.limits.depth }, start));
                }
                cursor.at += 1;
                cursor.skip_space();
                if cursor.peek() != Some(kind.closer()) {
                    open.push(OpenContainer { id, kind, slot: 0 });
                    key = if kind == JsonKind::Object { cursor.key()? } else { KeySpan::NONE };
                    (parent, slot) = (id, 0);
                    continue;
                }
                cursor.at += 1;
                self.close(id, cursor.at);
            } else {
                self.scalar(text, cursor, id, ScanPlace { depth: open.len() + place.depth, ..place })?;
            }
            if !self.next_sibling(cursor, &mut open, &mut key, &mut parent, &mut slot)? {
                return Ok(());
            }
        }
    }

    /// Steps over what follows a value, closing containers; false when the outermost value has ended.
    fn next_sibling(
        &mut self,
        cursor: &mut Cursor<'_>,
        open: &mut Vec<OpenContainer>,
        key: &mut KeySpan,
        parent: &mut u32,
        slot: &mut u32,
    ) -> Result<bool, ScanFailure> {
        loop {
            let Some(top) = open.last_mut() else { return Ok(false) };
            cursor.skip_space();
            match cursor.peek() {
                Some(b',') => {
                    cursor.at += 1;
                    cursor.skip_space();
                    top.slot += 1;
                    *key = if top.kind == JsonKind::Object { cursor.key()? } else { KeySpan::NONE };
                    (*parent, *slot) = (top.id, top.slot);
                    return Ok(true);
                }
                Some(byte) if byte == top.kind.closer() => {
                    cursor.at += 1;
                    let id = top.id;
                    open.pop();
                    self.close(id, cursor.at);
                }
                Some(_) => {
                    let expected = if top.kind == JsonKind::Object { "`,` or `}`" } else { "`,` or `]`" };
                    return Err((ParseErrorKind::Syntax(expected), cursor.at));
                }
                None => return Err((ParseErrorKind::Truncated, cursor.at)),
            }
        }
    }

    /// Steps over a string, number, boolean or null that starts at the cursor.
    fn scalar(
        &mut self,
        text: &str,
        cursor: &mut Cursor<'_>,
        id: u32,
        place: ScanPlace,
    ) -> Result<(), ScanFailure> {
        match self.nodes[id as usize].kind {
            JsonKind::String => {
                let escaped = cursor.string()?;
                let (start, end) = (self.nodes[id as usize].start as usize, cursor.at);
                if escaped {
                    self.nodes[id as usize].flags.set(Flags::ESCAPED);
                }
                self.close(id, end);
                self.embedded(&text[start + 1..end - 1], id, escaped, place);
            }
            JsonKind::Number => {
                cursor.number()?;
                self.close(id, cursor.at);
            }
            JsonKind::True => self.literal(cursor, b"true", id)?,
            JsonKind::False => self.literal(cursor, b"false", id)?,
            _ => self.literal(cursor, b"null", id)?,
        }
        Ok(())
    }

    fn literal(&mut self, cursor: &mut Cursor<'_>, word: &'static [u8], id: u32) -> Result<(), ScanFailure> {
        if !cursor.bytes[cursor.at..].starts_with(word) {
            let ended = cursor.bytes.len() - cursor.at < word.len();
            let kind = if ended { ParseErrorKind::Truncated } else { ParseErrorKind::Syntax("a value") };
            return Err((kind, cursor.at));
        }
        cursor.at += word.len();
        self.close(id, cursor.at);
        Ok(())
    }

    /// Walks a string's content as a document of its own where it is one, and forgets the attempt where it is none.
    ///
    /// The strings of one level are disjoint parts of the level above, so all attempts together cost at most as many passes over the
    /// body as there are levels.
    fn embedded(&mut self, raw: &str, id: u32, escaped: bool, place: ScanPlace) {
        let Some(b'{' | b'[') = first_byte(raw) else { return };
        if self.level(id) >= self.limits.embedded || raw.len() > self.decoded_left {
            self.nodes[id as usize].flags.set(Flags::BEYOND_CAPS);
            return;
        }
        let decoded = if escaped { escape::unescape(raw) } else { raw.to_owned() };
        let (nodes, layers, decoded_left) = (self.nodes.len(), self.layers.len(), self.decoded_left);
        self.decoded_left -= decoded.len();
        self.layers.push(TextLayer { text: String::new(), outer: NodeId(id) });
        let inner = ScanPlace { layer: LayerId::embedded(layers), outer: id, depth: place.depth };
        match self.text(&decoded, inner) {
            Ok(()) => {
                self.layers[layers].text = decoded;
                let next = self.nodes.len() as u32;
                let node = &mut self.nodes[id as usize];
                node.flags.set(Flags::EMBEDS);
                node.next = next;
            }
            Err((kind, _)) => {
                self.nodes.truncate(nodes);
                self.layers.truncate(layers);
                self.decoded_left = decoded_left;
                if matches!(kind, ParseErrorKind::TooDeep { .. } | ParseErrorKind::TooManyNodes { .. }) {
                    self.nodes[id as usize].flags.set(Flags::BEYOND_CAPS);
                }
            }
        }
    }

    /// How many embedded documents a node lies in.
    fn level(&self, id: u32) -> usize {
        let mut layer = self.nodes[id as usize].layer;
        let mut level = 0;
        while let Some(place) = layer.place() {
            level += 1;
            layer = self.nodes[self.layers[place].outer.index()].layer;
        }
        level
    }

    fn push(&mut self, node: Node, offset: usize) -> Result<u32, ScanFailure> {
        if self.nodes.len() >= self.limits.nodes {
            return Err((ParseErrorKind::TooManyNodes { limit: self.limits.nodes }, offset));
        }
        self.nodes.push(node);
        Ok(self.nodes.len() as u32 - 1)
    }

    fn close(&mut self, id: u32, end: usize) {
        let next = self.nodes.len() as u32;
        let node = &mut self.nodes[id as usize];
        node.end = end as u32;
        node.next = next;
    }
}

/// The key of a member: where it lies, quotes included, and whether it has an escape.
#[derive(Clone, Copy)]
struct KeySpan {
    span: (u32, u32),
    escaped: bool,
}

impl KeySpan {
    /// An element of an array has none.
    const NONE: KeySpan = KeySpan { span: (0, 0), escaped: false };
}

/// A container whose end has not been seen yet.
struct OpenContainer {
    id: u32,
    kind: JsonKind,
    slot: u32,
}

/// The first byte of a string's content that is no white space, however it and the space before it are spelled.
fn first_byte(raw: &str) -> Option<u8> {
    let mut rest = raw.as_bytes();
    loop {
        let byte;
        (byte, rest) = match rest {
            [b'\\', b'n' | b't' | b'r', tail @ ..] => (b' ', tail),
            [b'\\', b'u', b'0', b'0', high, low, tail @ ..] => (hex(*high) << 4 | hex(*low), tail),
            [byte, tail @ ..] => (*byte, tail),
            [] => return None,
        };
        if !matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
            return Some(byte);
        }
    }
}

/// What a hexadecimal digit counts. The scanner has checked that it is one.
fn hex(digit: u8) -> u8 {
    char::from(digit).to_digit(16).map_or(0, |value| value as u8)
}

struct Cursor<'t> {
    bytes: &'t [u8],
    at: usize,
    marks: TextMarks<'t>,
}

impl<'t> Cursor<'t> {
    fn new(text: &'t str) -> Self {
        Cursor { bytes: text.as_bytes(), at: 0, marks: TextMarks::new(text.as_bytes()) }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    fn value_kind(&self) -> Result<JsonKind, ScanFailure> {
        Ok(match self.peek() {
            Some(b'"') => JsonKind::String,
            Some(b'{') => JsonKind::Object,
            Some(b'[') => JsonKind::Array,
            Some(b'-' | b'0'..=b'9') => JsonKind::Number,
            Some(b't') => JsonKind::True,
            Some(b'f') => JsonKind::False,
            Some(b'n') => JsonKind::Null,
            Some(_) => return Err((ParseErrorKind::Syntax("a value"), self.at)),
            None => return Err((ParseErrorKind::Truncated, self.at)),
        })
    }

    /// Steps over `"key" :`.
    fn key(&mut self) -> Result<KeySpan, ScanFailure> {
        match self.peek() {
            Some(b'"') => {}
            Some(_) => return Err((ParseErrorKind::Syntax("a key in quotes"), self.at)),
            None => return Err((ParseErrorKind::Truncated, self.at)),
        }
        let start = self.at;
        let escaped = self.string()?;
        let span = (start as u32, self.at as u32);
        self.skip_space();
        match self.peek() {
            Some(b':') => self.at += 1,
            Some(_) => return Err((ParseErrorKind::Syntax("`:`"), self.at)),
            None => return Err((ParseErrorKind::Truncated, self.at)),
        }
        self.skip_space();
        Ok(KeySpan { span, escaped })
    }

    /// Steps over a string that starts at the cursor; true if it holds an escape.
    fn string(&mut self) -> Result<bool, ScanFailure> {
        let mut at = self.at + 1;
        let mut escaped = false;
        loop {
            at = self.marks.next(at);
            match self.bytes.get(at) {
                Some(b'"') => {
                    self.at = at + 1;
                    return Ok(escaped);
                }
                Some(b'\\') => {
                    escaped = true;
                    at = self.escape(at)?;
                }
                Some(_) => return Err((ParseErrorKind::Syntax("an escaped control character"), at)),
                None => return Err((ParseErrorKind::Truncated, self.bytes.len())),
            }
        }
    }

    /// Steps over one escape sequence (RFC 8259, section 7) and returns the offset behind it.
    fn escape(&self, at: usize) -> Result<usize, ScanFailure> {
        match self.bytes.get(at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(at + 2),
            Some(b'u') => match self.bytes.get(at + 2..at + 6) {
                Some(digits) if digits.iter().all(u8::is_ascii_hexdigit) => Ok(at + 6),
                Some(_) => Err((ParseErrorKind::Syntax("four hexadecimal digits"), at + 2)),
                None => Err((ParseErrorKind::Truncated, self.bytes.len())),
            },
            Some(_) => Err((ParseErrorKind::Syntax("an escape sequence of JSON"), at)),
            None => Err((ParseErrorKind::Truncated, self.bytes.len())),
        }
    }

    /// Steps over a number (RFC 8259, section 6).
    fn number(&mut self) -> Result<(), ScanFailure> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            _ => self.digits()?,
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), ScanFailure> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        match (self.at > start, self.peek()) {
            (true, _) => Ok(()),
            (false, Some(_)) => Err((ParseErrorKind::Syntax("a digit"), self.at)),
            (false, None) => Err((ParseErrorKind::Truncated, self.at)),
        }
    }
}

/// Whether a text is exactly the JSON spelling of a number, a boolean or null.
pub(crate) fn is_bare_scalar(text: &str) -> bool {
    let mut cursor = Cursor::new(text);
    match text {
        "true" | "false" | "null" => true,
        _ => {
            matches!(cursor.peek(), Some(b'-' | b'0'..=b'9'))
                && cursor.number().is_ok()
                && cursor.at == text.len()
        }
    }
}
