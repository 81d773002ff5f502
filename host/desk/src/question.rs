//! What tells that a client asks the same again, in whatever manner: the model and what is said to it.
//!
//! A client that is refused may ask without a stream, with other options or on another connection.
//! None of that is part of a [`Question`].

use leafgate_tree::{Document, NodeType};

use crate::digest::PartsDigest;

/// SHA-256 over the model and the messages of a request as received, marks for caches aside.
#[derive(Clone, Copy, PartialEq, Eq, Hash, derive_more::Debug)]
#[debug("Question(..)")]
pub struct Question([u8; 32]);

impl Question {
    /// Returns the question of a request, whose path may name the model; a request without messages asks
    /// by all its bytes.
    pub fn of(document: &Document, by_path: Option<&str>) -> Self {
        let mut parts = PartsDigest::default();
        parts.add(by_path.map(Into::into).or_else(|| document.model()).unwrap_or_default().as_bytes());
        let mut messages =
            document.sections().iter().filter(|section| section.node_type == NodeType::Message).peekable();
        if messages.peek().is_none() {
            parts.add(document.source());
        }
        for message in messages {
            parts.add(message.role.name());
            document.lasting_leaves(message.node).for_each(|leaf| parts.add(leaf.text().expose()));
        }
        Question(parts.finish())
    }
}

#[cfg(test)]
mod tests {
    use leafgate_tree::{Format, Limits};

    use super::*;

    fn of(body: &str) -> Question {
        let format = Format::AnthropicMessages;
        Question::of(&Document::parse(body.to_owned().into(), format, &Limits::default()).unwrap(), None)
    }

    #[test]
    fn the_manner_of_asking_is_no_part_of_it_and_everything_said_is() {
        let one = of(r#"{"model": "m", "stream": true, "messages": [{"role": "user", "content": "Hi"}]}"#);
        for same in [
            r#"{"model": "m", "messages": [{"role": "user", "content": "Hi"}]}"#,
            r#"{"messages":[{"role":"user","content":"Hi"}],"model":"m","max_tokens":7,"stream":false}"#,
        ] {
            assert_eq!(of(same), one, "{same}");
        }
        for other in [
            r#"{"model": "n", "messages": [{"role": "user", "content": "Hi"}]}"#,
            r#"{"model": "m", "messages": [{"role": "user", "content": "Ho"}]}"#,
            r#"{"model": "m", "messages": [{"role": "assistant", "content": "Hi"}]}"#,
            r#"{"model": "m", "messages": [{"role": "user", "content": "Hi"}, {"role": "user", "content": ""}]}"#,
            r#"{"model": "m", "system": "s", "messages": [{"role": "user", "content": "Hi"}]}"#,
            r#"{"model": "mH", "messages": [{"role": "user", "content": "i"}]}"#,
            r#"{"model": "m"}"#,
        ] {
            assert_ne!(of(other), one, "{other}");
        }
        assert_ne!(of(r#"{"model": "m", "x": 1}"#), of(r#"{"model": "m", "x": 2}"#));
    }

    #[test]
    fn marks_for_caches_wander_and_change_nothing() {
        let with = |mark: &str| {
            of(&format!(
                r#"{{"model": "m", "messages": [{{"role": "user", "content": [{{"type": "text", "text": "Hi"{mark}}}]}}]}}"#
            ))
        };
        assert_eq!(with(""), with(r#", "cache_control": {"type": "ephemeral"}"#));
    }
}
