//! The configuration file as a JSON Schema, for editors.

use leafgate_diagnostic::number::NumberRange;
use serde_json::{Map, Value, json};

use crate::keys::{KEYS, SettingKey, UPSTREAM_KEYS, UPSTREAMS};
use crate::value::Kind;

/// Returns the schema.
pub fn schema() -> Value {
    let mut top = Map::new();
    for key in *KEYS {
        match key.name.split_once('.') {
            None => drop(top.insert(key.name.to_owned(), of_key(key))),
            Some((group, name)) => {
                let table = top.entry(group).or_insert_with(|| table(Map::new()));
                table["properties"][name] = of_key(key);
            }
        }
    }
    let upstream = UPSTREAM_KEYS.iter().map(|key| (key.name.to_owned(), of_key(key))).collect();
    let mut upstream = table(upstream);
    upstream["required"] = json!(["url"]);
    let names = json!({ "pattern": "^[a-z][a-z0-9-]{0,39}$" });
    top.insert(
        UPSTREAMS.to_owned(),
        json!({ "type": "object", "propertyNames": names, "additionalProperties": upstream }),
    );
    let mut schema = table(top);
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    schema["$id"] = "urn:leafgate:config".into();
    schema["title"] = "leafgate/config.toml".into();
    schema
}

fn table(properties: Map<String, Value>) -> Value {
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

fn of_key(key: &SettingKey) -> Value {
    let mut schema = of_kind(key.kind());
    // What has a unit is a text, of which a schema knows no bounds.
    let bounds = match key.kind() {
        Kind::Size(_) | Kind::Time(_) => format!(" ({})", key.kind().expected()),
        _ => String::new(),
    };
    schema["description"] = format!("{}{bounds}", key.about).into();
    schema
}

fn of_kind(kind: &Kind) -> Value {
    match kind {
        Kind::Switch => json!({ "type": "boolean" }),
        Kind::Text | Kind::Url | Kind::Command | Kind::Path | Kind::Policy => {
            json!({ "type": "string", "minLength": 1 })
        }
        Kind::Texts | Kind::Paths => {
            json!({ "type": "array", "items": { "type": "string", "minLength": 1 } })
        }
        Kind::Size(bounds) => json!({ "oneOf": [
            integer(*bounds),
            { "type": "string", "pattern": "^[0-9_]+ ?(B|KB|MB|GB|KiB|MiB|GiB)?$" },
        ]}),
        Kind::Count(bounds) => integer(*bounds),
        Kind::Time(_) => json!({ "type": "string", "pattern": "^[0-9_]+ ?(ms|s|m|h)$" }),
        Kind::Word(words) => json!({ "enum": words }),
    }
}

fn integer(bounds: NumberRange) -> Value {
    let mut schema = json!({ "type": "integer", "minimum": bounds.least });
    if bounds.most < u64::MAX {
        schema["maximum"] = bounds.most.into();
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_in_the_schema() {
        let schema = schema();
        for key in *KEYS {
            let pointer = format!("/properties/{}", key.name.replace('.', "/properties/"));
            let description = schema.pointer(&pointer).and_then(|key| key["description"].as_str());
            assert!(description.is_some_and(|it| it.starts_with(&key.about)), "{pointer}");
        }
        let upstream = &schema["properties"][UPSTREAMS]["additionalProperties"];
        assert_eq!(upstream["properties"].as_object().unwrap().len(), UPSTREAM_KEYS.len());
    }

    #[test]
    fn the_schema_has_the_bounds_of_numbers() {
        let schema = schema();
        let of = |group: &str, key: &str| &schema["properties"][group]["properties"][key];
        let bounds = |schema: &Value| (schema["minimum"].as_u64(), schema["maximum"].as_u64());
        assert_eq!(bounds(of("reload", "rise")), (Some(1), Some(100)));
        let size = of("store", "size");
        assert_eq!(bounds(&size["oneOf"][0]), (Some(1 << 20), None));
        assert!(size["description"].as_str().unwrap().contains("from 1 MiB on"), "{size}");
    }
}
