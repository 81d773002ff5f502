//! The ways through a turn of Claude Code that people go most, each with the keys that it takes, at three sizes of a terminal.

use std::cell::Cell;
use std::ffi::OsStr;
use std::path::Path;

use leafgate_harness::recordings::fixtures;
use leafgate_tests::admin::{Admin, answered, post_later};
use leafgate_tests::gate::{self, Gate};
use leafgate_tests::tmux::Terminal;
use serde_json::{Value, json};

use crate::prompt::has_tmux;
use crate::setup::policy;

/// Columns and rows.
const SIZES: [(&str, &str); 3] = [("80", "24"), ("100", "30"), ("120", "40")];

/// The least sections of a turn that is worth the name.
const SECTIONS: usize = 100;

pub(crate) const RULES: &str = r#"
[[rule]]
id = "contacts"
match = {}
detect = ["pii/email"]
action = "redact"

[[rule]]
id = "thanks"
match = { role = "user" }
when = 'leaf.text.contains("thank you")'
action = "pause"
reason = "Thanks are read first"
"#;

/// The messages of a turn: an agent at work, and the user's last words with an address.
pub(crate) fn made_up() -> Vec<Value> {
    let exchange = |at: usize| {
        let id = format!("toolu_{at}");
        [
            json!({ "role": "user", "content": format!("Question {at}") }),
            json!({ "role": "assistant", "content": [
                { "type": "text", "text": format!("I look at file {at}.") },
                { "type": "tool_use", "id": id, "name": "Read", "input": { "file_path": format!("src/{at}.rs") } },
            ] }),
            json!({ "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": id, "content": format!("fn number_{at}() {{}}") },
            ] }),
            json!({ "role": "assistant", "content": format!("It holds function {at}.") }),
        ]
    };
    let words = format!("thank you, and tell {} about it", address());
    (1..=17).flat_map(exchange).chain([json!({ "role": "user", "content": words })]).collect()
}

fn address() -> String {
    ["jo.reviewer", "mail.example.org"].join("@")
}

