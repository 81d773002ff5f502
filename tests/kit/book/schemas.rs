//! Chapters that are schemas in other words: the settings, and the admin API.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context as _, Result};
use serde_json::{Map, Value};

use super::{cell, written};

/// Writes the chapter about the configuration file.
pub(crate) fn settings() -> Result<String> {
    let schema: Value = serde_json::from_str(&written(&["schema", "config"])?)?;
    let shown: Value = serde_json::from_str(&written(&["config", "show", "--json"])?)?;
    let shown = shown.as_array().context("settings are a list")?.iter();
    let values: BTreeMap<&str, &str> =
        shown.filter_map(|setting| Some((setting["key"].as_str()?, setting["value"].as_str()?))).collect();
    let mut chapter = String::from(
        "# Settings\n\nThe keys of the configuration file, as `leafgate schema config` has them.\n\n",
    );
    chapter.push_str("| key | value | without it | what it says |\n|---|---|---|---|\n");
    keys(&schema, "", &values, &mut chapter)?;
    Ok(chapter)
}

/// Writes a row for each key of a table, and of the tables in it.
fn keys(table: &Value, above: &str, values: &BTreeMap<&str, &str>, chapter: &mut String) -> Result<()> {
    for (key, schema) in properties(table) {
        let key = format!("{above}{key}");
        if schema.get("properties").is_some() {
            keys(schema, &format!("{key}."), values, chapter)?;
        } else if let Some(named @ Value::Object(_)) = schema.get("additionalProperties") {
            keys(named, &format!("{key}.NAME."), values, chapter)?;
        } else {
            let value =
                values.get(key.as_str()).map_or_else(String::new, |value| format!("`{}`", cell(value)));
            writeln!(chapter, "| `{key}` | {} | {value} | {} |", kind(schema), said(schema))?;
        }
    }
    Ok(())
}

/// Writes the chapter about the admin API.
pub(crate) fn admin() -> Result<String> {
    let schema: Value = serde_json::from_str(&written(&["schema", "admin"])?)?;
    let mut chapter = format!(
        "# Admin API\n\nVersion {}, as `leafgate schema admin` has it. Address and token stand in the runtime file of the gate. An error is \
         {}.\n\n## Calls\n\n| call | does | body | answer |\n|---|---|---|---|\n",
        schema["version"].as_str().context("the schema has no version")?,
        kind(&schema["error"]),
    );
    for call in schema["calls"].as_array().context("the schema has no calls")? {
        let text = |key: &str| call[key].as_str().unwrap_or_default();
        let of = |key: &str| call.get(key).map_or_else(String::new, kind);
        let (method, path, does) = (text("method"), text("path"), text("summary"));
        writeln!(chapter, "| `{method} {path}` | {does} | {} | {} |", of("body"), of("answer"))?;
    }
    chapter.push_str("\n## Types\n");
    for (name, schema) in schema["$defs"].as_object().context("the schema has no types")? {
        write!(chapter, "\n### {name}\n\n{}\n", said(schema))?;
        shape(schema, &mut chapter)?;
    }
    Ok(chapter)
}

/// Writes the fields of a type, or what it may be instead.
fn shape(schema: &Value, chapter: &mut String) -> Result<()> {
    if schema.get("properties").is_some() {
        return fields(schema, chapter);
    }
    let Some(forms) = schema.get("oneOf").and_then(Value::as_array) else {
        writeln!(chapter, "\nIt is {}.", kind(schema))?;
        return Ok(());
    };
    let (words, tables): (Vec<&Value>, Vec<&Value>) =
        forms.iter().partition(|form| form.get("properties").is_none());
    if !words.is_empty() {
        chapter.push_str("\n| value | |\n|---|---|\n");
    }
    for word in words {
        writeln!(chapter, "| {} | {} |", kind(word), said(word))?;
    }
    for table in tables {
        write!(chapter, "\n{}\n", said(table))?;
        fields(table, chapter)?;
    }
    Ok(())
}

/// Writes a row for each field.
fn fields(table: &Value, chapter: &mut String) -> Result<()> {
    let required: Vec<&str> =
        table["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    chapter.push_str("\n| field | value | |\n|---|---|---|\n");
    for (name, schema) in properties(table) {
        let may = if required.contains(&name.as_str()) { "" } else { ", may be missing" };
        writeln!(chapter, "| `{name}` | {}{may} | {} |", kind(schema), said(schema))?;
    }
    Ok(())
}

fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::iter)
}

fn said(schema: &Value) -> String {
    cell(schema["description"].as_str().unwrap_or_default())
}

/// What values a schema takes, in words.
fn kind(schema: &Value) -> String {
    let any = |forms: &Value| {
        let forms = forms.as_array().into_iter().flatten().map(kind);
        forms.collect::<Vec<_>>().join(" or ")
    };
    if let Some(name) = schema["$ref"].as_str().and_then(|name| name.strip_prefix("#/$defs/")) {
        return format!("[`{name}`](#{})", name.to_lowercase());
    }
    if let Some(word) = schema.get("const") {
        return format!("`{word}`");
    }
    for forms in ["anyOf", "oneOf"] {
        if let Some(forms) = schema.get(forms) {
            return any(forms);
        }
    }
    if let Some(words) = schema["enum"].as_array() {
        return words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
    }
    match &schema["type"] {
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or "),
        Value::String(name) if name == "array" => format!("list of {}", kind(&schema["items"])),
        Value::String(name) => match schema.get("additionalProperties") {
            Some(of @ Value::Object(_)) => format!("object, {} by name", kind(of)),
            _ => name.clone(),
        },
        _ => "anything".to_owned(),
    }
}
