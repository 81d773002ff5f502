//! Diagnostics of files that people write, rules and settings, in the form of a compiler's: file, line,
//! caret, hint.
//!
//! Loading collects as many diagnostics as it can before it gives up, so that one run shows all
//! that must be mended. An error refuses the policy. A warning does not: it names what is sound and
//! yet can hardly be meant. Diagnostics quote these files and nothing else: no request exists yet
//! when they are made. They stand in the log and in the answers of the admin API, so what looks like
//! a secret in a rule file has stars in their quotes.

mod complaints;
mod hint;
pub mod keys;
pub mod number;
mod place;
mod tables;
mod words;

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::{LazyLock, OnceLock};

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use leafgate_detect::{Engine, Input};
use memchr::memchr_iter;
use serde::Serialize;

pub use complaints::{Complaints, TextFault};
pub use hint::{did_you_mean, hint_for};
pub use place::place_of;
pub use tables::{parse, read, said, text};
pub use words::{OneOrMany, WordMatch, words_of};

/// A file as read, kept for its diagnostics.
#[derive(Clone, Debug)]
struct SourceFile {
    /// The name shown: the path as the folder was given, or a fixed word for a built-in text.
    name: String,
    /// Its text.
    text: String,
    /// Where its lines start: every rule asks for its own.
    line_starts: Vec<usize>,
    /// The text as it is quoted, once it was: as long as the text.
    quoted: OnceLock<String>,
    /// Whether a link leads to it out of its folder: then it may be any file, and is not quoted.
    is_foreign: bool,
}

impl SourceFile {
    fn new(name: String, text: String) -> Self {
        let line_starts = std::iter::once(0).chain(memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1));
        SourceFile {
            name,
            line_starts: line_starts.collect(),
            text,
            quoted: OnceLock::new(),
            is_foreign: false,
        }
    }

    /// Returns the text as diagnostics quote it.
    fn quoted(&self) -> &str {
        self.quoted.get_or_init(|| starred(&self.text).into_owned())
    }

    /// Returns the 1-based line and column of a place.
    fn position(&self, offset: usize) -> (usize, usize) {
        let at = self.text.floor_char_boundary(offset.min(self.text.len()));
        let line = self.line_starts.partition_point(|&start| start <= at);
        (line, self.text[self.line_starts[line - 1]..at].chars().count() + 1)
    }
}

/// The consequence of a diagnostic for the policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The policy is refused.
    Error,
    /// The policy serves.
    Warning,
}

/// One thing that is wrong.
#[derive(Clone, Debug, Serialize, derive_more::Display)]
#[display("{rendered}")]
pub struct Diagnostic {
    /// Its consequence for the policy.
    pub severity: Severity,
    /// The file, as shown; the folder where no file is to blame.
    pub file: String,
    /// 1-based line, 0 where no line is to blame.
    pub line: usize,
    /// 1-based column in characters, 0 where no line is to blame.
    pub column: usize,
    /// What is wrong, in one line.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    #[serde(skip)]
    rendered: String,
}

impl Diagnostic {
    /// Returns place, message and hint on one line, for a log.
    pub fn on_one_line(&self) -> String {
        let place = match self.line {
            0 => self.file.clone(),
            line => format!("{}:{line}", self.file),
        };
        let hint = self.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
        format!("{place}: {}{hint}", self.message)
    }
}

/// A policy that cannot be used, or tests of one that cannot be read; carries every diagnostic that
/// was found.
#[derive(Clone, Debug)]
pub struct LoadError {
    diagnostics: Vec<Diagnostic>,
    /// What did not happen.
    consequence: &'static str,
}

impl LoadError {
    /// Returns an error that no line of a rule file is to blame for.
    pub fn because(of: &str, message: String, hint: &str) -> LoadError {
        let mut diagnostics = Diagnostics::default();
        diagnostics.without_place(Severity::Error, of, message, Some(hint.to_owned()));
        diagnostics.into_error()
    }

    /// Returns every diagnostic, in the order of the files.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for diagnostic in &self.diagnostics {
            writeln!(f, "{diagnostic}\n")?;
        }
        match errors(&self.diagnostics) {
            1 => write!(f, "{}: 1 error", self.consequence),
            n => write!(f, "{}: {n} errors", self.consequence),
        }
    }
}

impl std::error::Error for LoadError {}

fn errors(diagnostics: &[Diagnostic]) -> usize {
    diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error).count()
}

/// Collects diagnostics while files load.
#[derive(Debug, Default)]
pub struct Diagnostics {
    files: Vec<SourceFile>,
    /// By file and byte, where a place is to blame.
    found: Vec<(Option<(usize, usize)>, Diagnostic)>,
    errors: usize,
}

impl Diagnostics {
    /// Registers a file; places name it by the number returned.
    pub fn add_file(&mut self, name: String, text: String) -> usize {
        self.files.push(SourceFile::new(name, text));
        self.files.len() - 1
    }

    /// Registers a file of a folder. One outside of it, to which a link leads, is not quoted.
    pub fn add_file_of(&mut self, folder: &Path, path: &Path, text: String) -> usize {
        let file = self.add_file(path.display().to_string(), text);
        self.files[file].is_foreign = !leafgate_folder::lies_in(folder, path);
        file
    }

    /// Returns the text of a registered file.
    pub fn text(&self, file: usize) -> &str {
        &self.files[file].text
    }

    /// Returns the name of a registered file, as it is shown.
    pub fn name(&self, file: usize) -> &str {
        &self.files[file].name
    }

    /// Returns the 1-based line on which a span starts.
    pub fn line(&self, file: usize, span: &Range<usize>) -> usize {
        self.files[file].position(span.start).0
    }

