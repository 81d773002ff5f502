//! Naming a value: the exact RFC 6901 pointer for programs, the display path for people.
//!
//! Both run through embedded documents as if the string were the object that it spells:
//! `/messages/1/tool_calls/0/function/arguments/city` and `messages[1].tool_calls[0].function.arguments.city`.

use std::fmt::Write as _;

use crate::index::{Index, Segment};
use crate::node::NodeId;

/// A pointer that names no single value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// The pointer does not start with `/`, or holds a `~` that RFC 6901 does not know.
    #[error("not an RFC 6901 pointer: it starts with `/` and spells `~` as `~0` and `/` as `~1`")]
    BadPointer,
    /// Nothing stands there.
    #[error("no value at this pointer")]
    NotFound,
    /// An object on the way has the key twice, so the pointer could mean either.
    #[error("ambiguous pointer: an object on the way has this key more than once")]
    Ambiguous,
}

impl Index {
    /// The value that a pointer names.
    ///
    /// # Errors
    /// See [`ResolveError`].
    pub fn resolve(&self, pointer: &str) -> Result<NodeId, ResolveError> {
        self.resolve_by(pointer, |_, _| None)
    }

    /// Does the same where `member` may know members by other words than their keys.
    pub(crate) fn resolve_by(
        &self,
        pointer: &str,
        member: impl Fn(NodeId, &str) -> Option<NodeId>,
    ) -> Result<NodeId, ResolveError> {
        let mut node = self.root();
        if pointer.is_empty() {
            return Ok(node);
        }
        let tokens = pointer.strip_prefix('/').ok_or(ResolveError::BadPointer)?;
        for token in tokens.split('/') {
            let token = decode(token)?;
            node = match member(node, &token) {
                Some(member) => member,
                None => self.step(node, &token)?,
            };
        }
        Ok(node)
    }

    fn step(&self, node: NodeId, token: &str) -> Result<NodeId, ResolveError> {
        let mut hits = self.children(node).filter(|&child| match self.segment(child) {
            Some(Segment::Key(key)) => key == token,
            Some(Segment::Index(index)) => index.to_string() == token,
            None => false,
        });
        match (hits.next(), hits.next()) {
            (Some(hit), None) => Ok(hit),
            (Some(_), Some(_)) => Err(ResolveError::Ambiguous),
            (None, _) => Err(ResolveError::NotFound),
        }
    }

    /// The RFC 6901 pointer of a value in the body as received.
    pub fn pointer(&self, node: NodeId) -> String {
        write_pointer(&self.segments(node))
    }

    /// The path of a value in the body as received, for people: `messages[3].content[1].text`.
    pub fn display_path(&self, node: NodeId) -> String {
        write_display_path(&self.segments(node))
    }

    /// The way from the root to a value.
    pub fn segments(&self, node: NodeId) -> Vec<Segment<'_>> {
        let mut segments: Vec<_> = self.way_up(node).filter_map(|at| self.segment(at)).collect();
        segments.reverse();
        segments
    }
}

/// Spells a way through the tree as an RFC 6901 pointer.
pub(crate) fn write_pointer(segments: &[Segment<'_>]) -> String {
    let mut pointer = String::new();
    for segment in segments {
        pointer.push('/');
        match segment {
            Segment::Key(key) => pointer.push_str(&key.replace('~', "~0").replace('/', "~1")),
            Segment::Index(index) => write!(pointer, "{index}").expect("a string takes every write"),
        }
    }
    pointer
}

/// Spells a way through the tree for people. Keys that are no plain words stand in brackets and quotes.
pub(crate) fn write_display_path(segments: &[Segment<'_>]) -> String {
    let mut path = String::new();
    for segment in segments {
        match segment {
            Segment::Key(key) if is_plain(key) => {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(key);
            }
            Segment::Key(key) => write!(path, "[{key:?}]").expect("a string takes every write"),
            Segment::Index(index) => write!(path, "[{index}]").expect("a string takes every write"),
        }
    }
    path
}

fn is_plain(key: &str) -> bool {
    !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '$'))
}

fn decode(token: &str) -> Result<String, ResolveError> {
    let is_odd = |(at, _)| !matches!(token.as_bytes().get(at + 1), Some(b'0' | b'1'));
    match token.match_indices('~').any(is_odd) {
        true => Err(ResolveError::BadPointer),
        false => Ok(token.replace("~1", "/").replace("~0", "~")),
    }
}
