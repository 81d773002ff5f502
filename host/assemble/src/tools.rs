//! The tools that are sent.

use leafgate_api::gemini::FUNCTIONS;
use leafgate_glob::Glob;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::assemble::AssemblyRun;
use crate::error::AssembleError;
use crate::json::{Object, Raw, raw};
use crate::mcp::{SERVERS, ToolServer};
use crate::step::{Did, Step};

const TOOLS: &str = "tools";

/// Members of a request that mean nothing without tools.
const ABOUT_TOOLS: [&str; 8] = [
    "tool_choice",
    "parallel_tool_calls",
    "max_tool_calls",
    "functions",
    "function_call",
    "toolConfig",
    "tool_config",
    TOOLS,
];

/// Members of a request that give tools of their own, or are for those that the provider runs.
const OF_TOOLS: [&str; 2] = [SERVERS, "container"];

impl AssemblyRun<'_> {
    /// Filters and normalises the tools of a request, and returns whether any are left. Without agent
    /// mode none are.
    pub(crate) fn send_tools(&mut self, body: &mut Object) -> Result<bool, AssembleError> {
        let (profile, wire, agent) = (self.profile, self.wire, self.agent);
        let offered = match body.get(TOOLS).map(RawValue::get) {
            None | Some("null") => Vec::new(),
            Some(_) => {
                body.objects(TOOLS).ok_or_else(|| AssembleError::shape("/tools", "a list of tools"))?
            }
        };
        let allowed = |name: &str| match &profile.tools.allow {
            Some(patterns) => agent && patterns.iter().any(|pattern| Glob::new(pattern).matches(name)),
            None => agent,
        };
        let names =
            |tools: &[Object]| tools.iter().flat_map(|tool| wire.tool_names(tool)).collect::<Vec<_>>();
        let before = names(&offered).len();
        let toolsets: Vec<ToolServer> = offered.iter().filter_map(ToolServer::of_element).collect();
        let wanted = |tool: Object| match ToolServer::of_element(&tool) {
            Some(server) => server.passes(allowed, |_| false).then_some(tool),
            None => wire.with_tools(tool, &allowed),
        };
        let mut tools: Vec<Object> = offered.into_iter().filter_map(wanted).collect();
        let left = names(&tools);
        let has_any = agent && profile.tools.allow.is_none();
        let servers = match has_any {
            true => 0,
            false => filter_servers(body, |server| server.stays(&toolsets, allowed, |_| false)),
        };
        self.steps.extend(Step::count(Did::LeftOutTools, "request", before - left.len() + servers));
        if tools.is_empty() {
            // Servers name tools that no list of a request does.
            match has_any || body.get(SERVERS).is_some() {
                true => _ = body.drop(&ABOUT_TOOLS.map(str::to_owned)),
                false => drop_all(body),
            }
            return Ok(false);
        }
        if left.len() < before {
            wire.unforce(body, &left);
        }
        let mut normalised = 0;
        for tool in tools.iter_mut().filter(|_| profile.tools.normalise) {
            normalised += usize::from(normalise(tool));
        }
        self.steps.extend(Step::count(Did::NormalisedTools, "request", normalised));
        if left.len() < before || normalised > 0 {
            body.set(TOOLS, raw(&tools));
        }
        Ok(true)
    }
}

/// Leaves out servers of tools that are not wanted, and returns how many. What is no list of them is left
/// out whole: nobody knows how it is read.
fn filter_servers(body: &mut Object, is_wanted: impl Fn(&ToolServer) -> bool) -> usize {
    let Some(held) = body.get(SERVERS).filter(|held| held.get() != "null") else { return 0 };
    let held: Option<Vec<Raw>> = serde_json::from_str(held.get()).ok().filter(|_| !body.is_twice(SERVERS));
    let Some(mut servers) = held else {
        body.drop(&[SERVERS.to_owned()]);
        return 1;
    };
    let before = servers.len();
    servers.retain(|server| is_wanted(&ToolServer::of_server(server.get())));
    match servers.len() {
        0 => _ = body.remove(SERVERS),
        left if left < before => body.set(SERVERS, raw(&servers)),
        _ => {}
    }
    before - servers.len()
}

