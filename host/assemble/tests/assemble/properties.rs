//! What holds of every recorded request and of requests made at random, in each API.

use std::collections::BTreeSet;

use crate::common::*;
use leafgate_assemble::{AgentMode, Api, Continuation, Profile, ToolsOf, assemble};
use leafgate_harness::recordings;
use proptest::prelude::*;
use serde_json::{Value, json};

const FOLDERS: [(&str, Api); 4] = [
    ("openai-chat", Api::Chat),
    ("openai-responses", Api::Responses),
    ("anthropic-messages", Api::Messages),
    ("gemini", Api::Gemini),
];

fn recorded() -> Vec<(Api, String, String)> {
    let mut all = Vec::new();
    for (folder, api) in FOLDERS {
        let files = recordings::read(folder, ".request.json");
        assert!(!files.is_empty(), "{folder}");
        let files = files.into_iter().map(|file| (api, file.name, String::from_utf8(file.body).unwrap()));
        // Compactions, counts and the like have no conversation.
        all.extend(files.filter(|(_, _, body)| {
            let body: Value = serde_json::from_str(body).unwrap();
            ["messages", "input", "contents"]
                .iter()
                .any(|key| body.get(*key).is_some_and(|list| !list.is_null()))
        }));
    }
    all
}

fn list_of(api: Api) -> &'static str {
    match api {
        Api::Chat | Api::Messages => "messages",
        Api::Responses => "input",
        Api::Gemini | Api::CodeAssist => "contents",
    }
}

/// The elements of the conversation, without a system message.
fn items(api: Api, body: &Value) -> Vec<Value> {
    let items = body[list_of(api)].as_array().unwrap().clone();
    if api == Api::Chat { items[1..].to_vec() } else { items }
}

fn is_system(item: &Value) -> bool {
    matches!(item["role"].as_str(), Some("system" | "developer"))
}

fn one_system_message_first(api: Api, body: &Value) {
    let system = match api {
        Api::Chat => {
            assert_eq!(body["messages"][0]["role"], "system");
            &body["messages"][0]["content"]
        }
        Api::Responses => &body["instructions"],
        Api::Messages => &body["system"],
        Api::Gemini | Api::CodeAssist => {
            assert!(body.get("system_instruction").is_none() || body.get("systemInstruction").is_none());
            let said = body.get("systemInstruction").unwrap_or(&body["system_instruction"]);
            assert_eq!(said["parts"].as_array().map(Vec::len), Some(1));
            &said["parts"][0]["text"]
        }
    };
    assert!(system.as_str().is_some_and(|text| !text.is_empty()));
    assert!(!items(api, body).iter().any(is_system));
}

fn blocks(item: &Value) -> Vec<Value> {
    item["content"].as_array().cloned().unwrap_or_default()
}

