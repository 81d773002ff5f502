//! Streamed answers at saturation: every request has a row, every row holds its answer whole, and memory stays level.

use std::collections::HashSet;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};
use leafgate_tests::admin::Admin;
use leafgate_tests::gate::{self, Gate};
use serde_json::{Value, json};

use crate::load::Load;
use crate::run::step;

const REQUESTS: usize = 100_000;

/// More than two cores can serve.
const CONNECTIONS: usize = 32;

/// Streams chats of many sizes, each of which must come back as it was sent, and reads the log.
pub(crate) fn streams() -> Result<()> {
    step(&format!("streaming {REQUESTS} answers over {CONNECTIONS} connections"));
    let data = tempfile::tempdir()?;
    let gate = Gate::start_in(data.path(), &["--upstream", "echo:"])?;
    let load = Load { requests: REQUESTS, connections: CONNECTIONS };
    load.stays_level(&gate, |client, number| {
        let body = body(number);
        let answer = client.chat(body.as_bytes())?;
        ensure!(answer.status() == 200, "request {number} got `{}`", answer.start);
        ensure!(answer.said()? == body, "request {number} came back changed");
        Ok(())
    })?;
    let admin = Admin::of(&gate)?;
    ensure!(admin.get("/v1/log")?["written"] == true, "the log could not be written");
    let store = admin.get("/v1/status")?["store"].take();
    let missed = store["missed"].as_u64().context("status does not say what the log missed")?;
    drop(gate);
    let rows = rows(data.path())?;
    step(&format!("{rows} rows hold their answer whole; the log missed {missed} messages under load"));
    ensure!(
        rows as u64 + missed >= REQUESTS as u64,
        "{REQUESTS} requests gave {rows} rows, and {missed} messages are said to be missed"
    );
    Ok(())
}

fn body(number: usize) -> String {
    let text = format!("{number}: {}", "and so on ".repeat(number % 70));
    json!({ "model": "gpt-sample", "stream": true, "messages": [{ "role": "user", "content": text }] })
        .to_string()
}

/// Returns how many requests the log holds, each with all that it was answered.
fn rows(data: &std::path::Path) -> Result<usize> {
    let mut export = std::process::Command::new(gate::binary()?)
        .args(["log", "export", "-"])
        .envs(gate::variables(data))
        .stdout(Stdio::piped())
        .spawn()?;
    let mut seen = HashSet::new();
    for line in BufReader::new(export.stdout.take().context("no output")?).lines() {
        let row: Value = serde_json::from_str(&line?).context("a line of the export is no JSON")?;
        let question = row["body"]["messages"][0]["content"].as_str().context("a row without its request")?;
        let number: usize = question.split(':').next().unwrap_or_default().parse()?;
        ensure!(row["answer"] == "complete", "the answer to request {number} is `{}`", row["answer"]);
        ensure!(row["reply"]["content"] == *body(number), "the row of request {number} holds another answer");
        ensure!(seen.insert(number), "request {number} has two rows");
    }
    ensure!(export.wait()?.success(), "`leafgate log export` failed");
    Ok(seen.len())
}
