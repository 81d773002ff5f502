//! What a hundred times the rules cost: parse, evaluate, render, under policies of 10, 100 and
//! 1,000 rules that all do the same to a request, in both mixtures of [`leafgate_harness::rules`].
//!
//! `cargo bench -p leafgate-policy --bench many_rules`. Bodies differ in every iteration;
//! `next_turn` sends one that was seen before, with one message more. The last lines give ratios,
//! measured in turns: the machine's speed, and whatever else it does, drop out; `-- ratios` prints them alone.

#![allow(clippy::unwrap_used, reason = "a benchmark that cannot run has nothing to measure")]
#![allow(clippy::print_stdout, reason = "the ratios are its result")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use divan::{Bencher, counter::BytesCount};
use leafgate_contract::NoPlugins;
use leafgate_harness::rules::{FOUND, many, varied};
use leafgate_policy::{Context, Outside, Part, Policy, PolicySource, Verdict};
use leafgate_tree::{Document, Format, Limits};
use leafgate_vault::{ClientIdentity, InstallationKey, TokenKeys, Vault};

const RULES: [usize; 3] = [10, 100, 1_000];
const CASES: [(usize, usize); 6] =
    [(10, 100_000), (100, 100_000), (1_000, 100_000), (10, 1_000_000), (100, 1_000_000), (1_000, 1_000_000)];

/// Rule files of any number of rules.
type Mixture = fn(usize) -> String;

const MIXTURES: [(&str, Mixture); 3] = [
    ("these rules alone", many),
    ("with the default policy", |count| format!("extends = \"default\"\n{}", many(count))),
    ("each for some requests", varied),
];

fn main() {
    if !std::env::args().any(|argument| argument == "ratios") {
        divan::main();
    }
    if !std::env::args().any(|argument| argument == "--list" || argument == "--test") {
        for (name, rules) in MIXTURES {
            [2_000, 100_000, 1_000_000].iter().for_each(|&size| ratios(name, rules, size));
        }
    }
}

#[divan::bench(args = CASES)]
fn all_new(bencher: Bencher<'_, '_>, (rules, size): (usize, usize)) {
    let (policy, vault) = (policy(many, rules), vault());
    bencher
        .with_inputs(|| next_body(size))
        .input_counter(|body: &Bytes| BytesCount::new(body.len()))
        .bench_values(|body| whole_path(&policy, &vault, body));
}

#[divan::bench(args = CASES)]
fn next_turn(bencher: Bencher<'_, '_>, (rules, size): (usize, usize)) {
    let (policy, vault) = (policy(many, rules), vault());
    bencher
        .with_inputs(|| {
            let body = next_body(size);
            whole_path(&policy, &vault, body.clone());
            with_next_turn(&body)
        })
        .input_counter(|body: &Bytes| BytesCount::new(body.len()))
        .bench_values(|body| whole_path(&policy, &vault, body));
}

#[divan::bench(args = RULES)]
fn load(bencher: Bencher<'_, '_>, rules: usize) {
    bencher.bench(|| policy(many, rules));
}

