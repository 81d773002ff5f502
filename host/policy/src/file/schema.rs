//! The JSON Schema of rule files, for editors: which keys a table has, of what type they are, which words
//! they take. Words come from the code that reads them, and what a key means from the reference; a test
//! holds the keys beside those that are read.

use leafgate_tree::{Format, LeafKind, Role, SectionKind};
use serde_json::{Map, Value, json};

use super::assemble::PROMPTS;
use super::compile::{ACTIONS, PROTECTED_FROM};
use super::raw::REQUIRE_SIGNED;
use crate::rule::{
    Mode, On, OnDrift, OnError, OnOdd, OnTimeout, OnUnredactable, Published, Restore, Sees, Subagents,
    Urgency, With,
};

/// The reference of rule files, as people read it.
pub const REFERENCE: &str = include_str!("../../RULES.md");

/// What a key takes.
enum Type {
    Text,
    /// A text or a list of texts.
    Texts,
    Number,
    Flag,
    Word(&'static [&'static str]),
    /// The same, of words that are put together.
    WordOf(fn() -> Vec<&'static str>),
    /// A word or a list of words.
    Words(fn() -> Vec<&'static str>),
    /// Any names, each with a text or texts.
    Named,
    /// Any table.
    Table,
    /// A day, or `never`.
    Until,
    /// `true`, `false` or a word.
    FlagOr(&'static str),
    Of(&'static [Key]),
    /// A list of tables.
    ListOf(&'static [Key]),
}

use Type::{Flag, FlagOr, ListOf, Named, Number, Of, Table, Text, Texts, Until, Word, WordOf, Words};

type Key = (&'static str, Type);

fn names<'t, T: Copy + 't>(
    all: impl IntoIterator<Item = &'t T>,
    name: impl Fn(T) -> &'static str,
) -> Vec<&'static str> {
    all.into_iter().map(|&value| name(value)).collect()
}

const MATCH: &[Key] = &[
    ("kind", Words(|| names(LeafKind::ALL, |kind| kind.name()))),
    ("role", Words(|| names(Role::ALL, |role| role.name()))),
    ("section", Words(|| names(SectionKind::ALL, |section| section.name()))),
    ("tool", Texts),
    ("path", Texts),
    ("model", Texts),
    ("format", Words(|| names(Format::ALL, |format| format.name()))),
    ("agent", Texts),
    ("session", Texts),
    ("upstream", Texts),
    ("endpoint", Texts),
    ("project", Texts),
    ("stream", Flag),
    ("subagent", Flag),
    ("latest", Flag),
    ("header", Named),
    ("option", Named),
];

const REPLACE: &[Key] = &[("pattern", Text), ("with", Text)];

const RULE: &[Key] = &[
    ("id", Text),
    ("match", Of(MATCH)),
    ("when", Text),
    ("action", Word(ACTIONS)),
    ("on", Word(On::WORDS)),
    ("stream", Word(&["buffer"])),
    ("look_behind", Number),
    ("on_odd", Word(OnOdd::WORDS)),
    ("mode", Word(Mode::WORDS)),
    ("reason", Text),
    ("severity", Word(Urgency::WORDS)),
    ("tags", Texts),
    ("owner", Text),
    ("docs", Text),
    ("on_error", Word(OnError::WORDS)),
    ("detect", Texts),
    ("with", Word(With::WORDS)),
    ("restore", Word(Restore::WORDS)),
    ("on_unredactable", Word(OnUnredactable::WORDS)),
    ("published", Word(Published::WORDS)),
    ("releasable", Flag),
    ("to", Text),
    ("on_drift", Word(OnDrift::WORDS)),
    ("as", WordOf(|| names(SectionKind::ALL.iter().filter(|kind| kind.is_of_words()), |kind| kind.name()))),
    ("from", Words(|| PROTECTED_FROM.to_vec())),
    ("set", Text),
    ("replace", Of(REPLACE)),
    ("prepend", Text),
    ("append", Text),
    ("max_lines", Number),
    ("max_chars", Number),
    ("options", Table),
    ("model", Text),
    ("keep", Texts),
    ("drop", Texts),
    ("text", Text),
    ("path", Text),
    ("history", Flag),
    ("plugin", Text),
    ("sees", Word(Sees::WORDS)),
    ("timeout", Text),
    ("on_timeout", Word(OnTimeout::WORDS)),
    ("subagents", Word(Subagents::WORDS)),
    ("examples", Texts),
    ("counter_examples", Texts),
];

const EXCEPTION: &[Key] = &[
    ("rule", Texts),
    ("match", Of(MATCH)),
    ("value", Texts),
    ("pattern", Text),
    ("finding", Texts),
    ("reason", Text),
    ("by", Text),
    ("until", Until),
];

const DETECTOR: &[Key] = &[
    ("id", Text),
    ("label", Text),
    ("confidence", Word(&["low", "medium", "high"])),
    ("regex", Text),
    ("keywords", Texts),
    ("words", Texts),
    ("words_file", Text),
    ("names", Texts),
    ("case_sensitive", Flag),
    ("keys", Texts),
    ("checks", Texts),
    ("examples", Texts),
    ("counter_examples", Texts),
];

const LIMITS: &[Key] = &[
    ("start_deadline", Text),
    ("call_deadline", Text),
    ("request_time", Text),
    ("memory_bytes", Number),
    ("answer_bytes", Number),
    ("findings", Number),
    ("edits", Number),
];

const PLUGIN: &[Key] = &[("file", Text), ("sha256", Text), ("config", Table), ("limits", Of(LIMITS))];

const PROMPT: &[Key] = &[("type", Word(PROMPTS)), ("path", Text), ("text", Text)];

const MAP: &[Key] = &[("root", Text), ("depth", Number), ("entries", Number)];

const REQUEST_PLUGIN: &[Key] = &[("id", Text), ("max_results", Number)];

const APPROVE: &[Key] = &[("auto", Texts), ("rest", Word(&["ask", "block"]))];

const TOOLS: &[Key] = &[("normalise", Flag), ("allow", Texts), ("approve", Of(APPROVE))];

const DOWNGRADE: &[Key] =
    &[("on", Texts), ("footnote", Flag), ("models", Texts), ("else", Word(&["pass", "pause"]))];

const ASSEMBLE: &[Key] = &[
    ("id", Text),
    ("match", Of(MATCH)),
    ("root", Text),
    ("model", Text),
    ("agent_mode", FlagOr("client")),
    ("prompt", Of(PROMPT)),
    ("fallback_prompt", Text),
    ("agent_prompt", Text),
    ("tools_hint", Text),
    ("context", Texts),
    ("map", Of(MAP)),
    ("plugins", ListOf(REQUEST_PLUGIN)),
    ("options", Table),
    ("drop", Texts),
    ("tools", Of(TOOLS)),
    ("continuation", Word(&["skip-context", "keep"])),
    ("downgrade", Of(DOWNGRADE)),
    ("replay_stream", Flag),
    ("max_context", Number),
    ("max_files", Number),
    ("max_file", Number),
];

/// Returns the schema (draft 7, which editors know best).
#[must_use]
pub fn rules_schema() -> Value {
    let many = |keys, section| json!({ "type": "array", "items": object(keys, section) });
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "A rule file of Leafgate",
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "requires": schema(&Texts),
            "extends": { "enum": ["default", "none"], "description": meaning("Of a file", "extends") },
            "mode": { "enum": Mode::WORDS, "description": meaning("Of a file", "mode") },
            "restore": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": { "from": schema(&Texts), "to": schema(&Texts) },
                    "required": ["from", "to"],
                    "additionalProperties": false,
                },
                "description": meaning("Of a file", "restore"),
            },
            "rule": many(RULE, "Of a rule"),
            "detector": many(DETECTOR, "`[[detector]]`"),
            "exception": many(EXCEPTION, "`[[exception]]`"),
            "assemble": many(ASSEMBLE, "Of a profile"),
            "plugins": {
                "type": "object",
                "properties": { REQUIRE_SIGNED: schema(&Texts) },
                "additionalProperties": object(PLUGIN, "`[plugins.<name>]`"),
            },
        },
    })
}

