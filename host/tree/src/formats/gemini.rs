//! Gemini `generateContent`, `streamGenerateContent` and `countTokens`
//! ([API reference](https://ai.google.dev/api/generate-content)).
//!
//! The API reads proto3 JSON, so each key of two words may be spelled in camel case or in snake case, and a list of one element may stand
//! as the element alone. `countTokens` may hold a whole request under `generateContentRequest`, and Gemini Code Assist, which Gemini CLI
//! asks with a login of Google, holds each of its own under `request`. A part says by its key what it holds.
//! The functions that the model called in one turn and the responses in the turns right behind it are one exchange; a call and its
//! response have the same id, or where they have none the same name.

use std::collections::HashMap;
use std::sync::Arc;

use leafgate_api::{Api, gemini};

use super::{Likeness, Rules, Spec, USUAL};
use crate::index::Index;
use crate::kinds::{ContentKind, LeafKind, Role, SectionKind, ValueType};
use crate::node::{JsonKind, NodeId};
use crate::project::{Access, MemberTable, Projector, option_section, table};
use crate::section::{Section, SectionId};

/// The format that this file describes.
pub(super) static FORMAT: Spec = Spec {
    api: Some(Api::Gemini),
    aliases: &["google"],
    // Turns that have parts, or a whole request to be counted.
    likeness: |body| {
        let has_turns = |object| {
            let contents = body.member(object, "contents");
            contents.is_some_and(|contents| {
                elements(body, contents).iter().any(|&turn| body.member(turn, "parts").is_some())
            })
        };
        let root = body.root();
        let is_object = body.kind(root) == JsonKind::Object;
        let is_one = is_object && (has_turns(root) || wrapped(body).is_some_and(has_turns));
        is_one.then_some(Likeness::Plausible)
    },
    project: |projector| {
        let root = projector.body.root();
        projector.mark(root, LeafKind::RequestOption, Access::Open);
        request(projector, root, None, &mut TurnRun::default());
        projector.classify_maps();
    },
    // Most requests name the model in their path alone.
    model: |body| {
        let requests = [Some(body.root()), wrapped(body)];
        let model = requests.into_iter().flatten().find_map(|request| body.member(request, "model"));
        model.filter(|&model| body.scalar(model).is_some())
    },
    // The path says it, never the body.
    streams: |_| false,
    content_key: "parts",
    rules: Rules {
        roles: ROLES,
        empty_text: false,
        user_first: true,
        assistant_last: "the last turn must be the user's or a function's",
        ..USUAL.rules
    },
    pairing: |body, section| {
        let said = body.children(section.node).find(|&member| {
            matches!(holds(&body.key_of(member)), Some(PartMember::Call | PartMember::Result))
        })?;
        let text =
            |key| body.member(said, key).filter(|&member| body.scalar(member) == Some(ValueType::Text));
        text("id").or_else(|| text("name"))
    },
    chosen_tools: |body| {
        let requests = [Some(body.root()), wrapped(body)].into_iter().flatten();
        let allowed = requests.filter_map(|request| {
            let config = either(body, request, gemini::TOOL_CONFIG)?;
            let calling = either(body, config, gemini::CALLING)?;
            either(body, calling, gemini::ALLOWED)
        });
        allowed.flat_map(|names| body.children(names)).filter(|&name| body.scalar(name).is_some()).collect()
    },
    tool_options: &["tools", "toolConfig", "tool_config"],
    wrapper: wrapped,
    message: [r#"{"role":""#, r#"","parts":[{"text":""#, r#""}]}"#],
    system_beside: true,
    ..USUAL
};

/// What `countTokens` and Code Assist hold a whole request under.
const WRAPPED: [&str; 3] = [gemini::WRAPPED[0], gemini::WRAPPED[1], "request"];

/// The whole request that a body holds under one key.
fn wrapped(body: &Index) -> Option<NodeId> {
    either(body, body.root(), WRAPPED).filter(|&request| body.kind(request) == JsonKind::Object)
}

const ROLES: &[(&str, Role)] = &[("user", Role::User), ("model", Role::Assistant), ("function", Role::Tool)];

/// The request itself.
static REQUEST: MemberTable = table! {
    "model" RequestOption Protected "selects the model";
    "project" RequestOption Protected "names who pays";
    "user_prompt_id" Metadata Protected "names what the user asked";
    "cachedContent" | "cached_content" RequestOption Protected "names what the server stored";
};

/// An element of `contents`, and `systemInstruction`.
static CONTENT: MemberTable = table! {
    "role" Metadata Protected "discriminator";
};

/// An element of `parts`.
static PART: MemberTable = table! {
    "thought" Metadata Protected "discriminator";
    "thoughtSignature" | "thought_signature" Reasoning Frozen "signature";
    "mediaResolution" | "media_resolution" Metadata Protected "says how to decode the data";
    "inlineData" | "inline_data" | "fileData" | "file_data" in DATA;
    "functionCall" | "function_call" | "toolCall" | "tool_call" in CALL;
    "executableCode" | "executable_code" in CODE;
    "codeExecutionResult" | "code_execution_result" in OUTPUT;
};

/// `inlineData` and `fileData` of a part.
static DATA: MemberTable = table! {
    "mimeType" | "mime_type" Metadata Protected "says how to decode the data";
    "data" Other Opaque "an image, sound or a file, where it is a binary one";
};

/// `functionCall` and `toolCall` of a part.
static CALL: MemberTable = table! {
    "id" Metadata Protected "pairs a call with its result";
    "name" Metadata Protected "names a function";
    "toolType" | "tool_type" Metadata Protected "names a tool";
    "args" ToolArguments Open "what the function is called with";
};

/// `functionResponse` and `toolResponse` of a part.
static RESPONSE: MemberTable = table! {
    "id" Metadata Protected "pairs a result with its call";
    "name" Metadata Protected "names a function";
    "toolType" | "tool_type" Metadata Protected "names a tool";
    "scheduling" Metadata Protected "discriminator";
    "response" ToolResult Open "what the function gave back";
};

/// `executableCode` of a part.
static CODE: MemberTable = table! {
    "id" Metadata Protected "pairs code with its result";
    "language" Metadata Protected "discriminator";
    "code" ToolArguments Open "what the interpreter is called with";
};

/// `codeExecutionResult` of a part.
static OUTPUT: MemberTable = table! {
    "id" Metadata Protected "pairs a result with its code";
    "outcome" Metadata Protected "discriminator";
    "output" ToolResult Open "what the interpreter gave back";
};

/// An element of `functionDeclarations`.
static DECLARATION: MemberTable = table! {
    "name" ToolSchema Protected "names a function";
    "behavior" ToolSchema Protected "discriminator";
    "parameters" | "parametersJsonSchema" | "parameters_json_schema" schema;
    "response" | "responseJsonSchema" | "response_json_schema" schema;
};

/// `toolConfig`.
static TOOL_CONFIG: MemberTable = table! {
    "functionCallingConfig" | "function_calling_config" RequestOption Protected "says which functions are called";
};

/// `generationConfig`.
static GENERATION: MemberTable = table! {
    "responseSchema" | "response_schema" | "responseJsonSchema" | "response_json_schema" schema;
};

/// What was read of the turns so far.
#[derive(Default)]
struct TurnRun {
    /// How many there were.
    count: usize,
    /// The exchange of the last one.
    exchange: u32,
    /// Whether responses may still belong to that exchange.
    open: bool,
    /// The exchange of each call that has an id.
    calls: HashMap<Arc<str>, u32>,
    /// Whether the system instruction was there. Under its other spelling it is an option: the API refuses a body that has both.
    has_system: bool,
}

impl TurnRun {
    /// Returns the exchange that a turn belongs to, by what is called and answered in it.
    fn exchange_of(&mut self, role: Role, parts: &[Section]) -> u32 {
        let of_kind = |kind| parts.iter().filter(move |part| part.kind == kind);
        let mut results = of_kind(SectionKind::ToolResult).filter(|_| role != Role::Assistant).peekable();
        let answers = results.peek().is_some();
        let called = results.find_map(|result| self.calls.get(result.call_id.as_ref()?).copied());
        let exchange = match called {
            Some(exchange) => exchange,
            None if answers && self.open => self.exchange,
            None => {
                (self.exchange, self.open) = (self.exchange + 1, false);
                self.exchange
            }
        };
        for call in of_kind(SectionKind::ToolCall) {
            self.open = true;
            self.calls.extend(call.call_id.clone().map(|id| (id, exchange)));
        }
        exchange
    }
}

/// Names the members of a request: the body, or what is to be counted, in a section of its own.
fn request(projector: &mut Projector<'_>, node: NodeId, around: Option<SectionId>, turns: &mut TurnRun) {
    projector.members(node, &REQUEST, |this, member, key, _| match key {
        "contents" if this.body.scalar(member).is_none() => {
            elements(this.body, member).into_iter().for_each(|turn| message(this, turn, turns));
        }
        "systemInstruction" | "system_instruction" if !turns.has_system => {
            turns.has_system = true;
            let id = this.message(member, SectionKind::System, Role::System, None);
            content(this, member, id);
        }
        key if WRAPPED.contains(&key) && around.is_none() && this.body.kind(member) == JsonKind::Object => {
            let id = this.section(option_section(member, None));
            request(this, member, Some(id), turns);
        }
        _ => option(this, member, key, around),
    });
}

fn message(projector: &mut Projector<'_>, node: NodeId, turns: &mut TurnRun) {
    let role = match projector.text_member(node, "role").as_deref() {
        // A single turn may leave it out.
        None | Some("") => Role::User,
        Some(_) => projector.role(node, ROLES),
    };
    let id = projector.message(node, SectionKind::of_message(role), role, Some(turns.count));
    turns.count += 1;
    content(projector, node, id);
    let (head, parts) = projector.projection.sections.split_at_mut(id.index() + 1);
    let message = &mut head[id.index()];
    message.exchange = Some(turns.exchange_of(role, parts));
    if role == Role::Tool {
        message.tool = parts.iter().find_map(|part| part.tool.clone());
    }
    projector.classify_user(id, None);
}

/// Names the parts of a turn or of the system instruction, which may be a text alone.
fn content(projector: &mut Projector<'_>, node: NodeId, around: SectionId) {
    let text = if projector.body.kind(node) == JsonKind::Object { LeafKind::Other } else { LeafKind::Text };
    projector.mark(node, text, Access::Open);
    projector.members(node, &CONTENT, |this, member, key, _| {
        if key == "parts" {
            parts(this, member, around);
        }
    });
}

fn parts(projector: &mut Projector<'_>, node: NodeId, around: SectionId) {
    let elements = elements(projector.body, node);
    elements.into_iter().enumerate().for_each(|(index, part)| self::part(projector, part, around, index));
}

/// What a member of a part holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PartMember {
    Text,
    Data,
    Call,
    Result,
    Code,
    Output,
}

