//! What is wrong with one file, told by its places.

use std::ops::Range;

use toml::Spanned;

use crate::Diagnostics;

/// Diagnostics of one file.
pub struct Complaints<'d> {
    /// The number of the file.
    pub file: usize,
    /// Where what is wrong goes.
    pub diagnostics: &'d mut Diagnostics,
}

impl Complaints<'_> {
    /// Records an error at a place of the file.
    pub fn error(&mut self, span: Range<usize>, message: impl Into<String>, hint: impl Into<String>) {
        self.diagnostics.error(self.file, span, message, Some(hint.into()));
    }

    /// Records a warning at a place of the file.
    pub fn warning(&mut self, span: Range<usize>, message: impl Into<String>, hint: impl Into<String>) {
        self.diagnostics.warning(self.file, span, message, Some(hint.into()));
    }

    /// Returns the file and the line of a place, for people.
    #[must_use]
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

    /// Returns the range in the file for a range of a string's content. Exact where the string is written
    /// without escapes, else the whole string.
    #[must_use]
    pub fn inside(&self, string: Range<usize>, content: &str, at: Range<usize>) -> Range<usize> {
        let text = self.diagnostics.text(self.file);
        let Some(written) = text.get(string.clone()) else { return string };
        match written.find(content) {
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
