//! First act: a coding agent's request passes the gate.

use anyhow::{Context as _, Result};
use leafgate_tests::gate::Gate;
use leafgate_tests::sample::{self, Example};
use serde_json::Value;

use super::diff::{self, Hunk};
use super::stage::{Stage, line};
use crate::plugins::demo_policy;

/// What is redacted, beside the credential that is made up for each run. It stands in `examples/requests/agent.json`.
const PERSONAL: [&str; 3] = ["marlene.okafor@northwind-mail.example", "Marlene Okafor", "Okafor, Marlene"];

/// What a plugin rewrites: no secret, so the edit tells what it was.
const HOME: &str = "/home/marlene";

/// Lines of the tree that are shown: the conversation; the tool definitions below it are many and alike.
const TREE_LINES: usize = 38;

/// Characters of a stretch that are shown, and of the unchanged text on either side.
const SHOWN: usize = 34;
const CONTEXT: usize = 24;

pub(crate) fn play(stage: &mut Stage) -> Result<()> {
    let example = sample::example("agent.json")?;
    introduce(stage, &example)?;
    tree(stage, &example)?;
    let operations = edits(stage, &example)?;
    let gate = stage.gate(&demo_policy())?;
    let left = difference(stage, &gate, &example, &operations)?;
    answer(stage, &gate, &example, &left, &operations)
}

fn introduce(stage: &mut Stage, example: &Example) -> Result<()> {
    stage.heading("A coding agent sends a request");
    line(
        "The gate runs with the policy examples/policies/demo. Behind it is the built-in upstream `echo:`, which answers with",
    );
    line(
        "the request that it got, and between the two a tap that keeps every byte. The request is examples/requests/agent.json:",
    );
    line(&format!(
        "{} bytes, with a system prompt, history, two tool calls with JSON arguments and their results. In them are a",
        example.body.len()
    ));
    line("credential (made up just now), an e-mail address, a person's name and paths of a home directory.");
    for secret in secrets(example).into_iter().chain([HOME]) {
        stage.check(holds(&example.body, secret), "the request holds what the policy is about")?;
    }
    Ok(())
}

/// Everything that is redacted.
fn secrets(example: &Example) -> Vec<&str> {
    PERSONAL.into_iter().chain([example.credential.as_str()]).collect()
}

fn tree(stage: &mut Stage, example: &Example) -> Result<()> {
    stage.heading(
        "The gate reads it as a tree: sections, and leaves with their path, kind, access, length and text",
    );
    let policy = demo_policy();
    let shown = stage
        .command(&["tree".as_ref(), "--policy".as_ref(), policy.as_os_str(), "-".as_ref()], &example.body)?;
    let shown = String::from_utf8(shown)?;
    let lines: Vec<&str> = shown.lines().collect();
    lines.iter().take(TREE_LINES).for_each(|text| line(text));
    line(&format!(
        "… and {} more lines: tool definitions and request options",
        lines.len().saturating_sub(TREE_LINES)
    ));
    for path in
        ["messages[0].content", "messages[2].tool_calls[0].function.arguments.path", "messages[3].content"]
    {
        stage.check(shown.contains(path), &format!("the tree shows {path}"))?;
    }
    stage.check(!holds(shown.as_bytes(), &example.credential), "the tree masks the credential")
}

/// One line of `apply --ops`.
struct Operation {
    author: String,
    path: String,
    /// The token, or the new text.
    written: String,
    /// Label and token of a redaction.
    redaction: Option<(String, String)>,
}

fn edits(stage: &mut Stage, example: &Example) -> Result<Vec<Operation>> {
    stage.heading("The policy edits single leaves; each edit has an author");
    let policy = demo_policy();
    let written = stage.command(
        &["apply".as_ref(), "--ops".as_ref(), "--policy".as_ref(), policy.as_os_str(), "-".as_ref()],
        &example.body,
    )?;
    let written = String::from_utf8(written)?;
    let operations = written.lines().map(operation).collect::<Result<Vec<_>>>()?;
    for one in &operations {
        line(&format!("{:<50} {:<26} → {}", one.path, one.author, cut(&one.written.replace('\n', " "))));
    }
    for author in ["rule redact", "plugin rewrite-home-paths", "plugin trim-tool-results"] {
        stage.check(operations.iter().any(|one| one.author == author), &format!("{author} made an edit"))?;
    }
    stage.check(
        secrets(example).iter().all(|secret| !holds(written.as_bytes(), secret)),
        "no edit repeats what it removed",
    )?;
    Ok(operations)
}

fn operation(text: &str) -> Result<Operation> {
    let value: Value = serde_json::from_str(text).context("a line of `apply --ops` is not JSON")?;
    let text = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let redaction = value["token"].as_str().map(|token| (text("label"), token.to_owned()));
    let written = redaction.as_ref().map_or_else(|| text("newValue"), |(_, token)| token.clone());
    Ok(Operation { author: author(&value["author"]), path: text("targetPath"), written, redaction })
}

/// An author in words.
fn author(author: &Value) -> String {
    let text = |key: &str| author[key].as_str().unwrap_or_default();
    match text("type") {
        "plugin" => format!("plugin {}", text("plugin")),
        kind => format!("{kind} {}", text("id")),
    }
}

