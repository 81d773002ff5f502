//! What the gate makes of every recording, as digests: recorded with one build, compared with another.
//!
//! Each recorded request goes through a gate under each of [`POLICIES`], before an upstream that gives the answer that was recorded with it.
//! A line stands for one fact of one request: the bytes that left, the answer that its client got, its row in the log with edits and holds,
//! its receipt. What differs from run to run (times, ports, what is derived from them) is left out; the installation's key is fixed, so
//! tokens are the same. `LEAFGATE_BIN` names the build.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use leafgate_tests::gate::{self, Gate};
use leafgate_tests::http::Message;
use leafgate_tests::paths;
use leafgate_tests::upstream::Upstream;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::run::step;

/// The folders of recordings, and where requests of each are sent.
const FOLDERS: [(&str, &str); 6] = [
    ("openai-chat", "/v1/chat/completions"),
    ("openai-responses", "/v1/responses"),
    ("anthropic-messages", "/v1/messages"),
    ("gemini", "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse"),
    ("code-assist", "/v1internal:streamGenerateContent?alt=sse"),
    ("raw-chatmessage", "/v1/raw"),
];

/// Rules of every phase, about requests and about answers.
const RULES: &str = r#"
[[rule]]
id = "everything"
match = {}
detect = ["secrets", "pii"]
action = "redact"

[[rule]]
id = "steady"
match = { section = "system" }
action = "pin"

[[rule]]
id = "shorter"
match = { section = "tool-result" }
action = "rewrite"
replace = { pattern = "[ \t]{2,}", with = " " }

[[rule]]
id = "no-listing"
on = "tool-call"
match = { tool = ["*list*", "*search*"] }
action = "block"
reason = "Not here"

[[rule]]
id = "addresses"
on = "response"
match = {}
detect = ["pii/email", "pii/payment-card"]
action = "redact"

[[rule]]
id = "words"
on = "response"
match = { kind = "text" }
action = "rewrite"
replace = { pattern = "weather in [A-Z][a-z]{2,20}", with = "weather there" }
look_behind = 128
"#;

/// What is set for the gates, by name: no rules, the built-in ones, and [`RULES`].
const POLICIES: [&str; 3] = ["none", "default", "rules"];

/// Members of log rows and receipts that differ from run to run.
const VOLATILE: [&str; 14] = [
    "at",
    "judgingUs",
    "waitingMs",
    "headMs",
    "answerMs",
    "upstream",
    "previous",
    "approved",
    "generation",
    "policy",
    "signature",
    "number",
    "session",
    "missed",
];

/// How long a gate may take to finish its log.
const LOGGED: Duration = Duration::from_secs(60);

/// A request with the answer that was recorded with it.
struct Exchange {
    name: String,
    target: &'static str,
    request: Vec<u8>,
    answer: Message,
}

/// Writes the digests of all recordings to a file; where an older one is named, prints the lines that differ and fails.
pub(crate) fn digests(out: &Path, older: Option<&Path>) -> Result<()> {
    let exchanges = exchanges()?;
    let mut text = String::new();
    for policy in POLICIES {
        step(&format!("{} recordings under the policy `{policy}`", exchanges.len()));
        for (what, digest) in through(policy, &exchanges)? {
            writeln!(text, "{policy} {what} {digest}")?;
        }
    }
    std::fs::write(out, &text)?;
    older.map_or(Ok(()), |older| compare(&std::fs::read_to_string(older)?, &text))
}

fn compare(older: &str, newer: &str) -> Result<()> {
    let by_name = |text: &str| -> BTreeMap<String, String> {
        let lines = text.lines().filter_map(|line| line.rsplit_once(' '));
        lines.map(|(name, digest)| (name.to_owned(), digest.to_owned())).collect()
    };
    let (older, newer) = (by_name(older), by_name(newer));
    let differ: Vec<_> = older.iter().filter(|(name, digest)| newer.get(*name) != Some(digest)).collect();
    for (name, _) in &differ {
        println!("differs: {name}");
    }
    ensure!(differ.is_empty(), "{} of {} digests differ", differ.len(), older.len());
    println!("all {} digests are those of before", older.len());
    Ok(())
}

fn exchanges() -> Result<Vec<Exchange>> {
    let outside = std::env::var_os("LEAFGATE_FIXTURES")
        .map_or_else(|| paths::root().join("../shared/fixtures"), Into::into);
    let mut found = Vec::new();
    for root in [paths::root().join("examples/recordings"), outside] {
        for (folder, target) in FOLDERS {
            let mut files: Vec<_> = std::fs::read_dir(root.join(folder))
                .into_iter()
                .flatten()
                .flatten()
                .map(|f| f.path())
                .collect();
            files.sort();
            for path in files {
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                let stem =
                    name.strip_suffix(".request.json").or_else(|| name.strip_suffix(".raw-parts.json"));
                let Some(stem) = stem else { continue };
                let answer = answer(&path.with_file_name(stem))?;
                found.push(Exchange {
                    name: format!("{folder}/{stem}"),
                    target,
                    request: std::fs::read(&path)?,
                    answer,
                });
            }
        }
    }
    ensure!(!found.is_empty(), "there are no recordings");
    Ok(found)
}

