//! Content-Encoding (RFC 9110, 8.4): decoding a request body so that rules can look into it.
//!
//! A coding that ends early and leaves bytes behind is refused: an upstream might read what no rule saw. Some codings also have places
//! for bytes that no decoder gives out (names and comments, skippable frames, metadata). A body that uses one, or could, leaves decoded,
//! so that only what was looked at leaves. Work is bounded by the decoded size and by the ratio to what was received.

use std::io::{self, Read};

use brotli_decompressor::Decompressor;
use bytes::Bytes;
use flate2::bufread::{DeflateDecoder, GzDecoder, ZlibDecoder};
use http::HeaderMap;
use http::header::CONTENT_ENCODING;

use crate::refusal::Refusal;

/// One content coding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    /// RFC 1952.
    Gzip,
    /// RFC 1950, or as some servers have it RFC 1951.
    Deflate,
    /// RFC 7932.
    Brotli,
    /// RFC 8878.
    Zstd,
}

/// What decoding may cost.
#[derive(Clone, Copy, Debug)]
pub struct CodingCaps {
    /// Decoded bytes, after each layer.
    pub size: usize,
    /// Decoded bytes per received byte, where more than `RATIO_FREE` come out.
    pub ratio: usize,
}

/// So much may come out of however little: short repetitive requests compress well and harm nobody.
const RATIO_FREE: usize = 1024 * 1024;

/// Codings may be stacked, but nobody does it more than once in earnest.
const MAX_LAYERS: usize = 3;

/// The largest zstd window that is accepted, as a power of two: 8 MiB, which RFC 8878 tells every decoder to support.
const ZSTD_WINDOW_LOG: u32 = 23;

/// How much a brotli decoder takes from its input at once.
const BROTLI_BUFFER: usize = 16 * 1024;

/// Reads which codings were applied, in that order.
pub fn codings(headers: &HeaderMap) -> Result<Vec<Coding>, Refusal> {
    let mut codings = Vec::new();
    for value in headers.get_all(CONTENT_ENCODING) {
        let value = value.to_str().unwrap_or("?");
        for name in value.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            match name.to_ascii_lowercase().as_str() {
                "identity" => {}
                "gzip" | "x-gzip" => codings.push(Coding::Gzip),
                "deflate" => codings.push(Coding::Deflate),
                "br" => codings.push(Coding::Brotli),
                "zstd" => codings.push(Coding::Zstd),
                _ => {
                    return Err(Refusal::unsupported_body(
                        "this content-encoding cannot be unpacked; use gzip, deflate, br or zstd, or send the body as it is",
                    ));
                }
            }
        }
    }
    if codings.len() > MAX_LAYERS {
        return Err(Refusal::unsupported_body(format!(
            "more than {MAX_LAYERS} stacked content-encodings are refused"
        )));
    }
    Ok(codings)
}

/// A body without its codings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodedBody {
    /// What came out.
    pub body: Bytes,
    /// Whether the coded body may hold bytes that are not in the decoded one. It must not leave as it came then.
    pub wraps_more: bool,
}

/// Undoes all codings, the last applied first.
///
/// # Errors
/// For a body that unpacks to too much, is broken, or hides something behind its end.
pub fn decode(body: Bytes, codings: &[Coding], caps: CodingCaps) -> Result<DecodedBody, Refusal> {
    let received = body.len();
    let most = caps.size.min(received.saturating_mul(caps.ratio).max(RATIO_FREE));
    let whole = DecodedBody { body, wraps_more: false };
    codings.iter().rev().try_fold(whole, |DecodedBody { body, wraps_more }, &coding| {
        let wraps_more = wraps_more || may_wrap_more(&body, coding);
        let decoded = layer(&body, coding, most).map_err(|_| invalid(coding))?;
        let decoded = decoded.ok_or_else(|| bomb(caps))?;
        Ok(DecodedBody { body: Bytes::from(decoded), wraps_more })
    })
}

fn invalid(coding: Coding) -> Refusal {
    Refusal::malformed(format!(
        "the request body is not valid {coding:?} data, or more follows after its end"
    ))
}

fn bomb(caps: CodingCaps) -> Refusal {
    Refusal::too_large(format!(
        "the request body decodes to more than {} bytes (limit `body`) or {} times its size (limit `ratio`), the most that this gate unpacks; send it uncompressed, or less at a time",
        caps.size, caps.ratio
    ))
}

