//! `cargo xtask demo`: what the gate does, told in a minute and checked at every step.
//!
//! First act: a coding agent's request passes; rules and plugins edit it; the answer comes back with the real values. Second act: a
//! plugin that never returns is stopped, its request is blocked, and the next one does not notice. Third: a request waits, is edited,
//! undone and let go. What is shown is what the commands print.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, Result, bail, ensure};
use leafgate_tests::admin::{Admin, answered, chat_later};
use leafgate_tests::gate::{self, Gate};
use leafgate_tests::upstream::Upstream;
use leafgate_tests::{plant, sample};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::plugins::{self, demo_policy, looping_policy};

/// What the policy redacts, beside the credential that is made up for each run. It stands in `examples/requests/agent.json`.
const PERSONAL: [&str; 3] = ["marlene.okafor@northwind-mail.example", "Marlene Okafor", "Okafor, Marlene"];

/// What a plugin rewrites.
const HOME: &str = "/home/marlene";

/// Lines that are shown of what a command prints, and columns of a line.
const LINES: usize = 38;
const WIDTH: usize = 118;

/// The policy of the third act.
const PAUSES: &str = r#"
[[rule]]
id = "secrets"
match = {}
detect = ["secrets"]
action = "redact"

[[rule]]
id = "production"
match = { section = "tool-result" }
when = 'leaf.text.contains("prod-db")'
action = "pause"
reason = "A result names the production database"
timeout = "2m"
"#;

/// The leaf that the person edits.
const QUESTION: &str = "/messages/0/content";

/// Tells the story; fails at the first step that differs from what it says.
pub(crate) fn demo() -> Result<()> {
    plugins::in_examples()?;
    let start = Instant::now();
    let mut stage = Stage::set()?;
    passing(&mut stage)?;
    looping(&mut stage)?;
    pause(&mut stage)?;
    println!(
        "\nAll {} checks held, in {:.1} s after the build.",
        stage.checks,
        start.elapsed().as_secs_f64()
    );
    Ok(())
}

/// The built-in upstream `echo:`, a tap before it that keeps every byte, and gates before the tap.
struct Stage {
    /// One installation: the gate and the single commands make the same tokens.
    data: TempDir,
    /// A gate without rules before the built-in upstream. It ends with this value.
    _echo: Gate,
    tap: Upstream,
    checks: usize,
    headings: usize,
}

impl Stage {
    fn set() -> Result<Self> {
        let data = tempfile::tempdir()?;
        let echo = Gate::start_in(data.path(), &["--policy", "none", "--upstream", "echo:"])?;
        let tap = Upstream::before(echo.address())?;
        Ok(Stage { data, _echo: echo, tap, checks: 0, headings: 0 })
    }

    /// A gate with this policy before the tap.
    fn gate(&self, policy: &Path) -> Result<Gate> {
        let upstream = self.tap.url();
        let arguments: [&OsStr; 4] =
            ["--policy".as_ref(), policy.as_os_str(), "--upstream".as_ref(), upstream.as_ref()];
        Gate::start_in(self.data.path(), &arguments)
    }

    /// What a command of the binary writes; it must succeed.
    fn command(&self, arguments: &[&str], input: &[u8]) -> Result<String> {
        let output = gate::run_in(self.data.path(), arguments, input)?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "`leafgate {}` failed: {said}", arguments[0]);
        Ok(String::from_utf8(output.stdout)?)
    }

    /// The same, with its first lines shown.
    fn shows(&self, arguments: &[&str], input: &[u8]) -> Result<String> {
        let written = self.command(arguments, input)?;
        written.lines().take(LINES).for_each(line);
        let left_out = written.lines().count().saturating_sub(LINES);
        if left_out > 0 {
            line(&format!("… and {left_out} more lines"));
        }
        Ok(written)
    }

    /// The one request that left since the last look.
    fn left(&mut self) -> Result<String> {
        let mut left = self.tap.take();
        self.check(left.len() == 1, "one request in, one request out")?;
        Ok(String::from_utf8(left.remove(0).body)?)
    }

    fn nothing_left(&mut self) -> Result<()> {
        let left = self.tap.take();
        self.check(left.is_empty(), "nothing left")
    }

    fn heading(&mut self, text: &str) {
        self.headings += 1;
        println!("\n{}. {text}\n", self.headings);
    }

    /// Checks what the story says; the first thing that is otherwise ends it.
    fn check(&mut self, holds: bool, what: &str) -> Result<()> {
        if !holds {
            bail!("step {}: this does not hold: {what}", self.headings);
        }
        self.checks += 1;
        Ok(())
    }
}

