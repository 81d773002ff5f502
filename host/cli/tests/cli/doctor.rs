//! Clients that are tried: what is said of them, and what is left of that.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::support::{Bench, Ran, secret};

/// A client that keeps each conversation in a file of its own, as Claude Code does.
const CLIENT: &str = r#"#!/bin/sh
case "$1" in --version) echo "2.0.0 (Claude Code)"; exit;; esac
for question; do :; done
folder="$HOME/.claude/projects/$$"
mkdir -p "$folder"
echo "{\"content\":\"$question\"}" > "$folder/conversation.jsonl"
echo "another one" > "$HOME/.claude/projects/meanwhile-$$.jsonl"
"#;

/// Has `doctor` try a program in the place of Claude Code.
fn tried(bench: &Bench, client: &str) -> Ran {
    let program = bench.file("programs/claude", client);
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = bench.command(&["doctor", "claude"]);
    command.env("HOME", bench.path().join("home"));
    command.env("PATH", format!("{}:/usr/bin:/bin", program.parent().unwrap().display()));
    bench.run_command(command, "")
}

#[test]
fn a_trial_leaves_no_conversation_in_the_users_history() {
    let bench = Bench::new();
    let earlier =
        bench.file("home/.claude/projects/mine/earlier.jsonl", "Say hello to Ann. I did so myself.");
    let ran = tried(&bench, CLIENT);
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

/// A client that asks one question, with a system prompt of its own.
const ASKING: &str = r#"#!/bin/bash
case "$1" in --version) echo "2.0.0 (Claude Code)"; exit;; esac
for question; do :; done
place=${ANTHROPIC_BASE_URL#http://}
body='{"model":"m","max_tokens":9,"system":"SYSTEM","messages":[{"role":"user","content":"'$question'"}]}'
exec 3<>"/dev/tcp/${place%:*}/${place#*:}"
printf 'POST /v1/messages HTTP/1.1\r\nhost: %s\r\ncontent-type: application/json\r\ncontent-length: %s\r\nconnection: close\r\n\r\n%s' \
    "$place" "${#body}" "$body" >&3
cat <&3 >/dev/null
"#;

#[test]
fn a_client_that_asks_through_the_gate_is_good_and_what_is_redacted_in_it_breaks_no_cache() {
    let ran = tried(&Bench::new(), &ASKING.replace("SYSTEM", &format!("It is {}.", secret())));
    assert!(ran.out.contains("asks through the gate: /v1/messages\n"), "{}", ran.shown());
    assert!(ran.out.contains("two runs begin with the same prompt"), "{}", ran.shown());
    let ran = tried(&Bench::new(), &ASKING.replace("SYSTEM", "Process '$$'."));
    assert!(ran.out.contains("differs from run to run within the prompt: /system\n"), "{}", ran.shown());
}
