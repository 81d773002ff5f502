//! `redact`: sessions of agents on disk.

use std::fs;

use serde_json::json;

use crate::support::{Bench, EMAIL, secret};

/// A session as Claude Code keeps it: a result twice on its line, a value over two parts, a blank line, and a line that was cut off.
fn session() -> String {
    let (secret, half) = (secret(), secret().len() / 2);
    let result = json!({ "type": "user", "message": { "role": "user", "content": [
        { "type": "tool_result", "tool_use_id": "t", "content": format!("GITHUB_TOKEN={secret}\n") },
    ]}, "toolUseResult": { "stdout": format!("GITHUB_TOKEN={secret}\n") } });
    let parts = |text: &str| json!({ "type": "assistant", "message": { "id": "m", "role": "assistant", "content": [{ "type": "text", "text": text }] } });
    [
        "{\"type\":\"summary\",   \"summary\":\"spaced \\u00e9\"}".to_owned(),
        result.to_string(),
        String::new(),
        parts(&format!("The key is {}", &secret[..half])).to_string(),
        parts(&format!("{}, as you see", &secret[half..])).to_string(),
        format!("{{\"type\":\"user\",\"message\":{{\"content\":\"my {secret}"),
    ]
    .join("\n")
}

#[test]
fn a_session_is_redacted_in_every_place_and_nothing_else_changes() {
    let bench = Bench::new();
    bench.file("s.jsonl", &session());
    let ran = bench.run(&["redact", "s.jsonl"], "");
    assert_eq!(ran.code, 0, "{}", ran.shown());
    let (before, after) = (session(), ran.out.clone());
    let half = secret().len() / 2;
    for piece in [secret().as_str(), &secret()[..half], &secret()[half..]] {
        assert!(!after.contains(piece), "{after}");
    }
    let lines = |text: &str| text.split('\n').map(str::to_owned).collect::<Vec<_>>();
    let (before, after) = (lines(&before), lines(&after));
    assert_eq!(before.len(), after.len());
    assert_eq!((&before[0], &before[2]), (&after[0], &after[2]), "byte for byte");
    // Each place has the same token, and around it nothing changed.
    let token = after[1].split("GITHUB_TOKEN=").nth(1).unwrap().split('\\').next().unwrap().to_owned();
    assert_eq!(after[1], before[1].replace(&secret(), &token));
    assert_eq!(after[5], before[5].replace(&secret(), &token));
    let joined: String = [3, 4]
        .map(|line| {
            serde_json::from_str::<serde_json::Value>(&after[line]).unwrap()["message"]["content"][0]["text"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .concat();
    assert_eq!(joined, format!("The key is {token}, as you see"));
    assert!(ran.err.contains("s.jsonl: 4 redactions"), "{}", ran.err);
}

#[test]
fn a_hook_is_told_the_lines_and_nothing_is_written() {
    let bench = Bench::new();
    let dirty = bench.file("dirty.jsonl", &session());
    bench.file("clean.jsonl", "{\"a\": 1}\n");
    let ran = bench.run(&["redact", "--check", "clean.jsonl", "dirty.jsonl"], "");
    assert_eq!(ran.code, 1, "{}", ran.shown());
    let lines: Vec<&str> =
        ran.out.lines().filter_map(|line| line.strip_prefix("dirty.jsonl:")?.split(':').next()).collect();
    assert_eq!(lines, ["2", "2", "4", "6"], "{}", ran.out);
    assert!(!ran.shown().contains(&secret()));
    assert_eq!(fs::read_to_string(dirty).unwrap(), session());
    let clean = bench.run(&["redact", "--check", "clean.jsonl"], "");
    assert_eq!((clean.code, clean.out.as_str()), (0, ""));
}

#[test]
fn files_are_replaced_in_place_and_again_there_is_nothing_to_do() {
    let bench = Bench::new();
    let file = bench.file("s.jsonl", &session());
    let wanted = bench.run(&["redact", "s.jsonl"], "").out;
    assert_eq!(bench.run(&["redact", "--in-place", "s.jsonl"], "").code, 0);
    assert_eq!(fs::read_to_string(&file).unwrap(), wanted);
    let again = bench.run(&["redact", "--in-place", "s.jsonl"], "");
    assert!(again.err.contains("nothing to redact"), "{}", again.err);
    assert_eq!(bench.run(&["redact", "--check", "s.jsonl"], "").code, 0);
}

#[test]
fn what_cannot_be_redacted_stops_the_file() {
    let bench = Bench::new();
    let keyed = format!("{{\"{}\": 1}}\n", secret());
    let file = bench.file("s.jsonl", &keyed);
    let ran = bench.run(&["redact", "--in-place", "s.jsonl"], "");
    assert_eq!(ran.code, 4, "{}", ran.shown());
    assert!(!ran.shown().contains(&secret()));
    assert_eq!(fs::read_to_string(file).unwrap(), keyed);
    let several = bench.run(&["redact", "s.jsonl", "s.jsonl"], "");
    assert!(several.code == 2 && several.err.contains("--in-place"), "{}", several.shown());
    let none = bench.run(&["redact", "gone.jsonl"], "");
    assert!(none.code == 2 && none.err.contains("gone.jsonl"), "{}", none.shown());
}

#[test]
fn rules_of_a_folder_count_for_sessions_too() {
    let bench = Bench::with(crate::support::RULES);
    bench.file("s.jsonl", &format!("{{\"text\": \"write to {EMAIL}\"}}\n"));
    let ran = bench.run(&["redact", "--policy", "policy", "--json", "s.jsonl"], "");
    let report: serde_json::Value = ran.json();
    assert_eq!(report["findings"], json!([{ "line": 1, "label": "EMAIL" }]));
    assert_eq!((ran.code, &report["written"]), (0, &json!(false)));
}
