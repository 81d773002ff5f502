//! Rule files: what they say ([`raw`]), and what it means ([`compile`]).
//!
//! Two stages, and only the second leaves this folder: everything outside sees
//! [`crate::rule::Rule`]s and loaded plugins. Nothing in a file is ignored silently; what is known
//! but not built yet is refused as such.

mod about;
mod alone;
mod answers;
pub(crate) mod assemble;
mod belongs;
pub(crate) mod compile;
pub(crate) mod detectors;
pub(crate) mod exceptions;
pub(crate) mod flow;
#[cfg(test)]
mod hiding_tests;
mod idle;
pub(crate) mod keys;
pub(crate) mod matches;
mod names;
pub(crate) mod never;
pub(crate) mod options;
pub(crate) mod own;
pub(crate) mod plugins;
pub(crate) mod raw;
#[cfg(test)]
mod reference_tests;
mod replacement;
pub(crate) mod requires;
pub(crate) mod schema;
pub(crate) mod tables;
pub(crate) mod twice;
pub(crate) mod useless;
pub(crate) mod weaken;

use std::ops::Range;
use std::time::Duration;

use toml::Spanned;

use self::keys::Table;
use leafgate_diagnostic::{Diagnostics, hint_for};

/// Diagnostics of one file.
pub(crate) struct Complaints<'d> {
    pub(crate) file: usize,
    pub(crate) diagnostics: &'d mut Diagnostics,
}

impl Complaints<'_> {
    pub(crate) fn error(&mut self, span: Range<usize>, message: impl Into<String>, hint: impl Into<String>) {
        self.diagnostics.error(self.file, span, message, Some(hint.into()));
    }

    pub(crate) fn warning(
        &mut self,
        span: Range<usize>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        self.diagnostics.warning(self.file, span, message, Some(hint.into()));
    }

    /// Reports a key that a table lacks; what could not be read has been reported.
    pub(crate) fn missing<T: Table>(
        &mut self,
        (table, key): (&T, &str),
        header: Range<usize>,
        message: &str,
        hint: impl Into<String>,
    ) {
        if !table.is_broken(key) {
            self.error(header, message, hint);
        }
    }

    /// A name in kebab-case; reports any other. `like` is one.
    pub(crate) fn kebab(&mut self, name: &Spanned<String>, like: &str) -> Option<String> {
        let fits = is_kebab_case(name.get_ref());
        if !fits {
            let message = format!("`{}` is not kebab-case", name.get_ref());
            self.error(name.span(), message, format!("write it like `{like}`"));
        }
        fits.then(|| name.get_ref().clone())
    }

    /// Records a warning at a range of a string's content.
    pub(crate) fn warning_inside(
        &mut self,
        string: Range<usize>,
        content: &str,
        at: Range<usize>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        let text = &self.diagnostics.text(self.file);
        let span = span_inside(text, string, content, at);
        self.warning(span, message, hint);
    }

    /// Records an error at a range of a string's *content*, wherever in the file that content
    /// stands.
    pub(crate) fn error_inside(
        &mut self,
        string: Range<usize>,
        content: &str,
        at: Range<usize>,
        message: impl Into<String>,
        hint: Option<String>,
    ) {
        let text = &self.diagnostics.text(self.file);
        let span = span_inside(text, string, content, at);
        self.diagnostics.error(self.file, span, message, hint);
    }

    /// A word of a closed list; reports any other.
    pub(crate) fn word<T>(
        &mut self,
        field: &str,
        value: &Spanned<String>,
        known: &[&str],
        read: impl Fn(&str) -> Option<T>,
    ) -> Option<T> {
        let word = value.get_ref();
        let read = read(word);
        if read.is_none() {
            self.error(value.span(), format!("`{word}` is no value of `{field}`"), hint_for(word, known));
        }
        read
    }
}

/// Returns the range in the file for a range of a string's content. Exact where the string is
/// written without escapes, else the whole string.
fn span_inside(text: &str, string: Range<usize>, content: &str, at: Range<usize>) -> Range<usize> {
    let Some(written) = text.get(string.clone()) else { return string };
    match written.find(content) {
        Some(start) if !content.is_empty() => {
            let start = string.start + start;
            start + at.start..start + at.end.min(content.len()).max(at.start)
        }
        _ => string,
    }
}

/// Reads a whole number above zero with one of these units, of so many milliseconds each.
fn duration(text: &str, units: &[(&str, u64)]) -> Option<Duration> {
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit())?);
    let (_, millis) = units.iter().find(|(name, _)| *name == unit)?;
    let millis = number.parse::<u64>().ok()?.checked_mul(*millis)?;
    (millis > 0).then(|| Duration::from_millis(millis))
}

/// Names in rule files are kebab-case: they appear in CEL, in logs and in reports.
pub(crate) fn is_kebab_case(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    !name.is_empty() && name.split('-').all(|part| !part.is_empty() && part.bytes().all(plain))
}
