//! `replace.with`: the groups that it names, compared with those of the pattern.
//!
//! The `regex` crate writes nothing for a group that does not exist, and reads `$1_file` as the
//! group `1_file`. A text with a price in it would lose the price without a word.

use std::ops::Range;

use regex::Regex;

/// A group that is named and does not exist.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct UnknownGroup {
    /// Its range, the dollar sign included.
    pub(crate) at: Range<usize>,
    pub(crate) name: String,
    /// How to write what was meant.
    pub(crate) instead: String,
}

/// Returns each reference to a group that `pattern` does not have, as `regex` reads references.
pub(crate) fn unknown_groups(with: &str, pattern: &Regex) -> Vec<UnknownGroup> {
    let mut unknown = Vec::new();
    let mut at = 0;
    while let Some(found) = with[at..].find('$') {
        let start = at + found;
        let (name, end) = reference(with, start);
        at = end;
        let Some(name) = name.filter(|name| !is_group(name, pattern)) else { continue };
        let instead = instead(with, &(start..end), name, pattern);
        unknown.push(UnknownGroup { at: start..end, name: name.to_owned(), instead });
    }
    unknown
}

/// The name after a dollar sign, and where the reference ends. `$$` and a lone `$` name nothing.
fn reference(with: &str, start: usize) -> (Option<&str>, usize) {
    let rest = &with[start + 1..];
    if rest.starts_with('$') {
        return (None, start + 2);
    }
    if let Some(braced) = rest.strip_prefix('{') {
        return match braced.find('}') {
            Some(close) => (Some(&braced[..close]), start + 2 + close + 1),
            None => (None, start + 1),
        };
    }
    let length = rest.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
    ((length > 0).then_some(&rest[..length]), start + 1 + length)
}

fn is_group(name: &str, pattern: &Regex) -> bool {
    match name.parse::<usize>() {
        Ok(number) => number < pattern.captures_len(),
        Err(_) => pattern.capture_names().flatten().any(|group| group == name),
    }
}

/// A group that the name begins with, in braces; else the dollar sign as a sign.
fn instead(with: &str, at: &Range<usize>, name: &str, pattern: &Regex) -> String {
    let written = &with[at.clone()];
    let braced = written.starts_with("${");
    let ends = (1..name.len()).rev().filter(|&end| name.is_char_boundary(end));
    match ends.filter(|_| !braced).find(|&end| is_group(&name[..end], pattern)) {
        Some(end) => format!("${{{}}}{}", &name[..end], &name[end..]),
        None => format!("${written}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instead_of(pattern: &str, with: &str) -> Vec<String> {
        let pattern = Regex::new(pattern).unwrap();
        unknown_groups(with, &pattern).into_iter().map(|unknown| unknown.instead).collect()
    }

    #[test]
    fn a_group_that_runs_into_the_text_behind_it_is_put_in_braces() {
        assert_eq!(instead_of("(a)(?<name>b)", "$1_file $2 $names"), ["${1}_file", "${name}s"]);
    }

    #[test]
    fn a_sum_of_money_is_no_group() {
        assert_eq!(instead_of("price", "costs $5 or ${12}"), ["$$5", "$${12}"]);
    }

    #[test]
    fn groups_that_exist_and_doubled_signs_are_left_alone() {
        assert!(instead_of("(a)(?<name>b)", "$0 $1 ${2} $name ${name}s $$5 $ 5 $, ends in $").is_empty());
    }

    #[test]
    fn what_is_found_missing_is_what_regex_leaves_out() {
        let pattern = Regex::new("(a)(?<name>b)").unwrap();
        for with in
            ["<$1_x>", "<$9>", "<${n}>", "<$naméx>", "<$1>", "<$$1>", "<${name}>", "<$>", "<${>", "<${1>"]
        {
            let mut written = String::new();
            pattern.captures("ab").unwrap().expand(with, &mut written);
            let loses = written.starts_with("<>") || written.starts_with("<é");
            assert_eq!(!unknown_groups(with, &pattern).is_empty(), loses, "{with} gives {written}");
        }
    }
}
