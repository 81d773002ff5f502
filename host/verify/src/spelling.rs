//! Strings of JSON: from their spelling to their text and back (RFC 8259, section 7).

use std::fmt::Write as _;

/// Decodes the spelling of a string. A lone surrogate or a bad escape becomes U+FFFD.
pub(crate) fn unescape(raw: &str) -> String {
    let mut text = String::with_capacity(raw.len());
    let mut units: Vec<u16> = Vec::new();
    let mut rest = raw;
    while let Some(at) = rest.find('\\') {
        flush(&mut units, &mut text, at > 0);
        text.push_str(&rest[..at]);
        let escape = &rest[at + 1..];
        let unit = escape.strip_prefix('u').and_then(|digits| u16::from_str_radix(digits.get(..4)?, 16).ok());
        let length = match (unit, escape.chars().next()) {
            (Some(unit), _) => {
                units.push(unit);
                5
            }
            (None, Some(character)) => {
                flush(&mut units, &mut text, true);
                text.push(simple(character));
                character.len_utf8()
            }
            (None, None) => 0,
        };
        rest = &escape[length..];
    }
    flush(&mut units, &mut text, true);
    text.push_str(rest);
    text
}

/// Writes the text of a run of `\u` escapes, once the run has ended.
fn flush(units: &mut Vec<u16>, text: &mut String, ended: bool) {
    if ended {
        let characters = char::decode_utf16(units.drain(..));
        text.extend(characters.map(|character| character.unwrap_or(char::REPLACEMENT_CHARACTER)));
    }
}

fn simple(escape: char) -> char {
    match escape {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        'b' => '\u{8}',
        'f' => '\u{c}',
        '"' | '\\' | '/' => escape,
        _ => char::REPLACEMENT_CHARACTER,
    }
}

/// Spells a text as a JSON string.
pub(crate) fn quote(text: &str) -> String {
    let mut quoted = String::from('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            control if control < ' ' => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(control));
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_escape_has_its_character_and_lone_surrogates_a_replacement() {
        assert_eq!(unescape(r#"\"\\\/\b\f\n\r\t\u00e9"#), "\"\\/\u{8}\u{c}\n\r\té");
        assert_eq!(unescape(r"\ud83d\ude00"), "😀");
        assert_eq!(
            unescape(r"a\ude00\ud83d\ud83d\ude00b\ud83d c\ud83d\n"),
            "a\u{fffd}\u{fffd}😀b\u{fffd} c\u{fffd}\n"
        );
    }

    #[test]
    fn what_is_no_escape_is_replaced_and_never_panics() {
        for raw in ["\\", "\\x", "\\u12", "\\u12é4", "\\é", "\\ud83d\\u"] {
            assert!(unescape(raw).contains('\u{fffd}') || raw == "\\", "{raw:?}");
        }
    }

    #[test]
    fn a_quoted_text_comes_back() {
        let text = "quote \" backslash \\ newline \n nul \0 é 😀";
        assert_eq!(unescape(quote(text).trim_matches('"')), text);
    }
}
