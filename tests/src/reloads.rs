//! Many reloads of a policy under steady traffic: fifty in the end-to-end tests, a thousand in the soak.
//!
//! Each policy appends its own mark to two leaves. The answer of `echo:` shows both, and the answer's header names the generation: all
//! three must agree, or one request was judged by two policies.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use crate::admin::{Admin, Events};
use crate::gate::Gate;
use crate::http::Client;
use crate::sample;

/// Connections that send one request after the other.
const CONNECTIONS: usize = 2;

/// Questions of a connection: what it asks after these it has asked before.
const QUESTIONS: usize = 64;

/// A gate's memory grows at first: by what it remembers of requests up to its bounds, and by what the allocator keeps. It is level where
/// this many reloads take less than this, in KiB; so many steps may it take until then.
const STEP: usize = 10;
const LEVEL: usize = 1024;
const STEPS: usize = 20;

/// What the allocator's own habits may take then, in KiB: a thousand reloads were measured to take less than one MiB. If each left twenty
/// KiB behind, the soak would be above it.
const GROWTH: usize = 16 * 1024;

/// What was seen.
#[derive(Debug)]
pub struct Figures {
    /// Reloads that went live.
    pub reloads: usize,
    /// Requests that were answered meanwhile.
    pub requests: usize,
    /// Generations that answered at least one request.
    pub generations: usize,
    /// Resident memory in KiB where it was level first, and after all reloads; `None` where the system does not tell.
    pub memory: Option<(usize, usize)>,
}

/// Reloads a policy this many times while requests flow.
///
/// # Errors
/// When a request fails or saw two generations, a reload does not go live, or memory grows.
pub fn under_traffic(reloads: usize) -> Result<Figures> {
    let folder = tempfile::tempdir()?;
    write(folder.path(), 0)?;
    let gate = Gate::of(folder.path())?;
    let mut events = Admin::of(&gate)?.events()?;
    let done = AtomicBool::new(false);
    let (memory, seen) = std::thread::scope(|scope| {
        let (gate, done) = (&gate, &done);
        let talkers: Vec<_> =
            (0..CONNECTIONS).map(|number| scope.spawn(move || talk(gate, number, done))).collect();
        let memory = reload(reloads, folder.path(), gate, &mut events);
        // Whatever happened, the talkers must come to an end.
        done.store(true, Ordering::Release);
        let seen: Result<Vec<_>> = talkers.into_iter().map(|talker| joined(talker.join())).collect();
        (memory, seen)
    });
    let (memory, seen) = (memory?, seen?);
    let mut marks = BTreeMap::new();
    for (generation, mark) in seen.iter().flat_map(|seen| &seen.marks) {
        let known = marks.entry(generation).or_insert(mark);
        ensure!(*known == mark, "generation {generation} is named for the policies {known} and {mark}");
    }
    if let Some((before, after)) = memory {
        ensure!(after < before + GROWTH, "the gate's memory grew from {before} to {after} KiB");
    }
    let requests = seen.iter().map(|seen| seen.requests).sum();
    Ok(Figures { reloads, requests, generations: marks.len(), memory })
}

fn joined(talker: std::thread::Result<Result<Seen>>) -> Result<Seen> {
    talker.map_err(|_| anyhow::anyhow!("a connection's thread panicked"))?
}

/// Writes policy after policy, each when the one before serves; first as many as it takes until memory is level.
fn reload(reloads: usize, folder: &Path, gate: &Gate, events: &mut Events) -> Result<Option<(usize, usize)>> {
    let mut numbers = 1..;
    let mut after = |reloads: usize| {
        for number in numbers.by_ref().take(reloads) {
            write(folder, number)?;
            let event = events.next("policy").with_context(|| format!("reload {number} does not come"))?;
            ensure!(event["policy"]["refused"].is_null(), "reload {number} was refused");
        }
        gate.memory()
    };
    let mut settled = after(STEP)?;
    for _ in 0..STEPS {
        let before = std::mem::replace(&mut settled, after(STEP)?);
        if settled.zip(before).is_none_or(|(now, before)| now < before + LEVEL) {
            break;
        }
    }
    Ok(settled.zip(after(reloads)?))
}

/// A rule file is written beside its place and renamed, as careful editors do: two steps that are one change.
fn write(folder: &Path, number: usize) -> Result<()> {
    let rule = |role: &str| {
        format!(
            "[[rule]]\nid = \"mark-{role}\"\nmatch = {{ role = \"{role}\" }}\naction = \"rewrite\"\nappend = \" mark-{number}\"\n\n"
        )
    };
    let draft = folder.join(".rules.toml.draft");
    std::fs::write(&draft, format!("extends = \"default\"\n\n{}{}", rule("system"), rule("user")))?;
    Ok(std::fs::rename(draft, folder.join("rules.toml"))?)
}

/// What one connection saw.
#[derive(Default)]
struct Seen {
    requests: usize,
    /// Generation and the mark of its policy.
    marks: BTreeMap<String, String>,
}

fn talk(gate: &Gate, connection: usize, done: &AtomicBool) -> Result<Seen> {
    let mut client = gate.client()?;
    let mut seen = Seen::default();
    while !done.load(Ordering::Acquire) {
        let (generation, mark) = ask(&mut client, connection, seen.requests)
            .with_context(|| format!("request {} of connection {connection}", seen.requests))?;
        seen.requests += 1;
        let known = seen.marks.entry(generation).or_insert_with(|| mark.clone());
        ensure!(*known == mark, "one generation judged by the policies {known} and {mark}");
    }
    Ok(seen)
}

/// One request: the generation in its header and the mark that both of its leaves bear.
fn ask(client: &mut Client, connection: usize, number: usize) -> Result<(String, String)> {
    // The same questions again: of the conversations that it remembers the gate's memory grows too, up to its bound.
    let question = format!("Question {} of connection {connection}", number % QUESTIONS);
    let body = sample::messages(
        "gpt-sample",
        &json!([{ "role": "system", "content": "Be brief." }, { "role": "user", "content": question }]),
    );
    let answer = client.chat(&body)?;
    ensure!(answer.status() == 200, "got `{}`", answer.start);
    let generation = answer.header("leafgate-generation").context("the answer names no generation")?;
    let echoed: Value = serde_json::from_str(&answer.said()?).context("the echo is not JSON")?;
    let mark = |message: usize| {
        let text = echoed["messages"][message]["content"].as_str().unwrap_or_default();
        text.rsplit_once(" mark-").map(|(_, mark)| mark.to_owned())
    };
    let (first, second) = (mark(0), mark(1));
    ensure!(first == second, "its leaves bear the marks of two policies: {first:?} and {second:?}");
    Ok((generation.to_owned(), first.context("no policy left its mark")?))
}
