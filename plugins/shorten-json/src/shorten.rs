//! The shape of a JSON value, with samples.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_with::{Map, serde_as};

/// Deepest nesting that is kept, whatever is asked for: each level reads again what is below it.
const DEEPEST: usize = 64;

/// What is left of a value.
pub(crate) struct ShortenLengths {
    /// Items of a list.
    pub(crate) items: usize,
    /// Characters of a string.
    pub(crate) chars: usize,
    /// Nested lists and objects.
    pub(crate) depth: usize,
}

/// Returns a shorter text of the same shape, or `None` where the text is no JSON or would not
/// become shorter.
pub(crate) fn shorten(text: &str, limits: &ShortenLengths) -> Option<String> {
    shape(text, limits).filter(|shape| shape.len() < text.len())
}

/// Returns the shape of a text that is JSON, as long as it may be.
fn shape(text: &str, limits: &ShortenLengths) -> Option<String> {
    let value: &RawValue = serde_json::from_str(text).ok()?;
    let mut writer = ShortWriter { limits, text: String::new() };
    writer.value(value, 0)?;
    Some(writer.text)
}

/// The members of an object, in order, as they are spelled.
#[serde_as]
#[derive(Deserialize)]
struct SpelledMembers<'t>(
    #[serde(borrow)]
    #[serde_as(as = "Map<_, _>")]
    Vec<(&'t RawValue, &'t RawValue)>,
);

/// Writes what is kept.
struct ShortWriter<'l> {
    limits: &'l ShortenLengths,
    text: String,
}

impl ShortWriter<'_> {
    fn value(&mut self, value: &RawValue, depth: usize) -> Option<()> {
        let spelled = value.get();
        let is_deep = depth >= self.limits.depth.min(DEEPEST);
        match spelled.as_bytes() {
            [b'{', ..] => {
                let SpelledMembers(members) = serde_json::from_str(spelled).ok()?;
                if is_deep {
                    self.told(members.len(), "{… ", " keys}");
                } else {
                    self.object(&members, depth)?;
                }
            }
            [b'[', ..] => {
                let items: Vec<&RawValue> = serde_json::from_str(spelled).ok()?;
                if is_deep {
                    self.told(items.len(), "[… ", " items]");
                } else {
                    self.list(&items, depth)?;
                }
            }
            [b'"', ..] => self.string(spelled),
            _ => self.text.push_str(spelled),
        }
        Some(())
    }

    fn object(&mut self, members: &[(&RawValue, &RawValue)], depth: usize) -> Option<()> {
        self.text.push('{');
        for (place, (key, value)) in members.iter().enumerate() {
            self.text.push_str(if place > 0 { "," } else { "" });
            self.text.push_str(key.get());
            self.text.push(':');
            self.value(value, depth + 1)?;
        }
        self.text.push('}');
        Some(())
    }

    fn list(&mut self, items: &[&RawValue], depth: usize) -> Option<()> {
        self.text.push('[');
        let (kept, more) = items.split_at(items.len().min(self.limits.items));
        for (place, item) in kept.iter().enumerate() {
            self.text.push_str(if place > 0 { "," } else { "" });
            self.value(item, depth + 1)?;
        }
        if !more.is_empty() {
            self.text.push(',');
            self.told(more.len(), "… ", " more");
        }
        self.text.push(']');
        Some(())
    }

    /// A sentence in the place of values, as a string.
    fn told(&mut self, count: usize, before: &str, after: &str) {
        self.text.push_str(&format!("\"{before}{count}{after}\""));
    }

    /// A string, cut between characters and outside of escapes.
    fn string(&mut self, spelled: &str) {
        let inside = &spelled[1..spelled.len() - 1];
        let (mut kept, mut chars) = (0, 0);
        while kept < inside.len() && chars < self.limits.chars {
            kept += letter(&inside[kept..]);
            chars += 1;
        }
        if kept == inside.len() {
            return self.text.push_str(spelled);
        }
        let cut = inside.len() - kept;
        self.text.push_str(&format!("\"{}… {cut} bytes more\"", &inside[..kept]));
    }
}

