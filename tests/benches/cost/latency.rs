//! What a running gate adds: the same requests to an upstream in a process of its own, directly and through the gate.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use leafgate_tests::gate::Gate;
use leafgate_tests::http::Client;
use leafgate_tests::upstream::Upstream;
use serde_json::{Value, json};

use crate::stats::{Samples, shown};
use crate::{SIZES, bodies};

/// The argument that makes this program the upstream of another run of itself.
pub(crate) const AS_UPSTREAM: &str = "--as-upstream";

/// Requests per size; the first ones, which open connections and warm caches, are not counted.
const REQUESTS: [usize; 3] = [600, 300, 120];
const WARM_UP: usize = 20;

/// Serves as the upstream until the standard input ends, which it does with the process that measures.
pub(crate) fn serve() -> Result<()> {
    let upstream = Upstream::forgetful()?;
    println!("{}", upstream.address());
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink())?;
    Ok(())
}

/// An upstream in a process of its own, which ends with this value.
pub(crate) struct Separate {
    process: Child,
    /// Where it listens.
    pub(crate) address: SocketAddr,
}

impl Separate {
    /// Starts one.
    pub(crate) fn start() -> Result<Self> {
        let mut process = Command::new(std::env::current_exe()?)
            .arg(AS_UPSTREAM)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("the upstream cannot be started")?;
        let mut address = String::new();
        BufReader::new(process.stdout.take().context("no standard output")?).read_line(&mut address)?;
        Ok(Separate { process, address: address.trim().parse()? })
    }

    /// Its base URL.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for Separate {
    fn drop(&mut self) {
        // Its input ends with the measuring process in any case.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Measures all sizes, prints the table and returns the figures.
pub(crate) fn measure() -> Result<Value> {
    let upstream = Separate::start()?;
    let gate = Gate::start(&["--policy", "default", "--upstream", &upstream.url()])?;
    let mut direct = Client::connect(upstream.address)?;
    let mut gated = gate.client()?;
    println!("\nLatency of a request on an open connection, default policy\n");
    println!(
        "{:<8} {:>11} {:>11} {:>11} {:>11} {:>11} {:>11}",
        "body", "direct p50", "p99", "gated p50", "p99", "added p50", "p99"
    );
    let mut figures = Vec::new();
    for ((size_name, size), requests) in SIZES.into_iter().zip(REQUESTS) {
        let (mut without, mut with) = (Samples::default(), Samples::default());
        for seed in 0..(requests + WARM_UP) as u64 {
            let body = bodies::body(size, seed, bodies::Text::Ordinary);
            let times = (timed(&mut direct, &body)?, timed(&mut gated, &body)?);
            if seed >= WARM_UP as u64 {
                without.add(times.0);
                with.add(times.1);
            }
        }
        figures.push(row(size_name, &without, &with));
    }
    Ok(Value::Array(figures))
}

fn timed(client: &mut Client, body: &[u8]) -> Result<std::time::Duration> {
    let start = Instant::now();
    let answer = client.chat(body)?;
    let elapsed = start.elapsed();
    ensure!(answer.status() == 200, "`{}`", answer.start);
    Ok(elapsed)
}

fn row(size_name: &str, without: &Samples, with: &Samples) -> Value {
    let [direct, direct_high] = [without.percentile(0.5), without.percentile(0.99)];
    let [gated, gated_high] = [with.percentile(0.5), with.percentile(0.99)];
    let (added, added_high) = (gated - direct, gated_high - direct_high);
    println!(
        "{size_name:<8} {:>11} {:>11} {:>11} {:>11} {:>11} {:>11}",
        shown(direct),
        shown(direct_high),
        shown(gated),
        shown(gated_high),
        shown(added),
        shown(added_high)
    );
    json!({
        "body": size_name,
        "directMicros": { "p50": direct, "p99": direct_high },
        "gatedMicros": { "p50": gated, "p99": gated_high },
        "addedMicros": { "p50": added, "p99": added_high },
    })
}
