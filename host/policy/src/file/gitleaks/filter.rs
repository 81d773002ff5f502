//! The filters of betterleaks: an expression that says which findings are none.
//!
//! Of the language only what looks at the finding is read: `entropy`, `matchesAny`, `containsAny`,
//! with `||`, `&&`, `!` and brackets. A finding has no file here, so what asks for an attribute sees
//! what it names as its default.

use aho_corasick::AhoCorasick;
use regex::{RegexSet, RegexSetBuilder};

use super::go_regex::translated;
use crate::sieve::{Filter, Order, Part};

/// What is wrong with an expression, and where in it.
#[derive(Debug)]
pub(super) struct BadFilter {
    pub(super) at: usize,
    pub(super) message: String,
}

/// Deeper brackets are no filter that somebody wrote.
const MAX_DEPTH: usize = 32;

/// Reads an expression.
pub(super) fn read(text: &str) -> Result<Filter, BadFilter> {
    let mut reader = Reader { text, at: 0, depth: 0 };
    let filter = reader.or()?;
    match reader.rest().is_empty() {
        true => Ok(filter),
        false => Err(reader.bad("an operator or the end of the filter was expected here")),
    }
}

/// Compiles patterns of Go of which any may match.
pub(super) fn any_of(patterns: &[&str], size_limit: usize) -> Result<RegexSet, regex::Error> {
    RegexSetBuilder::new(patterns.iter().map(|pattern| translated(pattern))).size_limit(size_limit).build()
}

/// Words of which any may stand in a text, in any case.
pub(super) fn words(words: &[&str]) -> Result<AhoCorasick, aho_corasick::BuildError> {
    AhoCorasick::builder().ascii_case_insensitive(true).build(words)
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
}

impl<'t> Reader<'t> {
    fn bad(&self, message: impl Into<String>) -> BadFilter {
        BadFilter { at: self.at, message: message.into() }
    }