/// Leaves out all tools, and what means nothing without them.
pub(crate) fn drop_all(body: &mut Object) {
    body.drop(&ABOUT_TOOLS.map(str::to_owned));
    body.drop(&OF_TOOLS.map(str::to_owned));
}

/// Members of a schema that hold schemas by name.
const BY_NAME: [&str; 4] = ["properties", "patternProperties", "$defs", "definitions"];
/// Members of a schema that hold a schema, or a list of them.
const SCHEMAS_IN: [&str; 9] =
    ["items", "prefixItems", "anyOf", "oneOf", "allOf", "not", "additionalProperties", "then", "else"];

/// Marks every property of a schema as required, at every depth, and returns whether that changed
/// anything.
fn require_all(schema: &mut Value) -> bool {
    match schema {
        Value::Array(schemas) => {
            let mut changed = false;
            schemas.iter_mut().for_each(|schema| changed |= require_all(schema));
            changed
        }
        Value::Object(members) => {
            let mut changed = require_own(members);
            for (key, member) in members {
                if BY_NAME.contains(&key.as_str()) {
                    let named = member.as_object_mut().into_iter().flat_map(Map::values_mut);
                    named.for_each(|schema| changed |= require_all(schema));
                } else if SCHEMAS_IN.contains(&key.as_str()) {
                    changed |= require_all(member);
                }
            }
            changed
        }
        Value::String(_) | Value::Number(_) | Value::Bool(_) | Value::Null => false,
    }
}

fn require_own(schema: &mut Map<String, Value>) -> bool {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return false };
    let names: Vec<Value> = properties.keys().map(|name| name.as_str().into()).collect();
    let held = schema.get("required").and_then(Value::as_array);
    if names.is_empty() || held.is_some_and(|held| names.iter().all(|name| held.contains(name))) {
        return false;
    }
    schema.insert("required".to_owned(), names.into());
    true
}

/// Members of a tool that hold the schema of its arguments.
const SCHEMAS: [&str; 5] =
    ["parameters", "input_schema", "inputSchema", "parametersJsonSchema", "parameters_json_schema"];

/// Normalises a list of tools of whatever API: every property is required, and `strict` left out. Returns whether that changed
/// anything.
pub fn normalise_tools(tools: &mut Value) -> bool {
    let one = |tool: &mut Value| {
        let Ok(mut object) = serde_json::from_str::<Object>(&tool.to_string()) else { return false };
        let has_changed = normalise(&mut object);
        if has_changed {
            *tool = serde_json::from_str(raw(&object).get()).unwrap_or_default();
        }
        has_changed
    };
    tools.as_array_mut().into_iter().flatten().fold(false, |any, tool| one(tool) | any)
}

/// The same for one tool, which may hold a function or a list of them. Returns whether that changed anything.
fn normalise(tool: &mut Object) -> bool {
    let mut has_changed = tool.remove("strict").is_some();
    let mut set = |tool: &mut Object, key: &str, value: Raw| {
        tool.set(key, value);
        has_changed = true;
    };
    for key in SCHEMAS {
        let schema = tool.get(key).and_then(|held| serde_json::from_str::<Value>(held.get()).ok());
        if let Some(mut schema) = schema
            && require_all(&mut schema)
        {
            set(tool, key, raw(&schema));
        }
    }
    if let Some(mut function) = tool.object("function")
        && normalise(&mut function)
    {
        set(tool, "function", raw(&function));
    }
    for key in FUNCTIONS {
        let mut functions = tool.objects(key).unwrap_or_default();
        if functions.iter_mut().fold(false, |any, function| normalise(function) | any) {
            set(tool, key, raw(&functions));
        }
    }
    has_changed
}
