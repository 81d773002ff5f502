//! What the gate costs, in one run: the offline path beside `serde_json` on the same bytes, and the latency that a running gate adds.
//!
//! `cargo xtask bench` builds it with optimisation, passes the binary in `LEAFGATE_BIN` and a file for the figures as the argument.
//! Names of sections as further arguments (`cargo xtask bench offline`) measure these alone.
//! Bodies are agent-like requests and differ from one iteration to the next, so that nothing is measured that remembers.
#![expect(clippy::print_stdout, reason = "it prints its figures")]

mod bodies;
mod detection;
mod events;
mod formats;
mod latency;
mod logged;
mod many;
mod offline;
mod plan;
mod stats;

use anyhow::Result;
use serde_json::{Map, Value};

/// Sizes of bodies: a first question, an agent's turn, a long session.
const SIZES: [(&str, usize); 3] = [("2 KB", 2 << 10), ("100 KB", 100 << 10), ("1 MB", 1 << 20)];

/// Measures one part, prints its table and returns its figures.
type Measure = fn() -> Result<Value>;

const SECTIONS: [(&str, Measure); 8] = [
    ("formats", formats::measure),
    ("detection", detection::measure),
    ("offline", offline::measure),
    ("manyRules", many::measure),
    ("latency", latency::measure),
    ("logged", logged::measure),
    ("plan", plan::measure),
    ("events", events::measure),
];

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == latency::AS_UPSTREAM) {
        return latency::serve();
    }
    let wanted = |name: &str| {
        let mut named =
            arguments.iter().filter(|argument| SECTIONS.iter().any(|(section, _)| section == argument));
        named.clone().next().is_none() || named.any(|section| section == name)
    };
    let mut figures = Map::new();
    for (name, measure) in SECTIONS.into_iter().filter(|(name, _)| wanted(name)) {
        figures.insert(name.to_owned(), measure()?);
    }
    if let Some(file) = arguments.iter().find(|argument| argument.ends_with(".json")) {
        std::fs::write(file, format!("{:#}\n", Value::Object(figures)))?;
        println!("\nfigures: {file}");
    }
    Ok(())
}
