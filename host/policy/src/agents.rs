//! The client programs that rules can name in `match.agent` and `request.agent`.

/// Names of the client programs that a gate tells apart, and [`OTHER_AGENT`]. A name never changes
/// its meaning; new ones may be added.
pub const AGENTS: &[&str] = &[
    "claude-code",
    "codex",
    "copilot-chat",
    "copilot-cli",
    "gemini-cli",
    "google-genai",
    "openai-python",
    "openai-node",
    "anthropic-python",
    "anthropic-node",
    "curl",
    OTHER_AGENT,
];

/// Those of them that name their conversations. Those of the others are known by how they begin.
pub(crate) const NAME_CONVERSATIONS: &[&str] = &["claude-code", "codex", "copilot-cli", "gemini-cli"];

/// The name of every program that has no other name.
pub const OTHER_AGENT: &str = "other";
