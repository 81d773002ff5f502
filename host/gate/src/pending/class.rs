//! What kind of request it is: a person's turn, an agent's, or the client's own.
//!
//! Told by what clients say in headers, by the API, and by what only a side request asks. Where
//! nothing tells, it is a person's turn: then a mode pauses it, and nothing passes unseen.

use http::HeaderMap;
use leafgate_desk::Class;
use leafgate_tree::{Document, NodeType, Role};

use crate::apis::Api;

/// VS Code's word for why it asks.
const INTERACTION: &str = "x-interaction-type";

/// Codex names its own agents here, and its own work on a conversation.
const CODEX_AGENT: &str = "x-openai-subagent";

/// What Codex does for a conversation itself.
const CODEX_SIDE: [&str; 2] = ["compact", "memory_consolidation"];

/// What a request's header says about who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClassHint(Option<Class>);

impl ClassHint {
    pub(crate) fn of(headers: &HeaderMap) -> ClassHint {
        let value = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let interaction = match value(INTERACTION) {
            Some("conversation-subagent") => Some(Class::Subagent),
            Some("conversation-background") => Some(Class::Side),
            _ => None,
        };
        let codex = value(CODEX_AGENT)
            .filter(|agent| !agent.is_empty())
            .map(|agent| if CODEX_SIDE.contains(&agent) { Class::Side } else { Class::Subagent });
        ClassHint(interaction.or(codex))
    }

    /// The class of a request, as far as it can be told.
    pub(crate) fn class(self, api: Api, document: &Document) -> Class {
        if !api.converses() || Api::conversation_in(document.format()).is_none() {
            return Class::Side;
        }
        match self.0 {
            Some(class) => class,
            None if asks_for_one_token(document) => Class::Side,
            None => Class::Main,
        }
    }
}

/// Bytes of a message that says nothing: `quota`, with its role and its type.
const NOTHING_SAID: usize = 64;

/// Whether next to nothing is said and nothing can be answered but a token: clients ask so whether
/// they may ask at all.
fn asks_for_one_token(document: &Document) -> bool {
    let limit = |name: &str| {
        let node = document.member(document.root(), name)?;
        Some(document.leaf(node)?.text().expose() == "1")
    };
    let mut messages = document
        .sections()
        .iter()
        .filter(|section| section.node_type == NodeType::Message && section.role == Role::User);
    let (Some(message), None) = (messages.next(), messages.next()) else { return false };
    let said: usize = document.lasting_leaves(message.node).map(|leaf| leaf.text().expose().len()).sum();
    let limits = ["max_tokens", "max_completion_tokens", "max_output_tokens"];
    said <= NOTHING_SAID && limits.into_iter().filter_map(limit).any(|one| one)
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue, Method};
    use leafgate_tree::{Format, Limits};

    use super::*;

    fn class(path: &str, format: Format, header: Option<(&'static str, &'static str)>, body: &str) -> Class {
        let fields = header
            .into_iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        let headers: HeaderMap = fields.collect();
        let api = Api::of(&Method::POST, &path.parse().unwrap(), &headers);
        let document = Document::parse(body.to_owned().into(), format, &Limits::default()).unwrap();
        ClassHint::of(&headers).class(api, &document)
    }

    #[test]
    fn clients_say_who_asks() {
        let body = r#"{"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}"#;
        let chat = |header| class("/v1/chat/completions", Format::OpenaiChat, header, body);
        for (header, expected) in [
            (None, Class::Main),
            (Some((INTERACTION, "conversation-panel")), Class::Main),
            (Some((INTERACTION, "conversation-subagent")), Class::Subagent),
            (Some((INTERACTION, "conversation-background")), Class::Side),
            (Some((CODEX_AGENT, "review")), Class::Subagent),
            (Some((CODEX_AGENT, "compact")), Class::Side),
            (Some((CODEX_AGENT, "")), Class::Main),
        ] {
            assert_eq!(chat(header), expected, "{header:?}");
        }
    }

    #[test]
    fn what_is_no_turn_of_a_conversation_is_a_side_request() {
        let messages = r#""messages": [{"role": "user", "content": "quota"}]"#;
        let asks = |limit: &str| format!(r#"{{"model": "m"{limit}, {messages}}}"#);
        let of = |path: &str, limit: &str| class(path, Format::AnthropicMessages, None, &asks(limit));
        assert_eq!(of("/v1/messages", ""), Class::Main);
        assert_eq!(of("/v1/messages", r#", "max_tokens": 1"#), Class::Side);
        assert_eq!(of("/v1/messages", r#", "max_tokens": 10"#), Class::Main);
        assert_eq!(of("/v1/messages/count_tokens", ""), Class::Side);
        let longer = r#"{"max_tokens": 1, "messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}]}"#;
        assert_eq!(class("/v1/messages", Format::AnthropicMessages, None, longer), Class::Main);
        let much = format!(
            r#"{{"max_tokens": 1, "messages": [{{"role": "user", "content": "{}"}}]}}"#,
            "a".repeat(65)
        );
        assert_eq!(class("/v1/messages", Format::AnthropicMessages, None, &much), Class::Main);
        let embeddings = r#"{"model": "m", "input": "text"}"#;
        assert_eq!(class("/v1/embeddings", Format::Generic, None, embeddings), Class::Side);
    }
}
