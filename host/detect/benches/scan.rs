//! Throughput on source code and on agents' JSON, without findings and with one every 4 KB, beside one pass of a bare automaton.

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use leafgate_detect::{Engine, Input};

const SIZE: usize = 1 << 20;

fn main() {
    divan::main();
}

/// Rust source of our own, with the names that make detectors look.
const CODE: &str = include_str!("../src/keyed.rs");

/// What an agent sends: a tool call and its result, in JSON.
const TRAFFIC: &str = r#"{"role":"assistant","tool_calls":[{"id":"call_Vx3kQ9mZ7LbT2wRc8NfYd4Hj","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"src/server/session.ts\",\"start\":120,\"end\":180}"}}]},
{"role":"tool","tool_call_id":"call_Vx3kQ9mZ7LbT2wRc8NfYd4Hj","content":"export async function session(request: Request, keys: KeyStore): Promise<Session> {\n  const token = request.headers.get('authorization');\n  if (!token) throw new Unauthorized('no token');\n  const key = await keys.find(request.tenant);\n  return verify(token, key); // commit 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n}\n"},
"#;

fn clean(source: &str) -> String {
    source.chars().cycle().take(SIZE).collect()
}

fn with_findings(source: &str) -> String {
    let secret = format!("\nexport TOKEN={}{}\n", "ghp_", "x7Kq2mZp9RtVw4Lb8NcYd3HfJs6GaQ1eUo5T");
    let text = clean(source);
    let mut out = String::with_capacity(text.len() + text.len() / 64);
    for line in text.split_inclusive('\n') {
        if out.len() / 4096 != (out.len() + line.len()) / 4096 {
            out.push_str(&secret);
        }
        out.push_str(line);
    }
    out
}

fn scan(bencher: Bencher<'_, '_>, selectors: &[&str], text: &str) {
    let engine = Engine::new(selectors).expect("built-in packs");
    bencher.counter(BytesCount::of_str(text)).bench_local(|| engine.scan(&Input::new(black_box(text))));
}

/// What reading the text once costs: an automaton of a few keywords, each match counted.
fn automaton(bencher: Bencher<'_, '_>, text: &str) {
    let words = ["ghp_", "akia", "password", "token", "secret", "api_key", "-----begin", "://"];
    let automaton = AhoCorasick::builder()
        .kind(Some(AhoCorasickKind::DFA))
        .ascii_case_insensitive(true)
        .build(words)
        .expect("eight keywords");
    bencher
        .counter(BytesCount::of_str(text))
        .bench_local(|| automaton.find_overlapping_iter(black_box(text)).count());
}

#[divan::bench]
fn code_clean(bencher: Bencher<'_, '_>) {
    scan(bencher, &["secrets", "pii"], &clean(CODE));
}

#[divan::bench]
fn code_with_findings(bencher: Bencher<'_, '_>) {
    scan(bencher, &["secrets", "pii"], &with_findings(CODE));
}

#[divan::bench]
fn traffic_clean(bencher: Bencher<'_, '_>) {
    scan(bencher, &["secrets", "pii"], &clean(TRAFFIC));
}

#[divan::bench]
fn traffic_with_findings(bencher: Bencher<'_, '_>) {
    scan(bencher, &["secrets", "pii"], &with_findings(TRAFFIC));
}

#[divan::bench]
fn traffic_default_selection(bencher: Bencher<'_, '_>) {
    scan(bencher, &["secrets", "pii/payment-card", "pii/iban"], &clean(TRAFFIC));
}

#[divan::bench]
fn automaton_alone_code(bencher: Bencher<'_, '_>) {
    automaton(bencher, &clean(CODE));
}

#[divan::bench]
fn automaton_alone_traffic(bencher: Bencher<'_, '_>) {
    automaton(bencher, &clean(TRAFFIC));
}
