//! Plugins of a running gate: a script that is saved is live, and a plugin that fails again and again
//! is in quarantine until it is released.

use serde_json::{Value, json};

use crate::running::Running;
use crate::support::Bench;

const RULES: &str = "[plugins.projects]\nfile = \"projects.js\"\n\n[[rule]]\nid = \"projects\"\n\
    match = { role = \"user\", kind = \"text\" }\ndetect = [\"plugin:projects\"]\naction = \"redact\"\nwith = \"mask\"\n";

fn chat(text: &str) -> String {
    json!({ "model": "m", "messages": [{ "role": "user", "content": text }] }).to_string()
}

fn start(source: &str) -> Running {
    let bench = Bench::with(RULES);
    bench.file("policy/projects.js", source);
    Running::start(bench, &["--policy", "policy"])
}

fn finds(word: &str) -> String {
    format!("export const labels = ['PROJECT'];\nexport const detect = (leaf) => leaf.find('{word}');\n")
}

#[test]
fn a_script_redacts_and_is_live_when_it_is_saved() {
    let gate = start(&finds("Zeppelin"));
    let mut events = gate.events();
    let asked = chat("Zeppelin meets Hindenburg");
    let answer = gate.chat(&asked).body;
    assert!(!answer.contains("Zeppelin") && answer.contains("[PROJECT] meets Hindenburg"), "{answer}");
    gate.bench.file("policy/projects.js", &finds("Hindenburg"));
    assert_eq!(events.next("policy").unwrap()["policy"]["refused"], Value::Null);
    let answer = gate.chat(&asked).body;
    assert!(answer.contains("Zeppelin meets [PROJECT]"), "{answer}");
    // A slip of the pen is told by line and column, and the last good one serves.
    gate.bench.file("policy/projects.js", "export const labels = [];\nlet = 1;\n");
    let refused = events.next("policy").unwrap()["policy"]["refused"].to_string();
    assert!(refused.contains("projects.js:2:5: SyntaxError"), "{refused}");
    assert!(gate.chat(&asked).body.contains("Zeppelin meets [PROJECT]"));
}

#[test]
fn invariant_7_a_plugin_in_quarantine_does_not_count_as_passed_until_it_is_released() {
    let source = finds("Zeppelin").replace("=> ", "=> leaf.text.includes('odd') ? missing : ");
    let gate = start(&source);
    let plugin = || gate.json(&["status", "--json"])["policy"]["plugins"][0].clone();
    assert_eq!(plugin(), json!({ "name": "projects", "faults": 0 }));
    for n in 0..5 {
        assert_eq!(gate.chat(&chat(&format!("an odd thought {n}"))).status, 400);
        // What was answered before is remembered, so each text is another one.
        let even = gate.chat(&chat(&format!("an even thought {n}"))).status;
        assert_eq!(even, if n == 4 { 400 } else { 200 });
    }
    let held = plugin();
    assert_eq!(held["faults"], 5);
    let last = held["quarantine"]["lastFault"].as_str().unwrap();
    assert!(last.starts_with("threw at projects.js:2:"), "{last}");
    let blocked = gate.chat(&chat("an even thought 4")).body;
    assert!(!blocked.contains("thought"), "{blocked}");
    let status = gate.run(&["status"]).out;
    assert!(
        status.contains("projects in quarantine for ") && status.contains("leafgate plugin release projects"),
        "{status}"
    );
    let released = gate.run(&["plugin", "release", "projects"]);
    assert_eq!(released.out, "projects is asked again, and its faults are forgotten\n");
    assert_eq!(plugin()["quarantine"], Value::Null);
    assert_eq!(gate.chat(&chat("an even thought 4")).status, 200);
    assert_eq!(gate.run(&["plugin", "release", "projects"]).out, "projects is in no quarantine\n");
    for nobody in ["other", "../status", ""] {
        assert_eq!(gate.run(&["plugin", "release", nobody]).code, 2, "{nobody}");
    }
}
