//! What is read of documents, and what is said to be unread. The words are made up.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::io::Write as _;

use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use leafgate_extract::{Extraction, FileBounds, FilePart, Unread, UnreadReason, extract, is_readable};
use leafgate_harness::packed::{docx, pdf, pdf_of, pdf_with, stream, zip};

const WORD: &str = "sw0rdfish-0123456789";

fn read(file: &[u8]) -> Extraction {
    assert!(is_readable(file), "nobody would read it");
    extract(file, &FileBounds::default())
}

/// Asserts that a word is found, and that nothing is unread.
fn finds(file: &[u8]) {
    let Extraction { texts, unread } = read(file);
    assert!(texts.iter().any(|text| text.contains(WORD)), "{texts:?}");
    assert_eq!(unread, None, "{texts:?}");
}

fn misses(file: &[u8], part: Option<FilePart>, why: UnreadReason) {
    assert_eq!(read(file).unread, Some(Unread { part, why }));
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    gzip.write_all(content).unwrap();
    gzip.finish().unwrap()
}

fn deflated(content: &[u8]) -> Vec<u8> {
    let mut deflate = ZlibEncoder::new(Vec::new(), Compression::best());
    deflate.write_all(content).unwrap();
    deflate.finish().unwrap()
}

fn tar(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (name, content) in entries {
        let mut head = tar::Header::new_ustar();
        head.set_size(content.len() as u64);
        archive.append_data(&mut head, name, *content).unwrap();
    }
    archive.into_inner().unwrap()
}

fn office(name: &str, xml: &str) -> Vec<u8> {
    let xml = format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>{xml}");
    zip(&[("[Content_Types].xml", b"<Types/>"), (name, xml.as_bytes())])
}

#[test]
fn a_word_of_a_page_is_read() {
    finds(&pdf(&["nothing", &format!("the key is {WORD}, and so on")]));
}

#[test]
fn a_word_that_a_page_paints_piece_by_piece_is_one_word() {
    let (a, b) = WORD.split_at(7);
    // Helvetica has no widths in the file: pieces in one array, and in one line without a gap.
    for content in [
        format!("BT /F1 12 Tf 72 700 Td [({a}) 20 ({b})] TJ ET"),
        format!("BT /F1 12 Tf 72 700 Td ({a}) Tj ({b}) Tj ET"),
        format!(
            "q 1 0 0 -1 0 792 cm BT /F1 12 Tf 1 0 0 -1 72 92 Tm ({a}) Tj ET BT /F1 12 Tf 1 0 0 -1 114 92 Tm ({b}) Tj ET Q"
        ),
    ] {
        finds(&pdf_with(&[&content], "", &[]));
    }
    let apart = format!("BT /F1 12 Tf 72 700 Td ({a}) Tj 0 -14 Td ({b}) Tj [(x) -600 (y)] TJ ET");
    let texts = read(&pdf_with(&[&apart], "", &[])).texts;
    assert_eq!(texts, [format!("{a}\n{b}x y").into()]);
}

#[test]
fn what_a_page_says_through_forms_fonts_and_notes_is_read() {
    let form = stream(
        "/Type /XObject /Subtype /Form /Resources << /Font << /F1 3 0 R >> >>",
        format!("BT /F1 9 Tf ({WORD}) Tj ET").as_bytes(),
    );
    finds(&pdf_with(&["/X1 Do"], "/XObject << /X1 4 0 R >>", std::slice::from_ref(&form)));
    // A form that no page paints belongs to an annotation.
    finds(&pdf_with(&[""], "", &[form]));
    finds(&pdf_with(&[""], "", &[format!("<< /Type /Annot /Contents ({WORD}) >>").into_bytes()]));
    let attached = stream("/Type /EmbeddedFile", &docx(&[WORD]));
    finds(&pdf_with(&[""], "", &[attached]));
    let metadata = format!("<?xpacket begin=''?><x:xmpmeta><dc:title>{WORD}</dc:title></x:xmpmeta>");
    finds(&pdf_with(&[""], "", &[stream("/Type /Metadata /Subtype /XML", metadata.as_bytes())]));
}

