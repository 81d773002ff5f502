//! What is wrong with a policy folder, said the way a compiler says it: file, line, caret, hint.
//!
//! Loading collects as many diagnostics as it can before it gives up, so that one run shows all that must be mended. They quote
//! rule files and nothing else: no request exists yet when they are made.

use std::fmt;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use serde::Serialize;

/// A rule file as read, kept for its diagnostics.
#[derive(Clone, Debug)]
pub(crate) struct SourceFile {
    /// The name shown: the path as the folder was given, or a fixed word for a built-in text.
    pub(crate) name: String,
    /// Its text.
    pub(crate) text: String,
}

/// A byte range of one rule file.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) file: usize,
    pub(crate) span: Range<usize>,
}

/// One thing that is wrong.
#[derive(Clone, Debug, Serialize)]
pub struct Diagnostic {
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

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.rendered)
    }
}

/// A policy that cannot be used; carries every diagnostic that was found.
#[derive(Clone, Debug)]
pub struct LoadError {
    diagnostics: Vec<Diagnostic>,
}

impl LoadError {
    /// Every diagnostic, in the order of the files.
    #[must_use]
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for diagnostic in &self.diagnostics {
            writeln!(f, "{diagnostic}\n")?;
        }
        match self.diagnostics.len() {
            1 => f.write_str("the policy was not loaded: 1 error"),
            n => write!(f, "the policy was not loaded: {n} errors"),
        }
    }
}

impl std::error::Error for LoadError {}

/// Collects diagnostics while a policy loads.
#[derive(Debug, Default)]
pub(crate) struct Diagnostics {
    files: Vec<SourceFile>,
    found: Vec<(Option<Place>, Diagnostic)>,
}

impl Diagnostics {
    /// Registers a file; places name it by the number returned.
    pub(crate) fn add_file(&mut self, name: String, text: String) -> usize {
        self.files.push(SourceFile { name, text });
        self.files.len() - 1
    }

    pub(crate) fn file(&self, file: usize) -> &SourceFile {
        &self.files[file]
    }

    /// The 1-based line on which a span starts.
    pub(crate) fn line(&self, file: usize, span: &Range<usize>) -> usize {
        position(&self.files[file].text, span.start).0
    }

    /// Records an error at a place, with a word under the caret and a hint.
    pub(crate) fn error(
        &mut self,
        file: usize,
        span: Range<usize>,
        message: impl Into<String>,
        hint: impl Into<Option<String>>,
    ) {
        let (message, hint) = (message.into(), hint.into());
        let source = &self.files[file];
        let span = within(&source.text, span);
        let (line, column) = position(&source.text, span.start);
        let rendered = render(source, span.clone(), &message, hint.as_deref());
        let diagnostic = Diagnostic { file: source.name.clone(), line, column, message, hint, rendered };
        self.found.push((Some(Place { file, span }), diagnostic));
    }

    /// Records an error that no line of a file is to blame for.
    pub(crate) fn error_without_place(
        &mut self,
        file: impl Into<String>,
        message: impl Into<String>,
        hint: impl Into<Option<String>>,
    ) {
        let (file, message, hint) = (file.into(), message.into(), hint.into());
        let mut rendered = format!("error: {message}\n  --> {file}");
        if let Some(hint) = &hint {
            rendered.push_str(&format!("\n  = help: {hint}"));
        }
        let diagnostic = Diagnostic { file, line: 0, column: 0, message, hint, rendered };
        self.found.push((None, diagnostic));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// How many were found so far: a caller compares it to see whether a step added any.
    pub(crate) fn len(&self) -> usize {
        self.found.len()
    }

    pub(crate) fn into_error(self) -> LoadError {
        let mut found = self.found;
        found.sort_by_key(|(place, _)| place.as_ref().map(|p| (p.file, p.span.start)));
        LoadError { diagnostics: found.into_iter().map(|(_, diagnostic)| diagnostic).collect() }
    }
}

fn render(source: &SourceFile, span: Range<usize>, message: &str, hint: Option<&str>) -> String {
    let snippet = Snippet::source(source.text.as_str())
        .path(source.name.as_str())
        .annotation(AnnotationKind::Primary.span(span));
    let mut group = Level::ERROR.primary_title(message).element(snippet);
    if let Some(hint) = hint {
        group = group.element(Level::HELP.message(hint));
    }
    Renderer::plain().render(&[group])
}

/// Keeps a span inside the text and to its first line: a caret under forty lines helps nobody.
fn within(text: &str, span: Range<usize>) -> Range<usize> {
    let start = text.floor_char_boundary(span.start.min(text.len()));
    let end = text.floor_char_boundary(span.end.clamp(start, text.len()));
    let line_end = text[start..end].find('\n').map_or(end, |at| start + at);
    start..line_end.max(start)
}

fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = &text[..text.floor_char_boundary(offset.min(text.len()))];
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

/// The known name that a mistyped one most likely means.
pub(crate) fn did_you_mean<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Below this similarity a guess is more puzzling than none.
    const ALIKE: f64 = 0.75;
    known
        .into_iter()
        .map(|name| (strsim::jaro_winkler(typed, name), name))
        .filter(|(alike, _)| *alike >= ALIKE)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

/// A hint for a mistyped name: the likely one, or all of them.
pub(crate) fn hint_for(typed: &str, known: &[&str]) -> String {
    match did_you_mean(typed, known.iter().copied()) {
        Some(name) => format!("did you mean `{name}`?"),
        None => format!("known here: {}", known.join(", ")),
    }
}
