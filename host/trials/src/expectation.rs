//! What a test expects, and how that is written into its file.
//!
//! Only the keys of the expectation are touched: remarks and everything else stay as they are.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;

use leafgate_diagnostic::{Diagnostics, LoadError, Severity};
use leafgate_policy::Policy;
use toml_edit::{DocumentMut, Item, TableLike, TomlError, Value};

use crate::{ChangeKind, RequestChange, RequestFate, RuleTests, TestPlace};

/// What a test expects, or what happened as a test would have to expect it; `None` where it says nothing
/// about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expectation {
    pub(super) verdict: Option<RequestFate>,
    pub(super) held_by: Option<BTreeSet<String>>,
    pub(super) edits: Option<Vec<RequestChange>>,
    pub(super) bytes: Option<ExpectedBytes>,
}

/// Its keys, in the order in which they are written.
const KEYS: [&str; 4] = ["verdict", "held_by", "edits", "bytes"];

/// The bytes that would leave.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum ExpectedBytes {
    /// Those that came.
    Received,
    /// Those of a file beside the tests; `None` where there is no such file yet.
    File(String, Option<Vec<u8>>),
}

/// The word for the bytes that came.
pub(super) const RECEIVED: &str = "received";

impl ExpectedBytes {
    fn name(&self) -> &str {
        match self {
            ExpectedBytes::Received => RECEIVED,
            ExpectedBytes::File(name, _) => name,
        }
    }
}

impl fmt::Debug for ExpectedBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A file as it is to be written.
#[derive(Clone, Debug)]
pub struct WrittenFile {
    /// Its path.
    pub path: PathBuf,
    /// Its content.
    pub content: Vec<u8>,
}

impl fmt::Display for Expectation {
    /// Writes the keys, as they stand in a file of tests.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(verdict) = self.verdict {
            writeln!(f, "verdict = {}", quoted(verdict.name()))?;
        }
        if let Some(ids) = self.held_by.as_ref().filter(|ids| !ids.is_empty()) {
            writeln!(f, "held_by = {}", words(ids.iter()))?;
        }
        match self.edits.as_deref() {
            None => {}
            Some([]) => writeln!(f, "edits = []")?,
            Some(edits) => {
                writeln!(f, "edits = [")?;
                edits.iter().try_for_each(|edit| writeln!(f, "  {},", line(edit)))?;
                writeln!(f, "]")?;
            }
        }
        self.bytes.iter().try_for_each(|bytes| writeln!(f, "bytes = {}", quoted(bytes.name())))
    }
}

fn line(change: &RequestChange) -> String {
    let mut parts = vec![format!("at = {}", quoted(&change.at))];
    if !change.by.is_empty() {
        parts.push(format!("by = {}", words(change.by.iter())));
    }
    parts.push(match &change.does {
        ChangeKind::Text(text) => format!("text = {}", quoted(text)),
        ChangeKind::Inserted(text) => format!("inserted = {}", quoted(text)),
        ChangeKind::Deleted(_) => "deleted = true".to_owned(),
    });
    format!("{{ {} }}", parts.join(", "))
}

fn words<'w>(words: impl ExactSizeIterator<Item = &'w String>) -> String {
    let one = words.len() == 1;
    let quoted: Vec<String> = words.map(|word| quoted(word)).collect();
    if one { quoted.concat() } else { format!("[{}]", quoted.join(", ")) }
}

/// Spells a text as a basic string of TOML, on one line: as JSON does, but for one character that TOML
/// wants escaped.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007F")
}

