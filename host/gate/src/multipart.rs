//! Uploads in `multipart/form-data` (RFC 7578): what of them can be looked into.
//!
//! Such a body is searched as one text, from its first byte to its last: fields, the heads of parts, files. Nothing in it can be
//! replaced, so a finding holds the request. What this module decides is only whether that is a look at all: a part that is text is
//! read as what it is, a picture, a sound or a film is let through as media are in JSON, and anything else (an archive, a
//! document in a binary form) says nothing as text: it is read as files in JSON are.
//!
//! What a part calls itself decides nothing, for who uploads writes that too: its first bytes do.

use http::HeaderMap;
use http::header::CONTENT_TYPE;
use leafgate_tree::{FileKind, NodeId};

use crate::files::FileIn;
use leafgate_http::{MediaType, Refusal};

/// Parts of one body. A form of an API has about ten.
const MAX_PARTS: usize = 1000;

/// Bytes of a boundary (RFC 2046, 5.1.1).
const MAX_BOUNDARY: usize = 70;

/// What ends the head of a part.
const END_OF_HEAD: &[u8] = b"\r\n\r\n";

/// Returns the boundary of a form; `None` where a body is none.
///
/// # Errors
/// Where it is one and its header names no boundary that can be looked for.
pub(crate) fn boundary(headers: &HeaderMap) -> Result<Option<String>, Refusal> {
    if !MediaType::of(headers).is("multipart/form-data") {
        return Ok(None);
    }
    let said = headers.get(CONTENT_TYPE).and_then(|said| said.to_str().ok()).unwrap_or_default();
    let named = |parameter: &str| {
        let (name, value) = parameter.split_once('=')?;
        let value = value.trim();
        name.trim().eq_ignore_ascii_case("boundary").then(|| value.trim_matches('"').to_owned())
    };
    let mut boundaries = said.split(';').skip(1).filter_map(named);
    let is_sound = |boundary: &String| {
        let may_be = |byte: u8| byte.is_ascii_alphanumeric() || b"'()+_,-./:=? ".contains(&byte);
        (1..=MAX_BOUNDARY).contains(&boundary.len()) && boundary.bytes().all(may_be)
    };
    match (boundaries.next().filter(is_sound), boundaries.next()) {
        (Some(boundary), None) => Ok(Some(boundary)),
        _ => Err(Refusal::malformed("`multipart/form-data` without one `boundary` as RFC 2046 has it")),
    }
}

/// Returns the parts of a form that say nothing as text, as files in this node.
///
/// # Errors
/// Where it is no form of this boundary.
pub(crate) fn unread<'b>(body: &'b [u8], boundary: &str, node: NodeId) -> Result<Vec<FileIn<'b>>, Refusal> {
    let delimiter = format!("\r\n--{boundary}").into_bytes();
    // Before the first delimiter a form has nothing.
    let mut rest =
        body.strip_prefix(&delimiter[2..]).ok_or_else(|| broken("it does not begin with its boundary"))?;
    let (mut unread, mut number) = (Vec::new(), 0);
    while let Some(content) = next_part(&mut rest, &delimiter)? {
        number += 1;
        if number > MAX_PARTS {
            return Err(Refusal::too_large(format!("a form of more than {MAX_PARTS} parts is refused")));
        }
        let what = match FileKind::of(content) {
            // All of it is looked at, and so its last character is not cut.
            FileKind::Text if std::str::from_utf8(content).is_err() => Some("cut text"),
            kind => kind.unread(),
        };
        let place = || format!("part {number} of the upload");
        unread.extend(what.map(|what| FileIn { node, place: place(), what, bytes: Some(content.into()) }));
    }
    Ok(unread)
}

