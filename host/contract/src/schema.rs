//! A plugin's configuration beside the JSON Schema that the plugin describes it with.
//!
//! The schema is a plugin's own text, and so whatever an attacker likes: it is walked with a bound
//! on steps and depth, no pattern of it is run and nothing is fetched. What this walk does not know
//! it passes over, since `configure` has the last word. A text that is no schema checks nothing.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::{ConfigFinding, one_line};
use leafgate_diagnostic::hint_for;

/// Values that are looked at, each as often as schemas speak of it. A list of a hundred thousand
/// words takes as many.
const MAX_STEPS: usize = 1 << 20;

/// Names and words of a schema that are looked through for one value cost as much as looking at one
/// value.
const WORDS_PER_STEP: usize = 16;

/// Schemas inside schemas, and references from one to another.
const MAX_DEPTH: usize = 64;

/// Findings that are told; a list of the wrong type would give one for each item.
const MAX_FINDINGS: usize = 10;

/// Words of a closed list that a finding names.
const MAX_WORDS: usize = 20;

/// Words among which the one is looked for that was meant: each is held beside what was written,
/// letter by letter.
const MAX_MEANT: usize = 256;

/// Returns where a configuration, as JSON text, is not what a schema says.
#[must_use]
pub fn check_config(schema: &str, config: &str) -> Vec<ConfigFinding> {
    let (Ok(root), Ok(config)) = (serde_json::from_str(schema), serde_json::from_str::<Value>(config)) else {
        return vec![];
    };
    let mut walk = SchemaWalk::new(&root);
    walk.check(&root, &config);
    walk.found.truncate(MAX_FINDINGS);
    walk.found
}

struct SchemaWalk<'s> {
    root: &'s Value,
    /// Of the value that is looked at.
    pointer: String,
    depth: usize,
    steps: usize,
    found: Vec<ConfigFinding>,
}

impl<'s> SchemaWalk<'s> {
    fn new(root: &'s Value) -> Self {
        SchemaWalk { root, pointer: String::new(), depth: 0, steps: 0, found: vec![] }
    }

    /// Checks one value against one schema.
    fn check(&mut self, schema: &'s Value, value: &Value) {
        self.steps += 1;
        if self.depth == MAX_DEPTH || self.steps > MAX_STEPS || self.found.len() >= MAX_FINDINGS {
            return;
        }
        self.depth += 1;
        match schema {
            Value::Bool(false) => self.find("is not allowed here", None),
            Value::Object(schema) => self.check_all(schema, value),
            _ => {}
        }
        self.depth -= 1;
    }

    /// Counts names and words that are looked through.
    fn charge(&mut self, words: usize) {
        self.steps += words / WORDS_PER_STEP;
    }

    fn check_all(&mut self, schema: &'s Map<String, Value>, value: &Value) {
        if let Some(other) = schema.get("$ref").and_then(Value::as_str).and_then(|name| self.referred(name)) {
            self.check(other, value);
        }
        if !self.has_type(schema, value) {
            return;
        }
        self.check_words(schema, value);
        for part in parts(schema, "allOf") {
            self.check(part, value);
        }
        self.check_forms(parts(schema, "anyOf"), value);
        self.check_forms(parts(schema, "oneOf"), value);
        match value {
            Value::Object(members) => self.check_members(schema, members),
            Value::Array(items) => self.check_items(schema, items),
            Value::Number(_) => self.check_number(schema, value),
            Value::String(text) => self.check_length(schema, "Length", text.chars().count(), "characters"),
            _ => {}
        }
    }

