//! Rule tests: requests and answers, and what a policy is expected to do to them.
//!
//! They lie in the folder `tests` of a policy folder. [`RuleTests::read`] reads them beside a loaded
//! policy, [`RuleTest::run`] judges one as a gate would, under keys that are the same everywhere, so
//! that a token in a test means the same on every machine. An [`TestOutcome`] is named by what went wrong:
//! rules did what nobody expects ([`Grade::Noisy`]), did not do what is expected ([`Grade::Missing`]), or
//! did something else ([`Grade::Wrong`]).
//!
//! Nothing here writes a file: an [`Expectation`] is also what a test would have to expect, and whoever has
//! shown it writes what [`RuleTests::expecting`] returns.
//!
//! Requests of tests are made up, and outcomes show their texts. What redaction wrote is shown as its
//! label.

mod answer;
mod change;
mod compile;
mod expectation;
mod judge;
mod raw;

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use leafgate_diagnostic::{Complaints, Diagnostics, LoadError, Severity};
use leafgate_policy::Policy;
use leafgate_tree::Document;
use serde::Serialize;

use answer::TestAnswer;
use compile::TestCompiler;
use raw::RawTest;

pub use change::{ChangeKind, RequestChange};
pub use expectation::{Expectation, WrittenFile};
pub use judge::{Difference, Grade, RequestFate, TestOutcome};

/// Bytes of a file of tests.
const MAX_FILE: usize = 8 << 20;

/// The tests of a policy.
#[derive(Debug)]
pub struct RuleTests {
    folder: PathBuf,
    files: Vec<TestsFile>,
    tests: Vec<RuleTest>,
}

/// A file of tests as it was read.
#[derive(derive_more::Debug)]
#[debug("{}, {} bytes", self.path.display(), self.text.len())]
struct TestsFile {
    path: PathBuf,
    text: String,
}

/// One test.
#[derive(derive_more::Debug)]
#[debug("{place:?}: {matter:?}, {expected:?}")]
pub struct RuleTest {
    /// Where it stands.
    pub place: TestPlace,
    /// Where its name stands.
    at: Range<usize>,
    matter: TestMatter,
    raw: RawTest,
    /// The rules that are asked; `None` for all.
    rules: Option<BTreeSet<String>>,
    expected: Expectation,
}

/// The name of a test, and where it stands.
#[derive(Clone, Debug, Serialize)]
pub struct TestPlace {
    /// The number of its file, and its own number in it.
    #[serde(skip)]
    numbers: (usize, usize),
    /// Its file.
    pub file: Arc<str>,
    /// The line that it begins in.
    pub line: usize,
    /// Its name.
    pub name: String,
}

/// What a test is about.
#[derive(Debug)]
enum TestMatter {
    /// A request.
    Request(Arc<Document>),
    /// An answer.
    Answer(Box<TestAnswer>),
}

impl TestMatter {
    /// The bytes that came.
    fn received(&self) -> &[u8] {
        match self {
            TestMatter::Request(document) => document.source(),
            TestMatter::Answer(answer) => &answer.received,
        }
    }
}

impl RuleTests {
    /// Reads the tests of a folder: each `*.toml` in it, in name order. A policy without such a folder has
    /// no tests.
    ///
    /// # Errors
    /// Everything that is wrong with the files, as diagnostics with file, line, caret and hint.
    pub fn read(folder: &Path, policy: &Policy) -> Result<RuleTests, LoadError> {
        let mut diagnostics = Diagnostics::default();
        let mut all = RuleTests { folder: folder.to_owned(), files: Vec::new(), tests: Vec::new() };
        let files = leafgate_folder::list_tests(folder).unwrap_or_else(|error| {
            let message = format!("the folder of tests cannot be read: {error}");
            let hint = "make it a folder of `*.toml` files".to_owned();
            diagnostics.without_place(Severity::Error, folder.display().to_string(), message, hint);
            Vec::new()
        });
        let is_test = |path: &PathBuf| {
            path.parent() == Some(folder) && path.extension().is_some_and(|extension| extension == "toml")
        };
        for path in files.into_iter().filter(is_test) {
            all.read_file(path, policy, &mut diagnostics);
        }
        match diagnostics.errors() {
            0 => Ok(all),
            _ => Err(diagnostics.into_error_of("the tests were not read")),
        }
    }

