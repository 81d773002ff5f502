//! Requests that wait for a person: what is shown, what may be sent, who may decide.

use std::thread::JoinHandle;

use leafgate_tests::admin::{Admin, Events, answered, chat_later};
use leafgate_tests::gate::{self, Gate};
use leafgate_tests::http::Message;
use leafgate_tests::upstream::Upstream;
use leafgate_tests::{plant, sample};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::setup::{holds, policy};

const RULES: &str = r#"
[[rule]]
id = "secrets"
match = {}
detect = ["secrets"]
action = "redact"

[[rule]]
id = "ask-first"
match = { section = "tool-result" }
when = 'leaf.text.contains("prod-db")'
action = "pause"
reason = "Production data"
"#;

/// The message that tests edit.
const QUESTION: &str = "/messages/0/content";

/// A gate that holds what names `prod-db`, before a recording upstream; one data directory for it and for commands.
struct Desk {
    data: TempDir,
    policy: TempDir,
    upstream: Upstream,
    gate: Gate,
    admin: Admin,
    events: Events,
}

impl Desk {
    fn open() -> Self {
        let (data, policy, upstream) =
            (tempfile::tempdir().unwrap(), policy(RULES), Upstream::start().unwrap());
        let folder = policy.path().to_string_lossy().into_owned();
        let arguments = ["--policy", &folder, "--upstream", &upstream.url()];
        let gate = Gate::start_in(data.path(), &arguments).unwrap();
        let admin = Admin::of(&gate).unwrap();
        let events = admin.events().unwrap();
        Desk { data, policy, upstream, gate, admin, events }
    }

    /// A request that waits, and its turn's id.
    fn holds(&mut self, result: &str) -> (JoinHandle<anyhow::Result<Message>>, String) {
        let client = chat_later(&self.gate, &with_result(result)).unwrap();
        (client, self.events.paused().unwrap())
    }

