//! Many runs of a team at a time: nothing crosses, and memory returns to its level. How long a plain
//! request waits beside them is told: where the model takes its time as models do, where it answers at
//! once, so that clients, model and gate keep every processor busy, and beside programs that do nothing
//! else. What it waits beside those is the machine's.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use leafgate_tests::gate::Gate;
use leafgate_tests::http::{Client, Message};
use leafgate_tests::model::{self, team};
use leafgate_tests::sample;
use leafgate_tests::upstream::Upstream;
use serde_json::{Value, json};

use crate::run::{p99, step};

const RUNS: usize = 100;

/// Rounds of runs: what the first ones leave is no leak.
const ROUNDS: usize = 5;

/// Plain requests that are measured alone.
const PLAIN: usize = 2_000;

/// How long a model thinks at least, and how much longer at most: less than real ones do.
const THINKS: (Duration, u64) = (Duration::from_millis(200), 200);

/// The question of a plain request.
const PLAIN_QUESTION: &str = "Hello";

/// What sessions that are remembered may take, in KiB.
const GROWTH: usize = 16 * 1024;

/// All of it.
pub(crate) fn teams() -> Result<()> {
    step(&format!("{ROUNDS} times {RUNS} runs of three agents at a time, and plain requests beside them"));
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("agents.json");
    std::fs::write(&file, team::FILE)?;
    let file = file.to_string_lossy().into_owned();
    let start =
        |upstream: &Upstream| Gate::start(&["--upstream", &upstream.url(), "--agents", &file, "--no-log"]);
    let leisurely = Upstream::answering(in_its_own_time)?;
    let (beside_leisurely, _) = rounds(&start(&leisurely)?)?;
    let upstream = Upstream::answering(model::answer)?;
    let gate = start(&upstream)?;
    let alone = p99(plain(&gate, |sent| sent >= PLAIN)?);
    let busy = p99(beside_busy_threads(&gate)?);
    let (beside, levels) = rounds(&gate)?;
    let (beside_leisurely, beside) = (p99(beside_leisurely), p99(beside));
    step(&format!(
        "p99 of a plain request: {alone:.2?} alone, {beside_leisurely:.2?} beside the runs of a model that takes \
         its time, {busy:.2?} beside busy processors, {beside:.2?} beside the runs of a model that does not; \
         memory after each round: {}",
        levels.iter().map(|level| format!("{} MiB", level / 1024)).collect::<Vec<_>>().join(", ")
    ));
    let (first, last) = (levels[0], levels[ROUNDS - 1]);
    ensure!(last <= first + GROWTH, "the gate's memory grew from {first} to {last} KiB");
    Ok(())
}

/// Answers a run after a while that depends on what it asks, and a plain request at once.
fn in_its_own_time(request: &Message) -> Result<Message> {
    if request.body != sample::chat(PLAIN_QUESTION) {
        let mut hasher = DefaultHasher::new();
        request.body.hash(&mut hasher);
        std::thread::sleep(THINKS.0 + Duration::from_millis(hasher.finish() % THINKS.1));
    }
    model::answer(request)
}

/// Returns how long plain requests took beside rounds of runs, and the gate's memory after each round.
fn rounds(gate: &Gate) -> Result<(Vec<Duration>, Vec<usize>)> {
    let (mut waited, mut levels) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let over = AtomicBool::new(false);
        let (ran, beside) = std::thread::scope(|scope| {
            let beside = scope.spawn(|| plain(gate, |_| over.load(Ordering::Relaxed)));
            let ran = runs(gate, round);
            over.store(true, Ordering::Relaxed);
            (ran, beside.join())
        });
        ran?;
        waited.extend(beside.map_err(|_| anyhow::anyhow!("a thread panicked"))??);
        levels.push(gate.memory()?.unwrap_or_default());
    }
    Ok((waited, levels))
}

/// Has all runs begin at once.
fn runs(gate: &Gate, round: usize) -> Result<()> {
    let begin = Barrier::new(RUNS);
    std::thread::scope(|scope| {
        let runs: Vec<_> = (0..RUNS)
            .map(|run| {
                let begin = &begin;
                scope.spawn(move || {
                    let client = gate.client();
                    begin.wait();
                    one(&mut client?, round * RUNS + run)
                })
            })
            .collect();
        runs.into_iter()
            .try_for_each(|run| run.join().map_err(|_| anyhow::anyhow!("a run's thread panicked"))?)
    })
}

/// One client: it asks, runs the tool of the agent two levels down, and must read its own note.
fn one(client: &mut Client, number: usize) -> Result<()> {
    let question = json!({ "role": "user", "content": format!("What does {number}-notes.txt say?") });
    let tool = json!({ "type": "function", "function": { "name": "read_file", "parameters": { "type": "object" } } });
    let mut ask = |messages: &[&Value]| -> Result<Value> {
        let body = json!({ "model": "sample", "messages": messages, "tools": [tool] }).to_string();
        let answer = client.post("/agents/v1/chat/completions", &[], body.as_bytes())?;
        ensure!(answer.status() == 200, "run {number} got `{}`", answer.start);
        Ok(answer.json()?["choices"][0]["message"].take())
    };
    let called = ask(&[&question])?;
    let call = &called["tool_calls"][0];
    let arguments: Value = serde_json::from_str(call["function"]["arguments"].as_str().context("no call")?)?;
    ensure!(arguments["path"] == format!("{number}-notes.txt"), "run {number} was asked for another's file");
    let result = json!({ "role": "tool", "tool_call_id": call["id"], "content": format!("NOTE-{number} stands here") });
    let said = ask(&[&question, &called, &result])?;
    ensure!(said["content"] == format!("The file says NOTE-{number}."), "run {number} read another's note");
    Ok(())
}

/// Sends plain requests while each processor has a thread that does nothing but keep it busy, as runs
/// with their clients and their model do.
fn beside_busy_threads(gate: &Gate) -> Result<Vec<Duration>> {
    let over = AtomicBool::new(false);
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..processors {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let waited = plain(gate, |sent| sent >= PLAIN);
        over.store(true, Ordering::Relaxed);
        waited
    })
}

/// Sends plain requests one after the other, and returns how long each took.
fn plain(gate: &Gate, is_over: impl Fn(usize) -> bool) -> Result<Vec<Duration>> {
    let mut client = gate.client()?;
    let mut waited = Vec::new();
    while !is_over(waited.len()) {
        let began = Instant::now();
        let answer = client.chat(&sample::chat(PLAIN_QUESTION))?;
        waited.push(began.elapsed());
        ensure!(answer.status() == 200, "a plain request got `{}`", answer.start);
    }
    Ok(waited)
}
