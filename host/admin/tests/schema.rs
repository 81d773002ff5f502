//! What version 1 of the API promised stays: every type, field and word of `schema.txt` is still
//! there. What is new is added to the file with `LEAFGATE_UPDATE=1`.

#![allow(clippy::unwrap_used, reason = "what a test cannot do without fails it")]

use std::collections::BTreeSet;
use std::path::Path;

use leafgate_admin::schema::{self, VERSION};
use serde_json::Value;

/// One line for each call, field and word of a schema.
fn lines(schema: &Value) -> BTreeSet<String> {
    let mut lines = BTreeSet::new();
    for call in schema["calls"].as_array().unwrap() {
        let body = call.get("body").map_or(String::new(), |body| format!(" takes {}", kind(body)));
        lines.insert(format!(
            "{} {}{body} answers {}",
            call["method"].as_str().unwrap(),
            call["path"].as_str().unwrap(),
            kind(&call["answer"])
        ));
    }
    for (name, definition) in schema["$defs"].as_object().unwrap() {
        walk(name, definition, &mut lines);
    }
    lines
}

fn walk(name: &str, schema: &Value, lines: &mut BTreeSet<String>) {
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for (field, of) in schema["properties"].as_object().into_iter().flatten() {
        let optional = if required.contains(&field.as_str()) { "" } else { "?" };
        lines.insert(format!("{name}.{field}{optional}: {}", kind(of)));
    }
    for word in schema["enum"].as_array().into_iter().flatten() {
        lines.insert(format!("{name} = {word}"));
    }
    if let Some(word) = schema.get("const") {
        lines.insert(format!("{name} = {word}"));
    }
    for variant in ["oneOf", "anyOf", "allOf"].iter().flat_map(|key| schema[key].as_array()).flatten() {
        walk(name, variant, lines);
    }
}

/// What a value is, in a few words.
fn kind(schema: &Value) -> String {
    if let Some(reference) = schema["$ref"].as_str() {
        return reference.trim_start_matches("#/$defs/").to_owned();
    }
    if let Some(word) = schema.get("const") {
        return word.to_string();
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(variants) = schema[key].as_array() {
            return variants.iter().map(kind).collect::<Vec<_>>().join(" | ");
        }
    }
    match &schema["type"] {
        Value::String(of) if of == "array" => format!("[{}]", kind(&schema["items"])),
        Value::Array(of) => of.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" | "),
        Value::String(of) => of.clone(),
        _ => "anything".to_owned(),
    }
}

#[test]
fn what_was_promised_is_still_there() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/schema.txt");
    let now = lines(&schema::schema());
    if std::env::var_os("LEAFGATE_UPDATE").is_some() {
        let text: String = now.iter().map(|line| format!("{line}\n")).collect();
        std::fs::write(&file, text).unwrap();
    }
    let promised = std::fs::read_to_string(&file).unwrap();
    let gone: Vec<&str> = promised.lines().filter(|line| !now.contains(*line)).collect();
    assert!(
        gone.is_empty(),
        "{gone:#?} is gone or means something else: that is a new major version, and callers of {VERSION} break"
    );
    assert!(promised.lines().count() > 100);
}

#[test]
fn every_definition_that_is_named_exists() {
    let schema = schema::schema();
    let text = schema.to_string();
    let mut named = text.split("\"#/$defs/").skip(1).map(|rest| rest.split('"').next().unwrap());
    assert!(named.all(|name| schema["$defs"].get(name).is_some()));
    assert_eq!(schema["$id"], format!("urn:leafgate:admin:{VERSION}"));
}

#[test]
fn the_openapi_document_has_every_call_and_type() {
    let (schema, document) = (schema::schema(), schema::openapi());
    let operations =
        document["paths"].as_object().unwrap().values().flat_map(|path| path.as_object().unwrap().values());
    let mut names: Vec<_> = operations.map(|operation| operation["operationId"].as_str().unwrap()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), schema["calls"].as_array().unwrap().len());
    let text = document.to_string();
    let mut named = text.split("\"#/components/schemas/").skip(1).map(|rest| rest.split('"').next().unwrap());
    assert!(named.all(|name| document["components"]["schemas"].get(name).is_some()));
    assert!(!text.contains("#/$defs/"));
    assert_eq!(document["paths"]["/v1/saved/{id}"]["delete"]["parameters"][0]["name"], "id");
    assert_eq!(
        document["paths"]["/v1/mode"]["put"]["requestBody"]["content"]["application/json"]["schema"]["$ref"],
        "#/components/schemas/SetMode"
    );
}
