//! The admin API as a JSON Schema: every type, and which call takes and answers which.
//!
//! It is made of the types, so it cannot say anything else than they do. Its version counts what
//! callers see: a field or a call more is another minor version, and anything that is taken away or
//! means something else another major one. `tests/schema.txt` keeps what was promised.

use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use crate::ApiError;
use crate::call::{AdminCall, schema_of};

/// The version of the API.
pub const VERSION: &str = "1.7";

/// Returns the schema of the API: types in `$defs`, calls in `calls`, each naming the types of its
/// body and its answer. Failed calls are answered with `error`.
pub fn schema() -> Value {
    // As it is written: a field is required where every answer of this version has it.
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut calls = Vec::new();
    for call in AdminCall::ALL {
        let (body, answer) = call.schemas(&mut generator);
        let mut entry = json!({ "method": call.method, "path": call.path, "summary": call.summary });
        body.into_iter().for_each(|body| entry["body"] = body);
        entry["answer"] = answer;
        calls.push(entry);
    }
    let error = schema_of::<ApiError>(&mut generator);
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": format!("urn:leafgate:admin:{VERSION}"),
        "title": "The admin API of Leafgate",
        "version": VERSION,
        "calls": calls,
        "error": error,
        "$defs": generator.take_definitions(true),
    })
}

/// Returns the schema as an [OpenAPI 3.1](https://spec.openapis.org/oas/v3.1.1.html) document.
pub fn openapi() -> Value {
    let schema = schema();
    let content = |schema: &Value| json!({ "application/json": { "schema": schema } });
    let mut paths = json!({});
    for (call, spelled) in AdminCall::ALL.iter().zip(schema["calls"].as_array().into_iter().flatten()) {
        let answer = match call {
            AdminCall::Events => json!({ "text/event-stream": { "schema": spelled["answer"] } }),
            _ => content(&spelled["answer"]),
        };
        let mut operation = json!({
            "operationId": call.name,
            "summary": call.summary,
            "responses": {
                "200": { "description": "It was done.", "content": answer },
                "default": { "description": "It was not.", "content": content(&schema["error"]) },
            },
        });
        if let Some(body) = spelled.get("body") {
            operation["requestBody"] = json!({ "required": true, "content": content(body) });
        }
        if call.path.contains("{id}") {
            let id = json!({ "name": "id", "in": "path", "required": true, "schema": { "type": "string" } });
            operation["parameters"] = json!([id]);
        }
        paths[call.path][call.method.to_ascii_lowercase()] = operation;
    }
    let document = json!({
        "openapi": "3.1.0",
        "info": { "title": schema["title"], "version": VERSION },
        "security": [{ "token": [] }],
        "paths": paths,
        "components": {
            "schemas": schema["$defs"],
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
        },
    });
    let moved = document.to_string().replace("\"#/$defs/", "\"#/components/schemas/");
    serde_json::from_str(&moved).unwrap_or(document)
}
