//! The whole offline path: parse, default policy, render; beside `serde_json::from_slice::<Value>` on the same bytes.
//!
//! `cargo bench -p leafgate-policy`. Bodies are agent-like and differ in every iteration, so that nothing is measured that a cache did;
//! `next_turn` sends a body that was seen before, with one message more.
//! The last lines give the ratio of both, measured in turns: the machine's speed, and whatever else it does, drop out.

#![allow(clippy::unwrap_used, reason = "a benchmark that cannot run has nothing to measure")]
#![allow(clippy::print_stdout, reason = "the ratios are its result")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use divan::{Bencher, counter::BytesCount};
use leafgate_contract::NoPlugins;
use leafgate_policy::{Context, Policy, PolicySource, Verdict};
use leafgate_tree::{Document, Format, Limits};
use leafgate_vault::{ClientIdentity, InstallationKey, TokenKeys, Vault};

const SIZES: &[usize] = &[2_000, 100_000, 1_000_000];

fn main() {
    divan::main();
    if !std::env::args().any(|argument| argument == "--list" || argument == "--test") {
        SIZES.iter().for_each(|&size| ratio(size));
    }
}

#[divan::bench(args = SIZES)]
fn default_policy(bencher: Bencher<'_, '_>, size: usize) {
    let (policy, vault) = (policy(&PolicySource::Default), vault());
    bencher
        .with_inputs(|| next_body(size))
        .input_counter(|body: &Bytes| BytesCount::new(body.len()))
        .bench_values(|body| whole_path(&policy, &vault, body));
}

#[divan::bench(args = SIZES)]
fn next_turn(bencher: Bencher<'_, '_>, size: usize) {
    let (policy, vault) = (policy(&PolicySource::Default), vault());
    bencher
        .with_inputs(|| {
            let body = next_body(size);
            whole_path(&policy, &vault, body.clone());
            with_next_turn(&body)
        })
        .input_counter(|body: &Bytes| BytesCount::new(body.len()))
        .bench_values(|body| whole_path(&policy, &vault, body));
}

#[divan::bench(args = SIZES)]
fn no_policy(bencher: Bencher<'_, '_>, size: usize) {
    let (policy, vault) = (policy(&PolicySource::None), vault());
    bencher
        .with_inputs(|| next_body(size))
        .input_counter(|body: &Bytes| BytesCount::new(body.len()))
        .bench_values(|body| whole_path(&policy, &vault, body));
}

#[divan::bench(args = SIZES)]
fn serde_json_value(bencher: Bencher<'_, '_>, size: usize) {
    bencher
        .with_inputs(|| next_body(size))
        .input_counter(|body: &Bytes| BytesCount::new(body.len()))
        .bench_values(|body| serde_json::from_slice::<serde_json::Value>(&body).unwrap());
}

/// Measures all in turns and prints the ratios of their medians.
fn ratio(size: usize) {
    let rounds = (40_000_000 / size).clamp(31, 2_001);
    let (policy, vault) = (policy(&PolicySource::Default), vault());
    let (mut ours, mut theirs, mut again) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..rounds {
        let body = body(size, round as u64 + 1);
        let start = Instant::now();
        let value = serde_json::from_slice::<serde_json::Value>(&body).unwrap();
        theirs.push(start.elapsed());
        drop(value);
        let next = with_next_turn(&body);
        for (body, times) in [(body, &mut ours), (next, &mut again)] {
            let start = Instant::now();
            let rendered = whole_path(&policy, &vault, body);
            times.push(start.elapsed());
            drop(rendered);
        }
    }
    let (ours, theirs, again) = (median(ours), median(theirs), median(again));
    let ratio = |time: Duration| time.as_secs_f64() / theirs.as_secs_f64();
    println!(
        "{size:>9} B: serde_json {theirs:?}; default policy {ours:?}, ratio {:.2}; next turn {again:?}, ratio {:.2}",
        ratio(ours),
        ratio(again)
    );
}

