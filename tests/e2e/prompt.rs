//! The prompt in a real terminal of 80×24: a person goes through everything that it offers. What each page looks like, the tests of
//! `review` keep; here are those that the gate fills.

use std::ffi::OsStr;
use std::path::Path;
use std::thread::JoinHandle;

use leafgate_tests::admin::{Admin, Events, answered, chat_later};
use leafgate_tests::gate::{self, Gate};
use leafgate_tests::http::Message;
use leafgate_tests::tmux::{self, Terminal};
use leafgate_tests::upstream::Upstream;
use leafgate_tests::{plant, sample};
use regex::Regex;
use serde_json::json;
use tempfile::TempDir;

use crate::setup::{holds, policy};

const RULES: &str = r#"
[[rule]]
id = "secrets"
match = {}
detect = ["secrets"]
action = "redact"

[[rule]]
id = "contacts"
match = {}
detect = ["pii/email"]
action = "redact"
releasable = true

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

[[rule]]
id = "explanations"
match = { role = "user" }
when = 'leaf.text.contains("Explain it")'
action = "pause"
reason = "Explanations are read first"
"#;

/// What the keys of a turn's page say, and those of no other.
const OF_TURN: &str = "w why";

/// What the keys of the list say, and those of no other page.
const OF_LIST: &str = "o pause next turn";

/// A gate before a recording upstream, and a person at its prompt.
struct Session {
    gate: Gate,
    admin: Admin,
    events: Events,
    upstream: Upstream,
    terminal: Terminal,
    _folders: (TempDir, TempDir),
}

impl Session {
    fn open() -> Self {
        let (data, rules, upstream) =
            (tempfile::tempdir().unwrap(), policy(RULES), Upstream::start().unwrap());
        let folder = rules.path().to_string_lossy().into_owned();
        let arguments = ["--policy", &folder, "--upstream", &upstream.url()];
        let gate = Gate::start_in(data.path(), &arguments).unwrap();
        let runtime = gate.runtime_file().parent().unwrap().as_os_str().to_owned();
        let environment: [(&str, &OsStr); 4] = [
            ("LEAFGATE_DATA_DIR", data.path().as_os_str()),
            ("LEAFGATE_RUNTIME_DIR", &runtime),
            ("NO_COLOR", OsStr::new("1")),
            ("EDITOR", OsStr::new("sed -i s/brief/kind/")),
        ];
        let port = gate.address().port().to_string();
        let terminal =
            Terminal::start(&gate::binary().unwrap(), &["review", "--gate", &port], &environment).unwrap();
        let admin = Admin::of(&gate).unwrap();
        let events = admin.events().unwrap();
        Session { gate, admin, events, upstream, terminal, _folders: (data, rules) }
    }

    fn press(&self, keys: &[&str]) {
        self.terminal.press(keys).unwrap();
    }

    /// The screen that shows a text.
    fn sees(&self, text: &str) -> String {
        self.terminal.shows(text).unwrap()
    }

    /// Goes back to the page that has these keys. Nothing is pressed before it is there: behind an
    /// escape the next key would be read as one with Alt.
    fn back(&self, keys: &str) {
        self.press(&["Escape"]);
        self.sees(keys);
    }

    /// The screen whose selected row shows a text.
    fn stands_at(&self, text: &str) -> String {
        let is_there = |screen: &str| screen.lines().any(|line| line.starts_with('▸') && line.contains(text));
        self.terminal.until(is_there).unwrap()
    }

    /// The first screen without a text.
    fn sees_no_more(&self, text: &str) -> String {
        self.terminal.until(|screen| !screen.contains(text)).unwrap()
    }

    /// Holds the whole screen against the one that is kept.
    fn looks_as(&self, name: &str) {
        let kept = kept(name);
        let screen = self.terminal.settles(|screen| kept.as_ref() == Some(&steady(screen))).unwrap();
        insta::assert_snapshot!(name, steady(&screen));
    }

    fn sends(&mut self, body: &[u8]) -> JoinHandle<anyhow::Result<Message>> {
        let client = chat_later(&self.gate, body).unwrap();
        self.events.paused().unwrap();
        client
    }
}

/// An agent's turn with a secret, a call and two places that name the database.
fn agent() -> Vec<u8> {
    let call = json!({ "id": "call_1", "type": "function",
        "function": { "name": "run_sql", "arguments": "{\"query\":\"select 1\"}" } });
    sample::messages(
        "gpt-sample",
        &json!([
            { "role": "system", "content": "Be brief." },
            { "role": "user", "content": "Why does the login fail?" },
            { "role": "assistant", "content": null, "tool_calls": [call] },
            { "role": "tool", "tool_call_id": "call_1", "content": format!("prod-db: {}", plant::github(3)) },
            { "role": "user", "content": "Explain it now." },
        ]),
    )
}

