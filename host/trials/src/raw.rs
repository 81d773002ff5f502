//! A file of rule tests, word for word: the first of two stages.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use toml::Spanned;
use toml::de::DeValue;

use leafgate_diagnostic::{Complaints, Diagnostics, Dialect, OneOrMany, Tables, hint_for, table};

table! {
    /// `[[test]]`.
    RawTest {
        name: String,
        text: String,
        request: toml::Value,
        file: String,
        answer: toml::Value,
        answer_file: String,
        format: String,
        rules: OneOrMany,
        session: String,
        agent: String,
        subagent: bool,
        model: String,
        stream: bool,
        upstream: String,
        endpoint: String,
        profile: String,
        header: BTreeMap<String, String>,
        todo: bool,
        verdict: String,
        held_by: OneOrMany,
        edits: Vec<Spanned<RawEdit>>,
        bytes: String,
    } and {
        /// Where each key stands that a new expectation replaces, to the end of its value.
        expected_at: Vec<Range<usize>>,
        /// The end of the last key that stands directly in the table; `None` where the table is written
        /// in one line.
        end: Option<usize>,
    }
}

table! {
    /// One of `edits`.
    RawEdit {
        [needed] at: String,
        by: OneOrMany,
        text: String,
        inserted: String,
        deleted: bool,
    }
}

/// The keys that say what a test expects, in the order in which they are written.
pub(crate) const EXPECTED: &[&str] = &["verdict", "held_by", "edits", "bytes"];

/// What only files of tests know.
const TESTS: Dialect = Dialect {
    elsewhere: |_| None,
    written: |key| (key == "header").then_some("name the headers: `header = { x-team = \"red\" }`"),
    inside: |_, _| BTreeSet::new(),
};

/// Reads one file. Whatever is wrong goes to `diagnostics`; the rest is returned.
pub(crate) fn read(file: usize, diagnostics: &mut Diagnostics) -> Vec<Spanned<RawTest>> {
    let text = diagnostics.text(file).to_owned();
    let mut tables = Tables { complaints: Complaints { file, diagnostics }, dialect: &TESTS };
    let mut tests = Vec::new();
    for (key, value) in tables.parse(&text).unwrap_or_default() {
        if key.get_ref() != "test" {
            let message = format!("unknown key `{}`", key.get_ref());
            tables.complaints.error(key.span(), message, hint_for(key.get_ref(), &["test"]));
            continue;
        }
        for item in tables.items(value, "test", "test") {
            let places = places(&item, &text);
            tests.extend(tables.table::<RawTest>(item).map(|mut test| {
                (test.get_mut().expected_at, test.get_mut().end) = places;
                test
            }));
        }
    }
    tests
}

/// Where the keys of an expectation stand, and where a new one can be written.
fn places(item: &Spanned<DeValue<'_>>, text: &str) -> (Vec<Range<usize>>, Option<usize>) {
    let DeValue::Table(table) = item.get_ref() else { return (Vec::new(), None) };
    if !text[item.span().start..].starts_with("[[") {
        return (Vec::new(), None);
    }
    let mut expected = Vec::new();
    let mut end = item.span().end;
    for (key, value) in table {
        let whole = key.span().start..value.span().end;
        // A table under a header of its own stands behind all keys of this one.
        let direct =
            text.get(key.span().end..value.span().start).is_some_and(|between| between.contains('='));
        if !direct {
            continue;
        }
        end = end.max(whole.end);
        if EXPECTED.contains(&key.get_ref().as_ref()) {
            expected.push(whole);
        }
    }
    (expected, Some(end))
}
