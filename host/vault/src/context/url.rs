//! Watches for URLs in the text: those with a scheme, and those that programs recognise without
//! one.
//!
//! A URL begins with `//` anywhere, so that the scheme does not matter; with two backslashes at the
//! start of a word (a Windows share); with `www.`; with a scheme that works without slashes; with a
//! word that has a dot and then a slash, `?` or `#` (`evil.example/x`); or with a character
//! reference, which may hide any of these (`http&#58;`).
//!
//! A URL ends at whitespace and at `<`. It does not end at a bracket or a quote: programs that link
//! bare URLs take `http://evil/?q="EMAIL_…"` whole. One exception: a quote before the word that
//! closes behind it and is followed by a comma, perhaps after closing brackets, is a string in a
//! list, as in JSON answers without whitespace.

use super::is_space;

/// Schemes that are followed without `//`. Others need it and are seen by it.
const SCHEMES: &[&[u8]] = &[
    b"blob",
    b"data",
    b"file",
    b"ftp",
    b"ftps",
    b"geo",
    b"http",
    b"https",
    b"javascript",
    b"mailto",
    b"sms",
    b"tel",
    b"vbscript",
    b"vscode",
    b"ws",
    b"wss",
    b"xmpp",
];

/// Length of the longest of them.
const LONGEST: usize = 10;

#[derive(Clone, Copy, Default, PartialEq)]
pub(super) struct Url {
    place: UrlState,
    word: UrlWord,
}

#[derive(Clone, Copy, Default, PartialEq)]
enum UrlState {
    #[default]
    Outside,
    /// In a URL that began behind this quote.
    Inside(Option<u8>),
    /// Behind the quote that closed it, unless the next byte continues the URL.
    Closed(Option<u8>),
}

/// The bytes read of a word that may become a URL.
#[derive(Clone, Copy, Default, PartialEq)]
struct UrlWord {
    /// The quote before the word.
    quote: Option<u8>,
    /// Bytes read.
    length: usize,
    previous: u8,
    /// The letters and digits at its end, in lower case; `run_length` is above `LONGEST` when there
    /// were too many.
    run: [u8; LONGEST],
    run_length: usize,
    host: Host,
    reference: Reference,
}

/// How much of a host name a word has so far.
#[derive(Default, Clone, Copy, PartialEq)]
enum Host {
    #[default]
    Start,
    Name,
    Dot,
    /// A name, a dot, and something after it: a slash now makes it an address.
    Dotted,
    /// A slash came first: a file's path.
    Path,
}

/// How much of a character reference has been read.
#[derive(Default, Clone, Copy, PartialEq)]
enum Reference {
    #[default]
    None,
    Ampersand,
    Body,
}

impl Url {
    pub(super) fn vetoes(&self) -> bool {
        !matches!(self.place, UrlState::Outside)
    }

    pub(super) fn step(&mut self, byte: u8) {
        match self.place {
            UrlState::Outside => {
                if self.word.begins_url(byte) {
                    self.place = UrlState::Inside(self.word.quote);
                }
            }
            UrlState::Inside(_) | UrlState::Closed(_) if is_space(byte) || byte == b'<' => self.leave(byte),
            UrlState::Inside(quote) if quote == Some(byte) => self.place = UrlState::Closed(quote),
            UrlState::Inside(_) => {}
            UrlState::Closed(_) if byte == b',' => self.leave(byte),
            UrlState::Closed(_) if matches!(byte, b')' | b']' | b'}') => {}
            UrlState::Closed(quote) => self.place = UrlState::Inside(quote),
        }
    }

    fn leave(&mut self, byte: u8) {
        self.place = UrlState::Outside;
        self.word = UrlWord::after(byte);
    }
}

impl UrlWord {
    /// Begins the word behind this byte.
    fn after(byte: u8) -> Self {
        let quote = matches!(byte, b'"' | b'\'' | b'`').then_some(byte);
        Self { quote, ..Self::default() }
    }

    /// Reads a byte. Returns true if a URL begins with or before it.
    fn begins_url(&mut self, byte: u8) -> bool {
        let begins = match byte {
            b'/' => self.previous == b'/' || self.host == Host::Dotted,
            b'?' | b'#' => self.host == Host::Dotted,
            b'\\' => self.previous == b'\\' && self.length == 1,
            b':' => SCHEMES.contains(&self.last_run()),
            b'.' => self.last_run() == b"www",
            b';' => self.reference == Reference::Body,
            _ => false,
        };
        if ends_word(byte) {
            *self = Self::after(byte);
        } else {
            self.read(byte);
        }
        begins
    }

    fn read(&mut self, byte: u8) {
        self.host = self.host.then(byte);
        self.reference = self.reference.then(byte);
        if byte.is_ascii_alphanumeric() {
            if let Some(slot) = self.run.get_mut(self.run_length) {
                *slot = byte.to_ascii_lowercase();
            }
            self.run_length = (self.run_length + 1).min(LONGEST + 1);
        } else {
            self.run_length = 0;
        }
        self.previous = byte;
        self.length = self.length.saturating_add(1);
    }

    fn last_run(&self) -> &[u8] {
        self.run.get(..self.run_length).unwrap_or_default()
    }
}

/// Returns whether a byte ends a word, so that the next word may be an address of its own.
fn ends_word(byte: u8) -> bool {
    let bracket = matches!(byte, b'(' | b')' | b'[' | b']' | b'{' | b'}' | b'<' | b'>');
    is_space(byte) || bracket || matches!(byte, b'"' | b'\'' | b'`' | b',' | b';' | b'=' | b'|')
}

impl Host {
    fn then(self, byte: u8) -> Self {
        let named = byte.is_ascii_alphanumeric() || !byte.is_ascii();
        match (self, byte) {
            (Self::Path, _) | (Self::Start | Self::Name | Self::Dot, b'/') => Self::Path,
            (Self::Start, _) if named => Self::Name,
            (Self::Name, b'.') => Self::Dot,
            (Self::Dot, _) if named => Self::Dotted,
            (Self::Dot, _) => Self::Name,
            (other, _) => other,
        }
    }
}

impl Reference {
    fn then(self, byte: u8) -> Self {
        match (self, byte) {
            (_, b'&') => Self::Ampersand,
            (Self::Ampersand | Self::Body, b'#') => Self::Body,
            (Self::Ampersand | Self::Body, _) if byte.is_ascii_alphanumeric() => Self::Body,
            _ => Self::None,
        }
    }
}