    /// A schema of the same text: `#/$defs/…`. Others are not fetched.
    fn referred(&self, name: &str) -> Option<&'s Value> {
        self.root.pointer(name.strip_prefix('#')?)
    }

    fn has_type(&mut self, schema: &Map<String, Value>, value: &Value) -> bool {
        let wanted: Vec<&str> = match schema.get("type") {
            Some(Value::String(name)) => vec![name],
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            _ => return true,
        };
        if wanted.iter().any(|name| is_of_type(value, name)) {
            return true;
        }
        // TOML has no null: whoever leaves a key out says that.
        let known = wanted.iter().filter(|name| **name != "null").map(|name| type_words(name));
        let known: Vec<&str> = known.take(MAX_WORDS).collect();
        self.find(&format!("must be {}", known.join(" or ")), None);
        false
    }

    /// `enum` and `const`.
    fn check_words(&mut self, schema: &Map<String, Value>, value: &Value) {
        let allowed: Vec<&Value> = match (schema.get("enum"), schema.get("const")) {
            (Some(Value::Array(values)), _) => values.iter().collect(),
            (None, Some(only)) => vec![only],
            _ => return,
        };
        self.charge(allowed.len());
        if !allowed.contains(&value) {
            self.find_word(&allowed, value);
        }
    }

    fn find_word(&mut self, allowed: &[&Value], value: &Value) {
        let words: Vec<&str> = allowed.iter().filter_map(|value| value.as_str()).take(MAX_MEANT).collect();
        let quoted: Vec<String> = allowed
            .iter()
            .filter(|value| !value.is_null())
            .take(MAX_WORDS)
            .map(|value| word(value))
            .collect();
        let message = match quoted.as_slice() {
            [only] => format!("must be {only}"),
            all => format!("must be one of {}", all.join(", ")),
        };
        let meant = value.as_str().map(|typed| hint_for(typed, &words));
        self.find(&message, meant.filter(|hint| hint.starts_with("did you mean")));
    }

    /// `anyOf` and `oneOf`: one of the forms must fit. Of those that do not, the one is told that the
    /// value came nearest to.
    fn check_forms(&mut self, forms: &'s [Value], value: &Value) {
        if forms.is_empty() {
            return;
        }
        self.charge(forms.len());
        let consts: Vec<&Value> = forms.iter().filter_map(|form| form.get("const")).collect();
        if consts.len() == forms.len() {
            if !consts.contains(&value) {
                self.find_word(&consts, value);
            }
            return;
        }
        let told = std::mem::take(&mut self.found);
        let mut nearest: Option<Vec<ConfigFinding>> = None;
        for form in forms {
            self.check(form, value);
            let found = std::mem::take(&mut self.found);
            if found.is_empty() {
                self.found = told;
                return;
            }
            if nearest.as_ref().is_none_or(|known| depth(known) < depth(&found)) {
                nearest = Some(found);
            }
        }
        self.found = told;
        let deeper = nearest.filter(|found| forms.len() == 1 || depth(found) > self.pointer.len());
        match deeper {
            Some(found) => self.found.extend(found),
            None => self.find("has none of the forms that the plugin describes", None),
        }
    }

    fn check_members(&mut self, schema: &'s Map<String, Value>, members: &Map<String, Value>) {
        let none = Map::new();
        let names = |key: &str| schema.get(key).and_then(Value::as_object).map_or(0, Map::len);
        self.charge(names("properties") + parts(schema, "required").len());
        let properties = schema.get("properties").and_then(Value::as_object);
        let known: Vec<&str> = properties.unwrap_or(&none).keys().map(String::as_str).collect();
        for (key, value) in members {
            match properties.and_then(|properties| properties.get(key)) {
                Some(property) => self.inside(key, |walk| walk.check(property, value)),
                None => match schema.get("additionalProperties") {
                    Some(Value::Bool(false)) => self.find_unknown(key, &known),
                    Some(rest) => self.inside(key, |walk| walk.check(rest, value)),
                    None => {}
                },
            }
        }
        let required = parts(schema, "required").iter().filter_map(Value::as_str);
        for key in required.filter(|key| !members.contains_key(*key)).take(MAX_FINDINGS) {
            let whole = self.pointer.is_empty();
            let of = if whole { String::new() } else { format!(" of `{}`", shown(&self.pointer)) };
            self.push(format!("the key `{key}`{of} is missing"), None);
        }
    }

    fn find_unknown(&mut self, key: &str, known: &[&str]) {
        // Named by the key itself, so that its line is shown.
        let hint = if known.is_empty() {
            "there is nothing to configure".into()
        } else {
            hint_for(key, &known[..known.len().min(MAX_MEANT)])
        };
        self.inside(key, |walk| walk.find("is no key that the plugin knows", Some(hint)));
    }

    fn check_items(&mut self, schema: &'s Map<String, Value>, items: &[Value]) {
        self.check_length(schema, "Items", items.len(), "items");
        let first = parts(schema, "prefixItems");
        for (place, item) in items.iter().enumerate() {
            // A closed list of items is told by its length.
            let Some(schema) = first.get(place).or(schema.get("items")) else { return };
            self.inside(&place.to_string(), |walk| walk.check(schema, item));
            if self.steps > MAX_STEPS || self.found.len() >= MAX_FINDINGS {
                return;
            }
        }
    }

    /// `minItems`, `maxItems`, `minLength`, `maxLength`.
    fn check_length(&mut self, schema: &Map<String, Value>, of: &str, length: usize, what: &str) {
        let bound = |least: &str| schema.get(&format!("{least}{of}")).and_then(Value::as_u64);
        let length = length as u64;
        if let Some(least) = bound("min").filter(|least| length < *least) {
            self.find(&format!("must have at least {least} {what}"), None);
        }
        if let Some(most) = bound("max").filter(|most| length > *most) {
            self.find(&format!("must have at most {most} {what}"), None);
        }
    }

    fn check_number(&mut self, schema: &Map<String, Value>, value: &Value) {
        let Some(number) = value.as_f64() else { return };
        let mut compare = |key: &str, wrong: fn(f64, f64) -> bool, words: &str| {
            let Some(bound) = schema.get(key) else { return };
            if bound.as_f64().is_some_and(|bound| wrong(number, bound)) {
                self.find(&format!("must be {words} {}", scalar(bound)), None);
            }
        };
        compare("minimum", |number, bound| number < bound, "at least");
        compare("maximum", |number, bound| number > bound, "at most");
        compare("exclusiveMinimum", |number, bound| number <= bound, "above");
        compare("exclusiveMaximum", |number, bound| number >= bound, "below");
    }

    /// Looks at what lies one key or place deeper.
    fn inside(&mut self, key: &str, look: impl FnOnce(&mut Self)) {
        let before = self.pointer.len();
        self.pointer.push('/');
        self.pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
        look(self);
        self.pointer.truncate(before);
    }

    fn find(&mut self, what: &str, hint: Option<String>) {
        let subject =
            if self.pointer.is_empty() { "it".into() } else { format!("`{}`", shown(&self.pointer)) };
        self.push(format!("{subject} {what}"), hint);
    }

    fn push(&mut self, message: String, hint: Option<String>) {
        if self.found.len() < MAX_FINDINGS {
            let (message, hint) = (one_line(&message), hint.map(|hint| one_line(&hint)));
            self.found.push(ConfigFinding { pointer: self.pointer.clone(), message, hint });
        }
    }
}

