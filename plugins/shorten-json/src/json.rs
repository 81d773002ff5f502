//! A walk over JSON text (RFC 8259) that keeps every value's spelling.

/// Deepest nesting that is read. Deeper text is not taken for JSON.
const DEEPEST: usize = 256;

/// What a walk meets, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JsonEvent<'t> {
    /// `{` or `[`.
    Open(Bracket),
    /// `}` or `]`.
    Close(Bracket),
    /// A key, as it is spelled, in quotes.
    Key(&'t str),
    /// A string, as it is spelled, in quotes.
    String(&'t str),
    /// A number, `true`, `false` or `null`.
    Scalar(&'t str),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bracket {
    Object,
    List,
}

/// Reads a text that is one JSON value, or returns `None`.
pub(crate) fn read(text: &str) -> Option<Vec<JsonEvent<'_>>> {
    let mut reader = JsonReader { text, at: 0, events: Vec::new() };
    reader.value(0)?;
    reader.space();
    (reader.at == text.len()).then_some(reader.events)
}

struct JsonReader<'t> {
    text: &'t str,
    at: usize,
    events: Vec<JsonEvent<'t>>,
}

impl<'t> JsonReader<'t> {
    fn value(&mut self, depth: usize) -> Option<()> {
        self.space();
        match self.peek()? {
            b'{' if depth < DEEPEST => self.container(Bracket::Object, b'}', depth),
            b'[' if depth < DEEPEST => self.container(Bracket::List, b']', depth),
            b'"' => {
                let string = self.string()?;
                self.events.push(JsonEvent::String(string));
                Some(())
            }
            _ => self.scalar(),
        }
    }

    fn container(&mut self, bracket: Bracket, close: u8, depth: usize) -> Option<()> {
        self.at += 1;
        self.events.push(JsonEvent::Open(bracket));
        self.space();
        if self.peek()? == close {
            self.at += 1;
            self.events.push(JsonEvent::Close(bracket));
            return Some(());
        }
        loop {
            if bracket == Bracket::Object {
                self.space();
                let key = self.string()?;
                self.events.push(JsonEvent::Key(key));
                self.space();
                self.take(b':')?;
            }
            self.value(depth + 1)?;
            self.space();
            let next = self.peek()?;
            self.at += 1;
            match next {
                b',' => {}
                next if next == close => break,
                _ => return None,
            }
        }
        self.events.push(JsonEvent::Close(bracket));
        Some(())
    }

    /// A string with its quotes.
    fn string(&mut self) -> Option<&'t str> {
        let start = self.at;
        self.take(b'"')?;
        loop {
            match self.next()? {
                b'"' => return Some(&self.text[start..self.at]),
                b'\\' => match self.next()? {
                    b'u' => {
                        let digits = self.text.as_bytes().get(self.at..self.at + 4)?;
                        digits.iter().all(u8::is_ascii_hexdigit).then_some(())?;
                        self.at += 4;
                    }
                    b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => {}
                    _ => return None,
                },
                0..0x20 => return None,
                _ => {}
            }
        }
    }

    fn scalar(&mut self) -> Option<()> {
        let rest = &self.text[self.at..];
        let length =
            rest.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(byte)).count();
        let word = &rest[..length];
        (matches!(word, "true" | "false" | "null") || is_number(word)).then_some(())?;
        self.events.push(JsonEvent::Scalar(word));
        self.at += length;
        Some(())
    }

    fn space(&mut self) {
        let rest = &self.text.as_bytes()[self.at..];
        self.at += rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count();
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    fn take(&mut self, expected: u8) -> Option<()> {
        (self.next()? == expected).then_some(())
    }
}

fn is_number(word: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let unsigned = word.strip_prefix('-').unwrap_or(word);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let (whole, part) = match mantissa.split_once('.') {
        Some((whole, part)) => (whole, Some(part)),
        None => (mantissa, None),
    };
    digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && part.is_none_or(digits)
        && exponent.is_none_or(|exponent| digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_texts_are_json_as_for_serde() {
        for text in [
            "{}",
            "[]",
            " [ 1 , -0.5e+3 ] ",
            "\"\"",
            r#""\u00e9\n\"""#,
            "null",
            "0",
            "-0",
            "1E5",
            "{\"a\":{\"a\":[]}}",
            "",
            "{",
            "[1,]",
            "{\"a\"}",
            "{a:1}",
            "01",
            "1.",
            ".5",
            "+1",
            "1e",
            "nul",
            "[1]x",
            "\"\t\"",
            r#""\x""#,
            r#""\u12""#,
            "'a'",
            "[1 2]",
            "{\"a\":1,}",
            "\u{feff}{}",
            "NaN",
            "--1",
        ] {
            let known = serde_json::from_str::<serde_json::Value>(text).is_ok();
            assert_eq!(read(text).is_some(), known, "{text:?}");
        }
    }

    #[test]
    fn text_that_is_nested_too_deeply_is_no_json() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(read(&nested(DEEPEST)).is_some());
        assert!(read(&nested(DEEPEST + 1)).is_none());
        assert!(read(&"[".repeat(1 << 20)).is_none());
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_json_for_both_or_for_neither(text in r#"[\[\]{},:"\\0-9a-fu.eE+\- ]{0,24}"#) {
            let known = serde_json::from_str::<serde_json::Value>(&text).is_ok();
            // serde refuses numbers that no `f64` holds; RFC 8259 has them.
            let read = read(&text).is_some();
            proptest::prop_assert!(read == known || read && text.contains(['e', 'E']), "{text:?}");
        }
    }
}