/// The answer that was recorded beside a request; a made-up one where there is none.
fn answer(stem: &Path) -> Result<Message> {
    for (ending, kind) in [(".response.sse", "text/event-stream"), (".response.json", "application/json")] {
        let path = stem
            .with_file_name(format!("{}{ending}", stem.file_name().unwrap_or_default().to_string_lossy()));
        if path.is_file() {
            return Ok(Message {
                start: "HTTP/1.1 200 OK".to_owned(),
                headers: vec![("content-type".to_owned(), kind.to_owned())],
                body: std::fs::read(path)?,
            });
        }
    }
    Ok(leafgate_tests::upstream::completion("ok"))
}

/// What a gate under one policy makes of all of them, in their order.
fn through(policy: &str, exchanges: &[Exchange]) -> Result<Vec<(String, String)>> {
    let data = tempfile::tempdir()?;
    let key = data.path().join("key");
    std::fs::write(&key, format!("{}\n", "07".repeat(32)))?;
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600))?;
    std::fs::set_permissions(data.path(), std::fs::Permissions::from_mode(0o700))?;
    let rules = data.path().join("rules");
    std::fs::create_dir(&rules)?;
    std::fs::write(rules.join("rules.toml"), RULES)?;
    let next = Arc::new(Mutex::new(Message::default()));
    let answers = Arc::clone(&next);
    let upstream =
        Upstream::answering(move |_| Ok(answers.lock().unwrap_or_else(PoisonError::into_inner).clone()))?;
    let rules = rules.to_string_lossy().into_owned();
    let url = upstream.url();
    let mut arguments = vec!["--upstream", &url, "--log-required"];
    match policy {
        "default" => {}
        "rules" => arguments.extend(["--policy", &rules]),
        named => arguments.extend(["--policy", named]),
    }
    let running = Gate::start_in(data.path(), &arguments)?;
    let mut found = Vec::new();
    for exchange in exchanges {
        *next.lock().unwrap_or_else(PoisonError::into_inner) = exchange.answer.clone();
        // A connection of its own: what one request does to a connection is no business of the next one.
        let answer = running.client()?.post(exchange.target, &[], &exchange.request)?;
        let left = upstream.take();
        let sent: Vec<u8> =
            left.iter().flat_map(|request| [request.start.as_bytes(), &request.body].concat()).collect();
        found.push((format!("{} left", exchange.name), sha256(&sent)));
        found.push((
            format!("{} answer", exchange.name),
            sha256(&[answer.start.as_bytes(), &answer.body].concat()),
        ));
    }
    found.extend(logged(data.path(), exchanges)?);
    Ok(found)
}

/// Rows of the log and receipts, without what differs from run to run.
fn logged(data: &Path, exchanges: &[Exchange]) -> Result<Vec<(String, String)>> {
    let mut lines = lines(data)?;
    lines.reverse();
    let mut found = Vec::new();
    for line in &lines {
        let id = line["id"].as_i64().context("a row without a number")?;
        // Requests that are refused before they are judged have no row.
        let at = usize::try_from(id)?.checked_sub(1).context("rows are counted from 1")?;
        let name = exchanges
            .get(at)
            .filter(|_| lines.len() == exchanges.len())
            .map_or(format!("row {id}"), |e| e.name.clone());
        found.push((
            format!("{name} log"),
            sha256(
                steady(command(data, &["log", "show", &id.to_string(), "--json"])?).to_string().as_bytes(),
            ),
        ));
    }
    let receipts = gate::run_in(data, &["receipt", "export", "-"], b"")?;
    for (at, line) in String::from_utf8(receipts.stdout)?.lines().skip(1).enumerate() {
        let line: Value = serde_json::from_str(line)?;
        // The last line is the seal.
        let Some(receipt) = line["receipt"].as_str() else { continue };
        let receipt: Value = serde_json::from_str(receipt)?;
        found.push((format!("receipt {}", at + 1), sha256(steady(receipt).to_string().as_bytes())));
    }
    Ok(found)
}

/// All rows, once no answer is open any more.
fn lines(data: &Path) -> Result<Vec<Value>> {
    let began = Instant::now();
    loop {
        let Value::Array(lines) = command(data, &["log", "list", "--json", "--limit", "10000"])? else {
            bail!("no list of rows")
        };
        if lines.iter().all(|line| line["answer"] != "open") {
            return Ok(lines);
        }
        ensure!(began.elapsed() < LOGGED, "answers are open in the log although they have ended");
        std::thread::yield_now();
    }
}

fn command(data: &Path, arguments: &[&str]) -> Result<Value> {
    let output = gate::run_in(data, arguments, b"")?;
    ensure!(
        output.status.success(),
        "`leafgate {}`: {}",
        arguments.join(" "),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn steady(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let kept = members.into_iter().filter(|(name, _)| !VOLATILE.contains(&name.as_str()));
            Value::Object(kept.map(|(name, value)| (name, steady(value))).collect())
        }
        Value::Array(values) => Value::Array(values.into_iter().map(steady).collect()),
        value => value,
    }
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().take(12).fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
