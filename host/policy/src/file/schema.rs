//! The JSON Schema of rule files, for editors: which keys a table has, of what type they are, which words
//! they take. Keys come from the tables that are read, and what one means from the reference.

use leafgate_diagnostic::keys::{Table, TableKey, Type};
use leafgate_diagnostic::number::NumberRange;
use serde_json::{Map, Value, json};

use super::raw::{REQUIRE_SIGNED, RawFile};

/// The reference of rule files, as people read it.
pub const REFERENCE: &str = include_str!("../../RULES.md");

/// Returns the schema (draft 7, which editors know best).
pub fn rules_schema() -> Value {
    let mut schema = object(RawFile::KEYS, "Of a file");
    let properties = &mut schema["properties"];
    // It stands among the plugins.
    properties["plugins"]["properties"] =
        json!({ REQUIRE_SIGNED: schema_of(&Type::OneOrMany(&Type::Text), NOWHERE) });
    if let Some(properties) = properties.as_object_mut() {
        properties.retain(|name, _| !name.contains('.'));
    }
    schema["$schema"] = "http://json-schema.org/draft-07/schema#".into();
    schema["title"] = "A rule file of Leafgate".into();
    schema
}

/// The parts of the reference about the tables under some keys.
const PARTS: [(&str, &str); 6] = [
    ("match", "`match`"),
    ("rule", "Of a rule"),
    ("detector", "`[[detector]]`"),
    ("exception", "`[[exception]]`"),
    ("assemble", "Of a profile"),
    ("plugins", "`[plugins.<name>]`"),
];

/// A table; `section` is the part of the reference that says what its keys mean.
fn object(keys: &[TableKey], section: &str) -> Value {
    let property = |key: &TableKey| {
        let part = PARTS.iter().find(|(name, _)| *name == key.name).map_or(NOWHERE, |(_, part)| part);
        let mut schema = schema_of(&key.takes, part);
        if let (Some(meaning), Some(schema)) = (meaning(section, key.name), schema.as_object_mut()) {
            schema.insert("description".to_owned(), meaning.into());
        }
        (key.name.to_owned(), schema)
    };
    let properties: Map<String, Value> = keys.iter().map(property).collect();
    let mut schema = json!({ "type": "object", "additionalProperties": false, "properties": properties });
    let needed: Vec<&str> =
        keys.iter().filter(|key| key.need.must_be_there() && key.of.is_empty()).map(|key| key.name).collect();
    if !needed.is_empty() {
        schema["required"] = needed.into();
    }
    schema
}

fn one_or_many(one: &Value) -> Value {
    json!({ "anyOf": [one, { "type": "array", "items": one }] })
}

/// A text or texts, or a table that says which and which not.
fn wanted(one: &Value) -> Value {
    let words = one_or_many(one);
    let table = json!({
        "type": "object",
        "additionalProperties": false,
        "properties": { "any": words, "not": words, "ignore-case": { "type": "boolean" } },
    });
    json!({ "anyOf": [one, { "type": "array", "items": one }, table] })
}

/// What a key takes; `part` is that of the reference about the tables under it.
fn schema_of(takes: &Type, part: &str) -> Value {
    match takes {
        Type::Text | Type::Time(_) => json!({ "type": "string" }),
        Type::Number(NumberRange { least, most: u64::MAX }) => json!({ "type": "integer", "minimum": least }),
        Type::Number(range) => json!({ "type": "integer", "minimum": range.least, "maximum": range.most }),
        Type::Flag => json!({ "type": "boolean" }),
        Type::Word(words) => json!({ "enum": words }),
        Type::Of(_, keys) => object(keys, part),
        Type::OneOrMany(item) => one_or_many(&schema_of(item, part)),
        Type::Match(item) => wanted(&schema_of(item, part)),
        Type::ListOf(item) => json!({ "type": "array", "items": schema_of(item, part) }),
        Type::Named(item) => json!({ "type": "object", "additionalProperties": schema_of(item, part) }),
        Type::Table => json!({ "type": "object" }),
        Type::TextOrTable => json!({ "type": ["string", "object", "array"] }),
        Type::Until => json!({ "type": "string", "examples": ["2027-03-31", "never"] }),
        Type::FlagOr(word) => json!({ "enum": [true, false, word] }),
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
    use super::*;
    use crate::rule::ActionName;

    #[test]
    fn an_editor_shows_what_a_key_means() {
        let schema = rules_schema();
        let rule = &schema["properties"]["rule"]["items"]["properties"];
        for key in ["id", "restore", "max_lines", "timeout", "tags"] {
            assert!(rule[key]["description"].as_str().unwrap().len() > 10, "{key}: {}", rule[key]);
        }
        let latest = &rule["match"]["properties"]["latest"];
        assert!(latest["description"].as_str().unwrap().contains("latest message"), "{latest}");
        assert_eq!(rule["action"]["enum"].as_array().unwrap().len(), ActionName::ALL.len());
    }

    /// A value as far as schemas of this file go.
    fn fits(schema: &Value, value: &Value, at: &str) {
        if let Some(any) = schema.get("anyOf").and_then(Value::as_array) {
            let is = |schema: &Value, kind: &str| schema["type"] == kind;
            let of_type = |schema: &&Value| {
                value.is_array() == is(schema, "array") && value.is_object() == is(schema, "object")
            };
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
            fits(&schema, &serde_json::to_value(&value).unwrap(), "file");
            seen += 1;
        }
        assert!(seen > 3);
    }
}
