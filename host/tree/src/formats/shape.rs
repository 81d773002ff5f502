//! Helps formats to tell their own bodies from others, where no route says which format a body is in.

use crate::index::Index;
use crate::kinds::ValueType;
use crate::node::{JsonKind, NodeId};

/// The member of an object with this key, if it is an array.
pub(super) fn array(body: &Index, object: NodeId, key: &str) -> Option<NodeId> {
    let is_object = body.kind(object) == JsonKind::Object;
    body.member(object, key).filter(|&node| is_object && body.kind(node) == JsonKind::Array)
}

/// Whether an object has one of these members.
pub(super) fn has_any(body: &Index, object: NodeId, keys: &[&str]) -> bool {
    body.children(object).any(|member| keys.iter().any(|key| body.has_key(member, key)))
}

/// Whether the first element's role, or for content alone its type, is a number, as prompt-tsx writes both.
pub(super) fn speaks_in_numbers(body: &Index, messages: NodeId) -> bool {
    body.children(messages).next().is_some_and(|element| {
        let said = body.member(element, "role").or_else(|| body.member(element, "type"));
        said.is_some_and(|said| body.scalar(said) == Some(ValueType::Number))
    })
}
