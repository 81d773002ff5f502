//! Servers of tools (MCP) that a provider asks by itself: `{"type": "mcp"}` among the tools of OpenAI's
//! Responses, `mcp_servers` and `{"type": "mcp_toolset"}` of Anthropic's Messages.
//!
//! What a server offers stands in no request, unless the request says which of its tools may be called.
//! So a server stays beside a list of allowed tools only where all that it may offer is on that list, or
//! where the list names servers as a whole, as `mcp`.

use serde_json::Value;

use crate::json::Object;

/// The member of a request that names Anthropic's servers.
pub const SERVERS: &str = "mcp_servers";

/// The names by which a list of tools knows servers as a whole.
const SERVER: &str = "mcp";
const TOOLSET: &str = "mcp_toolset";

/// A server of tools, as a request says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolServer {
    kind: &'static str,
    name: Option<String>,
    /// The tools that may be called; `None` where the request does not say.
    tools: Option<Vec<String>>,
}

impl ToolServer {
    /// Reads an element of a list of tools; `None` for one that stands for itself.
    pub fn of_tool(spelled: &str) -> Option<ToolServer> {
        Self::of_element(&serde_json::from_str(spelled).ok()?)
    }

    pub(crate) fn of_element(tool: &Object) -> Option<ToolServer> {
        // Parsers differ about a key that stands twice: it may be a server for one of them.
        let is = |kind: &str| tool.all("type").any(|held| held.as_deref() == Some(kind));
        if is(TOOLSET) {
            let tools = enabled_tools(tool);
            return Some(ToolServer { kind: TOOLSET, name: tool.text("mcp_server_name"), tools });
        }
        is(SERVER).then(|| ToolServer {
            kind: SERVER,
            name: tool.text("server_label"),
            tools: single(tool, "allowed_tools")
                .and_then(|allowed| listed(allowed.get("tool_names").unwrap_or(&allowed))),
        })
    }

    /// Reads an element of [`SERVERS`]. Whatever is none, is one that offers anything.
    pub fn of_server(spelled: &str) -> ToolServer {
        let server: Object = serde_json::from_str(spelled).unwrap_or_default();
        // Before there were toolsets, a server had their settings.
        let settings = single(&server, "tool_configuration");
        let tools = settings.and_then(|settings| listed(settings.get("allowed_tools")?));
        ToolServer { kind: SERVER, name: server.text("name"), tools }
    }

    /// Whether it stays beside tools of which some are kept and some dropped, by their names.
    pub fn passes(&self, is_kept: impl Fn(&str) -> bool, is_dropped: impl Fn(&str) -> bool) -> bool {
        let tools = self.tools.as_deref().unwrap_or_default();
        let all_kept = !tools.is_empty() && tools.iter().all(|tool| is_kept(tool));
        let any_dropped = is_dropped(self.kind) || tools.iter().any(|tool| is_dropped(tool));
        !any_dropped && (all_kept || is_kept(self.kind))
    }

    /// Whether an element of [`SERVERS`] stays: where a toolset names it, with that; else like any.
    pub fn stays(
        &self,
        toolsets: &[ToolServer],
        is_kept: impl Fn(&str) -> bool,
        is_dropped: impl Fn(&str) -> bool,
    ) -> bool {
        let mut own = toolsets.iter().filter(|set| set.kind == TOOLSET && set.name == self.name).peekable();
        match own.peek() {
            Some(_) => own.any(|set| set.passes(&is_kept, &is_dropped)),
            None => self.passes(is_kept, is_dropped),
        }
    }
}

/// Reads a member that stands once.
fn single(object: &Object, key: &str) -> Option<Value> {
    let value = object.get(key).filter(|_| !object.is_twice(key))?;
    serde_json::from_str(value.get()).ok()
}

fn listed(names: &Value) -> Option<Vec<String>> {
    names.as_array()?.iter().map(|name| name.as_str().map(str::to_owned)).collect()
}

