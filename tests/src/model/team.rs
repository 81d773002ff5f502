//! A model that speaks for each agent of a team of ours: a coordinator has a reviewer have a
//! researcher read a file, and all report what stood in it.

use serde_json::{Value, json};

use super::{CALL, Call, DONE, Turn};

/// The team, in the form of its documents. The researcher alone uses the client's tools.
pub const FILE: &str = r#"{
  "copilotMultiAgent": {
    "entryAgent": "coordinator",
    "agents": [
      { "name": "coordinator", "systemPrompt": "You are the kit's coordinator.", "description": "Leads", "useFor": "Leading",
        "delegationPermissions": { "type": "specific", "agents": ["reviewer"] }, "toolPermissions": { "type": "none" } },
      { "name": "reviewer", "systemPrompt": "You are the kit's reviewer.", "description": "Reviews", "useFor": "Reviews",
        "delegationPermissions": { "type": "specific", "agents": ["researcher"] }, "toolPermissions": { "type": "none" } },
      { "name": "researcher", "systemPrompt": "You are the kit's researcher.", "description": "Reads", "useFor": "Reading",
        "delegationPermissions": { "type": "none" }, "toolPermissions": { "type": "all" } }
    ]
  }
}"#;

/// How each prompt begins, up to the agent's name.
const PROMPT: &str = "You are the kit's ";

/// How the name of the file ends that is to be read.
const FILE_NAME: &str = "notes.txt";

/// What the file says begins so.
const NOTE: &str = "NOTE-";

/// What a client calls a tool with which a file is read, and what it is called with.
type Reads = (&'static str, fn(&str) -> Value);

const READS: [Reads; 5] = [
    ("read_file", |path| json!({ "path": path })),
    ("Read", |path| json!({ "file_path": path })),
    ("exec_command", |path| json!({ "cmd": format!("cat {path}") })),
    ("shell_command", |path| json!({ "command": format!("cat {path}") })),
    ("shell", |path| json!({ "command": ["cat", path] })),
];

/// Returns what an agent of the team does; `None` where nobody of it asks.
pub(super) fn turn(body: &Value) -> Option<Turn> {
    let said = json!([body["system"], body["instructions"], body["messages"], body["input"]]).to_string();
    let agent = said.split_once(PROMPT)?.1;
    let agent = &agent[..agent.find(|c: char| !c.is_ascii_lowercase())?];
    let answered = ["\"type\":\"tool_result\"", "\"function_call_output\"", "\"role\":\"tool\""];
    let note = word(&said, NOTE).filter(|_| answered.iter().any(|mark| said.contains(mark)));
    let call = |tool: &str, arguments: Value| {
        Turn::Calls(Call { id: CALL, group: None, tool: tool.to_owned(), arguments: arguments.to_string() })
    };
    let delegate = |to: &str, path: &str| {
        let work = format!("Say what {path} says");
        call(
            "delegateWork",
            json!({ "agentName": to, "workDescription": work, "reportExpectations": "The words" }),
        )
    };
    Some(match (agent, note) {
        ("coordinator", Some(note)) => Turn::Says(format!("The file says {note}.")),
        (_, Some(note)) => call("reportOut", json!({ "report": format!("It says {note}") })),
        (agent, None) => {
            let Some(path) = path(&said) else { return Some(Turn::Says(DONE.to_owned())) };
            match agent {
                "coordinator" => delegate("reviewer", &path),
                "reviewer" => delegate("researcher", &path),
                _ => match reads(body) {
                    Some((tool, arguments)) => call(tool, arguments(&path)),
                    None => call("reportOut", json!({ "report": "There is no tool to read with" })),
                },
            }
        }
    })
}

/// The client's tool with which a file is read.
fn reads(body: &Value) -> Option<Reads> {
    let tools = body["tools"].as_array()?;
    let names = |tool: &Value, name: &str| tool["name"] == name || tool["function"]["name"] == name;
    READS.into_iter().find(|(name, _)| tools.iter().any(|tool| names(tool, name)))
}

/// The path of the file that somebody named last.
fn path(said: &str) -> Option<String> {
    let end = said.rfind(FILE_NAME)? + FILE_NAME.len();
    let is_of_path = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '-' | '_');
    let start = said[..end].rfind(|c: char| !is_of_path(c)).map_or(0, |at| at + 1);
    Some(said[start..end].to_owned())
}

/// The last word that begins so.
fn word<'s>(said: &'s str, begins: &str) -> Option<&'s str> {
    let start = said.rfind(begins)?;
    let word = &said[start..];
    Some(&word[..word.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(word.len())])
}
