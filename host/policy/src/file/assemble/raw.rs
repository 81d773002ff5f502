//! `[[assemble]]` tables, word for word.

use leafgate_assemble::Continuation;
use leafgate_diagnostic::keys::Type::{self, FlagOr, Number, Word};
use leafgate_diagnostic::number::NumberRange;
use leafgate_diagnostic::{OneOrMany, table};
use toml::Spanned;

use super::super::raw::RawMatch;
use crate::assembly::{Otherwise, Rest};
use crate::rule::words;

words! {
    /// What a prompt is.
    PromptName {
        General = "general",
        Concise = "concise",
        Agent = "agent",
        File = "file",
        Literal = "literal",
    }
}

/// How a text is written that says something.
const TEXT: &str = "write it, or leave it out";

/// Most bytes that a profile may ask for: a request of more is refused anyway.
const MOST_BYTES: u64 = 32 << 20;

table! {
    /// `[[assemble]]`.
    RawAssemble, "a profile" {
        [must] id: String; "base URLs and reports name it: `id = \"vault\"`",
        matches as "match": RawMatch,
        root: String,
        [some] model: String; TEXT,
        agent_mode: toml::Value = FlagOr("client");
            "write true, false, or \"client\" for what `leafgate.agentMode` of a request says",
        prompt: RawPrompt,
        [some] fallback_prompt: String; TEXT,
        agent_prompt: String,
        tools_hint: String,
        context: OneOrMany,
        map: RawMap,
        plugins: Vec<Spanned<RawRequestPlugin>>,
        options: serde_json::Map<String, serde_json::Value> = Type::Table,
        drop: OneOrMany,
        tools: RawTools,
        continuation: Continuation = Word(Continuation::NAMES),
        downgrade: RawDowngrade,
        replay_stream: bool,
        max_context: usize = Number(NumberRange::between(1, MOST_BYTES)),
        max_files: usize = Number(NumberRange::between(1, 10_000)),
        max_file: u64 = Number(NumberRange::between(1, MOST_BYTES)),
    }
}

table! {
    /// `prompt = { type = "file", path = "…" }`.
    RawPrompt, "a prompt" {
        [tag] kind as "type": PromptName,
        [must] path: String => ["file"]; "`path = \"…\"`",
        [said] text: String => ["literal"]; "`text = \"…\"`",
    }
}

table! {
    /// `map = { root = "notes", depth = 3, entries = 500 }`.
    RawMap, "`map`" {
        root: String,
        // Deeper maps and longer ones say nothing that a model could use.
        depth: usize = Number(NumberRange::between(1, 16)),
        entries: usize = Number(NumberRange::between(1, 10_000)),
    }
}

table! {
    /// One of `plugins = [{ id = "web-search", max_results = 5 }]`.
    RawRequestPlugin, "a plugin" {
        [said] id: String; "`id = \"web-search\"`",
        max_results: u64 = Number(NumberRange::between(1, 1000)),
    }
}

table! {
    /// `approve = { auto = ["read_*"], rest = "ask" }`.
    RawApprove, "`approve`" {
        auto: OneOrMany,
        rest: Rest,
    }
}

table! {
    /// `tools = { normalise = true, allow = ["read_*"] }`.
    RawTools, "`tools`" {
        approve: RawApprove,
        normalise: bool,
        allow: OneOrMany,
    }
}

table! {
    /// `downgrade = { on = ["images", "tools"], models = ["gpt-4.1-mini"] }`.
    RawDowngrade, "`downgrade`" {
        on: OneOrMany = Type::OneOrMany(&Word(&["images", "tools"])),
        footnote: bool,
        models: OneOrMany,
        otherwise as "else": Otherwise,
    }
}
