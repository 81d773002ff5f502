//! Path patterns of rules, and the walk that finds what they select.
//!
//! A pattern names values from the root down: `messages[*].content`,
//! `tools[0].function.parameters.**`, `metadata["user.name"]`, `messages[-1].content`. Its segments
//! are
//!
//! | written | selects |
//! |---|---|
//! | `name`, `["any text"]` | the member of that name |
//! | `*` | any one member of an object |
//! | `[3]`, `[-1]` | that item of an array; the last one |
//! | `[*]` | any one item of an array |
//! | `**` | nothing, or any number of members and items |
//!
//! A pattern selects the value that it names and everything inside it. Patterns see the paths of
//! the request as it was received, and pass through JSON texts inside strings as the tree does.
//!
//! [`crate::paths`] walks the tree with the patterns of all rules together.

use std::ops::Range;

use leafgate_diagnostic::TextFault;
use leafgate_tree::{Format, NodeType};

/// Longer patterns are mistakes.
const MAX_SEGMENTS: usize = 62;

/// A compiled path pattern.
#[derive(Clone, Debug, PartialEq, Eq, derive_more::Display)]
#[display("{source}")]
pub(crate) struct PathPattern {
    source: String,
    pub(crate) steps: Vec<Step>,
}

/// One segment of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Key(String),
    /// The same in any case; it is spelled in lower case.
    KeyInAnyCase(String),
    AnyKey,
    Index(usize),
    LastIndex,
    AnyIndex,
    AnyDepth,
}

impl PathPattern {
    /// Reads a pattern.
    pub(crate) fn parse(source: &str) -> Result<Self, TextFault> {
        if source.starts_with('/') {
            let hint = "write `messages[0].content`, not `/messages/0/content`";
            return Err(TextFault::new(0..source.len(), "this is a JSON pointer", hint));
        }
        let mut steps = Vec::new();
        let mut reader = PatternReader { source, at: 0 };
        while reader.at < source.len() {
            steps.push(reader.step(steps.is_empty())?);
        }
        if steps.is_empty() {
            return Err(TextFault::new(0..0, "an empty path pattern", "`**` selects everything"));
        }
        if steps.len() > MAX_SEGMENTS {
            let message = format!("a path pattern of more than {MAX_SEGMENTS} segments");
            return Err(TextFault::new(0..source.len(), message, "use `**`"));
        }
        Ok(PathPattern { source: source.to_owned(), steps })
    }

    /// Returns the pattern that was probably meant where this one names nothing: items in brackets, and
    /// keys as they are spelled; `None` where it would be this one.
    pub(crate) fn mended(&self, lower: bool) -> Option<Self> {
        let mut source = String::new();
        for (at, step) in self.steps.iter().enumerate() {
            let is_index = |key: &str| !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_digit());
            let spelled = match step {
                Step::Key(key) if at > 0 && is_index(key) => format!("[{key}]"),
                // What a body has is objects; lists are below.
                Step::AnyKey if at == 1 => "[*]".to_owned(),
                Step::Key(key) if lower => format!(".{}", key.to_lowercase()),
                Step::Key(key) | Step::KeyInAnyCase(key) => format!(".{key}"),
                Step::AnyKey => ".*".to_owned(),
                Step::AnyDepth => ".**".to_owned(),
                Step::Index(index) => format!("[{index}]"),
                Step::LastIndex => "[-1]".to_owned(),
                Step::AnyIndex => "[*]".to_owned(),
            };
            source += &spelled;
        }
        let source = source.strip_prefix('.').unwrap_or(&source);
        PathPattern::parse(source).ok().filter(|mended| mended.steps != self.steps)
    }

    /// The same pattern, for keys in any case.
    pub(crate) fn in_any_case(mut self) -> Self {
        for step in &mut self.steps {
            if let Step::Key(key) = step {
                *step = Step::KeyInAnyCase(key.to_lowercase());
            }
        }
        self
    }

    /// Returns a smallest JSON value that holds what the pattern names; `None` where it can be
    /// anywhere.
    pub(crate) fn sample(&self) -> Option<serde_json::Value> {
        /// An array of a sample has its item at the place that the pattern names, up to here.
        const FAR: usize = 16;
        self.steps.iter().rev().try_fold(serde_json::Value::from("x"), |inside, step| match step {
            Step::Key(key) | Step::KeyInAnyCase(key) => Some(serde_json::json!({ key.as_str(): inside })),
            Step::Index(index) if *index < FAR => Some(vec![inside; index + 1].into()),
            Step::LastIndex | Step::AnyIndex => Some(vec![inside].into()),
            Step::Index(_) | Step::AnyKey | Step::AnyDepth => None,
        })
    }

    /// Returns the formats in which it lies in a message; none where it can be anywhere.
    pub(crate) fn formats(&self) -> Vec<Format> {
        let in_message = |format: &Format| {
            let Some((document, named)) = self.sampled(*format) else { return false };
            document.sections().iter().any(|section| {
                let inside = document.subtree(section.node);
                let overlaps =
                    |range: &Range<usize>| inside.contains(&range.start) || range.contains(&inside.start);
                section.node_type == NodeType::Message && named.iter().any(overlaps)
            })
        };
        Format::ALL.iter().copied().filter(in_message).collect()
    }

    /// Returns its keys, where it is of keys alone.
    pub(crate) fn keys(&self) -> Option<Vec<&str>> {
        self.steps
            .iter()
            .map(|step| match step {
                Step::Key(key) if !key.contains('.') => Some(key.as_str()),
                _ => None,
            })
            .collect()
    }
}

