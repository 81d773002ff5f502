//! The texts of packed files: of PDF, of office documents (OOXML, OpenDocument) and of what archives hold (zip,
//! gzip, tar), nested to a small depth, within [`FileBounds`].
//!
//! What holds here:
//! - First bytes decide what a file is. A name says no more than which parts of an office document are
//!   neither text nor media (settings of printers, fonts).
//! - What is encrypted, broken, beyond a bound or of a kind that is not known is said
//!   ([`Extraction::unread`]): a file is read where that is `None`, and else in part at most. Pictures,
//!   sounds and films within a file are media, as they are in JSON. A page of a PDF that is a
//!   picture alone is not read.
//! - No word of a file stands in what is said of it.
//!
//! Parsers of such formats are large, and whoever wrote the file chose what they do. [`extract`] is for a
//! process that can hurt nobody: see [`serve`] and [`ChildExtractor`].

mod archive;
mod child;
mod pdf;
mod xml;

use std::sync::Arc;
use std::{fmt, io};

use leafgate_tree::{FileKind, PackedFormat};
use serde::{Deserialize, Serialize};

pub use child::{ChildExtractor, confine, serve};

/// How much of a file is read.
#[derive(Clone, Copy, Debug)]
pub struct FileBounds {
    /// Bytes of all texts together.
    pub text: usize,
    /// Bytes of all that is unpacked on the way to them.
    pub unpacked: usize,
    /// Unpacked bytes for each packed one, above a mebibyte for each part. Office files reach fifty.
    pub ratio: usize,
    /// Entries of archives, pages and parts of pages.
    pub parts: usize,
    /// Files within files.
    pub depth: usize,
}

impl Default for FileBounds {
    fn default() -> Self {
        FileBounds { text: 8 << 20, unpacked: 128 << 20, ratio: 200, parts: 5000, depth: 4 }
    }
}

/// What was read of a file. No `Debug`: it holds what was read.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Extraction {
    /// The texts: one for each page, part or entry that has any, in their order.
    pub texts: Vec<Arc<str>>,
    /// The first thing that could not be read; `None` where all was.
    pub unread: Option<Unread>,
}

/// Something that could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unread {
    /// Where in the file; `None` for all of it.
    pub part: Option<FilePart>,
    /// Why.
    pub why: UnreadReason,
}

/// A part of a file, by its number from one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FilePart {
    /// A page of a PDF.
    Page(usize),
    /// An entry of an archive, of which office documents are some.
    Entry(usize),
}

leafgate_words::words! {
    /// Why something could not be read.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub enum UnreadReason {
        /// It is encrypted.
        Encrypted = "is encrypted",
        /// It is not as its format has it.
        Broken = "is broken",
        /// It holds more than [`FileBounds`] allow.
        TooMuch = "holds more than is read",
        /// It is of a kind, or packed in a way, that is not known.
        Unknown = "is of a kind that is not known",
        /// It shows something and has no text.
        NoText = "shows something and has no text",
        /// Nothing says which letters it shows.
        NoLetters = "does not say which letters it shows",
        /// Its reader came to a bad end.
        Failed = "could not be read in the time and memory that it may take",
        /// Its reader was not done in time by the clock, which says more about the machine than about the file.
        Late = "was not read in time",
    }
    /// What completes "page 3 of it".
    fn said = 0;
}

impl Unread {
    /// Says it of a whole document.
    pub fn whole(why: UnreadReason) -> Self {
        Unread { part: None, why }
    }
}

impl fmt::Display for Unread {
    /// Writes what completes "a PDF, of which", such as `page 3 shows something and has no text`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.part {
            None => f.write_str("the whole ")?,
            Some(FilePart::Page(number)) => write!(f, "page {number} ")?,
            Some(FilePart::Entry(number)) => write!(f, "entry {number} ")?,
        }
        f.write_str(self.why.said())
    }
}

/// Reads packed files.
pub trait Extract: fmt::Debug + Send + Sync {
    /// Returns the texts of a file. It may take seconds, and blocks.
    ///
    /// # Errors
    /// Where nobody could be asked, which says nothing about the file.
    fn extract(&self, file: &[u8]) -> io::Result<Extraction>;
}

/// Returns true if and only if a file is of a format that is read.
pub fn is_readable(file: &[u8]) -> bool {
    matches!(FileKind::of(file), FileKind::Packed(_, Some(_)))
}

/// Returns the texts of a file.
pub fn extract(file: &[u8], bounds: &FileBounds) -> Extraction {
    let mut extractor =
        Extractor { bounds, left: *bounds, depth: 0, part: None, found: Extraction::default() };
    extractor.file(file);
    extractor.found
}

/// A file that is being read.
struct Extractor<'b> {
    bounds: &'b FileBounds,
    /// What is left of them.
    left: FileBounds,
    depth: usize,
    /// The part of the outermost file that is being read.
    part: Option<FilePart>,
    found: Extraction,
}

impl Extractor<'_> {
    /// Reads a file, or one within a file.
    fn file(&mut self, file: &[u8]) {
        if self.depth > self.bounds.depth {
            return self.miss(UnreadReason::TooMuch);
        }
        self.depth += 1;
        match FileKind::of(file) {
            FileKind::Packed(_, Some(PackedFormat::Pdf)) => self.pdf(file),
            FileKind::Packed(_, Some(PackedFormat::Zip)) => self.zip(file),
            FileKind::Packed(_, Some(PackedFormat::Gzip)) => self.gzip(file),
            FileKind::Packed(_, Some(PackedFormat::Tar)) => self.tar(file),
            FileKind::Media => {}
            FileKind::Text => match std::str::from_utf8(file) {
                Ok(text) => self.text(text),
                Err(_) => self.miss(UnreadReason::Unknown),
            },
            FileKind::Packed(_, None) | FileKind::Unknown => self.miss(UnreadReason::Unknown),
        }
        self.depth -= 1;
    }

    /// Keeps a text.
    fn text(&mut self, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        match self.left.text.checked_sub(text.len()) {
            Some(left) => {
                self.left.text = left;
                self.found.texts.push(text.into());
            }
            None => self.miss(UnreadReason::TooMuch),
        }
    }

    /// Takes down that something could not be read.
    fn miss(&mut self, why: UnreadReason) {
        let part = self.part;
        self.found.unread.get_or_insert(Unread { part, why });
    }

    /// Begins a part of the outermost file, unless there are too many of all files.
    fn begin(&mut self, part: FilePart) -> bool {
        if self.depth == 1 {
            self.part = Some(part);
        }
        let left = self.left.parts.checked_sub(1);
        match left {
            Some(left) => self.left.parts = left,
            None => self.miss(UnreadReason::TooMuch),
        }
        left.is_some()
    }
}
