//! Many turns that wait at once: what they take, whether others pass meanwhile, and how soon each
//! goes once it may.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use leafgate_tests::admin::{Admin, answered, chat_later};
use leafgate_tests::gate::Gate;
use leafgate_tests::{plant, sample};

use crate::run::{p99, step};

/// Holds what names a word, and redacts as the default policy does.
const RULES: &str = r#"
extends = "default"
[[rule]]
id = "ask-first"
match = { role = "user" }
when = 'leaf.text.contains("prod-db")'
action = "pause"
reason = "Production data"
timeout = "30m"
"#;

/// A number of turns and their size, and what holds of them.
struct Crowd {
    turns: usize,
    bytes: usize,
    /// The most memory that the gate may have while all of them wait, in MiB.
    memory: usize,
}

const CROWDS: [Crowd; 2] = [
    Crowd { turns: 1000, bytes: 100 << 10, memory: 400 },
    // Near to the bound of the desk, which is 1 GiB.
    Crowd { turns: 180, bytes: 2 << 20, memory: 1200 },
];

/// What a gate takes by itself, in MiB.
const OWN: u64 = 100;

/// How soon 99 of 100 answers come after a resume.
const RESUMED: Duration = Duration::from_millis(50);

/// Lets each crowd wait and go.
pub(crate) fn turns() -> Result<()> {
    CROWDS.iter().try_for_each(wait_and_go)
}

fn wait_and_go(crowd: &Crowd) -> Result<()> {
    let &Crowd { turns, bytes, memory } = crowd;
    step(&format!("letting {turns} turns of {} KiB wait at once", bytes >> 10));
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("rules.toml"), RULES)?;
    let gate = Gate::of(folder.path())?;
    let admin = Admin::of(&gate)?;
    let mut events = admin.events()?;
    let mut passing = gate.client()?;
    let (mut waiting, mut passed) = (Vec::new(), Vec::new());
    for number in 0..turns {
        let client = chat_later(&gate, &body(number, bytes))?;
        let id = events.paused().with_context(|| format!("turn {number} of {turns}"))?;
        waiting.push((number, id, client));
        let start = Instant::now();
        let answer = passing.chat(&sample::chat(&format!("another question, {number}")))?;
        passed.push(start.elapsed());
        ensure!(answer.status() == 200, "what no rule holds got `{}`", answer.start);
    }
    let taken = gate.memory()?.map(|kib| kib / 1024);
    let status = admin.get("/v1/status")?;
    let told = status["pendingMemory"]["used"].as_u64().context("status names no memory")? >> 20;
    let mut resumed = Vec::new();
    for (number, id, client) in waiting {
        let digest = admin.turn(&id)?["digest"].as_str().context("a turn without a digest")?.to_owned();
        let start = Instant::now();
        ensure!(admin.resume(&id, &digest)?.status() == 200, "turn {number} was not resumed");
        let answer = answered(client)?;
        resumed.push(start.elapsed());
        ensure!(answer.status() == 200, "turn {number} got `{}`", answer.start);
        ensure!(
            answer.said()?.contains(&format!("prod-db {number}:")),
            "turn {number} got another one's answer"
        );
    }
    let (passed, resumed) = (p99(passed), p99(resumed));
    step(&format!(
        "the gate had {} MiB while they waited and named {told}, p99 of others {} ms, p99 from resume to answer {} ms",
        taken.map_or_else(|| "?".to_owned(), |taken| taken.to_string()),
        passed.as_millis(),
        resumed.as_millis()
    ));
    ensure!(taken.is_none_or(|taken| taken < memory), "{turns} turns may take {memory} MiB");
    let honest = |taken: usize| taken as u64 <= told + told / 4 + OWN;
    ensure!(taken.is_none_or(honest), "status names {told} MiB");
    ensure!(bytes > 1 << 20 || resumed < RESUMED, "a resume may take {RESUMED:?} in 99 of 100 cases");
    Ok(())
}

/// A request of a conversation of its own: an agent's turn with lines of source, and a credential.
fn body(number: usize, bytes: usize) -> Vec<u8> {
    let line = "    let value = self.reader(\"line\", offset); // of the stream\n";
    let question = format!("prod-db {number}: {}", plant::github(number as u64));
    let history = line.repeat(bytes / 8 / line.len());
    let mut messages = vec![serde_json::json!({ "role": "user", "content": question })];
    messages.extend((0..8).map(|_| serde_json::json!({ "role": "assistant", "content": history })));
    messages.push(serde_json::json!({ "role": "user", "content": "Go on." }));
    sample::messages("gpt-sample", &messages.into())
}
