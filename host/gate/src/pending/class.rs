//! What kind of request it is: a person's turn, an agent's, or the client's own.
//!
//! Told by what clients say in headers, by the API, and by what only a side request asks. Where
//! nothing tells, it is a person's turn: then a mode pauses it, and nothing passes unseen.

use std::sync::Arc;

use http::HeaderMap;
use leafgate_desk::TurnClass;
use leafgate_tree::{Document, NodeType, Role};

use crate::agent;
use crate::apis::Api;
use crate::session::Intent;

/// Who sends what VS Code asks: a person, or a program of its own.
const INITIATOR: &str = "x-initiator";

/// Codex names its own agents here, and its own work on a conversation.
const CODEX_AGENT: &str = "x-openai-subagent";

/// What Codex does for a conversation itself.
const CODEX_SIDE: [&str; 2] = ["compact", "memory_consolidation"];

/// Codex names here the thread that started an agent's.
const CODEX_PARENT: &str = "x-codex-parent-thread-id";

/// Claude Code names its agents here, and its sessions in each of its requests.
const CLAUDE_AGENT: &str = "x-claude-code-agent-id";
const CLAUDE_SESSION: &str = "x-claude-code-session-id";

/// The name of a client that asks its turns as streams.
const GEMINI_CLI: &str = "gemini-cli";

/// What a request's header says about who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClassHint {
    class: Option<TurnClass>,
    /// What the client calls the agent that asks.
    pub(crate) agent: Option<Arc<str>>,
    /// Whether Claude Code says that the request is one of its own.
    of_claude: bool,
    of_gemini: bool,
}

impl ClassHint {
    pub(crate) fn of(headers: &HeaderMap) -> ClassHint {
        let value = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let by_person = value(INITIATOR) != Some("agent");
        let intent = Intent::of(headers).map(|intent| intent.class(by_person));
        let codex = value(CODEX_AGENT)
            .filter(|agent| !agent.is_empty())
            .map(|agent| if CODEX_SIDE.contains(&agent) { TurnClass::Side } else { TurnClass::Subagent });
        let names = |name: &str| value(name).is_some_and(|value| !value.is_empty());
        let names_agent =
            [CLAUDE_AGENT, CODEX_AGENT].into_iter().find_map(value).filter(|name| is_word(name));
        let agent = (names(CODEX_PARENT) || names(CLAUDE_AGENT)).then_some(TurnClass::Subagent);
        ClassHint {
            class: intent.flatten().or(codex).or(agent),
            agent: names_agent.map(Arc::from),
            of_claude: names(CLAUDE_SESSION),
            of_gemini: agent::agent(headers) == GEMINI_CLI,
        }
    }

    /// The class of a request, as far as it can be told.
    pub(crate) fn class(&self, api: Api, document: &Document) -> TurnClass {
        if !api.converses() || Api::conversation_in(document.format()).is_none() {
            return TurnClass::Side;
        }
        match self.class {
            Some(class) => class,
            None if asks_for_one_token(document) => TurnClass::Side,
            None if self.of_claude && asks_for_a_title(document) => TurnClass::Side,
            // Its turns are streams; at once it asks which model a turn should have, or who speaks next.
            None if self.of_gemini && api.streams_by_path == Some(false) => TurnClass::Side,
            None => TurnClass::Main,
        }
    }
}

