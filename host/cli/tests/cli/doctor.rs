//! Clients that are tried: what is left of that.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::support::Bench;

/// A client that keeps each conversation in a file of its own, as Claude Code does.
const CLIENT: &str = r#"#!/bin/sh
case "$1" in --version) echo "2.0.0 (Claude Code)"; exit;; esac
for question; do :; done
folder="$HOME/.claude/projects/$$"
mkdir -p "$folder"
echo "{\"content\":\"$question\"}" > "$folder/conversation.jsonl"
echo "another one" > "$HOME/.claude/projects/meanwhile-$$.jsonl"
"#;

#[test]
fn a_trial_leaves_no_conversation_in_the_users_history() {
    let bench = Bench::new();
    let program = bench.file("programs/claude", CLIENT);
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let earlier =
        bench.file("home/.claude/projects/mine/earlier.jsonl", "Say hello to Ann. I did so myself.");
    let mut command = bench.command(&["doctor", "claude"]);
    command.env("HOME", bench.path().join("home"));
    command.env("PATH", format!("{}:/usr/bin:/bin", program.parent().unwrap().display()));
    let ran = bench.run_command(command, "");
    assert!(ran.out.contains("2.0.0 (Claude Code)"), "{}", ran.shown());
    let mut left: Vec<String> = fs::read_dir(bench.path().join("home/.claude/projects"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    let (meanwhile, mine) = left.split_at(2);
    assert!(meanwhile.iter().all(|name| name.starts_with("meanwhile-")), "{left:?}");
    assert_eq!(mine, ["mine"], "both conversations are gone with their folders: {left:?}");
    assert!(earlier.exists());
}