/// Calls of one element, and results in one element.
fn calls_and_results(api: Api, item: &Value) -> (Vec<String>, Vec<String>) {
    let of = |kind: &str, id: &str, list: Vec<Value>| {
        let list = list.into_iter().filter(|block| block["type"] == kind);
        list.map(|block| block[id].as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    match api {
        Api::Chat => {
            let calls = item["tool_calls"].as_array().cloned().unwrap_or_default();
            let calls = calls.iter().map(|call| call["id"].as_str().unwrap_or_default().to_owned()).collect();
            let result = (item["role"] == "tool").then(|| item["tool_call_id"].as_str().unwrap().to_owned());
            (calls, result.into_iter().collect())
        }
        Api::Messages => (of("tool_use", "id", blocks(item)), of("tool_result", "tool_use_id", blocks(item))),
        Api::Responses => {
            let one = vec![item.clone()];
            let calls =
                [of("function_call", "call_id", one.clone()), of("custom_tool_call", "call_id", one.clone())];
            let results = ["function_call_output", "custom_tool_call_output"]
                .map(|kind| of(kind, "call_id", one.clone()));
            (calls.concat(), results.concat())
        }
        Api::Gemini | Api::CodeAssist => {
            let parts = item["parts"].as_array().cloned().unwrap_or_default();
            let named = |keys: [&str; 2]| {
                let held = parts.iter().filter_map(|part| keys.iter().find_map(|key| part.get(key)));
                held.map(|held| held["name"].as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>()
            };
            (named(["functionCall", "function_call"]), named(["functionResponse", "function_response"]))
        }
    }
}

/// Behind each row of calls stand its results, in call order.
fn calls_have_their_results_directly_after(api: Api, body: &Value) {
    if body.get("previous_response_id").is_some_and(|id| !id.is_null()) {
        return;
    }
    let mut open: Vec<String> = Vec::new();
    let mut answering = false;
    for item in items(api, body) {
        let (calls, results) = calls_and_results(api, &item);
        if !calls.is_empty() {
            assert!(!answering || open.is_empty(), "a call before the last results");
            answering = false;
            open.extend(calls);
        } else if !results.is_empty() {
            answering = true;
            assert_eq!(open.drain(..results.len().min(open.len())).collect::<Vec<_>>(), results);
        } else {
            let in_row = api == Api::Responses && item["role"] != "user";
            assert!(open.is_empty() || in_row, "something else before the results");
        }
    }
    assert!(open.is_empty(), "{} calls without a result", open.len());
}

/// What a request says about tools beside its conversation, in any API.
const ABOUT_TOOLS: [&str; 10] = [
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "max_tool_calls",
    "functions",
    "function_call",
    "toolConfig",
    "tool_config",
    "mcp_servers",
    "container",
];

fn no_trace_of_a_tool(api: Api, body: &Value) {
    for key in ABOUT_TOOLS {
        assert!(body.get(key).is_none(), "{key}");
    }
    for item in items(api, body) {
        let (calls, results) = calls_and_results(api, &item);
        assert!(calls.is_empty() && results.is_empty());
        let role = item["role"].as_str();
        let is_known = match api {
            Api::Gemini | Api::CodeAssist => matches!(role, None | Some("user" | "model")),
            _ => matches!(role, Some("user" | "assistant")),
        };
        assert!(is_known, "{role:?} {:?}", item["type"]);
        assert!(item.get("function_call").is_none());
        let kinds: BTreeSet<_> =
            blocks(&item).iter().map(|block| block["type"].as_str().unwrap_or_default().to_owned()).collect();
        assert!(!kinds.iter().any(|kind| kind.contains("tool")), "{kinds:?}");
    }
}

fn context_stands_directly_before_the_latest_user_message(api: Api, body: &Value, expected: bool) {
    let items = items(api, body);
    let is_context = |item: &Value| {
        let said = [&item["content"], &item["parts"]];
        item["role"] == "user"
            && said.iter().any(|said| said.to_string().contains("Context from notes/a.md:"))
    };
    let at: Vec<usize> = (0..items.len()).filter(|at| is_context(&items[*at])).collect();
    assert_eq!(at.len(), usize::from(expected));
    for at in at {
        let latest = items.iter().rposition(|item| is_users(api, item)).unwrap();
        assert_eq!(at + 1, latest);
    }
}

fn profile(agent_mode: AgentMode, continuation: Continuation) -> Profile {
    Profile {
        context: vec!["notes/a.md".to_owned()],
        map: None,
        plugins: Vec::new(),
        model: None,
        agent_mode,
        continuation,
        tools: Default::default(),
        ..full()
    }
}

fn has_user(api: Api, body: &Value) -> bool {
    items(api, body).iter().any(|item| is_users(api, item))
}

/// Whether the user says it, and not a tool. A turn of Gemini without a role is the user's.
fn is_users(api: Api, item: &Value) -> bool {
    let role = &item["role"];
    let is_user = role == "user" || api == Api::Gemini && role.is_null();
    is_user && calls_and_results(api, item).1.is_empty()
}

/// Nothing stands there that an API refuses for its shape: a message, a list of parts, calls or
/// tools without anything in it, a blank text among the parts of a message.
fn nothing_is_empty(api: Api, body: &Value) {
    let is_blank = |text: &Value| text.as_str().is_some_and(|text| text.trim().is_empty());
    let is_bare = |list: &Value| list.as_array().is_some_and(Vec::is_empty);
    for key in ["tools", "tool_choice", "plugins"] {
        assert!(!is_bare(&body[key]), "{key} is empty");
    }
    for item in items(api, body) {
        for key in ["content", "parts", "tool_calls"] {
            assert!(!is_bare(&item[key]), "{key} of {} is empty", item["role"]);
        }
        if api == Api::Messages {
            assert!(!is_blank(&item["content"]), "{} says nothing", item["role"]);
            assert!(!blocks(&item).iter().any(|block| block["type"] == "text" && is_blank(&block["text"])));
        }
        let says_nothing = item["content"].is_null() && item["tool_calls"].is_null();
        assert!(api != Api::Chat || !says_nothing, "{} has neither content nor calls", item["role"]);
    }
}

/// Checks all of it for one request.
fn check(api: Api, name: &str, request: &str) {
    for agent_mode in [AgentMode::On, AgentMode::Off] {
        for continuation in [Continuation::SkipContext, Continuation::Keep] {
            let profile = profile(agent_mode, continuation);
            let assembled = run(api, request, &profile);
            let body = value(&assembled);
            one_system_message_first(api, &body);
            nothing_is_empty(api, &body);
            match agent_mode {
                AgentMode::Off => no_trace_of_a_tool(api, &body),
                _ => calls_have_their_results_directly_after(api, &body),
            }
            if continuation == Continuation::Keep {
                context_stands_directly_before_the_latest_user_message(api, &body, has_user(api, &body));
            }
            assert_eq!(run(api, request, &profile).body, assembled.body, "{name}");
            let twice = run(api, &text(&assembled), &profile);
            assert_eq!(text(&twice), text(&assembled), "{name}");
        }
    }
}

// S3-02
#[test]
fn every_recorded_request_is_assembled() {
    let all = recorded();
    assert!(all.len() >= 5);
    for (api, name, request) in all {
        check(api, &name, &request);
    }
}

#[derive(Clone, Debug)]
enum Said {
    System,
    User(String),
    Model(String, Vec<(u8, bool)>),
    Results(Vec<u8>, bool),
}

fn any_said() -> impl Strategy<Value = Said> {
    let calls = prop::collection::vec((0..6u8, any::<bool>()), 0..4);
    prop_oneof![
        1 => Just(Said::System),
        3 => "[a-z ]{0,12}".prop_map(Said::User),
        4 => ("[a-z]{0,6}", calls).prop_map(|(text, calls)| Said::Model(text, calls)),
        3 => (prop::collection::vec(0..6u8, 1..4), any::<bool>()).prop_map(|(ids, beside)| Said::Results(ids, beside)),
    ]
}

/// The name of a function: some calls of one turn have the same.
fn function(call: u8) -> String {
    format!("f{}", call / 3)
}

/// A conversation as a client may send it: calls without results, results without calls, ids twice
/// in different turns.
fn request(api: Api, said: &[Said]) -> String {
    let mut list = Vec::new();
    for (turn, one) in said.iter().enumerate() {
        // Each turn's calls have ids of their own, as APIs give them.
        let id = |turn: usize, id: u8| format!("c{turn}_{id}");
        match one {
            Said::System if !matches!(api, Api::Messages | Api::Gemini) => {
                list.push(json!({ "role": "system", "content": "Own." }))
            }
            Said::System => {}
            Said::User(text) if api == Api::Gemini => {
                list.push(json!({ "role": "user", "parts": [{ "text": format!("u{text}") }] }));
            }
            Said::User(text) => list.push(json!({ "role": "user", "content": format!("u{text}") })),
            Said::Model(text, calls) => {
                let mut seen = BTreeSet::new();
                let calls: Vec<_> = calls.iter().filter(|(call, _)| seen.insert(*call)).collect();
                let stored = |stored: bool| if stored { json!("kept") } else { Value::Null };
                match api {
                    Api::Chat => {
                        let calls: Vec<_> = calls
                            .iter()
                            .map(|(call, kept)| {
                                json!({ "id": id(turn, *call), "type": "function",
                            "function": { "name": "f", "arguments": "" }, "result": stored(*kept) })
                            })
                            .collect();
                        list.push(
                            json!({ "role": "assistant", "content": text, "tool_calls": calls, "state": 1 }),
                        );
                    }
                    Api::Messages => {
                        let mut content = vec![json!({ "type": "text", "text": format!("m{text}") })];
                        content.extend(calls.iter().map(|(call, kept)| {
                            json!({ "type": "tool_use", "id": id(turn, *call),
                            "name": "f", "input": {}, "result": stored(*kept) })
                        }));
                        list.push(json!({ "role": "assistant", "content": content }));
                    }
                    Api::Responses => {
                        list.push(json!({ "type": "reasoning", "id": "r", "summary": [] }));
                        list.extend(calls.iter().map(|(call, kept)| {
                            json!({ "type": "function_call", "call_id": id(turn, *call),
                            "name": "f", "arguments": "{}", "result": stored(*kept) })
                        }));
                        if !text.is_empty() {
                            list.push(json!({ "role": "assistant", "content": text }));
                        }
                    }
                    // Every other call has an id; those of one name answer in order.
                    Api::Gemini | Api::CodeAssist => {
                        let mut parts = vec![json!({ "text": format!("m{text}"), "thought": true })];
                        parts.extend(calls.iter().map(|(call, kept)| {
                            let mut called =
                                json!({ "name": function(*call), "args": {}, "result": stored(*kept) });
                            if call % 2 == 0 {
                                called["id"] = id(turn, *call).into();
                            }
                            json!({ "functionCall": called, "thoughtSignature": "s" })
                        }));
                        list.push(json!({ "role": "model", "parts": parts }));
                    }
                }
            }
            Said::Results(ids, beside) => {
                let calls: BTreeSet<u8> = ids.iter().copied().collect();
                let ids: BTreeSet<String> =
                    ids.iter().map(|call| id(turn.saturating_sub(1), *call)).collect();
                match api {
                    Api::Chat => list.extend(
                        ids.iter().map(|id| json!({ "role": "tool", "tool_call_id": id, "content": "r" })),
                    ),
                    Api::Responses => {
                        list.extend(ids.iter().map(
                            |id| json!({ "type": "function_call_output", "call_id": id, "output": "r" }),
                        ))
                    }
                    Api::Messages => {
                        let mut content: Vec<_> = ids
                            .iter()
                            .map(|id| json!({ "type": "tool_result", "tool_use_id": id, "content": "r" }))
                            .collect();
                        content.extend(beside.then(|| json!({ "type": "text", "text": "and" })));
                        list.push(json!({ "role": "user", "content": content }));
                    }
                    Api::Gemini | Api::CodeAssist => {
                        let mut parts: Vec<_> = calls
                            .iter()
                            .map(|call| {
                                let mut result =
                                    json!({ "name": function(*call), "response": { "r": call } });
                                if call % 2 == 0 {
                                    result["id"] = id(turn.saturating_sub(1), *call).into();
                                }
                                json!({ "functionResponse": result })
                            })
                            .collect();
                        parts.extend(beside.then(|| json!({ "text": "and" })));
                        list.push(json!({ "role": "user", "parts": parts }));
                    }
                }
            }
        }
    }
    let tool = match api {
        Api::Chat => json!({ "type": "function", "function": { "name": "f", "parameters": {} } }),
        Api::Responses => json!({ "type": "function", "name": "f", "parameters": {} }),
        Api::Messages => json!({ "name": "f", "input_schema": {} }),
        Api::Gemini | Api::CodeAssist => json!({ "functionDeclarations": [{ "name": "f" }] }),
    };
    let mut body = json!({ "model": "m", list_of(api): list });
    // Those of other APIs too; the other spelling of one that is there is refused.
    let once = ABOUT_TOOLS.iter().filter(|key| **key != "tool_config");
    once.for_each(|key| body[*key] = json!({}));
    body["tools"] = json!([tool]);
    body.to_string()
}

/// JSON in the words of the APIs, and in no shape of theirs.
fn any_json() -> impl Strategy<Value = Value> {
    let words = [
        "user",
        "assistant",
        "model",
        "tool",
        "system",
        "text",
        "tool_use",
        "tool_result",
        "function_call",
        "reasoning",
        "c1",
    ];
    let leaf = prop_oneof![
        4 => prop::sample::select(words.to_vec()).prop_map(Value::from),
        1 => prop_oneof![Just(Value::Null), Just(json!(true)), Just(json!(-1.5e300))],
    ];
    let keys = [
        "role",
        "content",
        "type",
        "id",
        "tool_calls",
        "function",
        "name",
        "arguments",
        "result",
        "tool_use_id",
        "tool_call_id",
        "call_id",
        "input",
        "documentContext",
        "documentIds",
        "parameters",
        "properties",
        "parts",
        "functionCall",
        "functionResponse",
        "functionDeclarations",
    ];
    leaf.prop_recursive(5, 40, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(prop::sample::select(keys.to_vec()), inner, 0..6).prop_map(
                |members| { members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect() }
            ),
        ]
    })
}

/// Names of tools of which a profile allows some.
const NAMES: [&str; 4] = ["a", "b", "mcp", "mcp_toolset"];

fn any_names() -> impl Strategy<Value = Vec<&'static str>> {
    prop::sample::subsequence(NAMES.to_vec(), 0..=NAMES.len())
}

