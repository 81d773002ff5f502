//! The command of the user's choice when something waits.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::Command;

use leafgate_tests::admin::{Admin, chat_later};
use leafgate_tests::gate::Gate;
use leafgate_tests::sample;

use crate::setup::policy;

const RULES: &str = "[[rule]]\nid = \"ask-first\"\nmatch = {}\nwhen = 'leaf.text.contains(\"prod-db\")'\naction = \"pause\"\nreason = \"Production data\"\n";

/// A pipe with a name: who reads it waits for who writes it.
fn pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// The next line that a run of the command wrote. A writer opens the pipe anew each time.
fn next_line(path: &Path) -> String {
    let mut line = String::new();
    BufReader::new(File::open(path).unwrap()).read_line(&mut line).unwrap();
    line.trim_end().to_owned()
}

fn start(folder: &Path, command: &str) -> Gate {
    let folder = folder.to_string_lossy();
    Gate::start(&["--policy", &folder, "--upstream", "echo:", "--notify-command", command]).unwrap()
}

#[test]
fn a_command_learns_which_turn_waits_and_nothing_of_what_it_says() {
    let (rules, scratch) = (policy(RULES), tempfile::tempdir().unwrap());
    let told = scratch.path().join("told");
    pipe(&told);
    // What the gate adds to its own environment (these tests may run with `LEAFGATE_FIXTURES` set, and
    // each gate has folders of its own), its arguments, and whether it can be typed to.
    let inherited = std::env::vars().map(|(name, _)| name).filter(|name| name.starts_with("LEAFGATE_"));
    let inherited: String = inherited.map(|name| format!("|{name}")).collect();
    let command = format!(
        "(env | grep '^LEAFGATE_' | grep -Ev '^(LEAFGATE_[A-Z]+_DIR{inherited})=' | sort; echo \"$# $(cat)\") | tr '\\n' '|' > '{}'",
        told.display()
    );
    let gate = start(rules.path(), &command);
    let client = chat_later(&gate, &sample::chat("prod-db: the words")).unwrap();
    let line = next_line(&told);
    let session = line.split("LEAFGATE_SESSION=").nth(1).unwrap().split('|').next().unwrap();
    assert!(session.starts_with("chat · other · …"), "{line}");
    let line = line.replace(session, "SESSION");
    assert_eq!(
        line,
        "LEAFGATE_REASON=Production data|LEAFGATE_RULES=ask-first|LEAFGATE_SESSION=SESSION|LEAFGATE_TURN=1|0 |"
    );
    Admin::of(&gate).unwrap().cancel("1").unwrap();
    client.join().unwrap().unwrap();
}
