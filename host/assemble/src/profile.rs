//! What a request is made of.

use serde_json::{Map, Value};

/// What a request is made of. Paths are below the root of the profile's [`crate::Files`].
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// The model that is asked; `None` for the one in the request.
    pub model: Option<String>,
    /// Whether the model works as an agent.
    pub agent_mode: AgentMode,
    /// The system prompt; `None` for the client's own.
    pub prompt: Option<ProfilePrompt>,
    /// The system prompt where the other one cannot be had.
    pub fallback_prompt: String,
    /// A file with what stands before the prompt in agent mode, unless the prompt is an agent's.
    pub agent_prompt: Option<String>,
    /// A file with what stands behind the prompt where tools are sent.
    pub tools_hint: Option<String>,
    /// Patterns of files, and `doc:` with names of documents.
    pub context: Vec<String>,
    /// A map of folders.
    pub map: Option<MapOf>,
    /// Plugins of the provider, in order.
    pub plugins: Vec<ProfilePlugin>,
    /// Members that are set.
    pub options: Map<String, Value>,
    /// Members of messages and calls that are for the client's own use.
    pub drop: Vec<String>,
    /// What becomes of tools.
    pub tools: ToolsOf,
    /// Whether context is sent again while tools run.
    pub continuation: Continuation,
    /// Bytes of all context together, images as they are encoded.
    pub max_context: usize,
    /// Files of the context.
    pub max_files: usize,
}

/// Whether the model works as an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentMode {
    /// Always.
    On,
    /// Never.
    Off,
    /// As the request's `leafgate.agentMode` says; without it, never.
    Client,
}

/// A system prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProfilePrompt {
    /// A short one of ours for conversations.
    General,
    /// A short one of ours for brief answers.
    Concise,
    /// The agent prompt alone.
    Agent,
    /// What a file says.
    File(String),
    /// These words.
    Literal(String),
}

/// A map of folders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapOf {
    /// The folder; empty for the root.
    pub root: String,
    /// How deep.
    pub depth: usize,
    /// How many entries.
    pub entries: usize,
}

/// A plugin of the provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfilePlugin {
    /// Its id.
    pub id: String,
    /// Its results at most; a request may ask for fewer.
    pub max_results: Option<u64>,
}

/// What becomes of tools.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolsOf {
    /// Marks all properties of schemas as required and leaves `strict` out.
    pub normalise: bool,
    /// Patterns of names that are sent; `None` for all.
    pub allow: Option<Vec<String>>,
}

leafgate_words::words! {
    /// Whether context is sent again while tools run.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Continuation {
        /// It is left out until the user says something again.
        SkipContext = "skip-context",
        /// It stays where it was, which is kind to caches of prompts.
        Keep = "keep",
    }
    /// Returns its word in rule files.
    pub fn name = 0;
}

/// A profile that would undo what it is made of.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProfileError {
    /// An option that the profile builds itself.
    #[error("`options.{0}` cannot be set: the profile builds this member itself")]
    Built(String),
    /// A member of messages that APIs want.
    #[error("`{0}` cannot be left out: a message is none without it")]
    Needed(String),
}

/// Members that the profile builds.
const BUILT: [&str; 9] =
    ["messages", "input", "system", "instructions", "tools", "tool_choice", "model", "plugins", "leafgate"];

/// Members of messages without which APIs refuse them, or read something else.
const NEEDED: [&str; 5] = ["role", "content", "parts", "tool_calls", "tool_call_id"];

impl Default for Profile {
    fn default() -> Self {
        Profile {
            model: None,
            agent_mode: AgentMode::Client,
            prompt: None,
            fallback_prompt: "You are a helpful assistant.".to_owned(),
            agent_prompt: None,
            tools_hint: None,
            context: Vec::new(),
            map: None,
            plugins: Vec::new(),
            options: Map::new(),
            drop: ["message_id", "messageParts", "state", "result"].map(str::to_owned).to_vec(),
            tools: ToolsOf::default(),
            continuation: Continuation::SkipContext,
            max_context: 4 * 1024 * 1024,
            max_files: 100,
        }
    }
}

impl Profile {
    /// Checks what no type can say.
    ///
    /// # Errors
    /// For an option that the profile builds itself, and for a member to leave out that APIs want.
    pub fn check(&self) -> Result<(), ProfileError> {
        if let Some(key) = self.options.keys().find(|key| BUILT.contains(&key.as_str())) {
            return Err(ProfileError::Built(key.clone()));
        }
        let needed = self.drop.iter().find(|key| NEEDED.contains(&key.as_str()));
        needed.map_or(Ok(()), |key| Err(ProfileError::Needed(key.clone())))
    }
}