/// Returns true where a coded body has, or may have, a place for bytes that its decoder passes over.
fn may_wrap_more(body: &[u8], coding: Coding) -> bool {
    match coding {
        Coding::Gzip => !is_bare_gzip(body),
        // RFC 1950 and 1951 have no such place.
        Coding::Deflate => false,
        // Metadata blocks may stand at any bit (RFC 7932, 9.2), so only a decoder could tell.
        Coding::Brotli => true,
        Coding::Zstd => !is_one_zstd_frame(body),
    }
}

/// Returns true for a gzip member without file name, comment, extra field and checksum of its header (RFC 1952, 2.3).
fn is_bare_gzip(body: &[u8]) -> bool {
    /// Where the flags stand.
    const FLAGS: usize = 3;
    body.get(FLAGS) == Some(&0)
}

/// Returns true for a body that is a single frame with data in it (RFC 8878, 3.1.1), and no skippable one.
fn is_one_zstd_frame(body: &[u8]) -> bool {
    const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
    let length = zstd::zstd_safe::find_frame_compressed_size(body);
    body.starts_with(&MAGIC) && length == Ok(body.len())
}

/// Undoes one coding; `None` when more than `most` bytes come out.
fn layer(body: &[u8], coding: Coding, most: usize) -> io::Result<Option<Vec<u8>>> {
    let mut left = body;
    let input = &mut left;
    let decoded = match coding {
        // One member: a second one would be read by some servers and not by others.
        Coding::Gzip => finish(GzDecoder::new(input), most),
        // "deflate" means the zlib format, but senders of bare deflate data are as old as the name.
        Coding::Deflate if is_zlib(body) => finish(ZlibDecoder::new(input), most),
        Coding::Deflate => finish(DeflateDecoder::new(input), most),
        Coding::Brotli => finish(Decompressor::new(input, BROTLI_BUFFER), most),
        Coding::Zstd => {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(input)?;
            decoder.window_log_max(ZSTD_WINDOW_LOG)?;
            finish(decoder, most)
        }
    }?;
    match decoded {
        Some(_) if !left.is_empty() => Err(io::Error::other("data after the end")),
        decoded => Ok(decoded),
    }
}

/// Reads a decoder to its end.
fn finish(mut decoder: impl Read, most: usize) -> io::Result<Option<Vec<u8>>> {
    let mut decoded = Vec::new();
    decoder.by_ref().take(most as u64 + 1).read_to_end(&mut decoded)?;
    if decoded.len() > most {
        return Ok(None);
    }
    // The brotli decoder reports what is left in its buffer to whoever asks once more after the end.
    if decoder.read(&mut [0])? > 0 {
        return Err(io::Error::other("data after the end"));
    }
    Ok(Some(decoded))
}

