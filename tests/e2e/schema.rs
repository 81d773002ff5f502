//! The schema of the admin API, held against every answer of a running gate by a validator that is not ours.

use std::cell::RefCell;
use std::collections::BTreeSet;

use leafgate_tests::admin::{Admin, Events, chat_later};
use leafgate_tests::gate::{self, Gate};
use leafgate_tests::http::Message;
use leafgate_tests::{plant, sample};
use serde_json::{Map, Value, json};

use crate::setup::policy;

const RULES: &str = r#"
[[rule]]
id = "secrets"
match = {}
detect = ["secrets"]
action = "redact"

[[rule]]
id = "steady"
match = { role = "system" }
action = "pin"
to = "Be brief."

[[rule]]
id = "ask-first"
match = {}
when = 'leaf.text.contains("prod-db")'
action = "pause"
reason = "Production data"

[plugins.names]
file = "names.js"

[[assemble]]
id = "by-url"
prompt = { type = "literal", text = "Be brief." }
"#;

/// One agent, for clients that can only choose models.
const TEAM: &str = r#"{
    "entryAgent": "lead",
    "agents": [{ "name": "lead", "systemPrompt": "Lead.", "description": "Leads", "useFor": "All",
        "delegationPermissions": { "type": "all" }, "toolPermissions": { "type": "all" } }],
    "leafgate": { "defaultModel": "gpt-sample" }
}"#;

/// The schema as `leafgate schema admin` writes it, closed: a field that it does not know is an error here.
struct Contract {
    schema: Value,
    /// The calls whose answers were checked.
    checked: RefCell<BTreeSet<String>>,
}

impl Contract {
    fn printed() -> Self {
        let output = gate::run(&["schema", "admin"], b"").unwrap();
        assert!(output.status.success());
        let mut schema: Value = serde_json::from_slice(&output.stdout).unwrap();
        close(&mut schema["$defs"]);
        Contract { schema, checked: RefCell::default() }
    }

    fn entry(&self, method: &str, path: &str) -> &Value {
        let calls = self.schema["calls"].as_array().unwrap();
        let found = calls.iter().find(|call| call["method"] == method && call["path"] == path);
        found.unwrap_or_else(|| panic!("the schema has no {method} {path}"))
    }

    fn check(&self, of: &Value, value: &Value, what: &str) {
        let mut schema = json!({ "$schema": self.schema["$schema"], "$defs": self.schema["$defs"] });
        schema["allOf"] = json!([of]);
        let validator = jsonschema::validator_for(&schema).unwrap();
        let errors: Vec<_> = validator
            .iter_errors(value)
            .map(|error| format!("{} says no at {}", error.schema_path(), error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{what}: {errors:#?}");
    }

    fn answer(&self, method: &str, path: &str, answer: &Value) {
        self.check(&self.entry(method, path)["answer"], answer, &format!("{method} {path}"));
        self.checked.borrow_mut().insert(format!("{method} {path}"));
    }

    fn body(&self, method: &str, path: &str, body: &Value) {
        self.check(&self.entry(method, path)["body"], body, &format!("the body of {method} {path}"));
    }

    fn all(&self) -> BTreeSet<String> {
        let calls = self.schema["calls"].as_array().unwrap().iter();
        let name =
            |call: &Value| format!("{} {}", call["method"].as_str().unwrap(), call["path"].as_str().unwrap());
        calls.map(name).collect()
    }
}

/// Makes every object of a schema refuse members that it does not name.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            let composed = ["oneOf", "anyOf", "allOf", "$ref"].iter().any(|key| members.contains_key(*key));
            if members.contains_key("properties") {
                let word = if composed { "unevaluatedProperties" } else { "additionalProperties" };
                members.entry(word).or_insert(Value::Bool(false));
            }
            let inside = |members: &mut Map<String, Value>, but: &[&str]| {
                members
                    .iter_mut()
                    .filter(|(key, _)| !but.contains(&key.as_str()))
                    .for_each(|(_, inner)| close(inner));
            };
            // What is composed with members around it sees only a part of the object.
            let open: &[&str] = if members.contains_key("properties") && composed {
                &["oneOf", "anyOf", "allOf"]
            } else {
                &[]
            };
            inside(members, open);
        }
        Value::Array(items) => items.iter_mut().for_each(close),
        _ => {}
    }
}

