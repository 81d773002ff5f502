//! How fast a body becomes a tree, beside what other parsers need for the same bytes.
//!
//! `cargo bench -p leafgate-tree`. Read the columns against each other: the machine's speed drops out of a ratio.

#![allow(clippy::unwrap_used, reason = "a benchmark that cannot run has nothing to measure")]

use std::sync::Arc;

use divan::{Bencher, counter::BytesCount};
use leafgate_tree::{Author, Document, Draft, Format, Limits};

fn main() {
    divan::main();
}

const SIZES: &[usize] = &[2_000, 100_000, 1_000_000];

/// An agent's request of about this size: prose, tool calls with arguments, results with escapes.
fn body(size: usize) -> Vec<u8> {
    let mut messages = vec![r#"{"role":"system","content":"You are a careful engineer."}"#.to_owned()];
    let mut length = 0;
    while length < size {
        let n = messages.len();
        let message = format!(
            r#"{{"role":"assistant","content":null,"tool_calls":[{{"id":"call_{n}","type":"function","function":{{"name":"read_file","arguments":"{{\"path\":\"src/module_{n}.rs\",\"lines\":[{n},{}]}}"}}}}]}},{{"role":"tool","tool_call_id":"call_{n}","content":"{}"}}"#,
            n + 40,
            r#"fn main() {\n    println!(\"hello\");\n    let value = compute(first, second)?;\n}\n"#
                .repeat(8 + n % 16),
        );
        length += message.len();
        messages.push(message);
    }
    format!(r#"{{"model":"gpt","stream":true,"messages":[{}]}}"#, messages.join(",")).into_bytes()
}

#[divan::bench(args = SIZES)]
fn index(bencher: Bencher<'_, '_>, size: usize) {
    let body = bytes::Bytes::from(body(size));
    bencher
        .counter(BytesCount::new(body.len()))
        .bench(|| Document::parse(body.clone(), Format::OpenaiChat, &Limits::default()).unwrap());
}

#[divan::bench(args = SIZES)]
fn serde_json_value(bencher: Bencher<'_, '_>, size: usize) {
    let body = body(size);
    bencher
        .counter(BytesCount::new(body.len()))
        .bench(|| serde_json::from_slice::<serde_json::Value>(&body).unwrap());
}

#[divan::bench(args = SIZES)]
fn jiter_value(bencher: Bencher<'_, '_>, size: usize) {
    let body = body(size);
    bencher.counter(BytesCount::new(body.len())).bench(|| jiter::JsonValue::parse(&body, false).unwrap());
}

#[divan::bench(args = SIZES)]
fn jiter_skip(bencher: Bencher<'_, '_>, size: usize) {
    let body = body(size);
    bencher.counter(BytesCount::new(body.len())).bench(|| jiter::Jiter::new(&body).next_skip().unwrap());
}

#[divan::bench(args = SIZES)]
fn render_unedited(bencher: Bencher<'_, '_>, size: usize) {
    let draft = draft(size);
    bencher.bench(|| draft.render());
}

#[divan::bench(args = SIZES)]
fn render_one_edit(bencher: Bencher<'_, '_>, size: usize) {
    let mut draft = draft(size);
    let leaf = draft.document().resolve("/messages/2/content").unwrap();
    draft.set(leaf, "short", &Author::Person).unwrap();
    bencher.counter(BytesCount::new(draft.document().source().len())).bench(|| draft.render());
}

fn draft(size: usize) -> Draft {
    Draft::new(Arc::new(Document::parse(body(size).into(), Format::OpenaiChat, &Limits::default()).unwrap()))
}
