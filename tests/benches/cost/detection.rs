//! Detection alone: all built-in detectors over texts on one core, without and with the look for
//! what is encoded in them.

use std::hint::black_box;
use std::time::Instant;

use anyhow::Result;
use leafgate_detect::{Engine, Input, views};
use leafgate_tests::plant;
use serde_json::{Value, json};

use crate::bodies::{self, Text};
use crate::stats::Samples;

/// So much of each kind of text.
const SIZE: usize = 1 << 20;

/// Looks at each kind.
const ROUNDS: usize = 60;

/// Source code of our own, in which every file is about something else.
const CODE: [&str; 8] = [
    include_str!("../../../host/detect/src/keyed.rs"),
    include_str!("../../../host/detect/src/scan/mod.rs"),
    include_str!("../../../host/tree/src/escape.rs"),
    include_str!("../../../host/tree/src/scan.rs"),
    include_str!("../../../host/tree/src/validate.rs"),
    include_str!("../../../host/policy/src/memo.rs"),
    include_str!("../../../host/http/src/headers.rs"),
    include_str!("../../../host/vault/src/restore.rs"),
];

/// Text for people.
const PROSE: [&str; 5] = [
    include_str!("../../../host/policy/RULES.md"),
    include_str!("../../../host/REQUIREMENTS.md"),
    include_str!("../../../plugins/README.md"),
    include_str!("../../../README.md"),
    include_str!("../../../CONTRIBUTING.md"),
];

/// Measures each kind of text, prints the table and returns the figures.
pub(crate) fn measure() -> Result<Value> {
    println!("\nDetection alone: packs secrets and pii, one core\n");
    println!("{:<24} {:>14} {:>26}", "text", "detectors", "and what is encoded");
    let engine = Engine::new(&["secrets", "pii"])?;
    let kinds = [
        ("source code", repeated(&CODE)),
        ("with a secret each 4 KB", repeated(&CODE).iter().map(|text| with_secrets(text)).collect()),
        ("prose", repeated(&PROSE)),
        ("texts of a chat request", texts_of(&bodies::body(SIZE, 1, Text::Ordinary))?),
    ];
    Ok(kinds.iter().map(|(name, texts)| one(&engine, name, texts)).collect())
}

fn one(engine: &Engine, name: &str, texts: &[String]) -> Value {
    let [mut plain, mut whole] = [Samples::default(), Samples::default()];
    for _ in 0..ROUNDS {
        plain.add(timed(texts, |text| engine.scan(&Input::new(text)).len()));
        whole.add(timed(texts, |text| {
            let found = engine.scan(&Input::new(text)).len();
            let views = views(text);
            let within = views.iter().map(|view| engine.scan(&Input::new(view.text())).len());
            found + within.sum::<usize>()
        }));
    }
    let bytes: usize = texts.iter().map(String::len).sum();
    // Bytes in a microsecond are megabytes in a second.
    #[expect(clippy::cast_precision_loss, reason = "some megabytes")]
    let [detectors, encoded] = [&plain, &whole].map(|samples| bytes as f64 / samples.median());
    println!("{name:<24} {detectors:>9.0} MB/s {encoded:>21.0} MB/s");
    json!({ "text": name, "megabytesPerSecond": detectors, "withEncoded": encoded })
}

fn timed(texts: &[String], look: impl Fn(&str) -> usize) -> std::time::Duration {
    let start = Instant::now();
    black_box(texts.iter().map(|text| look(text)).sum::<usize>());
    start.elapsed()
}

/// The same texts again and again.
fn repeated(texts: &[&str]) -> Vec<String> {
    let mut left = SIZE;
    let taken = texts.iter().cycle().take_while(|text| {
        let more = left > 0;
        left = left.saturating_sub(text.len());
        more
    });
    taken.map(|text| (*text).to_owned()).collect()
}

/// A text with a secret in a line of its own after each 4 KB.
fn with_secrets(text: &str) -> String {
    let mut written = String::with_capacity(text.len() + text.len() / 64);
    for line in text.split_inclusive('\n') {
        if written.len() / 4096 != (written.len() + line.len()) / 4096 {
            written.push_str(&format!("export TOKEN={}\n", plant::github(written.len() as u64)));
        }
        written.push_str(line);
    }
    written
}

/// All strings of a body.
fn texts_of(body: &[u8]) -> Result<Vec<String>> {
    fn add(value: Value, all: &mut Vec<String>) {
        match value {
            Value::String(text) => all.push(text),
            Value::Array(items) => items.into_iter().for_each(|item| add(item, all)),
            Value::Object(members) => members.into_iter().for_each(|(_, member)| add(member, all)),
            _ => {}
        }
    }
    let mut all = Vec::new();
    add(serde_json::from_slice(body)?, &mut all);
    Ok(all)
}