/// Calls a gate, and holds each body and answer against the schema.
struct Caller {
    contract: Contract,
    admin: Admin,
}

impl Caller {
    fn exchange(&self, method: &str, path: &str, body: Option<&Value>) -> Message {
        let (host, bearer) = (self.admin.address().to_string(), self.admin.bearer());
        let mut headers = vec![("host", host.as_str()), ("authorization", bearer.as_str())];
        headers.extend(body.map(|_| ("content-type", "application/json")));
        let body = body.map_or(Vec::new(), |body| body.to_string().into_bytes());
        self.admin.raw(method, path, &headers, &body).unwrap()
    }

    /// `pattern` is the path in the schema; what its `{id}` is comes with it.
    fn call(&self, method: &str, pattern: &str, id: &str, body: Option<&Value>) -> Value {
        if let Some(body) = body {
            self.contract.body(method, pattern, body);
        }
        let answer = self.exchange(method, &pattern.replace("{id}", id), body);
        assert_eq!(answer.status(), 200, "{method} {pattern}: {}", String::from_utf8_lossy(&answer.body));
        let answer = answer.json().unwrap();
        self.contract.answer(method, pattern, &answer);
        answer
    }

    fn get(&self, pattern: &str, id: &str) -> Value {
        self.call("GET", pattern, id, None)
    }

    fn edit(&self, id: &str, command: &Value) -> Value {
        self.call("POST", "/v1/pending/{id}/edit", id, Some(command))
    }

    fn event(&self, events: &mut Events, name: &str) -> Value {
        let event = events.next(name).unwrap();
        self.contract.answer("GET", "/v1/events", &event);
        event
    }

    fn refused(&self, method: &str, path: &str, body: Option<&Value>) {
        let answer = self.exchange(method, path, body);
        assert!(answer.status() >= 400, "{method} {path}");
        self.contract.check(&self.contract.schema["error"], &answer.json().unwrap(), path);
    }
}

/// A conversation with everything that sections are made of, and a secret.
fn chat() -> Vec<u8> {
    let call = json!({ "id": "call_1", "type": "function",
        "function": { "name": "run_sql", "arguments": "{\"query\":\"select 1\",\"limit\":10}" } });
    let secret = plant::github(7);
    let mut body: Value = serde_json::from_slice(&sample::messages(
        "gpt-sample",
        &json!([
            { "role": "system", "content": "Be brief." },
            { "role": "user", "content": [{ "type": "text", "text": format!("key {secret}") },
                { "type": "image_url", "image_url": { "url": "data:image/png;base64,AAAA" } }] },
            { "role": "assistant", "content": null, "tool_calls": [call] },
            { "role": "tool", "tool_call_id": "call_1", "content": "prod-db: orders" },
            { "role": "user", "content": "Explain." },
        ]),
    ))
    .unwrap();
    body["max_tokens"] = json!(512);
    body["tools"] = json!([{ "type": "function", "function": { "name": "run_sql", "parameters": {} } }]);
    body.to_string().into_bytes()
}