/// A tool, or a server of tools that says or does not say what it offers.
fn any_tool(api: Api) -> impl Strategy<Value = Value> {
    let function = move |name: &str| match api {
        Api::Chat => json!({ "type": "function", "function": { "name": name } }),
        Api::Responses => json!({ "type": "function", "name": name }),
        Api::Messages => json!({ "name": name, "input_schema": {} }),
        Api::Gemini | Api::CodeAssist => json!({ "functionDeclarations": [{ "name": name }] }),
    };
    prop_oneof![
        prop::sample::select(vec!["a", "b"]).prop_map(function),
        prop::option::of(any_names()).prop_map(
            |names| json!({ "type": "mcp", "name": "a", "server_label": "a", "allowed_tools": names })
        ),
        (prop::option::of(any_names()), 0..2u8).prop_map(|(names, server)| {
            let configs: serde_json::Map<_, _> = NAMES
                .iter()
                .map(|name| {
                    ((*name).to_owned(), json!({ "enabled": names.iter().flatten().any(|on| on == name) }))
                })
                .collect();
            json!({ "type": "mcp_toolset", "name": "a", "mcp_server_name": server.to_string(),
                    "default_config": { "enabled": names.is_none() }, "configs": configs })
        }),
    ]
}

fn any_server() -> impl Strategy<Value = Value> {
    let settings = prop::option::of(any_names());
    (0..3u8, settings).prop_map(|(name, names)| {
        json!({ "type": "url", "name": name.to_string(), "tool_configuration": names.map(|names| json!({ "allowed_tools": names })) })
    })
}