/// Prints one line, indented and cut to the stage's width.
fn line(text: &str) {
    match text.char_indices().nth(WIDTH) {
        Some((end, _)) => println!("   {}…", &text[..end]),
        None => println!("   {text}"),
    }
}

/// First act: a coding agent's request passes.
fn passing(stage: &mut Stage) -> Result<()> {
    let example = sample::example("agent.json")?;
    let policy = demo_policy();
    let policy = policy.to_str().context("a path that is no text")?;
    let came = std::str::from_utf8(&example.body)?;
    let secrets = || PERSONAL.into_iter().chain([example.credential.as_str()]);
    stage.check(secrets().chain([HOME]).all(|secret| came.contains(secret)), "the request holds secrets")?;
    stage.heading(
        "A coding agent's request is a tree: sections, and leaves with path, kind, access, length and text",
    );
    let tree = stage.shows(&["tree", "--policy", policy, "-"], &example.body)?;
    stage
        .check(tree.contains("messages[2].tool_calls[0].function.arguments.path"), "arguments are leaves")?;
    stage.check(!tree.contains(&example.credential), "the tree masks the credential")?;

    stage.heading("Rules and plugins edit single leaves; each edit has an author");
    let diff = stage.shows(&["apply", "--diff", "--policy", policy, "-"], &example.body)?;
    for author in ["rule redact", "plugin rewrite-home-paths", "plugin trim-tool-results"] {
        stage.check(diff.contains(author), &format!("an edit by {author}"))?;
    }
    stage.check(secrets().all(|secret| !diff.contains(secret)), "what was redacted is masked")?;

    stage
        .heading("What leaves the gate are the bytes that `leafgate apply` writes, without a secret in them");
    let gate = stage.gate(&demo_policy())?;
    let status = gate.client()?.chat(&example.body)?.status();
    stage.check(status == 200, "the request is answered")?;
    let left = stage.left()?;
    stage.check(
        stage.command(&["apply", "--policy", policy, "-"], &example.body)? == left,
        "the very bytes",
    )?;
    stage.check(secrets().chain([HOME]).all(|secret| !left.contains(secret)), "no secret left")?;
    line(&format!("{} bytes came, {} left", came.len(), left.len()));

    stage.heading("The model answers with tokens; the client reads the real values");
    let streaming = came.replacen('{', "{\n  \"stream\": true,", 1);
    for (how, body) in [("whole", came), ("streamed in small pieces", &streaming)] {
        let said = gate.client()?.chat(body.as_bytes())?.said()?;
        let left = stage.left()?;
        stage.check(!left.contains(&example.credential), "the model gets no credential")?;
        stage.check(
            said.contains(&example.credential) && said.contains(PERSONAL[0]),
            &format!("{how}: the values are back"),
        )?;
        stage.check(!said.contains(HOME), "what a plugin rewrote stays rewritten")?;
        let place = said.find(&example.credential).unwrap_or_default();
        let start = said.floor_char_boundary(place.saturating_sub(40));
        line(&format!("{how:<26} … {} …", said[start..place + example.credential.len()].replace("\\n", " ")));
    }
    Ok(())
}