/// A table; `section` is the part of the reference that says what its keys mean.
fn object(keys: &[Key], section: &str) -> Value {
    let property = |(key, of): &Key| {
        let mut schema = schema(of);
        if let (Some(meaning), Some(schema)) = (meaning(section, key), schema.as_object_mut()) {
            schema.insert("description".to_owned(), meaning.into());
        }
        ((*key).to_owned(), schema)
    };
    let properties: Map<String, Value> = keys.iter().map(property).collect();
    json!({ "type": "object", "additionalProperties": false, "properties": properties })
}

fn schema(of: &Type) -> Value {
    let one_or_many = |one: Value| json!({ "anyOf": [one, { "type": "array", "items": one }] });
    match of {
        Text => json!({ "type": "string" }),
        Texts => one_or_many(json!({ "type": "string" })),
        Number => json!({ "type": "integer", "minimum": 1 }),
        Flag => json!({ "type": "boolean" }),
        Word(words) => json!({ "enum": words }),
        WordOf(words) => json!({ "enum": words() }),
        Words(words) => one_or_many(json!({ "enum": words() })),
        Named => {
            json!({ "type": "object", "additionalProperties": one_or_many(json!({ "type": "string" })) })
        }
        Table => json!({ "type": "object" }),
        Until => json!({ "type": "string", "examples": ["2027-03-31", "never"] }),
        FlagOr(word) => json!({ "enum": [true, false, word] }),
        Of(keys) if std::ptr::eq(*keys, MATCH) => object(keys, "`match`"),
        // The row of a key such as `tools = { … }` says what the keys in it mean.
        Of(keys) => object(keys, NOWHERE),
        ListOf(keys) => json!({ "type": "array", "items": object(keys, NOWHERE) }),
    }
}