/// A subset font whose codes mean nothing without its table to Unicode.
#[test]
fn a_font_is_read_by_its_table_to_unicode() {
    let codes: String = (1..=WORD.len()).map(|code| format!("{code:04x}")).collect();
    let pairs: String =
        WORD.bytes().zip(1..).map(|(letter, code)| format!("<{code:04x}> <{letter:04x}>\n")).collect();
    let table = format!(
        "/CIDInit /ProcSet findresource begin\n12 dict begin\nbegincmap\n/CIDSystemInfo << /Registry (Adobe) \
         /Ordering (UCS) /Supplement 0 >> def\n/CMapName /Adobe-Identity-UCS def\n/CMapType 2 def\n\
         1 begincodespacerange\n<0000> <ffff>\nendcodespacerange\n{} beginbfchar\n{pairs}endbfchar\nendcmap\n\
         CMapName currentdict /CMap defineresource pop\nend\nend\n",
        WORD.len()
    );
    let below = b"<< /Type /Font /Subtype /CIDFontType2 /BaseFont /Any /DW 600 >>".to_vec();
    let font = |table: &str| {
        format!(
            "<< /Type /Font /Subtype /Type0 /BaseFont /Any /Encoding /Identity-H /DescendantFonts [4 0 R] {table} >>"
        )
    };
    let page = format!("BT /F2 12 Tf 72 700 Td <{codes}> Tj ET");
    let all = |font: String| {
        let objects = [below.clone(), font.into_bytes(), stream("", table.as_bytes())];
        pdf_with(&[&page], "", &objects)
    };
    finds(&all(font("/ToUnicode 6 0 R")));
    misses(&all(font("")), Some(FilePart::Page(1)), UnreadReason::NoLetters);
}

#[test]
fn a_page_that_is_a_picture_is_unread() {
    let picture = stream(
        "/Type /XObject /Subtype /Image /Width 1 /Height 1 /ColorSpace /DeviceGray /BitsPerComponent 8",
        b"x",
    );
    let file = pdf_with(&["BT /F1 12 Tf (words) Tj ET", "/I1 Do"], "/XObject << /I1 4 0 R >>", &[picture]);
    misses(&file, Some(FilePart::Page(2)), UnreadReason::NoText);
}

#[test]
fn an_encrypted_pdf_is_unread() {
    use lopdf::{Document, EncryptionState, EncryptionVersion, Object, Permissions, StringFormat};
    let mut document = Document::load_mem(&pdf(&[WORD])).unwrap();
    let id = || Object::String(vec![7; 16], StringFormat::Literal);
    document.trailer.set("ID", Object::Array(vec![id(), id()]));
    for (password, unread) in [("pass", Some(Unread::whole(UnreadReason::Encrypted))), ("", None)] {
        let mut document = document.clone();
        let version = EncryptionVersion::V2 {
            document: &document,
            owner_password: "owner",
            user_password: password,
            key_length: 128,
            permissions: Permissions::all(),
        };
        let state = EncryptionState::try_from(version).unwrap();
        document.encrypt(&state).unwrap();
        let mut file = Vec::new();
        document.save_to(&mut file).unwrap();
        let read = read(&file);
        assert_eq!(read.unread, unread);
        assert_eq!(read.texts.iter().any(|text| text.contains(WORD)), unread.is_none(), "without a password");
    }
}

#[test]
fn a_pdf_that_must_be_repaired_is_read_and_said_to_be_broken() {
    let file = pdf(&[WORD]);
    let at = file.windows(5).rposition(|window| window == b"xref\n").unwrap();
    let broken = [&file[..at], b"junk", &file[at + 4..]].concat();
    let Extraction { texts, unread } = read(&broken);
    assert_eq!(unread.map(|unread| unread.why), Some(UnreadReason::Broken));
    assert!(texts.iter().any(|text| text.contains(WORD)), "{texts:?}");
    misses(b"%PDF-1.7\nand no more", None, UnreadReason::Broken);
}

#[test]
fn a_pdf_without_end_ends() {
    // Pages that are their own parents' parents, forms that paint themselves, streams that unpack to much.
    let circle = [
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        b"<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 9 /Parent 2 0 R >>".to_vec(),
    ];
    let _ = read(&pdf_of(&circle));
    let form =
        stream("/Type /XObject /Subtype /Form /Resources << /XObject << /X1 4 0 R >> >>", b"/X1 Do /X1 Do");
    let file = pdf_with(&["/X1 Do"], "/XObject << /X1 4 0 R >>", &[form]);
    misses(&file, Some(FilePart::Page(1)), UnreadReason::TooMuch);
    let bomb = deflated(&vec![b' '; 200 << 20]);
    let objects = [stream("/Type /XObject /Subtype /Form /Filter /FlateDecode", &bomb)];
    misses(
        &pdf_with(&["/X1 Do"], "/XObject << /X1 4 0 R >>", &objects),
        Some(FilePart::Page(1)),
        UnreadReason::TooMuch,
    );
}