    /// What is left behind blanks.
    fn rest(&mut self) -> &'t str {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        &self.text[self.at..]
    }

    fn takes(&mut self, sign: &str) -> bool {
        let takes = self.rest().starts_with(sign);
        self.at += if takes { sign.len() } else { 0 };
        takes
    }

    fn expects(&mut self, sign: &str) -> Result<(), BadFilter> {
        match self.takes(sign) {
            true => Ok(()),
            false => Err(self.bad(format!("`{sign}` was expected here"))),
        }
    }

    fn or(&mut self) -> Result<Filter, BadFilter> {
        let mut all = vec![self.and()?];
        while self.takes("||") || self.takes_word("or") {
            all.push(self.and()?);
        }
        Ok(if all.len() == 1 { all.remove(0) } else { Filter::Any(all) })
    }

    fn and(&mut self) -> Result<Filter, BadFilter> {
        let mut all = vec![self.not()?];
        while self.takes("&&") || self.takes_word("and") {
            all.push(self.not()?);
        }
        Ok(if all.len() == 1 { all.remove(0) } else { Filter::All(all) })
    }

    fn not(&mut self) -> Result<Filter, BadFilter> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.bad("the filter is nested too deeply"));
        }
        let filter = if self.takes("!") || self.takes_word("not") {
            Filter::Not(Box::new(self.not()?))
        } else if self.takes("(") {
            let inside = self.or()?;
            self.expects(")")?;
            inside
        } else {
            self.call()?
        };
        self.depth -= 1;
        Ok(filter)
    }

    /// A word that is no part of a longer one.
    fn takes_word(&mut self, word: &str) -> bool {
        let is = self.name_ahead() == word;
        self.at += if is { word.len() } else { 0 };
        is
    }

    /// The name that stands here, with its dots.
    fn name_ahead(&mut self) -> &'t str {
        let rest = self.rest();
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.')));
        &rest[..end.unwrap_or(rest.len())]
    }

    fn call(&mut self) -> Result<Filter, BadFilter> {
        let name = self.name_ahead();
        let start = self.at;
        self.at += name.len();
        match name.strip_prefix("filter.").unwrap_or(name) {
            "entropy" => self.entropy(),
            "matchesAny" => {
                let (part, patterns) = self.part_and_texts()?;
                let patterns: Vec<&str> = patterns.iter().map(String::as_str).collect();
                let set = any_of(&patterns, super::REGEX_SIZE).map_err(|error| BadFilter {
                    at: start,
                    message: crate::diagnostic::bad_regex(&error),
                })?;
                Ok(Filter::Matches(part, set))
            }
            "containsAny" => {
                let (part, texts) = self.part_and_texts()?;
                let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
                let texts = words(&texts)
                    .map_err(|error| BadFilter { at: start, message: format!("too many words: {error}") })?;
                Ok(Filter::Contains(part, Box::new(texts)))
            }
            _ => {
                self.at = start;
                let what = if name.is_empty() { "this".to_owned() } else { format!("`{name}`") };
                Err(self.bad(format!("a filter cannot ask for {what} here")))
            }
        }
    }

    fn entropy(&mut self) -> Result<Filter, BadFilter> {
        self.expects("(")?;
        let part = self.part()?;
        self.expects(")")?;
        let signs = [("<=", Order::AtMost), (">=", Order::AtLeast), ("<", Order::Below), (">", Order::Above)];
        let Some((_, order)) = signs.into_iter().find(|(sign, _)| self.takes(sign)) else {
            return Err(self.bad("`<=`, `<`, `>=` or `>` was expected here"));
        };
        let rest = self.rest();
        let end = rest.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(rest.len());
        let Ok(bits) = rest[..end].parse() else {
            return Err(self.bad("a number was expected here"));
        };
        self.at += end;
        Ok(Filter::Entropy(part, order, bits))
    }

    fn part_and_texts(&mut self) -> Result<(Part, Vec<String>), BadFilter> {
        self.expects("(")?;
        let part = self.part()?;
        self.expects(",")?;
        self.expects("[")?;
        let mut texts = Vec::new();
        while !self.takes("]") {
            texts.push(self.string()?);
            if !self.takes(",") {
                self.expects("]")?;
                break;
            }
        }
        self.expects(")")?;
        Ok((part, texts))
    }

    /// `finding["secret"]`, `finding.secret`, `get(attributes, "path", "")`.
    fn part(&mut self) -> Result<Part, BadFilter> {
        let name = self.name_ahead();
        let start = self.at;
        self.at += name.len();
        let field = match name {
            "finding" => {
                self.expects("[")?;
                let field = self.string()?;
                self.expects("]")?;
                field
            }
            "get" => {
                self.expects("(")?;
                if !self.takes_word("attributes") {
                    return Err(self.bad("`attributes` was expected here"));
                }
                self.expects(",")?;
                self.string()?;
                self.expects(",")?;
                let default = self.string()?;
                self.expects(")")?;
                return Ok(Part::Fixed(default));
            }
            name => name.strip_prefix("finding.").unwrap_or_default().to_owned(),
        };
        match &*field {
            "secret" => Ok(Part::Secret),
            "match" => Ok(Part::Whole),
            "line" => Ok(Part::Line),
            _ => {
                self.at = start;
                let known = "`finding[\"secret\"]`, `finding[\"match\"]` or `finding[\"line\"]`";
                Err(self.bad(format!("{known} was expected here")))
            }
        }
    }

    /// In backticks as it is, in other quotes with escapes.
    fn string(&mut self) -> Result<String, BadFilter> {
        let rest = self.rest();
        let unclosed = self.bad("a text in quotes was expected here");
        let quote = rest.chars().next().filter(|c| matches!(c, '`' | '"' | '\'')).ok_or(unclosed)?;
        let (mut text, mut escaped) = (String::new(), false);
        for (at, c) in rest.char_indices().skip(1) {
            match c {
                _ if escaped => {
                    text.push(match c {
                        'n' => '\n',
                        'r' => '\r',
                        't' => '\t',
                        c => c,
                    });
                    escaped = false;
                }
                '\\' if quote != '`' => escaped = true,
                c if c == quote => {
                    self.at += at + 1;
                    return Ok(text);
                }
                c => text.push(c),
            }
        }
        Err(self.bad("this text has no end"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sieve::Seen;

    fn holds(filter: &str, secret: &str) -> bool {
        let whole = format!("key = {secret}");
        let seen = Seen { secret, whole: &whole, line: &whole };
        read(filter).unwrap_or_else(|bad| panic!("{filter}: {}", bad.message)).holds(&seen)
    }

    #[test]
    fn a_filter_is_read_and_asked() {
        let either = "(entropy(finding[\"secret\"]) <= 2.0\n|| matchesAny(finding[\"match\"], [`(?i)^KEY = \\d+$`, `x`]))";
        assert!(holds(either, "aaaa") && holds(either, "102938475") && !holds(either, "q7Zk29fLm"));
        let both =
            "filter.entropy(finding.secret) > 1 && !containsAny(finding[\"secret\"], [\"Test\", 'a\\'b',])";
        assert!(holds(both, "q7Zk") && !holds(both, "q7test") && !holds(both, "a'b7"));
        assert!(!holds("matchesAny(get(attributes, \"path\", \"\"), [`\\.md$`])", "README.md"));
        assert!(holds(
            "not containsAny(finding[\"line\"], [\"lock\"]) and entropy(finding.match) >= 0.5",
            "x9"
        ));
    }

    #[test]
    fn what_is_not_understood_is_refused_at_its_place() {
        for (filter, place, word) in [
            ("failsTokenEfficiency(finding[\"secret\"])", 0, "failsTokenEfficiency"),
            ("entropy(finding[\"secret\"]) == 3", 27, "was expected"),
            ("entropy(finding[\"owner\"]) < 3", 8, "finding"),
            ("matchesAny(finding[\"secret\"], [`(`])", 0, "unclosed"),
            ("containsAny(finding[\"secret\"], [\"a)", 32, "no end"),
            ("entropy(finding[\"secret\"]) < 3 xor true", 31, "operator"),
            ("", 0, "this"),
        ] {
            let bad = read(filter).err().unwrap_or_else(|| panic!("{filter} is read"));
            assert!(bad.at == place && bad.message.contains(word), "{filter}: {} {}", bad.at, bad.message);
        }
        assert!(read(&"(".repeat(10_000)).is_err() && read(&"!".repeat(10_000)).is_err());
    }
}