    fn read_file(&mut self, path: PathBuf, policy: &Policy, diagnostics: &mut Diagnostics) {
        let name = path.display().to_string();
        let text = match leafgate_folder::read_text(&path, MAX_FILE) {
            Ok(text) => text,
            Err(error) => {
                let message = format!("the file cannot be read: {error}");
                return diagnostics.without_place(Severity::Error, name, message, None);
            }
        };
        self.read_text(&name, &text, policy, diagnostics);
        self.files.push(TestsFile { path, text });
    }

    fn read_text(&mut self, name: &str, text: &str, policy: &Policy, diagnostics: &mut Diagnostics) {
        let file = diagnostics.add_file_of(&self.folder, Path::new(name), text.to_owned());
        let mut complaints = Complaints { file, diagnostics };
        let raw = raw::read(text, &mut complaints);
        let (file, folder) = (self.files.len(), self.folder.as_path());
        let mut compiler = TestCompiler { complaints, policy, folder, file, name: name.into() };
        let mut tests: Vec<RuleTest> = Vec::new();
        for (number, raw) in raw.into_iter().enumerate() {
            let Some(test) = compiler.test(number, raw) else { continue };
            let TestPlace { name, .. } = &test.place;
            if let Some(first) = tests.iter().find(|first| first.place.name == *name) {
                let message = format!("test `{name}` is written twice");
                let hint = format!("the first is in line {}", first.place.line);
                compiler.complaints.error(test.at.clone(), message, hint);
            }
            tests.push(test);
        }
        self.tests.extend(tests);
    }

    /// Returns the tests, in the order of the files.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &RuleTest> {
        self.tests.iter()
    }

    /// Runs all tests, and gives the policy's failures as diagnostics: each with its test, what is wrong,
    /// and no text of a request.
    ///
    /// # Errors
    /// A test that fails; or no test at all, where tests are to vouch for a policy.
    pub fn require(&self, policy: &Policy) -> Result<(), LoadError> {
        let mut diagnostics = Diagnostics::default();
        let files: Vec<usize> = self
            .files
            .iter()
            .map(|file| diagnostics.add_file_of(&self.folder, &file.path, file.text.clone()))
            .collect();
        for test in &self.tests {
            let outcome = test.run(policy);
            if outcome.fails() {
                let places: Vec<&str> = outcome.differences.iter().map(|it| it.at.as_str()).collect();
                let message = format!("a test fails, {}: {}", outcome.grade, places.join(", "));
                let hint = "`leafgate test` shows what differs".to_owned();
                let file = files[test.place.numbers.0];
                diagnostics.at_place(Severity::Error, file, test.at.clone(), message, hint);
            }
        }
        if self.tests.is_empty() {
            let hint =
                "write `[[test]]` tables into `*.toml` files there, or do not require tests".to_owned();
            let folder = self.folder.display().to_string();
            diagnostics.without_place(Severity::Error, folder, "the policy has no tests", hint);
        }
        match diagnostics.errors() {
            0 => Ok(()),
            _ => Err(diagnostics.into_error_of("the policy does not pass its tests")),
        }
    }
}

#[cfg(test)]
mod tests {
    use leafgate_diagnostic::keys::{Table, names};
    use leafgate_policy::REFERENCE;

    use super::raw::{RawEdit, RawTest};

    #[test]
    fn every_key_of_a_test_stands_in_the_reference() {
        for key in [names(RawTest::KEYS), names(RawEdit::KEYS)].concat() {
            let said = [format!("`{key}`"), format!("{{ {key} = "), format!(", {key} = ")];
            assert!(said.iter().any(|said| REFERENCE.contains(said)), "`{key}` is missing");
        }
    }
}
