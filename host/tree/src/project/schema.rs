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
    "propertyOrdering" | "property_ordering" ToolSchema Protected "names properties (Gemini)";
};

/// Keywords of JSON Schema that hold schemas under names of the author's choice (draft 2020-12, chapters 10 and 11).
const NAMED: &[&str] = &["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];

/// Those that hold a schema, or an array of them.
#[rustfmt::skip]
const APPLICATORS: &[&str] = &[
    "items", "prefixItems", "prefix_items", "additionalProperties", "additional_properties", "unevaluatedProperties",
    "unevaluatedItems", "contains", "propertyNames", "anyOf", "any_of", "oneOf", "allOf", "not", "if", "then", "else",
];

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
        self.members(schema, &SCHEMA, |this, member, key, _| {
            let is_list = body.node(member).kind == JsonKind::Array;
            if NAMED.contains(&key) || is_list && APPLICATORS.contains(&key) {
                body.children(member).for_each(|schema| this.schema_keywords(schema));
            } else if APPLICATORS.contains(&key) {
                this.schema_keywords(member);
            }
        });
    }
}
