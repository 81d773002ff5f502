//! What was done, for people and for the log.

use std::fmt;

use serde::Serialize;
use serde_with::SerializeDisplay;
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

leafgate_words::words! {
    /// What a step did.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, SerializeDisplay)]
    pub enum Did {
        /// Took the system prompt from here.
        Prompt = "prompt" / "system prompt",
        /// Took the fallback, since the prompt could not be had from here.
        FallbackPrompt = "fallback-prompt" / "fallback prompt, for there is none from",
        /// Put the agent prompt before it.
        AgentPrompt = "agent-prompt" / "agent prompt before it",
        /// Put the hint about tools behind it.
        ToolsHint = "tools-hint" / "hint about tools behind it",
        /// Built the system message; its digest is its id.
        System = "system" / "system message",
        /// Left out system messages of the client.
        LeftOutSystem = "left-out-system" / "left out system messages of the",
        /// Left out calls, or all about tools.
        LeftOutCalls = "left-out-calls" / "left out calls of the",
        /// Left out results that no call wants.
        LeftOutResults = "left-out-results" / "left out results of the",
        /// Made results of calls from what the client stored.
        Results = "results" / "made results of calls from what was",
        /// Left out members for the client's own use.
        Dropped = "dropped" / "left out members of",
        /// Put in a file.
        Context = "context" / "context",
        /// Put in an image.
        Image = "image" / "image",
        /// Put in a map of folders.
        Map = "map" / "map",
        /// Named documents.
        Documents = "documents" / "documents of the",
        /// Left out tools that the profile does not allow.
        LeftOutTools = "left-out-tools" / "left out tools of the",
        /// Changed schemas of tools.
        NormalisedTools = "normalised-tools" / "normalised tools of the",
        /// Set plugins.
        Plugins = "plugins" / "plugins of the",
        /// Set an option.
        Option = "option" / "option",
        /// Set the model.
        Model = "model" / "model of the",
    }
    /// Its name, in one word.
    pub fn name = 0;
    /// What it did, in words that stand before a source.
    pub fn words = 1;
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
    /// Whether something that the client sent does not leave.
    pub fn is_loss(self) -> bool {
        use Did::{Dropped, LeftOutCalls, LeftOutResults, LeftOutSystem, LeftOutTools};
        matches!(self, LeftOutSystem | LeftOutCalls | LeftOutResults | Dropped | LeftOutTools)
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
