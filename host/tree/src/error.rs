//! Why a body could not be read as a tree.
//!
//! A [`ParseError`] says where and what, never which text stood there: the text is the user's.

/// A body that is not JSON, or that is larger than the caps allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind}{}", self.place())]
pub struct ParseError {
    /// What was wrong.
    pub kind: ParseErrorKind,
    /// Byte offset, 0-based.
    pub offset: usize,
    /// Line, 1-based.
    pub line: usize,
    /// Column in bytes, 1-based.
    pub column: usize,
}

/// What was wrong with a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, derive_more::Display)]
#[non_exhaustive]
pub enum ParseErrorKind {
    /// A byte sequence that is not UTF-8 (RFC 8259, section 8.1).
    #[display("invalid UTF-8")]
    InvalidUtf8,
    /// Not JSON; the text says what RFC 8259 would have allowed there.
    #[display("not JSON: expected {_0}")]
    Syntax(&'static str),
    /// The body ended inside a value.
    #[display("not JSON: the text ends inside a value")]
    Truncated,
    /// Containers nested deeper than the limit.
    #[display("nested deeper than {limit} levels")]
    TooDeep {
        /// The limit.
        limit: usize,
    },
    /// More values than the limit.
    #[display("more than {limit} values")]
    TooManyNodes {
        /// The limit.
        limit: usize,
    },
    /// More bytes than offsets of 32 bits can address.
    #[display("body larger than 4 GiB")]
    TooLarge,
}

impl ParseError {
    /// Places an error at a byte offset of the body.
    pub(crate) fn at(kind: ParseErrorKind, source: &[u8], offset: usize) -> Self {
        let before = &source[..offset.min(source.len())];
        let line_start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
        let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
        ParseError { kind, offset, line, column: before.len() - line_start + 1 }
    }

    /// Says where it is; what is wrong with all of a body has no place in it.
    fn place(&self) -> String {
        match self.kind {
            ParseErrorKind::TooLarge => String::new(),
            _ => format!(" at line {}, column {}", self.line, self.column),
        }
    }

    /// Whether a limit was hit, rather than the body being no JSON.
    pub fn is_cap(&self) -> bool {
        matches!(
            self.kind,
            ParseErrorKind::TooDeep { .. } | ParseErrorKind::TooManyNodes { .. } | ParseErrorKind::TooLarge
        )
    }
}