/// A member that is a list, or nothing.
fn parts<'s>(schema: &'s Map<String, Value>, key: &str) -> &'s [Value] {
    schema.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// How far inside the value the deepest finding lies.
fn depth(found: &[ConfigFinding]) -> usize {
    found.iter().map(|finding| finding.pointer.len()).max().unwrap_or_default()
}

fn is_of_type(value: &Value, name: &str) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "null" => value.is_null(),
        // No type of JSON: nothing can be said.
        _ => true,
    }
}

/// A type as whoever writes TOML calls it.
fn type_words(name: &str) -> &'static str {
    match name {
        "object" => "a table",
        "array" => "a list",
        "string" => "a string",
        "boolean" => "`true` or `false`",
        "integer" => "a whole number",
        _ => "a number",
    }
}

/// A value of a closed list as it is written.
fn word(value: &Value) -> String {
    format!("`{}`", scalar(value))
}

fn scalar(value: &Value) -> String {
    match value {
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "a table".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Returns a pointer as a person writes a path: `limits.items[3]`.
pub(super) fn shown(pointer: &str) -> String {
    let mut path = String::new();
    for part in pointer.split('/').skip(1) {
        let part = part.replace("~1", "/").replace("~0", "~");
        let dot = if path.is_empty() { "" } else { "." };
        // Writing to a string cannot fail.
        let _ = match !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()) {
            true => write!(path, "[{part}]"),
            false => write!(path, "{dot}{part}"),
        };
    }
    path
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn found(schema: &Value, config: &Value) -> Vec<(String, String)> {
        let found = check_config(&schema.to_string(), &config.to_string());
        found.into_iter().map(|finding| (finding.pointer, finding.message)).collect()
    }

    /// The one finding, as it is shown.
    fn one(schema: &Value, config: &Value) -> String {
        match found(schema, config).as_slice() {
            [(pointer, message)] => format!("{pointer}: {message}"),
            found => panic!("{found:?}"),
        }
    }

    /// What `schemars` writes of a struct of every kind of field.
    fn schema() -> Value {
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "Config",
            "type": "object",
            "properties": {
                "names": {"type": "array", "items": {"type": "string", "minLength": 2}, "minItems": 1},
                "size": {"type": "integer", "format": "uint8", "minimum": 0, "maximum": 255},
                "share": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
                "then": {"$ref": "#/$defs/Then"},
                "keep": {"enum": ["date", "nothing"], "default": "date"},
                "limit": {"type": ["integer", "null"]},
                "more": {"anyOf": [{"$ref": "#/$defs/More"}, {"type": "null"}]},
                "tables": {"type": "object", "additionalProperties": {"type": "boolean"}},
                "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "maxItems": 2}
            },
            "additionalProperties": false,
            "required": ["names"],
            "$defs": {
                "Then": {"oneOf": [{"const": "note", "description": "x"}, {"const": "pause"}]},
                "More": {"type": "object", "properties": {"depth": {"type": "integer"}}, "required": ["depth"]}
            }
        })
    }

    #[test]
    fn what_fits_is_not_told() {
        let whole = json!({
            "names": ["Ada"], "size": 255, "share": 0.5, "then": "pause", "keep": "date", "limit": 3,
            "more": {"depth": 1}, "tables": {"a": true}, "pair": ["a", 1]
        });
        assert_eq!(found(&schema(), &whole), []);
        assert_eq!(found(&schema(), &json!({"names": ["Ada"]})), []);
    }

    #[test]
    fn each_finding_names_the_key_and_what_it_must_be() {
        let with = |key: &str, value: Value| {
            let mut config = json!({"names": ["Ada"]});
            config[key] = value;
            one(&schema(), &config)
        };
        assert_eq!(with("names", json!("Ada")), "/names: `names` must be a list");
        assert_eq!(with("names", json!(["Ada", 7])), "/names/1: `names[1]` must be a string");
        assert_eq!(with("names", json!([])), "/names: `names` must have at least 1 items");
        assert_eq!(with("names", json!(["A"])), "/names/0: `names[0]` must have at least 2 characters");
        assert_eq!(with("size", json!(256)), "/size: `size` must be at most 255");
        assert_eq!(with("size", json!(-1)), "/size: `size` must be at least 0");
        assert_eq!(with("size", json!(1.0)), "/size: `size` must be a whole number");
        assert_eq!(with("share", json!(1)), "/share: `share` must be below 1");
        assert_eq!(with("then", json!("pauze")), "/then: `then` must be one of `note`, `pause`");
        assert_eq!(with("keep", json!(true)), "/keep: `keep` must be one of `date`, `nothing`");
        assert_eq!(with("limit", json!("3")), "/limit: `limit` must be a whole number");
        assert_eq!(with("more", json!({"depth": "x"})), "/more/depth: `more.depth` must be a whole number");
        assert_eq!(with("tables", json!({"a/b": 1})), "/tables/a~1b: `tables.a/b` must be `true` or `false`");
        assert_eq!(with("pair", json!(["a", "b"])), "/pair/1: `pair[1]` must be a whole number");
        assert_eq!(with("naems", json!([])), "/naems: `naems` is no key that the plugin knows");
        assert_eq!(one(&schema(), &json!({})), ": the key `names` is missing");
        assert_eq!(one(&schema(), &json!([])), ": it must be a table");
    }

    #[test]
    fn a_slip_is_told_with_what_was_meant() {
        let hint = |config: Value| check_config(&schema().to_string(), &config.to_string())[0].hint.clone();
        assert_eq!(hint(json!({"names": ["Ada"], "naems": 1})).unwrap(), "did you mean `names`?");
        assert_eq!(hint(json!({"names": ["Ada"], "then": "pauze"})).unwrap(), "did you mean `pause`?");
    }

    #[test]
    fn a_schema_made_to_loop_or_to_explode_ends() {
        let looping = json!({"$ref": "#", "allOf": [{"$ref": "#"}, {"$ref": "#"}]});
        assert_eq!(found(&looping, &json!({"a": 1})), []);
        let wide: Vec<Value> = (0..2000).map(|_| json!({"$ref": "#"})).collect();
        assert_eq!(found(&json!({"allOf": wide}), &json!({"a": 1})), []);
        let forms: Vec<Value> =
            (0..64).map(|_| json!({"anyOf": [{"$ref": "#"}], "type": "string"})).collect();
        found(&json!({"anyOf": forms}), &json!(1));
        let many: Vec<Value> = (0..100_000).map(|_| json!(1)).collect();
        assert_eq!(found(&schema(), &json!({"names": many})).len(), MAX_FINDINGS);
    }

    /// Each item would be compared with each word: 5,000 million times.
    #[test]
    fn a_long_list_of_words_for_each_of_many_items_ends() {
        let words: Vec<String> = (0..50_000).map(|word| word.to_string()).collect();
        let items: Vec<Value> = (0..100_000).map(|_| json!("0")).collect();
        let config = json!({"names": items});
        for schema in [
            json!({"enum": words}),
            json!({"oneOf": words.iter().map(|word| json!({"const": word})).collect::<Vec<_>>()}),
        ] {
            let schema = json!({"properties": {"names": {"items": schema}}});
            let mut walk = SchemaWalk::new(&schema);
            walk.check(&schema, &config);
            assert_eq!(walk.found, []);
            // One item, its words, and no more than that beyond the bound.
            assert!((MAX_STEPS..MAX_STEPS + 8_000).contains(&walk.steps), "{}", walk.steps);
        }
    }

    #[test]
    fn names_of_a_schema_begin_no_line_of_a_message() {
        let schema = json!({"required": ["a\nerror: forged\u{1b}[2J"], "additionalProperties": false});
        let found = one(&schema, &json!({}));
        assert_eq!(found, r": the key `a\nerror: forged\u{1b}[2J` is missing");
    }

    #[test]
    fn a_text_that_is_no_schema_checks_nothing() {
        for schema in ["", "no schema", "7", "[]", "true", r#"{"type": 7, "properties": [], "enum": 1}"#] {
            assert_eq!(check_config(schema, r#"{"a": 1}"#), [], "{schema}");
        }
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let words = ["a", "b", "#", "#/a", "string", "object", "integer"];
        let leaf = prop_oneof![
            any::<bool>().prop_map(Value::from),
            (-3i64..3).prop_map(Value::from),
            proptest::sample::select(words.to_vec()).prop_map(Value::from),
        ];
        let keys = [
            "a",
            "b",
            "$ref",
            "type",
            "properties",
            "items",
            "anyOf",
            "oneOf",
            "allOf",
            "required",
            "enum",
            "const",
            "additionalProperties",
            "minItems",
            "prefixItems",
            "minimum",
        ];
        leaf.prop_recursive(5, 40, 6, move |inner| {
            let members =
                proptest::collection::vec((proptest::sample::select(keys.to_vec()), inner.clone()), 0..6);
            prop_oneof![
                proptest::collection::vec(inner, 0..6).prop_map(Value::Array),
                members.prop_map(|members| Value::Object(
                    members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
                )),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_schema_and_any_configuration_end_with_places_that_are_there(schema in any_json(), config in any_json()) {
            let found = check_config(&schema.to_string(), &config.to_string());
            prop_assert!(found.len() <= MAX_FINDINGS);
            for finding in found {
                prop_assert!(config.pointer(&finding.pointer).is_some(), "{}", finding.pointer);
            }
        }
    }
}