/// What an element of a list of tools may offer; nothing where it may be anything.
fn offers(tool: &Value) -> Vec<String> {
    let texts = |list: &Value| {
        let list = list.as_array().into_iter().flatten();
        list.map(|name| name.as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    match tool["type"].as_str() {
        Some("mcp") => texts(&tool["allowed_tools"]),
        Some("mcp_toolset") if tool["default_config"]["enabled"] == false => {
            let on =
                tool["configs"].as_object().unwrap().iter().filter(|(_, config)| config["enabled"] == true);
            on.map(|(name, _)| name.clone()).collect()
        }
        Some("mcp_toolset") => Vec::new(),
        Some("url") => texts(&tool["tool_configuration"]["allowed_tools"]),
        _ => {
            let function =
                [&tool["function"]["name"], &tool["functionDeclarations"][0]["name"], &tool["name"]];
            function.iter().find_map(|name| name.as_str()).map(str::to_owned).into_iter().collect()
        }
    }
}

/// A list of allowed tools is a bound on all that is offered, whoever runs it.
fn nothing_is_offered_that_is_not_allowed(body: &Value, allowed: &[&str]) {
    let all_allowed = |tool: &Value, kind: &str| {
        let offers = offers(tool);
        let named = !offers.is_empty() && offers.iter().all(|name| allowed.contains(&name.as_str()));
        named || allowed.contains(&kind)
    };
    let tools: Vec<&Value> = body["tools"].as_array().into_iter().flatten().collect();
    for tool in &tools {
        let kind = tool["type"].as_str().filter(|kind| kind.starts_with("mcp"));
        assert!(all_allowed(tool, kind.unwrap_or("")), "{tool} beside {allowed:?}");
    }
    for server in body["mcp_servers"].as_array().into_iter().flatten() {
        let has_set = tools.iter().any(|tool| tool["mcp_server_name"] == server["name"]);
        assert!(has_set || all_allowed(server, "mcp"), "{server} beside {allowed:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 200, ..ProptestConfig::default() })]

    // S3-06, S3-07, S3-08
    #[test]
    fn any_conversation_is_assembled(said in prop::collection::vec(any_said(), 0..12)) {
        for api in APIS {
            check(api, "a conversation at random", &request(api, &said));
        }
    }

    // S3-21
    #[test]
    fn a_list_of_allowed_tools_bounds_what_servers_offer(
        (api, tools) in prop::sample::select(APIS.to_vec())
            .prop_flat_map(|api| (Just(api), prop::collection::vec(any_tool(api), 0..4))),
        servers in prop::collection::vec(any_server(), 0..3),
        allowed in any_names(),
    ) {
        let allow = allowed.iter().map(|&name| name.to_owned()).collect();
        let profile = Profile { tools: ToolsOf { normalise: false, allow: Some(allow) }, ..bare() };
        let said = match api {
            Api::Gemini | Api::CodeAssist => json!([{ "role": "user", "parts": [{ "text": "u" }] }]),
            Api::Chat | Api::Responses | Api::Messages => json!([{ "role": "user", "content": "u" }]),
        };
        let body = json!({ "model": "m", list_of(api): said, "tools": tools, "mcp_servers": servers }).to_string();
        let once = run(api, &body, &profile);
        nothing_is_offered_that_is_not_allowed(&value(&once), &allowed);
        prop_assert_eq!(text(&run(api, &text(&once), &profile)), text(&once));
        // What offers nothing but what is allowed stays.
        let everything = Profile { tools: ToolsOf { normalise: false, allow: Some(vec!["*".to_owned()]) }, ..bare() };
        let left = value(&run(api, &body, &everything));
        prop_assert!(tools.is_empty() || left["tools"].as_array().map(Vec::len) == Some(tools.len()), "{left}");
        prop_assert!(servers.is_empty() || left["mcp_servers"] == json!(servers), "{left}");
    }

    #[test]
    fn no_shape_makes_it_panic(list in prop::collection::vec(any_json(), 0..5), system in any_json(), tools in any_json()) {
        for api in APIS {
            let body = json!({ "messages": list, "input": list, "contents": list, "systemInstruction": system, "system": system, "instructions": system, "tools": tools });
            for agent_mode in [AgentMode::On, AgentMode::Off] {
                let model = full().model.filter(|_| api != Api::Gemini);
                let profile = Profile { agent_mode, model, ..full() };
                if let Ok(once) = assemble(api, body.to_string().as_bytes(), &profile, &Memory::usual(), None) {
                    one_system_message_first(api, &value(&once));
                    prop_assert!(assemble(api, &once.body, &profile, &Memory::usual(), None).is_ok());
                }
            }
        }
    }
}
