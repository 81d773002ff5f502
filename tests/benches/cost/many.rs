//! Many rules: 10, 100 and 1,000 of them that all do the same to a request, all of it new and with
//! one message new.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use bytes::Bytes;
use leafgate_contract::NoPlugins;
use leafgate_harness::rules::{FOUND, many};
use leafgate_policy::{Context, Policy, PolicySource};
use leafgate_tree::{Document, Format, Limits};
use leafgate_vault::{ClientIdentity, InstallationKey, TokenKeys, Vault};
use serde_json::{Value, json};

use crate::bodies;
use crate::bodies::Text;
use crate::stats::{Samples, shown};

const SIZES: [(&str, usize, u64); 2] = [("100 KB", 100 << 10, 200), ("1 MB", 1 << 20, 40)];
const RULES: [usize; 3] = [10, 100, 1_000];

/// Measures both sizes, prints the table and returns the figures.
pub(crate) fn measure() -> Result<Value> {
    println!("\nMany rules: parse, evaluate, render; median of each, ratio to 10 rules\n");
    println!(
        "{:<8} {:>6} {:>10} {:>7} {:>16} {:>7}",
        "body", "rules", "all new", "ratio", "one message new", "ratio"
    );
    let policies = RULES.iter().map(|&count| policy(count)).collect::<Result<Vec<_>>>()?;
    let mut figures = Vec::new();
    for (size_name, size, iterations) in SIZES {
        let mut times: Vec<[Samples; 2]> = RULES.iter().map(|_| Default::default()).collect();
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
        let least = times[0].each_ref().map(Samples::median);
        for (rules, times) in RULES.iter().zip(&times) {
            let [new, next] = times.each_ref().map(Samples::median);
            let ratios = [new / least[0], next / least[1]];
            println!(
                "{size_name:<8} {rules:>6} {:>10} {:>7.2} {:>16} {:>7.2}",
                shown(new),
                ratios[0],
                shown(next),
                ratios[1]
            );
            figures.push(json!({
                "body": size_name, "rules": rules, "medianMicros": new, "ratio": ratios[0],
                "nextTurnMedianMicros": next, "nextTurnRatio": ratios[1],
            }));
        }
    }
    Ok(Value::Array(figures))
}

/// A conversation, and the same with one message more.
fn turns(size: usize, seed: u64) -> Result<[Bytes; 2]> {
    let mut body: Value = serde_json::from_slice(&bodies::body(size, seed, Text::Ordinary))?;
    let mut spelled = |text: String| {
        let messages =
            body.get_mut("messages").and_then(Value::as_array_mut).context("a chat has messages")?;
        messages.push(json!({ "role": "user", "content": text }));
        anyhow::Ok(Bytes::from(body.to_string()))
    };
    Ok([spelled(format!("what about {FOUND}?"))?, spelled("and now the other one, please".into())?])
}

fn pass(body: Bytes, policy: &Policy) -> Result<Bytes> {
    let keys = TokenKeys::derive(&InstallationKey::from_bytes([7; 32]), &ClientIdentity::new("bench"));
    let document = Document::parse(body, Format::OpenaiChat, &Limits::default())?;
    let evaluation = policy.evaluate(Arc::new(document), &Context::default(), &Vault::new(keys));
    ensure!(evaluation.draft.edits().count() == 1, "all policies make the same edit");
    Ok(evaluation.draft.render())
}

fn policy(rules: usize) -> Result<Policy> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("rules.toml"), format!("extends = \"none\"\n{}", many(rules)))?;
    let source = PolicySource::Folder(folder.path().to_owned());
    Policy::load(&source, &NoPlugins).context("the policy to measure does not load")
}