/// The tools of a toolset in which all others are switched off.
fn enabled_tools(toolset: &Object) -> Option<Vec<String>> {
    let others_off = single(toolset, "default_config")?.get("enabled")? == false;
    let Some(Value::Object(configs)) = single(toolset, "configs").filter(|_| others_off) else { return None };
    let on = configs.into_iter().filter(|(_, config)| config.get("enabled") != Some(&Value::Bool(false)));
    Some(on.map(|(name, _)| name).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stays(tool: &str, allowed: &[&str]) -> bool {
        let server = ToolServer::of_tool(tool).unwrap();
        server.passes(|name| allowed.contains(&name), |_| false)
    }

    #[test]
    fn a_server_stays_where_all_that_it_may_offer_is_allowed() {
        let toolset = |configs: &str| {
            format!(
                r#"{{"type":"mcp_toolset","mcp_server_name":"s","default_config":{{"enabled":false}},"configs":{configs}}}"#
            )
        };
        for (tool, stays_with) in [
            (r#"{"type":"mcp","server_label":"s","allowed_tools":["a","b"]}"#.to_owned(), true),
            (r#"{"type":"mcp","allowed_tools":{"tool_names":["a"]}}"#.to_owned(), true),
            (toolset(r#"{"a":{"enabled":true},"c":{"enabled":false}}"#), true),
            (r#"{"type":"mcp","allowed_tools":["a","c"]}"#.to_owned(), false),
            (r#"{"type":"mcp","allowed_tools":[]}"#.to_owned(), false),
            (r#"{"type":"mcp","allowed_tools":{"read_only":true}}"#.to_owned(), false),
            (r#"{"type":"mcp","allowed_tools":["a"],"allowed_tools":["c"]}"#.to_owned(), false),
            (r#"{"type":"mcp","name":"a","server_label":"a"}"#.to_owned(), false),
            (r#"{"type":"function","name":"a","type":"mcp"}"#.to_owned(), false),
            (r#"{"type":"mcp_toolset","mcp_server_name":"a","name":"a"}"#.to_owned(), false),
            (toolset(r#"{"a":{},"c":{}}"#), false),
            (toolset("{}"), false),
        ] {
            assert_eq!(stays(&tool, &["a", "b"]), stays_with, "{tool}");
            assert!(stays(&tool, &["mcp", "mcp_toolset"]), "{tool}");
        }
        let dropped = ToolServer::of_tool(r#"{"type":"mcp","allowed_tools":["a"]}"#).unwrap();
        assert!(!dropped.passes(|_| true, |name| name == "a"));
        assert_eq!(ToolServer::of_tool(r#"{"type":"function","name":"mcp"}"#), None);
    }

    #[test]
    fn a_server_stands_and_falls_with_its_toolset() {
        let toolset = |name: &str| {
            format!(
                r#"{{"type":"mcp_toolset","mcp_server_name":"{name}","default_config":{{"enabled":false}},"configs":{{"a":{{}}}}}}"#
            )
        };
        let toolsets: Vec<ToolServer> =
            [toolset("s"), r#"{"type":"mcp_toolset","mcp_server_name":"t"}"#.to_owned()]
                .iter()
                .map(|tool| ToolServer::of_tool(tool).unwrap())
                .collect();
        for (server, stays) in [
            (r#"{"type":"url","name":"s"}"#, true),
            (r#"{"type":"url","name":"t"}"#, false),
            (r#"{"type":"url","name":"t","tool_configuration":{"allowed_tools":["a"]}}"#, false),
            (r#"{"type":"url","name":"u","tool_configuration":{"allowed_tools":["a"]}}"#, true),
            (r#"{"type":"url","name":"u"}"#, false),
            ("\"s\"", false),
        ] {
            let server = ToolServer::of_server(server);
            assert_eq!(server.stays(&toolsets, |name| name == "a", |_| false), stays, "{server:?}");
        }
    }
}