/// Second act: a plugin that never returns, its request, and the next one.
fn looping(stage: &mut Stage) -> Result<()> {
    stage.heading("Another policy asks a plugin that loops for ever about every page that the agent fetched");
    let gate = stage.gate(&looping_policy())?;
    let start = Instant::now();
    let answer = gate.client()?.chat(&with_result("fetch_page", "A page."))?;
    let (code, message) = answer.refusal()?;
    line(&format!("after {} ms the client reads: {message}", start.elapsed().as_millis()));
    stage.check(answer.status() == 400 && code == "leafgate_blocked", "the request is blocked")?;
    stage.check(answer.header("x-should-retry") == Some("false"), "and SDKs are told not to try again")?;
    stage.check(message.contains("ask-the-looping-plugin"), "the answer names the rule")?;
    stage.nothing_left()?;
    let log = gate.wait_for_log(|log| log.contains("leafgate_blocked"))?;
    let logged = log.lines().find(|line| line.contains("leafgate_blocked")).unwrap_or_default();
    let held = logged
        .split_once("held=")
        .map_or(logged, |(_, rest)| rest.split("edits=").next().unwrap_or_default());
    line(&format!("the operator reads in the log: {held}"));
    stage.check(
        held.contains("`loops`") && held.contains("deadline"),
        "the log names the plugin and its fault",
    )?;

    stage.heading("The next request does not notice");
    let body = sample::chat("Are you still there?");
    let answer = gate.client()?.chat(&body)?;
    line(answer.start.trim_start_matches("HTTP/1.1 "));
    stage.check(answer.status() == 200, "the next request passes")?;
    let left = stage.left()?;
    stage.check(left.as_bytes() == body, "byte for byte")
}

/// Third act: a request waits until a person has looked at it. The demo is that person, and speaks the API that the prompt speaks.
fn pause(stage: &mut Stage) -> Result<()> {
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join("rules.toml"), PAUSES)?;
    let gate = stage.gate(folder.path())?;
    let admin = Admin::of(&gate)?;
    let mut events = admin.events()?;

    stage.heading("A rule holds a request until a person has looked at it");
    let secret = plant::github(31);
    let body = with_result("run_sql", &format!("prod-db-7: customers, orders; deployed with {secret}"));
    let client = chat_later(&gate, &body)?;
    let id = events.paused()?;
    let port = gate.address().port().to_string();
    let shown = stage.shows(&["pending", "show", &id, "--gate", &port], b"")?;
    stage.check(shown.contains("production"), "the turn says which rule holds it")?;
    let seen = admin.turn(&id)?;
    stage.check(
        !seen.to_string().contains(&secret) && !shown.contains(&secret),
        "nobody sees the credential",
    )?;
    stage.nothing_left()?;

    stage.heading("An edit is redacted before anybody sees it, and undo gives back the very bytes");
    let typed = plant::stripe(32);
    let edited = admin.set(&id, QUESTION, &format!("Log in with {typed} and list the tables."))?;
    stage.check(edited["digest"] != seen["digest"], "an edit changes the digest")?;
    stage.check(!edited.to_string().contains(&typed), "the secret that was typed in is redacted")?;
    stage.shows(&["pending", "diff", &id, "--gate", &port], b"")?;
    let undone = admin.edit(&id, &json!({ "action": "undo" }))?;
    stage.check(undone["digest"] == seen["digest"], "undo gives back the very bytes")?;

    stage.heading("Only what was shown is sent");
    admin.set(&id, QUESTION, "Which tables are there? Leave out the ones with customers.")?;
    let stale = admin.resume(&id, word(&seen["digest"]))?;
    line(&format!("resumed with the digest from before the edit: {}", word(&stale.json()?["message"])));
    stage.check(stale.status() == 409, "a stale digest is refused")?;
    stage.nothing_left()?;
    let payload = admin.get(&format!("/v1/pending/{id}/payload"))?;
    let resumed = admin.resume(&id, word(&payload["digest"]))?.status();
    stage.check(resumed == 200, "the digest of what was shown lets it go")?;
    stage.check(answered(client)?.status() == 200, "the client that waited gets its answer")?;
    let left = stage.left()?;
    stage.check(left == word(&payload["body"]), "what left is what was shown, byte for byte")
}

/// A request with the result of one call of a tool.
fn with_result(tool: &str, result: &str) -> Vec<u8> {
    let call = json!({ "id": "call_1", "type": "function", "function": { "name": tool, "arguments": "{}" } });
    sample::messages(
        "gpt-sample",
        &json!([
            { "role": "user", "content": "What is there?" },
            { "role": "assistant", "content": null, "tool_calls": [call] },
            { "role": "tool", "tool_call_id": "call_1", "content": result },
        ]),
    )
}

/// A text of the API's answer.
fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