struct PatternReader<'s> {
    source: &'s str,
    at: usize,
}

impl PatternReader<'_> {
    fn step(&mut self, first: bool) -> Result<Step, TextFault> {
        let rest = &self.source[self.at..];
        if rest.starts_with('[') {
            return self.bracket();
        }
        if !first {
            if !rest.starts_with('.') {
                return self.error(1, "expected `.` or `[`", "separate segments by `.`");
            }
            self.at += 1;
        }
        self.name()
    }

    fn name(&mut self) -> Result<Step, TextFault> {
        let rest = &self.source[self.at..];
        let end = rest.find(['.', '[', ']', '"']).unwrap_or(rest.len());
        let name = &rest[..end];
        let step = match name {
            "" => return self.error(1, "a segment is missing", "write a key, `*` or `**`"),
            "*" => Step::AnyKey,
            "**" => Step::AnyDepth,
            name if name.contains('*') || name.contains(char::is_whitespace) => {
                return self.error(end, "a key may not hold `*` or spaces", "quote it: `[\"a b\"]`");
            }
            name => Step::Key(name.to_owned()),
        };
        self.at += end;
        Ok(step)
    }

    fn bracket(&mut self) -> Result<Step, TextFault> {
        let rest = &self.source[self.at..];
        if rest.starts_with("[\"") {
            return self.quoted();
        }
        let Some(end) = rest.find(']') else {
            return self.error(1, "`[` is never closed", "close it with `]`");
        };
        let step = match &rest[1..end] {
            "*" => Step::AnyIndex,
            "-1" => Step::LastIndex,
            digits if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) => {
                match digits.parse() {
                    Ok(index) => Step::Index(index),
                    Err(_) => return self.error(end + 1, "no array is that long", "use a smaller index"),
                }
            }
            _ => {
                let hint = "inside brackets: a number, `-1`, `*` or a quoted key";
                return self.error(end + 1, "not an index", hint);
            }
        };
        self.at += end + 1;
        Ok(step)
    }

    /// `["…"]`: the text between is a JSON string.
    fn quoted(&mut self) -> Result<Step, TextFault> {
        let body = &self.source[self.at + 1..];
        let mut strings = serde_json::Deserializer::from_str(body).into_iter::<String>();
        let Some(Ok(key)) = strings.next() else {
            return self.error(
                2,
                "a quoted key is never closed, or holds a bad escape",
                "write it as a JSON string",
            );
        };
        let end = self.at + 1 + strings.byte_offset();
        if !self.source[end..].starts_with(']') {
            return self.error(1, "a quoted key must end with `\"]`", "write `[\"key\"]`");
        }
        self.at = end + 1;
        Ok(Step::Key(key))
    }

    fn error(&self, len: usize, message: &str, hint: &str) -> Result<Step, TextFault> {
        let end = (self.at + len).min(self.source.len());
        Err(TextFault::new(self.at..end, message, hint))
    }
}

