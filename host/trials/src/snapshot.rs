//! What a test would have to expect, and how that is written into its file.
//!
//! Only the keys of the expectation are touched: remarks and everything else stay as they are. What was
//! written is read again before it is given out, so that a file that nobody can change by hand either is
//! refused and not broken.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::path::PathBuf;

use leafgate_diagnostic::Diagnostics;
use leafgate_policy::Policy;

use crate::{
    ChangeKind, ExpectedBytes, RequestChange, RequestFate, RuleTest, RuleTests, TestsFile, read_text,
};

/// What happened, as a test would have to expect it.
#[derive(Clone, Debug)]
pub struct TestSnapshot {
    pub(super) verdict: RequestFate,
    pub(super) held_by: BTreeSet<String>,
    pub(super) edits: Option<Vec<RequestChange>>,
    pub(super) bytes: Option<ExpectedBytes>,
}

/// A file as it is to be written.
#[derive(Clone, Debug)]
pub struct WrittenFile {
    /// Its path.
    pub path: PathBuf,
    /// Its content.
    pub content: Vec<u8>,
}

/// A file of tests that a snapshot cannot be written into.
#[derive(Clone, Debug, thiserror::Error)]
#[error(
    "{file}:{line}: the expectation of `{name}` cannot be written here: write the test under a `[[test]]` of its own"
)]
pub struct SnapshotError {
    file: String,
    line: usize,
    name: String,
}

impl fmt::Display for TestSnapshot {
    /// Writes the keys, as they stand in a file of tests.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "verdict = {}", quoted(self.verdict.name()))?;
        if !self.held_by.is_empty() {
            writeln!(f, "held_by = {}", words(self.held_by.iter()))?;
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
        match &self.bytes {
            None => Ok(()),
            Some(ExpectedBytes::Received) => writeln!(f, "bytes = \"received\""),
            Some(ExpectedBytes::File(name, _)) => writeln!(f, "bytes = {}", quoted(name)),
        }
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
    /// Returns the files as they are with new expectations for some tests.
    ///
    /// # Errors
    /// A test that is written so that its expectation cannot be replaced.
    pub fn with_snapshots(
        &self,
        snapshots: &[(&RuleTest, &TestSnapshot)],
        policy: &Policy,
    ) -> Result<Vec<WrittenFile>, SnapshotError> {
        let mut written = Vec::new();
        for (number, file) in self.files.iter().enumerate() {
            let of_file: Vec<(&RuleTest, &TestSnapshot)> =
                snapshots.iter().filter(|(test, _)| test.file == number).copied().collect();
            if !of_file.is_empty() {
                let text = with_expectations(&file.text, &of_file)?;
                self.reads(number, file, &text, &of_file, policy)?;
                written.push(WrittenFile { path: file.path.clone(), content: text.into_bytes() });
            }
        }
        for (_, snapshot) in snapshots {
            if let Some(ExpectedBytes::File(name, Some(content))) = &snapshot.bytes {
                written.push(WrittenFile { path: self.folder.join(name), content: content.clone() });
            }
        }
        Ok(written)
    }

    /// Reads a text that is to be written: each test must expect what it should, and all others must be
    /// there still.
    fn reads(
        &self,
        number: usize,
        file: &TestsFile,
        text: &str,
        snapshots: &[(&RuleTest, &TestSnapshot)],
        policy: &Policy,
    ) -> Result<(), SnapshotError> {
        let mut diagnostics = Diagnostics::default();
        let name = file.path.display().to_string();
        let read = read_text(number, &name, text, &self.folder, policy, &mut diagnostics);
        let before = self.tests.iter().filter(|test| test.file == number);
        let same =
            diagnostics.errors() == 0 && before.map(|test| &test.name).eq(read.iter().map(|test| &test.name));
        let holds = |(test, snapshot): &&(&RuleTest, &TestSnapshot)| {
            let now = read.iter().find(|now| now.name == test.name);
            same && now.is_some_and(|now| now.expected.edits == snapshot.edits)
        };
        match snapshots.iter().find(|pair| !holds(pair)) {
            Some((test, _)) => Err(test.unwritable()),
            None => Ok(()),
        }
    }
}

impl RuleTest {
    fn unwritable(&self) -> SnapshotError {
        SnapshotError { file: self.shown_file.to_string(), line: self.line, name: self.name.clone() }
    }
}

/// Puts expectations into the text of a file, in the place of those that stand there.
fn with_expectations(text: &str, snapshots: &[(&RuleTest, &TestSnapshot)]) -> Result<String, SnapshotError> {
    let mut pieces: Vec<(Range<usize>, String)> = Vec::new();
    for (test, snapshot) in snapshots {
        let end = test.end.ok_or_else(|| test.unwritable())?;
        pieces.extend(test.expected_at.iter().map(|at| (whole_lines(text, at), String::new())));
        let behind = end_of_line(text, end);
        let newline = if text[..behind].ends_with('\n') { "" } else { "\n" };
        pieces.push((behind..behind, format!("{newline}{snapshot}")));
    }
    pieces.sort_by_key(|(at, _)| (at.start, at.end));
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for (at, new) in pieces {
        out.push_str(text.get(from..at.start).unwrap_or_default());
        out.push_str(&new);
        from = at.end.max(from);
    }
    out.push_str(&text[from..]);
    Ok(out)
}

/// The lines that a key and its value stand in.
fn whole_lines(text: &str, at: &Range<usize>) -> Range<usize> {
    let start = text[..at.start].rfind('\n').map_or(0, |newline| newline + 1);
    start..end_of_line(text, at.end)
}

/// The place behind the end of the line that a place is in.
fn end_of_line(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |newline| at + newline + 1)
}
