//! A file of rule tests, word for word: the first of two stages.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeArray, DeValue};

use crate::diagnostic::{Diagnostics, hint_for};
use crate::file::fields::fields_of;
use crate::file::raw::OneOrMany;
use crate::file::tables::{Tables, nested_mut};

/// `[[test]]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawTest {
    pub(crate) name: Option<Spanned<String>>,
    pub(crate) text: Option<Spanned<String>>,
    pub(crate) request: Option<Spanned<toml::Value>>,
    pub(crate) file: Option<Spanned<String>>,
    pub(crate) answer: Option<Spanned<toml::Value>>,
    pub(crate) answer_file: Option<Spanned<String>>,
    pub(crate) format: Option<Spanned<String>>,
    pub(crate) rules: Option<Spanned<OneOrMany>>,
    pub(crate) session: Option<Spanned<String>>,
    pub(crate) agent: Option<Spanned<String>>,
    pub(crate) subagent: Option<Spanned<bool>>,
    pub(crate) model: Option<Spanned<String>>,
    pub(crate) stream: Option<Spanned<bool>>,
    pub(crate) upstream: Option<Spanned<String>>,
    pub(crate) endpoint: Option<Spanned<String>>,
    pub(crate) header: Option<Spanned<BTreeMap<String, String>>>,
    pub(crate) todo: Option<Spanned<bool>>,
    pub(crate) verdict: Option<Spanned<String>>,
    pub(crate) held_by: Option<Spanned<OneOrMany>>,
    pub(crate) edits: Option<Spanned<Vec<Spanned<RawEdit>>>>,
    pub(crate) bytes: Option<Spanned<String>>,
    /// Keys whose values could not be read. That has been reported.
    #[serde(skip)]
    pub(crate) broken: BTreeSet<String>,
    /// Where each key stands that a new expectation replaces, to the end of its value.
    #[serde(skip)]
    pub(crate) expected_at: Vec<Range<usize>>,
    /// The end of the last key that stands directly in the table; `None` where the table is written in
    /// one line.
    #[serde(skip)]
    pub(crate) end: Option<usize>,
}

/// One of `edits`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawEdit {
    pub(crate) at: Spanned<String>,
    pub(crate) by: Option<Spanned<OneOrMany>>,
    pub(crate) text: Option<Spanned<String>>,
    pub(crate) inserted: Option<Spanned<String>>,
    pub(crate) deleted: Option<Spanned<bool>>,
}

/// The keys that say what a test expects, in the order in which they are written.
pub(crate) const EXPECTED: &[&str] = &["verdict", "held_by", "edits", "bytes"];

/// Reads one file. Whatever is wrong goes to `diagnostics`; the rest is returned.
pub(crate) fn read(file: usize, diagnostics: &mut Diagnostics) -> Vec<Spanned<RawTest>> {
    let text = diagnostics.file(file).text.clone();
    let mut tables = Tables { file, diagnostics };
    let mut tests = Vec::new();
    for (key, value) in tables.parse(&text).unwrap_or_default() {
        let span = value.span();
        match (key.get_ref().as_ref(), value.into_inner()) {
            ("test", DeValue::Array(items)) => {
                tests.extend(items.into_iter().filter_map(|item| read_test(item, &text, &mut tables)));
            }
            ("test", _) => {
                tables.error(span, "`test` must be a list of tables", "write `[[test]]` above each test");
            }
            (other, _) => {
                let message = format!("unknown key `{other}`");
                tables.error(key.span(), message, hint_for(other, &["test"]));
            }
        }
    }
    tests
}

fn read_test(
    mut item: Spanned<DeValue<'_>>,
    text: &str,
    tables: &mut Tables<'_>,
) -> Option<Spanned<RawTest>> {
    let mut broken = tables.drop_unknown(&mut item, fields_of::<RawTest>(), |_| None);
    let (expected_at, end) = places(&item, text);
    if let Some(DeValue::Array(edits)) = nested_mut(&mut item, "edits").map(Spanned::get_mut) {
        let mut sound = DeArray::new();
        for mut edit in std::mem::replace(edits, DeArray::new()) {
            match tables.drop_unknown(&mut edit, fields_of::<RawEdit>(), |_| None).contains("at") {
                true => _ = broken.insert("edits".to_owned()),
                false => sound.push(edit),
            }
        }
        *edits = sound;
    }
    broken.extend(tables.drop_broken::<RawTest>(&mut item));
    let test = tables.take::<Spanned<RawTest>>(item)?;
    let span = test.span();
    Some(Spanned::new(span, RawTest { broken, expected_at, end, ..test.into_inner() }))
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
