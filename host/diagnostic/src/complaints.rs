//! What is wrong with one file, told by its places.

use std::ops::Range;

use toml::Spanned;

use crate::{Diagnostics, Severity};

/// Diagnostics of one file.
pub struct Complaints<'d> {
    /// The number of the file.
    pub file: usize,
    /// Where what is wrong goes.
    pub diagnostics: &'d mut Diagnostics,
}

/// One thing wrong in a text that a file holds: where in the text, what, and what to do.
#[derive(Debug, PartialEq, Eq)]
pub struct TextFault {
    /// Its range in the text.
    pub at: Range<usize>,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub hint: String,
}

impl TextFault {
    /// Returns a fault.
    pub fn new(at: Range<usize>, message: impl Into<String>, hint: impl Into<String>) -> TextFault {
        TextFault { at, message: message.into(), hint: hint.into() }
    }
}

impl Complaints<'_> {
    /// Records an error at a place of the file.
    pub fn error(&mut self, span: Range<usize>, message: impl Into<String>, hint: impl Into<String>) {
        self.diagnostics.at_place(Severity::Error, self.file, span, message, hint.into());
    }

    /// Records a warning at a place of the file.
    pub fn warning(&mut self, span: Range<usize>, message: impl Into<String>, hint: impl Into<String>) {
        self.diagnostics.at_place(Severity::Warning, self.file, span, message, hint.into());
    }

    /// Returns the file and the line of a place, for people.
    pub fn origin(&self, span: &Range<usize>) -> String {
        format!("{}:{}", self.diagnostics.name(self.file), self.diagnostics.line(self.file, span))
    }

    /// Returns a name in kebab-case; reports any other. `like` is one.
    pub fn kebab(&mut self, name: &Spanned<String>, like: &str) -> Option<String> {
        let fits = is_kebab_case(name.get_ref());
        if !fits {
            let message = format!("`{}` is not kebab-case", name.get_ref());
            self.error(name.span(), message, format!("write it like `{like}`"));
        }
        fits.then(|| name.get_ref().clone())
    }

    /// Returns what was read of a text; reports what is wrong in it.
    pub fn sound<T>(&mut self, text: &Spanned<String>, read: Result<T, Vec<TextFault>>) -> Option<T> {
        let faults = match read {
            Ok(read) => return Some(read),
            Err(faults) => faults,
        };
        for TextFault { at, message, hint } in faults {
            self.error(self.inside(text, at), message, hint);
        }
        None
    }

    /// Returns the range in the file for a range of a text. Exact where the text is written without escapes, else
    /// the whole text.
    pub fn inside(&self, text: &Spanned<String>, at: Range<usize>) -> Range<usize> {
        let (string, content) = (text.span(), text.get_ref());
        let Some(written) = self.diagnostics.text(self.file).get(string.clone()) else { return string };
        match written.find(content.as_str()) {
            Some(start) if !content.is_empty() => {
                let start = string.start + start;
                start + at.start..start + at.end.min(content.len()).max(at.start)
            }
            _ => string,
        }
    }
}

/// Names in rule files are kebab-case: they appear in CEL, in logs and in reports.
fn is_kebab_case(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    !name.is_empty() && name.split('-').all(|part| !part.is_empty() && part.bytes().all(plain))
}
