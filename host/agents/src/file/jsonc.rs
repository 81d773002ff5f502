//! JSON with comments, as editors keep their settings.

/// Returns the text with comments and trailing commas as blanks, so that every value keeps its line
/// and column. What is wrong stays wrong: a parser says where.
pub(super) fn plain(text: &str) -> String {
    let mut plain = text.strip_prefix('\u{feff}').unwrap_or(text).as_bytes().to_vec();
    let mut at = 0;
    let mut comma = None;
    while let Some(&byte) = plain.get(at) {
        match byte {
            b'"' => {
                comma = None;
                at = string_end(&plain, at);
                continue;
            }
            b'/' if plain.get(at + 1) == Some(&b'/') => {
                let end = find(&plain, at, b"\n").unwrap_or(plain.len());
                blank(&mut plain[at..end]);
                at = end;
                continue;
            }
            b'/' if plain.get(at + 1) == Some(&b'*') => {
                // A comment without an end is no comment, and so an error.
                let Some(end) = find(&plain, at + 2, b"*/") else { break };
                blank(&mut plain[at..end + 2]);
                at = end + 2;
                continue;
            }
            b',' => comma = Some(at),
            b'}' | b']' => {
                if let Some(comma) = comma.take() {
                    plain[comma] = b' ';
                }
            }
            byte if byte.is_ascii_whitespace() => {}
            _ => comma = None,
        }
        at += 1;
    }
    // Only whole comments and single signs were replaced, so it is text as before.
    String::from_utf8(plain).unwrap_or_else(|_| text.to_owned())
}

fn string_end(text: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}

fn find(text: &[u8], from: usize, what: &[u8]) -> Option<usize> {
    let rest = text.get(from..)?;
    rest.windows(what.len()).position(|window| window == what).map(|at| from + at)
}

/// Line ends stay: they count lines.
fn blank(comment: &mut [u8]) {
    comment.iter_mut().filter(|byte| **byte != b'\n' && **byte != b'\r').for_each(|byte| *byte = b' ');
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    #[test]
    fn comments_and_trailing_commas_are_blank_and_strings_stay() {
        let text = "{ // é\n \"a\": \"// no /* \\\" \", /* x\n y */ \"b\": [1, 2, ], }";
        let read: Value = serde_json::from_str(&plain(text)).unwrap();
        assert_eq!(read, serde_json::json!({ "a": "// no /* \" ", "b": [1, 2] }));
        assert_eq!(plain(text).lines().count(), text.lines().count());
    }

    #[test]
    fn what_is_wrong_stays_wrong() {
        for text in ["{,}x", "{\"a\": /* 1}", "[1,,2]", "{\"a\" 1}", "\"a", "[1 /]"] {
            assert!(serde_json::from_str::<Value>(&plain(text)).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn plain_json_stays_as_it_is(text in any::<String>()) {
            let json = serde_json::to_string_pretty(&serde_json::json!({ "a": [text.clone(), {}], "b": text })).unwrap();
            prop_assert_eq!(plain(&json), json);
        }

        #[test]
        fn no_text_makes_it_panic(text in "[\\[\\]{},/*\"\\\\ \na1é]{0,40}") {
            let _ = plain(&text);
        }
    }
}
