//! What a request says outside its body: path, query parameters, headers.
//!
//! Every redact rule that applies to the request searches these texts, whatever leaves its `match`
//! names and whatever its `when` says about leaves: they are no leaves. Nothing is replaced there,
//! because the path and the headers are sent as they came. A finding follows the rule's
//! `on_unredactable`.

use std::fmt;

/// One text of a request outside its body.
#[derive(Clone, derive_more::Debug)]
#[debug("{} bytes in a {}", self.text.len(), self.part.kind())]
pub struct Outside {
    /// Where it stands.
    pub part: Part,
    /// The text, decoded as far as its place demands: percent escapes of a path and a query are
    /// undone.
    pub text: String,
}

/// Where such a text stands. Names are searched too, and a name that holds a finding is not spelled
/// in a hold.
#[derive(Clone, PartialEq, Eq)]
pub enum Part {
    /// The path.
    Path,
    /// The value of a query parameter.
    Query {
        /// The parameter's name, decoded.
        key: String,
    },
    /// The value of a header.
    Header {
        /// The header's name, in lower case.
        name: String,
    },
}

/// Longest name that a hold spells, in bytes.
const MAX_NAME: usize = 64;

impl Part {
    /// Returns what kind of part it is, in words.
    pub fn kind(&self) -> &'static str {
        match self {
            Part::Path => "path",
            Part::Query { .. } => "query parameter",
            Part::Header { .. } => "header",
        }
    }

    /// Returns the client's own name for it.
    pub(crate) fn name(&self) -> Option<&str> {
        match self {
            Part::Path => None,
            Part::Query { key } => Some(key),
            Part::Header { name } => Some(name),
        }
    }
}

impl fmt::Display for Part {
    /// Writes `path`, `query parameter q` or `header x-foo`. A long name is cut.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            None => f.write_str(self.kind()),
            Some(name) => write!(f, "{} {}", self.kind(), &name[..name.floor_char_boundary(MAX_NAME)]),
        }
    }
}

impl fmt::Debug for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind())
    }
}
