//! The APIs of models: one enum, one name each, and a module of words for each.
//!
//! A word stands here where several crates read it: what spells requests, what reads answers, what speaks HTTP. What one crate
//! alone knows of an API stands in that crate, in a file of the same name: `formats` of the tree, `apis` of answers, `wire` of
//! profiles, of teams and of chat exports, `apis` of the gate. Each asks with a match over all of [`Api`], so that the compiler
//! asks for a further API wherever something is to be known of it.
//!
//! What it must not do: read or write anything.

pub mod gemini;
pub mod responses;

/// The member with which a request picks from its profile. It never leaves.
pub const PICKED: &str = "leafgate";

leafgate_words::words! {
    /// An API of models.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Api {
        /// [OpenAI chat completions](https://platform.openai.com/docs/api-reference/chat), and the many
        /// that speak it.
        Chat = "openai-chat" / "chat",
        /// [OpenAI Responses](https://platform.openai.com/docs/api-reference/responses).
        Responses = "openai-responses" / "responses",
        /// [Anthropic Messages](https://docs.anthropic.com/en/api/messages).
        Messages = "anthropic-messages" / "messages",
        /// [Gemini](https://ai.google.dev/api/generate-content).
        Gemini = "gemini" / "gemini",
        /// Gemini Code Assist, which Gemini CLI asks with a login of Google: Gemini with a member around it.
        CodeAssist = "code-assist" / "code-assist",
    }
    /// Returns its name: in rule files, rule tests, the plugin contract and the folders of recordings.
    pub fn name = 0;
    /// Returns the name of the endpoint that its conversations go to: in the log, in traces and in the table of hostile answers.
    pub fn endpoint = 1;
}