/// Bytes of the first letter of a string as it is spelled; both halves of a surrogate pair are one.
fn letter(spelled: &str) -> usize {
    let bytes = spelled.as_bytes();
    let is_half = |at: usize, second: &[u8]| {
        let begins = matches!(bytes.get(at..at + 3), Some(b"\\ud" | b"\\uD"));
        begins && bytes.get(at + 3).is_some_and(|byte| second.contains(&byte.to_ascii_lowercase()))
    };
    match bytes {
        [b'\\', b'u', ..] if is_half(0, b"89ab") && is_half(6, b"cdef") => 12,
        [b'\\', b'u', ..] => 6,
        [b'\\', ..] => 2,
        _ => spelled.chars().next().map_or(0, char::len_utf8),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn short(text: &str, items: usize, chars: usize, depth: usize) -> Option<String> {
        shorten(text, &ShortenLengths { items, chars, depth })
    }

    #[test]
    fn lists_strings_and_depth_are_cut_and_keys_are_kept() {
        for (text, expected) in [
            (r#"{"a": [1, 2, 3, 4, 5], "b": 1}"#, r#"{"a":[1,2,"… 3 more"],"b":1}"#),
            (r#"[[1,2,3],[4,5,6],[7,8,9],[10]]"#, r#"[[1,2,"… 1 more"],[4,5,"… 1 more"],"… 2 more"]"#),
            (r#""a string that is long enough to be cut""#, r#""a string … 29 bytes more""#),
            (r#"{"a": {"b": {"c": {"d": [1, 2, 3, 4]}}}}"#, r#"{"a":{"b":{"c":"{… 1 keys}"}}}"#),
            (r#"[ [ [ [1, {"a": 2}, 3, 4, 5, 6, 7] ] ] ]"#, r#"[[["[… 7 items]"]]]"#),
            (r#"{"number": 1.50e3,   "spelled": "é"}"#, r#"{"number":1.50e3,"spelled":"é"}"#),
        ] {
            let shape = shape(text, &ShortenLengths { items: 2, chars: 9, depth: 3 });
            assert_eq!(shape.as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_json_or_short_already_is_left_alone() {
        for text in ["", "text", "[1,2", "[1,2]", r#"{"a":1}"#, "1", "[1,2,3,4,]", "[1,2,3,4]x", "[01,2,3,4]"]
        {
            assert_eq!(short(text, 2, 9, 3), None, "{text}");
        }
    }

    #[test]
    fn nesting_without_end_is_told_by_its_size() {
        let nested = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
        let shortened = short(&nested, 1, 1, usize::MAX).unwrap();
        assert_eq!(shortened, format!("{}\"[… 1 items]\"{}", "[".repeat(DEEPEST), "]".repeat(DEEPEST)));
    }

    #[test]
    fn keys_keep_their_spelling_and_their_number() {
        let text = r#"{"\u0061" : 1, "a" :2, "a":[ ]   }"#;
        assert_eq!(short(text, 1, 1, 2).as_deref(), Some(r#"{"\u0061":1,"a":2,"a":[]}"#));
    }

    #[test]
    fn a_string_is_never_cut_inside_an_escape() {
        let text = format!("\"{}\"", r"\ud83d\ude00\u00e9\n\\é".repeat(20));
        for chars in 1..60 {
            let shortened = short(&text, 1, chars, 1).unwrap();
            let value: Value = serde_json::from_str(&shortened).unwrap();
            let kept = value.as_str().unwrap().split('…').next().unwrap().chars().count();
            assert_eq!(kept, chars, "{shortened}");
        }
    }

    proptest::proptest! {
        #[test]
        fn what_is_left_is_json_and_as_short_as_asked(
            value in proptest::collection::vec(proptest::collection::vec("\\PC{0,20}", 0..6), 0..6),
            items in 1_usize..4,
            chars in 1_usize..8,
        ) {
            let text = serde_json::to_string_pretty(&value).unwrap();
            if let Some(shortened) = short(&text, items, chars, 4) {
                proptest::prop_assert!(shortened.len() < text.len());
                let left: Value = serde_json::from_str(&shortened).unwrap();
                proptest::prop_assert!(left.as_array().unwrap().len() <= items + 1);
            }
        }
    }
}
