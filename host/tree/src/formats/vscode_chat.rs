//! A VS Code chat export (`chat.json`, written by `toExport()` of `chatModel.ts`): requests with the answers they got.
//!
//! Nothing of it is sent, so nothing is paired and nothing deleted; every text is a leaf, in each of the places where an export
//! repeats it. Markdown parts have no `kind` there.

use super::{Likeness, Spec, USUAL, shape};
use crate::kinds::{ContentKind, LeafKind, Role, SectionKind};
use crate::node::{JsonKind, NodeId};
use crate::project::{Access, MemberRow, MemberTable, Projector, option_section, table};
use crate::section::{NodeType, Section, SectionId};

/// The format that this file describes.
pub(super) static FORMAT: Spec = Spec {
    aliases: &["vscode"],
    likeness: |body| shape::array(body, body.root(), "requests").map(|_| Likeness::Plausible),
    project,
    ..USUAL
};

/// Any object of a VS Code chat export.
static OBJECT: MemberTable = table! {
    "kind" Metadata Protected "discriminator";
    "$mid" Metadata Protected "discriminator of serialised objects";
    "requestId" Metadata Protected "id";
    "responseId" Metadata Protected "id";
    "toolId" Metadata Protected "names a tool";
    "toolCallId" Metadata Protected "pairs a call with its result";
    "modelId" Metadata Protected "names the model";
    "extensionId" Metadata Protected "id";
    "codeBlockUri" Other Open "a path of the user's";
    "arguments" ToolArguments Open "what the tool was called with";
    "rawInput" ToolArguments Open "what the tool was called with";
    "toolCallResults" ToolResult Open "what tools gave back";
    "resultDetails" ToolResult Open "what the tool gave back";
    "thinking" Reasoning Open "the model's words";
    "range" Metadata Open "counts characters of the question: follows its text as a further edit";
    "editorRange" Metadata Open "counts lines and columns of the question";
};

/// What the editor records of an agent.
static AGENT: MemberTable = table! {
    "id" Metadata Protected "names an agent";
    "name" Metadata Protected "names an agent";
    "fullName" Metadata Protected "names an agent";
    "extensionId" Metadata Protected "id";
    "extensionVersion" Metadata Protected "names a version";
    "extensionPublisherId" Metadata Protected "id";
    "slashCommands" Metadata Open "describes commands of an agent";
    "metadata" Metadata Open "describes an agent";
};

/// What the editor records of a command, and what else a part of a question names.
static NAMED: MemberTable = table! {
    "name" Metadata Protected "names a command";
    "toolName" Metadata Protected "names a tool";
    "promptName" Metadata Protected "names a prompt file";
};

fn project(projector: &mut Projector<'_>) {
    let body = projector.body;
    projector.mark(body.root(), LeafKind::Other, Access::Open);
    for member in body.children(body.root()) {
        if body.has_key(member, "requests") && body.kind(member) == JsonKind::Array {
            let list = projector.section(option_section(member, None));
            for (index, request) in body.children(member).enumerate() {
                // Times, ids and flags belong to the request itself; what was said in it are sections of their own.
                projector
                    .section(Section { kind: SectionKind::Other, ..option_section(request, Some(list)) });
                self::request(projector, request, index);
            }
        } else {
            projector.section(option_section(member, None));
            names(projector, member);
        }
    }
}

/// One request and its answer: the person's message, what was attached, the model's parts, and what else was recorded.
fn request(projector: &mut Projector<'_>, node: NodeId, index: usize) {
    let body = projector.body;
    let index = Some(index);
    names(projector, node);
    for member in body.children(node) {
        match &*body.key_of(member) {
            "message" => {
                projector.message(member, SectionKind::User, Role::User, index);
                question(projector, member);
            }
            "variableData" => {
                let id = projector.message(member, SectionKind::Context, Role::User, index);
                variables(projector, member, id);
            }
            "response" => {
                let id = projector.message(member, SectionKind::Assistant, Role::Assistant, index);
                body.children(member).enumerate().for_each(|(at, part)| self::part(projector, part, id, at));
            }
            "result" => {
                projector.message(member, SectionKind::Other, Role::Other, index);
            }
            _ => {}
        }
    }
}

