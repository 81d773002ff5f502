//! The terms of an expression as they are written.

/// Splits an expression at each `&&` that stands in no brackets and no text.
pub(super) fn written(source: &str) -> Vec<&str> {
    let mut terms = Vec::new();
    let (mut start, mut at, mut depth) = (0, 0, 0_usize);
    while at < source.len() {
        let rest = &source[at..];
        let length = match rest.as_bytes()[0] {
            b'"' | b'\'' => text_length(source, at),
            b'(' | b'[' | b'{' => {
                depth += 1;
                1
            }
            b')' | b']' | b'}' => {
                depth = depth.saturating_sub(1);
                1
            }
            b'&' if depth == 0 && rest.starts_with("&&") => {
                terms.push(source[start..at].trim());
                start = at + 2;
                2
            }
            _ => rest.chars().next().map_or(1, char::len_utf8),
        };
        at += length;
    }
    terms.push(source[start.min(source.len())..].trim());
    terms
}

/// Returns how long a text in quotes is that begins at a place.
fn text_length(source: &str, at: usize) -> usize {
    let rest = &source[at..];
    let quote = &rest[..1];
    let triple = quote.repeat(3);
    let mark = if rest.starts_with(&triple) { triple.as_str() } else { quote };
    let is_raw = source[..at].ends_with(['r', 'R']);
    let mut inside = mark.len();
    while inside < rest.len() {
        if rest[inside..].starts_with(mark) {
            return inside + mark.len();
        }
        let mut characters = rest[inside..].chars();
        let Some(character) = characters.next() else { break };
        inside += character.len_utf8();
        if character == '\\' && !is_raw {
            inside += characters.next().map_or(0, char::len_utf8);
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_end_outside_of_brackets_and_texts() {
        assert_eq!(written("a && b"), ["a", "b"]);
        assert_eq!(written("f(a && b) && [c && d]"), ["f(a && b)", "[c && d]"]);
        assert_eq!(written(r#"x == "a && \" b" && y"#), [r#"x == "a && \" b""#, "y"]);
        assert_eq!(written(r"x.matches(r'\') && y"), [r"x.matches(r'\')", "y"]);
        assert_eq!(written(r"x == r'\' && y"), [r"x == r'\'", "y"]);
        assert_eq!(written("x == \'\'\'it\'s && \'\'\' && ü"), ["x == \'\'\'it\'s && \'\'\'", "ü"]);
        assert_eq!(written("\"open && x"), ["\"open && x"]);
        assert_eq!(written(""), [""]);
    }
}