/// Measures all policies in turns and prints their medians, and the ratios to the smallest one.
fn ratios(mixture: &str, written: Mixture, size: usize) {
    let rounds = (20_000_000 / size).clamp(21, 501);
    let vault = vault();
    let policies = RULES.map(|rules| policy(written, rules));
    let mut times = RULES.map(|_| [Vec::new(), Vec::new()]);
    for _ in 0..rounds {
        let body = next_body(size);
        let turns = [body.clone(), with_next_turn(&body)];
        for (policy, times) in policies.iter().zip(&mut times) {
            for (body, times) in turns.iter().zip(times) {
                let start = Instant::now();
                let rendered = whole_path(policy, &vault, body.clone());
                times.push(start.elapsed());
                drop(rendered);
            }
        }
    }
    let medians = times.map(|turns| turns.map(median));
    for (name, turn) in [("all new", 0), ("one message new", 1)] {
        let least = medians[0][turn].as_secs_f64();
        let shown = RULES.iter().zip(&medians).map(|(rules, medians)| {
            format!("{rules} rules {:?} ({:.2})", medians[turn], medians[turn].as_secs_f64() / least)
        });
        println!("{size:>9} B, {mixture}, {name}: {}", shown.collect::<Vec<_>>().join(", "));
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn whole_path(policy: &Policy, vault: &Vault, body: Bytes) -> Bytes {
    let document = Arc::new(Document::parse(body, Format::OpenaiChat, &Limits::default()).unwrap());
    let outside = [Outside { part: Part::Header { name: "x-team" }, text: "red" }];
    let context = Context {
        upstream: Some("https://api.example.org/"),
        endpoint: Some("/v1/chat/completions"),
        outside: &outside,
        ..Context::default()
    };
    let evaluation = policy.evaluate(document, &context, vault);
    assert_eq!(evaluation.verdict, Verdict::Forward);
    assert_eq!(evaluation.draft.edits().count(), 1);
    evaluation.draft.render()
}

fn policy(written: Mixture, rules: usize) -> Policy {
    let folder = tempfile::tempdir().unwrap();
    leafgate_harness::rules::write_alone(folder.path(), &written(rules)).unwrap();
    Policy::load(&PolicySource::Folder(folder.path().to_owned()), &NoPlugins).unwrap()
}

fn vault() -> Vault {
    Vault::new(TokenKeys::derive(&InstallationKey::from_bytes([7; 32]), &ClientIdentity::new("bench")))
}

/// The same conversation with one message more.
fn with_next_turn(body: &[u8]) -> Bytes {
    let history = body.strip_suffix(b"]}").unwrap();
    [history, br#",{"role":"user","content":"and now the other one, please"}]}"#].concat().into()
}

/// A body that no iteration has seen before: turns of prose, a tool call with JSON arguments, and a
/// result that is prose or source code in turn.
fn next_body(size: usize) -> Bytes {
    static SEED: AtomicUsize = AtomicUsize::new(1);
    let seed = SEED.fetch_add(1, Ordering::Relaxed) * 100_003;
    let mut messages = vec![format!(r#"{{"role":"user","content":"what about {FOUND}?"}}"#)];
    let mut length = 0;
    for turn in 0.. {
        if length >= size {
            break;
        }
        let result = if turn % 2 == 0 { prose(seed + turn, 120) } else { code(seed + turn, 10) };
        let said = prose(seed * 31 + turn, 25);
        let turn = format!(
            r#"{{"role":"assistant","content":"{said}","tool_calls":[{{"id":"call_{turn}","type":"function","function":{{"name":"read_file","arguments":"{{\"path\":\"src/module_{turn}.rs\",\"lines\":[{turn},{seed}]}}"}}}}]}},{{"role":"tool","tool_call_id":"call_{turn}","content":"{result}"}}"#,
        );
        length += turn.len();
        messages.push(turn);
    }
    format!(r#"{{"model":"gpt-4o","stream":true,"messages":[{}]}}"#, messages.join(",")).into()
}

const WORDS: [&str; 31] = [
    "the",
    "request",
    "server",
    "index",
    "parse",
    "token",
    "value",
    "key",
    "file",
    "error",
    "returns",
    "where",
    "customer",
    "a",
    "function",
    "config",
    "build",
    "user",
    "and",
    "is",
    "not",
    "handler",
    "buffer",
    "stream",
    "test",
    "line",
    "module",
    "of",
    "customer-id",
    "case",
    "internal",
];

fn word(seed: usize, place: usize) -> &'static str {
    WORDS[(seed.wrapping_mul(7919) ^ place.wrapping_mul(104_729)) / 5 % WORDS.len()]
}

fn prose(seed: usize, words: usize) -> String {
    (0..words).map(|place| word(seed, place)).collect::<Vec<_>>().join(" ")
}

fn code(seed: usize, lines: usize) -> String {
    let line = |line: usize| {
        let [name, call, of, text] = [0, 1, 2, 3].map(|place| word(seed, line * 4 + place));
        format!(r#"    let {name} = self.{call}(&{of}, \"{text} {seed}\")?;\n"#)
    };
    (0..lines).map(line).collect()
}
