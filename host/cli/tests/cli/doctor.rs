//! Clients that are tried: what is said of them, and what is left of that.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use crate::support::{Bench, EMAIL, Ran, secret};

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
    tried_by(bench, bench.command(&["doctor", "claude"]), client)
}

/// The same, with a command that calls `doctor`.
fn tried_by(bench: &Bench, mut command: Command, client: &str) -> Ran {
    let program = bench.file("programs/claude", client);
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
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
    let ran = tried(&Bench::new(), &ASKING.replace("SYSTEM", &format!("Write to '$$'{EMAIL}.")));
    assert!(ran.out.contains("but for values that the log masks"), "{}", ran.shown());
}

#[test]
fn a_trial_needs_no_settings_of_the_user_and_no_empty_folder() {
    let bench = Bench::new();
    let earlier = "mkdir -p \"$LEAFGATE_DATA_DIR/doctor.$$/log\" && echo old > \"$LEAFGATE_DATA_DIR/doctor.$$/log/log.db\" \
                   && exec \"$0\" doctor claude";
    let mut shell = Command::new("sh");
    shell.args(["-c", earlier, env!("CARGO_BIN_EXE_leafgate")]).current_dir(bench.path()).env_clear();
    shell.env("LEAFGATE_DATA_DIR", bench.path().join("data")).env("LEAFGATE_ENABLED", "false");
    let ran = tried_by(&bench, shell, &ASKING.replace("SYSTEM", "Be brief."));
    assert!(ran.out.contains("asks through the gate: /v1/messages\n"), "{}", ran.shown());
    assert_eq!(left(&bench), [""; 0]);
}

#[test]
fn why_a_client_was_not_started_is_told_without_a_log() {
    let client = r#"#!/bin/sh
case "$1" in --version) echo "2.0.0 (Claude Code)"; exit;; esac
rm "$LEAFGATE_DATA_DIR"/log/log.db*
echo "leafgate: the log cannot be made" >&2
exit 2
"#;
    let ran = tried(&Bench::new(), client);
    assert!(ran.out.contains("problem claude: the log cannot be made\n"), "{}", ran.shown());
}

#[test]
fn a_signal_leaves_no_folder_of_a_trial() {
    let client = r#"#!/bin/sh
case "$1" in --version) echo "2.0.0 (Claude Code)"; exit;; esac
kill -INT $(ps -o ppid= -p $PPID)
while kill -0 $PPID 2>/dev/null; do sleep 0.05; done
"#;
    let bench = Bench::new();
    let ran = tried(&bench, client);
    assert!(ran.code == 2 && ran.err.contains("a signal ended the trial"), "{}", ran.shown());
    assert_eq!(left(&bench), [""; 0]);
}

/// The folders of trials that are left.
fn left(bench: &Bench) -> Vec<String> {
    let entries = fs::read_dir(bench.path().join("data")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("doctor.")).collect()
}