fn holds(key: &str) -> Option<PartMember> {
    Some(match key {
        "text" => PartMember::Text,
        "inlineData" | "inline_data" | "fileData" | "file_data" => PartMember::Data,
        "functionCall" | "function_call" | "toolCall" | "tool_call" => PartMember::Call,
        "functionResponse" | "function_response" | "toolResponse" | "tool_response" => PartMember::Result,
        "executableCode" | "executable_code" => PartMember::Code,
        "codeExecutionResult" | "code_execution_result" => PartMember::Output,
        _ => return None,
    })
}

fn part(projector: &mut Projector<'_>, node: NodeId, around: SectionId, index: usize) {
    let body = projector.body;
    let thought = body.member(node, "thought").is_some_and(|flag| body.kind(flag) == JsonKind::True);
    let signature = either(body, node, gemini::SIGNATURE);
    let signed = signature.is_some_and(|signature| body.scalar(signature) == Some(ValueType::Text));
    let held = body.children(node).find_map(|member| Some((member, holds(&body.key_of(member))?)));
    let id = part_section(projector, node, around, index, held, thought);
    projector.mark(node, LeafKind::Other, Access::Open);
    projector.members(node, &PART, |this, member, key, _| match holds(key) {
        Some(PartMember::Text) => {
            this.mark(member, if thought { LeafKind::Reasoning } else { LeafKind::Text }, Access::Open);
        }
        Some(PartMember::Result) => this.members(member, &RESPONSE, |this, member, key, _| {
            if key == "parts" {
                this.mark(member, LeafKind::ToolResult, Access::Open);
                parts(this, member, id);
            }
        }),
        _ => {}
    });
    // A thought goes back as the model gave it out, with the signature that vouches for it. A signature beside a call or an answer
    // covers the thoughts before it: what a call holds stays open.
    if thought && signed {
        projector.mark(node, LeafKind::Reasoning, Access::Frozen);
    }
}

