//! Patterns of Go's `regexp` in the syntax of Rust's `regex`.
//!
//! Both are of one family: linear, leftmost first, no look-around. What differs, and is translated
//! here: `\w`, `\d`, `\s` and `\b` are about ASCII in Go; `{`, and in a class `[`, `&` and `~`, stand
//! for themselves where they begin nothing; `\Q…\E` quotes, `\123` is a character in octal, and `\<`
//! is a sign. What Rust does not know, such as `\C`, is left for its compiler to refuse.

use std::fmt::Write as _;

use regex_syntax::ast::ClassAsciiKind;

/// What a detector calls the group that is the finding.
pub(super) const VALUE: &str = "value";

/// Returns the pattern with which Rust finds what Go finds with this one. The group of a number, counted from 1, is called [`VALUE`].
pub(super) fn translated(pattern: &str, value: usize) -> String {
    let chars: Vec<char> = pattern.chars().collect();
    let out = String::with_capacity(pattern.len() * 2);
    Translation { chars: &chars, at: 0, out, groups: 0, value }.run()
}

struct Translation<'p> {
    chars: &'p [char],
    at: usize,
    out: String,
    /// Groups that have begun.
    groups: usize,
    /// Which of them is the finding.
    value: usize,
}

/// One item of a class.
enum RegexItem {
    /// A character, which may begin a range.
    Char(char),
    /// What is no character: written as it is.
    Set(String),
}

