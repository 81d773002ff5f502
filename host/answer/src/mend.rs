//! JSON that clients read although a strict parser does not: bytes that are no UTF-8, and halves of
//! characters that a stream cuts apart (lone surrogates). Both become U+FFFD, as in a browser.

use serde_json::Value;

/// How an escape begins, and how many bytes it has.
const ESCAPE: &[u8] = b"\\u";
const LENGTH: usize = 6;

/// Parses JSON, and says whether a character had to be mended.
pub(crate) fn parse(data: &[u8]) -> Result<(Value, bool), serde_json::Error> {
    match serde_json::from_slice(data) {
        Ok(value) => Ok((value, false)),
        Err(error) => {
            let mended = surrogates(&String::from_utf8_lossy(data));
            // What is wrong all the same was wrong before.
            serde_json::from_str(&mended).map(|value| (value, true)).map_err(|_| error)
        }
    }
}

/// Replaces escapes of surrogates that have no partner.
fn surrogates(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut mended = String::with_capacity(text.len());
    let (mut kept, mut at) = (0, 0);
    while at < bytes.len() {
        if bytes[at] != b'\\' {
            at += 1;
            continue;
        }
        match (surrogate(bytes, at), surrogate(bytes, at + LENGTH)) {
            (Some(Half::High), Some(Half::Low)) => at += 2 * LENGTH,
            (Some(_), _) => {
                mended.push_str(&text[kept..at]);
                mended.push_str("\\ufffd");
                at += LENGTH;
                kept = at;
            }
            // Any other escape: its second byte begins none.
            (None, _) => at += 2,
        }
    }
    mended.push_str(&text[kept..]);
    mended
}

#[derive(Clone, Copy)]
enum Half {
    High,
    Low,
}

fn surrogate(text: &[u8], at: usize) -> Option<Half> {
    let digits = text.get(at..at + LENGTH)?.strip_prefix(ESCAPE)?;
    let digits =
        std::str::from_utf8(digits).ok().filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))?;
    match u16::from_str_radix(digits, 16).ok()? {
        0xd800..=0xdbff => Some(Half::High),
        0xdc00..=0xdfff => Some(Half::Low),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn mended(text: &str) -> String {
        parse(text.as_bytes()).unwrap().0.as_str().unwrap().to_owned()
    }

    #[test]
    fn a_half_of_a_character_is_a_replacement() {
        assert_eq!(mended(r#""a\ud83d""#), "a\u{fffd}");
        assert_eq!(mended(r#""\ude00b""#), "\u{fffd}b");
        assert_eq!(mended(r#""\ud83d\ud83d\ude00\\ud83d""#), "\u{fffd}😀\\ud83d");
        assert_eq!(parse(b"\"a\xffb\"").unwrap(), (Value::from("a\u{fffd}b"), true));
        assert_eq!(parse(r#""\ud83d\ude00""#.as_bytes()).unwrap(), (Value::from("😀"), false));
    }

    #[test]
    fn what_is_no_json_stays_none() {
        for text in ["", "{", "\"\\ud83", "\"\\u\"", "[\"\\ud83d\"", "\\"] {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic_and_json_stays(bytes in prop::collection::vec(any::<u8>(), 0..40), text in any::<String>()) {
            let _ = parse(&bytes);
            let json = serde_json::to_vec(&text).unwrap();
            prop_assert_eq!(parse(&json).unwrap(), (Value::from(text), false));
        }

        #[test]
        fn escapes_in_any_row_are_read(row in "(\\\\ud83d|\\\\ude00|\\\\\\\\|a|\\\\n){0,8}") {
            let json = ["\"", &row, "\""].concat();
            prop_assert!(parse(json.as_bytes()).is_ok());
        }
    }
}