impl RuleTests {
    /// Returns the files as they are where some tests expect something else.
    ///
    /// # Errors
    /// A file that would not say so: it is read again before it is given out.
    pub fn expecting(
        &self,
        others: &[(&TestPlace, &Expectation)],
        policy: &Policy,
    ) -> Result<Vec<WrittenFile>, LoadError> {
        let mut written = Vec::new();
        for (number, file) in self.files.iter().enumerate() {
            let of_file = others.iter().copied().filter(|(test, _)| test.numbers.0 == number);
            let of_file: Vec<(&TestPlace, &Expectation)> = of_file.collect();
            if !of_file.is_empty() {
                let text = self.confirmed(number, rewritten(&file.text, &of_file), &of_file, policy)?;
                written.push(WrittenFile { path: file.path.clone(), content: text.into_bytes() });
            }
        }
        for (_, expected) in others {
            if let Some(ExpectedBytes::File(name, Some(content))) = &expected.bytes {
                written.push(WrittenFile { path: self.folder.join(name), content: content.clone() });
            }
        }
        Ok(written)
    }

    /// Reads what is to be written: it must have the same tests, and those that change what was accepted.
    fn confirmed(
        &self,
        number: usize,
        text: Option<String>,
        others: &[(&TestPlace, &Expectation)],
        policy: &Policy,
    ) -> Result<String, LoadError> {
        let mut diagnostics = Diagnostics::default();
        let shown = self.files[number].path.display().to_string();
        let mut again = RuleTests { folder: self.folder.clone(), files: Vec::new(), tests: Vec::new() };
        let text = text.unwrap_or_default();
        again.read_text(&shown, &text, policy, &mut diagnostics);
        let before = self.tests.iter().filter(|test| test.place.numbers.0 == number);
        let is_same = before.map(|test| &test.place.name).eq(again.tests.iter().map(|test| &test.place.name));
        let is_said = others.iter().all(|(place, expected)| {
            let mut read = again.tests.iter();
            read.any(|test| test.place.name == place.name && test.expected.edits == expected.edits)
        });
        if diagnostics.errors() == 0 && is_same && is_said {
            return Ok(text);
        }
        let hint = "nothing is written: write into it yourself what `leafgate test` shows".to_owned();
        diagnostics.without_place(Severity::Error, shown, "the file cannot say what was accepted", hint);
        Err(diagnostics.into_error_of("the tests were not written"))
    }
}

/// Returns a file where some tests expect something else; `None` where one of them is not in it.
fn rewritten(text: &str, others: &[(&TestPlace, &Expectation)]) -> Option<String> {
    let mut document: DocumentMut = text.parse().ok()?;
    for (test, expected) in others {
        put(expected, test_at(&mut document, test.numbers.1)?).ok()?;
    }
    let written = document.to_string();
    // The ends of lines are the file's own.
    Some(match text.contains("\r\n") {
        true => written.replace("\r\n", "\n").replace('\n', "\r\n"),
        false => written,
    })
}

/// Finds a test of a file by its number, under a header of its own or in a list.
fn test_at(document: &mut DocumentMut, place: usize) -> Option<&mut dyn TableLike> {
    match document.get_mut("test")? {
        Item::ArrayOfTables(tests) => tests.get_mut(place).map(|test| test as &mut dyn TableLike),
        Item::Value(Value::Array(tests)) => {
            tests.get_mut(place)?.as_inline_table_mut().map(|test| test as &mut dyn TableLike)
        }
        _ => None,
    }
}

/// Writes an expectation behind the other keys of a test. Remarks above keys that go stay above it.
fn put(expected: &Expectation, test: &mut dyn TableLike) -> Result<(), TomlError> {
    let mut remarks = String::new();
    for key in KEYS {
        let above = test.key(key).and_then(|key| key.leaf_decor().prefix()?.as_str());
        let tables = test.get(key).and_then(Item::as_array_of_tables).into_iter().flatten();
        let above_tables = tables.filter_map(|table| table.decor().prefix()?.as_str());
        remarks.extend(above.into_iter().chain(above_tables).filter(|above| above.contains('#')));
        test.remove(key);
    }
    for (key, value) in &*expected.to_string().parse::<DocumentMut>()? {
        test.insert(key, value.clone());
    }
    if let Some(mut first) = test.key_mut(KEYS[0]).filter(|_| !remarks.is_empty()) {
        first.leaf_decor_mut().set_prefix(remarks);
    }
    Ok(())
}