// S0-05, S0-17, S0-19, S0-22, S0-28, S0-32, S0-102, S0-104, S1-07
#[test]
fn every_answer_of_a_running_gate_is_as_the_schema_says() {
    let rules = policy(RULES);
    let script = "export const labels = [\"NAME\"];\nexport const detect = (leaf) => leaf.find(\"Ann\");\n";
    std::fs::write(rules.path().join("names.js"), script).unwrap();
    std::fs::write(rules.path().join("agents.json"), TEAM).unwrap();
    let gate = Gate::of(rules.path()).unwrap();
    let caller = Caller { contract: Contract::printed(), admin: Admin::of(&gate).unwrap() };
    let mut events = caller.admin.events().unwrap();
    caller.get("/v1/status", "");
    caller.get("/v1/mode", "");
    let client = chat_later(&gate, &chat()).unwrap();
    let id = caller.event(&mut events, "paused")["turn"]["id"].as_str().unwrap().to_owned();
    caller.get("/v1/pending", "");
    let turn = caller.get("/v1/pending/{id}", &id);
    let key = |at: usize| turn["sections"][at]["id"].as_str().unwrap().to_owned();
    let first = (0..).map(key).find(|key| key.starts_with("user-")).unwrap();
    for command in [
        json!({ "action": "set", "pointer": "/messages/4/content", "text": "Explain it." }),
        json!({ "action": "set", "pointer": "/messages/2/tool_calls/0/function/arguments/limit", "text": "5" }),
        json!({ "action": "set", "pointer": "/max_tokens", "text": "1024" }),
        json!({ "action": "insert", "before": first, "text": "prod-db again" }),
        json!({ "action": "delete", "section": first }),
        json!({ "action": "restore", "section": first }),
        json!({ "action": "undo" }),
        json!({ "action": "redo" }),
        json!({ "action": "reset" }),
        json!({ "action": "undo" }),
    ] {
        caller.edit(&id, &command);
    }
    caller.event(&mut events, "changed");
    let pins = json!({ "sections": [first] });
    let pinned = caller.call("PUT", "/v1/pending/{id}/pins", &id, Some(&pins));
    assert_eq!(
        pinned["pinned"],
        json!([first, "system-0"]),
        "a person's pins come first, then those of rules"
    );
    let whole = caller.get("/v1/pending/{id}/request", &id);
    shows_the_documents_fields(&whole);
    caller.get("/v1/pending/{id}/outline", &id);
    caller.get("/v1/pending/{id}/diff", &id);
    let payload = caller.get("/v1/pending/{id}/payload", &id);
    reveals(&caller, payload["body"].as_str().unwrap());
    caller.refused("GET", "/v1/pending/99", None);
    caller.refused("PUT", &format!("/v1/pending/{id}/pins"), Some(&json!({ "sections": ["none"] })));
    caller.refused("GET", &format!("/v1/pending/{id}/outline?depth=2"), None);
    caller.refused("DELETE", "/v1/mode", None);
    caller.call("PUT", "/v1/mode", "", Some(&json!({ "mode": "interceptAlways" })));
    caller.event(&mut events, "mode");
    let sessions = caller.get("/v1/sessions", "");
    let session = sessions["sessions"][0]["id"].as_str().unwrap();
    caller.call("POST", "/v1/sessions/{id}/select", session, Some(&json!({})));
    caller.event(&mut events, "sessions");
    caller.call("PUT", "/v1/sessions", "", Some(&json!({ "follow": true })));
    caller.call("PUT", "/v1/mode", "", Some(&json!({ "mode": "autoOverride" })));
    caller.get("/v1/pending/{id}/capture", &id);
    let captured = caller.call("POST", "/v1/pending/{id}/capture", &id, Some(&json!({ "onDrift": "skip" })));
    let edit = captured["edits"][0]["id"].as_str().unwrap();
    caller.call("POST", "/v1/pending/{id}/capture", &id, Some(&json!({ "export": true })));
    let resume = json!({ "digest": payload["digest"] });
    let resumed = caller.call("POST", "/v1/pending/{id}/resume", &id, Some(&resume));
    assert_eq!(resumed["captured"], Value::Null, "a rule's pause captures nothing");
    caller.event(&mut events, "resolved");
    client.join().unwrap().unwrap();
    caller.get("/v1/mode", "");
    saved_edits(&caller, edit);
    caller.call("PUT", "/v1/mode", "", Some(&json!({ "mode": "off" })));
    caller.call("PUT", "/v1/off", "", Some(&json!({ "seconds": 60 })));
    caller.call("PUT", "/v1/off", "", Some(&json!({ "seconds": 0 })));
    let mut other = gate.client().unwrap();
    let body = chat();
    let client = std::thread::spawn(move || other.chat(&body));
    let id = caller.event(&mut events, "paused")["turn"]["id"].as_str().unwrap().to_owned();
    caller.call("POST", "/v1/pending/{id}/cancel", &id, Some(&json!({})));
    client.join().unwrap().unwrap();
    caller.call("DELETE", "/v1/sessions/{id}", session, None);
    agents(&caller, &gate);
    caller.call("POST", "/v1/plugins/{id}/release", "names", Some(&json!({})));
    caller.refused("POST", "/v1/plugins/none/release", Some(&json!({})));
    excepts(&caller, &gate, &mut events);
    std::fs::write(rules.path().join("rules.toml"), "no rule").unwrap();
    // The policies before it were loaded, as many as the gate had time for.
    while caller.event(&mut events, "policy")["policy"]["refused"].is_null() {}
    assert_eq!(*caller.contract.checked.borrow(), caller.contract.all(), "every call was made");
}

