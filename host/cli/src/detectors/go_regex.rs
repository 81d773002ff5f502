//! Patterns of Go's `regexp` in the syntax of Rust's `regex`.
//!
//! Both are of one family: linear, leftmost first, no look-around. What differs, and is translated
//! here: `\w`, `\d`, `\s` and `\b` are about ASCII in Go; `{`, and in a class `[`, `&` and `~`, stand
//! for themselves where they begin nothing; `\Q…\E` quotes, `\123` is a character in octal, and `\<`
//! is a sign. What Rust does not know, such as `\C`, is left for its compiler to refuse.

use regex_syntax::ast::ClassAsciiKind;

/// What a detector calls the group that is the finding.
pub(super) const VALUE: &str = "value";

/// Returns the pattern with which Rust finds what Go finds with this one. The group of a number, counted from 1, is called [`VALUE`].
pub(super) fn translated(pattern: &str, value: usize) -> String {
    let mut out = String::with_capacity(pattern.len() * 2);
    let (mut rest, mut groups) = (pattern, 0);
    while let Some(c) = rest.chars().next() {
        let end = match c {
            '(' if is_counted(rest) => {
                groups += 1;
                let name = rest.starts_with("(?").then(|| rest.find('>')).flatten();
                out += &if groups == value { format!("(?P<{VALUE}>") } else { "(".to_owned() };
                name.filter(|_| groups == value).map_or(1, |end| end + 1)
            }
            '[' => class(rest, &mut out),
            '\\' if rest.starts_with(r"\b") => {
                out += r"(?-u:\b)";
                2
            }
            '\\' if rest.starts_with(r"\Q") => {
                let quoted = rest[2..].split(r"\E").next().unwrap_or_default();
                out.extend(quoted.chars().map(literal));
                (2 + quoted.len() + r"\E".len()).min(rest.len())
            }
            '\\' => {
                let piece = escaped(rest);
                out += &piece.text;
                piece.read
            }
            '{' if !begins_repetition(rest) => {
                out += r"\{";
                1
            }
            c => {
                out.push(c);
                c.len_utf8()
            }
        };
        rest = &rest[end..];
    }
    out
}

/// Returns whether a group is one that is counted, by a name or without.
fn is_counted(rest: &str) -> bool {
    let kind = rest.strip_prefix("(?").map(|kind| kind.strip_prefix('P').unwrap_or(kind));
    kind.is_none_or(|kind| kind.starts_with('<'))
}

/// Returns whether `{3}`, `{3,}` or `{3,5}` begins here.
fn begins_repetition(rest: &str) -> bool {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let Some((inside, _)) = rest[1..].split_once('}') else { return false };
    let (least, most) = inside.split_once(',').unwrap_or((inside, ""));
    number(least) && (most.is_empty() || number(most))
}

/// What begins a stretch of a pattern, as Rust has it.
struct RegexPiece {
    text: String,
    /// Bytes that it has in the pattern.
    read: usize,
    /// Whether it is a character, which may begin or end a range, and no set of them.
    is_char: bool,
}

/// Reads an escape. What Rust does not know either is left as it is.
fn escaped(rest: &str) -> RegexPiece {
    let set = |set: &str| RegexPiece { text: set.to_owned(), read: 2, is_char: false };
    let octal: String = rest[1..].chars().take(3).take_while(|c| matches!(c, '0'..='7')).collect();
    match rest.chars().nth(1) {
        Some('d') => set("[0-9]"),
        Some('D') => set("[^0-9]"),
        Some('s') => set(r"[\t\n\f\r ]"),
        Some('S') => set(r"[^\t\n\f\r ]"),
        Some('w') => set("[0-9A-Za-z_]"),
        Some('W') => set("[^0-9A-Za-z_]"),
        Some('p' | 'P') => copied(rest, 3, false),
        // Two digits, or any number in braces.
        Some('x') => copied(rest, 4, true),
        // A lone digit would refer back, which neither language can.
        Some('0'..='7') if octal.len() > 1 || octal == "0" => {
            let c = u32::from_str_radix(&octal, 8).ok().and_then(char::from_u32).unwrap_or_default();
            RegexPiece { text: literal(c), read: 1 + octal.len(), is_char: true }
        }
        Some(c) if c.is_ascii() && !c.is_ascii_alphanumeric() => {
            RegexPiece { text: literal(c), read: 2, is_char: true }
        }
        _ => copied(rest, 2, true),
    }
}

/// Takes so many characters over, or those to the end of a brace that begins behind the letter.
fn copied(rest: &str, chars: usize, is_char: bool) -> RegexPiece {
    let has_brace = chars > 2 && rest[2..].starts_with('{');
    let close = rest.find('}').filter(|_| has_brace).map(|close| close + 1);
    let read = close.or_else(|| rest.char_indices().nth(chars).map(|(at, _)| at)).unwrap_or(rest.len());
    RegexPiece { text: rest[..read].to_owned(), read, is_char }
}