/// Whether a header's value can be shown as a name: nothing else stands in it.
fn is_word(value: &str) -> bool {
    (1..=64).contains(&value.len())
        && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:/".contains(&byte))
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

/// Members of the answers that name a conversation.
const TITLES: [&str; 2] = ["title", "isNewTopic"];

/// Whether the answer is to be JSON of a title and nothing else, and no tool is offered: so Claude
/// Code names a conversation, in a request beside its first turn ([structured
/// outputs](https://platform.claude.com/docs/en/build-with-claude/structured-outputs)).
fn asks_for_a_title(document: &Document) -> bool {
    let path = ["output_config", "format", "schema", "properties"];
    let properties = path.iter().try_fold(document.root(), |node, name| document.member(node, name));
    let Some(properties) = properties else { return false };
    let titles = TITLES.iter().filter(|name| document.member(properties, name).is_some()).count();
    let offers = document
        .member(document.root(), "tools")
        .is_some_and(|tools| document.children(tools).next().is_some());
    !offers && titles > 0 && document.children(properties).count() == titles
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue, Method};
    use leafgate_tree::{Format, Limits};

    use super::*;

    const INTERACTION: &str = "x-interaction-type";

    fn class(
        path: &str,
        format: Format,
        header: impl IntoIterator<Item = (&'static str, &'static str)>,
        body: &str,
    ) -> TurnClass {
        let fields = header
            .into_iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        let headers: HeaderMap = fields.collect();
        let api =
            Api::of(crate::target::UpstreamKind::default(), &Method::POST, &path.parse().unwrap(), &headers);
        let document = Document::parse(body.to_owned().into(), format, &Limits::default()).unwrap();
        ClassHint::of(&headers).class(api, &document)
    }

    // S0-93
    #[test]
    fn clients_say_who_asks() {
        let body = r#"{"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}"#;
        let chat = |header| class("/v1/chat/completions", Format::OpenaiChat, header, body);
        for (header, expected) in [
            (None, TurnClass::Main),
            (Some((INTERACTION, "conversation-panel")), TurnClass::Main),
            (Some((INTERACTION, "conversation-subagent")), TurnClass::Subagent),
            (Some((INTERACTION, "conversation-background")), TurnClass::Side),
            (Some((INTERACTION, "conversation-compaction")), TurnClass::Side),
            (Some((INTERACTION, "conversation-user")), TurnClass::Main),
            (Some((INTERACTION, "conversation-sampling")), TurnClass::Subagent),
            (Some((CODEX_AGENT, "review")), TurnClass::Subagent),
            (Some((CODEX_AGENT, "compact")), TurnClass::Side),
            (Some((CODEX_AGENT, "")), TurnClass::Main),
            (Some((CODEX_PARENT, "01a203b3-de2e")), TurnClass::Subagent),
            (Some((CLAUDE_AGENT, "a9daf662f1c006d17")), TurnClass::Subagent),
            (Some((CLAUDE_SESSION, "5cb61083-e40c")), TurnClass::Main),
        ] {
            assert_eq!(chat(header), expected, "{header:?}");
        }
    }

    // S0-93
    #[test]
    fn what_vs_code_does_by_itself_is_a_side_request_and_what_its_extensions_ask_is_not() {
        let body = r#"{"model": "m", "messages": [{"role": "user", "content": "Hi"}]}"#;
        for (intent, initiator, expected) in [
            ("conversation-other", "agent", TurnClass::Side),
            ("conversation-other", "user", TurnClass::Main),
            ("conversation-edits", "agent", TurnClass::Side),
            ("conversation-edits", "user", TurnClass::Main),
            ("conversation-agent", "agent", TurnClass::Main),
            ("conversation-agent", "user", TurnClass::Main),
        ] {
            let headers = [("openai-intent", intent), (INITIATOR, initiator)];
            let class = class("/v1/chat/completions", Format::OpenaiChat, headers, body);
            assert_eq!(class, expected, "{intent} {initiator}");
        }
    }

    #[test]
    fn what_gemini_cli_asks_at_once_is_a_side_request() {
        let body =
            r#"{"model": "m", "request": {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}}"#;
        let of = |path: &str, agent: &'static str| class(path, Format::Gemini, [("user-agent", agent)], body);
        let cli = "GeminiCLI-tui/0.61.0/gemini-2.5-pro (linux; x64; terminal)";
        assert_eq!(of("/v1internal:generateContent", cli), TurnClass::Side);
        assert_eq!(of("/v1internal:streamGenerateContent?alt=sse", cli), TurnClass::Main);
        assert_eq!(of("/v1internal:generateContent", "another/1"), TurnClass::Main);
        assert_eq!(of("/v1beta/models/m:generateContent", cli), TurnClass::Side);
    }

    #[test]
    fn what_is_no_turn_of_a_conversation_is_a_side_request() {
        let messages = r#""messages": [{"role": "user", "content": "quota"}]"#;
        let asks = |limit: &str| format!(r#"{{"model": "m"{limit}, {messages}}}"#);
        let of = |path: &str, limit: &str| class(path, Format::AnthropicMessages, None, &asks(limit));
        assert_eq!(of("/v1/messages", ""), TurnClass::Main);
        assert_eq!(of("/v1/messages", r#", "max_tokens": 1"#), TurnClass::Side);
        assert_eq!(of("/v1/messages", r#", "max_tokens": 10"#), TurnClass::Main);
        assert_eq!(of("/v1/messages/count_tokens", ""), TurnClass::Side);
        let longer = r#"{"max_tokens": 1, "messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}]}"#;
        assert_eq!(class("/v1/messages", Format::AnthropicMessages, None, longer), TurnClass::Main);
        let much = format!(
            r#"{{"max_tokens": 1, "messages": [{{"role": "user", "content": "{}"}}]}}"#,
            "a".repeat(65)
        );
        assert_eq!(class("/v1/messages", Format::AnthropicMessages, None, &much), TurnClass::Main);
        let embeddings = r#"{"model": "m", "input": "text"}"#;
        assert_eq!(class("/v1/embeddings", Format::Generic, None, embeddings), TurnClass::Side);
    }

    #[test]
    fn the_title_that_claude_code_asks_for_is_a_side_request() {
        let asks = |properties: &str, tools: &str| {
            format!(
                r#"{{"messages": [{{"role": "user", "content": "Name it"}}], {tools}
                "output_config": {{"format": {{"type": "json_schema", "schema": {{"properties": {properties}}}}}}}}}"#
            )
        };
        let title = r#"{"title": {"type": "string"}}"#;
        let both = r#"{"isNewTopic": {"type": "boolean"}, "title": {"type": "string"}}"#;
        let more = r#"{"title": {"type": "string"}, "body": {"type": "string"}}"#;
        let session = Some((CLAUDE_SESSION, "5cb61083-e40c"));
        for (header, body, expected) in [
            (session, asks(title, ""), TurnClass::Side),
            (session, asks(both, r#""tools": [],"#), TurnClass::Side),
            (session, asks(more, ""), TurnClass::Main),
            (session, asks("{}", ""), TurnClass::Main),
            (session, asks(title, r#""tools": [{"name": "read"}],"#), TurnClass::Main),
            (None, asks(title, ""), TurnClass::Main),
        ] {
            let class = class("/v1/messages", Format::AnthropicMessages, header, &body);
            assert_eq!(class, expected, "{header:?} {body}");
        }
    }
}