/// The same conversation with one message more.
fn with_next_turn(body: &[u8]) -> Bytes {
    let history = body.strip_suffix(b"]}").unwrap();
    [history, br#",{"role":"user","content":"and now the other one, please"}]}"#].concat().into()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn whole_path(policy: &Policy, vault: &Vault, body: Bytes) -> Bytes {
    let document = Arc::new(Document::parse(body, Format::OpenaiChat, &Limits::default()).unwrap());
    let evaluation = policy.evaluate(document, &Context::default(), vault);
    assert_eq!(evaluation.verdict, Verdict::Forward);
    evaluation.draft.render()
}

fn policy(source: &PolicySource) -> Policy {
    Policy::load(source, &NoPlugins).unwrap()
}

fn vault() -> Vault {
    Vault::new(TokenKeys::derive(&InstallationKey::from_bytes([7; 32]), &ClientIdentity::new("bench")))
}

/// A body that no iteration has seen before.
fn next_body(size: usize) -> Bytes {
    static SEED: AtomicU64 = AtomicU64::new(1);
    body(size, SEED.fetch_add(1, Ordering::Relaxed))
}

/// An agent's request of about this size: a system prompt, then turns of prose, a tool call with JSON arguments, and a result that is a
/// log, source code or prose in turn. One secret in all of it.
fn body(size: usize, seed: u64) -> Bytes {
    let mut words = Words(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let secret = format!("{}{}{:020}", "ghp_", "kfhfgtKAQWYm85EZ", words.next());
    let mut messages = vec![
        format!(r#"{{"role":"system","content":"You are a careful engineer. {}"}}"#, words.prose(60)),
        format!(r#"{{"role":"user","content":"the token is {secret}, please look"}}"#),
    ];
    let mut length = 0;
    for turn in 0.. {
        if length >= size {
            break;
        }
        let result = match turn % 3 {
            0 => words.log(12),
            1 => words.code(10),
            _ => words.prose(120),
        };
        let turn = format!(
            r#"{{"role":"assistant","content":"{}","tool_calls":[{{"id":"call_{turn}","type":"function","function":{{"name":"read_file","arguments":"{{\"path\":\"src/module_{turn}.rs\",\"lines\":[{turn},{}]}}"}}}}]}},{{"role":"tool","tool_call_id":"call_{turn}","content":"{result}"}}"#,
            words.prose(25),
            turn + 40,
        );
        length += turn.len();
        messages.push(turn);
    }
    format!(r#"{{"model":"gpt-4o","stream":true,"messages":[{}]}}"#, messages.join(",")).into()
}

/// A small generator (xorshift64*) of words: a body is decided by its seed alone.
struct Words(u64);

impl Words {
    const WORDS: &'static [&'static str] = &[
        "the", "request", "server", "index", "parse", "token", "value", "key", "file", "error", "returns",
        "where", "password", "a", "function", "config", "build", "user", "and", "is", "not", "handler",
        "buffer", "stream", "test", "line", "module", "of",
    ];

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn word(&mut self) -> &'static str {
        Self::WORDS[(self.next() % Self::WORDS.len() as u64) as usize]
    }

    fn prose(&mut self, words: usize) -> String {
        let words: Vec<&str> = (0..words).map(|_| self.word()).collect();
        words.chunks(9).map(|sentence| sentence.join(" ")).collect::<Vec<_>>().join(". ")
    }

    fn log(&mut self, lines: usize) -> String {
        let line = |words: &mut Self| {
            let (a, b) = (words.next(), words.next());
            format!(
                r"2024-06-03T10:{:02}:{:02}Z INFO {}={} id={b:016x}\n",
                a % 60,
                b % 60,
                words.word(),
                a % 100_000
            )
        };
        (0..lines).map(|_| line(self)).collect()
    }

    fn code(&mut self, lines: usize) -> String {
        let line = |words: &mut Self| {
            format!(
                r#"    let {} = self.{}(&{}, \"{}\")?;\n"#,
                words.word(),
                words.word(),
                words.word(),
                words.word()
            )
        };
        (0..lines).map(|_| line(self)).collect()
    }
}
