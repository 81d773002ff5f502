//! Why a request cannot be assembled.

use crate::files::FileFault;

/// Why a request cannot be assembled. Paths are those of the profile or of the request's own
/// `leafgate` member; no text of a conversation is here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AssembleError {
    /// The body is no JSON object.
    #[error("the body is no JSON object (line {line}, column {column})")]
    NotJson {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
    },
    /// A member does not have the shape that the API demands.
    #[error("{at}: {expected} is expected")]
    Shape {
        /// An RFC 6901 pointer of the API's own members and of indices.
        at: String,
        /// What is expected.
        expected: &'static str,
    },
    /// A member is there twice.
    #[error("/{key}: the member is here twice, and readers differ about which one counts")]
    Twice {
        /// The member.
        key: &'static str,
    },
    /// The API has no place for what the profile says, or the request has something that leaves none.
    #[error("{0}")]
    NoPlace(&'static str),
    /// A file cannot be used.
    #[error("`{path}`: {fault}")]
    File {
        /// Its path.
        path: String,
        /// Why.
        fault: FileFault,
    },
    /// The request picks what its profile does not allow.
    #[error("/leafgate/{member}: the profile does not allow {}", match pick { Some(pick) => format!("`{pick}`"), None => "this".to_owned() })]
    NotAllowed {
        /// The member.
        member: &'static str,
        /// What was picked.
        pick: Option<String>,
    },
    /// The context is larger than the profile allows.
    #[error("the context has more than {limit} bytes: name fewer files, or raise the profile's limit")]
    ContextTooLarge {
        /// The limit.
        limit: usize,
    },
    /// More files match than the profile allows.
    #[error("more than {limit} files are named: name fewer")]
    TooManyFiles {
        /// The limit.
        limit: usize,
    },
}

impl AssembleError {
    pub(crate) fn file(path: &str, fault: FileFault) -> Self {
        AssembleError::File { path: shown(path), fault }
    }

    pub(crate) fn shape(at: impl Into<String>, expected: &'static str) -> Self {
        AssembleError::Shape { at: at.into(), expected }
    }
}

/// A path as a message may show it: on one line, and not longer than people read.
pub(crate) fn shown(path: &str) -> String {
    let visible = |character: char| if character.is_control() { '\u{fffd}' } else { character };
    path.chars().map(visible).take(200).collect()
}
