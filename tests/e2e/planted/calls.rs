//! What every command of the binary is called with where secrets are planted.
//!
//! A call is written as on a command line. `{name}` stands for a path or a word of the test's
//! [`Stage`], and what follows `<` for the file that standard input comes from.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use leafgate_tests::gate;

/// Asked of a gate that runs, while a turn waits.
pub(super) const RUNNING: &[&str] = &[
    "status",
    "status --json",
    "pending list",
    "pending show {turn}",
    "pending show {turn} --json",
    "pending diff {turn}",
    "pending edit {turn} --set-file /messages/0/content {text}",
    "pending edit {turn} --insert-before /messages/0 {secret}",
    "pending edit {turn} --set /nowhere {secret}",
    "pending edit {turn} --undo",
    "pending resume {turn} --digest 00",
    "pending fields {secret}",
    "pending fields model",
    "sessions list",
    "sessions list --json",
    "sessions follow off",
    "sessions follow on",
    "sessions select nobody",
    "sessions close nobody",
    "subagents",
    "subagents --json",
    "saved list",
    "saved set --preview-limit 3",
    "mode autoOverride",
    "saved capture {turn}",
    "mode off",
    "env",
    "review --plain",
    "agents run {secret}",
    "plugin release {secret}",
    "doctor",
    "doctor --json",
    "pending cancel {turn}",
    "pending show {turn}",
    "exec --policy {rules} -- cat {absent}",
    "exec --gate 1 -- true",
    "exec --upstream ftp://user:{secret}@host -- true",
];

/// Asked without one.
pub(super) const OFFLINE: &[&str] = &[
    "tree {request}",
    "tree --json {request}",
    "tree {cut}",
    "apply --policy {rules} --diff {request}",
    "apply --policy {rules} --json {request}",
    "apply --policy {rules} --ops {request}",
    "apply --policy {rules} {cut}",
    "apply --policy {rules} {text}",
    "apply --policy {rules} --ops-in {cut} {request}",
    "apply --policy {broken} {request}",
    "apply --policy {rules} --profile {secret} {request}",
    "apply --policy {rules} --config {cut} {request}",
    "explain --policy {rules}",
    "explain --policy {rules} --json",
    "explain --policy {rules} {request}",
    "explain --policy {rules} --json {request}",
    "explain --policy {rules} --leaf messages[0].content {request}",
    "explain --policy {rules} --leaf messages[0].{secret} {request}",
    "explain --policy {rules} {cut}",
    "explain --policy {rules} --profile {secret} {request}",
    "self verify {cut}",
    "self verify --sums {text} {cut}",
    "check --policy {rules}",
    "check --policy {broken}",
    "check --policy {broken} --json",
    "check --policy {rules} --set {secret}",
    "test --policy {rules}",
    "test --policy {rules} --json",
    "test --policy {rules} --update",
    "test --policy {broken}",
    "except add --policy {rules} --pattern AB+ --reason r --by b --until never --file other.toml",
    "except add --policy {rules} --finding {secret} --reason r --by b --until never",
    "except add --policy {broken} --value {secret} --reason r --by b --until never",
    "except list --policy {rules}",
    "except list --policy {broken} --json",
    "except remove --policy {rules} {secret}",
    "baseline --policy {rules} --reason r --by b --until never {request}",
    "baseline --policy {rules} --reason r --by b --until never --file log.toml --log",
    "baseline --policy {rules} --reason r --by b --until never --file cut.toml {cut}",
    "promote --policy {rules} nobody",
    "promote --policy {rules} held",
    "compose --policy {rules} {request}",
    "compose --policy {rules} --json {cut}",
    "redact {session}",
    "redact --check {session}",
    "redact --json {session}",
    "chat redact {export}",
    "chat redact --json {export}",
    "chat redact {session}",
    "chat show {export}",
    "chat show {request}",
    "chat check {export}",
    "chat check {cut}",
    "chat wire --to openai-chat {cut}",
    "chat raw {cut}",
    "chat messages {cut}",
    "verify --policy {rules} {request}",
    "verify --policy {rules} --json {request}",
    "verify --policy {rules} {cut}",
    "plan --policy {rules} --against {request}",
    "plan --policy {rules} --today none --against {text} {cut} {request}",
    "plan --policy none --today {rules} --json --against {request} log",
    "plan --policy {broken} --against {request}",
    "plan --policy {rules} --profile {secret} --against {request}",
    "scan {work}",
    "scan --json {request}",
    "scan --sarif {request} {text}",
    "scan - <{text}",
    "known add --name mine <{text}",
    "known list",
    "known list --json",
    "known suggest",
    "known remove mine",
    "known remove {secret}",
    "agents check {team}",
    "agents show {team}",
    "agents export {team}",
    "agents check {cut}",
    "plugin new words --lang js --dir {work}/words",
    "plugin build {work}/words",
    "plugin build {work}",
    "plugin inspect {plugin}",
    "plugin check {plugin}",
    "plugin check {script}",
    "plugin check {script} --config key={secret}",
    "plugin test {plugin}",
    "plugin test {script}",
    "plugin run {script} {request}",
    "plugin run {plugin} {request}",
    "plugin bench {plugin} --text {text}",
    "plugin key {work}/signing.key",
    "plugin sign --key {work}/signing.key {script}",
    "plugin sign --key {text} {script}",
    "plugin verify {script}",
    "plugin verify --key {secret} {script}",
    "log",
    "log list",
    "log list --json",
    "log show 1",
    "log show 1 --json",
    "log diff 1 2",
    "log search key",
    "log search key --json",
    "log mark 1 right",
    "log mark 1 wrong --rule {secret}",
    "log reveals",
    "log reveals --json",
    "log export",
    "log export --format har",
    "log export --format replay",
    "log export --format chat --force {work}/chat.json",
    "receipt export --force {work}/receipts",
    "receipt verify {work}/receipts",
    "receipt verify {text}",
    "receipt verify {cut}",
    "receipt key",
    "cache",
    "cache --json",
    "config show",
    "config show --json",
    "config show --config {config}",
    "config show --config {config} --json",
    "config show --config {cut}",
    "config show --set proxy=http://user:{secret}@127.0.0.1:9",
    "saved list --workspace {work}",
    "saved list --workspace {work} --json",
    "saved show 1 --workspace {work}",
    "saved diff 1 --workspace {work}",
    "saved remove 1 --workspace {work}",
    "trust {work}",
    "trust --list",
    "detectors list",
    "detectors explain secrets/github-token",
    "detectors import {cut}",
    "detectors import {rules}/rules.toml",
    "schema rules",
    "schema config",
    "schema admin",
    "schema admin --openapi",
    "completions bash",
    "man",
];