/// The value of the token that a body would leave with.
fn reveals(caller: &Caller, body: &str) {
    let (_, behind) = body.split_once("key ").unwrap();
    let (token, _) = behind.split_once('"').unwrap();
    let revealed =
        caller.call("POST", "/v1/reveal", "", Some(&json!({ "token": token, "by": "a test (uid 0)" })));
    assert_eq!(revealed["value"], plant::github(7));
    caller.refused("POST", "/v1/reveal", Some(&json!({ "token": "none", "by": "a test" })));
}

/// An exception from a redaction of a turn, which the running gate then loads.
fn excepts(caller: &Caller, gate: &Gate, events: &mut Events) {
    // Another question than those that were cancelled.
    let body = String::from_utf8(chat()).unwrap().replace("Explain.", "Explain all of it.");
    let client = chat_later(gate, body.as_bytes()).unwrap();
    let id = caller.event(events, "paused")["turn"]["id"].as_str().unwrap().to_owned();
    let turn = caller.get("/v1/pending/{id}", &id);
    let leaves = turn["sections"].as_array().unwrap().iter().flat_map(|of| of["leaves"].as_array().unwrap());
    let mut numbers = leaves.filter_map(|leaf| leaf["redacted"][0]["redaction"].as_u64());
    let command = json!({ "redaction": numbers.next().unwrap(), "reason": "a test", "by": "a test (uid 0)" });
    let excepted = caller.call("POST", "/v1/pending/{id}/except", &id, Some(&command));
    assert_eq!((&excepted["rule"], &excepted["label"]), (&json!("secrets"), &json!("SECRET")));
    let written = || std::fs::read_to_string(excepted["file"].as_str().unwrap()).unwrap();
    let once = written();
    assert!(!once.contains(&plant::github(7)), "{once}");
    caller.refused("POST", &format!("/v1/pending/{id}/except"), Some(&command));
    assert_eq!(written(), once, "the second time it is there already");
    assert!(caller.event(events, "policy")["policy"]["refused"].is_null());
    caller.call("POST", "/v1/pending/{id}/cancel", &id, Some(&json!({})));
    client.join().unwrap().unwrap();
    let listed = caller.get("/v1/exceptions", "");
    let added = json!({ "allows": { "value": "AB-12345" }, "reason": "a test", "by": "a test (uid 0)" });
    let all = caller.call("POST", "/v1/exceptions", "", Some(&added));
    let of = |list: &Value| list["exceptions"].as_array().unwrap().clone();
    let new: Vec<_> = of(&all).into_iter().filter(|one| !of(&listed).contains(one)).collect();
    let left = caller.call("DELETE", "/v1/exceptions/{id}", new[0]["id"].as_str().unwrap(), None);
    assert_eq!((new.len(), of(&left)), (1, of(&listed)));
}

/// A run of the team.
fn agents(caller: &Caller, gate: &Gate) {
    let task = json!({ "model": "agents", "messages": [{ "role": "user", "content": "Go." }] });
    gate.client().unwrap().chat(task.to_string().as_bytes()).unwrap();
    let agents = caller.get("/v1/agents", "");
    assert_eq!((&agents["entry"], &agents["runs"][0]["state"]), (&json!("lead"), &json!("finished")));
    let run = caller.get("/v1/agents/runs/{id}", agents["runs"][0]["id"].as_str().unwrap());
    assert_eq!(run["result"]["completed"], true);
    caller.refused("GET", "/v1/agents/runs/none", None);
}

