//! JSON Schema: what the schema language itself names is protected, descriptions and examples are open.

use super::{Access, MemberTable, Projector, table};
use crate::kinds::LeafKind;
use crate::node::{JsonKind, NodeId};

/// A JSON Schema.
static SCHEMA: MemberTable = table! {
    "type" ToolSchema Protected "keyword of JSON Schema";
    "required" ToolSchema Protected "names properties";
    "format" ToolSchema Protected "keyword of JSON Schema";
    "pattern" ToolSchema Protected "keyword of JSON Schema";
    "$ref" ToolSchema Protected "points to another schema";
    "$schema" ToolSchema Protected "names the dialect";
    "$id" ToolSchema Protected "id";
    "$anchor" ToolSchema Protected "id";
    "propertyOrdering" ToolSchema Protected "names properties (Gemini)";
    "property_ordering" ToolSchema Protected "names properties (Gemini)";
};

impl Projector<'_> {
    /// Marks a JSON Schema: what the schema language itself names is protected, descriptions and examples are open.
    pub(crate) fn schema(&mut self, schema: NodeId) {
        self.mark(schema, LeafKind::ToolSchema, Access::Open);
        self.schema_keywords(schema);
    }

    fn schema_keywords(&mut self, schema: NodeId) {
        let body = self.body;
        if body.node(schema).kind != JsonKind::Object {
            return;
        }
        self.members(schema, &SCHEMA, |this, member, key, field| {
            if field.is_some() {
                return;
            }
            match applicator(key) {
                Some(Applicator::Schema) if body.node(member).kind == JsonKind::Array => {
                    body.children(member).for_each(|item| this.schema_keywords(item));
                }
                Some(Applicator::Schema) => this.schema_keywords(member),
                Some(Applicator::NamedSchemas) => {
                    body.children(member).for_each(|named| this.schema_keywords(named));
                }
                None => {}
            }
        });
    }
}

/// How a keyword of JSON Schema holds further schemas (draft 2020-12, chapters 10 and 11).
enum Applicator {
    /// A schema or an array of them.
    Schema,
    /// An object of schemas under names of the author's choice.
    NamedSchemas,
}

fn applicator(key: &str) -> Option<Applicator> {
    match key {
        "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas" => {
            Some(Applicator::NamedSchemas)
        }
        "items"
        | "prefixItems"
        | "prefix_items"
        | "additionalProperties"
        | "additional_properties"
        | "unevaluatedProperties"
        | "unevaluatedItems"
        | "contains"
        | "propertyNames"
        | "anyOf"
        | "any_of"
        | "oneOf"
        | "allOf"
        | "not"
        | "if"
        | "then"
        | "else" => Some(Applicator::Schema),
        _ => None,
    }
}
