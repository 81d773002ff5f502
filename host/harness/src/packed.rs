//! Small packed files, made as programs make them: for tests of what reads them.

use std::io::{Cursor, Write as _};

use zip::write::{SimpleFileOptions, ZipWriter};

/// Returns a PDF of numbered objects, the first of which is its catalogue.
pub fn pdf_of(objects: &[Vec<u8>]) -> Vec<u8> {
    let mut file = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n".to_vec();
    let mut places = Vec::new();
    for (object, number) in objects.iter().zip(1..) {
        places.push(file.len());
        file.extend(format!("{number} 0 obj\n").into_bytes());
        file.extend(object);
        file.extend(b"\nendobj\n");
    }
    let table = file.len();
    file.extend(format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1).into_bytes());
    for place in places {
        file.extend(format!("{place:010} 00000 n \n").into_bytes());
    }
    let trailer =
        format!("trailer\n<< /Size {} /Root 1 0 R >>\nstartxref\n{table}\n%%EOF\n", objects.len() + 1);
    file.extend(trailer.into_bytes());
    file
}

/// Returns a stream with more entries in its dictionary.
pub fn stream(entries: &str, content: &[u8]) -> Vec<u8> {
    let head = format!("<< {entries} /Length {} >>\nstream\n", content.len()).into_bytes();
    [&head[..], content, b"\nendstream"].concat()
}

/// Returns a PDF with a page for each content stream, in which `/F1` is Helvetica. Further objects have
/// numbers from 4 on, before those of the pages: `/F2` is the second, and `resources` names others.
pub fn pdf_with(pages: &[&str], resources: &str, further: &[Vec<u8>]) -> Vec<u8> {
    let first = 4 + further.len();
    let kids: Vec<String> = (0..pages.len()).map(|page| format!("{} 0 R", first + 2 * page)).collect();
    let tree = format!("<< /Type /Pages /Kids [{}] /Count {} >>", kids.join(" "), pages.len());
    let font = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>";
    let mut objects = vec![b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(), tree.into_bytes(), font.into()];
    objects.extend(further.iter().cloned());
    for (content, number) in pages.iter().zip((first + 1..).step_by(2)) {
        let page = format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {number} 0 R \
             /Resources << /Font << /F1 3 0 R /F2 5 0 R >> {resources} >> >>"
        );
        objects.push(page.into_bytes());
        objects.push(stream("", content.as_bytes()));
    }
    pdf_of(&objects)
}

/// Returns a PDF with a page for each text, which it shows.
pub fn pdf(texts: &[&str]) -> Vec<u8> {
    let shown: Vec<String> =
        texts.iter().map(|text| format!("BT /F1 12 Tf 72 700 Td ({text}) Tj ET")).collect();
    pdf_with(&shown.iter().map(String::as_str).collect::<Vec<_>>(), "", &[])
}

/// Returns a zip archive.
///
/// # Panics
/// Where a name is none.
pub fn zip(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in entries {
        archive.start_file(*name, SimpleFileOptions::default()).expect("a name");
        archive.write_all(content).expect("memory takes it");
    }
    archive.finish().expect("memory takes it").into_inner()
}

/// Returns a word processor's document with one paragraph of runs.
pub fn docx(runs: &[&str]) -> Vec<u8> {
    let runs: String =
        runs.iter().map(|run| format!("<w:r><w:rPr><w:b></w:b></w:rPr><w:t>{run}</w:t></w:r>")).collect();
    let document = format!(
        "<?xml version=\"1.0\"?><w:document xmlns:w=\"w\"><w:body><w:p>{runs}</w:p><w:p><w:r><w:t>end</w:t></w:r></w:p></w:body></w:document>"
    );
    zip(&[
        ("[Content_Types].xml", b"<?xml version=\"1.0\"?><Types/>"),
        ("word/document.xml", document.as_bytes()),
    ])
}
