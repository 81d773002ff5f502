//! Which program sent a request, told from its header.
//!
//! Rules (`match.agent`, `request.agent`) and people's lists use the names of [`leafgate_policy::AGENTS`]. A name is always one of
//! these and never a text of the header: what a header says is shown to nobody.

use http::header::{HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use leafgate_policy::OTHER_AGENT;

/// Codex names itself here too, and keeps the field where an embedding program changes its user agent.
const ORIGINATOR: HeaderName = HeaderName::from_static("originator");

/// How client programs begin their `user-agent`, and the name of each. The first match counts, letter case does not.
const USER_AGENTS: &[(&str, &str)] = &[
    ("claude-cli/", "claude-code"),
    ("claude-code/", "claude-code"),
    ("codex_", "codex"),
    ("codex-", "codex"),
    ("codex/", "codex"),
    ("GitHubCopilotChat/", "copilot-chat"),
    ("copilot/", "copilot-cli"),
    ("GeminiCLI", "gemini-cli"),
    ("google-genai-sdk/", "google-genai"),
    ("OpenAI/Python", "openai-python"),
    ("AsyncOpenAI/Python", "openai-python"),
    ("OpenAI/JS", "openai-node"),
    ("Anthropic/Python", "anthropic-python"),
    ("AsyncAnthropic/Python", "anthropic-python"),
    ("Anthropic/JS", "anthropic-node"),
    ("curl/", "curl"),
];

/// Returns the name of the program that sent a request, [`OTHER_AGENT`] for one that is not known.
pub(crate) fn agent(headers: &HeaderMap) -> &'static str {
    let program = value(headers, &USER_AGENT);
    let known = USER_AGENTS.iter().find(|(start, _)| starts_with(program, start));
    match known {
        Some((_, name)) => name,
        None if starts_with(value(headers, &ORIGINATOR), "codex") => "codex",
        None => OTHER_AGENT,
    }
}

fn value<'h>(headers: &'h HeaderMap, name: &HeaderName) -> &'h [u8] {
    headers.get(name).map(HeaderValue::as_bytes).unwrap_or_default()
}

fn starts_with(text: &[u8], start: &str) -> bool {
    text.get(..start.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(start.as_bytes()))
}

#[cfg(test)]
mod tests {
    use leafgate_policy::AGENTS;

    use super::*;

    fn named(fields: &[(HeaderName, &'static str)]) -> &'static str {
        let fields = fields.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value)));
        agent(&fields.collect())
    }

    #[test]
    fn a_client_has_one_of_the_known_names() {
        for (program, name) in [
            ("claude-cli/2.0.14 (external, cli)", "claude-code"),
            ("codex_cli_rs/0.46.0 (Debian 12.0.0; x86_64) xterm", "codex"),
            ("codex_exec/0.46.0", "codex"),
            ("GitHubCopilotChat/0.30.1", "copilot-chat"),
            ("copilot/1.0.102 (linux v24.20.0) term/unknown", "copilot-cli"),
            ("google-genai-sdk/1.50.0 gl-python/3.12", "google-genai"),
            ("OpenAI/Python 2.8.0", "openai-python"),
            ("AsyncOpenAI/Python 2.8.0", "openai-python"),
            ("OpenAI/JS 6.1.0", "openai-node"),
            ("Anthropic/Python 0.74.0", "anthropic-python"),
            ("Anthropic/JS 0.70.0", "anthropic-node"),
            ("curl/8.5.0", "curl"),
            ("my-own-tool/1.0 for jane", OTHER_AGENT),
            ("", OTHER_AGENT),
        ] {
            assert_eq!(named(&[(USER_AGENT, program)]), name, "{program}");
        }
        assert_eq!(named(&[]), OTHER_AGENT);
        assert_eq!(named(&[(USER_AGENT, "editor/1"), (ORIGINATOR, "codex_vscode")]), "codex");
    }

    #[test]
    fn rules_know_every_name_that_a_client_can_have() {
        let names = USER_AGENTS.iter().map(|(_, name)| *name).chain([OTHER_AGENT]);
        for name in names.clone() {
            assert!(AGENTS.contains(&name), "{name}");
        }
        for known in AGENTS {
            assert!(names.clone().any(|name| name == *known), "no client is called {known}");
        }
    }
}