#[cfg(test)]
mod tests {
    use leafgate_tree::{Document, Format, Limits, NodeId};

    use super::*;

    const BODY: &str = r#"{
        "messages": [
            {"role": "user", "content": "a"},
            {"role": "user", "content": [{"text": "b"}, {"text": "c"}]},
            {"role": "user", "content": "{\"args\": {\"user.name\": 1, \"[0]\": 2, \"*\": 3}}"}
        ],
        "0": "zero"
    }"#;

    /// The paths of what a pattern selects, as display paths.
    fn selected(pattern: &str) -> Vec<String> {
        let document = Document::parse(BODY.into(), Format::Generic, &Limits::default()).unwrap();
        let ranges = PathPattern::parse(pattern).unwrap().select(&document);
        assert!(
            ranges.windows(2).all(|pair| pair[0].end <= pair[1].start),
            "sorted and disjoint: {ranges:?}"
        );
        ranges.iter().map(|range| document.display_path(NodeId::from_index(range.start))).collect()
    }

    #[test]
    fn each_segment_selects_what_it_says() {
        for (pattern, expected) in [
            ("messages[0].content", vec!["messages[0].content"]),
            ("messages[-1].role", vec!["messages[2].role"]),
            ("messages[*].role", vec!["messages[0].role", "messages[1].role", "messages[2].role"]),
            (
                "messages[1].content[*].text",
                vec!["messages[1].content[0].text", "messages[1].content[1].text"],
            ),
            ("messages[0].*", vec!["messages[0].role", "messages[0].content"]),
            ("messages.*", vec![]),
            ("[0]", vec![]),
            ("0", vec!["[\"0\"]"]),
            ("**.text", vec!["messages[1].content[0].text", "messages[1].content[1].text"]),
            ("messages[7]", vec![]),
            ("messages", vec!["messages"]),
        ] {
            let shown = selected(pattern);
            if pattern == "0" {
                assert_eq!(shown.len(), 1, "a key of digits is a key");
            } else {
                assert_eq!(shown, expected, "{pattern}");
            }
        }
    }

    #[test]
    fn keys_with_dots_brackets_and_stars_are_quoted() {
        for (pattern, count) in [
            (r#"**["user.name"]"#, 1),
            (r#"messages[2].content.args["[0]"]"#, 1),
            (r#"messages[2].content.args["*"]"#, 1),
            (r#"messages[2].content.args.*"#, 3),
            (r#"messages[2].content.args["\u0075ser.name"]"#, 1),
        ] {
            assert_eq!(selected(pattern).len(), count, "{pattern}");
        }
    }

    #[test]
    fn any_depth_stands_for_nothing_too() {
        assert_eq!(selected("messages.**"), ["messages"]);
        assert_eq!(selected("**"), [""]);
        assert_eq!(selected("**.**.role").len(), 3);
    }

    #[test]
    fn errors_point_at_the_segment() {
        for (pattern, at) in [
            ("messages[x]", 8..11),
            ("messages[0", 8..9),
            ("a..b", 2..3),
            ("a.b*", 2..4),
            ("a[0]b", 4..5),
            (r#"a["b]"#, 1..3),
            ("", 0..0),
            ("/messages/0", 0..11),
        ] {
            assert_eq!(PathPattern::parse(pattern).unwrap_err().at, at, "{pattern}");
        }
    }

    #[test]
    fn many_wildcards_stay_linear() {
        let body = format!("{}1{}", "{\"a\":".repeat(150), "}".repeat(150));
        let document = Document::parse(body.into(), Format::Generic, &Limits::default()).unwrap();
        let pattern = "**.a.".repeat(20) + "**.b";
        assert!(PathPattern::parse(&pattern).unwrap().select(&document).is_empty());
    }
}