fn part_section(
    projector: &mut Projector<'_>,
    node: NodeId,
    around: SectionId,
    index: usize,
    held: Option<(NodeId, PartMember)>,
    thought: bool,
) -> SectionId {
    let body = projector.body;
    let word = |keys: [&str; 3]| {
        let (member, _) = held?;
        keys.iter().find_map(|key| projector.string_member(member, key))
    };
    let (name, call_id) = (word(["name", "toolType", "tool_type"]), word(["id", "", ""]));
    let contains = match held {
        _ if thought => ContentKind::Thinking,
        Some((_, PartMember::Text)) => ContentKind::Text,
        Some((data, PartMember::Data)) => media_kind(body, data),
        Some((_, PartMember::Result | PartMember::Output)) => ContentKind::ToolResult,
        Some((_, PartMember::Call | PartMember::Code)) | None => ContentKind::Other,
    };
    let name = match held {
        Some((_, PartMember::Code | PartMember::Output)) => Some(Arc::from("code_execution")),
        _ => name,
    };
    match held {
        Some((_, PartMember::Call | PartMember::Code)) => {
            projector.call(node, around, index, (name, call_id))
        }
        Some((_, PartMember::Result | PartMember::Output)) => {
            projector.sub_section(node, around, |section| {
                section.set_part(SectionKind::ToolResult, index, contains, true);
                (section.tool, section.call_id) = (name, call_id);
            })
        }
        Some((_, PartMember::Text | PartMember::Data)) | None => {
            projector.part(node, around, index, contains, contains == ContentKind::Text)
        }
    }
}