/// A screen that is kept, without the lines above it.
fn kept(name: &str) -> Option<String> {
    let file = format!("e2e/snapshots/e2e__prompt__{name}.snap");
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).ok()?;
    Some(text.splitn(3, "---\n").nth(2)?.trim_end().to_owned())
}

/// A screen without what differs from run to run, each in its own width where a width matters.
fn steady(screen: &str) -> String {
    let mut shown = screen.trim_end().to_owned();
    for (what, with) in [
        (r"\d:\d\d left", "M:SS left"),
        (r"came \d:\d\d ago", "came M:SS ago"),
        (r"\d:\d\d  chat", "M:SS  chat"),
        (r"…[0-9a-z]{6}\b", "…SESSIO"),
        (r"digest [0-9a-f]{8}", "digest DDDDDDDD"),
        (r"policy \S+", "policy GENERATION"),
        (r"the last \d+ s ago", "the last N s ago"),
    ] {
        shown = Regex::new(what).unwrap().replace_all(&shown, with).into_owned();
    }
    // The end of a row may cut a token, or stand in it.
    let token = Regex::new(r"SECRET_[0-9a-z]+(\n  [0-9a-z]+)?").unwrap();
    token
        .replace_all(&shown, |found: &regex::Captures<'_>| {
            format!("SECRET_{}", "T".repeat(found[0].len() - 7))
        })
        .into_owned()
}

/// Whether the test can run; without tmux it is said that it does not.
pub(crate) fn has_tmux() -> bool {
    if tmux::is_there() {
        return true;
    }
    assert!(std::env::var_os("CI").is_none_or(|ci| ci != "true"), "CI needs tmux: install it");
    #[expect(clippy::print_stderr, reason = "a test that does not run says so")]
    {
        eprintln!("left out: there is no tmux here");
    }
    false
}