/// The two header bytes of RFC 1950: method 8, and a check that makes them a multiple of 31.
fn is_zlib(body: &[u8]) -> bool {
    matches!(body, [method, flags, ..] if method & 0x0f == 8 && u16::from_be_bytes([*method, *flags]) % 31 == 0)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
    use http::StatusCode;
    use proptest::prelude::*;

    use super::*;
    use crate::refusal::Code;

    const CAPS: CodingCaps = CodingCaps { size: 4 * RATIO_FREE, ratio: 100 };
    const ALL: [Coding; 4] = [Coding::Gzip, Coding::Deflate, Coding::Brotli, Coding::Zstd];

    fn encode(coding: Coding, text: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        match coding {
            Coding::Gzip => write(GzEncoder::new(&mut out, Compression::default()), text),
            Coding::Deflate => write(ZlibEncoder::new(&mut out, Compression::default()), text),
            Coding::Brotli => write(brotli::CompressorWriter::new(&mut out, 4096, 5, 20), text),
            Coding::Zstd => out = zstd::encode_all(text, 3).unwrap(),
        }
        out
    }

    fn write(mut encoder: impl Write, text: &[u8]) {
        encoder.write_all(text).unwrap();
    }

    fn headers(values: &[&'static str]) -> HeaderMap {
        values.iter().map(|value| (CONTENT_ENCODING, http::HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn names_and_stacks() {
        use Coding::{Brotli, Gzip, Zstd};
        assert_eq!(codings(&headers(&[])).unwrap(), []);
        assert_eq!(codings(&headers(&["identity"])).unwrap(), []);
        assert_eq!(codings(&headers(&["GZIP , br", "zstd"])).unwrap(), [Gzip, Brotli, Zstd]);
        assert_eq!(codings(&headers(&["x-gzip"])).unwrap(), [Gzip]);
        for unknown in ["compress", "gzip, rot13", "gzip, gzip, gzip, gzip"] {
            assert_eq!(codings(&headers(&[unknown])).unwrap_err().status, StatusCode::UNSUPPORTED_MEDIA_TYPE);
        }
    }

    #[test]
    fn bare_deflate_is_read_too() {
        let mut bare = Vec::new();
        write(DeflateEncoder::new(&mut bare, Compression::default()), b"{\"a\": 1}");
        assert_eq!(decode(bare.into(), &[Coding::Deflate], CAPS).unwrap().body, "{\"a\": 1}");
    }

    #[test]
    fn what_follows_the_end_is_refused() {
        for coding in ALL {
            let mut body = encode(coding, b"{}");
            body.extend_from_slice(b"and more");
            let decoded = decode(body.into(), &[coding], CAPS);
            assert_eq!(decoded.unwrap_err().code, Code::Malformed, "{coding:?}");
        }
    }

    fn gzip_with(build: impl FnOnce(flate2::GzBuilder) -> flate2::GzBuilder) -> Vec<u8> {
        let mut out = Vec::new();
        write(build(flate2::GzBuilder::new()).write(&mut out, Compression::default()), b"{}");
        out
    }

    fn skippable(text: &[u8]) -> Vec<u8> {
        let length = u32::try_from(text.len()).unwrap().to_le_bytes();
        [&[0x50, 0x2a, 0x4d, 0x18], &length[..], text].concat()
    }

    #[test]
    fn a_body_that_may_hold_more_than_is_decoded_is_told() {
        let frame = encode(Coding::Zstd, b"{}");
        let wrapped = [
            (Coding::Gzip, gzip_with(|gzip| gzip.filename("unread"))),
            (Coding::Gzip, gzip_with(|gzip| gzip.comment("unread"))),
            (Coding::Gzip, gzip_with(|gzip| gzip.extra("unread"))),
            (Coding::Zstd, [skippable(b"unread"), frame.clone()].concat()),
            (Coding::Zstd, [frame.clone(), skippable(b"unread")].concat()),
            (Coding::Brotli, encode(Coding::Brotli, b"{}")),
        ];
        for (coding, body) in wrapped {
            let decoded = decode(body.clone().into(), &[coding], CAPS).unwrap();
            assert_eq!(decoded, DecodedBody { body: "{}".into(), wraps_more: true }, "{coding:?}");
            let outer = encode(Coding::Gzip, &body);
            assert!(
                decode(outer.into(), &[coding, Coding::Gzip], CAPS).unwrap().wraps_more,
                "{coding:?} within gzip"
            );
        }
        for coding in [Coding::Gzip, Coding::Deflate, Coding::Zstd] {
            let body = encode(coding, b"{}");
            assert_eq!(
                decode(body.into(), &[coding], CAPS).unwrap(),
                DecodedBody { body: "{}".into(), wraps_more: false }
            );
        }
        assert!(!decode("{}".into(), &[], CAPS).unwrap().wraps_more);
    }

    #[test]
    fn a_second_gzip_member_is_refused() {
        let member = encode(Coding::Gzip, b"{}");
        let error = decode([member.clone(), member].concat().into(), &[Coding::Gzip], CAPS).unwrap_err();
        assert_eq!(error.code, Code::Malformed);
    }

    #[test]
    fn what_is_cut_off_is_refused() {
        for coding in ALL {
            let body = encode(coding, &[b'x'; 5000]);
            for length in [0, 1, body.len() / 2, body.len() - 1] {
                let error = decode(Bytes::copy_from_slice(&body[..length]), &[coding], CAPS).unwrap_err();
                assert_eq!(error.code, Code::Malformed, "{coding:?} cut to {length}");
            }
        }
    }

    #[test]
    fn bombs_are_refused_at_the_cap() {
        for coding in ALL {
            let bomb = Bytes::from(encode(coding, &vec![b' '; CAPS.size + 1]));
            let error = decode(bomb, &[coding], CAPS).unwrap_err();
            assert_eq!(error.code, Code::TooLarge, "{coding:?}");
        }
        let inner = encode(Coding::Gzip, &vec![b' '; CAPS.size + 1]);
        let stacked = Bytes::from(encode(Coding::Gzip, &inner));
        let error = decode(stacked, &[Coding::Gzip, Coding::Gzip], CAPS).unwrap_err();
        assert_eq!(error.code, Code::TooLarge);
    }

    proptest! {
        #[test]
        fn decoding_undoes_encoding(text in prop::collection::vec(any::<u8>(), 0..2000), picks in prop::collection::vec(0..4usize, 0..4)) {
            let codings: Vec<_> = picks.iter().map(|&pick| ALL[pick]).collect();
            let body = codings.iter().fold(text.clone(), |body, &coding| encode(coding, &body));
            prop_assert_eq!(decode(body.into(), &codings, CAPS).unwrap().body, text);
        }
    }
}
