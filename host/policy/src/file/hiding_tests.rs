//! No mistake in a rule hides another: for each pair of keys, both wrong, both are told.

use std::collections::BTreeSet;
use std::time::SystemTime;

use leafgate_contract::NoPlugins;
use leafgate_diagnostic::keys::{Table as _, names};

use super::raw::{RawDetector, RawException, RawRule};
use crate::rule::ActionName;
use crate::{Policy, PolicySource};

/// A value of another type than a key has.
fn of_wrong_type(key: &str) -> &'static str {
    match key {
        "max_lines" | "max_chars" | "look_behind" | "at_least" => "'x'",
        _ => "7",
    }
}

/// A value of the right type that a key cannot have; `None` where the type is all that is asked, or
/// where only the action can tell.
fn of_no_meaning(key: &str) -> Option<&'static str> {
    Some(match key {
        "id" => "'No Good'",
        "match" => "{ role = 'human' }",
        "when" => "'leaf.txt == \"x\"'",
        "reason" => "'${nope}'",
        "look_behind" => "1",
        "detect" => "'secrets/jvt'",
        "tags" => "['Not Kebab']",
        "tag" => "'Not Kebab'",
        "replace" => "{ pattern = '(', with = 'x' }",
        "max_lines" | "max_chars" | "at_least" => "0",
        "options" => "{ model = 'x' }",
        "model" | "path" => "''",
        "keep" | "drop" => "[]",
        "timeout" => "'5 minutes'",
        "owner" | "docs" | "releasable" | "to" | "set" | "prepend" | "append" | "text" | "history"
        | "examples" | "counter_examples" => return None,
        _ => "'no-such-word'",
    })
}

/// The lines on which something is wrong.
fn wrong_lines(text: &str) -> BTreeSet<usize> {
    let folder = tempfile::tempdir().unwrap();
    leafgate_harness::rules::write_alone(folder.path(), text).unwrap();
    let source = PolicySource::Folder(folder.path().to_owned());
    let error = Policy::load_knowing(&source, None, &NoPlugins, SystemTime::UNIX_EPOCH, None).unwrap_err();
    error.diagnostics().iter().map(|diagnostic| diagnostic.line).collect()
}

/// The lines that a table has besides, and two keys of it that are wrong.
type Table<'k> = (Vec<String>, [(&'k str, &'k str); 2]);

/// Writes tables with two keys wrong each, and says which of these a load does not report.
fn hidden(kind: &str, tables: &[Table<'_>]) -> Vec<String> {
    let (mut text, mut expected) = (String::new(), Vec::new());
    for (rest, wrong) in tables {
        text += &format!("[[{kind}]]\n");
        rest.iter().for_each(|line| text += &format!("{line}\n"));
        for (key, value) in wrong {
            text += &format!("{key} = {value}\n");
            expected.push((text.lines().count(), format!("{rest:?} {wrong:?}: `{key}` is hidden")));
        }
    }
    let told = wrong_lines(&text);
    expected.into_iter().filter(|(line, _)| !told.contains(line)).map(|(_, what)| what).collect()
}

/// The wrong values of two keys: without a meaning both, and of a wrong type either.
fn both_wrong<'k>(first: &'k str, second: &'k str) -> Vec<[(&'k str, &'static str); 2]> {
    let says = |key: &str| of_no_meaning(key).unwrap_or(of_wrong_type(key));
    let mut all = vec![
        [(first, says(first)), (second, says(second))],
        [(first, of_wrong_type(first)), (second, says(second))],
        [(first, says(first)), (second, of_wrong_type(second))],
    ];
    all.dedup();
    all
}

#[test]
fn no_wrong_key_of_a_rule_hides_another() {
    let keys = names(RawRule::KEYS);
    let actions = |key: &str| {
        let words = RawRule::KEYS.iter().filter(|row| row.name == key).flat_map(|row| row.of).copied();
        let of: Vec<&str> = words.filter(|word| ActionName::from_name(word).is_some()).take(1).collect();
        if of.is_empty() { vec!["redact", "block"] } else { of }
    };
    let (mut missing, mut pairs) = (Vec::new(), 0);
    for (place, first) in keys.iter().enumerate() {
        let mut rules = Vec::new();
        for second in &keys[place + 1..] {
            pairs += 1;
            let mut names: Vec<&str> = actions(first).into_iter().chain(actions(second)).collect();
            names.sort_unstable();
            names.dedup();
            for action in names {
                for wrong in both_wrong(first, second) {
                    let sound = [
                        ("id", format!("id = 'r{}'", rules.len())),
                        ("match", "match = {}".to_owned()),
                        ("action", format!("action = '{action}'")),
                    ];
                    let rest = sound.into_iter().filter(|(key, _)| key != first && key != second);
                    rules.push((rest.map(|(_, line)| line).collect(), wrong));
                }
            }
        }
        for some in rules.chunks(12) {
            missing.extend(hidden("rule", some));
        }
    }
    assert_eq!(pairs, keys.len() * (keys.len() - 1) / 2);
    assert!(missing.is_empty(), "{} are hidden:\n{}", missing.len(), missing.join("\n"));
}

#[test]
fn no_wrong_key_of_an_exception_or_a_detector_hides_another() {
    let tables = [
        ("exception", names(RawException::KEYS), &["rule", "value", "pattern", "finding"][..]),
        ("detector", names(RawDetector::KEYS), &["id", "confidence", "regex", "words", "keys", "checks"]),
    ];
    for (kind, keys, closed) in tables {
        let mut wrong = Vec::new();
        for (place, first) in keys.iter().enumerate() {
            for second in &keys[place + 1..] {
                let values = |key: &str| {
                    let closed = closed.contains(&key).then_some(match key {
                        "regex" | "pattern" => "'('",
                        "words" | "keys" | "value" => "[]",
                        _ => "'No Such'",
                    });
                    [Some("7.5"), closed].into_iter().flatten()
                };
                for one in values(first) {
                    wrong.extend(values(second).map(|other| (vec![], [(*first, one), (*second, other)])));
                }
            }
        }
        assert!(wrong.len() > keys.len());
        let missing: Vec<String> = wrong.chunks(12).flat_map(|some| hidden(kind, some)).collect();
        assert!(missing.is_empty(), "{} are hidden:\n{}", missing.len(), missing.join("\n"));
    }
}
