//! `[[assemble]]` tables, word for word.

use std::collections::BTreeSet;

use serde::Deserialize;
use toml::Spanned;

use super::super::raw::{OneOrMany, RawMatch};

/// `[[assemble]]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawAssemble {
    pub(crate) id: Option<Spanned<String>>,
    #[serde(rename = "match")]
    pub(crate) matches: Option<Spanned<RawMatch>>,
    pub(crate) root: Option<Spanned<String>>,
    pub(crate) model: Option<Spanned<String>>,
    pub(crate) agent_mode: Option<Spanned<toml::Value>>,
    pub(crate) prompt: Option<Spanned<RawPrompt>>,
    pub(crate) fallback_prompt: Option<Spanned<String>>,
    pub(crate) agent_prompt: Option<Spanned<String>>,
    pub(crate) tools_hint: Option<Spanned<String>>,
    pub(crate) context: Option<Spanned<OneOrMany>>,
    pub(crate) map: Option<Spanned<RawMap>>,
    pub(crate) plugins: Option<Spanned<Vec<Spanned<RawRequestPlugin>>>>,
    pub(crate) options: Option<Spanned<toml::Table>>,
    pub(crate) drop: Option<Spanned<OneOrMany>>,
    pub(crate) tools: Option<Spanned<RawTools>>,
    pub(crate) continuation: Option<Spanned<String>>,
    pub(crate) downgrade: Option<Spanned<RawDowngrade>>,
    pub(crate) replay_stream: Option<Spanned<bool>>,
    pub(crate) max_context: Option<Spanned<i64>>,
    pub(crate) max_files: Option<Spanned<i64>>,
    pub(crate) max_file: Option<Spanned<i64>>,
    /// Keys whose values could not be read.
    #[serde(skip)]
    pub(crate) broken: BTreeSet<String>,
}

/// `prompt = { type = "file", path = "…" }`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawPrompt {
    #[serde(rename = "type")]
    pub(crate) kind: Option<Spanned<String>>,
    pub(crate) path: Option<Spanned<String>>,
    pub(crate) text: Option<Spanned<String>>,
}

/// `map = { root = "notes", depth = 3, entries = 500 }`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawMap {
    pub(crate) root: Option<Spanned<String>>,
    pub(crate) depth: Option<Spanned<i64>>,
    pub(crate) entries: Option<Spanned<i64>>,
}

/// One of `plugins = [{ id = "web-search", max_results = 5 }]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawRequestPlugin {
    pub(crate) id: Option<Spanned<String>>,
    pub(crate) max_results: Option<Spanned<i64>>,
}

/// `approve = { auto = ["read_*"], rest = "ask" }`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawApprove {
    pub(crate) auto: Option<Spanned<OneOrMany>>,
    pub(crate) rest: Option<Spanned<String>>,
}

/// `tools = { normalise = true, allow = ["read_*"] }`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawTools {
    pub(crate) approve: Option<Spanned<RawApprove>>,
    pub(crate) normalise: Option<Spanned<bool>>,
    pub(crate) allow: Option<Spanned<OneOrMany>>,
}

/// `downgrade = { on = ["images", "tools"], models = ["gpt-4.1-mini"] }`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawDowngrade {
    pub(crate) on: Option<Spanned<OneOrMany>>,
    pub(crate) footnote: Option<Spanned<bool>>,
    pub(crate) models: Option<Spanned<OneOrMany>>,
    #[serde(rename = "else")]
    pub(crate) otherwise: Option<Spanned<String>>,
}