/// Everything that can be asked about a saved edit.
fn saved_edits(caller: &Caller, edit: &str) {
    caller.get("/v1/saved", "");
    caller.get("/v1/subagents", "");
    assert_eq!(caller.get("/v1/log", "")["written"], true);
    assert_eq!(caller.get("/v1/fields", "")["fields"], json!(["sessionId", "requestId"]));
    caller.call("PUT", "/v1/fields", "", Some(&json!({ "fields": ["model"] })));
    caller.get("/v1/saved/{id}", edit);
    caller.get("/v1/saved/{id}/diff", edit);
    let set = json!({ "scope": "session", "previewLimit": 4, "onDrift": "pause" });
    caller.call("PUT", "/v1/saved", "", Some(&set));
    caller.call("POST", "/v1/saved/capture", "", Some(&json!({})));
    caller.call("DELETE", "/v1/saved/{id}", edit, None);
    caller.call("POST", "/v1/saved/clear", "", Some(&json!({ "scope": "session" })));
    caller.refused("GET", &format!("/v1/saved/{edit}"), None);
}

/// The names of the documents, and what stands under them.
fn shows_the_documents_fields(whole: &Value) {
    let secret = plant::github(7);
    let text = whole.to_string();
    assert!(!text.contains(&secret), "no redacted value is in it");
    assert_eq!(whole["debugName"], "chat/other");
    assert_eq!((&whole["model"], &whole["location"]), (&json!("gpt-sample"), &json!("chat")));
    assert_eq!((whole["messages"].as_array().unwrap().len(), &whole["isDirty"]), (6, &json!(true)));
    let original = whole["originalMessages"].as_array().unwrap();
    assert_eq!(original.len(), 5);
    assert!(original[1]["content"][0]["text"].as_str().unwrap().starts_with("key ‹"));
    assert_eq!(
        (&whole["requestOptions"]["max_tokens"], &whole["originalRequestOptions"]["max_tokens"]),
        (&json!(1024), &json!(512))
    );
    assert_eq!(whole["metadata"]["maxResponseTokens"], 1024);
    assert_eq!(whole["metadata"]["endpointUrl"], "echo:/v1/chat/completions");
    let section = |id: &str| {
        let mut sections = whole["sections"].as_array().unwrap().iter();
        sections.find(|section| section["id"] == id).unwrap_or_else(|| panic!("no section {id}"))
    };
    let part = section("user-1/content/0");
    assert_eq!((&part["nodeType"], &part["contentIndex"]), (&json!("contentPart"), &json!(0)));
    assert_eq!((&part["parentId"], &part["sourceMessageIndex"]), (&json!("user-1"), &json!(1)));
    assert!(part["originalContent"].as_str().unwrap().starts_with("key ‹"));
    let call = &section("assistant-2/toolCall/0")["toolInvocation"];
    assert_eq!(call["arguments"], "{\"query\":\"select 1\",\"limit\":5}");
    assert_eq!(call, &section("tool-result-3")["toolInvocation"], "a result says what was asked");
    let stack = whole["editHistory"]["undoStack"].as_array().unwrap();
    let set = &stack[0];
    assert_eq!(set["id"]["requestId"], whole["id"]);
    assert_eq!(
        (&set["targetKind"], &set["targetPath"]),
        (&json!("contentText"), &json!("messages[5].content"))
    );
    assert_eq!(whole["messages"][5]["content"], "Explain it.");
    assert_eq!((&set["oldValue"], &set["newValue"]), (&json!("Explain."), &json!("Explain it.")));
    assert_eq!((&stack[2]["oldValue"], &stack[2]["newValue"]), (&json!(512), &json!(1024)));
    assert_eq!(whole["editHistory"]["redoStack"].as_array().unwrap().len(), 1, "the reset that was undone");
}
