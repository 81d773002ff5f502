//! Reading a body in each format, beside `serde_json::from_slice::<Value>` on the same bytes; and giving it back unedited.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use bytes::Bytes;
use leafgate_tree::{Document, Draft, Format, Limits};
use serde_json::{Value, json};

use crate::bodies::{self, Text};
use crate::stats::{Samples, shown};

const SIZES: [(&str, usize); 2] = [("100 KB", 100 << 10), ("1 MB", 1 << 20)];

/// Bodies per format and size.
const BODIES: u64 = 60;
/// Renderings of one body: one alone is too short for the clock.
const RENDERINGS: u32 = 1000;

/// Measures all formats, prints the table and returns the figures.
pub(crate) fn measure() -> Result<Value> {
    println!(
        "\nReading: index and sections, beside serde_json::Value on the same bytes; rendering without edits\n"
    );
    println!(
        "{:<8} {:<20} {:>11} {:>11} {:>7} {:>11}",
        "body", "format", "serde_json", "tree", "ratio", "rendering"
    );
    let mut figures = Vec::new();
    for (size_name, size) in SIZES {
        for &format in Format::ALL {
            figures.push(one(size_name, size, format)?);
        }
    }
    Ok(Value::Array(figures))
}

fn one(size_name: &str, size: usize, format: Format) -> Result<Value> {
    let [mut baseline, mut index, mut render] = [Samples::default(), Samples::default(), Samples::default()];
    for seed in 0..BODIES {
        let body = Bytes::from(bodies::in_format(format, size, seed, Text::Ordinary));
        baseline.add(timed(|| serde_json::from_slice::<Value>(&body))?);
        index.add(timed(|| Document::parse(body.clone(), format, &Limits::default()))?);
        let draft = Draft::new(Arc::new(Document::parse(body, format, &Limits::default())?));
        let start = Instant::now();
        (0..RENDERINGS).for_each(|_| drop(black_box(draft.render())));
        render.add(start.elapsed() / RENDERINGS);
    }
    let ratio = index.median() / baseline.median();
    let nanos = render.median() * 1000.0;
    println!(
        "{size_name:<8} {:<20} {:>11} {:>11} {ratio:>7.2} {nanos:>8.0} ns",
        format.name(),
        shown(baseline.median()),
        shown(index.median()),
    );
    Ok(json!({
        "body": size_name,
        "format": format.name(),
        "serdeMicros": baseline.median(),
        "treeMicros": index.median(),
        "ratio": ratio,
        "renderNanos": nanos,
    }))
}

/// How long it takes to read a body; dropping what was read does not count.
fn timed<T, E>(read: impl FnOnce() -> Result<T, E>) -> Result<Duration, E> {
    let start = Instant::now();
    let read = black_box(read()?);
    let elapsed = start.elapsed();
    drop(read);
    Ok(elapsed)
}