/// Commands that are called in another way, and how.
pub(super) const OTHERWISE: &[(&str, &str)] = &[
    ("run", "it is the gate of the test"),
    ("reveal", "its call has the word of a value in it"),
    ("log tail", "it does not end by itself"),
    ("plugin dev", "it does not end by itself"),
    ("start", "its gate outlives the test"),
    ("stop", "it ends the gate of `start`"),
    ("service install", "it takes nothing, and writes into the user's own folder"),
    ("service status", "it takes nothing"),
    ("service remove", "it takes nothing"),
    ("vscode on", "its gate outlives the test"),
    ("vscode off", "it reads the settings of editors alone"),
    ("vscode status", "it reads the settings of editors alone"),
    ("policy new", "it reads no text, and writes into the user's own folder"),
    ("off", "it takes a span alone, and what is found meanwhile would leave"),
    ("on", "it takes nothing"),
];

/// What calls name.
pub(super) struct Stage(BTreeMap<&'static str, String>);

impl Stage {
    /// Writes files of every kind that commands read, each with a secret in it.
    pub(super) fn set(work: &Path, secret: &str) -> Stage {
        let said = format!("the key is {secret}");
        let body = serde_json::json!({ "model": "m", "messages": [{ "role": "user", "content": said }] });
        let export = serde_json::json!({ "version": 3, "requests": [{
            "requestId": "r", "message": { "text": said, "parts": [] }, "response": [{ "value": said }],
            "variableData": { "variables": [] } }] });
        let team = serde_json::json!({ "agents": [{ "name": "a", "prompt": "Do.", secret: said }] });
        let rule = "[[rule]]\nid = \"x\"\nmatch = {}\naction = \"redact\"\n";
        let files = [
            ("request", "request.json", body.to_string()),
            ("session", "session.jsonl", format!("{{\"text\": \"{secret}\"}}\n{{\"cut\": \"{secret}\n")),
            ("cut", "cut.json", format!("{{\"{secret}\": \"{secret}")),
            ("text", "text.txt", format!("{said}\n")),
            ("export", "export.json", export.to_string()),
            ("team", "team.json", team.to_string()),
            ("plugin", "broken.wasm", format!("\0asm\u{d}\0\u{1}\0{secret}")),
            ("script", "script.js", format!("export function detect( {{ /* {secret} */\n")),
            ("broken", "broken/rules.toml", format!("{rule}detect = [\"{secret}\"]\nvalue = \"{secret}\"\n")),
            ("saved", ".leafgate/saved.toml", format!("[[edit]]\nid = \"1\"\ntext = \"{secret}\"\n")),
        ];
        let mut names = BTreeMap::new();
        for (name, file, text) in files {
            let path: PathBuf = work.join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, text).unwrap();
            names.insert(name, path.display().to_string());
        }
        names.insert("broken", work.join("broken").display().to_string());
        names.insert("rules", work.join("policy").display().to_string());
        names.insert("config", work.join("config.toml").display().to_string());
        names.insert("absent", work.join("absent").display().to_string());
        names.insert("work", work.display().to_string());
        names.insert("secret", secret.to_owned());
        Stage(names)
    }

    /// Names a turn that waits.
    pub(super) fn with_turn(mut self, turn: String) -> Stage {
        self.0.insert("turn", turn);
        self
    }

    /// The words of a call, and what it reads from standard input.
    pub(super) fn call(&self, call: &str) -> (Vec<String>, Vec<u8>) {
        let filled = |word: &str| {
            let mut word = word.to_owned();
            for (name, stands) in &self.0 {
                word = word.replace(&format!("{{{name}}}"), stands);
            }
            word
        };
        let (inputs, words): (Vec<&str>, Vec<&str>) = call.split(' ').partition(|word| word.starts_with('<'));
        let input = inputs.first().map(|word| std::fs::read(filled(&word[1..])).unwrap());
        (words.into_iter().map(filled).collect(), input.unwrap_or_default())
    }
}

