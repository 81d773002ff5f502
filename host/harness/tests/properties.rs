//! The checks that fuzz targets run for minutes, for some hundred cases in every test run: on generated bodies, on every recording, and
//! on what a fuzzer starts from, bytes that are nearly JSON.

#[allow(dead_code, reason = "shared with the tests of the tree")]
#[path = "../../tree/tests/tree/common/mod.rs"]
mod common;

use common::any_json;
use leafgate_harness::checks;
use leafgate_harness::recordings::{self, Recording};
use proptest::prelude::*;

/// A body, and choices about what is done to it.
fn input(body: &[u8], choices: &[u8]) -> Vec<u8> {
    [body, &[0], choices].concat()
}

fn all(input: &[u8]) {
    checks().iter().for_each(|(_, check)| check(input));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn every_check_holds_on_generated_bodies(body in any_json(), choices: Vec<u8>) {
        all(&input(body.as_bytes(), &choices));
    }

    #[test]
    fn every_check_holds_on_requests_with_anything_in_them(
        text in any_json(),
        outer in prop::sample::select(SHAPES),
        choices: Vec<u8>,
    ) {
        all(&input(outer.replace("@", &text).as_bytes(), &choices));
    }

    #[test]
    fn every_check_holds_on_broken_bodies(body in any_json(), at: prop::sample::Index, byte: u8, choices: Vec<u8>) {
        let mut body = body.into_bytes();
        let at = at.index(body.len());
        body[at] = byte;
        all(&input(&body, &choices));
    }
}

/// The skeletons of requests, with `@` where something else stands.
const SHAPES: &[&str] = &[
    r#"{"model": "m", "messages": [@, {"role": "user", "content": @}, @]}"#,
    r#"{"messages": [{"role": "assistant", "tool_calls": [@, {"id": "1", "type": "function", "function": @}]}, {"role": "tool", "tool_call_id": "1", "content": @}]}"#,
    r#"{"messages": [{"role": "user", "content": [@, {"type": "text", "text": @}]}], "tools": [@, {"type": "function", "function": {"name": "f", "parameters": @}}]}"#,
    r#"{"model": "m", "input": [@, {"type": "reasoning", "summary": @}, {"type": "function_call", "call_id": "1", "arguments": @}, {"type": "function_call_output", "call_id": "1", "output": @}]}"#,
    r#"{"system": @, "messages": [{"role": "assistant", "content": [{"type": "tool_use", "id": "1", "input": @}]}, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": @}, @]}]}"#,
    r#"[{"role": 1, "content": [{"type": 1, "text": @}, {"type": 2, "value": @}, @]}, {"role": 3, "toolCallId": "1", "content": @}, @]"#,
    r#"{"systemInstruction": @, "contents": [@, {"role": "model", "parts": [@, {"functionCall": {"name": "f", "args": @}}, {"thought": true, "thoughtSignature": @}]}, {"parts": [{"functionResponse": {"name": "f", "response": @}}]}], "tools": [@, {"functionDeclarations": [@, {"name": "f", "parameters": @}]}]}"#,
    r#"{"requests": [@, {"requestId": "r", "message": @, "response": [@], "result": @}], "version": 3}"#,
];

#[test]
fn every_check_holds_on_every_recording() {
    for Recording { name, body, .. } in recordings::all() {
        // Large exports take long, and are long for having much of the same.
        for seed in 0..(200_000 / body.len()).clamp(1, 8) {
            let choices: Vec<u8> = (0..120).map(|at| (seed * 7919 + at * at * 31 + at) as u8).collect();
            let checked = std::panic::catch_unwind(|| all(&input(&body, &choices)));
            assert!(checked.is_ok(), "{name}, choices of seed {seed}");
        }
    }
}