/// What was attached to a question: one section each, since each was chosen by itself.
fn variables(projector: &mut Projector<'_>, data: NodeId, around: SectionId) {
    let body = projector.body;
    let lists = body.children(data).filter(|&member| body.has_key(member, "variables"));
    for (index, variable) in lists.flat_map(|list| body.children(list)).enumerate() {
        let is_image = projector.text_member(variable, "kind").as_deref() == Some("image");
        let holds = if is_image { ContentKind::Image } else { ContentKind::Document };
        projector.sub_section(variable, around, |section| {
            section.set_part(SectionKind::Context, index, holds, true);
        });
    }
}

/// What a part of an answer holds, by its own word for it; `None` for what is no words. Markdown may have no word.
fn content_kind(projector: &Projector<'_>, part: NodeId, kind: Option<&str>) -> Option<ContentKind> {
    match kind {
        Some("markdownContent" | "markdownVuln") => Some(ContentKind::Text),
        None => projector.body.member(part, "value").map(|_| ContentKind::Text),
        Some("thinking") => Some(ContentKind::Thinking),
        Some("warning") => Some(ContentKind::Warning),
        Some("progressMessage" | "progressTask" | "progressTaskSerialized") => Some(ContentKind::Progress),
        Some(_) => None,
    }
}

fn part(projector: &mut Projector<'_>, node: NodeId, response: SectionId, index: usize) {
    let kind = projector.text_member(node, "kind");
    let is_tool = kind
        .as_deref()
        .is_some_and(|kind| kind.starts_with("toolInvocation") || kind == "prepareToolInvocation");
    let (tool, call_id) =
        (projector.string_member(node, "toolId"), projector.string_member(node, "toolCallId"));
    let content_kind = content_kind(projector, node, kind.as_deref());
    projector.sub_section(node, response, |section| {
        section.kind = if is_tool { SectionKind::ToolCall } else { SectionKind::ContentPart };
        section.node_type = if is_tool { NodeType::ToolCall } else { NodeType::ContentPart };
        section.content_index = Some(index);
        section.content_kind = content_kind;
        section.tool_call_index = is_tool.then_some(index);
        (section.tool, section.call_id) = (tool, call_id);
    });
    let text = match kind.as_deref() {
        Some("thinking") => LeafKind::Reasoning,
        _ if is_tool => LeafKind::ToolResult,
        _ => LeafKind::Text,
    };
    texts(projector, node, text);
}

/// Marks the texts of a question: the message itself where it is one, its text, and those of its parts. What else it holds is recorded
/// about them: ranges, agents, commands, tools.
fn question(projector: &mut Projector<'_>, message: NodeId) {
    let body = projector.body;
    if body.kind(message) != JsonKind::Object {
        return texts(projector, message, LeafKind::Text);
    }
    let parts = body.children(message).filter(|&member| body.has_key(member, "parts"));
    let elements =
        parts.flat_map(|parts| body.children(parts)).filter(|&part| body.kind(part) == JsonKind::Object);
    for object in std::iter::once(message).chain(elements) {
        for text in body.children(object).filter(|&member| body.has_key(member, "text")) {
            projector.mark(text, LeafKind::Text, Access::Open);
        }
    }
    names(projector, message);
}

/// Marks what a part holds as text of a kind, but for its names.
fn texts(projector: &mut Projector<'_>, node: NodeId, kind: LeafKind) {
    projector.mark(node, kind, Access::Open);
    names(projector, node);
}

/// Marks the names and ids in a subtree by the table of exports.
fn names(projector: &mut Projector<'_>, node: NodeId) {
    let body = projector.body;
    match body.kind(node) {
        JsonKind::Object => projector.members(node, &OBJECT, |this, member, key, row| {
            if matches!(row, Some(MemberRow::Leaves(_, access)) if access != Access::Open) {
                return;
            }
            names(this, member);
            match key {
                "agent" => named(this, member, &AGENT),
                "slashCommand" | "command" => named(this, member, &NAMED),
                "parts" => body.children(member).for_each(|part| named(this, part, &NAMED)),
                _ => {}
            }
        }),
        JsonKind::Array => body.children(node).for_each(|element| names(projector, element)),
        _ => {}
    }
}

/// Marks the members of an object by a table of its own.
fn named(projector: &mut Projector<'_>, node: NodeId, table: &'static MemberTable) {
    if projector.body.kind(node) == JsonKind::Object {
        projector.object(node, table);
    }
}