/// What a part of data holds, by its media type.
fn media_kind(body: &Index, data: NodeId) -> ContentKind {
    let media_type = either(body, data, gemini::MEDIA_TYPE).map(|member| body.content_text(member));
    let media_type = media_type.unwrap_or_default();
    let starts = |with: &str| media_type.starts_with(with);
    if starts("image/") {
        ContentKind::Image
    } else if starts("audio/") {
        ContentKind::Audio
    } else {
        ContentKind::Document
    }
}

fn option(projector: &mut Projector<'_>, node: NodeId, key: &str, around: Option<SectionId>) {
    let id = projector.section(option_section(node, around));
    match key {
        "contents" | "systemInstruction" | "system_instruction" => {
            projector.mark(node, LeafKind::Text, Access::Open);
        }
        "tools" => tools(projector, node, id),
        "toolConfig" | "tool_config" => projector.object(node, &TOOL_CONFIG),
        "generationConfig" | "generation_config" => projector.object(node, &GENERATION),
        _ => {}
    }
}

/// Makes a section of each tool, and of each function that one declares.
fn tools(projector: &mut Projector<'_>, node: NodeId, option: SectionId) {
    let body = projector.body;
    projector.mark(node, LeafKind::ToolSchema, Access::Open);
    for tool in elements(body, node) {
        let in_list = tool != node;
        let declared = either(body, tool, gemini::FUNCTIONS);
        // What the provider runs is called what its key is.
        let own =
            body.children(tool).next().filter(|_| declared.is_none()).map(|own| Arc::from(body.key_of(own)));
        let around = match in_list {
            true => projector.section(Section {
                tool: own,
                deletable: true,
                ..option_section(tool, Some(option))
            }),
            false => option,
        };
        for declaration in declared.into_iter().flat_map(|declared| elements(body, declared)) {
            let tool = projector.string_member(declaration, "name");
            let deletable = body.is_element(declaration);
            projector.section(Section { tool, deletable, ..option_section(declaration, Some(around)) });
            projector.object(declaration, &DECLARATION);
        }
    }
}

/// The elements of a list, or the one that stands in its place.
fn elements(body: &Index, node: NodeId) -> Vec<NodeId> {
    match body.kind(node) {
        JsonKind::Array => body.children(node).collect(),
        JsonKind::Object => vec![node],
        _ => Vec::new(),
    }
}

/// The member of an object under any of these spellings of its key, the one that stands first.
fn either<const N: usize>(body: &Index, object: NodeId, keys: [&str; N]) -> Option<NodeId> {
    body.children(object).find(|&member| keys.iter().any(|key| body.has_key(member, key)))
}