/// No part of the reference is called so.
const NOWHERE: &str = "nowhere";

/// What the reference says about a key, from the last cell of its row.
fn meaning(section: &str, key: &str) -> Option<String> {
    let section = REFERENCE.split("\n## ").find(|part| part.starts_with(section))?;
    let named = format!("`{key}`");
    let row = section.lines().find(|line| {
        line.starts_with("| `") && line.split(" | ").next().is_some_and(|names| names.contains(&named))
    })?;
    let meaning = row.trim_end_matches('|').trim_end().rsplit(" | ").next()?;
    Some(meaning.to_owned())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::file::assemble::raw::{
        RawApprove, RawAssemble, RawDowngrade, RawMap, RawPrompt, RawRequestPlugin, RawTools,
    };
    use crate::file::fields::fields_of;
    use crate::file::raw::{
        RawDetector, RawException, RawMatch, RawPlugin, RawPluginLimits, RawReplace, RawRule, TOP_LEVEL,
    };

    fn keys<'k>(keys: impl IntoIterator<Item = &'k str>) -> BTreeSet<&'k str> {
        keys.into_iter().collect()
    }

    #[test]
    fn the_schema_knows_the_keys_that_are_read_and_no_others() {
        for (known, read) in [
            (RULE, fields_of::<RawRule>()),
            (MATCH, fields_of::<RawMatch>()),
            (REPLACE, fields_of::<RawReplace>()),
            (EXCEPTION, fields_of::<RawException>()),
            (DETECTOR, fields_of::<RawDetector>()),
            (PLUGIN, fields_of::<RawPlugin>()),
            (LIMITS, fields_of::<RawPluginLimits>()),
            (ASSEMBLE, fields_of::<RawAssemble>()),
            (PROMPT, fields_of::<RawPrompt>()),
            (MAP, fields_of::<RawMap>()),
            (REQUEST_PLUGIN, fields_of::<RawRequestPlugin>()),
            (TOOLS, fields_of::<RawTools>()),
            (APPROVE, fields_of::<RawApprove>()),
            (DOWNGRADE, fields_of::<RawDowngrade>()),
        ] {
            assert_eq!(keys(known.iter().map(|(key, _)| *key)), keys(read.iter().copied()));
        }
        let schema = rules_schema();
        let top = schema["properties"].as_object().unwrap();
        assert_eq!(keys(top.keys().map(String::as_str)), keys(TOP_LEVEL.iter().copied()));
    }

    #[test]
    fn an_editor_shows_what_a_key_means() {
        let schema = rules_schema();
        let rule = &schema["properties"]["rule"]["items"]["properties"];
        for key in ["id", "restore", "max_lines", "timeout", "examples"] {
            assert!(rule[key]["description"].as_str().unwrap().len() > 10, "{key}: {}", rule[key]);
        }
        let latest = &rule["match"]["properties"]["latest"];
        assert!(latest["description"].as_str().unwrap().contains("latest message"), "{latest}");
        assert_eq!(rule["action"]["enum"].as_array().unwrap().len(), ACTIONS.len());
    }

    /// A value as far as schemas of this file go.
    fn fits(schema: &Value, value: &Value, at: &str) {
        if let Some(any) = schema.get("anyOf").and_then(Value::as_array) {
            let of_type = |schema: &&Value| value.is_array() == (schema["type"] == "array");
            return fits(any.iter().find(of_type).unwrap(), value, at);
        }
        if let Some(words) = schema.get("enum").and_then(Value::as_array) {
            return assert!(words.contains(value), "{at}: {value}");
        }
        match schema["type"].as_str() {
            Some("object") => {
                for (key, value) in value.as_object().unwrap_or_else(|| panic!("{at}: {value}")) {
                    let place = format!("{at}.{key}");
                    match (schema["properties"].get(key), &schema["additionalProperties"]) {
                        (Some(known), _) => fits(known, value, &place),
                        (None, Value::Bool(false)) => panic!("{place} is not known"),
                        (None, Value::Object(_)) => fits(&schema["additionalProperties"], value, &place),
                        (None, _) => {}
                    }
                }
            }
            Some("array") => {
                value.as_array().unwrap().iter().for_each(|item| fits(&schema["items"], item, at));
            }
            Some("string") => assert!(value.is_string(), "{at}: {value}"),
            Some("integer") => assert!(value.is_i64(), "{at}: {value}"),
            Some("boolean") => assert!(value.is_boolean(), "{at}: {value}"),
            other => panic!("{at}: {other:?}"),
        }
    }

    #[test]
    fn the_examples_of_the_reference_fit_the_schema() {
        let schema = rules_schema();
        let mut seen = 0;
        for example in REFERENCE.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()) {
            if example.contains("[[test]]") {
                continue;
            }
            let value: toml::Value = toml::from_str(example).unwrap();
            fits(&schema, &crate::file::options::json(&value).unwrap(), "file");
            seen += 1;
        }
        assert!(seen > 3);
    }
}
