//! What the log costs: requests each second through gates that differ in nothing but whether they keep one.

use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use leafgate_tests::admin::Admin;
use leafgate_tests::gate::Gate;
use serde_json::{Value, json};

use crate::bodies::{self, Text};
use crate::latency::Separate;

/// An agent's turn.
const SIZE: usize = 100 << 10;

/// Connections at once: enough to keep both cores busy.
const CONNECTIONS: usize = 4;

/// Requests of each connection in one run; the first ones are not timed. In the tenths of a second that a gate
/// takes for the first hundred it fills the log's queue, and finds out that no processor is idle.
const REQUESTS: usize = 1000;
const WARM_UP: usize = 100;

/// Runs of each kind, those with a log and those without in turns.
const ROUNDS: u64 = 5;

/// What a conversation sends: all of it new each time, or one message more than known ones.
const KINDS: [(&str, bool); 2] = [("all new", false), ("next turn", true)];

/// Measures both kinds, prints the table and returns the figures.
pub(crate) fn measure() -> Result<Value> {
    let upstream = Separate::start()?;
    println!("\nWhat the log costs: requests each second, 100 KB, {CONNECTIONS} connections, medians\n");
    println!("{:<10} {:>10} {:>10} {:>7} {:>10}", "body", "no log", "log", "ratio", "missed");
    let mut figures = Vec::new();
    for (kind, goes_on) in KINDS {
        let (mut without, mut with, mut missed) = (Vec::new(), Vec::new(), 0.0_f64);
        for round in 0..ROUNDS {
            without.push(rate(&upstream, &["--no-log"], goes_on, round)?.0);
            let (rate, left_out) = rate(&upstream, &[], goes_on, round)?;
            with.push(rate);
            missed = missed.max(left_out);
        }
        let [without, with] = [median(without), median(with)];
        println!("{kind:<10} {without:>10.0} {with:>10.0} {:>7.3} {:>9.1}%", with / without, missed * 100.0);
        figures.push(json!({
            "body": kind, "perSecond": without, "perSecondLogged": with, "ratio": with / without,
            "mostMissed": missed,
        }));
    }
    Ok(Value::Array(figures))
}

/// Returns the requests each second of a gate that has just started, and the share of them that its
/// log has left out.
fn rate(upstream: &Separate, log: &[&str], goes_on: bool, round: u64) -> Result<(f64, f64)> {
    let url = upstream.url();
    let gate = Gate::start(&[&["--policy", "default", "--upstream", &url], log].concat())?;
    let bodies: Vec<Vec<Vec<u8>>> = (0..CONNECTIONS as u64)
        .map(|connection| conversation(round * CONNECTIONS as u64 + connection, goes_on))
        .collect::<Result<_>>()?;
    bodies.iter().try_for_each(|bodies| talk(&gate, &bodies[..WARM_UP]))?;
    let start = Instant::now();
    std::thread::scope(|scope| {
        let gate = &gate;
        let talkers: Vec<_> =
            bodies.iter().map(|bodies| scope.spawn(move || talk(gate, &bodies[WARM_UP..]))).collect();
        talkers.into_iter().try_for_each(|talker| {
            talker.join().map_err(|_| anyhow::anyhow!("a connection's thread panicked"))?
        })
    })?;
    let took = start.elapsed().as_secs_f64();
    let status = Admin::of(&gate)?.get("/v1/status")?;
    let missed = status["store"]["missed"].as_f64().unwrap_or(0.0);
    #[expect(clippy::cast_precision_loss, reason = "small counts")]
    let [timed, sent] = [REQUESTS - WARM_UP, REQUESTS].map(|requests| (CONNECTIONS * requests) as f64);
    Ok((timed / took, missed / sent))
}

fn talk(gate: &Gate, bodies: &[Vec<u8>]) -> Result<()> {
    let mut client = gate.client()?;
    for body in bodies {
        let answer = client.chat(body)?;
        ensure!(answer.status() == 200, "`{}`", answer.start);
    }
    Ok(())
}

/// Returns the bodies of one connection.
fn conversation(seed: u64, goes_on: bool) -> Result<Vec<Vec<u8>>> {
    let seed = seed * REQUESTS as u64;
    if !goes_on {
        return Ok((seed..).take(REQUESTS).map(|seed| bodies::body(SIZE, seed, Text::Ordinary)).collect());
    }
    let mut body: Value = serde_json::from_slice(&bodies::body(SIZE, seed, Text::Ordinary))?;
    (0..REQUESTS)
        .map(|turn| {
            let messages = body["messages"].as_array_mut().context("a chat has messages")?;
            messages.push(json!({ "role": "user", "content": format!("and then, for the {turn}th time?") }));
            Ok(body.to_string().into_bytes())
        })
        .collect()
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}