// S0-47, S0-48, S0-106, S0-126
#[test]
fn a_person_goes_through_everything_that_the_prompt_offers() {
    if !has_tmux() {
        return;
    }
    let mut session = Session::open();
    session.sees("Prompt interception is off");
    session.looks_as("idle");
    session.press(&["M"]);
    session.sees("Live Request Editor idle — send a chat request to populate metadata.");
    session.back(OF_LIST);
    session.press(&["C"]);
    session.sees("edits are captured in mode autoOverride only");
    session.press(&["A"]);
    session.sees("No agent that another one started has asked yet.");
    session.back(OF_LIST);

    let client = session.sends(&agent());
    // It opens by itself, at what the user said last. Earlier messages are one row, which unfolds.
    session.stands_at("Explain it");
    session.looks_as("a_turn_that_waits");
    session.press(&["w"]);
    session.sees("Why it waits");
    session.looks_as("why_it_waits");
    session.back(OF_TURN);
    session.press(&["Home", "Tab"]);
    session.stands_at("Tool result");

    // Pins: the rule's stands first already, and a person moves one before it.
    session.stands_at("Tool result");
    session.press(&["p"]);
    session.stands_at("Tool result · run_sql [pinned by person]");
    session.press(&["K"]);
    let order = |screen: &str| {
        let place = |text: &str| screen.lines().position(|line| line.contains(text));
        let places = place("System [pinned by rule steady]").zip(place("▸ Tool result"));
        places.is_some_and(|(system, result)| result < system)
    };
    session.terminal.until(order).unwrap();
    session.press(&["p"]);
    session.sees_no_more("[pinned by person]");

    // A message of one's own, which is mended, an edit, a deletion that is struck through, and each
    // taken back.
    session.press(&["End", "Up", "i"]);
    session.sees("put in before User");
    session.terminal.types("Mind the gap").unwrap();
    session.sees("Mind the gap");
    session.press(&["Enter"]);
    session.sees("Put in by person");
    session.press(&["End", "Up", "Up", "e"]);
    session.terminal.types(", please").unwrap();
    session.press(&["Enter"]);
    session.sees("Mind the gap, please");
    session.press(&["End", "Up", "d"]);
    session.sees("[deleted by person]");
    let styled = session.terminal.styled().unwrap();
    let struck = styled.lines().find(|line| line.contains("deleted by person")).unwrap();
    assert!(Regex::new("\x1b\\[[0-9;]*9m").unwrap().is_match(struck), "struck through: {struck:?}");
    session.press(&["u"]);
    session.sees_no_more("deleted by person");
    session.press(&["End", "Up", "Enter"]);
    session.stands_at("content: Explain it");
    session.press(&["e"]);
    session.sees("Alt-Enter or Ctrl-J newline");
    session.press(&["C-w", "C-w"]);
    session.terminal.types("please.").unwrap();
    session.sees("please.");
    session.press(&["Enter"]);
    session.sees("[edited by person]");
    session.press(&["u"]);
    session.sees_no_more("[edited by person]");
    session.sees("content: Explain it now.");
    session.press(&["U"]);
    session.sees("[edited by person]");
    session.press(&["v"]);
    session.sees("Save your edits for later turns?");
    session.press(&["s"]);
    session.sees("saved: Session.");
    session.press(&["Enter"]);
    session.sees("bytes, text");
    session.back("Enter open");
    session.back(OF_TURN);

    // The person's own editor has the terminal meanwhile.
    session.press(&["/"]);
    session.terminal.types("be brief").unwrap();
    session.press(&["Enter"]);
    session.stands_at("System");
    session.press(&["Enter"]);
    session.stands_at("content");
    session.press(&["E"]);
    session.sees("Be kind.");
    session.back(OF_TURN);
    session.press(&["D"]);
    session.sees("Diff: what came");
    session.back(OF_TURN);
    session.press(&["P"]);
    session.sees("The body as a resume sends it");
    session.back(OF_TURN);
    session.press(&["M"]);
    session.sees("Metadata of the request");
    session.sees("token budget");
    session.back(OF_TURN);
    session.press(&["?"]);
    session.sees("Keys and marks");
    session.back(OF_TURN);

    // Modes and conversations.
    session.press(&["m"]);
    session.sees("[in force]");
    session.press(&["Down", "Down", "Enter"]);
    session.stands_at("until another mode is chosen  [in force]");
    session.back(OF_TURN);
    session.press(&["S"]);
    session.sees("Conversations, newest first");
    session.stands_at("chat · other");
    session.press(&["Enter"]);
    session.sees("(it stays the active one)");
    session.press(&["f"]);
    session.sees("(the newest is followed)");
    session.back(OF_TURN);

    // Too small to show what would be sent.
    session.terminal.resize("60", "20").unwrap();
    session.sees("the prompt needs 80×24");
    session.looks_as("a_small_terminal");
    session.terminal.resize("80", "24").unwrap();
    session.sees("edits the request, not your chat");

    session.press(&["s"]);
    session.sees("Send exactly what is shown?");
    let turn = session.admin.get("/v1/pending").unwrap()["turns"][0]["id"].as_str().unwrap().to_owned();
    let payload = session.admin.get(&format!("/v1/pending/{turn}/payload")).unwrap();
    session.press(&["y"]);
    session.sees("No turn waits.");
    assert_eq!(answered(client).unwrap().status(), 200);
    let sent = session.upstream.take().remove(0).body;
    assert_eq!(payload["body"].as_str().unwrap().as_bytes(), sent, "shown is sent");
    assert!(holds(&sent, "Mind the gap, please") && holds(&sent, "Be kind.") && holds(&sent, "please."));

    // A mode's pause, which a person cancels; then only the next turn, and two that wait in the list.
    let client = session.sends(&sample::chat("What is new?"));
    session.sees("Paused by mode");
    session.looks_as("paused_by_a_mode");
    session.press(&["c"]);
    session.sees("Cancel this turn?");
    session.press(&["y"]);
    session.sees("No turn waits.");
    assert_eq!(answered(client).unwrap().status(), 400);

    // A redaction is released where its rule lets a person do so, for this one request.
    let address = "jo.released@mail.example.org";
    let client = session.sends(&sample::chat(&format!("Write to {address} with {}", plant::github(5))));
    session.sees("Paused by mode");
    session.stands_at("Write to");
    session.press(&["R"]);
    session.sees("of rule contacts (1 of 1)?");
    session.press(&["y"]);
    session.sees("Released: the value leaves with this request.");
    session.press(&["Enter"]);
    session.sees(&format!("released: {address}›"));
    session.press(&["s"]);
    session.sees("Send exactly what is shown?");
    session.press(&["y"]);
    session.sees("No turn waits.");
    assert_eq!(answered(client).unwrap().status(), 200);
    let sent = session.upstream.take().remove(0).body;
    assert!(holds(&sent, address) && !holds(&sent, &plant::github(5)));
    session.press(&["o"]);
    session.sees("Pause next turn.");
    let first = session.sends(&sample::chat("One more question"));
    session.sees("Paused by mode: Pause next turn");
    let second = session.sends(&sample::chat("prod-db, and another one"));
    session.sees("Another turn waits");
    session.press(&["L"]);
    session.sees("2 turns wait, oldest first");
    session.looks_as("a_list");
    session.press(&["q"]);
    session.sees("2 turns keep waiting until their time is up.");
    session.sees("ended with 0");
    drop(session);
    for client in [first, second] {
        // The gate is gone, and with it the connection.
        let _ = answered(client);
    }
}