/// Returns the content of the part that begins behind a delimiter, and takes it off up to behind the next one; `None` behind the
/// last.
fn next_part<'b>(rest: &mut &'b [u8], delimiter: &[u8]) -> Result<Option<&'b [u8]>, Refusal> {
    if let Some(behind) = rest.strip_prefix(b"--") {
        // Behind the last boundary a form has nothing.
        return match behind {
            b"" | b"\r\n" => Ok(None),
            _ => Err(broken("something stands behind its last boundary")),
        };
    }
    let part = rest.strip_prefix(b"\r\n").ok_or_else(|| broken("a boundary does not end its line"))?;
    let end = find(part, delimiter).ok_or_else(|| broken("its last boundary is missing"))?;
    *rest = &part[end + delimiter.len()..];
    let part = &part[..end];
    let head = find(part, END_OF_HEAD).ok_or_else(|| broken("a part has no head"))?;
    Ok(Some(&part[head + END_OF_HEAD.len()..]))
}

fn broken(what: &str) -> Refusal {
    Refusal::malformed(format!("the body is no `multipart/form-data`: {what}"))
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    memchr::memmem::find(text, wanted)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn form(parts: &[&[u8]]) -> Vec<u8> {
        let mut body = Vec::new();
        for part in parts {
            body.extend_from_slice(b"--xYz\r\nContent-Disposition: form-data; name=\"n\"\r\n\r\n");
            body.extend_from_slice(part);
            body.extend_from_slice(b"\r\n");
        }
        body.extend_from_slice(b"--xYz--\r\n");
        body
    }

    fn status(body: &[u8]) -> Option<u16> {
        match unread(body, "xYz", NodeId::from_index(0)) {
            Ok(unread) => (!unread.is_empty()).then_some(415),
            Err(refusal) => Some(refusal.status.as_u16()),
        }
    }

    #[test]
    fn text_and_media_can_be_looked_into() {
        let media: [&[u8]; 4] =
            [b"ID3\x04\0\0", b"\xff\xfb\x90\0", b"RIFF\0\0\0\0WAVEfmt \0", b"\0\0\0 ftypM4A \0"];
        for part in media {
            assert_eq!(status(&form(&[b"whisper-1", part])), None, "{part:?}");
        }
        for text in ["", "whisper-1", "{\"a\": 1}\n{\"a\": 2}\n", "größer\r\n\x1b[0m"] {
            assert_eq!(status(&form(&[text.as_bytes()])), None, "{text}");
        }
    }

    #[test]
    fn what_says_nothing_as_text_is_refused() {
        let utf_16: Vec<u8> = "\u{feff}key".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let binary: [&[u8]; 6] = [
            b"PK\x03\x04\x14\0",
            b"\x1f\x8b\x08\0",
            &utf_16,
            b"%PDF-1.7\n\x93\x8c",
            b"\xff\xff\xff\xe0\0",
            b"RIFF\0\0\0\0WOVE\0\xff",
        ];
        for part in binary {
            assert_eq!(status(&form(&[b"ok", part])), Some(415), "{part:?}");
        }
    }

    #[test]
    fn a_body_that_two_readers_could_take_apart_in_two_ways_is_refused() {
        let sound = String::from_utf8(form(&[b"text"])).unwrap();
        let bodies = [
            sound.replacen("--xYz", "before\r\n--xYz", 1),
            sound.replace("--xYz--\r\n", ""),
            format!("{sound}behind"),
            sound.replacen("--xYz\r\n", "--xYz \r\n", 1),
            sound.replacen("\r\n\r\n", "\r\n", 1),
            "{\"a\": 1}".to_owned(),
            String::new(),
        ];
        for body in bodies {
            assert_eq!(status(body.as_bytes()), Some(400), "{body:?}");
        }
    }

    #[test]
    fn a_boundary_is_read_as_it_is_written() {
        let of = |said: &'static str| {
            let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(said))]);
            boundary(&headers).map_err(|refusal| refusal.status.as_u16())
        };
        for said in
            ["multipart/form-data; boundary=xYz", "Multipart/Form-Data; charset=utf-8; Boundary=\"xYz\""]
        {
            assert_eq!(of(said), Ok(Some("xYz".to_owned())), "{said}");
        }
        assert_eq!(of("application/json"), Ok(None));
        assert_eq!(of("multipart/mixed; boundary=x"), Ok(None));
        for said in [
            "multipart/form-data",
            "multipart/form-data; boundary=",
            "multipart/form-data; boundary=a; boundary=b",
        ] {
            assert_eq!(of(said), Err(400), "{said}");
        }
    }
}