/// Every command of the binary that has none below it, as its help names them.
fn commands(above: &[String]) -> BTreeSet<String> {
    let asked = [above, &["--help".to_owned()]].concat();
    let asked: Vec<&str> = asked.iter().map(String::as_str).collect();
    let help = String::from_utf8(gate::run(&asked, b"").unwrap().stdout).unwrap();
    let is_last = |line: &&str| ["Arguments:", "Options:"].contains(line);
    let listed =
        help.lines().skip_while(|line| !line.starts_with("Usage:")).take_while(|line| !is_last(line));
    let below = listed
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|name| name.starts_with(|c: char| c.is_ascii_lowercase()) && *name != "help");
    let mut leaves = BTreeSet::new();
    for name in below {
        leaves.extend(commands(&[above, &[name.to_owned()]].concat()));
    }
    if leaves.is_empty() {
        leaves.insert(above.join(" "));
    }
    leaves
}

/// A command that is new must be called with secrets, or be told here how it is.
#[test]
fn every_command_is_called_where_secrets_are_planted() {
    let commands = commands(&[]);
    assert!(commands.len() > 60, "{commands:?}");
    let is_call_of = |call: &str, command: &str| {
        call == command || call.strip_prefix(command).is_some_and(|rest| rest.starts_with(' '))
    };
    let is_called = |command: &str| RUNNING.iter().chain(OFFLINE).any(|call| is_call_of(call, command));
    let otherwise: BTreeSet<&str> = OTHERWISE.iter().map(|(command, _)| *command).collect();
    for command in &commands {
        assert_ne!(
            is_called(command),
            otherwise.contains(command.as_str()),
            "`leafgate {command}`: add a call of it to the lists above, in one of them"
        );
    }
    for command in otherwise {
        assert!(commands.contains(command), "there is no `leafgate {command}` any more");
    }
}
