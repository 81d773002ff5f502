//! What the gate costs, in one run: the offline path beside `serde_json` on the same bytes, and the latency that a running gate adds.
//!
//! `cargo xtask bench` builds it with optimisation, passes the binary in `LEAFGATE_BIN` and a file for the figures as the argument.
//! Bodies are agent-like requests and differ from one iteration to the next, so that nothing is measured that remembers.
#![expect(clippy::print_stdout, reason = "it prints its figures")]

mod bodies;
mod detection;
mod events;
mod formats;
mod latency;
mod many;
mod offline;
mod stats;

use anyhow::Result;
use serde_json::json;

/// Sizes of bodies: a first question, an agent's turn, a long session.
const SIZES: [(&str, usize); 3] = [("2 KB", 2 << 10), ("100 KB", 100 << 10), ("1 MB", 1 << 20)];

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == latency::AS_UPSTREAM) {
        return latency::serve();
    }
    let formats = formats::measure()?;
    let detection = detection::measure()?;
    let offline = offline::measure()?;
    let many_rules = many::measure()?;
    let latency = latency::measure()?;
    let events = events::measure()?;
    if let Some(file) = arguments.iter().find(|argument| argument.ends_with(".json")) {
        let figures = json!({
            "formats": formats, "detection": detection, "offline": offline, "manyRules": many_rules,
            "latency": latency, "events": events,
        });
        std::fs::write(file, format!("{figures:#}\n"))?;
        println!("\nfigures: {file}");
    }
    Ok(())
}
