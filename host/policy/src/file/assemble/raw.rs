//! `[[assemble]]` tables, word for word.

use leafgate_assemble::Continuation;
use leafgate_diagnostic::keys::Type::{FlagOr, Word};
use leafgate_diagnostic::{OneOrMany, table};
use toml::Spanned;

use super::super::raw::RawMatch;
use crate::assembly::{Otherwise, Rest};

/// What a prompt may be.
pub(super) const PROMPTS: &[&str] = &["general", "concise", "agent", "file", "literal"];

table! {
    /// `[[assemble]]`.
    RawAssemble {
        id: String,
        matches as "match": RawMatch,
        root: String,
        model: String,
        agent_mode: toml::Value = FlagOr("client"),
        prompt: RawPrompt,
        fallback_prompt: String,
        agent_prompt: String,
        tools_hint: String,
        context: OneOrMany,
        map: RawMap,
        plugins: Vec<Spanned<RawRequestPlugin>>,
        options: toml::Table,
        drop: OneOrMany,
        tools: RawTools,
        continuation: String = Word(Continuation::NAMES),
        downgrade: RawDowngrade,
        replay_stream: bool,
        max_context: i64,
        max_files: i64,
        max_file: i64,
    }
}

table! {
    /// `prompt = { type = "file", path = "…" }`.
    RawPrompt {
        [main] kind as "type": String = Word(PROMPTS),
        path: String,
        text: String,
    }
}

table! {
    /// `map = { root = "notes", depth = 3, entries = 500 }`.
    RawMap {
        root: String,
        depth: i64,
        entries: i64,
    }
}

table! {
    /// One of `plugins = [{ id = "web-search", max_results = 5 }]`.
    RawRequestPlugin {
        id: String,
        max_results: i64,
    }
}

table! {
    /// `approve = { auto = ["read_*"], rest = "ask" }`.
    RawApprove {
        auto: OneOrMany,
        rest: String = Word(Rest::NAMES),
    }
}

table! {
    /// `tools = { normalise = true, allow = ["read_*"] }`.
    RawTools {
        approve: RawApprove,
        normalise: bool,
        allow: OneOrMany,
    }
}

table! {
    /// `downgrade = { on = ["images", "tools"], models = ["gpt-4.1-mini"] }`.
    RawDowngrade {
        on: OneOrMany,
        footnote: bool,
        models: OneOrMany,
        otherwise as "else": String = Word(Otherwise::NAMES),
    }
}
