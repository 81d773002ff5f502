//! Archives: zip, of which office documents are some, gzip, tar.

use std::io::{Cursor, Read};

use flate2::read::MultiGzDecoder;
use leafgate_tree::FileKind;
use zip::ZipArchive;
use zip::read::ZipFile;

use crate::{Extractor, FilePart, UnreadReason, xml};

/// Folders of office documents whose binary files say nothing: what a printer was told, and fonts.
const QUIET: [&str; 2] = ["/printerSettings/", "/fonts/"];

/// So much each part may unpack to, however little it is packed.
const ROOM: usize = 1 << 20;

impl Extractor<'_> {
    pub(crate) fn zip(&mut self, file: &[u8]) {
        let Ok(mut archive) = ZipArchive::new(Cursor::new(file)) else {
            return self.miss(UnreadReason::Broken);
        };
        // An archive in which heads and directory differ is another one to another reader.
        if archive.validate_header_consistency().is_err() {
            self.miss(UnreadReason::Broken);
        }
        let is_office =
            ["[Content_Types].xml", "mimetype"].iter().any(|name| archive.index_for_name(name).is_some());
        let mut names = String::from_utf8_lossy(archive.comment()).into_owned();
        for index in 0..archive.len() {
            if !self.begin(FilePart::Entry(index + 1)) {
                break;
            }
            let (name, is_dir) = match archive.by_index_raw(index) {
                Ok(entry) if entry.encrypted() => {
                    self.miss(UnreadReason::Encrypted);
                    continue;
                }
                Ok(entry) => (String::from_utf8_lossy(entry.name_raw()).into_owned(), entry.is_dir()),
                Err(_) => {
                    self.miss(UnreadReason::Broken);
                    continue;
                }
            };
            names = names + "\n" + &name;
            match archive.by_index(index) {
                Ok(_) if is_dir => {}
                Ok(entry) => self.entry(entry, is_office.then_some(&name)),
                Err(_) => self.miss(UnreadReason::Unknown),
            }
        }
        if !is_office {
            self.text(&names);
        }
    }

    /// Reads an entry, and the name of one of an office document.
    fn entry(&mut self, entry: ZipFile<'_, Cursor<&[u8]>>, office: Option<&String>) {
        let packed = usize::try_from(entry.compressed_size()).unwrap_or(usize::MAX);
        let content = match self.unpacked(entry, packed) {
            Ok(content) => content,
            Err(why) => return self.miss(why),
        };
        match (office, FileKind::of(&content), std::str::from_utf8(&content)) {
            (Some(name), FileKind::Text, Ok(text)) if is_xml(name, text) => match xml::words(text) {
                Ok(words) => self.text(&words),
                Err(why) => self.miss(why),
            },
            (Some(name), FileKind::Unknown, _) if QUIET.iter().any(|folder| name.contains(folder)) => {}
            (Some(_), FileKind::Unknown, _) if is_drawing(&content) => {}
            _ => self.file(&content),
        }
    }

    pub(crate) fn gzip(&mut self, file: &[u8]) {
        let reader = MultiGzDecoder::new(file);
        let said = reader
            .header()
            .map(|head| [head.filename(), head.comment()].map(Option::unwrap_or_default).join(&b'\n'));
        self.text(&String::from_utf8_lossy(&said.unwrap_or_default()));
        match self.unpacked(reader, file.len()) {
            Ok(content) => self.file(&content),
            Err(why) => self.miss(why),
        }
    }

    pub(crate) fn tar(&mut self, file: &[u8]) {
        let mut archive = tar::Archive::new(file);
        let Ok(entries) = archive.entries() else { return self.miss(UnreadReason::Broken) };
        let mut names = String::new();
        for (entry, number) in entries.zip(1..) {
            if !self.begin(FilePart::Entry(number)) {
                break;
            }
            let Ok(entry) = entry else {
                self.miss(UnreadReason::Broken);
                break;
            };
            names = names + "\n" + &String::from_utf8_lossy(&entry.path_bytes());
            if let Some(target) = entry.link_name_bytes() {
                names = names + "\n" + &String::from_utf8_lossy(&target);
            }
            let kind = entry.header().entry_type();
            if kind.is_dir() || kind.is_symlink() || kind.is_hard_link() {
                continue;
            }
            match self.unpacked(entry, file.len()) {
                Ok(content) => self.file(&content),
                Err(why) => self.miss(why),
            }
        }
        self.text(&names);
    }

    /// Reads all that is packed in so many bytes.
    fn unpacked(&mut self, reader: impl Read, packed: usize) -> Result<Vec<u8>, UnreadReason> {
        let most = packed.saturating_mul(self.bounds.ratio).saturating_add(ROOM).min(self.left.unpacked);
        let mut content = Vec::new();
        reader.take(most as u64 + 1).read_to_end(&mut content).map_err(|_| UnreadReason::Broken)?;
        self.left.unpacked = self.left.unpacked.checked_sub(content.len()).ok_or(UnreadReason::TooMuch)?;
        if content.len() > most { Err(UnreadReason::TooMuch) } else { Ok(content) }
    }
}

fn is_xml(name: &str, text: &str) -> bool {
    text.trim_start_matches('\u{feff}').starts_with("<?xml")
        || name.ends_with(".xml")
        || name.ends_with(".rels")
}

/// Drawings of Windows, which are media in office documents: WMF with a place, and EMF.
fn is_drawing(content: &[u8]) -> bool {
    content.starts_with(b"\xd7\xcd\xc6\x9a")
        || content.starts_with(b"\x01\0\0\0") && content.get(40..44) == Some(b" EMF")
}
