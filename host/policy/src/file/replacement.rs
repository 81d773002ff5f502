//! `replace.with`: the groups that it names, compared with those of the pattern.
//!
//! The `regex` crate writes nothing for a group that does not exist, and reads `$1_file` as the
//! group `1_file`. A text with a price in it would lose the price without a word.

use leafgate_diagnostic::TextFault;
use regex::Regex;

/// Checks that `pattern` has each group that is referred to, as `regex` reads references.
pub(crate) fn known_groups(with: &str, pattern: &Regex) -> Result<(), Vec<TextFault>> {
    let mut unknown = Vec::new();
    let mut at = 0;
    while let Some(found) = with[at..].find('$') {
        let start = at + found;
        let (name, end) = reference(with, start);
        at = end;
        let Some(name) = name.filter(|name| !is_group(name, pattern)) else { continue };
        let message = format!("the pattern has no group `{name}`, so nothing would be written for it");
        unknown.push(TextFault::new(start..end, message, instead(&with[start..end], name, pattern)));
    }
    if unknown.is_empty() { Ok(()) } else { Err(unknown) }
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

/// What to write: a group that the name begins with, in braces; else the dollar sign as a sign.
fn instead(written: &str, name: &str, pattern: &Regex) -> String {
    let braced = written.starts_with("${");
    let ends = (1..name.len()).rev().filter(|&end| name.is_char_boundary(end));
    match ends.filter(|_| !braced).find(|&end| is_group(&name[..end], pattern)) {
        Some(end) => {
            format!("write `${{{}}}{}`: braces end the name of a group", &name[..end], &name[end..])
        }
        None => format!("write `${written}` for a dollar sign"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instead_of(pattern: &str, with: &str) -> Vec<String> {
        let pattern = Regex::new(pattern).unwrap();
        let hints = known_groups(with, &pattern).err().into_iter().flatten();
        hints.map(|fault| fault.hint.split('`').nth(1).unwrap().to_owned()).collect()
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
            assert_eq!(known_groups(with, &pattern).is_err(), loses, "{with} gives {written}");
        }
    }
}