    /// What a command shows a person; it must succeed.
    fn shows(&self, arguments: &[&str], input: &[u8]) -> String {
        let output = gate::run_in(self.data.path(), arguments, input).unwrap();
        let (out, err) =
            (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        assert!(output.status.success(), "{arguments:?}: {err}");
        out + &err
    }

    /// Lets a turn go as it stands, and returns what reached the upstream.
    fn lets_go(&self, id: &str, client: JoinHandle<anyhow::Result<Message>>) -> Vec<u8> {
        let payload = self.admin.get(&format!("/v1/pending/{id}/payload")).unwrap();
        assert_eq!(self.admin.resume(id, payload["digest"].as_str().unwrap()).unwrap().status(), 200);
        assert_eq!(answered(client).unwrap().status(), 200);
        let mut received = self.upstream.take();
        assert_eq!(received.len(), 1);
        let sent = received.remove(0).body;
        assert_eq!(payload["body"].as_str().unwrap().as_bytes(), sent, "shown is sent");
        sent
    }
}

/// A request whose tool returned this.
fn with_result(result: &str) -> Vec<u8> {
    let call =
        json!({ "id": "call_1", "type": "function", "function": { "name": "run_sql", "arguments": "{}" } });
    sample::messages(
        "gpt-sample",
        &json!([
            { "role": "user", "content": "List the tables." },
            { "role": "assistant", "content": null, "tool_calls": [call] },
            { "role": "tool", "tool_call_id": "call_1", "content": result },
        ]),
    )
}

#[test]
fn a_resume_with_a_stale_digest_is_refused() {
    let mut desk = Desk::open();
    let (client, id) = desk.holds("prod-db: orders");
    let seen = desk.admin.turn(&id).unwrap();
    desk.admin.set(&id, QUESTION, "List the views.").unwrap();
    let stale = desk.admin.resume(&id, seen["digest"].as_str().unwrap()).unwrap();
    assert_eq!((stale.status(), &stale.json().unwrap()["code"]), (409, &json!("stale")));
    assert!(desk.upstream.take().is_empty(), "nothing leaves for it");
    assert_eq!(desk.admin.turn(&id).unwrap()["summary"]["state"], "waiting");
    assert!(holds(&desk.lets_go(&id, client), "List the views."));
}

#[test]
fn an_edit_that_brings_a_secret_in_is_redacted_before_it_is_shown() {
    let mut desk = Desk::open();
    let (client, id) = desk.holds("prod-db: orders");
    let before = desk.admin.turn(&id).unwrap();
    let secret = plant::github(41);
    let edited = desk.admin.set(&id, QUESTION, &format!("Use {secret} now.")).unwrap();
    let shown = leaf(&edited, QUESTION).to_owned();
    assert!(shown.starts_with("Use ") && shown.ends_with(" now.") && !shown.contains(&secret));
    // Through all of undo and redo no answer holds it, and the bytes are those of before and those that were shown.
    let undone = desk.admin.edit(&id, &json!({ "action": "undo" })).unwrap();
    let redone = desk.admin.edit(&id, &json!({ "action": "redo" })).unwrap();
    assert_eq!((&undone["digest"], &redone["digest"]), (&before["digest"], &edited["digest"]));
    let views =
        ["", "/diff", "/payload"].map(|view| desk.admin.get(&format!("/v1/pending/{id}{view}")).unwrap());
    for view in [&edited, &undone, &redone].into_iter().chain(&views) {
        assert!(!view.to_string().contains(&secret));
    }
    let sent = desk.lets_go(&id, client);
    assert!(holds(&sent, &shown) && !holds(&sent, &secret));
    assert!(!desk.gate.log().contains(&secret), "nor does the log hold it");
}

#[test]
fn undo_and_reset_bring_no_redacted_value_back() {
    let mut desk = Desk::open();
    let secret = plant::github(42);
    let (client, id) = desk.holds(&format!("prod-db: deployed with {secret}"));
    let before = desk.admin.turn(&id).unwrap();
    assert!(!before.to_string().contains(&secret));
    let undo = desk.admin.post(&format!("/v1/pending/{id}/edit"), &json!({ "action": "undo" })).unwrap();
    assert_eq!(undo.status(), 422, "there is no edit to take back, and a redaction is none");
    desk.admin.set(&id, "/messages/2/content", "prod-db: nothing").unwrap();
    let reset = desk.admin.edit(&id, &json!({ "action": "reset" })).unwrap();
    assert_eq!(reset["digest"], before["digest"]);
    assert!(!reset.to_string().contains(&secret));
    assert!(!holds(&desk.lets_go(&id, client), &secret));
}

/// What moves the cursor, retitles the window, rings, answers back, or turns text around.
const HOSTILE: &str = "prod-db \u{1b}[2J\u{1b}]0;title\u{7}\u{1b}P1$r\u{1b}\\ \u{9b}31m \u{9d}0;x\u{9c} \u{8}\r\u{7f} \u{202e}\u{2066}\u{200f}\u{2028} end";

/// Characters that must reach no terminal: C0 but the line feed, DEL, C1, marks and overrides of direction, separators of lines.
fn moves_a_terminal(character: char) -> bool {
    matches!(character,
        '\0'..='\u{9}' | '\u{b}'..='\u{1f}' | '\u{7f}'..='\u{9f}'
        | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[test]
fn control_and_escape_sequences_reach_no_terminal() {
    assert!(HOSTILE.chars().filter(|&one| moves_a_terminal(one)).count() >= 15);
    let mut desk = Desk::open();
    let (client, id) = desk.holds(HOSTILE);
    desk.admin.set(&id, QUESTION, HOSTILE).unwrap();
    let folder = desk.policy.path().to_string_lossy().into_owned();
    let body = with_result(HOSTILE);
    let rewrites = policy(
        "[[rule]]\nid = \"a\"\nmatch = { section = \"tool-result\" }\naction = \"rewrite\"\nappend = \" more\"\n",
    );
    let rewriting = rewrites.path().to_string_lossy().into_owned();
    let port = desk.gate.address().port().to_string();
    let commands: [(&[&str], &[u8]); 6] = [
        (&["pending", "list"], b""),
        (&["pending", "show", &id], b""),
        (&["pending", "diff", &id], b""),
        (&["tree", "--policy", &folder, "-"], &body),
        (&["apply", "--diff", "--policy", &rewriting, "-"], &body),
        (&["review", "--plain", "--gate", &port, &id], b"show\nopen 1\nopen 3\nopen 1.1\ndiff\nquit\n"),
    ];
    for (arguments, input) in commands {
        let shown = desk.shows(arguments, input);
        let found: Vec<_> = shown.chars().filter(|&one| moves_a_terminal(one)).collect();
        assert!(found.is_empty(), "{arguments:?} writes {found:?}");
        // The list has no text of a leaf; everything else shows it, in words.
        assert!(arguments[1] == "list" || shown.contains("\\u{1b}[2J"), "{arguments:?}: {shown}");
    }
    desk.admin.cancel(&id).unwrap();
    assert_eq!(answered(client).unwrap().status(), 400);
}

#[test]
fn who_may_not_call_the_admin_api_changes_nothing() {
    let mut desk = Desk::open();
    let (client, id) = desk.holds("prod-db: orders");
    let (host, bearer) = (desk.admin.address().to_string(), desk.admin.bearer());
    let wrong = format!("Bearer {}", "0".repeat(64));
    let foreign = format!("rebound.example:{}", desk.admin.address().port());
    let (host, bearer) = (("host", host.as_str()), ("authorization", bearer.as_str()));
    let json = ("content-type", "application/json");
    let form = ("content-type", "application/x-www-form-urlencoded");
    let page = ("origin", "https://page.example");
    let attacks: [(&str, &[_], u16); 8] = [
        ("no token", &[host, json], 401),
        ("a wrong token", &[host, json, ("authorization", &wrong)], 401),
        ("a foreign host", &[("host", &foreign), json, bearer], 403),
        ("no host", &[json, bearer], 400),
        ("a foreign origin", &[host, json, bearer, page], 403),
        ("a sandboxed page", &[host, json, bearer, ("origin", "null")], 403),
        ("a form of a page", &[host, form, page], 403),
        ("a form", &[host, form, bearer], 415),
    ];
    let cancel = format!("/v1/pending/{id}/cancel");
    for (who, headers, status) in attacks {
        let answer = desk.admin.raw("POST", &cancel, headers, b"{}").unwrap();
        assert_eq!(answer.status(), status, "{who}");
        assert!(answer.headers.iter().all(|(name, _)| !name.starts_with("access-control-")), "{who}");
    }
    for path in ["/v1/status", "/v1/pending", "/v1/events"] {
        assert_eq!(desk.admin.raw("GET", path, &[host], b"").unwrap().status(), 401, "{path}");
    }
    let oversized = vec![b' '; 8 * 1024 * 1024 + 1];
    let answer = desk.admin.raw("POST", &format!("/v1/pending/{id}/edit"), &[host, json, bearer], &oversized);
    assert_eq!(answer.unwrap().status(), 413);
    assert_eq!(desk.admin.turn(&id).unwrap()["summary"]["state"], "waiting");
    desk.lets_go(&id, client);
}

#[test]
fn the_data_port_refuses_foreign_hosts_and_origins() {
    let desk = Desk::open();
    let body = sample::chat("Hi");
    let own = format!("host: {}", desk.gate.address());
    let rebound = format!("host: rebound.example:{}", desk.gate.address().port());
    let foreign = format!("{own}\r\norigin: https://page.example");
    let sandboxed = format!("{own}\r\norigin: null");
    for headers in [&rebound, &foreign, &sandboxed] {
        let answer = desk.gate.client().unwrap().exchange(&post(headers, &body)).unwrap();
        assert_eq!(answer.status(), 403, "{headers}");
    }
    assert!(desk.upstream.take().is_empty(), "nothing leaves");
    let answer = desk.gate.client().unwrap().exchange(&post(&own, &body)).unwrap();
    assert_eq!((answer.status(), desk.upstream.take().len()), (200, 1), "without them it passes");
}

#[test]
fn how_long_a_paused_client_hears_nothing_is_a_time() {
    for silence in ["0", "-1", "soon", "NaN", "1e300"] {
        let option = format!("--pause-silence={silence}");
        let output = gate::run(&["run", "--upstream", "echo:", &option], b"").unwrap();
        assert_eq!(output.status.code(), Some(2), "{silence}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("give seconds"), "{silence}");
    }
}

fn post(headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\n{headers}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

/// The text of a leaf as a turn shows it.
fn leaf<'t>(turn: &'t Value, pointer: &str) -> &'t str {
    let sections = turn["sections"].as_array().unwrap().iter();
    let mut leaves = sections.flat_map(|section| section["leaves"].as_array().unwrap());
    leaves.find(|leaf| leaf["pointer"] == pointer).and_then(|leaf| leaf["text"].as_str()).unwrap()
}
