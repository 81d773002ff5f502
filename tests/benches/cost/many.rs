//! Many rules: 10, 100 and 1,000 of them that all do the same to a request, all of it new and with
//! one message new, in each mixture of [`leafgate_harness::rules`].

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use bytes::Bytes;
use leafgate_contract::NoPlugins;
use leafgate_harness::rules::{FOUND, many, varied, write_alone};
use leafgate_policy::{Context, Outside, Part, Policy, PolicySource, Verdict};
use leafgate_tree::{Document, Format, Limits};
use leafgate_vault::{ClientIdentity, InstallationKey, TokenKeys, Vault};
use serde_json::{Value, json};

use crate::bodies;
use crate::bodies::Text;
use crate::stats::{Samples, shown};

const SIZES: [(&str, usize, u64); 3] =
    [("2 KB", 2 << 10, 400), ("100 KB", 100 << 10, 200), ("1 MB", 1 << 20, 40)];
const RULES: [usize; 3] = [10, 100, 1_000];

/// Rule files of any number of rules.
type Mixture = fn(usize) -> String;

const MIXTURES: [(&str, Mixture); 3] = [
    ("alone", many),
    ("with default", |count| format!("extends = \"default\"\n{}", many(count))),
    ("for some requests", varied),
];

/// Measures all mixtures and sizes, prints the table and returns the figures.
pub(crate) fn measure() -> Result<Value> {
    println!("\nMany rules: parse, evaluate, render; median of each, ratio to 10 rules\n");
    println!(
        "{:<8} {:<18} {:>6} {:>10} {:>7} {:>16} {:>7}",
        "body", "rules that are", "rules", "all new", "ratio", "one message new", "ratio"
    );
    let mut figures = Vec::new();
    for (mixture, written) in MIXTURES {
        let policies = RULES.iter().map(|&count| policy(&written(count))).collect::<Result<Vec<_>>>()?;
        for (size_name, size, iterations) in SIZES {
            let times = timed(&policies, size, iterations)?;
            let least = times[0].each_ref().map(Samples::median);
            for (rules, times) in RULES.iter().zip(&times) {
                let [new, next] = times.each_ref().map(Samples::median);
                let ratios = [new / least[0], next / least[1]];
                println!(
                    "{size_name:<8} {mixture:<18} {rules:>6} {:>10} {:>7.2} {:>16} {:>7.2}",
                    shown(new),
                    ratios[0],
                    shown(next),
                    ratios[1]
                );
                figures.push(json!({
                    "body": size_name, "mixture": mixture, "rules": rules, "medianMicros": new, "ratio": ratios[0],
                    "nextTurnMedianMicros": next, "nextTurnRatio": ratios[1],
                }));
            }
        }
    }
    Ok(Value::Array(figures))
}

/// Times all policies in turn on the same bodies, so that a slow moment of the machine meets all alike.
fn timed(policies: &[Policy], size: usize, iterations: u64) -> Result<Vec<[Samples; 2]>> {
    let mut times: Vec<[Samples; 2]> = policies.iter().map(|_| Default::default()).collect();
    for seed in 0..iterations {
        let turns = turns(size, seed)?;
        for (policy, times) in policies.iter().zip(&mut times) {
            for (body, times) in turns.iter().zip(times) {
                let start = Instant::now();
                black_box(pass(body.clone(), policy)?);
                times.add(start.elapsed());
            }
        }
    }
    Ok(times)
}

/// A conversation, and the same with one message more.
fn turns(size: usize, seed: u64) -> Result<[Bytes; 2]> {
    let body =
        bodies::with_message(&bodies::body(size, seed, Text::Ordinary), &format!("what about {FOUND}?"))?;
    let next = bodies::with_message(&body, "and now the other one, please")?;
    Ok([body.into(), next.into()])
}

fn pass(body: Bytes, policy: &Policy) -> Result<Bytes> {
    let keys = TokenKeys::derive(&InstallationKey::from_bytes([7; 32]), &ClientIdentity::new("bench"));
    let document = Document::parse(body, Format::OpenaiChat, &Limits::default())?;
    let outside = [Outside { part: Part::Header { name: "x-team".into() }, text: "red".into() }];
    let context = Context { endpoint: Some("/v1/chat/completions"), outside: &outside, ..Context::default() };
    let evaluation = policy.evaluate(Arc::new(document), &context, &Vault::new(keys));
    ensure!(
        evaluation.verdict == Verdict::Forward,
        "the body must pass, or less than the whole path is measured"
    );
    ensure!(evaluation.draft.edits().next().is_some(), "all policies edit one text");
    Ok(evaluation.draft.render())
}

fn policy(rules: &str) -> Result<Policy> {
    let folder = tempfile::tempdir()?;
    write_alone(folder.path(), rules)?;
    let source = PolicySource::Folder(folder.path().to_owned());
    Policy::load(&source, &NoPlugins).context("the policy to measure does not load")
}
