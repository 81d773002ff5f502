//! `[[assemble]]` tables, word for word.

use leafgate_assemble::Continuation;
use toml::Spanned;

use super::super::keys::Type::{FlagOr, Word};
use super::super::keys::table;
use super::super::raw::{OneOrMany, RawMatch};
use super::nested::PROMPTS;
use crate::assembly::{Otherwise, Rest};

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