    /// Records what is wrong at a place, with a hint.
    pub fn at_place(
        &mut self,
        severity: Severity,
        file: usize,
        span: Range<usize>,
        message: impl Into<String>,
        hint: impl Into<Option<String>>,
    ) {
        let source = &self.files[file];
        let span = within(&source.text, span);
        let (line, column) = source.position(span.start);
        let file_name = source.name.clone();
        let (message, hint, rendered) = if source.is_foreign {
            let message =
                "this is not understood; of a file outside of its folder nothing is quoted".to_owned();
            let hint = "put the file in the place of the link".to_owned();
            let rendered = unquoted(severity, &message, &format!("{file_name}:{line}"), Some(&hint));
            (message, Some(hint), rendered)
        } else {
            let (message, hint) = (without_secrets(message.into()), hint.into().map(without_secrets));
            let rendered = render(severity, source, span.clone(), &message, hint.as_deref());
            (message, hint, rendered)
        };
        let diagnostic = Diagnostic { severity, file: file_name, line, column, message, hint, rendered };
        self.errors += usize::from(severity == Severity::Error);
        self.found.push((Some((file, span.start)), diagnostic));
    }

    /// Records what no line of a file is to blame for.
    pub fn without_place(
        &mut self,
        severity: Severity,
        file: impl Into<String>,
        message: impl Into<String>,
        hint: impl Into<Option<String>>,
    ) {
        let (file, message) = (file.into(), without_secrets(message.into()));
        let hint = hint.into().map(without_secrets);
        let rendered = unquoted(severity, &message, &file, hint.as_deref());
        let diagnostic = Diagnostic { severity, file, line: 0, column: 0, message, hint, rendered };
        self.errors += usize::from(severity == Severity::Error);
        self.found.push((None, diagnostic));
    }

    /// Returns how many errors were found so far: a caller compares it to see whether a step added
    /// any.
    pub fn errors(&self) -> usize {
        self.errors
    }

    /// Returns everything that was found, in the order of the files.
    pub fn into_all(self) -> Vec<Diagnostic> {
        let mut found = self.found;
        found.sort_by_key(|(place, _)| *place);
        found.into_iter().map(|(_, diagnostic)| diagnostic).collect()
    }

    /// Returns the error of a policy that was not loaded.
    #[must_use]
    pub fn into_error(self) -> LoadError {
        self.into_error_of("the policy was not loaded")
    }

    /// Returns the error of what did not happen: `the tests were not read`.
    #[must_use]
    pub fn into_error_of(self, consequence: &'static str) -> LoadError {
        LoadError { diagnostics: self.into_all(), consequence }
    }
}

/// Renders what quotes no line.
fn unquoted(severity: Severity, message: &str, place: &str, hint: Option<&str>) -> String {
    let word = match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let hint = hint.map(|hint| format!("\n  = help: {hint}")).unwrap_or_default();
    format!("{word}: {message}\n  --> {place}{hint}")
}

fn render(
    severity: Severity,
    source: &SourceFile,
    span: Range<usize>,
    message: &str,
    hint: Option<&str>,
) -> String {
    let snippet = Snippet::source(source.quoted())
        .path(source.name.as_str())
        .annotation(AnnotationKind::Primary.span(span));
    let level = match severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let mut group = level.primary_title(message).element(snippet);
    if let Some(hint) = hint {
        group = group.element(Level::HELP.message(hint));
    }
    Renderer::plain().render(&[group])
}

/// Returns a text with a star for each byte of what looks like a secret, so that carets stay right.
pub fn starred(text: &str) -> Cow<'_, str> {
    static SECRETS: LazyLock<Engine> =
        LazyLock::new(|| Engine::new(&["secrets"]).expect("the built-in pack has this name"));
    let found = SECRETS.scan(&Input::new(text));
    if found.is_empty() {
        return text.into();
    }
    let mut shown = text.to_owned();
    for finding in found {
        // A secret over several lines keeps its lines.
        let stars = text[finding.range.clone()].split('\n').map(|line| "*".repeat(line.len()));
        shown.replace_range(finding.range.clone(), &stars.collect::<Vec<_>>().join("\n"));
    }
    shown.into()
}

fn without_secrets(text: String) -> String {
    match starred(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(shown) => shown,
    }
}

/// Keeps a span inside the text and to its first line: a caret under forty lines is of no use.
fn within(text: &str, span: Range<usize>) -> Range<usize> {
    let start = text.floor_char_boundary(span.start.min(text.len()));
    let end = text.floor_char_boundary(span.end.clamp(start, text.len()));
    let line_end = text[start..end].find('\n').map_or(end, |at| start + at);
    start..line_end.max(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_of_a_rule_file_is_quoted_as_stars() {
        let secret = format!("ghp_{}", "x7Kq2mPf9LwT4vBn8RcY1dHs6JgZ3aEu5oQi");
        let text = format!("[[rule]]\nwhen = 'leaf.text == \"{secret}\"'\nmore\n");
        let mut diagnostics = Diagnostics::default();
        let file = diagnostics.add_file("a.toml".into(), text.clone());
        let at = text.find(&secret).unwrap();
        diagnostics.at_place(
            Severity::Error,
            file,
            at..at + 3,
            format!("no `{secret}`"),
            format!("not {secret}"),
        );
        diagnostics.without_place(Severity::Warning, "a.toml", format!("no `{secret}`"), None);
        let all = diagnostics.into_all();
        assert!(!format!("{all:?}").contains(&secret[4..]), "{all:?}");
        assert!(all[1].to_string().contains(&format!("\"{}\"", "*".repeat(secret.len()))), "{}", all[1]);
    }
}