impl Translation<'_> {
    fn run(mut self) -> String {
        while let Some(&c) = self.chars.get(self.at) {
            match c {
                '\\' => self.escape(),
                '[' => self.class(),
                '(' => self.group(),
                '{' if self.repetition_end().is_none() => {
                    self.at += 1;
                    self.out.push_str(r"\{");
                }
                _ => {
                    self.at += 1;
                    self.out.push(c);
                }
            }
        }
        self.out
    }

    /// Where a bracket begins: a group that is counted, or one of another kind.
    fn group(&mut self) {
        let is_named = matches!((self.peek(2), self.peek(3)), (Some('P'), Some('<')) | (Some('<'), Some(_)));
        if self.peek(1) == Some('?') && !is_named {
            return self.write(1, "(");
        }
        self.groups += 1;
        if self.groups != self.value {
            return self.write(1, "(");
        }
        let name = self.chars[self.at..].iter().position(|&c| c == '>').filter(|_| self.peek(1) == Some('?'));
        self.write(name.map_or(1, |end| end + 1), &format!("(?P<{VALUE}>"));
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    /// Where `{3}`, `{3,}` or `{3,5}` ends that begins here.
    fn repetition_end(&self) -> Option<usize> {
        let rest = &self.chars[self.at + 1..];
        let close = rest.iter().position(|&c| c == '}')?;
        let inside: String = rest[..close].iter().collect();
        let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let fits = match inside.split_once(',') {
            Some((least, most)) => number(least) && (most.is_empty() || number(most)),
            None => number(&inside),
        };
        fits.then_some(self.at + 1 + close)
    }

    /// Outside of a class.
    fn escape(&mut self) {
        match self.peek(1) {
            Some('b') => self.write(2, r"(?-u:\b)"),
            Some('Q') => self.quoted(),
            _ => match self.escaped() {
                Some(RegexItem::Char(c)) => push_char(&mut self.out, c),
                Some(RegexItem::Set(set)) => {
                    let brackets = !set.starts_with(r"\p") && !set.starts_with(r"\P");
                    let set = if brackets { format!("[{set}]") } else { set };
                    self.out.push_str(&set);
                }
                None => {
                    self.out.push('\\');
                    self.at += 1;
                    self.out.extend(self.peek(0));
                    self.at += 1;
                }
            },
        }
    }

    fn write(&mut self, read: usize, text: &str) {
        self.at += read;
        self.out.push_str(text);
    }

    /// `\Q…\E`, or to the end of the pattern.
    fn quoted(&mut self) {
        self.at += 2;
        while let Some(c) = self.peek(0) {
            if c == '\\' && self.peek(1) == Some('E') {
                self.at += 2;
                return;
            }
            push_char(&mut self.out, c);
            self.at += 1;
        }
    }

    /// Reads an escape that means the same inside and outside of a class; `None` where it is
    /// something else, and nothing is read.
    fn escaped(&mut self) -> Option<RegexItem> {
        let letter = self.peek(1)?;
        let set = match letter {
            'd' => Some("0-9"),
            'D' => Some("^0-9"),
            's' => Some(r"\t\n\f\r "),
            'S' => Some(r"^\t\n\f\r "),
            'w' => Some("0-9A-Za-z_"),
            'W' => Some("^0-9A-Za-z_"),
            _ => None,
        };
        if let Some(set) = set {
            self.at += 2;
            return Some(RegexItem::Set(set.to_owned()));
        }
        let plain = match letter {
            'a' => Some('\x07'),
            'f' => Some('\x0c'),
            'n' => Some('\n'),
            'r' => Some('\r'),
            't' => Some('\t'),
            'v' => Some('\x0b'),
            c if c.is_ascii() && !c.is_ascii_alphanumeric() => Some(c),
            _ => None,
        };
        if plain.is_some() {
            self.at += 2;
            return plain.map(RegexItem::Char);
        }
        match letter {
            'x' => self.hexadecimal().map(RegexItem::Char),
            '0'..='7' => self.octal().map(RegexItem::Char),
            'p' | 'P' => self.property().map(RegexItem::Set),
            _ => None,
        }
    }

    /// `\x60` or `\x{60}`.
    fn hexadecimal(&mut self) -> Option<char> {
        let rest = &self.chars[self.at + 2..];
        let (digits, read): (String, usize) = match rest.first()? {
            '{' => {
                let close = rest.iter().position(|&c| c == '}')?;
                (rest[1..close].iter().collect(), close + 1)
            }
            _ => (rest.get(..2)?.iter().collect(), 2),
        };
        let c = char::from_u32(u32::from_str_radix(&digits, 16).ok()?)?;
        self.at += 2 + read;
        Some(c)
    }

    /// `\123`, and `\0`; a lone digit would refer back, which neither language can.
    fn octal(&mut self) -> Option<char> {
        let digits: String =
            self.chars[self.at + 1..].iter().take(3).take_while(|c| matches!(c, '0'..='7')).collect();
        if digits.len() == 1 && digits != "0" {
            return None;
        }
        let c = char::from_u32(u32::from_str_radix(&digits, 8).ok()?)?;
        self.at += 1 + digits.len();
        Some(c)
    }

    /// `\pN` or `\p{Greek}`, as it is.
    fn property(&mut self) -> Option<String> {
        let rest = &self.chars[self.at..];
        let length = match rest.get(2)? {
            '{' => rest.iter().position(|&c| c == '}')? + 1,
            _ => 3,
        };
        self.at += length;
        Some(rest[..length].iter().collect())
    }

    fn class(&mut self) {
        self.write(1, "[");
        if self.peek(0) == Some('^') {
            self.write(1, "^");
        }
        let mut first = true;
        while let Some(c) = self.peek(0) {
            if c == ']' && !first {
                return self.write(1, "]");
            }
            first = false;
            let Some(item) = self.item(c) else { continue };
            match item {
                // A set that is not itself a list of characters stands in brackets of its own.
                RegexItem::Set(set) if set.starts_with('^') => self.out.push_str(&format!("[{set}]")),
                RegexItem::Set(set) => self.out.push_str(&set),
                RegexItem::Char(low) => self.range(low),
            }
        }
    }

    /// The next item of a class; `None` where what is not understood was copied.
    fn item(&mut self, c: char) -> Option<RegexItem> {
        if c == '[' && self.peek(1) == Some(':') {
            let rest = &self.chars[self.at..];
            if let Some(close) = rest.windows(2).position(|two| two == [':', ']']) {
                self.at += close + 2;
                let name: String = rest[2..close].iter().collect();
                // Rust would take an unknown name for a list of letters, Go refuses it.
                let known = ClassAsciiKind::from_name(name.trim_start_matches('^')).is_some();
                let set = if known { format!("[:{name}:]") } else { format!(r"\p{{{name}}}") };
                return Some(RegexItem::Set(set));
            }
        }
        if c != '\\' {
            self.at += 1;
            return Some(RegexItem::Char(c));
        }
        let item = self.escaped();
        if item.is_none() {
            let copied: String = self.chars[self.at..].iter().take(2).collect();
            self.at += copied.chars().count();
            self.out.push_str(&copied);
        }
        item
    }

    /// A character of a class, or a range that it begins.
    fn range(&mut self, low: char) {
        push_char(&mut self.out, low);
        let begins = self.peek(0) == Some('-') && self.peek(1).is_some_and(|c| c != ']');
        if !begins {
            return;
        }
        self.at += 1;
        let high = match self.peek(0) {
            Some('\\') => self.escaped(),
            Some(c) => {
                self.at += 1;
                Some(RegexItem::Char(c))
            }
            None => None,
        };
        // Anything else than a character is refused, by Rust as by Go.
        self.out.push('-');
        match high {
            Some(RegexItem::Char(high)) => push_char(&mut self.out, high),
            Some(RegexItem::Set(set)) => self.out.push_str(&format!("[{set}]")),
            None => {}
        }
    }
}

/// Writes a character that stands for itself.
fn push_char(out: &mut String, c: char) {
    if c.is_ascii_alphanumeric() {
        out.push(c);
    } else {
        // Writing to a string does not fail.
        let _ = write!(out, r"\x{{{:x}}}", u32::from(c));
    }
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
        for pattern in [r"\C", r"(a)\1", r"[a-\d]", r"(?=x)", r"[a", r"\", r"\x{zz}", "[[:nosuch:]]", r"\p{"]
        {
            assert!(Regex::new(&translated(pattern, 1)).is_err(), "{pattern}");
        }
    }
}
