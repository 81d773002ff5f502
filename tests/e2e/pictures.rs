//! The pictures of the documents are what the program shows: made from the real screen, and held against it.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use leafgate_tests::admin::{Admin, answered, chat_later};
use leafgate_tests::gate::{self, Gate};
use leafgate_tests::tmux::Terminal;
use leafgate_tests::{paths, picture, plant, sample};
use regex::Regex;
use serde_json::json;
use tempfile::TempDir;

use crate::prompt::has_tmux;
use crate::setup::policy;
use crate::ways::{self, Person};

const RULES: &str = r#"
extends = "default"

[[rule]]
id = "production"
match = { role = "user" }
when = 'leaf.text.contains("prod-db")'
action = "pause"
reason = "Names the production database"
"#;

/// What an agent asks that read a file with a key in it.
fn agent() -> Vec<u8> {
    let call = json!({ "id": "call_1", "type": "function",
        "function": { "name": "read_file", "arguments": "{\"path\":\"deploy/.env\"}" } });
    sample::messages(
        "gpt-4.1",
        &json!([
            { "role": "system", "content": "You are a coding agent." },
            { "role": "user", "content": "Why does the nightly deploy of prod-db fail?" },
            { "role": "assistant", "content": null, "tool_calls": [call] },
            { "role": "tool", "tool_call_id": "call_1",
              "content": format!("HOST=prod-db.internal\nGITHUB_TOKEN={}\n", plant::github(3)) },
        ]),
    )
}

/// A screen without what differs from run to run.
fn steady(screen: &str) -> String {
    let mut shown = screen.to_owned();
    for (what, with) in [
        (r"\d:\d\d left", "4:58 left"),
        (r"came \d:\d\d ago", "came 0:02 ago"),
        (r"…[0-9a-z]{6}\b", "…k7f3q2"),
        // The name of a policy, which may stand at the beginning of a row and so behind the end of an escape sequence.
        (r"([^0-9a-z]|m)[0-9a-f]{12}\b", "${1}3f9a61c0d2e4"),
        (r"(SECRET_)[0-9a-z]{16}", "${1}k7f3q2xw9mz4ab6c"),
        (r"digest [0-9a-f]{8}", "digest 5d41402a"),
        (r"ended with 0\s*", ""),
    ] {
        shown = Regex::new(what).unwrap().replace_all(&shown, with).into_owned();
    }
    shown
}

/// Holds a picture against the one that is kept, or keeps it where `cargo xtask pictures` asks for that.
fn looks_as(name: &str, title: &str, screen: &str) {
    let path = paths::root().join("docs/pictures").join(name);
    let drawn = picture::svg(&steady(screen), title);
    assert!(drawn.len() < 40_000, "{name} has {} bytes", drawn.len());
    if std::env::var_os("DRAW_PICTURES").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        return std::fs::write(path, drawn).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == drawn,
        "{name} is not what the screen shows: `cargo xtask pictures` draws it anew\n{drawn}"
    );
}

#[test]
fn the_pictures_are_what_the_program_shows() {
    if !has_tmux() {
        return;
    }
    let (data, rules) = (with_key(), policy(RULES));
    let folder = rules.path().to_string_lossy().into_owned();
    let gate =
        Gate::start_in(data.path(), &["--policy", &folder, "--upstream", "echo:", "--log-required"]).unwrap();
    let admin = Admin::of(&gate).unwrap();
    let mut events = admin.events().unwrap();
    let client = chat_later(&gate, &agent()).unwrap();
    let waiting = events.paused().unwrap();
    let prompt = show(&gate, data.path(), &["review"], "80", "s send");
    looks_as("prompt.svg", "The prompt: a request that waits for a person", &prompt);
    let digest = admin.turn(&waiting).unwrap()["digest"].as_str().unwrap().to_owned();
    admin.resume(&waiting, &digest).unwrap();
    assert_eq!(answered(client).unwrap().status(), 200);
    let log = show(&gate, data.path(), &["log"], "90", "ended with");
    looks_as("log.svg", "leafgate log: what was redacted", &log);
}

#[test]
fn the_usual_ways_are_shown_in_their_order() {
    if !has_tmux() {
        return;
    }
    let (data, rules) = (with_key(), policy(ways::RULES));
    let person = Person::before(&ways::made_up(), data.path(), rules.path(), ("80", "24"));
    let draws = |name: &str, title: &str| looks_as(name, title, &person.terminal.styled().unwrap());
    person.edits();
    draws("way-1-edit.svg", "e, words, Enter: my last message is edited");
    person.press(&["w"], "Why it waits");
    draws("way-2-why.svg", "w: why it waits");
    person.press(&["Escape"], "w why");
    person.press(&["a"], "Why may");
    person.types("a colleague");
    draws("way-3-except.svg", "a, a reason, Enter, Enter: a value is excepted");
    person.press(&["Escape"], "Nothing was excepted");
    person.undoes();
    draws("way-4-undo.svg", "u: undone");
    person.press(&["s"], "Send exactly what is shown?");
    draws("way-5-send.svg", "s, y: exactly what is shown is sent");
}

/// A data folder whose key makes the same tokens each time.
fn with_key() -> TempDir {
    let data = tempfile::tempdir().unwrap();
    let key = data.path().join("key");
    std::fs::write(&key, format!("{}\n", "5a".repeat(32))).unwrap();
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    data
}

/// Runs a command in a terminal of so many columns until it shows something.
fn show(gate: &Gate, data: &Path, command: &[&str], columns: &str, until: &str) -> String {
    let runtime = gate.runtime_file().parent().unwrap().as_os_str().to_owned();
    let environment: [(&str, &OsStr); 3] = [
        ("LEAFGATE_DATA_DIR", data.as_os_str()),
        ("LEAFGATE_RUNTIME_DIR", &runtime),
        ("TERM", OsStr::new("xterm-256color")),
    ];
    let terminal = Terminal::start(&gate::binary().unwrap(), command, &environment).unwrap();
    terminal.resize(columns, "24").unwrap();
    terminal.shows(until).unwrap();
    terminal.styled().unwrap()
}
