//! What a test expects, and how that is written into its file.
//!
//! Only the keys of the expectation are touched: remarks and everything else stay as they are.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;

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
    /// A file that is no TOML any more, which nothing here makes of one.
    pub fn expecting(&self, others: &[(&TestPlace, &Expectation)]) -> Result<Vec<WrittenFile>, TomlError> {
        let mut written = Vec::new();
        for (number, file) in self.files.iter().enumerate() {
            let mut of_file = others.iter().filter(|(test, _)| test.numbers.0 == number).peekable();
            if of_file.peek().is_none() {
                continue;
            }
            let mut document: DocumentMut = file.text.parse()?;
            for (test, expected) in of_file {
                if let Some(table) = test_at(&mut document, test.numbers.1) {
                    put(expected, table)?;
                }
            }
            written.push(WrittenFile { path: file.path.clone(), content: document.to_string().into_bytes() });
        }
        for (_, expected) in others {
            if let Some(ExpectedBytes::File(name, Some(content))) = &expected.bytes {
                written.push(WrittenFile { path: self.folder.join(name), content: content.clone() });
            }
        }
        Ok(written)
    }
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
        remarks.extend(above.filter(|above| above.contains('#')));
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