/// The messages of the recorded sessions of Claude Code one after the other, up to the user's last words; `None` where there
/// are no recordings.
fn recorded() -> Option<Vec<Value>> {
    let mut files: Vec<_> = std::fs::read_dir(fixtures()?.join("claude-session-jsonl"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort_by_key(|file| std::fs::metadata(file).unwrap().len());
    let lines: String = files.iter().map(|file| std::fs::read_to_string(file).unwrap()).collect();
    let mut messages: Vec<(Value, Vec<Value>)> = Vec::new();
    for line in lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        let message = &line["message"];
        let parts = match &message["content"] {
            Value::String(text) => vec![json!({ "type": "text", "text": text })],
            Value::Array(parts) => parts.clone(),
            _ => continue,
        };
        // The client keeps each part in a line of its own.
        match messages.last_mut().filter(|(role, _)| *role == message["role"]) {
            Some((_, before)) => before.extend(parts),
            None => messages.push((message["role"].clone(), parts)),
        }
    }
    let is_said = |(role, parts): &(Value, Vec<Value>)| {
        role == "user" && parts.iter().all(|part| part["type"] == "text")
    };
    messages.truncate(messages.iter().rposition(is_said).unwrap() + 1);
    let (_, last) = messages.last_mut().unwrap();
    let words = last.last_mut().unwrap();
    words["text"] = json!(format!("{}, and tell {} about it", words["text"].as_str().unwrap(), address()));
    Some(messages.into_iter().map(|(role, parts)| json!({ "role": role, "content": parts })).collect())
}

/// A gate before a turn that waits, and a person at its prompt, whose keys are counted.
pub(crate) struct Person {
    pub(crate) terminal: Terminal,
    pub(crate) admin: Admin,
    pressed: Cell<usize>,
    client: std::thread::JoinHandle<anyhow::Result<leafgate_tests::http::Message>>,
    _gate: Gate,
}

impl Person {
    /// Opens the prompt of so many columns and rows over a turn with these messages.
    pub(crate) fn before(messages: &[Value], data: &Path, rules: &Path, size: (&str, &str)) -> Self {
        let rules = rules.to_string_lossy();
        let gate = Gate::start_in(data, &["--policy", &rules, "--upstream", "echo:"]).unwrap();
        let admin = Admin::of(&gate).unwrap();
        let mut events = admin.events().unwrap();
        let body = json!({ "model": "claude-sonnet-4-5", "max_tokens": 100, "messages": messages });
        let client = post_later(&gate, "/v1/messages", body.to_string().as_bytes()).unwrap();
        let turn = events.paused().unwrap();
        let sections = admin.turn(&turn).unwrap()["sections"].as_array().unwrap().len();
        assert!(sections >= SECTIONS, "the turn has {sections} sections");
        let runtime = gate.runtime_file().parent().unwrap().as_os_str().to_owned();
        let environment: [(&str, &OsStr); 3] = [
            ("LEAFGATE_DATA_DIR", data.as_os_str()),
            ("LEAFGATE_RUNTIME_DIR", &runtime),
            ("TERM", OsStr::new("xterm-256color")),
        ];
        let terminal = Terminal::start(&gate::binary().unwrap(), &["review"], &environment).unwrap();
        terminal.resize(size.0, size.1).unwrap();
        let stands = |screen: &str| {
            screen.lines().count() >= size.1.parse().unwrap()
                && screen.lines().any(|line| line.starts_with('▸') && line.contains("thank you"))
        };
        terminal.until(stands).unwrap();
        Person { terminal, admin, pressed: Cell::new(0), client, _gate: gate }
    }

    /// Presses keys, and waits for the screen that shows a text.
    pub(crate) fn press(&self, keys: &[&str], until: &str) {
        self.pressed.set(self.pressed.get() + keys.len());
        self.terminal.press(keys).unwrap();
        self.terminal.shows(until).unwrap();
    }

    /// Types words, and waits until they are seen.
    pub(crate) fn types(&self, words: &str) {
        self.terminal.types(words).unwrap();
        self.terminal.shows(words).unwrap();
    }

    /// How many keys were pressed since the last question.
    fn keys(&self) -> usize {
        self.pressed.take()
    }

    pub(crate) fn edits(&self) {
        self.press(&["e"], "Enter save");
        self.types("!!");
        self.press(&["Enter"], "[edited by person]");
    }

    pub(crate) fn excepts(&self) {
        self.press(&["a"], "Why may");
        self.types("a colleague");
        self.press(&["Enter"], "Until when?");
        self.press(&["Enter"], "w why");
    }

    pub(crate) fn undoes(&self) {
        self.press(&["u"], "w why");
        self.terminal.until(|screen| !screen.contains("[edited by person]")).unwrap();
    }

    pub(crate) fn sends(self) -> usize {
        self.press(&["s"], "Send exactly what is shown?");
        self.press(&["y"], "No turn waits.");
        let keys = self.keys();
        assert_eq!(answered(self.client).unwrap().status(), 200);
        keys
    }
}

#[test]
fn the_usual_ways_through_a_recorded_turn_take_few_keys_at_every_size() {
    if !has_tmux() {
        return;
    }
    let messages = recorded().unwrap_or_else(made_up);
    for size in SIZES {
        let (data, rules) = (tempfile::tempdir().unwrap(), policy(RULES));
        let person = Person::before(&messages, data.path(), rules.path(), size);
        person.edits();
        assert!(person.keys() <= 3, "edit my last message, {size:?}");
        person.press(&["w"], "Why it waits");
        assert_eq!(person.keys(), 1, "see why it waits, {size:?}");
        assert!(person.terminal.screen().unwrap().contains("Thanks are read first"));
        person.press(&["Escape"], "w why");
        person.keys();
        person.excepts();
        assert!(person.keys() <= 3, "except a value, {size:?}");
        let exceptions = person.admin.get("/v1/exceptions").unwrap();
        assert_eq!(exceptions["exceptions"].as_array().unwrap().len(), 1, "{exceptions}");
        person.undoes();
        assert_eq!(person.keys(), 1, "undo, {size:?}");
        assert_eq!(person.sends(), 2, "send, {size:?}");
    }
}
