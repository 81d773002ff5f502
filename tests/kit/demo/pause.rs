//! Third act: a request waits until a person has looked at it. The demo is that person, and speaks the API that the prompt speaks.

use anyhow::{Context as _, Result};
use leafgate_tests::admin::{Admin, answered, chat_later};
use leafgate_tests::{plant, sample};
use serde_json::{Value, json};

use super::stage::{Stage, line};

const POLICY: &str = r#"
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

/// The leaf that the person edits, and what they write into it at last.
const QUESTION: &str = "/messages/0/content";
const EDITED: &str = "Which tables are there? Leave out the ones with customers.";

pub(crate) fn play(stage: &mut Stage) -> Result<()> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("rules.toml"), POLICY)?;
    let gate = stage.gate(folder.path())?;
    let admin = Admin::of(&gate)?;
    let mut events = admin.events()?;

    stage.heading("A rule holds a request until a person has looked at it");
    let secret = plant::github(31);
    let client = chat_later(&gate, &listing(&secret))?;
    let waiting = events.next("paused")?["turn"].clone();
    let id = waiting["id"].as_str().context("a turn without an id")?.to_owned();
    let hold = &waiting["holds"][0];
    line(&format!(
        "turn {id} waits: rule {}: {}; {} s left, then: {}",
        word(&hold["rule"]),
        word(&hold["reason"]),
        waiting["leftMs"].as_u64().unwrap_or(0) / 1000,
        word(&waiting["onTimeout"])
    ));
    stage.check(hold["rule"] == "production", "the turn says which rule holds it")?;
    stage.check(stage.tap.take().is_empty(), "nothing has left")?;
    let seen = admin.turn(&id)?;
    stage.check(!seen.to_string().contains(&secret), "the person does not see the credential either")?;

    edits(stage, &admin, &id, &seen)?;
    let sent = resume(stage, &admin, &id, &seen)?;
    let answer = answered(client)?;
    stage.check(answer.status() == 200, "the client that waited gets its answer")?;
    let left = stage.tap.take();
    stage.check(left.len() == 1 && left[0].body == sent, "what left is what was shown, byte for byte")?;
    line(&format!("{} bytes left, the very ones that were shown", sent.len()));
    Ok(())
}

/// An edit with a secret in it, and undo.
fn edits(stage: &mut Stage, admin: &Admin, id: &str, seen: &Value) -> Result<()> {
    stage.heading("An edit is redacted before anybody sees it, and undo gives back the very bytes");
    let typed = plant::stripe(32);
    let edited = admin.set(id, QUESTION, &format!("Log in with {typed} and list the tables."))?;
    line(&format!("edited   {QUESTION} → {}", leaf(&edited, QUESTION)));
    stage.check(edited["digest"] != seen["digest"], "an edit changes the digest")?;
    stage.check(leaf(&edited, QUESTION).contains("list the tables"), "the edit is in the turn")?;
    stage.check(!edited.to_string().contains(&typed), "the secret that was typed in is redacted")?;
    let undone = admin.edit(id, &json!({ "action": "undo" }))?;
    line(&format!("undone   {QUESTION} → {}", leaf(&undone, QUESTION)));
    stage.check(undone["digest"] == seen["digest"], "undo gives back the very bytes")
}

/// A last edit, a resume of what nobody saw, and the right one. Returns what was shown.
fn resume(stage: &mut Stage, admin: &Admin, id: &str, seen: &Value) -> Result<Vec<u8>> {
    stage.heading("Only what was shown is sent");
    admin.set(id, QUESTION, EDITED)?;
    let diff = admin.get(&format!("/v1/pending/{id}/diff"))?;
    for changed in diff["leaves"].as_array().into_iter().flatten() {
        let authors: Vec<&str> =
            changed["authors"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        line(&format!("{} by {}", word(&changed["path"]), authors.join(", ")));
        line(&format!("  - {}", word(&changed["before"])));
        line(&format!("  + {}", word(&changed["after"])));
    }
    stage.check(diff.to_string().contains(EDITED), "the diff shows the edit")?;
    let stale = admin.resume(id, word(&seen["digest"]))?;
    let error = stale.json()?;
    line(&format!("resumed with the digest from before the edit: {}", word(&error["message"])));
    stage.check(stale.status() == 409 && error["code"] == "stale", "a stale digest is refused")?;
    stage.check(stage.tap.take().is_empty(), "nothing left for it")?;
    let payload = admin.get(&format!("/v1/pending/{id}/payload"))?;
    let resumed = admin.resume(id, word(&payload["digest"]))?;
    stage.check(resumed.status() == 200, "the digest of what was shown lets it go")?;
    Ok(word(&payload["body"]).as_bytes().to_vec())
}

/// A text of the API's answer.
fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The text of a leaf as the turn shows it.
fn leaf<'t>(turn: &'t Value, pointer: &str) -> &'t str {
    let sections = turn["sections"].as_array().into_iter().flatten();
    let mut leaves = sections.flat_map(|section| section["leaves"].as_array().into_iter().flatten());
    leaves.find(|leaf| leaf["pointer"] == pointer).map_or("", |leaf| word(&leaf["text"]))
}

/// A request whose tool result names the production database and holds a credential.
fn listing(secret: &str) -> Vec<u8> {
    let call = json!({ "id": "call_1", "type": "function", "function": { "name": "run_sql", "arguments": "{\"query\": \"show tables\"}" } });
    sample::messages(
        "gpt-sample",
        &json!([
            { "role": "user", "content": "Which tables are there?" },
            { "role": "assistant", "content": null, "tool_calls": [call] },
            { "role": "tool", "tool_call_id": "call_1", "content": format!("prod-db-7: customers, orders; deployed with {secret}") },
        ]),
    )
}