/// Reads a class, and returns how long it is.
fn class(whole: &str, out: &mut String) -> usize {
    let start = if whole.starts_with("[^") { 2 } else { 1 };
    *out += &whole[..start];
    let (mut at, mut is_low, mut is_high) = (start, false, false);
    while let Some(c) = whole[at..].chars().next() {
        let rest = &whole[at..];
        if c == ']' && at > start {
            out.push(']');
            return at + 1;
        }
        // Behind a character a `-` makes a range, elsewhere it is one itself.
        if c == '-' && is_low && !rest.starts_with("-]") {
            out.push('-');
            (at, is_low, is_high) = (at + 1, false, true);
            continue;
        }
        let name = rest.strip_prefix("[:").and_then(|named| named.split_once(":]")).map(|(name, _)| name);
        let piece = match (c, name) {
            ('\\', _) => escaped(rest),
            (_, Some(name)) => {
                // Rust would take an unknown name for a list of letters, Go refuses it.
                let is_known = ClassAsciiKind::from_name(name.trim_start_matches('^')).is_some();
                let text = if is_known { format!("[:{name}:]") } else { format!(r"\p{{{name}}}") };
                RegexPiece { text, read: name.len() + "[::]".len(), is_char: false }
            }
            _ => RegexPiece { text: literal(c), read: c.len_utf8(), is_char: true },
        };
        // A range that ends with a set is refused, by Rust as by Go.
        *out += if is_high && !piece.is_char { r"\d" } else { piece.text.as_str() };
        (at, is_low, is_high) = (at + piece.read, piece.is_char && !is_high, false);
    }
    at
}

/// Returns a character that stands for itself.
fn literal(c: char) -> String {
    if c.is_ascii_alphanumeric() { c.to_string() } else { format!(r"\x{{{:x}}}", u32::from(c)) }
}

#[cfg(test)]
mod tests {
    use regex::Regex;

    use super::*;

    #[test]
    fn what_go_reads_otherwise_is_translated() {
        for (pattern, matching, other) in [
            (r"^\w+$", "a_1", "é"),
            (r"^\d$", "7", "\u{664}"),
            (r"^\s$", "\t", "\u{b}"),
            (r"^\S\D\W$", "xx-", " 1a"),
            // In Go a letter beyond ASCII is none of a word.
            (r"\bkey\b", "ékey", "xkey"),
            (r"^\${(?:[A-Z_]+)}$", "${A_B}", "$A_B"),
            (r"^{\d{0,2}}$", "{42}", "{427}"),
            (r"^[[]$", "[", "]"),
            (r"^[]a]+$", "]a", "["),
            (r"^[a&&b]+$", "a&b", "c"),
            (r"^[\w-.]+$", "a-.", "/"),
            (r"^[a-c~~-]+$", "b~-", "d"),
            (r"^[^\s\x60'\]]+$", "ab", "`"),
            (r"^\Qa.b\E+$", "a.bb", "axb"),
            (r"^\Qa.b", "a.b", "axb"),
            (r"^\101\x42\x{43}\/\<$", "ABC/<", "ABC/"),
            (r"^[\101-C]$", "B", "D"),
            (r"^[[:alnum:]_]+\pL\p{Greek}$", "a_éλ", "a-éλ"),
            (r"^(?i)k[\W]$", "K-", "kk"),
            (r"^(?P<a>x){2,}?\.$", "xx.", "x."),
        ] {
            let regex =
                Regex::new(&translated(pattern, 1)).unwrap_or_else(|error| panic!("{pattern}: {error}"));
            assert!(regex.is_match(matching), "{pattern} in {matching}");
            assert!(!regex.is_match(other), "{pattern} in {other}");
        }
    }

    #[test]
    fn the_group_that_is_the_finding_gets_its_name() {
        for (pattern, value, text, found) in [
            (r"key=(\w+)", 1, "key=abc", "abc"),
            (r"(?i)(?:k|K)=(\w+) (x)", 2, "k=abc x", "x"),
            (r"[(](a)\((b)", 2, "(a(b", "b"),
            (r"(?P<name>a)(?<other>b)", 2, "ab", "b"),
            (r"(?P<name>a)b", 1, "ab", "a"),
        ] {
            let regex = Regex::new(&translated(pattern, value)).unwrap();
            assert_eq!(&regex.captures(text).unwrap()[VALUE], found, "{pattern}");
        }
        assert_eq!(translated("ab", 1), "ab");
    }

    #[test]
    fn what_neither_knows_is_refused_and_nothing_panics() {
        for pattern in [
            r"\C",
            r"(a)\1",
            r"[a-\d]",
            r"[+-\d]",
            r"(?=x)",
            r"[a",
            r"\",
            r"\x{zz}",
            r"\xé",
            "[[:nosuch:]]",
            r"\p{",
        ] {
            assert!(Regex::new(&translated(pattern, 1)).is_err(), "{pattern}");
        }
    }
}
