//! The offline path: parse, evaluate, render; beside `serde_json::from_slice::<Value>` on the same bytes.

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use bytes::Bytes;
use leafgate_policy::{Context, Policy, PolicySource, Verdict};
use leafgate_tests::plugins;
use leafgate_tree::{Document, Format, Limits};
use leafgate_vault::{ClientIdentity, InstallationKey, TokenKeys, Vault};
use leafgate_wasm::{LoaderConfig, WasmLoader};
use serde_json::{Value, json};

use crate::bodies::Text;
use crate::stats::{Samples, shown};
use crate::{SIZES, bodies};

/// Bytes that are measured per size and variant, and bounds on the iterations that this gives.
const BYTES: usize = 64 << 20;
const ITERATIONS: std::ops::RangeInclusive<usize> = 40..=1000;

const DETECTOR: &str = r#"
extends = "default"
[plugins.names]
file = "plugins/redact-names.wasm"
config = { names = ["Ada Lovelace", "Northwind"] }
[[rule]]
id = "names"
match = {}
detect = ["plugin:names"]
action = "redact"
"#;

const TRANSFORMER: &str = r#"
extends = "default"
[plugins.paths]
file = "plugins/rewrite-home-paths.wasm"
[[rule]]
id = "paths"
match = {}
action = "transform"
plugin = "paths"
"#;

/// One way through a body.
struct Variant {
    name: &'static str,
    policy: Policy,
}

/// Measures all sizes, prints the table and returns the figures.
pub(crate) fn measure() -> Result<Value> {
    let loader = WasmLoader::new(LoaderConfig::default())?;
    let keys = TokenKeys::derive(&InstallationKey::from_bytes([7; 32]), &ClientIdentity::new("bench"));
    let variants = [
        Variant { name: "default policy", policy: load(&PolicySource::Default, &loader)? },
        Variant { name: "+ detector plugin", policy: with_plugin(DETECTOR, &loader)? },
        Variant { name: "+ transformer plugin", policy: with_plugin(TRANSFORMER, &loader)? },
    ];
    println!(
        "Offline: parse, evaluate, render; median of each, ratio to serde_json::Value on the same bytes\n"
    );
    println!("{:<8} {:<33} {:>10} {:>8} {:>7}", "body", "path", "median", "MB/s", "ratio");
    let mut figures = Vec::new();
    for (size_name, size) in SIZES {
        figures.extend(one_size(size_name, size, Text::Ordinary, &variants, &keys)?);
    }
    figures.extend(one_size("100 KB*", 100 << 10, Text::Keywords, &variants, &keys)?);
    println!("\n* every sixth word is one that detectors of credentials wake up at");
    Ok(Value::Array(figures))
}

fn one_size(
    size_name: &str,
    size: usize,
    text: Text,
    variants: &[Variant],
    keys: &TokenKeys,
) -> Result<Vec<Value>> {
    let iterations = (BYTES / size).clamp(*ITERATIONS.start(), *ITERATIONS.end());
    let mut baseline = Samples::default();
    let mut samples: Vec<[Samples; 2]> = variants.iter().map(|_| Default::default()).collect();
    for seed in 0..iterations as u64 {
        let body = Bytes::from(bodies::body(size, seed, text));
        let start = Instant::now();
        black_box(serde_json::from_slice::<Value>(&body)?);
        baseline.add(start.elapsed());
        let turns = [body.clone(), bodies::with_message(&body, "and now the other one, please")?.into()];
        // In turn on the same body, so that a slow moment of the machine meets all alike.
        for (variant, samples) in variants.iter().zip(&mut samples) {
            let vault = Vault::new(keys.clone());
            for (turn, samples) in turns.iter().zip(samples) {
                let start = Instant::now();
                let left = pass(turn.clone(), &variant.policy, &vault)?;
                samples.add(start.elapsed());
                black_box(left);
            }
        }
    }
    let row = |name: &str, samples: &Samples| {
        let (median, ratio) = (samples.median(), samples.median() / baseline.median());
        #[expect(clippy::cast_precision_loss, reason = "a size in megabytes, for people")]
        let rate = size as f64 / median;
        println!("{size_name:<8} {name:<33} {:>10} {rate:>8.0} {ratio:>7.2}", shown(median));
        json!({ "body": size_name, "path": name, "medianMicros": median, "megabytesPerSecond": rate, "ratio": ratio })
    };
    let mut rows = vec![row("serde_json::Value", &baseline)];
    for (variant, [new, next]) in variants.iter().zip(&samples) {
        rows.extend([row(variant.name, new), row(&format!("{}, next turn", variant.name), next)]);
    }
    Ok(rows)
}

fn pass(body: Bytes, policy: &Policy, vault: &Vault) -> Result<Bytes> {
    let document = Document::parse(body, Format::OpenaiChat, &Limits::default())?;
    let context = Context { session: "bench", ..Context::default() };
    let evaluation = policy.evaluate(Arc::new(document), &context, vault);
    ensure!(
        evaluation.verdict == Verdict::Forward,
        "the body must pass, or less than the whole path is measured"
    );
    Ok(evaluation.draft.render())
}

fn with_plugin(rules: &str, loader: &WasmLoader) -> Result<Policy> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("rules.toml"), rules)?;
    plugins::install(folder.path())?;
    load(&PolicySource::Folder(Path::to_owned(folder.path())), loader)
}

fn load(source: &PolicySource, loader: &WasmLoader) -> Result<Policy> {
    Policy::load(source, loader).context("the policy to measure does not load")
}
