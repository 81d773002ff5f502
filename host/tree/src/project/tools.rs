//! Tools in the shape that several APIs share: definitions, and calls in a list of their own.

use super::{Access, MemberTable, Projector, option_section, table};
use crate::kinds::LeafKind;
use crate::node::{JsonKind, NodeId};
use crate::section::{Section, SectionId};

/// An element of `tool_calls`, or `function_call`.
pub(crate) static TOOL_CALL: MemberTable = table! {
    "id" Metadata Protected "pairs a call with its result";
    "type" Metadata Protected "discriminator";
    "name" Metadata Protected "names a function (legacy calls)";
    "arguments" ToolArguments Open "what the tool is called with (legacy calls)";
    "function" | "custom" in CALLED_FUNCTION;
};

/// `function` or `custom` of a tool call.
static CALLED_FUNCTION: MemberTable = table! {
    "name" Metadata Protected "names a function";
    "arguments" ToolArguments Open "what the tool is called with";
    "input" ToolArguments Open "what a custom tool is called with";
};

/// An element of `tools` or `functions`.
static TOOL_DEFINITION: MemberTable = table! {
    "type" ToolSchema Protected "discriminator";
    "name" ToolSchema Protected "names a function";
    "function" | "custom" in DEFINED_FUNCTION;
    "parameters" | "input_schema" schema;
};

/// `function` or `custom` of a tool definition.
static DEFINED_FUNCTION: MemberTable = table! {
    "name" ToolSchema Protected "names a function";
    "parameters" schema;
};

impl Projector<'_> {
    /// The elements of `tool_calls`.
    pub(crate) fn tool_calls(&mut self, list: NodeId, message: SectionId) {
        let calls = self.body.children(list).enumerate();
        calls.for_each(|(index, call)| self.tool_call(call, message, index));
    }

    /// An element of `tool_calls`, in the shape that OpenAI chat and raw messages share.
    pub(crate) fn tool_call(&mut self, node: NodeId, message: SectionId, index: usize) {
        let body = self.body;
        let id = self.string_member(node, "id");
        let function = body.member(node, "function").or_else(|| body.member(node, "custom")).unwrap_or(node);
        let name = self.string_member(function, "name");
        self.call(node, message, index, (name, id));
        self.object(node, &TOOL_CALL);
    }

    pub(super) fn tool_definitions(&mut self, node: NodeId, parent: SectionId) {
        let body = self.body;
        self.mark(node, LeafKind::ToolSchema, Access::Open);
        // Definitions stand in an array; a member of an object would leave its key behind.
        let deletable = body.node(node).kind == JsonKind::Array;
        for definition in body.children(node) {
            let function = body.member(definition, "function").or_else(|| body.member(definition, "custom"));
            let tool = self.string_member(function.unwrap_or(definition), "name");
            self.section(Section { tool, deletable, ..option_section(definition, Some(parent)) });
            self.object(definition, &TOOL_DEFINITION);
        }
    }
}
