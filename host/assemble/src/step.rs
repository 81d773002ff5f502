//! What was done, for people and for the log.

use std::fmt;

use serde::{Serialize, Serializer};
use sha2::{Digest, Sha256};

/// Bytes of a digest that a step shows.
const SHOWN: usize = 16;

/// One thing that was done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Step {
    /// What.
    pub did: Did,
    /// From where: a path, a member, the name of a prompt.
    pub source: String,
    /// How many bytes were put in, or how many things were changed.
    pub amount: usize,
    /// A digest of what was put in; empty where nothing was.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub digest: String,
}

/// What a step did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Did {
    /// Took the system prompt from here.
    Prompt,
    /// Took the fallback, since the prompt could not be had from here.
    FallbackPrompt,
    /// Put the agent prompt before it.
    AgentPrompt,
    /// Put the hint about tools behind it.
    ToolsHint,
    /// Built the system message; its digest is its id.
    System,
    /// Left out system messages of the client.
    LeftOutSystem,
    /// Left out calls, or all about tools.
    LeftOutCalls,
    /// Left out results that no call wants.
    LeftOutResults,
    /// Made results of calls from what the client stored.
    Results,
    /// Left out members for the client's own use.
    Dropped,
    /// Put in a file.
    Context,
    /// Put in an image.
    Image,
    /// Put in a map of folders.
    Map,
    /// Named documents.
    Documents,
    /// Left out tools that the profile does not allow.
    LeftOutTools,
    /// Changed schemas of tools.
    NormalisedTools,
    /// Set plugins.
    Plugins,
    /// Set an option.
    Option,
    /// Set the model.
    Model,
}

impl Step {
    /// A step that put something in.
    pub(crate) fn put(did: Did, source: impl Into<String>, what: &[u8]) -> Step {
        let digest = base16ct::lower::encode_string(&Sha256::digest(what)[..SHOWN]);
        Step { did, source: source.into(), amount: what.len(), digest }
    }

    /// A step that changed or left out so many things.
    pub(crate) fn count(did: Did, source: impl Into<String>, amount: usize) -> Option<Step> {
        (amount > 0).then(|| Step { did, source: source.into(), amount, digest: String::new() })
    }
}

impl Did {
    /// Its name, in one word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Did::Prompt => "prompt",
            Did::FallbackPrompt => "fallback-prompt",
            Did::AgentPrompt => "agent-prompt",
            Did::ToolsHint => "tools-hint",
            Did::System => "system",
            Did::LeftOutSystem => "left-out-system",
            Did::LeftOutCalls => "left-out-calls",
            Did::LeftOutResults => "left-out-results",
            Did::Results => "results",
            Did::Dropped => "dropped",
            Did::Context => "context",
            Did::Image => "image",
            Did::Map => "map",
            Did::Documents => "documents",
            Did::LeftOutTools => "left-out-tools",
            Did::NormalisedTools => "normalised-tools",
            Did::Plugins => "plugins",
            Did::Option => "option",
            Did::Model => "model",
        }
    }

    /// Whether something that the client sent does not leave.
    #[must_use]
    pub fn is_loss(self) -> bool {
        use Did::{Dropped, LeftOutCalls, LeftOutResults, LeftOutSystem, LeftOutTools};
        matches!(self, LeftOutSystem | LeftOutCalls | LeftOutResults | Dropped | LeftOutTools)
    }

    /// What it did, in words that stand before a source.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Did::Prompt => "system prompt",
            Did::FallbackPrompt => "fallback prompt, for there is none from",
            Did::AgentPrompt => "agent prompt before it",
            Did::ToolsHint => "hint about tools behind it",
            Did::System => "system message",
            Did::LeftOutSystem => "left out system messages of the",
            Did::LeftOutCalls => "left out calls of the",
            Did::LeftOutResults => "left out results of the",
            Did::Results => "made results of calls from what was",
            Did::Dropped => "left out members of",
            Did::Context => "context",
            Did::Image => "image",
            Did::Map => "map",
            Did::Documents => "documents of the",
            Did::LeftOutTools => "left out tools of the",
            Did::NormalisedTools => "normalised tools of the",
            Did::Plugins => "plugins of the",
            Did::Option => "option",
            Did::Model => "model of the",
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.did.words())?;
        if !self.source.is_empty() {
            write!(f, " {}", self.source)?;
        }
        match self.digest.is_empty() {
            true => write!(f, " ({})", self.amount),
            false => write!(f, " ({} bytes, {})", self.amount, &self.digest[..12]),
        }
    }
}

impl Serialize for Did {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
