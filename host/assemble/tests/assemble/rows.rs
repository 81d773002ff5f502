//! What each part of a profile makes of one conversation, as whole bodies in every API.
//!
//! A body stands as it leaves, but that lines end behind its members and behind the elements of its
//! lists.

use crate::common::*;
use leafgate_assemble::{
    AgentMode, Api, Continuation, MapOf, Profile, ProfilePlugin, ProfilePrompt, Refused, ToolsOf, downgrade,
};
use serde_json::{Value, json};

/// What somebody says, in no API's words.
enum Said {
    System(&'static str),
    User(&'static str),
    /// A user's words with a picture.
    Picture(&'static str),
    Model(&'static str),
    /// The model's words with calls: their ids, and the results that the client keeps with them.
    Calls(&'static str, &'static [(&'static str, Option<&'static str>)]),
    Results(&'static [&'static str]),
}

use Said::{Calls, Model, Picture, Results, System, User};

const TALK: &[Said] = &[User("Hi"), Model("Hello."), User("Now?")];
const TOOLS: &[Said] = &[
    User("Read."),
    Calls("I read.", &[("c1", Some("kept")), ("c2", None), ("lost", None)]),
    Results(&["c2", "orphan"]),
    Model("Both read."),
    User("Now?"),
];

/// A conversation as a client spells it.
fn spelled(api: Api, said: &[Said]) -> Value {
    let list: Vec<Value> = said.iter().flat_map(|said| elements(api, said)).collect();
    let system = said.iter().find_map(|said| if let System(text) = said { Some(*text) } else { None });
    let schema = json!({ "type": "object", "properties": { "path": { "type": "string" },
        "lines": { "type": "object", "properties": { "from": { "type": "integer" } } } } });
    let tool = |name: &str| match api {
        Api::Chat => {
            json!({ "type": "function", "function": { "name": name, "parameters": schema, "strict": true } })
        }
        Api::Responses => json!({ "type": "function", "name": name, "parameters": schema, "strict": true }),
        Api::Messages => json!({ "name": name, "input_schema": schema }),
        Api::Gemini | Api::CodeAssist => json!({ "name": name, "parameters": schema }),
    };
    let tools = [tool("read_file"), tool("write_file")];
    match api {
        Api::Chat => json!({ "model": "m", "messages": list, "tools": tools, "tool_choice": "auto" }),
        Api::Responses => json!({ "model": "m", "input": list, "tools": tools, "tool_choice": "auto" }),
        Api::Messages => match system {
            Some(system) => {
                json!({ "model": "m", "max_tokens": 9, "system": system, "messages": list, "tools": tools })
            }
            None => json!({ "model": "m", "max_tokens": 9, "messages": list, "tools": tools }),
        },
        Api::Gemini | Api::CodeAssist => {
            let tools = json!([{ "functionDeclarations": tools }]);
            match system {
                Some(system) => {
                    json!({ "system_instruction": { "parts": [{ "text": system }] }, "contents": list, "tools": tools })
                }
                None => json!({ "contents": list, "tools": tools }),
            }
        }
    }
}

fn elements(api: Api, said: &Said) -> Vec<Value> {
    match api {
        Api::Chat => chat(said),
        Api::Responses => responses(said),
        Api::Messages => messages(said),
        Api::Gemini | Api::CodeAssist => gemini(said),
    }
}

const PIXEL: &str = "data:image/png;base64,AA==";

fn chat(said: &Said) -> Vec<Value> {
    let message = |role: &str, content: Value| vec![json!({ "role": role, "content": content })];
    match said {
        System(text) => message("system", json!(text)),
        User(text) => message("user", json!(text)),
        Picture(text) => message(
            "user",
            json!([{ "type": "text", "text": text }, { "type": "image_url", "image_url": { "url": PIXEL } }]),
        ),
        Model(text) => {
            vec![json!({ "role": "assistant", "content": text, "message_id": "m-1", "state": "done" })]
        }
        Calls(text, calls) => {
            let call = |(id, result): &(&str, Option<&str>)| {
                json!({ "id": id, "type": "function", "function": { "name": "read_file", "arguments": "" },
                    "result": result })
            };
            let calls: Vec<Value> = calls.iter().map(call).collect();
            vec![json!({ "role": "assistant", "content": text, "tool_calls": calls })]
        }
        Results(ids) => {
            ids.iter().map(|id| json!({ "role": "tool", "tool_call_id": id, "content": "sent" })).collect()
        }
    }
}

fn responses(said: &Said) -> Vec<Value> {
    let message = |role: &str, content: Value| vec![json!({ "role": role, "content": content })];
    match said {
        System(text) => message("developer", json!(text)),
        User(text) => message("user", json!(text)),
        Picture(text) => message(
            "user",
            json!([{ "type": "input_text", "text": text }, { "type": "input_image", "image_url": PIXEL }]),
        ),
        Model(text) => {
            vec![json!({ "role": "assistant", "content": text, "message_id": "m-1", "state": "done" })]
        }
        Calls(text, calls) => {
            let call = |(id, result): &(&str, Option<&str>)| {
                json!({ "type": "function_call", "call_id": id, "name": "read_file", "arguments": "",
                    "result": result })
            };
            message("assistant", json!(text)).into_iter().chain(calls.iter().map(call)).collect()
        }
        Results(ids) => ids
            .iter()
            .map(|id| json!({ "type": "function_call_output", "call_id": id, "output": "sent" }))
            .collect(),
    }
}

fn messages(said: &Said) -> Vec<Value> {
    let message = |role: &str, content: Value| vec![json!({ "role": role, "content": content })];
    match said {
        System(_) => Vec::new(),
        User(text) => message("user", json!(text)),
        Picture(text) => {
            let source = json!({ "type": "base64", "media_type": "image/png", "data": "AA==" });
            message("user", json!([{ "type": "text", "text": text }, { "type": "image", "source": source }]))
        }
        Model(text) => {
            vec![json!({ "role": "assistant", "content": text, "message_id": "m-1", "state": "done" })]
        }
        Calls(text, calls) => {
            let call = |(id, result): &(&str, Option<&str>)| json!({ "type": "tool_use", "id": id, "name": "read_file", "input": {}, "result": result });
            let text = std::iter::once(json!({ "type": "text", "text": text }));
            message("assistant", text.chain(calls.iter().map(call)).collect())
        }
        Results(ids) => {
            let result = |id: &&str| json!({ "type": "tool_result", "tool_use_id": id, "content": "sent" });
            message("user", ids.iter().map(result).collect())
        }
    }
}

/// Calls by id, but the one that is lost: it has a name of its own.
fn gemini(said: &Said) -> Vec<Value> {
    let turn = |role: &str, parts: Value| vec![json!({ "role": role, "parts": parts })];
    match said {
        System(_) => Vec::new(),
        User(text) => turn("user", json!([{ "text": text }])),
        Picture(text) => turn(
            "user",
            json!([{ "text": text }, { "inlineData": { "mimeType": "image/png", "data": "AA==" } }]),
        ),
        Model(text) => vec![
            json!({ "role": "model", "parts": [{ "text": text }], "message_id": "m-1", "state": "done" }),
        ],
        Calls(text, calls) => {
            let call = |(id, result): &(&str, Option<&str>)| {
                let called = json!({ "id": id, "name": "read_file", "args": {}, "result": result });
                json!({ "functionCall": called, "thoughtSignature": "s" })
            };
            let text = std::iter::once(json!({ "text": text }));
            turn("model", text.chain(calls.iter().map(call)).collect())
        }
        Results(ids) => {
            let result = |id: &&str| json!({ "functionResponse": { "id": id, "name": "read_file", "response": { "output": "sent" } } });
            turn("user", ids.iter().map(result).collect())
        }
    }
}

/// A body as lines: they end behind commas that stand at most two deep.
fn lines(body: &str) -> String {
    let (mut lines, mut depth, mut in_text, mut escaped) = (String::new(), 0usize, false, false);
    for character in body.chars() {
        lines.push(character);
        match character {
            _ if escaped => escaped = false,
            '\\' if in_text => escaped = true,
            '"' => in_text = !in_text,
            '{' | '[' if !in_text => depth += 1,
            '}' | ']' if !in_text => depth -= 1,
            ',' if !in_text && depth <= 2 => {
                lines.push('\n');
                lines.push_str(&"  ".repeat(depth));
            }
            _ => {}
        }
    }
    lines
}

/// The bodies that a profile makes of a conversation, in every API.
fn bodies(said: &[Said], profile: &Profile) -> String {
    asking(said, &json!(null), profile)
}

/// As [`bodies`], of requests that pick.
fn asking(said: &[Said], picks: &Value, profile: &Profile) -> String {
    told(|api| {
        let mut request = spelled(api, said);
        if !picks.is_null() {
            request["leafgate"] = picks.clone();
        }
        let made = run(api, &request.to_string(), profile);
        // Whatever a profile makes, it makes it once. What was picked does not leave, so nothing
        // is picked then.
        if picks.is_null() {
            assert_eq!(text(&run(api, &text(&made), profile)), text(&made), "{api:?}");
        }
        text(&made)
    })
}

/// The lesser form of a conversation, in every API.
fn lesser(said: &[Said], without: Refused) -> String {
    told(|api| match downgrade(api, spelled(api, said).to_string().as_bytes(), without, "other") {
        Ok(made) => made.map_or("none".to_owned(), |made| String::from_utf8(made).unwrap()),
        Err(error) => error.to_string(),
    })
}

fn told(body: impl Fn(Api) -> String) -> String {
    let told = |api: Api| format!("{api:?}\n{}", lines(&body(api)));
    APIS.map(told).join("\n\n")
}

fn talks() -> Profile {
    Profile { agent_mode: AgentMode::Off, ..Profile::default() }
}

fn literal(text: &str) -> Option<ProfilePrompt> {
    Some(ProfilePrompt::Literal(text.to_owned()))
}

// S3-02
#[test]
fn one_system_prompt_stands_first() {
    let said = [System("Mine."), User("Hi")];
    insta::assert_snapshot!(bodies(&said, &bare()));
}

// S3-03
#[test]
fn the_agent_prompt_stands_before_the_prompt() {
    let profile =
        Profile { prompt: literal("Be kind."), agent_prompt: Some("prompts/agent.md".to_owned()), ..bare() };
    insta::assert_snapshot!(bodies(TALK, &profile));
}

// S3-04
#[test]
fn the_fallback_stands_where_the_prompt_is_gone() {
    let profile = Profile {
        prompt: Some(ProfilePrompt::File("gone.md".to_owned())),
        fallback_prompt: "Help.".to_owned(),
        ..talks()
    };
    insta::assert_snapshot!(bodies(TALK, &profile));
}

// S3-05, S3-26
#[test]
fn members_for_the_client_do_not_leave() {
    insta::assert_snapshot!(bodies(TALK, &talks()));
}

// S3-06, S3-08
#[test]
fn calls_have_their_results_behind_them_in_agent_mode() {
    insta::assert_snapshot!(bodies(TOOLS, &bare()));
}

// S3-07
#[test]
fn no_trace_of_a_tool_is_left_without_agent_mode() {
    insta::assert_snapshot!(bodies(TOOLS, &talks()));
}

// S3-09
#[test]
fn files_stand_before_the_latest_words_of_the_user() {
    insta::assert_snapshot!(bodies(TALK, &Profile { context: vec!["notes/*.md".to_owned()], ..talks() }));
}

// S3-10
#[test]
fn an_image_stands_as_the_api_wants_it() {
    insta::assert_snapshot!(bodies(TALK, &Profile { context: vec!["pics/cat.png".to_owned()], ..talks() }));
}

// S3-11
#[test]
fn a_map_stands_behind_files() {
    let map = Some(MapOf { root: "notes".to_owned(), depth: 3, entries: 500 });
    let profile = Profile { context: vec!["notes/a.md".to_owned()], map, ..talks() };
    insta::assert_snapshot!(bodies(TALK, &profile));
}

// S3-12
#[test]
fn documents_are_named_on_the_latest_words_of_the_user() {
    insta::assert_snapshot!(bodies(TALK, &Profile { context: vec!["doc:spec-7".to_owned()], ..talks() }));
}

// S3-13
#[test]
fn the_hint_stands_behind_the_prompt_where_tools_are_sent() {
    let profile =
        Profile { prompt: literal("Be kind."), tools_hint: Some("prompts/tools.md".to_owned()), ..bare() };
    insta::assert_snapshot!(bodies(TALK, &profile));
}

// S3-14
#[test]
fn plugins_are_those_that_a_request_picks() {
    let plugins = vec![ProfilePlugin { id: "web-search".to_owned(), max_results: Some(5) }];
    let picks = json!({ "webSearch": { "max_results": 2 } });
    insta::assert_snapshot!(asking(TALK, &picks, &Profile { plugins, ..talks() }));
}

// S3-15, S3-27
#[test]
fn options_are_set() {
    let options = json!({ "include_reasoning": true, "max_tokens": 100 }).as_object().unwrap().clone();
    insta::assert_snapshot!(bodies(TALK, &Profile { options, ..talks() }));
}

// S3-21
#[test]
fn tools_that_are_not_allowed_do_not_leave() {
    let tools = ToolsOf { normalise: false, allow: Some(vec!["read_*".to_owned()]) };
    insta::assert_snapshot!(bodies(TALK, &Profile { tools, ..bare() }));
}

// S3-22
#[test]
fn schemas_ask_for_every_property() {
    let tools = ToolsOf { normalise: true, allow: None };
    insta::assert_snapshot!(bodies(TALK, &Profile { tools, ..bare() }));
}

// S3-23
#[test]
fn context_is_skipped_while_tools_run() {
    let profile = Profile { context: vec!["notes/a.md".to_owned()], ..bare() };
    insta::assert_snapshot!(bodies(&TOOLS[..3], &profile));
}

// S3-23
#[test]
fn context_is_kept_while_tools_run() {
    let context = vec!["notes/a.md".to_owned()];
    let profile = Profile { context, continuation: Continuation::Keep, ..bare() };
    insta::assert_snapshot!(bodies(&TOOLS[..3], &profile));
}

// S3-18
#[test]
fn words_stand_where_images_were() {
    insta::assert_snapshot!(lesser(&[Picture("What is it?")], Refused::Images));
}

// S3-19
#[test]
fn exchanges_leave_with_the_tools() {
    insta::assert_snapshot!(lesser(TOOLS, Refused::Tools));
}

// S3-20
#[test]
fn another_model_is_asked() {
    insta::assert_snapshot!(lesser(TALK, Refused::Model));
}

/// A stored call left without what was asked, its result as a whole, and a denied one not at all.
#[test]
fn a_call_that_was_stored_whole_leaves_as_apis_want_it() {
    let stored = |id: &str, state: &str, result: Value| {
        json!({ "id": id, "messageId": "m", "state": state, "result": result,
            "request": { "id": id, "type": "function", "function": { "name": "read", "arguments": "{}" } } })
    };
    let calls = [
        stored("a", "completed", json!({ "success": true, "data": { "lines": 3 } })),
        stored(
            "b",
            "failed",
            json!({ "success": false, "error": { "code": "X", "message": "no such file" } }),
        ),
        stored("c", "denied", json!(null)),
    ];
    let body = json!({ "model": "m", "messages": [{ "role": "user", "content": "Read." },
        { "role": "assistant", "content": "", "tool_calls": calls }, { "role": "user", "content": "Now?" }] });
    let profile = Profile { agent_mode: AgentMode::On, ..bare() };
    let made = value(&run(Api::Chat, &body.to_string(), &profile));
    let messages = made["messages"].as_array().unwrap();
    let calls = messages.iter().find_map(|message| message["tool_calls"].as_array()).unwrap();
    assert_eq!(calls.len(), 3);
    for call in calls {
        assert_eq!(call["function"], json!({ "name": "read", "arguments": "{}" }), "{call}");
        assert_eq!(call.as_object().unwrap().len(), 3, "{call}");
    }
    let results: Vec<&Value> = messages
        .iter()
        .filter(|message| message["role"] == "tool")
        .map(|message| &message["content"])
        .collect();
    assert_eq!(
        results,
        [&json!("{\"lines\":3}"), &json!("no such file"), &json!("The user denied this call.")]
    );
}