fn difference(
    stage: &mut Stage,
    gate: &Gate,
    example: &Example,
    operations: &[Operation],
) -> Result<Vec<u8>> {
    stage.heading("What came and what left differ in these stretches and in no other byte");
    let answer = gate.client()?.chat(&example.body)?;
    stage.check(answer.status() == 200, "the request is answered")?;
    let mut tapped = stage.tap.take();
    stage.check(tapped.len() == 1, "one request in, one request out")?;
    let left = tapped.remove(0).body;
    let (came, went) = (std::str::from_utf8(&example.body)?, std::str::from_utf8(&left)?);
    let hunks = diff::hunks(came, went);
    for hunk in &hunks {
        line(&shown(came, went, hunk, example, operations));
    }
    let gone: usize = hunks.iter().map(|hunk| hunk.old.len()).sum();
    line(&format!(
        "{} stretches, {gone} bytes; the other {} bytes left as they came",
        hunks.len(),
        came.len() - gone
    ));
    stage.check(diff::rebuilt(came, went, &hunks) == went, "the stretches are the whole difference")?;
    stage.check(secrets(example).iter().all(|secret| !holds(&left, secret)), "no secret left")?;
    stage.check(!holds(&left, HOME), "no path of a home directory left")?;
    let policy = demo_policy();
    let offline = stage
        .command(&["apply".as_ref(), "--policy".as_ref(), policy.as_os_str(), "-".as_ref()], &example.body)?;
    stage.check(offline == left, "`leafgate apply` writes the very bytes that left")?;
    Ok(left)
}

/// A hunk for people: redacted values masked, long stretches cut, a little of what stands around it.
fn shown(came: &str, went: &str, hunk: &Hunk, example: &Example, operations: &[Operation]) -> String {
    let new = &went[hunk.new.clone()];
    let label = operations
        .iter()
        .filter_map(|one| one.redaction.as_ref())
        .find(|(_, token)| new.contains(token.as_str()));
    let old =
        label.map_or_else(|| masked(&came[hunk.old.clone()], example), |(label, _)| format!("‹{label}›"));
    // Masked before it is cut: half an address would pass the mask.
    let before = masked(&came[..hunk.old.start], example).replace('\n', " ");
    let after = masked(&came[hunk.old.end..], example).replace('\n', " ");
    let before = before.char_indices().rev().nth(CONTEXT).map_or(&*before, |(at, _)| &before[at..]);
    let after = after.char_indices().nth(CONTEXT).map_or(&*after, |(at, _)| &after[..at]);
    format!("byte {:>5}  {before}[-{}-]{{+{}+}}{after}", hunk.old.start, cut(&old), cut(new))
}

fn masked(text: &str, example: &Example) -> String {
    secrets(example)
        .iter()
        .filter(|secret| !secret.starts_with('/'))
        .fold(text.to_owned(), |text, secret| text.replace(secret, "‹…›"))
}

fn cut(text: &str) -> String {
    let length = text.chars().count();
    if length <= SHOWN {
        return text.to_owned();
    }
    let half: String = text.chars().take(SHOWN / 2).collect();
    format!("{half}… ({length} characters)")
}

fn answer(
    stage: &mut Stage,
    gate: &Gate,
    example: &Example,
    left: &[u8],
    operations: &[Operation],
) -> Result<()> {
    stage.heading("The model answers with tokens; the client reads the real values");
    let left = std::str::from_utf8(left)?;
    let streaming = String::from_utf8(example.body.clone())?.replacen('{', "{\n  \"stream\": true,", 1);
    for (how, body) in [("whole", example.body.clone()), ("streamed in small pieces", streaming.into_bytes())]
    {
        let answer = gate.client()?.chat(&body)?;
        stage.check(answer.status() == 200, "the request is answered")?;
        let said = answer.said()?;
        let raw = stage.tap.take().pop().context("nothing passed the tap")?;
        stage.check(
            said == restored(std::str::from_utf8(&raw.body)?, example, left, operations),
            &format!("{how}: exactly the tokens are restored"),
        )?;
        stage.check(
            said.contains(&example.credential) && said.contains(PERSONAL[0]),
            &format!("{how}: the values are back"),
        )?;
        stage.check(!said.contains(HOME), "what a plugin rewrote stays rewritten")?;
        let token = format!("token: {}", example.credential);
        let place = said.find(&token).context("the restored line is missing")?;
        line(&format!(
            "{how:<26} … {} …",
            said[place.saturating_sub(40)..place + token.len()].replace("\\n", " ")
        ));
    }
    Ok(())
}

/// What the client must read: the body that left, with each token replaced by what it stood for.
fn restored(body: &str, example: &Example, left: &str, operations: &[Operation]) -> String {
    let came = String::from_utf8_lossy(&example.body);
    let tokens = operations.iter().filter_map(|one| one.redaction.as_ref()).map(|(_, token)| token);
    let hunks = diff::hunks(&came, left);
    tokens.fold(body.to_owned(), |text, token| {
        let value =
            hunks.iter().find(|hunk| &left[hunk.new.clone()] == token).map(|hunk| &came[hunk.old.clone()]);
        text.replace(token.as_str(), value.unwrap_or(token))
    })
}

fn holds(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}