#[test]
fn words_of_office_documents_are_read_whatever_runs_they_are_made_of() {
    let (a, b) = WORD.split_at(7);
    finds(&docx(&[a, b]));
    let shared =
        format!("<sst xmlns=\"s\"><si><t>one</t></si><si><r><t>{a}</t></r><r><t>{b}</t></r></si></sst>");
    finds(&office("xl/sharedStrings.xml", &shared));
    finds(&office(
        "xl/worksheets/sheet1.xml",
        &format!("<worksheet><c><is><t>{WORD}</t></is></c></worksheet>"),
    ));
    finds(&office(
        "ppt/slides/slide1.xml",
        &format!(
            "<a:p><a:r><a:rPr><a:fill></a:fill></a:rPr><a:t>{a}</a:t></a:r><a:r><a:t>{b}</a:t></a:r></a:p>"
        ),
    ));
    finds(&office(
        "word/_rels/document.xml.rels",
        &format!("<Relationships><Relationship Target=\"https://h/?{WORD}\"/></Relationships>"),
    ));
    let odf = format!("<office:text><text:p>{a}<text:span>{b}</text:span></text:p></office:text>");
    finds(&zip(&[("mimetype", b"application/vnd.oasis.opendocument.text"), ("content.xml", odf.as_bytes())]));
    let lines = read(&office(
        "word/document.xml",
        "<w:p><w:t>a&amp;</w:t><w:tab/><w:t>&#98;</w:t></w:p><w:p><w:t>c</w:t></w:p>",
    ));
    assert_eq!(lines.texts, ["a& b\nc\n".into()]);
}

#[test]
fn a_picture_in_a_document_is_media_and_another_file_is_unread() {
    let picture = b"\x89PNG\r\n\x1a\n\0\0\0\0";
    let with = |name: &str, file: &[u8]| zip(&[("[Content_Types].xml", b"<Types/>"), (name, file)]);
    assert_eq!(read(&with("word/media/image1.png", picture)).unread, None);
    assert_eq!(read(&with("xl/printerSettings/printerSettings1.bin", b"\0\x01\x02")).unread, None);
    misses(
        &with("word/vbaProject.bin", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"),
        Some(FilePart::Entry(2)),
        UnreadReason::Unknown,
    );
    misses(
        &office("word/document.xml", "<!DOCTYPE a [<!ENTITY e 'x'>]><a>&e;</a>"),
        Some(FilePart::Entry(2)),
        UnreadReason::Broken,
    );
}

#[test]
fn archives_are_read_and_what_is_in_them() {
    let text = format!("KEY={WORD}\n");
    finds(&zip(&[("a.env", text.as_bytes())]));
    finds(&zip(&[(WORD, b"a name")]));
    finds(&gzip(text.as_bytes()));
    finds(&tar(&[("a.env", text.as_bytes())]));
    finds(&tar(&[("BZh91AY&SY.env", text.as_bytes())]));
    finds(&gzip(&tar(&[("a", b"b"), ("a.env", text.as_bytes())])));
    finds(&zip(&[("inner.zip", &zip(&[("inner.pdf", &pdf(&[WORD]))]))]));
    let mut deep = text.into_bytes();
    for _ in 0..5 {
        deep = zip(&[("next", &deep)]);
    }
    misses(&deep, Some(FilePart::Entry(1)), UnreadReason::TooMuch);
}

#[test]
fn bombs_are_unread() {
    let zeros = vec![b'0'; 64 << 20];
    misses(&zip(&[("zeros", &zeros)]), Some(FilePart::Entry(1)), UnreadReason::TooMuch);
    misses(&gzip(&zeros), None, UnreadReason::TooMuch);
    let names: Vec<String> = (0..10_000).map(|number| number.to_string()).collect();
    let many: Vec<(&str, &[u8])> = names.iter().map(|name| (&**name, &b"x"[..])).collect();
    let Extraction { unread, .. } = read(&zip(&many));
    assert_eq!(unread.map(|unread| unread.why), Some(UnreadReason::TooMuch));
}

#[test]
fn an_archive_that_two_readers_read_differently_is_broken() {
    let file = zip(&[("a.txt", b"words")]);
    let at = file.windows(5).position(|window| window == b"a.txt").unwrap();
    let mut other = file.clone();
    other[at] = b'b';
    assert_eq!(read(&file).unread, None);
    misses(&other, None, UnreadReason::Broken);
    let mut locked = file;
    for mark in [&b"PK\x03\x04"[..], b"PK\x01\x02"] {
        let at = locked.windows(4).position(|window| window == mark).unwrap();
        locked[at + if mark[2] == 3 { 6 } else { 8 }] |= 1;
    }
    misses(&locked, Some(FilePart::Entry(1)), UnreadReason::Encrypted);
}
