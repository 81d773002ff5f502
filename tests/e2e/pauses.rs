//! Requests that wait for a person, and what commands show of them.

use leafgate_tests::admin::{Admin, answered, chat_later};
use leafgate_tests::gate::{self, Gate};
use leafgate_tests::sample;
use serde_json::json;

use crate::setup::policy;

const RULES: &str = "[[rule]]\nid = \"ask-first\"\nmatch = { section = \"tool-result\" }\naction = \"pause\"\nreason = \"Production data\"\n";

const REWRITES: &str =
    "[[rule]]\nid = \"a\"\nmatch = { section = \"tool-result\" }\naction = \"rewrite\"\nappend = \" more\"\n";

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
    let call =
        json!({ "id": "call_1", "type": "function", "function": { "name": "run_sql", "arguments": "{}" } });
    let body = sample::messages(
        "gpt-sample",
        &json!([
            { "role": "user", "content": "List the tables." },
            { "role": "assistant", "content": null, "tool_calls": [call] },
            { "role": "tool", "tool_call_id": "call_1", "content": HOSTILE },
        ]),
    );
    let (data, pausing, rewriting) = (tempfile::tempdir().unwrap(), policy(RULES), policy(REWRITES));
    let folder = |folder: &tempfile::TempDir| folder.path().to_string_lossy().into_owned();
    let (pausing, rewriting) = (folder(&pausing), folder(&rewriting));
    let gate = Gate::start_in(data.path(), &["--policy", &pausing, "--upstream", "echo:"]).unwrap();
    let admin = Admin::of(&gate).unwrap();
    let mut events = admin.events().unwrap();
    let client = chat_later(&gate, &body).unwrap();
    let id = events.paused().unwrap();
    admin.set(&id, "/messages/0/content", HOSTILE).unwrap();
    let port = gate.address().port().to_string();
    let commands: [(&[&str], &[u8]); 6] = [
        (&["pending", "list"], b""),
        (&["pending", "show", &id], b""),
        (&["pending", "diff", &id], b""),
        (&["tree", "--policy", &pausing, "-"], &body),
        (&["apply", "--diff", "--policy", &rewriting, "-"], &body),
        (&["review", "--plain", "--gate", &port, &id], b"show\nopen 1\nopen 3\nopen 1.1\ndiff\nquit\n"),
    ];
    for (arguments, input) in commands {
        let output = gate::run_in(data.path(), arguments, input).unwrap();
        let shown = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert!(output.status.success(), "{arguments:?}: {shown}");
        let found: Vec<_> = shown.chars().filter(|&one| moves_a_terminal(one)).collect();
        assert!(found.is_empty(), "{arguments:?} writes {found:?}");
        // The list has no text of a leaf; everything else shows it, in words.
        assert!(arguments[1] == "list" || shown.contains("\\u{1b}[2J"), "{arguments:?}: {shown}");
    }
    admin.cancel(&id).unwrap();
    assert_eq!(answered(client).unwrap().status(), 400);
}
