//! The path of a request, as rules know it.

use std::borrow::Cow;

/// Returns a path without its query in the one spelling that rules and tables of paths know. Servers take other spellings for the
/// same: several slashes for one, one at the end for none, and `%63` for the letter that it stands for (RFC 3986, 6.2.2.2). What is
/// sent keeps its spelling.
///
/// ```
/// assert_eq!(leafgate_policy::endpoint("/v1//%63hat/completions/"), "/v1/chat/completions");
/// assert_eq!(leafgate_policy::endpoint("/v1/files/a%2fb"), "/v1/files/a%2fb");
/// ```
pub fn endpoint(path: &str) -> Cow<'_, str> {
    let ends = path.len() > 1 && path.ends_with('/');
    if !ends && !path.contains("//") && !path.contains('%') {
        return Cow::Borrowed(path);
    }
    let mut spelled = String::with_capacity(path.len());
    let mut rest = path;
    while let Some(next) = rest.chars().next() {
        let decoded = rest.get(..3).and_then(unreserved);
        let (next, length) = decoded.map_or((next, next.len_utf8()), |byte| (char::from(byte), 3));
        if next != '/' || !spelled.ends_with('/') {
            spelled.push(next);
        }
        rest = &rest[length..];
    }
    if spelled.len() > 1 && spelled.ends_with('/') {
        spelled.pop();
    }
    Cow::Owned(spelled)
}

/// The letter, digit or sign that an escape stands for without need.
fn unreserved(escape: &str) -> Option<u8> {
    let digits =
        escape.strip_prefix('%').filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
    let byte = u8::from_str_radix(digits, 16).ok()?;
    (byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)).then_some(byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_path_has_one_spelling() {
        for (path, expected) in [
            ("/", "/"),
            ("", ""),
            ("//", "/"),
            ("/v1///x//", "/v1/x"),
            ("/v1/x/", "/v1/x"),
            ("/v1/%4d%6F/é%C3%A9", "/v1/Mo/é%C3%A9"),
            ("/v1/%2e%7e%2F%25%zz%4", "/v1/.~%2F%25%zz%4"),
            ("/v1/%+f", "/v1/%+f"),
        ] {
            assert_eq!(endpoint(path), expected, "{path}");
            assert_eq!(endpoint(expected), expected);
        }
    }
}
