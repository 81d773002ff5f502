//! What was done, for people and for the log.

use sha2::{Digest, Sha256};

/// Bytes of a digest that a step shows.
const SHOWN: usize = 16;

/// One thing that was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// What.
    pub did: Did,
    /// From where: a path, a member, the name of a prompt.
    pub source: String,
    /// How many bytes were put in, or how many things were changed.
    pub amount: usize,
    /// A digest of what was put in; empty where nothing was.
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
