//! How much of a request stands in the next one byte for byte: what a cache of prompts can use.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]
#![allow(clippy::print_stdout, reason = "a figure that people read")]

mod common;

use common::*;
use leafgate_assemble::{Api, Continuation, Profile};
use serde_json::{Value, json};

/// Twenty requests: each question takes four, three of which go on behind the results of a call.
fn requests() -> Vec<String> {
    let mut messages: Vec<Value> = Vec::new();
    let mut requests = Vec::new();
    for turn in 0..5 {
        messages.push(json!({ "role": "user", "content": format!("Question {turn}?") }));
        for step in 0..4 {
            let tools = json!([{ "type": "function", "function": { "name": "read_file" } }]);
            requests.push(json!({ "model": "m", "messages": messages, "tools": tools }).to_string());
            let id = format!("call_{turn}_{step}");
            if step == 3 {
                messages.push(json!({ "role": "assistant", "content": format!("Answer {turn}.") }));
                continue;
            }
            let call = json!({ "id": id, "type": "function",
                "function": { "name": "read_file", "arguments": "{}" } });
            messages.push(json!({ "role": "assistant", "content": null, "tool_calls": [call] }));
            let result = "line\n".repeat(40);
            messages.push(json!({ "role": "tool", "tool_call_id": id, "content": result }));
        }
    }
    requests
}

/// Bytes of each request that begin the next one, and bytes of all but the last.
fn reused(continuation: Continuation) -> (Vec<usize>, Vec<usize>) {
    let profile = Profile { continuation, model: None, plugins: Vec::new(), ..full() };
    let made: Vec<Vec<u8>> = requests().iter().map(|body| run(Api::Chat, body, &profile).body).collect();
    let common = |pair: &[Vec<u8>]| pair[0].iter().zip(&pair[1]).take_while(|(a, b)| a == b).count();
    let ends_of_messages = |body: &Vec<u8>| String::from_utf8_lossy(body).find("],\"model\"").unwrap();
    (made.windows(2).map(common).collect(), made[..19].iter().map(ends_of_messages).collect())
}

#[test]
fn a_profile_that_keeps_its_context_keeps_the_prefix_while_tools_run() {
    let (keep, lengths) = reused(Continuation::Keep);
    let (skip, of_skip) = reused(Continuation::SkipContext);
    let share = |common: &[usize], lengths: &[usize]| {
        100 * common.iter().sum::<usize>() / lengths.iter().sum::<usize>()
    };
    println!("of 20 requests in 5 turns, bytes that begin the next one:");
    println!("  keep          {} %", share(&keep, &lengths));
    println!("  skip-context  {} %", share(&skip, &of_skip));
    for at in (0..19).filter(|at| at % 4 != 3) {
        assert!(keep[at] >= lengths[at], "request {at} stands in the next one as a whole");
    }
    for at in (0..19).filter(|at| at % 4 == 0) {
        assert!(skip[at] < of_skip[at], "the first of a turn has context that the next one lacks");
    }
}
