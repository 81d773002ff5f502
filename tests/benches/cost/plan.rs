//! What a plan costs: a log of agents' turns, none of which repeats another, judged by two policies.

use std::time::Instant;

use anyhow::{Result, ensure};
use leafgate_tests::gate::{self, Gate};
use leafgate_tests::upstream::Upstream;
use serde_json::{Value, json};

use crate::bodies::{self, Text};

/// What is asked of it: so many requests of this size.
const REQUESTS: usize = 1_000;
const SIZE: usize = 100 << 10;

/// How often the plan is made.
const ROUNDS: usize = 3;

/// The other policy changes the arguments of every call of a tool, so every request differs and is counted in tokens.
const NEW: &str = r#"
extends = "default"

[[rule]]
id = "homes"
match = { kind = "tool-arguments" }
action = "rewrite"
replace = { pattern = '/home/[a-z]+', with = '~' }
"#;

/// Measures it, prints the table and returns the figures.
pub(crate) fn measure() -> Result<Value> {
    let data = tempfile::tempdir()?;
    log(data.path())?;
    let policy = data.path().join("next");
    std::fs::create_dir(&policy)?;
    std::fs::write(policy.join("rules.toml"), NEW)?;
    let policy = policy.display().to_string();
    println!("\nA plan over {REQUESTS} logged requests of 100 KB, all of them new, seconds\n");
    let mut seconds = Vec::new();
    let mut differing = 0;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let ran =
            gate::run_in(data.path(), &["plan", "--policy", &policy, "--today", "default", "--json"], b"")?;
        seconds.push(start.elapsed().as_secs_f64());
        let said = String::from_utf8_lossy(&ran.stderr);
        ensure!(ran.status.success(), "{said}");
        let plan: Value = serde_json::from_slice(&ran.stdout)?;
        ensure!(plan["requests"] == REQUESTS, "the plan has {} requests: {said}", plan["requests"]);
        differing = plan["differing"].as_array().map_or(0, Vec::len);
        ensure!(differing == REQUESTS, "{differing} requests differ");
    }
    seconds.sort_by(f64::total_cmp);
    let median = seconds[ROUNDS / 2];
    println!("{:>8} {:>8} {:>10}", "median", "most", "differing");
    println!("{median:>8.2} {:>8.2} {differing:>10}", seconds[ROUNDS - 1]);
    Ok(
        json!({ "requests": REQUESTS, "seconds": median, "most": seconds[ROUNDS - 1], "differing": differing }),
    )
}

/// Has a gate log all requests: it answers each once that is on disk.
fn log(data: &std::path::Path) -> Result<()> {
    let upstream = Upstream::forgetful()?;
    let gate =
        Gate::start_in(data, &["--policy", "default", "--upstream", &upstream.url(), "--log-required"])?;
    let mut client = gate.client()?;
    for seed in 0..REQUESTS as u64 {
        let answer = client.chat(&bodies::body(SIZE, seed, Text::Ordinary))?;
        ensure!(answer.status() == 200, "`{}`", answer.start);
    }
    Ok(())
}
