//! PDF: what pages show, and every other text in the file: annotations, forms, outlines, metadata, files
//! that it holds.
//!
//! The crate `lopdf` reads the file and repairs what it can; here is decided what of it is text. A file
//! that had to be repaired is another one to another reader, and said to be broken. Letters that only look
//! like letters (outlines, pictures) are none, and so a page of them has no text.

mod font;
mod paint;

use std::collections::{BTreeSet, HashMap};

use lopdf::{
    DecompressError, Dictionary, Document, Error, LoadOptions, Object, ObjectId, Stream, decode_text_string,
};

use self::font::{Font, FontProbe};
use self::paint::Painter;
use crate::{Extractor, FilePart, UnreadReason};

impl Extractor<'_> {
    pub(crate) fn pdf(&mut self, file: &[u8]) {
        let options = LoadOptions::with_max_decompressed_size(self.left.unpacked);
        let document = match Document::load_mem_with_options(file, options) {
            Ok(document) if document.is_encrypted() => return self.miss(UnreadReason::Encrypted),
            Ok(document) => document,
            Err(error) => return self.miss(why(&error)),
        };
        if document.xref_recovery.is_some() {
            self.miss(UnreadReason::Broken);
        }
        let survey = Survey::of(&document);
        self.text(&survey.strings);
        let mut painter = Painter::new(&document, &survey, self.bounds);
        for (page, number) in document.page_iter().zip(1..) {
            if !self.begin(FilePart::Page(number)) {
                break;
            }
            let shown = painter.page(page);
            self.text(&shown.text);
            if let Some(why) = shown.unread {
                self.miss(why);
            }
        }
        self.part = self.part.filter(|_| self.depth > 1);
        let painted = std::mem::take(&mut painter.forms);
        for (id, stream) in
            document.objects.iter().filter_map(|(id, object)| Some((id, object.as_stream().ok()?)))
        {
            if name(&stream.dict, b"Subtype") == Some(b"Form") && !painted.contains(id) {
                // What annotations show, and patterns.
                let shown = painter.form_alone(*id);
                self.text(&shown.text);
                shown
                    .unread
                    .filter(|why| *why != UnreadReason::NoText)
                    .into_iter()
                    .for_each(|why| self.miss(why));
            } else if survey.files.contains(id) || name(&stream.dict, b"Type") == Some(b"EmbeddedFile") {
                match stream.get_plain_content_with_limit(self.left.unpacked) {
                    Ok(file) => self.file(&file),
                    Err(error) => self.miss(why(&error)),
                }
            } else if !survey.painted.contains(id) {
                self.other_stream(stream);
            }
        }
    }

    /// Reads a stream of XML: metadata, the data of forms. Tables of fonts and what patterns paint are no
    /// words, and what is packed as pictures are is none either.
    fn other_stream(&mut self, stream: &Stream) {
        let content = stream.get_plain_content_with_limit(self.left.unpacked).unwrap_or_default();
        match std::str::from_utf8(&content) {
            Ok(text) if text.trim_start_matches('\u{feff}').trim_start().starts_with('<') => self.text(text),
            _ => {}
        }
    }
}

/// What is found in one walk over all objects of a file.
struct Survey<'d> {
    /// Every string, a line each.
    strings: String,
    /// The fonts, by where their dictionaries lie.
    fonts: HashMap<*const Dictionary, FontProbe<'d>>,
    /// Streams that are files.
    files: BTreeSet<ObjectId>,
    /// Streams that are the contents of pages.
    painted: BTreeSet<ObjectId>,
}

impl<'d> Survey<'d> {
    fn of(document: &'d Document) -> Self {
        let mut survey = Survey {
            strings: String::new(),
            fonts: HashMap::new(),
            files: BTreeSet::new(),
            painted: document.page_iter().flat_map(|page| document.get_page_contents(page)).collect(),
        };
        document.objects.values().for_each(|object| survey.walk(object));
        if let Ok(Object::Dictionary(info)) = document.trailer.get(b"Info") {
            survey.dictionary(info);
        }
        survey
    }

    fn walk(&mut self, object: &'d Object) {
        match object {
            Object::String(..) => match decode_text_string(object) {
                Ok(text) if !text.contains(|letter: char| letter.is_control() && !letter.is_whitespace()) => {
                    self.strings.push_str(&text);
                    self.strings.push('\n');
                }
                _ => {}
            },
            Object::Array(all) => all.iter().for_each(|object| self.walk(object)),
            Object::Dictionary(dictionary) => self.dictionary(dictionary),
            Object::Stream(stream) => self.dictionary(&stream.dict),
            _ => {}
        }
    }

    fn dictionary(&mut self, dictionary: &'d Dictionary) {
        if let Some(probe) = FontProbe::of(dictionary) {
            self.fonts.insert(dictionary, probe);
        }
        for (key, value) in dictionary {
            if let (b"EF", Object::Dictionary(files)) = (&key[..], value) {
                self.files.extend(files.iter().filter_map(|(_, file)| file.as_reference().ok()));
            }
            self.walk(value);
        }
    }
}

/// What a page, or a part of one, shows.
#[derive(Default)]
struct PageText {
    text: String,
    unread: Option<UnreadReason>,
}

fn name<'d>(dictionary: &'d Dictionary, key: &[u8]) -> Option<&'d [u8]> {
    dictionary.get(key).and_then(Object::as_name).ok()
}

fn why(error: &Error) -> UnreadReason {
    match error {
        Error::InvalidPassword | Error::Decryption(_) | Error::UnsupportedSecurityHandler(_) => {
            UnreadReason::Encrypted
        }
        Error::Decompress(DecompressError::MemoryLimitExceeded { .. }) => UnreadReason::TooMuch,
        _ => UnreadReason::Broken,
    }
}
